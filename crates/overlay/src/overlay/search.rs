//! Finds the targets below a directory: kustomizations, and plain directories with a base.
//!
//! This module must not depend on builds. It reads kustomizations only for their kind and for the directories they use.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rayon::prelude::*;

use super::directory::find_bases;
use super::kustomization::Kustomization;
use super::process;
use super::remote::Remotes;
use super::repo_spec::RepoSpec;
use super::root::{Reader, Root};
use smp_files::{DirectoryEntry, FileKind, FileTree, Located};
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};
use smp_text::source::{KUSTOMIZATION_FILES, SourceId, SourceMap};
use smp_text::yaml::{DuplicateKeys, Node, ParseOptions, parse_documents};

/// The file that lists the written files in a directory of rendered output.
pub const OUTPUT_LIST: &str = ".kubectl-smp-files";

/// Directories that are not searched.
const SKIPPED: [&str; 2] = ["node_modules", "charts"];

/// The time limit for git to list ignored files.
const GIT_LIMIT: Duration = Duration::from_secs(60);

/// Selects the targets to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetSelection {
    /// All targets.
    All,
    /// Targets that no other target uses.
    Leaves,
}

/// Returns true for a directory that is not searched, by real path.
pub type SkipDirectory<'s> = &'s (dyn Fn(&Path) -> bool + Sync);

/// A search for targets.
#[derive(Debug)]
pub struct TargetSearch {
    reader: Reader,
    /// The explicit bases of plain directories.
    bases: Vec<PathBuf>,
}

impl TargetSearch {
    /// Creates a search in a tree that adds the texts it reads to `sources`.
    ///
    /// # Errors
    /// The working directory cannot be read.
    pub fn new(tree: Arc<dyn FileTree>, sources: SourceMap, bases: Vec<PathBuf>) -> Result<Self> {
        Ok(Self { reader: Reader::new(tree, sources, true, Remotes::new(None, true))?, bases })
    }

    /// Returns the targets in and below a directory, sorted. Targets are directories with a kustomization that is not
    /// a Component, and directories with manifests for which a base is found.
    ///
    /// Skips hidden directories, `node_modules`, `charts`, symlinks, paths that git ignores, and directories of rendered
    /// output.
    ///
    /// A directory that cannot be listed is returned as a target, so that its build reports the error.
    ///
    /// # Errors
    /// `directory` cannot be read, or there is no target.
    pub fn find_below(&self, directory: &Path, selected: TargetSelection) -> Result<Vec<PathBuf>> {
        self.find_below_except(directory, selected, &|_| false)
    }

    /// Returns the targets like [`TargetSearch::find_below`], except for those in or below directories with a
    /// kustomization for which `skip` returns true. If only leaves are selected, nothing is skipped.
    ///
    /// # Errors
    /// The errors of [`TargetSearch::find_below`].
    pub fn find_below_except(
        &self,
        directory: &Path,
        selected: TargetSelection,
        skip: SkipDirectory<'_>,
    ) -> Result<Vec<PathBuf>> {
        let top = self.reader.open(directory)?;
        let FoundTargets { targets, used, .. } = self.walk(&top, selected, skip)?;
        let is_selected = |path: &&PathBuf| selected == TargetSelection::All || !used.contains(*path);
        let targets: Vec<_> =
            targets.iter().filter(is_selected).map(|path| relative(path, &top, directory)).collect();
        if targets.is_empty() {
            let message = format!("no targets found in {}", directory.display());
            return Err(Diagnostic::error(Code::NoMatch, message).help(
                "a target is a directory with a kustomization.yaml, or with manifests whose base is ../base or ../../base",
            ));
        }
        Ok(targets)
    }

    /// Returns the directories of the Components in and below a directory, sorted. Skips the same directories as
    /// [`TargetSearch::find_below`].
    ///
    /// # Errors
    /// `directory` cannot be read.
    pub fn find_components(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        let top = self.reader.open(directory)?;
        let found = self.walk(&top, TargetSelection::All, &|_| false)?;
        Ok(found.components.iter().map(|path| relative(path, &top, directory)).collect())
    }

    fn walk(&self, top: &Root, selected: TargetSelection, skip: SkipDirectory<'_>) -> Result<FoundTargets> {
        let walk = SearchWalk { search: self, selected, skip, top: top.clone(), ignored: OnceLock::new() };
        walk.visit(top, &entries_of(top)?, Above::Nothing)
    }

