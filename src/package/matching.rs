//! Which manifests of several packages are the same.
//!
//! Those with the same group, kind, namespace and name in the same file are; and as files are renamed,
//! also those in different files, as long as no side has the manifest twice.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::manifest::{Manifest, ManifestKey};
use super::read::Package;
use crate::diagnostic::{Code, Diagnostic, Result};

/// For each manifest, its position in each of the packages that have it.
pub(super) type Matched<const N: usize> = [Option<usize>; N];

/// What packages are that are matched with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Single files, all of them: their paths do not count.
    Files,
    /// At least one is a directory.
    Directories,
}

impl Form {
    pub fn of(packages: &[&Package]) -> Self {
        if packages.iter().any(|package| package.is_directory()) { Self::Directories } else { Self::Files }
    }
}

/// Matches the manifests of packages, in the order of the first, then of the next, and so on. In single
/// files the paths do not count, and single documents are the same unless their names say otherwise.
///
/// # Errors
/// One package has a manifest twice in a file.
pub(super) fn match_manifests<const N: usize>(
    sides: [&[Manifest<'_>]; N],
    form: Form,
) -> Result<Vec<Matched<N>>> {
    if form == Form::Files
        && let Some(matched) = single(sides)
    {
        return Ok(vec![matched]);
    }
    let mut all: Vec<Matched<N>> = Vec::new();
    let mut by_path: FxHashMap<(&ManifestKey, &Path), usize> = FxHashMap::default();
    for (side, manifests) in sides.into_iter().enumerate() {
        for (i, manifest) in manifests.iter().enumerate() {
            let path = if form == Form::Files { Path::new("") } else { manifest.path };
            let at = *by_path.entry((&manifest.key, path)).or_insert(all.len());
            if at == all.len() {
                all.push([None; N]);
            }
            if let Some(first) = all[at][side].replace(i) {
                return Err(twice(&manifests[first], manifest));
            }
        }
    }
    join_by_name(sides, &mut all);
    all.retain(|matched| matched.iter().any(Option::is_some));
    Ok(all)
}

/// The only document of each side, unless two have different names.
fn single<const N: usize>(sides: [&[Manifest<'_>]; N]) -> Option<Matched<N>> {
    if sides.iter().any(|manifests| manifests.len() > 1) {
        return None;
    }
    let mut names =
        sides.iter().flat_map(|manifests| manifests.iter()).filter_map(|manifest| match &manifest.key {
            ManifestKey::Resource(names) => Some(names),
            ManifestKey::Unnamed(_) => None,
        });
    let first = names.next();
    let same = names.all(|name| Some(name) == first);
    same.then(|| sides.map(|manifests| (!manifests.is_empty()).then_some(0)))
}

/// Joins what stands in different files under one name, and once at most on each side.
fn join_by_name<const N: usize>(sides: [&[Manifest<'_>]; N], all: &mut [Matched<N>]) {
    let mut by_name: FxHashMap<&ManifestKey, Vec<usize>> = FxHashMap::default();
    for (at, matched) in all.iter().enumerate() {
        let manifest = matched.iter().zip(sides).find_map(|(i, manifests)| i.and_then(|i| manifests.get(i)));
        if let Some(manifest) = manifest.filter(|manifest| matches!(manifest.key, ManifestKey::Resource(_))) {
            by_name.entry(&manifest.key).or_default().push(at);
        }
    }
    for places in by_name.values().filter(|places| places.len() > 1) {
        let once = |side: usize| places.iter().filter(|at| all[**at][side].is_some()).count() <= 1;
        if !(0..N).all(once) {
            continue;
        }
        let (first, rest) = (places[0], &places[1..]);
        for &at in rest {
            let other = std::mem::replace(&mut all[at], [None; N]);
            for (mine, other) in all[first].iter_mut().zip(other) {
                *mine = mine.or(other);
            }
        }
    }
}

fn twice(first: &Manifest<'_>, second: &Manifest<'_>) -> Diagnostic {
    Diagnostic::error(Code::DuplicateResource, "this resource stands twice in one file")
        .label(second.node.span().at_start(), "the second one")
        .label(first.node.span().at_start(), "the first one")
        .resource(&second.key)
        .help("remove one of the two, or move it to another file")
}
