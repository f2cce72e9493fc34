//! Paths and patterns of the command line, expanded in the directory of the kustomization.

use std::path::Path;

use super::draft::EditOptions;
use crate::overlay::Root;
use smp_files::FileTree;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::glob::{has_meta, matches};
use smp_text::gocompat::path::{base, join};
use smp_text::source::Span;

/// Returns the files and directories that a pattern matches. As in kustomize, hidden ones only match if the last part
/// of the pattern begins with a dot.
///
/// # Errors
/// The pattern is malformed.
pub(super) fn expand(root: &Root, pattern: &str) -> Result<Vec<String>> {
    let found = glob(root.reader().tree(), root.path(), pattern)?;
    let is_hidden = |path: &str| base(path).starts_with('.');
    let keeps_hidden = is_hidden(pattern);
    Ok(found.into_iter().filter(|path| keeps_hidden || !is_hidden(path)).collect())
}

/// Expands patterns of local files. Those that match nothing are skipped with a note.
///
/// # Errors
/// A pattern is malformed.
pub(super) fn expand_local(root: &Root, patterns: &[String], notes: &mut Vec<String>) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for pattern in patterns {
        let found = expand(root, pattern)?;
        if found.is_empty() {
            notes.push(format!("{pattern} has no match"));
        }
        all.extend(found);
    }
    Ok(all)
}

/// Expands patterns of local or remote resources. A pattern that matches no file must be a remote repository. Without
/// `as_kustomize` it may also be the URL of a file.
///
/// # Errors
/// A pattern is malformed, or matches nothing.
pub(super) fn expand_loadable(root: &Root, patterns: &[String], options: EditOptions) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for pattern in patterns {
        let found = expand(root, pattern)?;
        if !found.is_empty() {
            all.extend(found);
            continue;
        }
        if options.as_kustomize {
            root.enter(pattern, Span::default())?;
        } else {
            root.resolve(pattern, Span::default(), |_| Ok(()))?;
        }
        all.push(pattern.clone());
    }
    Ok(all)
}

/// Expands a pattern like Go's `filepath.Glob`, relative to a directory.
fn glob(tree: &dyn FileTree, directory: &Path, pattern: &str) -> Result<Vec<String>> {
    let malformed = || {
        Diagnostic::error(Code::InvalidValue, format!("malformed pattern `{pattern}`"))
            .help("close each `[`, and put `\\` before a special character that is meant literally")
    };
    if matches(pattern, "").is_none() {
        return Err(malformed());
    }
    if !has_meta(pattern) {
        let exists = !pattern.is_empty() && tree.contains(&directory.join(pattern));
        return Ok(exists.then(|| pattern.to_string()).into_iter().collect());
    }
    let (above, last) = pattern.rfind('/').map_or(("", pattern), |i| pattern.split_at(i + 1));
    let above = match above {
        "" => ".",
        "/" => "/",
        other => other.strip_suffix('/').unwrap_or(other),
    };
    let parents = if has_meta(above) { glob(tree, directory, above)? } else { vec![above.to_string()] };
    let mut found = Vec::new();
    for parent in parents {
        let Ok(entries) = tree.list(&directory.join(&parent)) else { continue };
        for name in entries.iter().filter_map(|entry| entry.name.to_str()) {
            if matches(last, name).ok_or_else(malformed)? {
                found.push(join(&[&parent, name]));
            }
        }
    }
    Ok(found)
}
