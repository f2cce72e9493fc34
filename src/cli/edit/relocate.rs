//! `edit move`: moves a file or directory, and updates the paths in kustomizations.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::write::reader;
use crate::cli::check::common_directory;
use crate::cli::package::print;
use crate::cli::{Outcome, render};
use smp_files::{
    DiskTree, Expected, FileChange, FileTree as _, Located, change_files, recover_directory_and_parents,
    remove_empty_directories,
};
use smp_merge::diff::unified;
use smp_overlay::edit::{EditedText, Move, move_path};
use smp_text::diagnostic::counted;
use smp_text::source::SourceMap;

#[derive(Debug, Args)]
pub(super) struct MoveArgs {
    /// File or directory, such as a base
    #[arg(value_name = "PATH")]
    from: PathBuf,

    /// New path
    #[arg(value_name = "NEW_PATH")]
    to: PathBuf,

    /// Print the changes as a diff, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Moves a path, and changes all kustomizations of the repository that refer to it.
pub(super) fn run(args: &MoveArgs, sources: &SourceMap) -> Outcome {
    let repository = repository(&args.from);
    recover_directory_and_parents(&repository)?;
    let moved = move_path(&reader(sources)?, &repository, &args.from, &args.to)?;
    if args.dry_run {
        let name = |path: &Path| path.display().to_string();
        print(&format!("rename {} -> {}\n", args.from.display(), args.to.display()))?;
        for one in &moved.texts {
            let name = name(&one.path);
            print(&unified(&format!("a/{name}"), &format!("b/{name}"), &one.before, &one.after))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    write(&moved)?;
    remove_empty_directories(&args.from);
    render::print_change(&format!(
        "{} -> {}: {} moved, {} changed",
        args.from.display(),
        args.to.display(),
        counted(moved.files.len(), "file"),
        counted(moved.texts.len(), "kustomization")
    ));
    Ok(ExitCode::SUCCESS)
}

/// Returns the nearest parent directory with a git repository, or the working directory if there is
/// none.
fn repository(path: &Path) -> PathBuf {
    let here = DiskTree.working_directory().unwrap_or_default();
    let found = DiskTree.locate(Path::new(""), path).map(Located::into_path).unwrap_or_default();
    let git = found.ancestors().skip(1).find(|above| DiskTree.contains(&above.join(".git")));
    git.map_or(here, Path::to_path_buf)
}

/// Writes all files at their new paths and removes the old ones. If this fails, nothing is changed.
fn write(moved: &Move) -> smp_text::diagnostic::Result<()> {
    let mut changes = Vec::new();
    for file in &moved.files {
        changes.push(FileChange {
            executable: Some(file.is_executable),
            expected: Expected::Missing,
            ..FileChange::new(&file.to, Some(&file.content))
        });
        changes.push(FileChange::new(&file.from, None));
    }
    let here = DiskTree.working_directory().unwrap_or_default();
    let texts: Vec<(PathBuf, &EditedText)> =
        moved.texts.iter().map(|one| (here.join(&one.path), one)).collect();
    let is_moved = |path: &Path| moved.files.iter().any(|file| file.to == path);
    for (path, text) in texts.iter().filter(|(path, _)| !is_moved(path)) {
        changes.push(FileChange {
            expected: Expected::Text(&text.before),
            ..FileChange::new(path, Some(text.after.as_bytes()))
        });
    }
    match common_directory(changes.iter().map(|change| change.path)) {
        Some(directory) => change_files(&directory, &changes),
        None => Ok(()),
    }
}
