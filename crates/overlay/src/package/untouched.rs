//! Files that dest has as they came: the updated version's are taken, byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::change::{ChangeKind, ChangedFile, ChangedPackage, FileContent, PackageChange};
use super::pairing::Form;
use super::plain::PlainPaths;
use super::read::{Package, PackageFile};

/// The updated files that take the place of dest's, by where those are or come to be.
pub(super) type Untouched<'p> = BTreeMap<PathBuf, &'p PackageFile>;

/// Where a manifest stands in the original, in the updated version and in dest.
pub(super) type ManifestPaths<'p> = [Option<&'p Path>; 3];

/// The updated files of which all that was there before stands in dest in files of the original.
pub(super) fn untouched<'p>(
    [original, updated, dest]: [&'p Package; 3],
    (form, plain): (Form, &PlainPaths<'_>),
    places: impl Iterator<Item = ManifestPaths<'p>>,
) -> Untouched<'p> {
    let by_path = |package: &'p Package| -> BTreeMap<&'p Path, &'p PackageFile> {
        package.files().iter().map(|file| (form.path(&file.relative), file)).collect()
    };
    let (original, updated, mine) = (by_path(original), by_path(updated), by_path(dest));
    let as_it_came = |path: &Path| match (original.get(path), mine.get(path)) {
        (Some(original), Some(dest)) => original.text == dest.text,
        _ => false,
    };
    let mut touched: BTreeSet<&Path> = BTreeSet::new();
    for [of_original, of_updated, of_dest] in places {
        let is_as_it_came = of_original == of_dest && of_dest.is_none_or(as_it_came);
        touched.extend(of_updated.filter(|_| !is_as_it_came));
        // What upstream leaves elsewhere, or dest alone has, is in dest's file still.
        touched.extend(of_dest.filter(|_| !is_as_it_came));
    }
    let taken = updated.iter().filter(|(path, _)| !touched.contains(*path) && !plain.contains(path));
    let taken = taken.filter(|(path, _)| !mine.contains_key(*path) || as_it_came(path));
    let place = |path: &Path| mine.get(path).map_or_else(|| dest.place_of(path), |file| file.path.clone());
    taken.map(|(path, file)| (place(path), *file)).collect()
}

/// Gives such files the updated texts, which may have other comments and another layout.
pub(super) fn take_untouched(changed: &mut ChangedPackage, files: &Untouched<'_>) {
    let told: BTreeSet<_> = changed.changes.iter().map(|change| change.path.clone()).collect();
    for file in &mut changed.files {
        let Some(updated) = files.get(file.path.as_path()) else { continue };
        if file.text() == Some(&*updated.text) {
            continue;
        }
        file.content = Some(FileContent::Text(updated.text.to_string()));
        file.is_changed = true;
        if !told.contains(&file.path) {
            let ChangedFile { path, .. } = file;
            let kind = ChangeKind::Content;
            changed.changes.push(PackageChange { resource: None, path: path.clone(), kind });
        }
    }
    changed.changes.sort_by(|a, b| a.path.cmp(&b.path));
}
