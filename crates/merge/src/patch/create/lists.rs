//! Creates the patch between two lists that merge, as kubectl does (apimachinery 0.36).

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::{SmolStr, ToSmolStr as _};

use super::keys::{CreationKeys, CreationRules};
use super::parts::{ListPatch, PatchPart};
use super::rekeyed::RekeyedEntries;
use crate::merge::identity::{Identity, KeyValue};
use crate::merge::{Trail, align};
use crate::schema::Cursor;
use smp_text::diagnostic::Result;
use smp_text::yaml::{Map, Node};

/// The inputs for comparing lists of maps.
pub(super) struct EntryDiff<'s> {
    pub(super) keys: CreationKeys,
    pub(super) part: PatchPart,
    pub(super) rules: CreationRules,
    pub(super) element: Cursor<'s>,
}

/// An entry and its identity.
struct KeyedEntry<'n> {
    node: &'n Node,
    identity: Identity,
    /// The keys as text. The lists are sorted and paired by this text.
    text: SmolStr,
}

impl EntryDiff<'_> {
    /// Returns the patch between two lists. `inner` creates the patch between two entries.
    ///
    /// # Errors
    /// The errors of `inner`, or an entry lacks its keys.
    pub(super) fn diff(
        &self,
        original: &[Node],
        modified: &[Node],
        at: &Trail<'_>,
        mut inner: impl FnMut(&Map, &Map, &Trail<'_>) -> Result<Map>,
    ) -> Result<ListPatch> {
        let (old, new) = (self.identify_all(original, at)?, self.identify_all(modified, at)?);
        let (mut merge, mut delete): (Vec<(&Identity, Node)>, Vec<Node>) = (Vec::new(), Vec::new());
        let (sorted_old, sorted_new) = (sorted(&old), sorted(&new));
        let mut pairs = pairs(&sorted_old, &sorted_new, |named| &named.text);
        for (before, after, names) in self.rekeyed(&mut pairs, [original, modified]) {
            let (Some(a), Some(b)) = (before.node.as_map(), after.node.as_map()) else { continue };
            let changes = inner(a, b, &at.entry(after.node, self.keys.names(), 0))?;
            merge.push((&after.identity, CreationKeys::key_change(names, after.node, changes)));
        }
        for (before, after) in pairs {
            match (before, after) {
                (Some(before), Some(after)) => {
                    let (Some(a), Some(b)) = (before.node.as_map(), after.node.as_map()) else { continue };
                    let changes = inner(a, b, &at.entry(after.node, self.keys.names(), 0))?;
                    if !changes.is_empty() {
                        merge.push((&after.identity, self.keys.change(after.node, changes)));
                    }
                }
                (None, Some(after)) if self.part.has_changes() => {
                    let added = self.keys.addition(after.node, self.element, self.rules);
                    merge.push((&after.identity, added));
                }
                (Some(before), None) if self.part.has_deletions() => {
                    delete.push(self.keys.deletion(before.node));
                }
                _ => {}
            }
        }
        let positions = first_positions(new.iter().map(|named| &named.identity));
        merge.sort_by_key(|(identity, _)| positions.get(identity).copied());
        let entries: Vec<Node> = merge.into_iter().map(|(_, node)| node).chain(delete).collect();
        let moved = old.len() != new.len() || old.iter().zip(&new).any(|(a, b)| a.identity != b.identity);
        let ordered = self.part.has_order() && (!entries.is_empty() || self.part.has_changes() && moved);
        let order = new.iter().filter(|_| ordered).map(|named| Node::map(self.keys.key_fields(named.node)));
        Ok(ListPatch { order: order.collect(), entries, delete: Vec::new() })
    }

    /// Removes from `pairs` those entries that only gained or lost a key, and returns them with the keys for
    /// `$patchMergeKey`. If the patch contains only a part of the differences, they remain in `pairs` as a deletion and
    /// an addition.
    fn rekeyed<'t, 'n>(
        &self,
        pairs: &mut [Pair<'t, 'n>],
        [original, modified]: [&'n [Node]; 2],
    ) -> Vec<RekeyedPair<'t, 'n>> {
        let Some(keys) = self.keys.directive_keys().filter(|_| self.part == PatchPart::Everything) else {
            return Vec::new();
        };
        let gone: Vec<usize> = (0..pairs.len()).filter(|&i| pairs[i].1.is_none()).collect();
        let added: Vec<usize> = (0..pairs.len()).filter(|&i| pairs[i].0.is_none()).collect();
        let names = |positions: &[usize]| -> Vec<&'t Identity> {
            let named = |&i: &usize| pairs[i].0.or(pairs[i].1).map(|named| &named.identity);
            positions.iter().filter_map(named).collect()
        };
        let mut entries = RekeyedEntries::new(original, modified);
        let mut found = Vec::new();
        for [before, after] in align::rekeyed_pairs(keys, &names(&gone), &names(&added)) {
            let (before, after) = (gone[before], added[after]);
            let (Some(old), Some(new)) = (pairs[before].0, pairs[after].1) else { continue };
            if let Some(names) = entries.named_keys(&self.keys, [old.node, new.node]) {
                (pairs[before].0, pairs[after].1) = (None, None);
                found.push((*old, *new, names));
            }
        }
        found
    }

    fn identify_all<'n>(&self, list: &'n [Node], at: &Trail<'_>) -> Result<Vec<KeyedEntry<'n>>> {
        let named = |(position, node): (usize, &'n Node)| {
            let identity = self.keys.identify(node, &at.index(position))?;
            let text = match identity.values() {
                [one] => go_text(one),
                many => many.iter().map(go_text).collect::<Vec<_>>().join("\0").into(),
            };
            Ok(KeyedEntry { node, identity, text })
        };
        list.iter().enumerate().map(named).collect()
    }
}

