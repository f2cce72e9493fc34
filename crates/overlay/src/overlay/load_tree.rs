//! Reads trees one directory after the other, on an explicit stack, so that nesting depth is not a problem.
//!
//! The entries of a kustomization are resolved in order. At a directory that was not read yet, the remaining
//! entries wait until it is.

use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;

use super::kustomization::{Kustomization, PartialKustomization};
use super::nearby::kustomizations_below;
use super::root::{Root, Target};
use super::tree::{Item, Plugins, SharedTrees, Tree, inline_manifests, manifests, resolve_entry_path};
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result, WithWarnings};
use smp_text::source::{SourceId, Span};
use smp_text::yaml::{Node, Spanned};

/// The maximum depth of nested directories. kustomize builds 1,500; real overlays have less than ten.
const MAX_NESTING: usize = 2_500;

/// The number of entries from which reading them in parallel pays off.
const PARALLEL_FROM: usize = 24;

/// Reads the kustomization of a root and everything it refers to before anything is built. Each directory is read
/// once.
///
/// If several targets are built, directories below the root are taken from and kept in `shared`.
///
/// # Errors
/// A file cannot be read (the error has the location of its entry), or directories nest too deep.
pub(super) fn load_tree(root: &Root, shared: Option<&SharedTrees>) -> Result<WithWarnings<Tree>> {
    let own = SharedTrees::default();
    let trees = shared.unwrap_or(&own);
    let loading = Loading { trees, single_target: shared.is_none() };
    let mut open = vec![Loading::open(root.clone(), Role::Kustomization, Span::default())?];
    // The result of the directory that was read last.
    let mut below = None;
    while let Some(mut last) = open.pop() {
        if let Some(below) = below.take() {
            last.take(below);
        }
        match loading.next_directory(&mut last, open.len() + 1) {
            Ok(Some(entered)) => {
                open.push(last);
                match Loading::open(entered.root, entered.role, entered.at) {
                    Ok(directory) => open.push(directory),
                    Err(problem) => below = Some(Err(problem)),
                }
            }
            Ok(None) if open.is_empty() => {
                let tree = last.into_tree();
                // Each target gets the warnings of everything it uses, even if another target read it first.
                let warnings = tree.collect_warnings();
                return Ok(WithWarnings { value: tree, warnings });
            }
            Ok(None) => {
                let tree = Arc::new(last.into_tree());
                trees.put(&tree);
                below = Some(Ok(tree));
            }
            Err(problem) if open.is_empty() => return Err(problem),
            Err(problem) => below = Some(Err(problem)),
        }
    }
    Err(Diagnostic::error(Code::Io, "nothing to read"))
}

/// The role of a directory in a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Kustomization,
    Component,
}

/// A directory to read before the reading of the one that refers to it continues.
struct Entered {
    root: Root,
    role: Role,
    at: Span,
}

/// The fields of a kustomization whose entries may be directories, in reading order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryField {
    Resources,
    Components,
    Generators,
    Transformers,
    Validators,
}

impl EntryField {
    fn entries(self, kustomization: &Kustomization) -> &[Spanned<String>] {
        match self {
            Self::Resources => &kustomization.resources,
            Self::Components => &kustomization.components,
            Self::Generators => &kustomization.generators,
            Self::Transformers => &kustomization.transformers,
            Self::Validators => &kustomization.validators,
        }
    }

    fn next(self) -> Option<Self> {
        match self {
            Self::Resources => Some(Self::Components),
            Self::Components => Some(Self::Generators),
            Self::Generators => Some(Self::Transformers),
            Self::Transformers => Some(Self::Validators),
            Self::Validators => None,
        }
    }
}

struct Loading<'l> {
    /// The trees that are already loaded.
    trees: &'l SharedTrees,
    /// True if no other target is loaded at the same time.
    single_target: bool,
}

/// A directory whose entries are being resolved.
struct OpenTree {
    tree: Tree,
    part: EntryField,
    /// The number of resolved entries of the current field.
    done: usize,
    /// The resolved entries, for fields other than those of plugins.
    found: Vec<Unread>,
    /// The errors of all entries. The first error must not hide the others.
    problems: Problems,
}

