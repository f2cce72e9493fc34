//! Matches the manifests of several packages.
//!
//! Manifests match if they have the same group, kind, namespace and name in the same file. Because files may be
//! renamed, they also match across files if no package has the manifest twice. Renamed manifests match by their
//! recorded upstream identity, otherwise by name, otherwise by position. Ambiguous matches are dropped. Heuristic
//! matches never cause a deletion.

mod affix;
mod content;
mod upstream;

use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use self::affix::{AffixPair, AffixPairs, Evidence, NumberedName, pair_by_affix};
use self::content::{pair_by_content, similarity};
use self::upstream::upstream_identity;
use super::manifest::{GroupKindName, Manifest, ManifestKey};
use super::read::Package;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Node;

/// The position of one manifest in each of the packages that have it.
pub(super) type Matched<const N: usize> = [Option<usize>; N];

/// Finds the counterpart of each manifest among others of the same kind by content: an equal one, or the one that
/// is more similar than all others and shares at least half of the fields and values.
pub fn similar_manifests(manifests: &[&Node], others: &[&Node]) -> Vec<Option<usize>> {
    let pairs = pair_by_content(manifests, others, true);
    let is_close = |(node, other): (&&Node, Option<usize>)| {
        other.filter(|other| similarity(node, others[*other]).is_close())
    };
    manifests.iter().zip(pairs).map(is_close).collect()
}

/// Layout of the packages that are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// All packages are single files: their paths are ignored.
    Files,
    /// At least one package is a directory.
    Directories,
}

impl Layout {
    pub fn from_packages(packages: &[&Package]) -> Self {
        if packages.iter().any(|package| package.is_directory()) { Self::Directories } else { Self::Files }
    }

    /// Returns the path by which files of the packages are matched.
    pub fn path(self, path: &Path) -> &Path {
        if self == Self::Files { Path::new("") } else { path }
    }
}

/// Matched manifests, and warnings about ambiguous matches.
pub(super) struct MatchedManifests<const N: usize> {
    /// Rows in the order of dest, then of the last package.
    pub rows: Vec<Matched<N>>,
    pub warnings: Vec<Diagnostic>,
}

/// Relation of dest to the other packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// Dest was derived from one of the others and may have renamed resources.
    Descendant,
    /// Dest may be unrelated. It can set a namespace where the others have none.
    Unrelated,
}

