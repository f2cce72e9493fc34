//! Finds kustomizations near a directory without one, to suggest what was probably meant.

use std::path::{Path, PathBuf};

use super::root::Root;
use smp_files::{FileKind, Hidden, LinkPolicy, WalkOptions};
use smp_text::source::KUSTOMIZATION_FILES;

/// The maximum depth and number of files of the search below a directory.
const MAX_DEPTH: usize = 5;
const MAX_FILES: usize = 2000;

/// The number of parent directories to search.
const MAX_PARENTS: usize = 3;

/// The maximum number of directories shown in a message.
const MAX_SHOWN: usize = 3;

/// Returns the nearest kustomizations as a list for a message: those below a directory, or else the one above it.
pub(super) fn nearest_kustomizations(root: &Root) -> Option<String> {
    kustomizations_below(root).or_else(|| listed(root, &[above(root)?]))
}

/// Returns the kustomizations below a directory as a list for a message.
pub(super) fn kustomizations_below(root: &Root) -> Option<String> {
    listed(root, &below(root))
}

fn listed(root: &Root, found: &[PathBuf]) -> Option<String> {
    let shown = |path: &PathBuf| root.reader().shown(path).display().to_string();
    let names: Vec<String> = found.iter().take(MAX_SHOWN).map(shown).collect();
    match (names.len(), found.len().saturating_sub(MAX_SHOWN)) {
        (0, _) => None,
        (_, 0) => Some(names.join(", ")),
        (_, more) => Some(format!("{} and {more} more", names.join(", "))),
    }
}

/// Returns the directories below a directory that have a kustomization, the least deep first.
fn below(root: &Root) -> Vec<PathBuf> {
    let options = WalkOptions { links: LinkPolicy::Keep, hidden: Hidden::Skip, max_depth: MAX_DEPTH };
    let walked = root.directory().walk(options).take(MAX_FILES).filter_map(Result::ok);
    let is_kustomization =
        |path: &Path| KUSTOMIZATION_FILES.iter().any(|name| path.file_name() == Some(name.as_ref()));
    let files = walked.filter(|walked| walked.kind == FileKind::File && is_kustomization(&walked.path));
    let mut found: Vec<(usize, PathBuf)> =
        files.filter_map(|file| Some((file.depth, root.path().join(file.path.parent()?)))).collect();
    found.sort();
    found.dedup();
    found.into_iter().map(|(_, path)| path).collect()
}

fn above(root: &Root) -> Option<PathBuf> {
    let has_one = |path: &&Path| {
        let directory = root.open_directory(path).ok().flatten();
        directory.is_some_and(|directory| matches!(directory.kustomization_file(), Ok(Some(_))))
    };
    root.path().ancestors().skip(1).take(MAX_PARENTS).find(has_one).map(Path::to_path_buf)
}
