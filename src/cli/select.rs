//! The selection of targets: those on the command line, all targets below a directory, or standard
//! input.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use rustc_hash::FxHashSet;

use super::disk::search_tree;
use super::document::read_stdin;
use super::target::has_kustomization;
use super::{Failure, render};
use smp_files::{DiskTree, FileKind, FileTree, Located, clean_path};
use smp_overlay::overlay::{Builder, Built, SkipDirectory, TargetSearch, TargetSelection};
use smp_text::diagnostic::{Diagnostic, Result, Severity};
use smp_text::source::{SourceMap, is_kustomization};

/// The flags that select targets.
#[derive(Debug, Default, Args)]
pub(super) struct SelectArgs {
    /// Directories, kustomization files or manifests to build, or - (stdin)
    ///
    /// A directory without a kustomization (a plain directory) is merged over its base.
    #[arg(value_name = "TARGET")]
    targets: Vec<PathBuf>,

    /// Directory to build; alternative to TARGET, as in kubectl
    #[arg(short = 'k', long, value_name = "DIR", conflicts_with = "targets")]
    kustomize: Vec<PathBuf>,

    /// Build all targets in the directories and their subdirectories
    ///
    /// A target is a directory with a kustomization (except Components), or a directory with manifests
    /// and a base.
    #[arg(short = 'R', long)]
    recursive: bool,

    /// Only build targets that no other target uses; requires --recursive
    #[arg(long, requires = "recursive", hide_short_help = true)]
    leaves: bool,
}

impl SelectArgs {
    /// Returns the targets on the command line, in order.
    pub(super) fn named(&self) -> &[PathBuf] {
        if self.targets.is_empty() { &self.kustomize } else { &self.targets }
    }

    /// Selects the given targets, as if they were on the command line.
    pub(super) fn from_targets(targets: Vec<PathBuf>) -> Self {
        Self { targets, ..Self::default() }
    }
}

/// The selected targets.
pub(super) struct Selection {
    /// The paths of the targets; `-` for standard input.
    pub targets: Vec<PathBuf>,
    /// The content of standard input, if it is a target.
    stream: Option<String>,
}

impl SelectArgs {
    /// Returns true if there are no targets on the command line.
    #[cfg(feature = "cluster")]
    pub(super) fn is_empty(&self) -> bool {
        self.named().is_empty()
    }

    /// Returns true if only top-level targets are selected.
    #[cfg(feature = "git")]
    pub(super) fn is_leaves(&self) -> bool {
        self.leaves
    }

    /// Returns true if directories are searched recursively.
    pub(super) fn is_recursive(&self) -> bool {
        self.recursive
    }

    /// Returns the selected targets. The default is the working directory.
    ///
    /// # Errors
    /// A directory cannot be searched or contains no target, standard input cannot be read, or
    /// bases are set for a kustomization.
    pub(super) fn select(
        &self,
        bases: &[PathBuf],
        sources: &SourceMap,
    ) -> std::result::Result<Selection, Failure> {
        let named = if self.named().is_empty() { vec![".".into()] } else { self.named().to_vec() };
        let tree = search_tree();
        self.select_in(&tree, named, bases, sources)
    }

    /// Returns the selected targets in a tree of files: those on the command line, or those found
    /// below the directories on the command line.
    ///
    /// # Errors
    /// The errors of [`SelectArgs::select`].
    pub(super) fn select_in(
        &self,
        tree: &Arc<dyn FileTree>,
        named: Vec<PathBuf>,
        bases: &[PathBuf],
        sources: &SourceMap,
    ) -> std::result::Result<Selection, Failure> {
        self.select_except((tree, &|_| false), named, bases, sources)
    }

