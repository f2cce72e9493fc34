//! A kustomization with everything it refers to.
//!
//! This module does not depend on the order in which directories are read.

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::kustomization::Kustomization;
use super::root::{Root, Target};
use crate::resource::flatten_lists;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{SourceId, Span};
use smp_text::yaml::{
    DocumentSplit, Node, ParseOptions, Spanned, add_embedded, check_directives, check_field_names,
    parse_documents,
};

/// A kustomization and the loaded entries of its `resources`, `components` and plugins.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// The directory.
    pub root: Root,
    /// The path of the kustomization file.
    pub file: PathBuf,
    /// The content of the file.
    pub kustomization: Kustomization,
    /// The entries of `resources`, in order.
    pub resources: Vec<Item>,
    /// The entries of `components`, in order.
    pub components: Vec<Arc<Tree>>,
    /// The entries of `generators`.
    pub generators: Plugins,
    /// The entries of `transformers`.
    pub transformers: Plugins,
    /// The entries of `validators`.
    pub validators: Plugins,
    /// The document of `openapi.path`.
    pub openapi: Option<SourceId>,
    /// The depth of nested directories from here on, including this one.
    pub depth: usize,
    /// The size of the texts of its own manifests in bytes.
    pub bytes: usize,
    /// Warnings about its own kustomization file.
    pub warnings: Vec<Diagnostic>,
}

/// Configurations of generators, transformers or validators.
#[derive(Debug, Clone, Default)]
pub(super) struct Plugins {
    /// Inline configurations.
    pub inline: Vec<Node>,
    /// Configurations in files and directories, with the entry that refers to them.
    pub items: Vec<(Item, Spanned<String>)>,
}

/// The target of an entry of `resources`.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// The manifests of a file.
    Manifests(Vec<Node>),
    /// Another kustomization.
    Directory(Arc<Tree>),
}

/// Loaded trees by real path. Several kustomizations or targets may refer to the same one.
#[derive(Debug, Default)]
pub(super) struct SharedTrees(Mutex<FxHashMap<PathBuf, Arc<Tree>>>);

impl SharedTrees {
    /// Returns the tree of a directory.
    pub fn get(&self, path: &Path) -> Option<Arc<Tree>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    /// Stores the tree of a directory.
    pub fn put(&self, tree: &Arc<Tree>) {
        let path = tree.root.path().to_path_buf();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path, tree.clone());
    }
}

impl Tree {
    /// Moves the loaded entries out of the tree.
    pub fn take_entries(&mut self) -> LoadedEntries {
        LoadedEntries {
            resources: mem::take(&mut self.resources),
            components: mem::take(&mut self.components),
            generators: mem::take(&mut self.generators),
            transformers: mem::take(&mut self.transformers),
            validators: mem::take(&mut self.validators),
        }
    }

    /// Returns true if this kustomization, or one below it, sets the schema for the rest of the build.
    pub fn sets_schema(&self) -> bool {
        self.any(&|tree| !tree.kustomization.openapi.is_empty())
    }

    /// Returns true if this kustomization, or one below it, renders helm charts.
    pub fn has_charts(&self) -> bool {
        self.any(&|tree| !tree.kustomization.helm_charts.is_empty())
    }

    fn any(&self, test: &impl Fn(&Self) -> bool) -> bool {
        self.all().into_iter().any(test)
    }

    /// Returns the trees of all resources and components, and this one. Each tree occurs once, the deepest first.
    fn all(&self) -> Vec<&Self> {
        let (mut all, mut known) = (Vec::new(), FxHashSet::default());
        let mut open = vec![(self, self.directories())];
        while let Some((tree, below)) = open.last_mut() {
            match below.pop() {
                Some(tree) if known.insert(std::ptr::from_ref(tree)) => open.push((tree, tree.directories())),
                Some(_) => {}
                None => {
                    all.push(*tree);
                    open.pop();
                }
            }
        }
        all
    }

    /// Returns the trees of its resources and components, the last one first.
    fn directories(&self) -> Vec<&Self> {
        let resources = self.resources.iter().filter_map(Item::directory);
        resources.chain(&self.components).map(|tree| &**tree).rev().collect()
    }

