//! A kustomization with everything that it names, read before anything is built.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::kustomization::Kustomization;
use super::load::{Root, Target};
use crate::diagnostic::{Code, Diagnostic, Result, Warned};
use crate::resource::flatten_lists;
use crate::source::{SourceId, Span};
use crate::yaml::{Node, ParseOptions, Spanned, parse_documents};

/// One kustomization and what its `resources` and `components` lead to.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// The directory.
    pub root: Root,
    /// The path of the kustomization file.
    file: PathBuf,
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
    /// What is odd about its own kustomization file.
    warnings: Vec<Diagnostic>,
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
    fn get(&self, path: &Path) -> Option<Arc<Tree>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    fn put(&self, tree: &Arc<Tree>) {
        let path = tree.root.path().to_path_buf();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path, tree.clone());
    }
}

/// Which part of a build a directory plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Kustomization,
    Component,
}

impl Tree {
    /// Reads the kustomization of a root and all that it leads to, each directory once.
    ///
    /// Directories below the root are taken from and left in `shared`, if several targets are built.
    ///
    /// # Errors
    /// Whatever cannot be read, each with the place that names it.
    pub fn load(root: &Root, shared: Option<&SharedTrees>) -> Result<Warned<Self>> {
        let own = SharedTrees::default();
        let trees = shared.unwrap_or(&own);
        let mut loading = Loading { trees, alone: shared.is_none() };
        let tree = loading.tree(root.clone(), Role::Kustomization, Span::default())?;
        // Each target is told of all that it uses, whoever read that first.
        let mut warnings = Vec::new();
        tree.told(&mut FxHashSet::default(), &mut warnings);
        Ok(Warned { value: tree, warnings })
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
        let below = self.resources.iter().filter_map(|item| match item {
            Item::Directory(tree) => Some(tree),
            Item::Manifests(_) => None,
        });
        test(self) || below.chain(&self.components).any(|tree| tree.any(test))
    }

    /// Gathers what is odd about this kustomization and those that it leads to, each once.
    fn told<'t>(&'t self, known: &mut FxHashSet<&'t Path>, warnings: &mut Vec<Diagnostic>) {
        if !known.insert(self.root.path()) {
            return;
        }
        warnings.extend(self.warnings.iter().cloned());
        let plugins = [&self.generators, &self.transformers, &self.validators];
        let items = plugins.into_iter().flat_map(|plugins| plugins.items.iter().map(|(item, _)| item));
        let directory = |item: &'t Item| match item {
            Item::Directory(tree) => Some(tree),
            Item::Manifests(_) => None,
        };
        let resources = self.resources.iter().filter_map(directory);
        for tree in resources.chain(&self.components).chain(items.filter_map(directory)) {
            tree.told(known, warnings);
        }
    }

    /// The name of the kustomization file.
    pub fn file_name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// All manifests below, the deepest first.
    pub fn manifests<'t>(&'t self, visit: &mut impl FnMut(&'t Node)) {
        for item in &self.resources {
            match item {
                Item::Manifests(documents) => documents.iter().for_each(&mut *visit),
                Item::Directory(tree) => tree.manifests(visit),
            }
        }
        self.components.iter().for_each(|tree| tree.manifests(visit));
    }
}

struct Loading<'l> {
    /// What was loaded already.
    trees: &'l SharedTrees,
    /// Whether no other target is loaded meanwhile.
    alone: bool,
}

