//! Inputs as Argo CD wants to know them.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use super::reads::{ReadKind, TargetReads};
use smp_text::diagnostic::{Code, Diagnostic, Result, escaped};

/// The value of Argo CD's annotation `argocd.argoproj.io/manifest-generate-paths` for an application whose path is the
/// directory of a target: paths from there, such that each input lies below one of them.
///
/// Inputs elsewhere are told by the directories that they are in, so that files which come to be there count, too; those
/// in a directory that the application is in are told one by one, for that directory would be all of it.
///
/// # Errors
/// The target is no directory here.
pub fn reads_to_argocd(target: &TargetReads) -> Result<String> {
    let Some(application) = &target.directory else {
        let message = format!("`{}` is no directory that could be the path of an application", target.target);
        return Err(Diagnostic::error(Code::InvalidValue, message).help("name a directory of this machine"));
    };
    let mut paths: Vec<PathBuf> = vec![application.clone()];
    for read in target.reads.iter().filter(|read| read.kind.is_here()) {
        let Some(real) = &read.real else { continue };
        let place = if read.kind == ReadKind::Directory { Some(real.as_path()) } else { real.parent() };
        let place = place.filter(|place| !application.starts_with(place)).unwrap_or(real);
        paths.push(quotable(application, place).to_path_buf());
    }
    paths.sort();
    paths.dedup();
    let mut outer: Vec<PathBuf> = Vec::new();
    for path in paths {
        // Sorted by parts: what is above comes first.
        if !outer.last().is_some_and(|above| path.starts_with(above)) {
            outer.push(path);
        }
    }
    let mut told: Vec<String> = outer.iter().map(|path| from(application, path)).collect();
    told.sort();
    Ok(told.join(";"))
}

/// The path itself, or the nearest one above it without a semicolon or control characters: nothing can quote one there.
fn quotable<'p>(application: &Path, path: &'p Path) -> &'p Path {
    let is_plain = |above: &&Path| {
        let path = from(application, above);
        !path.contains(';') && matches!(escaped(&path), Cow::Borrowed(_))
    };
    path.ancestors().find(is_plain).unwrap_or(path)
}

/// A path from a directory, both absolute.
fn from(directory: &Path, path: &Path) -> String {
    let shared = path.components().zip(directory.components()).take_while(|(a, b)| a == b).count();
    let up = directory.components().skip(shared).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(path.components().skip(shared)).collect();
    if way.as_os_str().is_empty() { ".".into() } else { way.to_string_lossy().into_owned() }
}