    /// Returns the paths below a directory that git ignores. Returns nothing without git or a repository.
    fn ignored(&self, top: &Root) -> BTreeSet<PathBuf> {
        if !self.reader.tree().is_on_disk() {
            return BTreeSet::new();
        }
        let mut git = Command::new("git");
        // Disable the file system monitor: it is a hook of the repository, a program that the user did not allow.
        git.args(["-c", "core.fsmonitor=false", "ls-files", "-z", "--others", "--ignored", "--directory"])
            .args(["--exclude-standard", "."])
            .current_dir(top.path())
            .env("GIT_OPTIONAL_LOCKS", "0");
        let ended = process::run(&mut git, "`git ls-files`", b"", Some(GIT_LIMIT));
        let Some(listed) = ended.ok().and_then(|ended| ended.into_stdout("`git ls-files`").ok()) else {
            return BTreeSet::new();
        };
        let names = listed.split(|&byte| byte == 0).filter_map(|name| str::from_utf8(name).ok());
        names.filter(|name| !name.is_empty()).map(|name| top.path().join(name)).collect()
    }
}

/// The result of a search, by real path.
#[derive(Default)]
struct FoundTargets {
    targets: BTreeSet<PathBuf>,
    /// Directories used by kustomizations and plain directories.
    used: BTreeSet<PathBuf>,
    components: BTreeSet<PathBuf>,
}

/// Returns a real path below the searched directory as the user would write it.
fn relative(path: &Path, top: &Root, directory: &Path) -> PathBuf {
    match path.strip_prefix(top.path()) {
        Ok(below) if below.as_os_str().is_empty() => directory.to_path_buf(),
        Ok(below) if directory == Path::new(".") => below.to_path_buf(),
        Ok(below) => directory.join(below),
        Err(_) => path.to_path_buf(),
    }
}

/// The kind of directory that encloses the current one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    Nothing,
    /// A kustomization. Its manifests may be in directories below it.
    Kustomization,
}

struct SearchWalk<'s> {
    search: &'s TargetSearch,
    selected: TargetSelection,
    skip: SkipDirectory<'s>,
    top: Root,
    /// The ignored paths. They are only listed if there is a directory that git does not track.
    ignored: OnceLock<BTreeSet<PathBuf>>,
}

