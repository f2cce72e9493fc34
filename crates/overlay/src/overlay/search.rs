//! The targets below a directory: kustomizations, and plain directories that a base is found for.
//!
//! Must not know how things are built; it reads kustomizations for their kind and for what they use.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::directory::bases_of;
use super::kustomization::Kustomization;
use super::load::{Reader, Root};
use super::process;
use super::remote::Remotes;
use super::repo_spec::RepoSpec;
use smp_files::{DirectoryEntry, FileKind, FileTree, Located};
use smp_text::diagnostic::{Code, Diagnostic, Result, unreadable};
use smp_text::source::{KUSTOMIZATION_FILES, SourceId, SourceMap};
use smp_text::yaml::{DuplicateKeys, Node, ParseOptions, parse_documents};

/// Directories that hold no targets.
const LEFT_OUT: [&str; 2] = ["node_modules", "charts"];

/// How long git may take to say what it ignores.
const GIT_LIMIT: Duration = Duration::from_secs(60);

/// Which targets are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchedTargets {
    /// All of them.
    All,
    /// Those that no other one uses.
    Leaves,
}

/// A search for targets.
#[derive(Debug)]
pub struct TargetSearch {
    reader: Reader,
    /// The bases of plain directories that are given.
    bases: Vec<PathBuf>,
}

impl TargetSearch {
    /// A search in a tree; texts go to `sources`.
    ///
    /// # Errors
    /// The working directory cannot be read.
    pub fn new(tree: Arc<dyn FileTree>, sources: SourceMap, bases: Vec<PathBuf>) -> Result<Self> {
        Ok(Self { reader: Reader::new(tree, sources, true, Remotes::new(None, true))?, bases })
    }

    /// The targets in a directory and below it, sorted: every directory with a kustomization that is no Component,
    /// or with manifests for which a base is found.
    ///
    /// Hidden directories, `node_modules`, `charts`, links, and what git ignores are left out.
    ///
    /// # Errors
    /// A directory cannot be read, or there is no target.
    pub fn below(&self, directory: &Path, wanted: SearchedTargets) -> Result<Vec<PathBuf>> {
        let top = self.reader.open(directory)?;
        let mut walk =
            SearchWalk { search: self, ignored: self.ignored(&top), found: FoundTargets::default() };
        walk.visit(&top, Above::Nothing)?;
        let FoundTargets { targets, used } = walk.found;
        let is_wanted = |path: &&PathBuf| wanted == SearchedTargets::All || !used.contains(*path);
        let relative = |path: &PathBuf| match path.strip_prefix(top.path()) {
            Ok(below) if below.as_os_str().is_empty() => directory.to_path_buf(),
            Ok(below) if directory == Path::new(".") => below.to_path_buf(),
            Ok(below) => directory.join(below),
            Err(_) => path.clone(),
        };
        let targets: Vec<_> = targets.iter().filter(is_wanted).map(relative).collect();
        if targets.is_empty() {
            let message = format!("there are no targets in {}", directory.display());
            return Err(Diagnostic::error(Code::NoMatch, message).help(
                "a target has a kustomization file, or manifests and a directory `base` beside it or its parent",
            ));
        }
        Ok(targets)
    }

    /// What git ignores below a directory; nothing where there is no git, or no repository.
    fn ignored(&self, top: &Root) -> BTreeSet<PathBuf> {
        if !self.reader.tree().is_on_disk() {
            return BTreeSet::new();
        }
        let mut git = Command::new("git");
        // A hook of the repository that tells git what changed is a program that nobody asked for.
        git.args(["-c", "core.fsmonitor=false", "ls-files", "-z", "--others", "--ignored", "--directory"])
            .args(["--exclude-standard", "."])
            .current_dir(top.path())
            .env("GIT_OPTIONAL_LOCKS", "0");
        let ended = process::run(&mut git, "`git ls-files`", b"", Some(GIT_LIMIT));
        let Some(listed) = ended.ok().and_then(|ended| ended.success("`git ls-files`").ok()) else {
            return BTreeSet::new();
        };
        let names = listed.split(|&byte| byte == 0).filter_map(|name| str::from_utf8(name).ok());
        names.filter(|name| !name.is_empty()).map(|name| top.path().join(name)).collect()
    }
}

/// What a search came by, by real path.
#[derive(Default)]
struct FoundTargets {
    targets: BTreeSet<PathBuf>,
    /// Directories that kustomizations and plain directories use.
    used: BTreeSet<PathBuf>,
}

/// What a directory is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    Nothing,
    /// A kustomization, whose manifests may lie in directories below it.
    Kustomization,
}

struct SearchWalk<'s> {
    search: &'s TargetSearch,
    ignored: BTreeSet<PathBuf>,
    found: FoundTargets,
}

