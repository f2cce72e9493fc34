//! In which order fields and entries stand after a merge.
//!
//! Knows positions only, neither nodes nor keys.

use crate::merge::ListOrder;

/// The versions, by their place in the positions of a row.
pub(super) const DEST: usize = 0;
pub(super) const UPDATED: usize = 1;
pub(super) const ORIGINAL: usize = 2;

/// The positions of one field or entry in each version.
pub(super) type Places<const N: usize> = [Option<usize>; N];

/// The order of the entries that stay after a three-way merge, as numbers of rows.
///
/// Where dest has the order of the original, the updated order is taken; else dest's stays. What only the
/// other one has stands behind what it follows there. An order that was asked for puts all that is new
/// behind dest's entries, or before them.
pub(super) fn of_versions(rows: &[Places<3>], order: Option<ListOrder>) -> Vec<usize> {
    if order.is_some() {
        return of_pair(rows, order);
    }
    let known = by_place(rows, DEST).into_iter().filter_map(|row| rows[row][ORIGINAL]);
    if known.is_sorted() { interleaved(rows, UPDATED, DEST) } else { interleaved(rows, DEST, UPDATED) }
}

/// The order of the entries that stay after a two-way merge: dest's, then those that only the updated
/// version has.
pub(super) fn of_pair<const N: usize>(rows: &[Places<N>], order: Option<ListOrder>) -> Vec<usize> {
    let old = by_place(rows, DEST);
    let new = by_place(rows, UPDATED).into_iter().filter(|&row| rows[row][DEST].is_none());
    match order.unwrap_or_default() {
        ListOrder::Append => old.into_iter().chain(new).collect(),
        ListOrder::Prepend => new.chain(old).collect(),
    }
}

/// The order of the fields that stay: dest's, with new ones behind what they follow in the updated version.
pub(super) fn of_fields<const N: usize>(rows: &[Places<N>]) -> Vec<usize> {
    interleaved(rows, DEST, UPDATED)
}

/// The rows that a version has, in its order.
fn by_place<const N: usize>(rows: &[Places<N>], version: usize) -> Vec<usize> {
    let mut present: Vec<usize> = (0..rows.len()).filter(|&row| rows[row][version].is_some()).collect();
    present.sort_unstable_by_key(|&row| rows[row][version]);
    present
}

/// Those of `base` in its order; those that only `other` has in runs, each behind what it follows there.
fn interleaved<const N: usize>(rows: &[Places<N>], base: usize, other: usize) -> Vec<usize> {
    let mut runs: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    let mut order = Vec::with_capacity(rows.len());
    let mut follows = None;
    for row in by_place(rows, other) {
        match follows {
            _ if rows[row][base].is_some() => follows = Some(row),
            None => order.push(row),
            Some(before) => runs[before].push(row),
        }
    }
    for row in by_place(rows, base) {
        order.push(row);
        order.append(&mut runs[row]);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of letters by their places in three texts, dest first.
    fn rows(versions: [&str; 3]) -> (Vec<char>, Vec<Places<3>>) {
        let mut letters: Vec<char> = versions.concat().chars().collect();
        letters.sort_unstable();
        letters.dedup();
        let row = |letter: &char| versions.map(|version| version.find(*letter));
        let rows = letters.iter().map(row).collect();
        (letters, rows)
    }

    #[test]
    fn entries_stand_as_their_neighbours_do() {
        // The original, the updated version, dest, and the order: of all that any of the last two has.
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
            let order: String = of_versions(&rows, None).into_iter().map(|row| letters[row]).collect();
            assert_eq!(order, want, "{original} -> {updated}, {dest}");
        }
    }

    #[test]
    fn new_entries_go_where_they_were_asked_to() {
        let (letters, rows) = rows(["amb", "bna", "ab"]);
        let shown = |order| -> String {
            of_versions(&rows, Some(order)).into_iter().map(|row| letters[row]).collect()
        };
        assert_eq!((shown(ListOrder::Append), shown(ListOrder::Prepend)), ("ambn".into(), "namb".into()));
    }
}
