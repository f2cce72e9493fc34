//! Files that dest has as they came: the updated version's are taken, byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::change::{ChangeKind, ChangedFile, ChangedPackage, FileContent, PackageChange};
use super::pairing::Form;
use super::read::{Package, PackageFile};

/// The updated files that take the place of dest's, by where those are.
pub(super) type Untouched<'p> = BTreeMap<&'p Path, &'p PackageFile>;

/// Which files of dest are those of the original. `places` are the paths of each manifest on the three sides: a
/// file that shares one with another file is none, since a side has moved something.
pub(super) fn untouched<'p>(
    [original, updated, dest]: [&'p Package; 3],
    form: Form,
    places: impl Iterator<Item = [Option<&'p Path>; 3]>,
) -> Untouched<'p> {
    let mut moved: BTreeSet<&Path> = BTreeSet::new();
    for place in places {
        let mut paths = place.into_iter().flatten();
        let first = paths.next();
        if paths.any(|path| Some(path) != first) {
            moved.extend(place.into_iter().flatten());
        }
    }
    let by_path = |package: &'p Package| -> BTreeMap<&'p Path, &'p PackageFile> {
        package.files().iter().map(|file| (form.path(&file.relative), file)).collect()
    };
    let (original, updated) = (by_path(original), by_path(updated));
    let files = dest.files().iter().filter_map(|file| {
        let path = form.path(&file.relative);
        let is_untouched = !moved.contains(path) && original.get(path)?.text == file.text;
        is_untouched.then_some((file.path.as_path(), *updated.get(path)?))
    });
    files.collect()
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
