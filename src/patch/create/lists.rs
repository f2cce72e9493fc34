//! The patch between two lists that merge, as kubectl makes it (apimachinery 0.36).

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::{SmolStr, ToSmolStr as _};

use super::keys::CreationKeys;
use super::parts::{ListPatch, PatchPart};
use crate::diagnostic::Result;
use crate::merge::identity::{Identity, KeyValue};
use crate::merge::{Rules, Trail};
use crate::schema::Cursor;
use crate::yaml::{Map, Node};

/// What is known of a list of maps.
pub(super) struct EntryDiff<'s> {
    pub(super) keys: CreationKeys,
    pub(super) part: PatchPart,
    pub(super) element: Cursor<'s>,
}

/// An entry and what names it.
struct Named<'n> {
    node: &'n Node,
    identity: Identity,
    /// The keys as text, by which the lists are compared.
    text: SmolStr,
}

impl EntryDiff<'_> {
    /// The patch between two lists; `inner` makes the one between two entries.
    ///
    /// # Errors
    /// Those of `inner`; entries without keys.
    pub(super) fn lists(
        &self,
        original: &[Node],
        modified: &[Node],
        at: &Trail<'_>,
        mut inner: impl FnMut(&Map, &Map, &Trail<'_>) -> Result<Map>,
    ) -> Result<ListPatch> {
        let (old, new) = (self.name_all(original, at)?, self.name_all(modified, at)?);
        let (mut merge, mut delete): (Vec<(&Identity, Node)>, Vec<Node>) = (Vec::new(), Vec::new());
        for (before, after) in pairs(&sorted(&old), &sorted(&new), |named| &named.text) {
            match (before, after) {
                (Some(before), Some(after)) => {
                    let (Some(a), Some(b)) = (before.node.as_map(), after.node.as_map()) else { continue };
                    let changes = inner(a, b, &at.entry(after.node, self.keys.names(), 0))?;
                    if !changes.is_empty() {
                        merge.push((&after.identity, self.keys.changed(after.node, changes)));
                    }
                }
                (None, Some(after)) if self.part.has_changes() => {
                    let added = self.keys.added(after.node, self.element, Rules::Apiserver);
                    merge.push((&after.identity, added));
                }
                (Some(before), None) if self.part.has_deletions() => {
                    delete.push(self.keys.deleted(before.node));
                }
                _ => {}
            }
        }
        let places = places(new.iter().map(|named| &named.identity));
        merge.sort_by_key(|(identity, _)| places.get(identity).copied());
        let entries: Vec<Node> = merge.into_iter().map(|(_, node)| node).chain(delete).collect();
        let moved = old.len() != new.len() || old.iter().zip(&new).any(|(a, b)| a.identity != b.identity);
        let ordered = self.part.has_order() && (!entries.is_empty() || self.part.has_changes() && moved);
        let order = new.iter().filter(|_| ordered).map(|named| Node::map(self.keys.of_entry(named.node)));
        Ok(ListPatch { order: order.collect(), entries, delete: Vec::new() })
    }

    fn name_all<'n>(&self, list: &'n [Node], at: &Trail<'_>) -> Result<Vec<Named<'n>>> {
        let named = |(position, node): (usize, &'n Node)| {
            let identity = self.keys.identify(node, &at.index(position))?;
            let text = match identity.values() {
                [one] => go_text(one),
                many => many.iter().map(go_text).collect::<Vec<_>>().join("\0").into(),
            };
            Ok(Named { node, identity, text })
        };
        list.iter().enumerate().map(named).collect()
    }
}

/// By the text of their keys; entries with the same one the other way round, as Go's sort leaves them
/// in lists of up to twelve entries.
fn sorted<'n, 'l>(list: &'l [Named<'n>]) -> Vec<&'l Named<'n>> {
    let mut sorted: Vec<&Named<'_>> = list.iter().rev().collect();
    sorted.sort_by(|a, b| a.text.cmp(&b.text));
    sorted
}

/// What stands in two sorted lists, side by side where the texts are the same.
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

/// Where each of some things stands first.
fn places<T: Eq + std::hash::Hash>(things: impl Iterator<Item = T>) -> FxHashMap<T, usize> {
    let mut places = FxHashMap::default();
    for (position, thing) in things.enumerate() {
        places.entry(thing).or_insert(position);
    }
    places
}

/// How Go prints a value.
fn go_text(value: &KeyValue) -> SmolStr {
    match value {
        KeyValue::Absent | KeyValue::Null => SmolStr::new_static("<nil>"),
        KeyValue::Bool(value) => value.to_smolstr(),
        KeyValue::Int(value) => value.to_smolstr(),
        KeyValue::Float(bits) => f64::from_bits(*bits).to_smolstr(),
        KeyValue::Str(text) => text.clone(),
    }
}

/// Scalars are counted: of two equal ones, one can be removed, though applying that removes both.
pub(super) fn diff_scalars(original: &[Node], modified: &[Node], part: PatchPart) -> ListPatch {
    let sorted = |list: &[Node]| {
        let text = |node| KeyValue::of(node).as_ref().map(go_text).unwrap_or_default();
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
    // Go sorts the original list in place, and compares it only then.
    let same = old.len() == modified.len() && old.iter().zip(modified).all(|((_, a), b)| a == b);
    let delete = without_doubles(delete);
    let ordered =
        part.has_order() && (part.has_deletions() && !delete.is_empty() || part.has_changes() && !same);
    let places = places(modified.iter().filter_map(KeyValue::of));
    add.sort_by_key(|value| KeyValue::of(value).and_then(|value| places.get(&value).copied()));
    ListPatch { entries: add, delete, order: if ordered { modified.to_vec() } else { Vec::new() } }
}

/// Fills the place of each double with the last value, as apimachinery does.
fn without_doubles(mut list: Vec<Node>) -> Vec<Node> {
    let mut seen = FxHashSet::default();
    let mut at = 0;
    while at < list.len() {
        if seen.insert(KeyValue::of(&list[at])) {
            at += 1;
        } else {
            list.swap_remove(at);
        }
    }
    list
}