/// The target of an entry before its file is read.
enum Unread {
    Directory(Arc<Tree>),
    Text(SourceId),
    /// The real path, and the location of the entry.
    File(PathBuf, Span),
}

/// The result of resolving an entry.
enum ResolvedEntry {
    /// Something that needs no further directory.
    Found(Unread),
    /// A directory that has to be read first.
    Enter(Entered),
    /// Inline configurations.
    Inline(Vec<Node>),
}

impl Loading<'_> {
    /// Starts with a directory: reads its kustomization.
    fn open(root: Root, role: Role, at: Span) -> Result<OpenTree> {
        let Some(file) = root.kustomization_file()? else {
            let message = format!("`{}` has no kustomization file", root.shown().display());
            let error = Diagnostic::error(Code::Io, message)
                .at(at)
                .help("add a kustomization.yaml, or list the files of the directory one by one");
            let nearest =
                kustomizations_below(&root).map(|nearest| format!("nearest kustomizations: {nearest}"));
            return Err(nearest.into_iter().fold(error, Diagnostic::note));
        };
        let source = root.text_at(&file)?;
        let PartialKustomization { kustomization, mut problems } =
            Kustomization::read_partial(root.reader().sources(), source)?;
        let WithWarnings { value: kustomization, warnings } = kustomization;
        problems.ok_or_add(check_role(&kustomization, role, at, &root));
        problems.ok_or_add(check_openapi(&kustomization));
        let tree = Tree {
            root,
            file,
            kustomization,
            resources: Vec::new(),
            components: Vec::new(),
            generators: Plugins::default(),
            transformers: Plugins::default(),
            validators: Plugins::default(),
            openapi: None,
            depth: 1,
            bytes: 0,
            warnings,
        };
        Ok(OpenTree { tree, part: EntryField::Resources, done: 0, found: Vec::new(), problems })
    }

    /// Resolves entries up to a directory that has to be read first. Returns `None` when all are resolved. `depth` is
    /// the number of open directories.
    fn next_directory(&self, open: &mut OpenTree, depth: usize) -> Result<Option<Entered>> {
        loop {
            let Some(entry) = open.part.entries(&open.tree.kustomization).get(open.done) else {
                self.finish_part(open);
                let Some(next) = open.part.next() else {
                    return open.finish().map(|()| None);
                };
                (open.part, open.done) = (next, 0);
                continue;
            };
            open.done += 1;
            match resolve_entry(&open.tree.root, open.part, entry) {
                Ok(ResolvedEntry::Inline(documents)) => {
                    if let Some(plugins) = open.plugins() {
                        plugins.inline.extend(documents);
                    }
                }
                Ok(ResolvedEntry::Found(unread)) => open.add(unread),
                Ok(ResolvedEntry::Enter(entered)) => {
                    let known = self.trees.get(entered.root.path());
                    check_nesting(depth + known.as_ref().map_or(1, |tree| tree.depth), &entered)?;
                    let Some(tree) = known else { return Ok(Some(entered)) };
                    let Entered { root, role, at } = entered;
                    open.tree.root.directory().record_dependency(tree.root.directory());
                    open.take(check_role(&tree.kustomization, role, at, &root).map(|()| tree));
                }
                Err(problem) => open.problems.add(problem),
            }
        }
    }

    /// Reads the files that the entries of a field refer to.
    fn finish_part(&self, open: &mut OpenTree) {
        let found = mem::take(&mut open.found);
        match open.part {
            EntryField::Resources => {
                let read = self.read(&open.tree.root, found);
                let read: Vec<_> =
                    read.into_iter().filter_map(|item| open.problems.ok_or_add(item)).collect();
                open.tree.bytes = read.iter().map(|(_, bytes)| bytes).sum();
                open.tree.resources = read.into_iter().map(|(item, _)| item).collect();
            }
            EntryField::Components => {
                open.tree.components.extend(found.into_iter().filter_map(Unread::into_directory));
            }
            EntryField::Generators | EntryField::Transformers => {}
            EntryField::Validators => {
                let path = open.tree.kustomization.openapi.get("path");
                let text = path.map(|path| open.tree.root.text(path, path.span));
                open.tree.openapi = text.and_then(|text| open.problems.ok_or_add(text));
            }
        }
    }

    /// Reads the files of entries, in parallel if there are many.
    fn read(&self, root: &Root, found: Vec<Unread>) -> Vec<Result<(Item, usize)>> {
        // With several targets all processors are busy anyway, and a waiting rayon thread would start another target on
        // this thread's stack.
        if !self.single_target || found.len() < PARALLEL_FROM {
            return found.into_iter().map(|unread| unread.read(root)).collect();
        }
        found.into_par_iter().map(|unread| unread.read(root)).collect()
    }
}

