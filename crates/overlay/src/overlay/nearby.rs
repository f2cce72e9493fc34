//! Kustomizations near a directory that has none: what was probably meant by it.

use std::path::{Path, PathBuf};

use super::load::Root;
use smp_files::{FileKind, Hidden, LinkPolicy, WalkOptions};
use smp_text::source::KUSTOMIZATION_FILES;

/// How deep they are looked for, and among how many files.
const DEEPEST: usize = 5;
const MOST_FILES: usize = 2000;

/// How many directories above are looked at.
const ABOVE: usize = 3;

/// How many are shown.
const SHOWN: usize = 3;

/// The nearest kustomizations as a list for a message: those below a directory, else the one above it.
pub(super) fn nearest_kustomizations(root: &Root) -> Option<String> {
    kustomizations_below(root).or_else(|| listed(root, &[above(root)?]))
}

/// The kustomizations below a directory as a list for a message.
pub(super) fn kustomizations_below(root: &Root) -> Option<String> {
    listed(root, &below(root))
}

fn listed(root: &Root, found: &[PathBuf]) -> Option<String> {
    let shown = |path: &PathBuf| root.reader().shown(path).display().to_string();
    let names: Vec<String> = found.iter().take(SHOWN).map(shown).collect();
    match (names.len(), found.len().saturating_sub(SHOWN)) {
        (0, _) => None,
        (_, 0) => Some(names.join(", ")),
        (_, more) => Some(format!("{} and {more} more", names.join(", "))),
    }
}

/// The directories below that have one, those that are less deep first.
fn below(root: &Root) -> Vec<PathBuf> {
    let options = WalkOptions { links: LinkPolicy::Keep, hidden: Hidden::Skip, max_depth: DEEPEST };
    let walked = root.directory().walk(options).take(MOST_FILES).filter_map(Result::ok);
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
        let directory = root.neighbour(path).ok().flatten();
        directory.is_some_and(|directory| matches!(directory.kustomization_file(), Ok(Some(_))))
    };
    root.path().ancestors().skip(1).take(ABOVE).find(has_one).map(Path::to_path_buf)
}
