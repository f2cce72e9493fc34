//! Which manifests of several packages are the same.
//!
//! Those with the same group, kind, namespace and name in the same file are; and as files are renamed, also
//! those in different files, as long as no side has the manifest twice. What dest calls otherwise is found by
//! what it says of its upstream, else by its name, else by where it stands; where two fit, none is taken.

mod affix;
mod content;
mod upstream;

use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use self::affix::{AffixPairs, NumberedName, pair_by_affix};
use self::content::{likeness, pair_by_content};
use self::upstream::upstream_identity;
use super::manifest::{GroupKindName, Manifest, ManifestKey};
use super::read::Package;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::yaml::Node;

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

    /// The path by which the files of the sides belong together.
    pub fn path(self, path: &Path) -> &Path {
        if self == Self::Files { Path::new("") } else { path }
    }
}

/// What dest is to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinship {
    /// It was made from one of them, and may have changed the names.
    Descendant,
    /// It may be from elsewhere: it can have set a namespace where the others leave that open.
    Stranger,
}

/// Matches the manifests of dest, the first side, with those of the others, in the order of dest and then of the
/// last side. In single files the paths do not count, and single documents are the same unless their names
/// say otherwise.
///
/// # Errors
/// One package has a manifest twice in a file.
pub(super) fn match_manifests<const N: usize>(
    sides: [&[Manifest<'_>]; N],
    form: Form,
    kinship: Kinship,
) -> Result<Vec<Matched<N>>> {
    if form == Form::Files
        && let Some(matched) = single(sides)
    {
        return Ok(vec![matched]);
    }
    let mut pairing = Pairing { sides, form, kinship, rows: Vec::new() };
    pairing.by_path()?;
    pairing.by_identity();
    pairing.unnamed();
    pairing.by_upstream_identity();
    let unclear = pairing.by_name();
    if kinship == Kinship::Descendant {
        pairing.by_position(&unclear);
    }
    let mut rows = pairing.rows;
    rows.retain(|row| row.iter().any(Option::is_some));
    rows.sort_by_key(|row| (row[0].unwrap_or(usize::MAX), row[N - 1].unwrap_or(usize::MAX), row[1]));
    Ok(rows)
}

/// The only document of each side, unless two have different names.
fn single<const N: usize>(sides: [&[Manifest<'_>]; N]) -> Option<Matched<N>> {
    if sides.iter().any(|manifests| manifests.len() > 1) {
        return None;
    }
    let mut names = sides.iter().flat_map(|manifests| manifests.iter()).filter_map(Manifest::identity);
    let first = names.next();
    let same = names.all(|name| Some(name) == first);
    same.then(|| sides.map(|manifests| (!manifests.is_empty()).then_some(0)))
}

/// What is known so far. The first side is dest.
struct Pairing<'m, 'p, const N: usize> {
    sides: [&'m [Manifest<'p>]; N],
    form: Form,
    kinship: Kinship,
    rows: Vec<Matched<N>>,
}

/// Rows that may be one, by their numbers: what dest does not have, and what dest alone has.
#[derive(Default)]
struct OpenRows {
    upstream: Vec<usize>,
    dest: Vec<usize>,
}

impl<'m, 'p, const N: usize> Pairing<'m, 'p, N> {
    /// The manifest of a row on one of its sides, the first one first.
    fn manifest(&self, row: usize) -> Option<&'m Manifest<'p>> {
        self.rows[row].iter().zip(self.sides).find_map(|(at, side)| side.get((*at)?))
    }

    /// Joins a row with one that has other sides.
    fn join(&mut self, row: usize, other: usize) {
        let other = std::mem::replace(&mut self.rows[other], [None; N]);
        for (mine, other) in self.rows[row].iter_mut().zip(other) {
            *mine = mine.or(other);
        }
    }

    fn by_path(&mut self) -> Result<()> {
        let mut known: FxHashMap<(GroupKindName, &Path), usize> = FxHashMap::default();
        for (side, manifests) in self.sides.into_iter().enumerate() {
            for (i, manifest) in manifests.iter().enumerate() {
                let Some(identity) = manifest.identity() else { continue };
                let path = self.form.path(manifest.path);
                let row = *known.entry((identity, path)).or_insert(self.rows.len());
                if row == self.rows.len() {
                    self.rows.push([None; N]);
                }
                if let Some(first) = self.rows[row][side].replace(i) {
                    return Err(twice(&manifests[first], manifest));
                }
            }
        }
        Ok(())
    }

    /// Joins what stands in different files under one name, and once at most on each side.
    fn by_identity(&mut self) {
        let mut known: FxHashMap<GroupKindName, Vec<usize>> = FxHashMap::default();
        for row in 0..self.rows.len() {
            let is_settled = self.rows[row].iter().all(Option::is_some);
            if let Some(identity) = self.manifest(row).filter(|_| !is_settled).and_then(Manifest::identity) {
                known.entry(identity).or_default().push(row);
            }
        }
        for rows in known.into_values().filter(|rows| rows.len() > 1) {
            let once = |side: usize| rows.iter().filter(|row| self.rows[**row][side].is_some()).count() <= 1;
            if (0..N).all(once) {
                rows[1..].iter().for_each(|row| self.join(rows[0], *row));
            }
        }
    }

    /// Pairs what has no name, or not even a kind, within files, by content: first the sides that dest was
    /// made from, then dest with them.
    fn unnamed(&mut self) {
        type PlaceOfKind<'p> = (&'p Path, GroupKindName);
        let mut files: FxHashMap<PlaceOfKind<'_>, [Vec<usize>; N]> = FxHashMap::default();
        for (side, manifests) in self.sides.into_iter().enumerate() {
            for (i, manifest) in manifests.iter().enumerate() {
                let ManifestKey::Unnamed { names, .. } = &manifest.key else { continue };
                let of_kind = GroupKindName { name: "".into(), namespace: "".into(), ..names.clone() };
                let key = (self.form.path(manifest.path), of_kind);
                files.entry(key).or_insert_with(|| std::array::from_fn(|_| Vec::new()))[side].push(i);
            }
        }
        for of_sides in files.into_values() {
            let mut rows: Vec<Matched<N>> = Vec::new();
            for side in (0..N).rev() {
                let nodes: Vec<&Node> = of_sides[side].iter().map(|i| self.sides[side][*i].node).collect();
                let known: Vec<&Node> = rows.iter().filter_map(|row| self.node(row)).collect();
                for (i, found) in of_sides[side].iter().zip(pair_by_content(&nodes, &known)) {
                    match found {
                        Some(row) => rows[row][side] = Some(*i),
                        None => rows.push(std::array::from_fn(|s| (s == side).then_some(*i))),
                    }
                }
            }
            self.rows.extend(rows);
        }
    }

    /// What a row has on the side that is nearest to dest.
    fn node(&self, row: &Matched<N>) -> Option<&'m Node> {
        row.iter().zip(self.sides).find_map(|(at, side)| side.get((*at)?)).map(|manifest| manifest.node)
    }

    /// What is open and has a name.
    fn open(&self) -> OpenRows {
        let mut open = OpenRows::default();
        for (number, row) in self.rows.iter().enumerate() {
            let is_named = self.manifest(number).is_some_and(|m| matches!(m.key, ManifestKey::Resource(_)));
            let alone = row[1..].iter().all(Option::is_none);
            // What dest was made from is the original; what only the updated version has is new.
            let has_first = row[1].is_some();
            match row[0] {
                None if is_named && has_first => open.upstream.push(number),
                Some(_) if is_named && alone => open.dest.push(number),
                _ => {}
            }
        }
        open
    }

    /// Joins what of dest says what it was made from.
    fn by_upstream_identity(&mut self) {
        let open = self.open();
        if open.dest.is_empty() || open.upstream.is_empty() {
            return;
        }
        let mut known: FxHashMap<GroupKindName, Vec<usize>> = FxHashMap::default();
        for row in open.upstream {
            let manifests = self.rows[row].iter().zip(self.sides).filter_map(|(at, side)| side.get((*at)?));
            let said = manifests.flat_map(|m| [m.identity(), upstream_identity(m.node)]).flatten();
            for identity in said.collect::<FxHashSet<_>>() {
                known.entry(identity).or_default().push(row);
            }
        }
        let mut claims: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for dest in open.dest {
            let said = self.manifest(dest).and_then(|manifest| upstream_identity(manifest.node));
            if let Some([row]) = said.and_then(|said| known.get(&said)).map(Vec::as_slice) {
                claims.entry(*row).or_default().push(dest);
            }
        }
        for (row, claimed) in claims {
            if let [dest] = claimed.as_slice() {
                self.join(*dest, row);
            }
        }
    }

    /// Joins what has the same name but for a prefix, a suffix and the namespace. Returns the rows of which that
    /// is true in several ways.
    fn by_name(&mut self) -> FxHashSet<usize> {
        let open = self.open();
        if open.dest.is_empty() || open.upstream.is_empty() {
            return FxHashSet::default();
        }
        let names = |row: &usize| Some((*row, self.manifest(*row)?.key.names()));
        let named = |rows: &[usize]| rows.iter().filter_map(names).collect::<Vec<NumberedName<'_>>>();
        let (upstream, dest) = (named(&open.upstream), named(&open.dest));
        let AffixPairs { mut pairs, unclear } = pair_by_affix(&upstream, &dest);
        if self.kinship == Kinship::Stranger {
            pairs.retain(|(upstream, dest)| {
                let [upstream, dest] = [upstream, dest].map(|row| self.manifest(*row).map(|m| m.key.names()));
                upstream.zip(dest).is_some_and(|(u, d)| u.namespace.is_empty() && u.name == d.name)
            });
        }
        for (row, dest) in pairs {
            self.join(dest, row);
        }
        unclear
    }

    /// Joins what has a new name and stands where the other one stood, if most of it is the same; or is with
    /// it the only one of its kind in the file.
    fn by_position(&mut self, unclear: &FxHashSet<usize>) {
        let mut open = self.open();
        open.upstream.retain(|row| !unclear.contains(row));
        let mut places: FxHashMap<(GroupKindName, &Path), OpenRows> = FxHashMap::default();
        for (rows, pick) in [
            (open.upstream, (|open| &mut open.upstream) as fn(&mut OpenRows) -> &mut Vec<usize>),
            (open.dest, |open| &mut open.dest),
        ] {
            for row in rows {
                let Some(manifest) = self.manifest(row) else { continue };
                let of_kind =
                    GroupKindName { name: "".into(), namespace: "".into(), ..manifest.key.names().clone() };
                let path = self.form.path(manifest.path);
                pick(places.entry((of_kind, path)).or_default()).push(row);
            }
        }
        for OpenRows { upstream, dest } in places.into_values() {
            let is_only = upstream.len() == 1 && dest.len() == 1;
            let position = |row: usize| self.manifest(row).map(|m| (m.index.document, m.index.item));
            let here: FxHashMap<_, usize> = dest.iter().map(|row| (position(*row), *row)).collect();
            let found = |row: &usize| {
                let there = if is_only { dest.first() } else { here.get(&position(*row)) };
                let (old, new) = (self.manifest(*row)?.node, self.manifest(*there?)?.node);
                likeness(old, new).is_close().then_some((*there?, *row))
            };
            let pairs: Vec<_> = upstream.iter().filter_map(found).collect();
            for (dest, row) in pairs {
                self.join(dest, row);
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