/// Resolves an entry. An entry of a plugin field is an inline configuration or a path.
fn resolve_entry(root: &Root, part: EntryField, entry: &Spanned<String>) -> Result<ResolvedEntry> {
    let at = entry.span;
    if part == EntryField::Components {
        let root = root.enter(entry, at)?;
        return Ok(ResolvedEntry::Enter(Entered { root, role: Role::Component, at }));
    }
    if part != EntryField::Resources
        && let Some(documents) = inline_manifests(root, entry)
    {
        return Ok(ResolvedEntry::Inline(documents));
    }
    Ok(match resolve_entry_path(root, entry, at)? {
        Target::Directory(root) => ResolvedEntry::Enter(Entered { root, role: Role::Kustomization, at }),
        Target::Text(source) => ResolvedEntry::Found(Unread::Text(source)),
        Target::File(real) => ResolvedEntry::Found(Unread::File(real, at)),
    })
}

impl OpenTree {
    /// Returns the plugins of the current field.
    fn plugins(&mut self) -> Option<&mut Plugins> {
        match self.part {
            EntryField::Resources | EntryField::Components => None,
            EntryField::Generators => Some(&mut self.tree.generators),
            EntryField::Transformers => Some(&mut self.tree.transformers),
            EntryField::Validators => Some(&mut self.tree.validators),
        }
    }

    /// Adds the target of the entry that was resolved last. Configurations of plugins are read at once.
    fn add(&mut self, unread: Unread) {
        let entry = self.part.entries(&self.tree.kustomization).get(self.done - 1).cloned();
        if matches!(self.part, EntryField::Resources | EntryField::Components) {
            self.found.push(unread);
            return;
        }
        let read = unread.read(&self.tree.root);
        let item = self.problems.ok_or_add(read);
        if let (Some((item, _)), Some(plugins), Some(entry)) = (item, self.plugins(), entry) {
            plugins.items.push((item, entry));
        }
    }

    /// Returns the errors of the directory, if there are any. In this case it also checks the files that later
    /// steps would read, and includes the warnings.
    fn finish(&mut self) -> Result<()> {
        let mut problems = mem::take(&mut self.problems);
        if problems.is_empty() {
            return Ok(());
        }
        let Tree { root, kustomization, .. } = &self.tree;
        let read_before = kustomization.openapi.get("path").map(|path| path.span);
        for file in kustomization.named_files().filter(|file| Some(file.span) != read_before) {
            problems.ok_or_add(root.check_file(&file, file.span));
        }
        for warning in mem::take(&mut self.tree.warnings) {
            problems.add(warning);
        }
        problems.into_result(())
    }

    /// Adds the directory of the current entry, or its error.
    fn take(&mut self, directory: Result<Arc<Tree>>) {
        if let Some(tree) = self.problems.ok_or_add(directory) {
            self.tree.depth = self.tree.depth.max(tree.depth + 1);
            self.add(Unread::Directory(tree));
        }
    }

    fn into_tree(self) -> Tree {
        self.tree
    }
}

