//! Fixes findings in files.

use std::path::{Path, PathBuf};

use smp_files::{DiskTree, FileChange, FileTree as _, Located, change_files};
use smp_inspect::check::{CheckReport, FixedFile, fixed_files};
use smp_text::diagnostic::{Code, Diagnostic, Result, counted};
use smp_text::source::SourceMap;

use super::super::render;

/// Applies the safe fixes of all findings, in all files or in none. Files in the cache are not
/// changed. Returns the number of fixed findings.
pub(super) fn fix(report: &CheckReport, cache: Option<&Path>, sources: &SourceMap) -> Result<usize> {
    let real = |path: &Path| {
        let found = DiskTree.locate(Path::new(""), path).map(Located::into_path);
        found.unwrap_or_else(|_| path.to_path_buf())
    };
    write(&fixed_files(report, sources, real), cache)
}

/// Writes all files or none. Files in the cache are not changed. Returns the number of fixed
/// findings.
pub(super) fn write(files: &[FixedFile], cache: Option<&Path>) -> Result<usize> {
    let cache = cache.and_then(|cache| DiskTree.locate(Path::new(""), cache).ok());
    let is_fetched = |path: &Path| cache.as_ref().is_some_and(|cache| path.starts_with(cache.path()));
    let files = files.iter().map(|file| Ok((unchanged_file(file)?, file))).collect::<Result<Vec<_>>>()?;
    let files: Vec<(PathBuf, &FixedFile)> = files.into_iter().filter(|(path, _)| !is_fetched(path)).collect();
    let Some(directory) = common_directory(files.iter().map(|(path, _)| path.as_path())) else {
        return Ok(0);
    };
    let changes: Vec<FileChange<'_>> =
        files.iter().map(|(path, file)| FileChange::new(path, Some(file.after.as_bytes()))).collect();
    change_files(&directory, &changes)?;
    for (_, file) in &files {
        let fixed = match file.fixes {
            0 => "changed".to_string(),
            count => format!("{} fixed", counted(count, "finding")),
        };
        render::print_change(&format!("{}: {fixed}", file.path.display()));
    }
    Ok(files.iter().map(|(_, file)| file.fixes).sum())
}

/// Returns the real path of a file, after checking that the file has not changed since it was read.
fn unchanged_file(file: &FixedFile) -> Result<PathBuf> {
    let shown = file.path.display();
    let found = DiskTree.locate(Path::new(""), &file.path);
    let path = found.map_err(|error| Diagnostic::error(Code::Io, format!("cannot fix {shown}: {error}")))?;
    let now = DiskTree.read_text(path.path()).unwrap_or_default();
    if now != file.before {
        return Err(Diagnostic::error(Code::Io, format!("{shown} changed since it was read"))
            .help("run the command again"));
    }
    Ok(path.into_path())
}

/// Returns the deepest directory that contains all files.
pub(in crate::cli) fn common_directory<'p>(mut files: impl Iterator<Item = &'p Path>) -> Option<PathBuf> {
    let first = files.next()?.parent()?.to_path_buf();
    files.try_fold(first, |common, file| {
        common.ancestors().find(|above| file.starts_with(above)).map(Path::to_path_buf)
    })
}
