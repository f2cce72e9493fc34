//! In which order the entries of a merged list stand: a pure step behind the merge.
//!
//! Knows positions only, neither nodes nor keys.

/// What the order of an entry depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rank {
    /// The position that the patch gives it, if it speaks of it.
    pub patch: Option<usize>,
    /// The position that it has in the live list, if it is there.
    pub live: Option<usize>,
    /// Whether it goes behind the others of its side, as deletions in a patch do.
    pub last: bool,
}

/// The positions of entries in the order that the API server gives them.
///
/// What the patch speaks of stands in the patch's order, the rest in the live order; the two are put
/// together by their places in the live list, as far as both have one. (apimachinery 0.36,
/// `normalizeElementOrder`.)
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

/// The items in the given order.
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
        rest = with_strangers(&rest, |i| position(&ranks[i]));
    }
    rest.extend(last);
    rest
}

/// Sorts entries of which some have no position: each that has none goes before all that came
/// earlier, and each that has one goes before earlier ones that are greater or have none.
///
/// That is what Go's insertion sort makes of a comparison that says "less" for every entry without a
/// position (apimachinery 0.36, lists of up to 20 entries): only an empty `$setElementOrder` leads here.
///
/// Longer lists, which Go sorts in blocks, get all entries without a position first.
fn with_strangers(items: &[usize], position: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    if items.len() > 20 {
        let (mut known, mut strangers): (Vec<usize>, Vec<usize>) =
            items.iter().partition(|&&i| position(i).is_some());
        known.sort_by_key(|&i| position(i));
        strangers.reverse();
        strangers.extend(known);
        return strangers;
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
    fn new_entries_come_before_what_follows() {
        // Live a b, patch new b: nothing can stand before an entry that the live list lacks.
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
    fn entries_without_any_position_are_turned_round() {
        assert_eq!(server_order(&ranks(&[(None, None), (None, None), (None, None)])), [2, 1, 0]);
        assert_eq!(server_order(&ranks(&[(None, None), (None, Some(5)), (None, Some(3))])), [2, 1, 0]);
    }
}
