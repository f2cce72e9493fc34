//! Mending files.

use std::path::{Path, PathBuf};

use smp_files::{DiskTree, FileChange, FileTree as _, Located, change_files};
use smp_inspect::check::{CheckReport, FixedFile, fixed_files};
use smp_text::diagnostic::{Code, Diagnostic, Result, counted};
use smp_text::source::SourceMap;

use super::super::render;

/// Mends what can be mended for certain: in all files, or in none, but for those that were fetched into the cache.
/// Returns how many findings that were.
pub(super) fn mend(report: &CheckReport, cache: Option<&Path>, sources: &SourceMap) -> Result<usize> {
    let real = |path: &Path| {
        let found = DiskTree.locate(Path::new(""), path).map(Located::into_path);
        found.unwrap_or_else(|_| path.to_path_buf())
    };
    write(&fixed_files(report, sources, real), cache)
}

/// Writes all files or none, but for those that were fetched into the cache. Returns how many findings that fixes.
pub(super) fn write(files: &[FixedFile], cache: Option<&Path>) -> Result<usize> {
    let cache = cache.and_then(|cache| DiskTree.locate(Path::new(""), cache).ok());
    let is_fetched = |path: &Path| cache.as_ref().is_some_and(|cache| path.starts_with(cache.path()));
    let files = files.iter().map(|file| Ok((own_file(file)?, file))).collect::<Result<Vec<_>>>()?;
    let files: Vec<(PathBuf, &FixedFile)> = files.into_iter().filter(|(path, _)| !is_fetched(path)).collect();
    let Some(directory) = common_directory(files.iter().map(|(path, _)| path.as_path())) else {
        return Ok(0);
    };
    let changes: Vec<FileChange<'_>> =
        files.iter().map(|(path, file)| FileChange::new(path, Some(file.after.as_bytes()))).collect();
    change_files(&directory, &changes)?;
    for (_, file) in &files {
        let findings = counted(file.mended, "finding");
        render::print_change(&format!("{}: {findings} mended", file.path.display()));
    }
    Ok(files.iter().map(|(_, file)| file.mended).sum())
}

/// The real path of a file that is still what was read.
fn own_file(file: &FixedFile) -> Result<PathBuf> {
    let shown = file.path.display();
    let found = DiskTree.locate(Path::new(""), &file.path);
    let path =
        found.map_err(|error| Diagnostic::error(Code::Io, format!("{shown} cannot be mended: {error}")))?;
    let now = DiskTree.read_text(path.path()).unwrap_or_default();
    if now != file.before {
        return Err(Diagnostic::error(Code::Io, format!("{shown} was changed since it was read"))
            .help("run the command again"));
    }
    Ok(path.into_path())
}

/// The deepest directory that all files are below.
fn common_directory<'p>(mut files: impl Iterator<Item = &'p Path>) -> Option<PathBuf> {
    let first = files.next()?.parent()?.to_path_buf();
    files.try_fold(first, |common, file| {
        common.ancestors().find(|above| file.starts_with(above)).map(Path::to_path_buf)
    })
}
