//! The order of fields and list entries after a merge.
//!
//! Operates only on positions, not on nodes or keys.

use crate::merge::ListOrder;

/// The indices of the versions in [`Positions`].
pub(super) const DEST: usize = 0;
pub(super) const UPDATED: usize = 1;
pub(super) const ORIGINAL: usize = 2;

/// The positions of one field or entry in each version.
pub(super) type Positions<const N: usize> = [Option<usize>; N];

/// Returns the order of the entries that remain after a three-way merge, as row numbers.
///
/// If dest has the same order as the original, the updated order is used, otherwise that of dest. Entries that only the
/// other version has follow their predecessor in that version. If an order is given in the options, all new entries are
/// appended or prepended.
pub(super) fn for_versions(rows: &[Positions<3>], order: Option<ListOrder>) -> Vec<usize> {
    if order.is_some() {
        return for_pair(rows, order);
    }
    let known = by_position(rows, DEST).into_iter().filter_map(|row| rows[row][ORIGINAL]);
    if known.is_sorted() { interleaved(rows, UPDATED, DEST) } else { interleaved(rows, DEST, UPDATED) }
}

/// Returns the order of the entries that remain after a two-way merge: first those of dest, then those that only the
/// updated version has. With [`ListOrder::Prepend`], the latter come first.
pub(super) fn for_pair<const N: usize>(rows: &[Positions<N>], order: Option<ListOrder>) -> Vec<usize> {
    let old = by_position(rows, DEST);
    let new = by_position(rows, UPDATED).into_iter().filter(|&row| rows[row][DEST].is_none());
    match order.unwrap_or_default() {
        ListOrder::Append => old.into_iter().chain(new).collect(),
        ListOrder::Prepend => new.chain(old).collect(),
    }
}

/// Returns the order of the fields that remain: the order of dest, with each new field after its predecessor in the
/// updated version.
pub(super) fn for_fields<const N: usize>(rows: &[Positions<N>]) -> Vec<usize> {
    interleaved(rows, DEST, UPDATED)
}

/// Returns the rows that occur in a version, in its order.
fn by_position<const N: usize>(rows: &[Positions<N>], version: usize) -> Vec<usize> {
    let mut present: Vec<usize> = (0..rows.len()).filter(|&row| rows[row][version].is_some()).collect();
    present.sort_unstable_by_key(|&row| rows[row][version]);
    present
}

/// Returns the rows of `base` in order. Rows that only `other` has follow their predecessor in `other`, or come first
/// if they have none.
fn interleaved<const N: usize>(rows: &[Positions<N>], base: usize, other: usize) -> Vec<usize> {
    let mut runs: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    let mut order = Vec::with_capacity(rows.len());
    let mut follows = None;
    for row in by_position(rows, other) {
        match follows {
            _ if rows[row][base].is_some() => follows = Some(row),
            None => order.push(row),
            Some(before) => runs[before].push(row),
        }
    }
    for row in by_position(rows, base) {
        order.push(row);
        order.append(&mut runs[row]);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a row for each letter with its positions in the three strings. The first string is dest.
    fn rows(versions: [&str; 3]) -> (Vec<char>, Vec<Positions<3>>) {
        let mut letters: Vec<char> = versions.concat().chars().collect();
        letters.sort_unstable();
        letters.dedup();
        let row = |letter: &char| versions.map(|version| version.find(*letter));
        let rows = letters.iter().map(row).collect();
        (letters, rows)
    }

    #[test]
    fn new_entries_follow_their_predecessor() {
        // The original, the updated version, dest, and the order of all letters in the last two.
        let table = [
            ("ab", "ba", "ab", "ba"),
            ("ab", "abn", "ab", "abn"),
            ("ab", "nab", "ab", "nab"),
            ("ab", "anb", "amb", "amnb"),
            ("ab", "bna", "amb", "bnam"),
            ("ab", "anb", "ba", "ban"),
            ("ab", "nab", "ba", "nba"),
            ("", "ab", "ba", "ab"),
            ("", "ab", "cd", "cdab"),
            ("abc", "acb", "cab", "cab"),
        ];
        for (original, updated, dest, want) in table {
            let (letters, rows) = rows([dest, updated, original]);
            let order: String = for_versions(&rows, None).into_iter().map(|row| letters[row]).collect();
            assert_eq!(order, want, "{original} -> {updated}, {dest}");
        }
    }

    #[test]
    fn new_entries_follow_an_explicit_order() {
        let (letters, rows) = rows(["amb", "bna", "ab"]);
        let shown = |order| -> String {
            for_versions(&rows, Some(order)).into_iter().map(|row| letters[row]).collect()
        };
        assert_eq!((shown(ListOrder::Append), shown(ListOrder::Prepend)), ("ambn".into(), "namb".into()));
    }
}
