//! Aligns one level of several trees: finds the fields and list entries that correspond to each other.
//!
//! Children are indexed by name, so the cost per entry does not grow with the list. The callers determine how two
//! values merge.

use rustc_hash::FxHashMap;

use smol_str::SmolStr;

use super::association::{Association, ListPolicy, MultipleMatches, is_undeclared};
use super::identity::{Identity, KeyComparison, KeyRule, KeyValue, MergeKeys, NullKey, PAIRWISE_LIMIT};
use crate::schema::Cursor;
use smp_text::yaml::{Entry, Map, Node};

/// Returns the fields of several maps: first those of the first map in order, then the additional fields of each
/// following map.
#[must_use]
pub fn fields<const N: usize>(maps: [&Map; N]) -> Vec<[Option<&Entry>; N]> {
    let field = |side: usize, at: Option<usize>| maps[side].entries().get(at?);
    let entries = |row: [Option<usize>; N]| std::array::from_fn(|side| field(side, row[side]));
    field_positions(maps).into_iter().map(entries).collect()
}

/// Returns the same rows as [`fields`], with the index of each field in each map.
#[must_use]
pub fn field_positions<const N: usize>(maps: [&Map; N]) -> Vec<[Option<usize>; N]> {
    let indexes = maps.map(Map::index);
    let mut rows = Vec::with_capacity(maps.iter().map(|map| map.len()).max().unwrap_or_default());
    for (side, map) in maps.iter().enumerate() {
        for (i, entry) in map.entries().iter().enumerate() {
            let found = |other: usize| match other {
                _ if other == side => Some(i),
                _ => indexes[other].position(&entry.key.text),
            };
            if (0..side).all(|other| found(other).is_none()) {
                rows.push(std::array::from_fn(found));
            }
        }
    }
    rows
}

/// An entry of several lists: its identity, and its index in each list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlignedEntry<const N: usize> {
    /// The identity of the entry.
    pub identity: Identity,
    /// The index in each list.
    pub positions: [Option<usize>; N],
}

/// Returns the entries of several lists: first those of the first list in order, then the additional entries of each
/// following list.
///
/// Returns `None` if an entry has no identity, or if two entries of one list have the same identity.
#[must_use]
pub fn entries<const N: usize>(
    lists: [&[Node]; N],
    association: &Association,
) -> Option<Vec<AlignedEntry<N>>> {
    let mut rows: Vec<AlignedEntry<N>> = Vec::with_capacity(lists.iter().map(|list| list.len()).max()?);
    let mut known: FxHashMap<Identity, usize> = FxHashMap::default();
    for (side, list) in lists.iter().enumerate() {
        for (position, entry) in list.iter().enumerate() {
            let name = association.identify(entry)?;
            let row = *known.entry(name).or_insert_with_key(|name| {
                rows.push(AlignedEntry { identity: name.clone(), positions: [None; N] });
                rows.len() - 1
            });
            if rows[row].positions[side].replace(position).is_some() {
                return None;
            }
        }
    }
    Some(rows)
}

/// Aligns the entries of several lists, and returns how the list merges.
///
/// Uses the merge keys of the schema. If the schema does not declare any, uses the first of `candidates` that is
/// present in all entries and unique in each list. Returns `None` for a list that merges as one value.
#[must_use]
pub fn lists<const N: usize>(
    lists: [&[Node]; N],
    list: Cursor<'_>,
    policy: ListPolicy,
    candidates: &[SmolStr],
) -> Option<(Association, Vec<AlignedEntry<N>>)> {
    let by = |association: Association| entries(lists, &association).map(|rows| (association, rows));
    match Association::of_versions(list, policy) {
        Association::Unknown | Association::Atomic if is_undeclared(list) => {
            candidates.iter().find_map(|key| by(inferred(key)))
        }
        Association::Unknown | Association::Atomic => None,
        association => by(association),
    }
}

/// Joins rows whose entries differ only by a merge key that was added or removed between the old and the new list. The
/// joined row keeps the old identity. `new` and `old` are indices of the lists.
#[must_use]
pub(crate) fn join_rekeyed<const N: usize>(
    mut rows: Vec<AlignedEntry<N>>,
    keys: &MergeKeys,
    [new, old]: [usize; 2],
) -> Vec<AlignedEntry<N>> {
    let is_gone = |row: &AlignedEntry<N>| row.positions[old].is_some() && row.positions[new].is_none();
    let is_new = |row: &AlignedEntry<N>| (0..N).all(|side| row.positions[side].is_some() == (side == new));
    let positions = |is: &dyn Fn(&AlignedEntry<N>) -> bool| -> Vec<usize> {
        rows.iter().enumerate().filter(|(_, row)| is(row)).map(|(i, _)| i).collect()
    };
    let (gone, added) = (positions(&is_gone), positions(&is_new));
    let names =
        |positions: &[usize]| -> Vec<&Identity> { positions.iter().map(|&i| &rows[i].identity).collect() };
    let mut is_joined = vec![false; rows.len()];
    for [before, after] in rekeyed_pairs(keys, &names(&gone), &names(&added)) {
        let (before, after) = (gone[before], added[after]);
        let at_new = rows[after].positions[new];
        rows[after] = rows[before].clone();
        rows[after].positions[new] = at_new;
        is_joined[before] = true;
    }
    let mut is_joined = is_joined.into_iter();
    rows.retain(|_| is_joined.next() != Some(true));
    rows
}