impl Loading<'_> {
    fn tree(&mut self, root: Root, role: Role, at: Span) -> Result<Tree> {
        let Some(file) = root.kustomization_file()? else {
            return Err(Diagnostic::error(
                Code::Io,
                format!("{} has no kustomization file", root.shown().display()),
            )
            .at(at)
            .help("add a kustomization.yaml there, or name the files in it one by one"));
        };
        let source = root.text_at(&file)?;
        let Warned { value: kustomization, warnings } = Kustomization::read(root.reader().sources(), source)?;
        check_role(&kustomization, role, at, &root)?;
        check_openapi(&kustomization)?;
        let found = of_all(&kustomization.resources, |path| self.find(&root, path, path.span))?;
        let resources = self.read(&root, found)?;
        let components = of_all(&kustomization.components, |path| {
            let entered = root.enter(path, path.span)?;
            self.directory(entered, Role::Component, path.span)
        })?;
        let generators = self.plugins(&root, &kustomization.generators)?;
        let transformers = self.plugins(&root, &kustomization.transformers)?;
        let validators = self.plugins(&root, &kustomization.validators)?;
        let openapi = match kustomization.openapi.get("path") {
            Some(path) => Some(root.text(path, path.span)?),
            None => None,
        };
        Ok(Tree {
            root,
            file,
            kustomization,
            resources,
            components,
            generators,
            transformers,
            validators,
            openapi,
            warnings,
        })
    }

    /// An entry is a configuration itself, or else the path of one.
    fn plugins(&mut self, root: &Root, entries: &[Spanned<String>]) -> Result<Plugins> {
        let mut plugins = Plugins::default();
        for entry in entries {
            match inline_manifests(root, entry) {
                Some(documents) => plugins.inline.extend(documents),
                None => plugins.items.push((self.item(root, entry, entry.span)?, entry.clone())),
            }
        }
        Ok(plugins)
    }

    fn item(&mut self, root: &Root, path: &str, at: Span) -> Result<Item> {
        self.find(root, path, at)?.read(root)
    }

    /// Looks what a path leads to; directories are loaded.
    fn find(&mut self, root: &Root, path: &str, at: Span) -> Result<Unread> {
        Ok(match find(root, path, at)? {
            Target::Directory(entered) => {
                Unread::Directory(self.directory(entered, Role::Kustomization, at)?)
            }
            Target::Text(source) => Unread::Text(source),
            Target::File(real) => Unread::File(real, at),
        })
    }

    /// Reads what entries lead to, many at a time; of several errors the first one counts.
    fn read(&self, root: &Root, found: Vec<Unread>) -> Result<Vec<Item>> {
        // Several targets keep all processors busy as it is, and threads that wait for files here would
        // begin other targets meanwhile, one upon the other.
        if !self.alone || found.len() < MANY {
            return found.into_iter().map(|unread| unread.read(root)).collect();
        }
        let read: Vec<Result<Item>> = found.into_par_iter().map(|unread| unread.read(root)).collect();
        read.into_iter().collect()
    }

    fn directory(&mut self, root: Root, role: Role, at: Span) -> Result<Arc<Tree>> {
        if let Some(tree) = self.trees.get(root.path()) {
            check_role(&tree.kustomization, role, at, &root)?;
            return Ok(tree);
        }
        let tree = Arc::new(self.tree(root, role, at)?);
        self.trees.put(&tree);
        Ok(tree)
    }
}

/// What comes of each entry. Those behind one that may not be fetched are looked at, too, so that the error
/// has all of them; any other problem is one by itself.
fn of_all<T>(
    entries: &[Spanned<String>],
    mut each: impl FnMut(&Spanned<String>) -> Result<T>,
) -> Result<Vec<T>> {
    let (mut all, mut missing) = (Vec::with_capacity(entries.len()), None);
    for entry in entries {
        match each(entry) {
            Ok(one) => all.push(one),
            Err(problem) if problem.code() == Code::NotFetched => {
                missing.get_or_insert(problem);
            }
            Err(problem) => return Err(problem),
        }
    }
    missing.map_or(Ok(all), Err)
}

/// What an entry leads to, before its file is read.
enum Unread {
    Directory(Arc<Tree>),
    Text(SourceId),
    /// The real path, and the entry that names it.
    File(PathBuf, Span),
}

impl Unread {
    fn read(self, root: &Root) -> Result<Item> {
        let source = match self {
            Self::Directory(tree) => return Ok(Item::Directory(tree)),
            Self::Text(source) => source,
            Self::File(real, at) => root.text_at(&real).map_err(|d| d.at(at))?,
        };
        manifests(root, source).map(Item::Manifests)
    }
}

/// From how many entries on it pays to start threads.
const MANY: usize = 24;

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
    flatten_lists(parse_documents(root.reader().sources(), source, ParseOptions::default())?)
}

