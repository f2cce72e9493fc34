//! Inputs in the format of Argo CD.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use super::reads::{ReadKind, TargetReads};
use smp_text::diagnostic::{Code, Diagnostic, Result, escaped};

/// Returns the value of Argo CD's annotation `argocd.argoproj.io/manifest-generate-paths` for an application whose path
/// is the directory of a target. It is a list of relative paths that together include all inputs.
///
/// An input outside of the target's directory is represented by its own directory, so that added files are also
/// included. If that directory contains the application itself, its files are listed one by one, since the directory
/// would include too much.
///
/// # Errors
/// The target is not a local directory.
pub fn reads_to_argocd(target: &TargetReads) -> Result<String> {
    let Some(application) = &target.directory else {
        let message = format!(
            "`{}` is not a local directory, so it cannot be the path of an application",
            target.target
        );
        return Err(Diagnostic::error(Code::InvalidValue, message).help("pass a local directory"));
    };
    let mut paths: Vec<PathBuf> = vec![application.clone()];
    for read in target.reads.iter().filter(|read| read.kind.is_local()) {
        let Some(real) = &read.real else { continue };
        let path = if read.kind == ReadKind::Directory { Some(real.as_path()) } else { real.parent() };
        let path = path.filter(|path| !application.starts_with(path)).unwrap_or(real);
        paths.push(expressible(application, path).to_path_buf());
    }
    paths.sort();
    paths.dedup();
    let mut outer: Vec<PathBuf> = Vec::new();
    for path in paths {
        // Paths are sorted by component, so parents come first.
        if !outer.last().is_some_and(|above| path.starts_with(above)) {
            outer.push(path);
        }
    }
    let mut relative: Vec<String> = outer.iter().map(|path| from(application, path)).collect();
    relative.sort();
    Ok(relative.join(";"))
}

/// Returns the path, or its nearest parent without semicolons and control characters, which the annotation cannot
/// contain.
fn expressible<'p>(application: &Path, path: &'p Path) -> &'p Path {
    let is_plain = |above: &&Path| {
        let path = from(application, above);
        !path.contains(';') && matches!(escaped(&path), Cow::Borrowed(_))
    };
    path.ancestors().find(is_plain).unwrap_or(path)
}

/// Returns a path relative to a directory. Both must be absolute.
fn from(directory: &Path, path: &Path) -> String {
    let shared = path.components().zip(directory.components()).take_while(|(a, b)| a == b).count();
    let up = directory.components().skip(shared).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(shared)).collect();
    if relative.as_os_str().is_empty() { ".".into() } else { relative.to_string_lossy().into_owned() }
}