    /// Returns the targets like [`SelectArgs::select_in`]. With `--recursive`, directories with a
    /// kustomization are skipped if the function returns true for their real path.
    ///
    /// # Errors
    /// The errors of [`SelectArgs::select`].
    pub(super) fn select_except(
        &self,
        (tree, skip): (&Arc<dyn FileTree>, SkipDirectory<'_>),
        named: Vec<PathBuf>,
        bases: &[PathBuf],
        sources: &SourceMap,
    ) -> std::result::Result<Selection, Failure> {
        let streams = named.iter().filter(|target| is_stream(target)).count();
        if streams > 1 {
            return Err(Failure::Usage("standard input can be read only once: use a single `-`".into()));
        }
        let stream = if streams == 1 { Some(read_stdin()?) } else { None };
        if !self.recursive {
            named.iter().try_for_each(|target| check_bases(bases, target))?;
            return Ok(Selection { targets: distinct(&**tree, named), stream });
        }
        let wanted = if self.leaves { TargetSelection::Leaves } else { TargetSelection::All };
        let search = TargetSearch::new(Arc::clone(tree), sources.clone(), bases.to_vec())?;
        let mut targets = Vec::new();
        for directory in named {
            // A file is itself a target, as without --recursive.
            let is_file = || tree.kind(&directory).is_ok_and(|kind| kind == FileKind::File);
            if is_stream(&directory) || Builder::is_remote(&directory) || is_file() {
                check_bases(bases, &directory)?;
                targets.push(directory);
            } else {
                targets.extend(search.find_below_except(&directory, wanted, skip)?);
            }
        }
        Ok(Selection { targets: distinct(&**tree, targets), stream })
    }
}

/// Returns the targets, each once. The file of a kustomization is replaced by its directory. Other
/// symlinks to the same directory are other targets: they may have other bases and output files.
pub(super) fn distinct(tree: &dyn FileTree, mut targets: Vec<PathBuf>) -> Vec<PathBuf> {
    if targets.len() < 2 {
        return targets;
    }
    let here = DiskTree.working_directory().unwrap_or_default();
    let identity = |target: &PathBuf| {
        if Builder::is_remote(target) {
            return (target.clone(), None);
        }
        let mut path = here.join(target);
        if is_kustomization(&path) && tree.kind(&path).is_ok_and(|kind| kind == FileKind::File) {
            path.pop();
        }
        // `link/..` is not always the directory that contains the link.
        let real = tree.locate(Path::new(""), &path).ok().map(Located::into_path);
        (clean_path(&path), real)
    };
    let mut known = FxHashSet::default();
    targets.retain(|target| known.insert(identity(target)));
    targets
}

/// Returns true if a target is standard input.
pub(super) fn is_stream(target: &Path) -> bool {
    target == Path::new("-")
}

/// Rejects bases for a kustomization, since they would have no effect.
fn check_bases(bases: &[PathBuf], target: &Path) -> std::result::Result<(), Failure> {
    let is_kustomization = || is_kustomization(target) || has_kustomization(&DiskTree, target);
    if bases.is_empty() || is_stream(target) || Builder::is_remote(target) || !is_kustomization() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "`--base` cannot be used with the kustomization `{}`, which lists its bases under `resources`: remove the \
         flag, or add the base there",
        target.display()
    )))
}

/// Adds the target to problems if there are several targets.
pub(super) fn with_target(
    problems: impl IntoIterator<Item = Diagnostic>,
    target: &Path,
    count: usize,
) -> Vec<Diagnostic> {
    problems.into_iter().map(|one| if count == 1 { one } else { one.target(target) }).collect()
}

/// Returns the exit status of a command with `all` targets. If there are several, prints the failed
/// ones.
pub(super) fn exit_status(failed: &[&PathBuf], all: usize) -> ExitCode {
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    if all > 1 {
        let names: Vec<_> = failed.iter().map(|target| target.display().to_string()).collect();
        let message = format!("{} of {all} targets failed: {}", failed.len(), names.join(", "));
        render::print_conclusion(Severity::Error, &message);
    }
    ExitCode::FAILURE
}

impl Selection {
    /// Selects a target that is not standard input.
    pub(super) fn from_target(target: PathBuf) -> Self {
        Self::from_targets(vec![target])
    }

    /// Selects targets that are not standard input.
    pub(super) fn from_targets(targets: Vec<PathBuf>) -> Self {
        Self { targets, stream: None }
    }

    /// Selects a single target.
    ///
    /// # Errors
    /// Standard input cannot be read, or bases are set for a kustomization.
    pub(super) fn single(target: &Path, bases: &[PathBuf]) -> std::result::Result<Self, Failure> {
        check_bases(bases, target)?;
        let stream = if is_stream(target) { Some(read_stdin()?) } else { None };
        Ok(Self { targets: vec![target.to_path_buf()], stream })
    }

    /// Returns the objects of a target that consists only of manifests, or `None` for any other
    /// target.
    ///
    /// # Errors
    /// The errors of [`Builder::manifests`].
    pub(super) fn manifests(&self, builder: &Builder, target: &Path) -> Result<Option<Built>> {
        match &self.stream {
            Some(text) if is_stream(target) => builder.manifests_from_stream(Path::new("<stdin>"), text),
            _ => builder.manifests(target),
        }
    }

    /// Builds one of the targets.
    ///
    /// # Errors
    /// The errors of [`Builder::build`].
    pub(super) fn build(&self, builder: &Builder, target: &Path) -> Result<Built> {
        match &self.stream {
            Some(text) if is_stream(target) => builder.build_stream(Path::new("<stdin>"), text),
            _ => builder.build(target),
        }
    }
}
