//! Which manifests of several packages are the same.
//!
//! Those with the same group, kind, namespace and name in the same file are; and as files are renamed,
//! also those in different files, as long as no side has the manifest twice.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::unit::{Key, Unit};
use crate::diagnostic::{Code, Diagnostic, Result};

/// For each manifest, its position in each of the packages that have it.
pub(super) type Tuple<const N: usize> = [Option<usize>; N];

/// Pairs the manifests of packages, in the order of the first, then of the next, and so on. In single
/// files the paths do not count, and single documents are the same unless their names say otherwise.
///
/// # Errors
/// One package has a manifest twice in a file.
pub(super) fn pair<const N: usize>(sides: [&[Unit<'_>]; N], single_files: bool) -> Result<Vec<Tuple<N>>> {
    if single_files && let Some(tuple) = single(sides) {
        return Ok(vec![tuple]);
    }
    let mut tuples: Vec<Tuple<N>> = Vec::new();
    let mut by_path: FxHashMap<(&Key, &Path), usize> = FxHashMap::default();
    for (side, units) in sides.into_iter().enumerate() {
        for (i, unit) in units.iter().enumerate() {
            let path = if single_files { Path::new("") } else { unit.path };
            let at = *by_path.entry((&unit.key, path)).or_insert(tuples.len());
            if at == tuples.len() {
                tuples.push([None; N]);
            }
            if let Some(first) = tuples[at][side].replace(i) {
                return Err(twice(&units[first], unit));
            }
        }
    }
    join_by_name(sides, &mut tuples);
    tuples.retain(|tuple| tuple.iter().any(Option::is_some));
    Ok(tuples)
}

/// The only document of each side, unless two have different names.
fn single<const N: usize>(sides: [&[Unit<'_>]; N]) -> Option<Tuple<N>> {
    if sides.iter().any(|units| units.len() > 1) {
        return None;
    }
    let mut keys = sides.iter().flat_map(|units| units.iter()).filter_map(|unit| match &unit.key {
        Key::Resource(identity) => Some(identity),
        Key::Other(_) => None,
    });
    let first = keys.next();
    let same = keys.all(|key| Some(key) == first);
    same.then(|| sides.map(|units| (!units.is_empty()).then_some(0)))
}

/// Joins what stands in different files under one name, and once at most on each side.
fn join_by_name<const N: usize>(sides: [&[Unit<'_>]; N], tuples: &mut [Tuple<N>]) {
    let mut by_name: FxHashMap<&Key, Vec<usize>> = FxHashMap::default();
    for (at, tuple) in tuples.iter().enumerate() {
        let unit = tuple.iter().zip(sides).find_map(|(i, units)| i.and_then(|i| units.get(i)));
        if let Some(unit) = unit.filter(|unit| matches!(unit.key, Key::Resource(_))) {
            by_name.entry(&unit.key).or_default().push(at);
        }
    }
    for places in by_name.values().filter(|places| places.len() > 1) {
        let once = |side: usize| places.iter().filter(|at| tuples[**at][side].is_some()).count() <= 1;
        if !(0..N).all(once) {
            continue;
        }
        let (first, rest) = (places[0], &places[1..]);
        for &at in rest {
            let other = std::mem::replace(&mut tuples[at], [None; N]);
            for (mine, other) in tuples[first].iter_mut().zip(other) {
                *mine = mine.or(other);
            }
        }
    }
}

fn twice(first: &Unit<'_>, second: &Unit<'_>) -> Diagnostic {
    Diagnostic::error(Code::DuplicateResource, "this resource stands twice in one file")
        .label(second.node.span().at_start(), "the second one")
        .label(first.node.span().at_start(), "the first one")
        .resource(&second.key)
        .help("remove one of the two, or move it to another file")
}