/// Matches the manifests of dest, the first package, with those of the other packages. For single files the paths are
/// ignored, and single documents match unless their names differ.
///
/// # Errors
/// A package has a manifest twice in one file.
pub(super) fn match_manifests<const N: usize>(
    sides: [&[Manifest<'_>]; N],
    form: Layout,
    kinship: Relation,
) -> Result<MatchedManifests<N>> {
    if form == Layout::Files
        && let Some(matched) = match_single_documents(sides)
    {
        return Ok(MatchedManifests { rows: vec![matched], warnings: Vec::new() });
    }
    let identities = identities(sides);
    let mut pairing = Pairing { sides, identities, form, kinship, rows: Vec::new(), warnings: Vec::new() };
    pairing.match_by_path()?;
    pairing.match_by_identity();
    pairing.match_unnamed();
    if kinship == Relation::Descendant {
        pairing.match_renamed(N - 1);
    }
    pairing.match_renamed(DEST);
    let Pairing { mut rows, warnings, .. } = pairing;
    rows.retain(|row| row.iter().any(Option::is_some));
    rows.sort_by_key(|row| (row[DEST].unwrap_or(usize::MAX), row[N - 1].unwrap_or(usize::MAX), row[1]));
    Ok(MatchedManifests { rows, warnings })
}

/// Matches the only document of each package, unless two have different names.
fn match_single_documents<const N: usize>(sides: [&[Manifest<'_>]; N]) -> Option<Matched<N>> {
    if sides.iter().any(|manifests| manifests.len() > 1) {
        return None;
    }
    let mut names = sides.iter().flat_map(|manifests| manifests.iter()).filter_map(Manifest::identity);
    let first = names.next();
    let same = names.all(|name| Some(name) == first);
    same.then(|| sides.map(|manifests| (!manifests.is_empty()).then_some(0)))
}

/// Position of dest among the packages. The package after it is the one that dest was derived from.
const DEST: usize = 0;

/// State of the matching.
struct Pairing<'m, 'p, const N: usize> {
    sides: [&'m [Manifest<'p>]; N],
    identities: [Vec<Option<GroupKindName>>; N],
    form: Layout,
    kinship: Relation,
    rows: Vec<Matched<N>>,
    warnings: Vec<Diagnostic>,
}

/// Returns the identity by which each manifest is matched. In dest the recorded upstream identity takes precedence over
/// the current name. The identity is `None` if a manifest has no name, or if another manifest of dest has recorded it.
fn identities<const N: usize>(sides: [&[Manifest<'_>]; N]) -> [Vec<Option<GroupKindName>>; N] {
    let mut identities = sides.map(|side| side.iter().map(Manifest::identity).collect::<Vec<_>>());
    let claims: Vec<_> = sides[DEST].iter().map(|manifest| upstream_identity(manifest.node)).collect();
    if claims.iter().all(Option::is_none) {
        return identities;
    }
    let upstream: FxHashSet<GroupKindName> = identities[1..].iter().flatten().flatten().cloned().collect();
    let mut claimed: FxHashMap<&GroupKindName, Vec<usize>> = FxHashMap::default();
    for (i, claim) in claims.iter().enumerate() {
        if let Some(claim) = claim.as_ref().filter(|claim| upstream.contains(*claim)) {
            claimed.entry(claim).or_default().push(i);
        }
    }
    claimed.retain(|_, by| by.len() == 1);
    let own = &mut identities[DEST];
    for identity in own.iter_mut().filter(|i| i.as_ref().is_some_and(|i| claimed.contains_key(i))) {
        *identity = None;
    }
    for (claim, by) in claimed {
        for i in by {
            own[i] = Some(claim.clone());
        }
    }
    identities
}

/// Rows that may belong together, by position: rows that a package lacks, and rows that only this package has.
#[derive(Default)]
struct UnmatchedRows {
    missing: Vec<usize>,
    only_here: Vec<usize>,
}

impl UnmatchedRows {
    fn is_resolved(&self) -> bool {
        self.missing.is_empty() || self.only_here.is_empty()
    }
}

impl<'m, 'p, const N: usize> Pairing<'m, 'p, N> {
    /// Returns the manifest of a row from the first package that has it.
    fn manifest(&self, row: usize) -> Option<&'m Manifest<'p>> {
        self.rows[row].iter().zip(self.sides).find_map(|(at, side)| side.get((*at)?))
    }

    /// Returns the identity of a row, which is a group of matched manifests.
    fn identity(&self, row: usize) -> Option<&GroupKindName> {
        self.rows[row].iter().zip(&self.identities).find_map(|(at, side)| side[(*at)?].as_ref())
    }

    /// Returns the manifest of a row in the package that dest was derived from.
    fn original(&self, row: usize) -> Option<&'m Manifest<'p>> {
        self.sides[1].get(self.rows[row][1]?)
    }

    fn path(&self, manifest: &Manifest<'p>) -> &'p Path {
        self.form.path(manifest.path)
    }

    /// Joins two rows that have manifests of different packages.
    fn join(&mut self, row: usize, other: usize) {
        let other = std::mem::replace(&mut self.rows[other], [None; N]);
        for (mine, other) in self.rows[row].iter_mut().zip(other) {
            *mine = mine.or(other);
        }
    }

    fn match_by_path(&mut self) -> Result<()> {
        let mut known: FxHashMap<(GroupKindName, &Path), usize> = FxHashMap::default();
        for (side, manifests) in self.sides.into_iter().enumerate() {
            for (i, manifest) in manifests.iter().enumerate() {
                let Some(identity) = &self.identities[side][i] else {
                    if matches!(manifest.key, ManifestKey::Resource(_)) {
                        self.rows.push(std::array::from_fn(|other| (other == side).then_some(i)));
                    }
                    continue;
                };
                let path = self.form.path(manifest.path);
                let row = *known.entry((identity.clone(), path)).or_insert(self.rows.len());
                if row == self.rows.len() {
                    self.rows.push([None; N]);
                }
                if let Some(first) = self.rows[row][side].replace(i) {
                    return Err(duplicate_resource(&manifests[first], manifest));
                }
            }
        }
        Ok(())
    }

    /// Joins rows with the same identity in different files, if each package has at most one.
    fn match_by_identity(&mut self) {
        let mut known: FxHashMap<GroupKindName, Vec<usize>> = FxHashMap::default();
        for row in 0..self.rows.len() {
            if let Some(identity) = self.identity(row) {
                known.entry(identity.clone()).or_default().push(row);
            }
        }
        let several = known.into_values().filter(|rows| rows.len() > 1);
        for rows in several.collect::<Vec<_>>() {
            let count = |side: usize| rows.iter().filter(|row| self.rows[**row][side].is_some()).count();
            if (0..N).all(|side| count(side) <= 1) {
                rows[1..].iter().for_each(|row| self.join(rows[0], *row));
            } else if count(DEST) > 1 && count(N - 1) == 1 {
                self.warn_of_several(&rows);
            }
        }
    }

    /// Warns that an added manifest may correspond to one of several in dest with the same name.
    fn warn_of_several(&mut self, rows: &[usize]) {
        let new =
            rows.iter().find(|row| self.rows[**row][DEST].is_none() && self.rows[**row][N - 1].is_some());
        let Some(new) = new.and_then(|row| self.sides[N - 1].get(self.rows[*row][N - 1]?)) else { return };
        let candidates = rows.iter().filter_map(|row| self.sides[DEST].get(self.rows[*row][DEST]?));
        self.warnings.push(ambiguous_match(new, &candidates.collect::<Vec<_>>()));
    }

    /// Pairs manifests without a name or kind within files by content. First matches the packages that dest was derived
    /// from, then dest.
    fn match_unnamed(&mut self) {
        type FileAndKind<'p> = (&'p Path, GroupKindName);
        let mut files: FxHashMap<FileAndKind<'_>, [Vec<usize>; N]> = FxHashMap::default();
        for (side, manifests) in self.sides.into_iter().enumerate() {
            for (i, manifest) in manifests.iter().enumerate() {
                let ManifestKey::Unnamed { names, .. } = &manifest.key else { continue };
                let kind = GroupKindName { name: "".into(), namespace: "".into(), ..names.clone() };
                let key = (self.form.path(manifest.path), kind);
                files.entry(key).or_insert_with(|| std::array::from_fn(|_| Vec::new()))[side].push(i);
            }
        }
        for ((_, names), of_sides) in files {
            let has_kind = !names.kind.is_empty();
            let mut rows: Vec<Matched<N>> = Vec::new();
            for side in (0..N).rev() {
                let nodes: Vec<&Node> = of_sides[side].iter().map(|i| self.sides[side][*i].node).collect();
                let known: Vec<&Node> = rows.iter().filter_map(|row| self.node(row)).collect();
                for (i, found) in of_sides[side].iter().zip(pair_by_content(&nodes, &known, has_kind)) {
                    match found {
                        Some(row) => rows[row][side] = Some(*i),
                        None => rows.push(std::array::from_fn(|s| (s == side).then_some(*i))),
                    }
                }
            }
            self.rows.extend(rows);
        }
    }

    /// Returns the node of a row from the package nearest to dest.
    fn node(&self, row: &Matched<N>) -> Option<&'m Node> {
        row.iter().zip(self.sides).find_map(|(at, side)| side.get((*at)?)).map(|manifest| manifest.node)
    }

    /// Matches manifests that were renamed relative to the package they were derived from.
    fn match_renamed(&mut self, side: usize) {
        self.match_by_upstream_identity(side);
        let unclear = self.match_by_name(side);
        if self.kinship == Relation::Descendant {
            self.match_by_position(side, &unclear);
        }
        for (row, named) in unclear.into_iter().filter(|_| side == DEST) {
            let new = self.rows[row][N - 1].filter(|_| self.rows[row][DEST].is_none());
            let candidates: Vec<_> = named.iter().filter_map(|row| self.manifest(*row)).collect();
            if let Some(new) = new.and_then(|i| self.sides[N - 1].get(i)) {
                self.warnings.push(ambiguous_match(new, &candidates));
            }
        }
    }

    /// Returns the unmatched named rows of a package.
    fn unmatched(&self, side: usize) -> UnmatchedRows {
        let mut unmatched = UnmatchedRows::default();
        for (number, row) in self.rows.iter().enumerate() {
            let is_named = self.manifest(number).is_some_and(|m| matches!(m.key, ManifestKey::Resource(_)));
            let is_alone = row.iter().enumerate().all(|(other, at)| other == side || at.is_none());
            match row[side] {
                // Manifests that existed before are in the original. Those that only the updated version has are
                // new.
                None if is_named && row[1].is_some() => unmatched.missing.push(number),
                Some(_) if is_named && is_alone => unmatched.only_here.push(number),
                _ => {}
            }
        }
        unmatched
    }

    /// Joins each manifest that only one package has with the row of its upstream identity: the group, kind, namespace
    /// and name that kpt recorded in it (`internal.kpt.dev/upstream-identifier`). Ambiguous identities join nothing.
    fn match_by_upstream_identity(&mut self, side: usize) {
        let unmatched = self.unmatched(side);
        if unmatched.is_resolved() {
            return;
        }
        let mut rows_by_identity: FxHashMap<GroupKindName, Vec<usize>> = FxHashMap::default();
        for row in unmatched.missing {
            let versions =
                self.rows[row].iter().zip(self.sides).filter_map(|(at, manifests)| manifests.get((*at)?));
            let identities = versions.flat_map(|m| [m.identity(), upstream_identity(m.node)]).flatten();
            for identity in identities.collect::<FxHashSet<_>>() {
                rows_by_identity.entry(identity).or_default().push(row);
            }
        }
        // For each row, the manifests that refer to it.
        let mut candidates: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for added in unmatched.only_here {
            let identity = self.manifest(added).and_then(|manifest| upstream_identity(manifest.node));
            let rows = identity.and_then(|identity| rows_by_identity.get(&identity));
            if let Some([row]) = rows.map(Vec::as_slice) {
                candidates.entry(*row).or_default().push(added);
            }
        }
        for (row, added) in candidates {
            if let [added] = added.as_slice() {
                self.join(*added, row);
            }
        }
    }

    /// Joins rows whose names differ only in prefix, suffix and namespace. Returns the ambiguous rows with their
    /// candidates.
    fn match_by_name(&mut self, side: usize) -> FxHashMap<usize, Vec<usize>> {
        let unmatched = self.unmatched(side);
        if unmatched.is_resolved() {
            return FxHashMap::default();
        }
        let name = |row: &usize| Some((*row, self.manifest(*row)?.key.names()));
        let original = |row: &usize| Some((*row, self.original(*row)?.key.names()));
        let missing: Vec<NumberedName<'_>> = unmatched.missing.iter().filter_map(original).collect();
        let only_here: Vec<NumberedName<'_>> = unmatched.only_here.iter().filter_map(name).collect();
        let AffixPairs { mut pairs, ambiguous: unclear } = pair_by_affix(&missing, &only_here);
        pairs.retain(|pair| self.is_credible(*pair, side));
        for AffixPair { upstream, dest, .. } in pairs {
            self.join(dest, upstream);
        }
        unclear
    }

    /// Returns true if the evidence suffices to match a name with a name that contains it.
    fn is_credible(&self, AffixPair { upstream, dest, evidence }: AffixPair, side: usize) -> bool {
        let (Some(old), Some(new)) = (self.original(upstream), self.manifest(dest)) else { return false };
        if self.kinship == Relation::Unrelated {
            return evidence == Evidence::SameName && old.key.names().namespace.is_empty();
        }
        let is_same_file = self.path(old) == self.path(new);
        let is_close = || similarity(old.node, new.node).is_close();
        match side {
            DEST if self.would_be_removed(upstream) => {
                evidence > Evidence::UniqueAffix || is_same_file && is_close()
            }
            DEST => evidence > Evidence::UniqueAffix || is_same_file || is_close(),
            // A new upstream resource may have a name similar to that of a removed one.
            _ => is_close(),
        }
    }

    /// Returns true if a match with this row would remove dest's manifest.
    fn would_be_removed(&self, row: usize) -> bool {
        self.rows[row][N - 1].is_none()
    }

    /// Joins a renamed manifest with the one at the same position if at least half of the content is equal. If both are
    /// the only unmatched ones of their kind in the file, their positions may differ.
    fn match_by_position(&mut self, side: usize, unclear: &FxHashMap<usize, Vec<usize>>) {
        let mut unmatched = self.unmatched(side);
        unmatched
            .missing
            .retain(|row| !unclear.contains_key(row) && (side != DEST || !self.would_be_removed(*row)));
        let mut groups: FxHashMap<(GroupKindName, &Path), UnmatchedRows> = FxHashMap::default();
        let kind_and_file = |manifest: &Manifest<'p>| {
            let names = manifest.key.names().clone();
            (GroupKindName { name: "".into(), namespace: "".into(), ..names }, self.path(manifest))
        };
        for row in unmatched.missing {
            if let Some(group) = self.original(row).map(kind_and_file) {
                groups.entry(group).or_default().missing.push(row);
            }
        }
        for row in unmatched.only_here {
            if let Some(group) = self.manifest(row).map(kind_and_file) {
                groups.entry(group).or_default().only_here.push(row);
            }
        }
        for UnmatchedRows { missing, only_here } in groups.into_values() {
            let is_only = missing.len() == 1 && only_here.len() == 1;
            let position = |manifest: &Manifest<'_>| (manifest.index.document, manifest.index.item);
            let by_position: FxHashMap<_, usize> =
                only_here.iter().filter_map(|row| Some((position(self.manifest(*row)?), *row))).collect();
            let found = |row: &usize| {
                let old = self.original(*row)?;
                let new_row = if is_only { only_here.first() } else { by_position.get(&position(old)) };
                let new = self.manifest(*new_row?)?;
                similarity(old.node, new.node).is_close().then_some((*new_row?, *row))
            };
            let pairs: Vec<_> = missing.iter().filter_map(found).collect();
            for (new_row, row) in pairs {
                self.join(new_row, row);
            }
        }
    }
}

fn ambiguous_match(new: &Manifest<'_>, candidates: &[&Manifest<'_>]) -> Diagnostic {
    let message = "several resources in the destination may match this resource, so it is added as a new one";
    let mut warning = Diagnostic::warning(Code::Ambiguous, message).resource(new);
    warning = warning.label(new.node.span().at_start(), "added resource");
    for manifest in candidates {
        warning = warning.label(manifest.node.span().at_start(), "possible match");
    }
    warning.help("mark the matching resource with `# kpt-merge: NAMESPACE/NAME` after `metadata:`")
}

fn duplicate_resource(first: &Manifest<'_>, second: &Manifest<'_>) -> Diagnostic {
    Diagnostic::error(Code::DuplicateResource, "duplicate resource in one file")
        .label(second.node.span().at_start(), "second definition")
        .label(first.node.span().at_start(), "first definition")
        .resource(second)
        .help("remove one of them or move it to another file")
}
