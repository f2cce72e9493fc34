//! The kustomizations to which an edit applies. Either all of them are written or none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::lookup;
use super::proof::changed_output;
use crate::cli::check::common_directory;
use crate::cli::package::print;
use crate::cli::{Failure, Outcome, render};
use smp_files::{
    DiskTree, Expected, FileChange, FileTree as _, Located, change_files, recover_directory_and_parents,
};
use smp_merge::diff::unified;
use smp_overlay::edit::{Edit, EditOptions, EditedKustomization, EditedText, edit_kustomization};
use smp_overlay::overlay::{Reader, RemoteCache, Remotes};
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings, read_error};
use smp_text::source::{SourceMap, is_kustomization};

/// An edit, and the kustomizations to which it applies.
pub(super) type Request<'a> = (Result<Edit>, &'a EditTargets);

/// The number of times that an edit is applied while other programs change the same files.
const ATTEMPTS: usize = 20;

/// The flags of all edits.
#[derive(Debug, Args)]
pub(super) struct EditTargets {
    /// Directory of the kustomization to edit; repeatable [default: .]
    #[arg(short = 'k', long, value_name = "DIR")]
    kustomize: Vec<PathBuf>,

    /// Print the changes as a diff, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the edited kustomization; only `-` is allowed
    #[arg(short, long, value_name = "FILE", value_parser = ["-"], hide_possible_values = true, conflicts_with = "dry_run")]
    output: Option<String>,
}