impl Unread {
    /// Reads the item. Also returns the size of its text in bytes.
    fn read(self, root: &Root) -> Result<(Item, usize)> {
        let source = match self {
            Self::Directory(tree) => return Ok((Item::Directory(tree), 0)),
            Self::Text(source) => source,
            Self::File(real, at) => root.text_at(&real).map_err(|d| d.at(at))?,
        };
        let bytes = root.reader().sources().get(source).map_or(0, |source| source.text().len());
        Ok((Item::Manifests(manifests(root, source)?), bytes))
    }

    fn into_directory(self) -> Option<Arc<Tree>> {
        if let Self::Directory(tree) = self { Some(tree) } else { None }
    }
}

fn check_nesting(depth: usize, entered: &Entered) -> Result<()> {
    if depth <= MAX_NESTING {
        return Ok(());
    }
    let message = format!("directories are nested more than {MAX_NESTING} levels deep");
    Err(Diagnostic::error(Code::LimitExceeded, message)
        .at(entered.at)
        .help("refer to bases directly instead of through a chain of overlays"))
}

/// The only version of the built-in schema in kustomize.
const OPENAPI_VERSION: &str = "v1.21.2";

fn check_openapi(kustomization: &Kustomization) -> Result<()> {
    let Some(version) = kustomization.openapi.get("version") else { return Ok(()) };
    if kustomization.openapi.contains_key("path") {
        return Err(Diagnostic::error(Code::InvalidValue, "`openapi` has both a path and a version")
            .at(version.span)
            .field("openapi")
            .help("keep only one of them"));
    }
    if version.is_empty() || **version == OPENAPI_VERSION {
        return Ok(());
    }
    Err(Diagnostic::error(Code::InvalidValue, format!("unknown OpenAPI version `{}`", version.value))
        .at(version.span)
        .field("openapi.version")
        .help(format!(
            "the only built-in version is {OPENAPI_VERSION}; use `openapi.path` for a document of your own"
        )))
}

fn check_role(kustomization: &Kustomization, role: Role, at: Span, root: &Root) -> Result<()> {
    let shown = root.shown();
    match (role, kustomization.is_component()) {
        (Role::Kustomization, false) | (Role::Component, true) => Ok(()),
        // A Component may be the target of a build.
        (Role::Kustomization, true) if at.is_none() => Ok(()),
        (Role::Kustomization, true) => Err(Diagnostic::error(
            Code::InvalidValue,
            format!("`{}` is a Component and cannot be listed under `resources`", shown.display()),
        )
        .at(at)
        .help("move the entry to `components`")),
        (Role::Component, false) => Err(Diagnostic::error(
            Code::InvalidValue,
            format!("{} is a Kustomization, expected a Component", shown.display()),
        )
        .at(at)
        .help("move the entry to `resources`, or set `kind: Component` in the file")),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;

    use super::*;
    use crate::overlay::remote::Remotes;
    use crate::overlay::root::Reader;
    use smp_files::DiskTree;
    use smp_text::source::SourceMap;

    /// Loads a kustomization with `count` files. The files in `others` have the given text.
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
        (load_tree(&root, None).map(|tree| tree.value), sources)
    }

    #[test]
    fn many_files_keep_their_order() {
        for count in [3, 2 * PARALLEL_FROM] {
            let tree = loaded(count, &[]).0.expect("loaded");
            let mut names = Vec::new();
            tree.manifests(&mut |node| {
                names.extend(node.get_path(&["metadata", "name"]).and_then(Node::as_str).map(str::to_owned));
            });
            assert_eq!(names, (0..count).map(|i| format!("n{i}")).collect::<Vec<_>>());
        }
    }

    #[test]
    fn all_errors_are_reported_in_order() {
        for count in [20, 2 * PARALLEL_FROM] {
            let (tree, sources) = loaded(count, &[(7, "a: [\n"), (15, "\tb"), (19, "{")]);
            let error = tree.expect_err("malformed files");
            let location =
                error.labels().first().and_then(|label| sources.describe(label.span)).expect("a location");
            assert!(location.contains("7.yaml") && !location.contains("17.yaml"), "{location}");
            assert_eq!(error.attached().len(), 2);
        }
    }
}