impl SearchWalk<'_> {
    fn visit(&self, root: &Root, entries: &[DirectoryEntry], above: Above) -> Result<FoundTargets> {
        let mut found = FoundTargets::default();
        let has_kustomization = entries.iter().any(is_kustomization_file);
        if has_kustomization {
            if self.selected == TargetSelection::All && (self.skip)(root.path()) {
                return Ok(found);
            }
            self.kustomization(root, entries, &mut found);
        } else if root.path() != self.top.path() && entries.iter().any(|entry| entry.name == OUTPUT_LIST) {
            return Ok(found);
        } else if above == Above::Nothing
            && entries.iter().any(is_manifest)
            && self.plain(root, &mut found)?
        {
            // The directories below belong to this target.
            return Ok(found);
        }
        let above = if has_kustomization { Above::Kustomization } else { above };
        let below: Vec<_> = self.below(root, entries).collect();
        let below: Vec<_> = below.into_par_iter().map(|below| self.visit_below(&below?, above)).collect();
        for other in below {
            let FoundTargets { targets, used, components } = other?;
            found.targets.extend(targets);
            found.used.extend(used);
            found.components.extend(components);
        }
        Ok(found)
    }

    /// Visits a directory below another one. If it cannot be listed, it is a target, so that its build reports the
    /// error and the others are found.
    fn visit_below(&self, root: &Root, above: Above) -> Result<FoundTargets> {
        match entries_of(root) {
            Ok(entries) => self.visit(root, &entries, above),
            Err(_) => {
                Ok(FoundTargets { targets: [root.path().to_path_buf()].into(), ..FoundTargets::default() })
            }
        }
    }

    fn is_ignored(&self, directory: &Path) -> bool {
        let ignored = || self.ignored.get_or_init(|| self.search.ignored(&self.top));
        !self.search.reader.tree().is_tracked(directory) && ignored().contains(directory)
    }

    /// Returns the directories to search in a directory.
    fn below(&self, root: &Root, entries: &[DirectoryEntry]) -> impl Iterator<Item = Result<Root>> + use<> {
        let directories = entries.iter().filter(|entry| entry.kind == FileKind::Directory);
        let below = directories.filter_map(|entry| {
            let (name, path) = (entry.name.to_string_lossy(), root.path().join(&entry.name));
            let is_skipped = name.starts_with('.') || SKIPPED.contains(&&*name) || self.is_ignored(&path);
            if is_skipped { None } else { root.open_directory(&path).transpose() }
        });
        below.collect::<Vec<_>>().into_iter()
    }

    /// Returns true if there is a kustomization below a directory. Directories that cannot be listed are treated as
    /// empty.
    fn has_kustomizations_below(&self, root: &Root) -> Result<bool> {
        for below in self.below(root, &entries_of(root).unwrap_or_default()) {
            let below = below?;
            if entries_of(&below).unwrap_or_default().iter().any(is_kustomization_file)
                || self.has_kustomizations_below(&below)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Records a kustomization. If it cannot be read, it is a target, so that its build reports the error.
    fn kustomization(&self, root: &Root, entries: &[DirectoryEntry], found: &mut FoundTargets) {
        let sources = self.search.reader.sources();
        let named: Vec<_> = entries.iter().filter(|entry| is_kustomization_file(entry)).collect();
        let file = match named.as_slice() {
            [one] if one.kind == FileKind::File => Some(root.path().join(&one.name)),
            _ => root.kustomization_file().ok().flatten(),
        };
        let text = file.as_ref().and_then(|file| root.peek(file));
        // Only leaves depend on the directories that a target uses, so most kustomizations need not be parsed.
        if self.selected == TargetSelection::All && !text.is_some_and(|text| may_be_component(&text)) {
            found.targets.insert(root.path().to_path_buf());
            return;
        }
        let source = file.and_then(|file| root.text_at(&file).ok());
        let read = source.and_then(|source| Kustomization::read(sources, source).ok());
        let Some(kustomization) = read.map(|read| read.value) else {
            // An empty Component cannot be built, and is not a target.
            let is_component = source.is_some_and(|source| is_component(sources, source));
            let set = if is_component { &mut found.components } else { &mut found.targets };
            set.insert(root.path().to_path_buf());
            return;
        };
        let set = if kustomization.is_component() { &mut found.components } else { &mut found.targets };
        set.insert(root.path().to_path_buf());
        let lists = [&kustomization.resources, &kustomization.components, &kustomization.generators];
        let plugins = kustomization.transformers.iter().chain(&kustomization.validators);
        for entry in lists.into_iter().flatten().chain(plugins) {
            if RepoSpec::parse(entry).is_err()
                && let Some(directory) =
                    root.directory().locate(entry.as_str()).ok().filter(Located::is_directory)
            {
                found.used.insert(directory.into_path());
            }
        }
    }

    /// Records a directory of manifests as a target if a base outside of it is found, and there are no kustomizations
    /// below it. Returns true if it is a target.
    fn plain(&self, root: &Root, found: &mut FoundTargets) -> Result<bool> {
        let bases = match find_bases(root, &self.search.bases) {
            // A base outside of the allowed directory must not abort the search: the build of the target reports
            // it.
            Err(error) if error.code() == Code::OutsideRoot => {
                found.targets.insert(root.path().to_path_buf());
                return Ok(true);
            }
            bases => bases?.unwrap_or_default(),
        };
        // An explicit base is not an overlay of itself.
        if bases.is_empty()
            || bases.iter().any(|base| root.path().starts_with(base.path()))
            || self.has_kustomizations_below(root)?
        {
            return Ok(false);
        }
        found.targets.insert(root.path().to_path_buf());
        found.used.extend(bases.iter().map(|base| base.path().to_path_buf()));
        Ok(true)
    }
}

/// Returns false if a text certainly does not contain the word `Component`, even with escapes or in another encoding.
fn may_be_component(text: &[u8]) -> bool {
    let word = b"Component";
    text.windows(word.len()).any(|part| part == word) || text.contains(&b'\\') || text.contains(&0)
}

/// Returns true if a text has `kind: Component`, even if it is no valid Component otherwise.
fn is_component(sources: &SourceMap, source: SourceId) -> bool {
    let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    let documents = parse_documents(sources, source, options).unwrap_or_default();
    documents.first().and_then(|node| node.get("kind")).and_then(Node::as_str) == Some("Component")
}

fn entries_of(root: &Root) -> Result<Vec<DirectoryEntry>> {
    root.directory().list().map_err(|error| read_error(format_args!("`{}`", root.shown().display()), &error))
}

fn is_kustomization_file(entry: &DirectoryEntry) -> bool {
    entry.kind != FileKind::Directory && KUSTOMIZATION_FILES.iter().any(|name| entry.name == *name)
}

fn is_manifest(entry: &DirectoryEntry) -> bool {
    let extension = Path::new(&entry.name).extension().and_then(|extension| extension.to_str());
    entry.kind != FileKind::Directory && matches!(extension, Some("yaml" | "yml" | "json"))
}
