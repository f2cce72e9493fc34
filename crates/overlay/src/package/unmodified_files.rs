//! Uses the updated version's files byte for byte where dest's are unmodified.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::change::{ChangeKind, ChangedFile, ChangedPackage, FileContent, PackageChange};
use super::pairing::Layout;
use super::plain::PlainPaths;
use super::read::{Package, PackageFile};

/// Updated files that replace dest's, by their location in dest.
pub(super) type UnmodifiedFiles<'p> = BTreeMap<PathBuf, &'p PackageFile>;

/// Paths of a manifest in the original, the updated version and dest.
pub(super) type ManifestPaths<'p> = [Option<&'p Path>; 3];

/// Finds updated files whose existing manifests are in unmodified files of dest.
pub(super) fn find_unmodified<'p>(
    [original, updated, dest]: [&'p Package; 3],
    (form, plain): (Layout, &PlainPaths<'_>),
    manifest_paths: impl Iterator<Item = ManifestPaths<'p>>,
) -> UnmodifiedFiles<'p> {
    let by_path = |package: &'p Package| -> BTreeMap<&'p Path, &'p PackageFile> {
        package.files().iter().map(|file| (form.path(&file.relative), file)).collect()
    };
    let (original, updated, mine) = (by_path(original), by_path(updated), by_path(dest));
    let is_unmodified = |path: &Path| match (original.get(path), mine.get(path)) {
        (Some(original), Some(dest)) => original.text == dest.text,
        _ => false,
    };
    let mut touched: BTreeSet<&Path> = BTreeSet::new();
    for [of_original, of_updated, of_dest] in manifest_paths {
        let has_unmodified_file = of_original == of_dest && of_dest.is_none_or(is_unmodified);
        touched.extend(of_updated.filter(|_| !has_unmodified_file));
        // Dest's file still has the manifests that upstream keeps elsewhere or that only dest has.
        touched.extend(of_dest.filter(|_| !has_unmodified_file));
    }
    let taken = updated.iter().filter(|(path, _)| !touched.contains(*path) && !plain.contains(path));
    let taken = taken.filter(|(path, _)| !mine.contains_key(*path) || is_unmodified(path));
    let location =
        |path: &Path| mine.get(path).map_or_else(|| dest.location_of(path), |file| file.path.clone());
    taken.map(|(path, file)| (location(path), *file)).collect()
}

/// Replaces the files by the updated texts, which may differ in comments and layout.
pub(super) fn replace_unmodified(changed: &mut ChangedPackage, files: &UnmodifiedFiles<'_>) {
    let reported: BTreeSet<_> = changed.changes.iter().map(|change| change.path.clone()).collect();
    for file in &mut changed.files {
        let Some(updated) = files.get(file.path.as_path()) else { continue };
        if file.text() == Some(&*updated.text) {
            continue;
        }
        file.content = Some(FileContent::Text(updated.text.to_string()));
        file.is_changed = true;
        if !reported.contains(&file.path) {
            let ChangedFile { path, .. } = file;
            let kind = ChangeKind::Content;
            changed.changes.push(PackageChange { resource: None, path: path.clone(), kind });
        }
    }
    changed.changes.sort_by(|a, b| a.path.cmp(&b.path));
}