/// The manifests that a string of the kustomization is, if it is no path. They get a text of their
/// own, which is named after the kustomization.
pub(super) fn inline_manifests(root: &Root, text: &Spanned<String>) -> Option<Vec<Node>> {
    if !text.contains('\n') && !text.contains(':') {
        return None;
    }
    let sources = root.reader().sources();
    let name = sources.get(text.span.source).map(|s| s.name().to_path_buf()).unwrap_or_default();
    let id = sources.add(name, text.value.as_str());
    let documents = flatten_lists(parse_documents(sources, id, ParseOptions::default()).ok()?).ok()?;
    let is_manifest =
        |node: &Node| node.get("kind").is_some() && node.get_path(&["metadata", "name"]).is_some();
    documents.iter().all(is_manifest).then_some(documents)
}

/// The only version of the built-in schema that kustomize knows.
const OPENAPI_VERSION: &str = "v1.21.2";

fn check_openapi(kustomization: &Kustomization) -> Result<()> {
    let Some(version) = kustomization.openapi.get("version") else { return Ok(()) };
    if kustomization.openapi.contains_key("path") {
        return Err(Diagnostic::error(Code::InvalidValue, "`openapi` has a path and a version")
            .at(version.span)
            .field("openapi")
            .help("keep one of them"));
    }
    if version.is_empty() || **version == OPENAPI_VERSION {
        return Ok(());
    }
    Err(Diagnostic::error(
        Code::InvalidValue,
        format!("there is no built-in OpenAPI version `{}`", version.value),
    )
    .at(version.span)
    .field("openapi.version")
    .help(format!("the only one is {OPENAPI_VERSION}; name a document with `openapi.path`")))
}

fn check_role(kustomization: &Kustomization, role: Role, at: Span, root: &Root) -> Result<()> {
    let shown = root.shown();
    match (role, kustomization.is_component()) {
        (Role::Kustomization, false) | (Role::Component, true) => Ok(()),
        // A component may be built by itself.
        (Role::Kustomization, true) if at.is_none() => Ok(()),
        (Role::Kustomization, true) => Err(Diagnostic::error(
            Code::InvalidValue,
            format!("{} is a Component and cannot stand among the resources", shown.display()),
        )
        .at(at)
        .help("list it under `components:`")),
        (Role::Component, false) => Err(Diagnostic::error(
            Code::InvalidValue,
            format!("{} is a Kustomization, and a Component is needed here", shown.display()),
        )
        .at(at)
        .help("list it under `resources:`, or give it `kind: Component`")),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;

    use super::*;
    use crate::files::DiskTree;
    use crate::overlay::load::Reader;
    use crate::overlay::remote::Remotes;
    use crate::source::SourceMap;

    /// Loads a kustomization of as many files, some of which hold other texts.
    fn loaded(count: usize, others: &[(usize, &str)]) -> (Result<Tree>, SourceMap) {
        let directory = tempfile::tempdir().expect("a directory");
        let mut kustomization = String::from("resources:\n");
        for i in 0..count {
            let other = others.iter().find(|(at, _)| *at == i).map(|(_, text)| (*text).to_string());
            let text = other.unwrap_or(format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: n{i}\n"));
            fs::write(directory.path().join(format!("{i}.yaml")), text).expect("written");
            writeln!(kustomization, "- {i}.yaml").expect("a string");
        }
        fs::write(directory.path().join("kustomization.yaml"), kustomization).expect("written");
        let sources = SourceMap::default();
        let remotes = Remotes::new(Some(directory.path().join("cache")), true);
        let reader = Reader::new(Arc::new(DiskTree), sources.clone(), true, remotes).expect("a reader");
        let root = reader.open(directory.path()).expect("a directory");
        (Tree::load(&root, None).map(|tree| tree.value), sources)
    }

    #[test]
    fn many_files_are_read_in_their_order() {
        for count in [3, 2 * MANY] {
            let tree = loaded(count, &[]).0.expect("loaded");
            let mut names = Vec::new();
            tree.manifests(&mut |node| {
                names.extend(node.get_path(&["metadata", "name"]).and_then(Node::as_str).map(str::to_owned));
            });
            assert_eq!(names, (0..count).map(|i| format!("n{i}")).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_of_many_errors_counts() {
        for count in [20, 2 * MANY] {
            let (tree, sources) = loaded(count, &[(7, "a: [\n"), (15, "\tb"), (19, "{")]);
            let error = tree.expect_err("malformed files");
            let place =
                error.labels().first().and_then(|label| sources.describe(label.span)).expect("a place");
            assert!(place.contains("7.yaml") && !place.contains("17.yaml"), "{place}");
        }
    }
}
