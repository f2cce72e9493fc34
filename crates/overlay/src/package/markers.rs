//! Writes both versions of each conflict into the files, between conflict markers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::change::{ChangeKind, ChangedFile, ChangedPackage, FileContent};
use super::lines::{MarkerLabels, TextSides, mark_differences};
use super::read::{Package, as_text};
use smp_text::diagnostic::{Code, Diagnostic, Excerpt};
use smp_text::source::Span;

/// Finds an unresolved conflict in dest. Merging it would nest markers.
pub(super) fn find_unresolved_conflict(dest: &Package) -> Option<Diagnostic> {
    dest.others().iter().filter(|file| file.problem.is_some()).find_map(|file| {
        let text = as_text(&file.content)?;
        let mut lines = text.split_inclusive('\n');
        let at: usize = lines.by_ref().take_while(|line| !line.starts_with("<<<<<<< ")).map(str::len).sum();
        lines.find(|line| line.starts_with(">>>>>>> "))?;
        let location = Span::new(file.source, at, at);
        let message = format!("{} has unresolved conflict markers", file.path.display());
        let error = Diagnostic::error(Code::Conflict, message).label_with(location, "here", Excerpt::Hidden);
        Some(error.help("resolve the conflict and remove the markers"))
    })
}

/// Returns the merged package with both versions of each conflict between markers. The parameters are the results of
/// three merges, each with all conflicts resolved in favor of the version after which the parameter is named. Outside
/// of conflicts, `dest` and `updated` are equal.
pub(super) fn with_conflict_markers(
    [original, dest]: [&ChangedPackage; 2],
    updated: ChangedPackage,
    words: MarkerLabels,
) -> ChangedPackage {
    let by_path = |package: &ChangedPackage| -> BTreeMap<PathBuf, ChangedFile> {
        package.files.iter().map(|file| (file.path.clone(), file.clone())).collect()
    };
    let (original, mut of_dest) = (by_path(original), by_path(dest));
    let text = |file: Option<&ChangedFile>| file.and_then(ChangedFile::text).unwrap_or_default().to_string();
    let mut files: Vec<ChangedFile> = Vec::with_capacity(updated.files.len());
    for file in updated.files {
        let dest = of_dest.remove(&file.path);
        if dest.as_ref().is_some_and(|dest| dest.content == file.content) {
            files.push(file);
            continue;
        }
        let original = text(original.get(&file.path));
        files.push(with_markers(file, &original, &text(dest.as_ref()), words));
    }
    for (path, file) in of_dest {
        let gone = ChangedFile { content: None, ..file.clone() };
        files.push(with_markers(gone, &text(original.get(&path)), &text(Some(&file)), words));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    // A resource in conflict is neither added nor removed, because it is between markers.
    let whole: BTreeSet<_> =
        updated.conflicts.iter().filter(|c| c.field.is_none()).map(|c| &c.resource).collect();
    let mut changes = updated.changes;
    for change in changes.iter_mut().filter(|change| change.resource.is_some()) {
        if whole.contains(&change.resource) {
            change.kind = ChangeKind::Content;
        }
    }
    ChangedPackage { files, changes, ..updated }
}

fn with_markers(file: ChangedFile, original: &str, dest: &str, words: MarkerLabels) -> ChangedFile {
    let updated = file.text().unwrap_or_default();
    let text = mark_differences(TextSides { original, updated, dest }, words);
    ChangedFile { content: Some(FileContent::Text(text)), is_changed: true, ..file }
}