/// Returns the index pairs of identities that differ only in keys that one of them lacks, such as `a` and `a,x`.
/// Ambiguous identities, and those in groups of more than [`PAIRWISE_LIMIT`], are not paired.
pub(crate) fn rekeyed_pairs(keys: &MergeKeys, old: &[&Identity], new: &[&Identity]) -> Vec<[usize; 2]> {
    let required: Vec<usize> = keys
        .iter()
        .enumerate()
        .filter(|(_, (_, rule))| **rule == KeyRule::Required)
        .map(|(i, _)| i)
        .collect();
    let mut groups: FxHashMap<Vec<Option<&KeyValue>>, [Vec<usize>; 2]> = FxHashMap::default();
    for (side, names) in [old, new].into_iter().enumerate() {
        for (position, name) in names.iter().enumerate() {
            let group = required.iter().map(|&i| name.values().get(i)).collect();
            groups.entry(group).or_default()[side].push(position);
        }
    }
    let mut pairs = Vec::new();
    for [olds, news] in
        groups.into_values().filter(|[olds, news]| olds.len().max(news.len()) <= PAIRWISE_LIMIT)
    {
        let fits = |before: usize, after: usize| is_rekeyed(old[before], new[after]);
        for &before in &olds {
            let mut fitting = news.iter().copied().filter(|&after| fits(before, after));
            if let (Some(after), None) = (fitting.next(), fitting.next())
                && olds.iter().filter(|&&other| fits(other, after)).count() == 1
            {
                pairs.push([before, after]);
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

fn is_rekeyed(old: &Identity, new: &Identity) -> bool {
    let agree = |(a, b): (&KeyValue, &KeyValue)| a == b || !a.is_present() || !b.is_present();
    old.values().len() > 1 && old.values().iter().zip(new.values()).all(agree)
}

/// Returns the association of a list by a key that was inferred from its entries.
fn inferred(key: &SmolStr) -> Association {
    let keys = MergeKeys::new([(key.clone(), KeyRule::Required)], NullKey::Rejected, KeyComparison::Data);
    Association::Keyed { keys, several: MultipleMatches::Rejected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::association::ListPolicy;
    use crate::merge::testing::{json, node, schema};

    /// Describes each row by its name and its indices.
    fn aligned<const N: usize>(field: &str, lists: [&str; N]) -> Option<Vec<String>> {
        let association = Association::of_list(schema().field(field), ListPolicy::Overlay);
        let nodes = lists.map(node);
        let lists = std::array::from_fn(|i| nodes[i].as_list().expect("a list").as_slice());
        let show = |row: &AlignedEntry<N>| {
            let at = row.positions.map(|at| at.map_or("-".to_string(), |at| at.to_string()));
            let name = association.path_element(&row.identity).map(|name| name.to_string());
            format!("{} {}", name.unwrap_or_default(), at.concat())
        };
        entries(lists, &association).map(|rows| rows.iter().map(show).collect())
    }

    #[test]
    fn entries_are_aligned_by_keys_with_defaults() {
        let rows = aligned(
            "ports",
            [
                "[{port: 80}, {port: 53, protocol: UDP}]",
                "[{port: 53, protocol: UDP}, {port: 53}, {port: 80, protocol: TCP}]",
            ],
        );
        let want = ["[port=80,protocol=TCP] 02", "[port=53,protocol=UDP] 10", "[port=53,protocol=TCP] -1"];
        assert_eq!(rows.expect("all are named"), want);
        let rows = aligned("set", ["[b, a]", "[]", "[a, {x: 1}]"]);
        assert_eq!(rows.expect("all are named"), ["[=b] 0--", "[=a] 1-0", " --1"]);
    }

    #[test]
    fn entries_without_unique_keys_are_not_aligned() {
        let table = [
            ("ports", "[{port: 80}]", "[{port: 80}, {port: 80, protocol: TCP}]"),
            ("ports", "[{port: 80}]", "[{name: x}]"),
            ("ports", "[5]", "[]"),
            ("set", "[a, a]", "[]"),
            ("list", "[{name: a}]", "[{name: a}]"),
        ];
        for (field, a, b) in table {
            assert_eq!(aligned(field, [a, b]), None, "{a} {b}");
        }
    }

    #[test]
    fn fields_keep_the_order_of_the_first_map() {
        let (a, b) = (node("{x: 1, y: 2}"), node("{z: 1, y: 3}"));
        let maps = [a.as_map().expect("a map"), b.as_map().expect("a map")];
        let show = |at: Option<usize>| at.map_or("-".to_string(), |at| at.to_string());
        let rows: Vec<String> = field_positions(maps).into_iter().map(|row| row.map(show).concat()).collect();
        assert_eq!(rows, ["0-", "11", "-0"]);
        let text = |entry: Option<&Entry>| entry.map_or("-".into(), |entry| json(&entry.value));
        let rows: Vec<String> = fields(maps).into_iter().map(|row| row.map(text).concat()).collect();
        assert_eq!(rows, ["1-", "23", "-1"]);
    }
}
