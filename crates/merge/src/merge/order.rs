//! The order of the entries of a merged list, computed after the merge.
//!
//! Operates only on positions, not on nodes or keys.

/// The positions that determine the order of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rank {
    /// The position in the patch, if any.
    pub patch: Option<usize>,
    /// The position in the live list, if any.
    pub live: Option<usize>,
    /// True for an entry that comes after all others of its side, such as a deletion in a patch.
    pub last: bool,
}

/// Returns the indices of entries in the API server's order.
///
/// Entries of the patch have the order of the patch, and the others have the live order. The two lists are interleaved
/// by the positions in the live list, if both compared entries have one (apimachinery 0.36, `normalizeElementOrder`).
#[must_use]
pub fn server_order(ranks: &[Rank]) -> Vec<usize> {
    let (patched, rest): (Vec<usize>, Vec<usize>) = (0..ranks.len()).partition(|&i| ranks[i].patch.is_some());
    let patched = side(&patched, ranks, |rank| rank.patch);
    let rest = side(&rest, ranks, |rank| rank.live);
    let mut out = Vec::with_capacity(ranks.len());
    let mut patched = patched.into_iter().peekable();
    for i in rest {
        let before = |p: &usize| !matches!((ranks[i].live, ranks[*p].live), (Some(a), Some(b)) if a < b);
        while let Some(p) = patched.next_if(before) {
            out.push(p);
        }
        out.push(i);
    }
    out.extend(patched);
    out
}

/// Returns the items in the given order.
#[must_use]
pub fn permuted<T>(items: Vec<T>, order: &[usize]) -> Vec<T> {
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.iter().filter_map(|&i| items.get_mut(i).and_then(Option::take)).collect()
}

fn side(items: &[usize], ranks: &[Rank], position: impl Fn(&Rank) -> Option<usize>) -> Vec<usize> {
    let (last, mut rest): (Vec<usize>, Vec<usize>) = items.iter().partition(|&&i| ranks[i].last);
    if rest.iter().all(|&i| position(&ranks[i]).is_some()) {
        rest.sort_by_key(|&i| position(&ranks[i]));
    } else {
        rest = with_unpositioned(&rest, |i| position(&ranks[i]));
    }
    rest.extend(last);
    rest
}

/// Sorts entries with and without positions. An entry without a position is inserted before all earlier ones. An entry
/// with a position is inserted before earlier ones that have a greater position or none.
///
/// This is the result of Go's insertion sort with a comparison that returns "less" for every entry without a position
/// (apimachinery 0.36, lists of up to 20 entries). Entries without a position only occur with an empty
/// `$setElementOrder`.
///
/// Go sorts longer lists in blocks. Here, all entries without a position come first in such a list.
fn with_unpositioned(items: &[usize], position: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    if items.len() > 20 {
        let (mut known, mut unpositioned): (Vec<usize>, Vec<usize>) =
            items.iter().partition(|&&i| position(i).is_some());
        known.sort_by_key(|&i| position(i));
        unpositioned.reverse();
        unpositioned.extend(known);
        return unpositioned;
    }
    let mut out: std::collections::VecDeque<usize> = std::collections::VecDeque::with_capacity(items.len());
    for &item in items {
        let mut at = out.len();
        if let Some(mine) = position(item) {
            while at > 0 && position(out[at - 1]).is_none_or(|other| mine < other) {
                at -= 1;
            }
        } else {
            at = 0;
        }
        out.insert(at, item);
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(pairs: &[(Option<usize>, Option<usize>)]) -> Vec<Rank> {
        pairs.iter().map(|&(patch, live)| Rank { patch, live, last: false }).collect()
    }

    #[test]
    fn patched_entries_take_the_order_of_the_patch() {
        // Live a b c d, patch d b new.
        let ranks = ranks(&[
            (None, Some(0)),
            (Some(1), Some(1)),
            (None, Some(2)),
            (Some(0), Some(3)),
            (Some(2), None),
        ]);
        assert_eq!(server_order(&ranks), [0, 2, 3, 1, 4]);
    }

    #[test]
    fn new_entries_come_before_later_live_entries() {
        // Live a b, patch new b: new is not in the live list, so it comes first.
        let ranks = ranks(&[(None, Some(0)), (Some(1), Some(1)), (Some(0), None)]);
        assert_eq!(server_order(&ranks), [2, 0, 1]);
    }

    #[test]
    fn deletions_go_last() {
        let mut ranks = ranks(&[(Some(0), None), (Some(1), None), (None, Some(0)), (None, Some(1))]);
        ranks[0].last = true;
        ranks[2].last = true;
        assert_eq!(server_order(&ranks), [1, 0, 3, 2]);
    }

    #[test]
    fn entries_without_positions_are_reversed() {
        assert_eq!(server_order(&ranks(&[(None, None), (None, None), (None, None)])), [2, 1, 0]);
        assert_eq!(server_order(&ranks(&[(None, None), (None, Some(5)), (None, Some(3))])), [2, 1, 0]);
    }
}