impl EditTargets {
    /// Returns the directories of the kustomizations without duplicates.
    pub(super) fn directories(&self) -> impl Iterator<Item = PathBuf> {
        let here = self.kustomize.is_empty().then(|| Path::new("."));
        // The path of a kustomization file selects its directory.
        let directory = |path: &'_ Path| match path.parent() {
            Some(above) if is_kustomization(path) && !DiskTree.is_directory(path) => {
                if above.as_os_str().is_empty() { PathBuf::from(".") } else { above.to_path_buf() }
            }
            _ => path.to_path_buf(),
        };
        let mut known = BTreeSet::new();
        let is_new = move |directory: &PathBuf| {
            let real = DiskTree.locate(Path::new(""), directory).map(Located::into_path);
            known.insert(real.unwrap_or_else(|_| directory.clone()))
        };
        self.kustomize.iter().map(PathBuf::as_path).chain(here).map(directory).filter(is_new)
    }

    /// Applies an edit to all kustomizations. If another program changes a file at the same time,
    /// the edit is applied again to the new file, so that neither change is lost.
    pub(super) fn edit(&self, edit: &Edit, options: EditOptions, sources: &SourceMap) -> Outcome {
        let mut attempt = 1;
        let (notes, changed) = loop {
            let edited = self.edited(edit, options, attempt, sources)?;
            let notes: Vec<String> = edited.iter().flat_map(|one| &one.notes).cloned().collect();
            if self.output.is_some() {
                print_notes(&notes);
                print_edited(&edited)?;
                return Ok(ExitCode::SUCCESS);
            }
            let changed = edited.into_iter().flat_map(EditedKustomization::into_changed).collect::<Vec<_>>();
            match self.write(&changed) {
                Err(_) if attempt < ATTEMPTS && is_outdated(&changed) => attempt += 1,
                written => {
                    written?;
                    break (notes, changed);
                }
            }
        };
        print_notes(&notes);
        if !options.as_kustomize && !self.dry_run {
            for one in &changed {
                let verb = if one.before.is_empty() { "created" } else { "changed" };
                render::print_change(&format!("{}: {verb}", one.path.display()));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the edited kustomizations. The first attempt prints warnings.
    fn edited(
        &self,
        edit: &Edit,
        options: EditOptions,
        attempt: usize,
        sources: &SourceMap,
    ) -> std::result::Result<Vec<EditedKustomization>, Failure> {
        let mut edited = Vec::new();
        let mut problems: Vec<Diagnostic> = Vec::new();
        for directory in self.directories() {
            let WithWarnings { value: edit, warnings } = resolved(&directory, edit, options);
            if attempt == 1 {
                render::print_or_reject(&warnings, sources)?;
            }
            match edited_in(&directory, &edit, options, sources) {
                Ok(one) => edited.push(one),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems.into());
        }
        if attempt == 1 && matches!(edit, Edit::Fix { .. }) {
            for (directory, one) in self.directories().zip(&edited) {
                if let Some(message) = changed_output(&directory, one) {
                    let warning = Diagnostic::warning(Code::DeprecatedField, message);
                    render::print_or_reject(&[warning], sources)?;
                }
            }
        }
        Ok(edited)
    }

    /// Writes texts. With `--dry-run`, prints their differences.
    fn write(&self, changed: &[EditedText]) -> std::result::Result<(), Failure> {
        if !self.dry_run {
            return Ok(write_files(changed)?);
        }
        for one in changed {
            let name = one.path.display().to_string();
            print(&unified(&format!("a/{name}"), &format!("b/{name}"), &one.before, &one.after))?;
        }
        Ok(())
    }
}

fn print_notes(notes: &[String]) {
    for note in notes {
        render::print_note(note);
    }
}

/// Prints edited kustomizations as separate documents.
fn print_edited(edited: &[EditedKustomization]) -> std::result::Result<(), Failure> {
    for (i, one) in edited.iter().enumerate() {
        print(if i > 0 { "---\n" } else { "" })?;
        print(&one.after)?;
        for file in one.files.iter().filter(|file| file.before != file.after) {
            render::print_note(&format!("{}: not written, because of --output", file.path.display()));
        }
    }
    Ok(())
}

/// Replaces the names of images in an edit by those that the build uses. kustomize does not do
/// this.
fn resolved(directory: &Path, edit: &Edit, options: EditOptions) -> WithWarnings<Edit> {
    match edit {
        Edit::SetImages(edits) if !options.as_kustomize => {
            let WithWarnings { value, mut warnings } = lookup::images(directory, edits);
            warnings.extend(lookup::invalid_images(edits));
            WithWarnings { value: Edit::SetImages(value), warnings }
        }
        other => WithWarnings { value: other.clone(), warnings: Vec::new() },
    }
}

/// Edits the kustomization of a directory. An interrupted write in the directory or in a parent
/// directory is finished or rolled back first.
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

/// Returns true if a file is no longer as it was read.
fn is_outdated(changed: &[EditedText]) -> bool {
    changed.iter().any(|one| DiskTree.read_text(&one.path).is_ok_and(|text| text != one.before))
}

/// Replaces files, all or none, unless one was changed since it was read. Writes through symlinks: to
/// the real path of a file, or into the real directory of a new file.
fn write_files(changed: &[EditedText]) -> Result<()> {
    let locate = |path: &Path| {
        let found = DiskTree.locate(Path::new(""), path).map(Located::into_path);
        found.map_err(|error| read_error(format_args!("`{}`", path.display()), &error))
    };
    let real_path = |one: &EditedText| match (one.path.parent(), one.path.file_name()) {
        (Some(parent), Some(name)) if !DiskTree.contains(&one.path) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Ok(locate(parent)?.join(name))
        }
        _ => locate(&one.path),
    };
    let paths = changed.iter().map(real_path).collect::<Result<Vec<_>>>()?;
    let Some(directory) = common_directory(paths.iter().map(PathBuf::as_path)) else { return Ok(()) };
    let changes: Vec<FileChange<'_>> = paths
        .iter()
        .zip(changed)
        .map(|(path, one)| FileChange {
            expected: Expected::Text(&one.before),
            ..FileChange::new(path, Some(one.after.as_bytes()))
        })
        .collect();
    change_files(&directory, &changes)
}