impl SearchWalk<'_> {
    fn visit(&mut self, root: &Root, above: Above) -> Result<()> {
        let entries = entries_of(root)?;
        let has_kustomization = entries.iter().any(is_kustomization_file);
        if has_kustomization {
            self.kustomization(root);
        } else if above == Above::Nothing && entries.iter().any(is_manifest) && self.plain(root)? {
            // What is below belongs to it.
            return Ok(());
        }
        let above = if has_kustomization { Above::Kustomization } else { above };
        self.below(root, &entries).try_for_each(|below| self.visit(&below?, above))
    }

    /// The directories in a directory in which targets are looked for.
    fn below(&self, root: &Root, entries: &[DirectoryEntry]) -> impl Iterator<Item = Result<Root>> + use<> {
        let directories = entries.iter().filter(|entry| entry.kind == FileKind::Directory);
        let below = directories.filter_map(|entry| {
            let (name, path) = (entry.name.to_string_lossy(), root.path().join(&entry.name));
            let is_left_out =
                name.starts_with('.') || LEFT_OUT.contains(&&*name) || self.ignored.contains(&path);
            if is_left_out { None } else { root.neighbour(&path).transpose() }
        });
        below.collect::<Vec<_>>().into_iter()
    }

    /// Whether there is a kustomization below a directory.
    fn has_kustomizations_below(&self, root: &Root) -> Result<bool> {
        for below in self.below(root, &entries_of(root)?) {
            let below = below?;
            if entries_of(&below)?.iter().any(is_kustomization_file)
                || self.has_kustomizations_below(&below)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes note of a kustomization; one that cannot be read is a target, whose build says why.
    fn kustomization(&mut self, root: &Root) {
        let sources = self.search.reader.sources();
        let file = root.kustomization_file().ok().flatten();
        let source = file.and_then(|file| root.text_at(&file).ok());
        let read = source.and_then(|source| Kustomization::read(sources, source).ok());
        let Some(kustomization) = read.map(|read| read.value) else {
            // A Component that says nothing cannot be built, and nobody builds it.
            if !source.is_some_and(|source| is_component(sources, source)) {
                self.found.targets.insert(root.path().to_path_buf());
            }
            return;
        };
        if !kustomization.is_component() {
            self.found.targets.insert(root.path().to_path_buf());
        }
        let lists = [&kustomization.resources, &kustomization.components, &kustomization.generators];
        let plugins = kustomization.transformers.iter().chain(&kustomization.validators);
        for entry in lists.into_iter().flatten().chain(plugins) {
            if RepoSpec::parse(entry).is_err()
                && let Some(found) =
                    root.directory().locate(entry.as_str()).ok().filter(Located::is_directory)
            {
                self.found.used.insert(found.into_path());
            }
        }
    }

    /// Takes note of a directory of manifests, if a base is found for it. Kustomizations are in no plain directory.
    fn plain(&mut self, root: &Root) -> Result<bool> {
        let bases = match bases_of(root, &self.search.bases) {
            // A base that leads elsewhere does not keep other targets from being found: the build says what is wrong.
            Err(error) if error.code() == Code::OutsideRoot => {
                self.found.targets.insert(root.path().to_path_buf());
                return Ok(true);
            }
            bases => bases?.unwrap_or_default(),
        };
        // A base that is given is no overlay of itself.
        if bases.is_empty()
            || bases.iter().any(|base| root.path().starts_with(base.path()))
            || self.has_kustomizations_below(root)?
        {
            return Ok(false);
        }
        self.found.targets.insert(root.path().to_path_buf());
        self.found.used.extend(bases.iter().map(|base| base.path().to_path_buf()));
        Ok(true)
    }
}

/// Whether a text says that it is a Component, whatever is wrong with it.
fn is_component(sources: &SourceMap, source: SourceId) -> bool {
    let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    let documents = parse_documents(sources, source, options).unwrap_or_default();
    documents.first().and_then(|node| node.get("kind")).and_then(Node::as_str) == Some("Component")
}

fn entries_of(root: &Root) -> Result<Vec<DirectoryEntry>> {
    root.directory().list().map_err(|error| unreadable(root.shown().display(), &error))
}

fn is_kustomization_file(entry: &DirectoryEntry) -> bool {
    entry.kind != FileKind::Directory && KUSTOMIZATION_FILES.iter().any(|name| entry.name == *name)
}

fn is_manifest(entry: &DirectoryEntry) -> bool {
    let extension = Path::new(&entry.name).extension().and_then(|extension| extension.to_str());
    entry.kind != FileKind::Directory && matches!(extension, Some("yaml" | "yml" | "json"))
}
