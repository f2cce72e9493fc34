//! The kustomizations that an edit applies to: all of them are written, or none.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use crate::cli::check::common_directory;
use crate::cli::package::print;
use crate::cli::{Outcome, render};
use smp_files::{DiskTree, FileChange, FileTree as _, Located, change_files, recover_directory_and_parents};
use smp_merge::diff::unified;
use smp_overlay::edit::{Edit, EditOptions, EditedKustomization, edit_kustomization};
use smp_overlay::overlay::{Reader, RemoteCache, Remotes};
use smp_text::diagnostic::{Diagnostic, Result, read_error};
use smp_text::source::SourceMap;

/// An edit and the kustomizations that it applies to.
pub(super) type Request<'a> = (Result<Edit>, &'a EditTargets);

/// The flags of all edits.
#[derive(Debug, Args)]
pub(super) struct EditTargets {
    /// Directory of the kustomization to edit (repeatable; default: the working directory)
    #[arg(short = 'k', long, value_name = "DIR")]
    kustomize: Vec<PathBuf>,

    /// Print the changes as a diff, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the edited kustomization instead of writing it
    #[arg(short, long, value_name = "-", value_parser = ["-"], hide_possible_values = true, conflicts_with = "dry_run")]
    output: Option<String>,
}

impl EditTargets {
    /// Applies an edit to all kustomizations.
    pub(super) fn edit(&self, edit: &Edit, options: EditOptions, sources: &SourceMap) -> Outcome {
        let here = [PathBuf::from(".")];
        let directories = if self.kustomize.is_empty() { &here[..] } else { &self.kustomize };
        let mut edited = Vec::new();
        let mut problems: Vec<Diagnostic> = Vec::new();
        for directory in directories {
            match edited_in(directory, edit, options, sources) {
                Ok(one) => edited.push(one),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems.into());
        }
        for note in edited.iter().flat_map(|one| &one.notes) {
            render::print_note(note);
        }
        let changed: Vec<&EditedKustomization> =
            edited.iter().filter(|one| one.before != one.after).collect();
        if self.output.is_some() {
            for one in &edited {
                print(&one.after)?;
            }
        } else if self.dry_run {
            for one in changed {
                let name = one.path.display().to_string();
                print(&unified(&format!("a/{name}"), &format!("b/{name}"), &one.before, &one.after))?;
            }
        } else {
            write(&changed)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Edits the kustomization of a directory, after an interrupted write there is finished or rolled back.
fn edited_in(
    directory: &Path,
    edit: &Edit,
    options: EditOptions,
    sources: &SourceMap,
) -> Result<EditedKustomization> {
    recover_directory_and_parents(directory)?;
    edit_kustomization(&reader(sources)?.open(directory)?, edit, options)
}

/// Returns a reader for kustomizations that are edited or created.
pub(in crate::cli) fn reader(sources: &SourceMap) -> Result<Reader> {
    let cache = RemoteCache::open(None).map(|cache| cache.directory().to_path_buf());
    Reader::new(Arc::new(DiskTree), sources.clone(), true, Remotes::new(cache, false))
}

fn write(changed: &[&EditedKustomization]) -> Result<()> {
    let real = |one: &EditedKustomization| {
        let found = DiskTree.locate(Path::new(""), &one.path).map(Located::into_path);
        found.map_err(|error| read_error(format_args!("`{}`", one.path.display()), &error))
    };
    let paths = changed.iter().map(|one| real(one)).collect::<Result<Vec<_>>>()?;
    let Some(directory) = common_directory(paths.iter().map(PathBuf::as_path)) else { return Ok(()) };
    let changes: Vec<FileChange<'_>> = paths
        .iter()
        .zip(changed)
        .map(|(path, one)| FileChange::new(path, Some(one.after.as_bytes())))
        .collect();
    change_files(&directory, &changes)
}
