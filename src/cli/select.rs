//! Which targets a command is about: those that are named, those below a directory, standard input.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Args, FromArgMatches};

use super::document::read_stdin;
use super::target::has_kustomization;
use super::{Failure, render};
use smp_files::{DiskTree, FileKind, FileTree as _};
use smp_overlay::overlay::{Builder, Built, SearchedTargets, TargetSearch};
use smp_text::diagnostic::{Diagnostic, Result, Severity};
use smp_text::source::{SourceMap, is_kustomization};

/// Which targets.
#[derive(Debug)]
pub(super) struct SelectArgs {
    /// Those that are named, in the order of the command line.
    named: Vec<PathBuf>,
    words: SelectWords,
}

/// The words for targets.
#[derive(Debug, Args)]
struct SelectWords {
    /// Targets: directories, kustomization files, manifests, or - for a stream of manifests; taken in
    /// this order
    #[arg(value_name = "TARGET")]
    targets: Vec<PathBuf>,

    /// Directory to build, as kubectl has it; any other TARGET, too
    #[arg(short = 'k', long, value_name = "DIR")]
    kustomize: Vec<PathBuf>,

    /// Build all targets in the directories and below: each that has a kustomization (but for Components), or
    /// manifests and a base; files stand for themselves
    #[arg(short = 'R', long)]
    recursive: bool,

    /// With --recursive: only targets that no other one uses
    #[arg(long, requires = "recursive", hide_short_help = true)]
    leaves: bool,
}

impl Args for SelectArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        SelectWords::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        SelectWords::augment_args_for_update(command)
    }
}

impl FromArgMatches for SelectArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let words = SelectWords::from_arg_matches(matches)?;
        let mut named = Vec::new();
        for (id, paths) in [("targets", &words.targets), ("kustomize", &words.kustomize)] {
            let places = matches.indices_of(id).into_iter().flatten();
            named.extend(places.zip(paths.iter().cloned()));
        }
        named.sort_by_key(|(place, _)| *place);
        Ok(Self { named: named.into_iter().map(|(_, path)| path).collect(), words })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Targets that were chosen.
pub(super) struct Selection {
    /// `-` for standard input.
    pub targets: Vec<PathBuf>,
    /// What came by standard input, if that is one of them.
    stream: Option<String>,
}

impl SelectArgs {
    /// Whether nothing is named.
    #[cfg(feature = "cluster")]
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Whether directories are searched.
    #[cfg(feature = "cluster")]
    pub(super) fn is_recursive(&self) -> bool {
        self.words.recursive
    }

    /// The targets; without any the working directory.
    ///
    /// # Errors
    /// A directory cannot be searched, or has none; standard input cannot be read; bases for a kustomization that is named.
    pub(super) fn select(
        &self,
        bases: &[PathBuf],
        sources: &SourceMap,
    ) -> std::result::Result<Selection, Failure> {
        let mut named = self.named.clone();
        if named.is_empty() {
            named.push(".".into());
        }
        let streams = named.iter().filter(|target| is_stream(target)).count();
        if streams > 1 {
            return Err(Failure::Usage("standard input can be read only once: keep one `-`".into()));
        }
        let stream = if streams == 1 { Some(read_stdin()?) } else { None };
        if !self.words.recursive {
            named.iter().try_for_each(|target| check_bases(bases, target))?;
            return Ok(Selection { targets: named, stream });
        }
        let wanted = if self.words.leaves { SearchedTargets::Leaves } else { SearchedTargets::All };
        let search = TargetSearch::new(Arc::new(DiskTree), sources.clone(), bases.to_vec())?;
        let mut targets = Vec::new();
        for directory in named {
            // A file stands for itself, as without the flag.
            let is_file = || DiskTree.kind(&directory).is_ok_and(|kind| kind == FileKind::File);
            if is_stream(&directory) || Builder::is_remote(&directory) || is_file() {
                check_bases(bases, &directory)?;
                targets.push(directory);
            } else {
                targets.extend(search.below(&directory, wanted)?);
            }
        }
        Ok(Selection { targets, stream })
    }
}

/// Whether a target is standard input.
pub(super) fn is_stream(target: &Path) -> bool {
    target == Path::new("-")
}

/// Rejects bases for a kustomization, which would have no effect.
fn check_bases(bases: &[PathBuf], target: &Path) -> std::result::Result<(), Failure> {
    let is_kustomization = || is_kustomization(target) || has_kustomization(target);
    if bases.is_empty() || is_stream(target) || Builder::is_remote(target) || !is_kustomization() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "`--base` names the base of a plain directory, and {} is a kustomization, which names its bases under `resources`: \
         leave `--base` out, or add the base there",
        target.display()
    )))
}

/// Problems of one of several targets, which they then name.
pub(super) fn of_target(
    problems: impl IntoIterator<Item = Diagnostic>,
    target: &Path,
    count: usize,
) -> Vec<Diagnostic> {
    problems.into_iter().map(|one| if count == 1 { one } else { one.target(target) }).collect()
}

/// The exit status of a command on `all` targets. If there are several, prints which failed.
pub(super) fn ended(failed: &[&PathBuf], all: usize) -> ExitCode {
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    if all > 1 {
        let names: Vec<_> = failed.iter().map(|target| target.display().to_string()).collect();
        let message = format!("{} of {all} targets failed: {}", failed.len(), names.join(", "));
        render::print_plain(Severity::Error, &message);
    }
    ExitCode::FAILURE
}

impl Selection {
    /// One target.
    ///
    /// # Errors
    /// Standard input cannot be read; bases for a kustomization.
    pub(super) fn of(target: &Path, bases: &[PathBuf]) -> std::result::Result<Self, Failure> {
        check_bases(bases, target)?;
        let stream = if is_stream(target) { Some(read_stdin()?) } else { None };
        Ok(Self { targets: vec![target.to_path_buf()], stream })
    }

    /// The objects of a target that is manifests alone; none for any other.
    ///
    /// # Errors
    /// As [`Builder::manifests`].
    pub(super) fn manifests(&self, builder: &Builder, target: &Path) -> Result<Option<Built>> {
        match &self.stream {
            Some(text) if is_stream(target) => builder.manifests_of_stream(Path::new("<stdin>"), text),
            _ => builder.manifests(target),
        }
    }

    /// Builds one of the targets.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub(super) fn build(&self, builder: &Builder, target: &Path) -> Result<Built> {
        match &self.stream {
            Some(text) if is_stream(target) => builder.build_stream(Path::new("<stdin>"), text),
            _ => builder.build(target),
        }
    }
}