    /// Returns the warnings about this kustomization and everything it refers to, each once.
    pub fn collect_warnings(&self) -> Vec<Diagnostic> {
        let (mut warnings, mut known, mut open) = (Vec::new(), FxHashSet::default(), vec![self]);
        while let Some(tree) = open.pop() {
            if !known.insert(tree.root.path()) {
                continue;
            }
            warnings.extend(tree.warnings.iter().cloned());
            let plugins = [&tree.generators, &tree.transformers, &tree.validators].into_iter();
            let items = plugins.flat_map(|plugins| plugins.items.iter().map(|(item, _)| item));
            let resources = tree.resources.iter().filter_map(Item::directory).chain(&tree.components);
            let below: Vec<_> =
                resources.chain(items.filter_map(Item::directory)).map(|tree| &**tree).collect();
            open.extend(below.into_iter().rev());
        }
        warnings
    }

    /// Returns the name of the kustomization file.
    pub fn file_name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Visits all manifests of its resources and components, the deepest first. The manifests of each directory
    /// are visited once.
    pub fn manifests<'t>(&'t self, visit: &mut impl FnMut(&'t Node)) {
        let items = self.all().into_iter().flat_map(|tree| &tree.resources);
        items.flat_map(Item::documents).for_each(visit);
    }
}

/// Drops trees in a loop. Recursion could overflow the stack, because trees can be deeply nested.
impl Drop for Tree {
    fn drop(&mut self) {
        let mut below = Vec::new();
        self.take_entries().into_directories(&mut below);
        while let Some(tree) = below.pop() {
            if let Some(mut tree) = Arc::into_inner(tree) {
                tree.take_entries().into_directories(&mut below);
            }
        }
    }
}

/// The loaded entries of a kustomization, each list in order.
#[derive(Debug, Default)]
pub(super) struct LoadedEntries {
    pub resources: Vec<Item>,
    pub components: Vec<Arc<Tree>>,
    pub generators: Plugins,
    pub transformers: Plugins,
    pub validators: Plugins,
}

impl LoadedEntries {
    fn into_directories(self, to: &mut Vec<Arc<Tree>>) {
        let plugins = [self.generators, self.transformers, self.validators].into_iter();
        let items = plugins.flat_map(|plugins| plugins.items).map(|(item, _)| item);
        to.extend(self.resources.into_iter().chain(items).filter_map(|item| match item {
            Item::Directory(tree) => Some(tree),
            Item::Manifests(_) => None,
        }));
        to.extend(self.components);
    }
}

impl Item {
    fn directory(&self) -> Option<&Arc<Tree>> {
        if let Self::Directory(tree) = self { Some(tree) } else { None }
    }

    fn documents(&self) -> &[Node] {
        if let Self::Manifests(documents) = self { documents } else { &[] }
    }
}

/// Resolves an entry. Fetched content is a file if it holds manifests.
pub(super) fn resolve_entry_path(root: &Root, path: &str, at: Span) -> Result<Target> {
    let is_file = |source| {
        let documents = manifests(root, source)?;
        match documents.iter().find(|node| node.get("kind").is_none()) {
            Some(node) => {
                Err(Diagnostic::error(Code::Syntax, "not a manifest: it has no `kind`").at(node.span()))
            }
            None => Ok(()),
        }
    };
    root.resolve(path, at, is_file)
}

/// Returns the manifests of a text.
pub(super) fn manifests(root: &Root, source: SourceId) -> Result<Vec<Node>> {
    check_directives(root.reader().sources(), source, DocumentSplit::AtSeparators)?;
    let documents = parse_documents(root.reader().sources(), source, ParseOptions::default())?;
    check_field_names(&documents)?;
    flatten_lists(documents)
}

/// Returns the inline manifests of a string in the kustomization, or `None` if it is a path. The manifests get a
/// source of their own, whose locations are shown as locations in the kustomization.
pub(super) fn inline_manifests(root: &Root, text: &Spanned<String>) -> Option<Vec<Node>> {
    if !text.contains('\n') && !text.contains(':') {
        return None;
    }
    let sources = root.reader().sources();
    let name = sources.get(text.span.source).map(|s| s.name().to_path_buf()).unwrap_or_default();
    let id = add_embedded(sources, name, text.value.as_str(), text.span);
    let documents = flatten_lists(parse_documents(sources, id, ParseOptions::default()).ok()?).ok()?;
    let is_manifest =
        |node: &Node| node.get("kind").is_some() && node.get_path(&["metadata", "name"]).is_some();
    documents.iter().all(is_manifest).then_some(documents)
}
