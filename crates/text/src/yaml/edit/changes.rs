//! Computes which elements of a map or list are kept, removed and added. It uses nodes only, not text.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::yaml::node::{Node, Value};

/// An element of a map or list after the change.
pub(super) enum Element<'n, T> {
    /// The element with this index before the change.
    Kept(usize),
    New(&'n T),
}

/// The kept elements, and the positions of new ones.
pub(super) struct CollectionChanges<'n, T> {
    /// True for each element before the change that is kept.
    pub kept: Vec<bool>,
    /// New elements before the first kept element.
    pub prepended: Vec<&'n T>,
    /// The new elements after each kept element, in their new order.
    pub inserted_after: Vec<(usize, Vec<&'n T>)>,
}

impl<'n, T> CollectionChanges<'n, T> {
    /// Aligns the elements after the change with those before it. Elements in `kept` are also kept if `elements` does
    /// not contain them.
    pub fn new(kept: Vec<bool>, elements: impl Iterator<Item = Element<'n, T>>) -> Self {
        let mut changes = Self { kept, prepended: Vec::new(), inserted_after: Vec::new() };
        let (mut last, mut new) = (None, Vec::new());
        for element in elements {
            match element {
                Element::New(element) => new.push(element),
                Element::Kept(i) => {
                    changes.flush_new(last, &mut new);
                    changes.kept[i] = true;
                    last = Some(i);
                }
            }
        }
        changes.flush_new(last, &mut new);
        changes
    }

    /// Records the new elements after the last kept one.
    fn flush_new(&mut self, last: Option<usize>, new: &mut Vec<&'n T>) {
        if !new.is_empty() {
            let new = std::mem::take(new);
            match last {
                Some(last) => self.inserted_after.push((last, new)),
                None => self.prepended = new,
            }
        }
    }

    pub fn first_kept(&self) -> Option<usize> {
        self.kept.iter().position(|kept| *kept)
    }

    pub fn last_kept(&self) -> Option<usize> {
        self.kept.iter().rposition(|kept| *kept)
    }
}

/// Finds the entry before the change for each entry after it: the one with the same location, otherwise an equal one,
/// otherwise one with the same first field, otherwise the one between the same neighbors.
pub(super) fn match_entries(before: &[Node], after: &[Node]) -> Vec<Option<usize>> {
    let (sources, unpaired) = (vec![None; after.len()], vec![true; before.len()]);
    let mut pairs = EntryPairs { before, after, sources, unpaired };
    let location = |n: &Node| Some((n.span().source, n.span().start)).filter(|_| !n.span().is_none());
    pairs.pair(location, location, |_, _| true);
    if pairs.sources.iter().any(Option::is_none) {
        let equal = |n: &Node| Some(fingerprint(n));
        pairs.pair(equal, equal, |b, a| b == a);
        let name = before.iter().find_map(first_field).map(|(name, _)| name);
        let field = |n: &Node| name.and_then(|name| n.get(name)).map(fingerprint);
        let first =
            |n: &Node| first_field(n).filter(|(key, _)| Some(*key) == name).map(|(_, v)| fingerprint(v));
        let same = |b: &Node, a: &Node| name.is_some_and(|name| b.get(name) == a.get(name));
        pairs.pair(first, field, same);
        pairs.fill_gaps();
    }
    pairs.sources
}

/// The entries of a list before and after a change, and their pairs.
struct EntryPairs<'n> {
    before: &'n [Node],
    after: &'n [Node],
    /// The index before the change of each entry after the change.
    sources: Vec<Option<usize>>,
    /// True for each entry before the change that has no pair yet.
    unpaired: Vec<bool>,
}

