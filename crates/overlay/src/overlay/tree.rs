//! A kustomization with everything that it names.
//!
//! Knows nothing of the order in which directories are read.

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::kustomization::Kustomization;
use super::load::{Root, Target};
use crate::resource::flatten_lists;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{SourceId, Span};
use smp_text::yaml::{
    Node, ParseOptions, Separation, Spanned, add_within, check_directives, check_field_names, parse_documents,
};

/// One kustomization and what its `resources` and `components` lead to.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// The directory.
    pub root: Root,
    /// The path of the kustomization file.
    pub file: PathBuf,
    /// What it says.
    pub kustomization: Kustomization,
    /// What `resources` names, in order.
    pub resources: Vec<Item>,
    /// What `components` names, in order.
    pub components: Vec<Arc<Tree>>,
    /// What `generators` names.
    pub generators: Plugins,
    /// What `transformers` names.
    pub transformers: Plugins,
    /// What `validators` names.
    pub validators: Plugins,
    /// The document that `openapi.path` names.
    pub openapi: Option<SourceId>,
    /// How many directories lie below each other from here on, this one among them.
    pub depth: usize,
    /// How many bytes the texts of its own manifests have.
    pub bytes: usize,
    /// What is odd about its own kustomization file.
    pub warnings: Vec<Diagnostic>,
}

/// Configurations of generators, transformers or validators.
#[derive(Debug, Clone, Default)]
pub(super) struct Plugins {
    /// Those that stand in the kustomization itself.
    pub inline: Vec<Node>,
    /// Those in files and directories, with the entry that names them.
    pub items: Vec<(Item, Spanned<String>)>,
}

/// What an entry of `resources` leads to.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// The manifests of a file.
    Manifests(Vec<Node>),
    /// Another kustomization.
    Directory(Arc<Tree>),
}

/// Trees that were loaded, by real path: several kustomizations or targets may lead to one.
#[derive(Debug, Default)]
pub(super) struct SharedTrees(Mutex<FxHashMap<PathBuf, Arc<Tree>>>);

impl SharedTrees {
    /// The tree of a directory.
    pub fn get(&self, path: &Path) -> Option<Arc<Tree>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    /// Keeps the tree of a directory.
    pub fn put(&self, tree: &Arc<Tree>) {
        let path = tree.root.path().to_path_buf();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path, tree.clone());
    }
}

impl Tree {
    /// Takes out what its entries lead to.
    pub fn take_entries(&mut self) -> LoadedEntries {
        LoadedEntries {
            resources: mem::take(&mut self.resources),
            components: mem::take(&mut self.components),
            generators: mem::take(&mut self.generators),
            transformers: mem::take(&mut self.transformers),
            validators: mem::take(&mut self.validators),
        }
    }

    /// Whether it, or a kustomization below it, sets the schema of the rest of the build.
    pub fn sets_schema(&self) -> bool {
        self.any(&|tree| !tree.kustomization.openapi.is_empty())
    }

    /// Whether it, or a kustomization below it, renders helm charts.
    pub fn has_charts(&self) -> bool {
        self.any(&|tree| !tree.kustomization.helm_charts.is_empty())
    }

    fn any(&self, test: &impl Fn(&Self) -> bool) -> bool {
        self.all().into_iter().any(test)
    }

    /// What its resources and components lead to, each tree once, and itself; the deepest first.
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

    /// What its resources and components lead to, the last one first.
    fn directories(&self) -> Vec<&Self> {
        let resources = self.resources.iter().filter_map(Item::directory);
        resources.chain(&self.components).map(|tree| &**tree).rev().collect()
    }

    /// What is odd about this kustomization and those that it leads to, each once.
    pub fn told(&self) -> Vec<Diagnostic> {
        let (mut told, mut known, mut open) = (Vec::new(), FxHashSet::default(), vec![self]);
        while let Some(tree) = open.pop() {
            if !known.insert(tree.root.path()) {
                continue;
            }
            told.extend(tree.warnings.iter().cloned());
            let plugins = [&tree.generators, &tree.transformers, &tree.validators].into_iter();
            let items = plugins.flat_map(|plugins| plugins.items.iter().map(|(item, _)| item));
            let resources = tree.resources.iter().filter_map(Item::directory).chain(&tree.components);
            let below: Vec<_> =
                resources.chain(items.filter_map(Item::directory)).map(|tree| &**tree).collect();
            open.extend(below.into_iter().rev());
        }
        told
    }

    /// The name of the kustomization file.
    pub fn file_name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// All manifests that its resources and components lead to, those of each directory once; the deepest first.
    pub fn manifests<'t>(&'t self, visit: &mut impl FnMut(&'t Node)) {
        let items = self.all().into_iter().flat_map(|tree| &tree.resources);
        items.flat_map(Item::documents).for_each(visit);
    }
}

/// Trees can nest so deep that dropping one from within another would take more stack than there is.
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

/// What the entries of a kustomization lead to, each list in their order.
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

/// Looks what an entry leads to; what is fetched is a file when it holds manifests.
pub(super) fn find(root: &Root, path: &str, at: Span) -> Result<Target> {
    let is_file = |source| {
        let documents = manifests(root, source)?;
        match documents.iter().find(|node| node.get("kind").is_none()) {
            Some(node) => Err(Diagnostic::error(Code::Syntax, "this is no manifest").at(node.span())),
            None => Ok(()),
        }
    };
    root.find(path, at, is_file)
}

/// The manifests of a text.
pub(super) fn manifests(root: &Root, source: SourceId) -> Result<Vec<Node>> {
    check_directives(root.reader().sources(), source, Separation::AtMarkers)?;
    let documents = parse_documents(root.reader().sources(), source, ParseOptions::default())?;
    check_field_names(&documents)?;
    flatten_lists(documents)
}

/// The manifests that a string of the kustomization is, if it is no path. They get a text of their
/// own, whose places are told as those in the kustomization.
pub(super) fn inline_manifests(root: &Root, text: &Spanned<String>) -> Option<Vec<Node>> {
    if !text.contains('\n') && !text.contains(':') {
        return None;
    }
    let sources = root.reader().sources();
    let name = sources.get(text.span.source).map(|s| s.name().to_path_buf()).unwrap_or_default();
    let id = add_within(sources, name, text.value.as_str(), text.span);
    let documents = flatten_lists(parse_documents(sources, id, ParseOptions::default()).ok()?).ok()?;
    let is_manifest =
        |node: &Node| node.get("kind").is_some() && node.get_path(&["metadata", "name"]).is_some();
    documents.iter().all(is_manifest).then_some(documents)
}