/// An entry of the original list and the entry of the modified list with the same keys.
type Pair<'t, 'n> = (Option<&'t &'t KeyedEntry<'n>>, Option<&'t &'t KeyedEntry<'n>>);

/// An entry in both lists, and the keys by which a patch identifies it.
type RekeyedPair<'t, 'n> = (&'t KeyedEntry<'n>, &'t KeyedEntry<'n>, Vec<SmolStr>);

/// Sorts entries by the text of their keys. Entries with equal texts are in reverse order, as Go's sort leaves them in
/// lists of up to twelve entries.
fn sorted<'n, 'l>(list: &'l [KeyedEntry<'n>]) -> Vec<&'l KeyedEntry<'n>> {
    let mut sorted: Vec<&KeyedEntry<'_>> = list.iter().rev().collect();
    sorted.sort_by(|a, b| a.text.cmp(&b.text));
    sorted
}

/// Pairs the elements of two sorted lists by equal texts.
fn pairs<'t, T>(
    old: &'t [T],
    new: &'t [T],
    text: impl Fn(&T) -> &SmolStr,
) -> Vec<(Option<&'t T>, Option<&'t T>)> {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    let mut pairs = Vec::with_capacity(old.len().max(new.len()));
    loop {
        let side = match (old.peek(), new.peek()) {
            (None, None) => return pairs,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => text(a).cmp(text(b)),
        };
        let before = old.next_if(|_| side != Ordering::Greater);
        pairs.push((before, new.next_if(|_| side != Ordering::Less)));
    }
}

/// Returns the first index of each item.
fn first_positions<T: Eq + std::hash::Hash>(items: impl Iterator<Item = T>) -> FxHashMap<T, usize> {
    let mut positions = FxHashMap::default();
    for (position, item) in items.enumerate() {
        positions.entry(item).or_insert(position);
    }
    positions
}

/// Formats a value as Go does.
fn go_text(value: &KeyValue) -> SmolStr {
    match value {
        KeyValue::Absent | KeyValue::Null => SmolStr::new_static("<nil>"),
        KeyValue::Bool(value) => value.to_smolstr(),
        KeyValue::Int(value) => value.to_smolstr(),
        KeyValue::Float(bits) => f64::from_bits(*bits).to_smolstr(),
        KeyValue::Str(text) => text.clone(),
    }
}

/// Compares lists of scalars, including the number of duplicates. The patch can delete one of two equal scalars,
/// although applying it deletes both.
pub(super) fn diff_scalars(original: &[Node], modified: &[Node], part: PatchPart) -> ListPatch {
    let sorted = |list: &[Node]| {
        let text = |node| KeyValue::from_node(node).as_ref().map(go_text).unwrap_or_default();
        let mut sorted: Vec<(SmolStr, Node)> = list.iter().map(|node| (text(node), node.clone())).collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        sorted
    };
    let (old, new) = (sorted(original), sorted(modified));
    let (mut add, mut delete) = (Vec::new(), Vec::new());
    for pair in pairs(&old, &new, |(text, _)| text) {
        match pair {
            (Some((_, gone)), None) if part.has_deletions() => delete.push(gone.clone()),
            (None, Some((_, new))) if part.has_changes() => add.push(new.clone()),
            _ => {}
        }
    }
    // Go sorts the original list in place before it compares it.
    let same = old.len() == modified.len() && old.iter().zip(modified).all(|((_, a), b)| a == b);
    let delete = without_duplicates(delete);
    let ordered =
        part.has_order() && (part.has_deletions() && !delete.is_empty() || part.has_changes() && !same);
    let positions = first_positions(modified.iter().filter_map(KeyValue::from_node));
    add.sort_by_key(|value| KeyValue::from_node(value).and_then(|value| positions.get(&value).copied()));
    ListPatch { entries: add, delete, order: if ordered { modified.to_vec() } else { Vec::new() } }
}

/// Removes duplicates. As in apimachinery, the last entry of the list replaces each duplicate.
fn without_duplicates(mut list: Vec<Node>) -> Vec<Node> {
    let mut seen = FxHashSet::default();
    let mut at = 0;
    while at < list.len() {
        if seen.insert(KeyValue::from_node(&list[at])) {
            at += 1;
        } else {
            list.swap_remove(at);
        }
    }
    list
}