impl EntryPairs<'_> {
    /// Pairs unpaired entries with the same key, in order.
    fn pair<K: std::hash::Hash + Eq>(
        &mut self,
        of_before: impl Fn(&Node) -> Option<K>,
        of_after: impl Fn(&Node) -> Option<K>,
        same: impl Fn(&Node, &Node) -> bool,
    ) {
        let mut table: FxHashMap<K, Vec<usize>> = FxHashMap::default();
        for (i, node) in self.before.iter().enumerate().rev().filter(|(i, _)| self.unpaired[*i]) {
            if let Some(key) = of_before(node) {
                table.entry(key).or_default().push(i);
            }
        }
        for (node, source) in self.after.iter().zip(&mut self.sources).filter(|(_, s)| s.is_none()) {
            let Some(positions) = of_after(node).and_then(|key| table.get_mut(&key)) else { continue };
            if let Some(i) = positions.pop_if(|i| same(&self.before[*i], node)) {
                *source = Some(i);
                self.unpaired[i] = false;
            }
        }
    }

    /// Pairs unpaired entries between two paired ones in order, if both sides have the same number of them; these
    /// entries have new values. Maps with different first fields are different entries and are not paired. Entries that
    /// were moved from another list of the same text are not paired either.
    fn fill_gaps(&mut self) {
        let (before, after) = (self.before, self.after);
        if !self.sources.iter().flatten().is_sorted() {
            return;
        }
        let (mut b, mut a) = (0, 0);
        while a < after.len() {
            let end = (a..after.len()).find(|&i| self.sources[i].is_some()).unwrap_or(after.len());
            let next = self.sources.get(end).copied().flatten().unwrap_or(before.len());
            if end - a == next - b {
                for (source, i) in self.sources[a..end].iter_mut().zip(b..next) {
                    let (b, a) = (&before[i], &after[a + i - b]);
                    let different = first_field(b)
                        .is_some_and(|(name, v)| a.as_map().is_some() && a.get(name) != Some(v));
                    let (from, to) = (b.span(), a.span());
                    let is_moved = !from.is_none() && from.source == to.source && from.start != to.start;
                    *source = Some(i).filter(|_| !different && !is_moved);
                }
            }
            (b, a) = (next + 1, end + 1);
        }
    }
}

/// Returns the first field of a map if its value is a scalar. In most cases this is `name`.
fn first_field(node: &Node) -> Option<(&str, &Node)> {
    node.as_map()?.iter().next().filter(|(_, value)| value.scalar_text().is_some())
}

/// Computes a hash that is the same for equal nodes and for different spellings of equal scalars.
fn fingerprint(node: &Node) -> u64 {
    let hash = |part: &dyn Fn(&mut rustc_hash::FxHasher)| {
        let mut hasher = FxBuildHasher.build_hasher();
        part(&mut hasher);
        hasher.finish()
    };
    match &node.value {
        Value::Scalar(text) => hash(&|h| text.hash(h)),
        Value::List(list) => list.iter().fold(1, |sum: u64, n| hash(&|h| (sum, fingerprint(n)).hash(h))),
        // The order of the fields is ignored.
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| hash(&|h| (key, fingerprint(value)).hash(h)))
            .fold(2, u64::wrapping_add),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&str]) -> Vec<Node> {
        texts.iter().map(|t| Node::string(*t)).collect()
    }

    fn named(name: &str, n: i64) -> Node {
        Node::map([("name", Node::string(name)), ("n", Node::int(n))].into_iter().collect())
    }

    #[test]
    fn equal_entries_are_paired_in_order() {
        let pairs = match_entries(&list(&["a", "b", "a"]), &list(&["a", "c", "a", "a", "b"]));
        assert_eq!(pairs, [Some(0), None, Some(2), None, Some(1)]);
    }

    #[test]
    fn new_values_between_the_same_neighbours_are_paired() {
        let pairs = match_entries(&list(&["a", "b", "c", "d"]), &list(&["a", "x", "c", "y", "z"]));
        assert_eq!(pairs, [Some(0), Some(1), Some(2), None, None]);
        assert_eq!(match_entries(&[named("a", 1)], &[named("b", 1)]), [None]);
        assert_eq!(match_entries(&[named("a", 1)], &list(&["b"])), [Some(0)]);
    }

    #[test]
    fn entries_with_the_same_first_field_are_paired() {
        let before = [named("a", 1), named("b", 2), named("c", 3)];
        let after = [named("c", 4), named("d", 2), named("b", 2)];
        assert_eq!(match_entries(&before, &after), [Some(2), None, Some(1)]);
    }

    #[test]
    fn new_elements_follow_their_predecessors() {
        let new = ["x", "y", "z"];
        let elements = [
            Element::New(&new[0]),
            Element::Kept(1),
            Element::New(&new[1]),
            Element::New(&new[2]),
            Element::Kept(2),
        ];
        let changes = CollectionChanges::new(vec![false; 4], elements.into_iter());
        assert_eq!(changes.kept, [false, true, true, false]);
        assert_eq!(changes.prepended, [&"x"]);
        assert_eq!(changes.inserted_after, [(1, vec![&"y", &"z"])]);
        assert_eq!((changes.first_kept(), changes.last_kept()), (Some(1), Some(2)));
    }
}
