//! The patch between two lists that merge.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, ToSmolStr as _};

use super::Dialect;
use super::create::Diff;
use super::named_keys::{CreationKeys, prepend, whole};
use super::server::{Kind, element, entry_kind};
use crate::diagnostic::{Code, Result};
use crate::merge::Trail;
use crate::merge::align::{Identity, KeyValue};
use crate::merge::directive::PATCH;
use crate::schema::Cursor;
use crate::yaml::{Map, Node};

/// What a patch says of a list.
#[derive(Debug, Default)]
pub(super) struct ListPatch {
    /// Entries to merge or to delete.
    pub(super) patch: Vec<Node>,
    /// Scalars to remove.
    pub(super) delete: Vec<Node>,
    /// The order of all entries.
    pub(super) order: Vec<Node>,
}

pub(super) fn diff_lists(
    original: &[Node],
    modified: &[Node],
    cursor: Cursor<'_>,
    diff: Diff,
    at: &Trail<'_>,
) -> Result<ListPatch> {
    if original.is_empty() {
        let mut lists = ListPatch::default();
        if diff.changes {
            let all = whole(&Node::list(modified.to_vec()), cursor, Dialect::Apiserver);
            lists.patch = all.as_list().cloned().unwrap_or_default();
        }
        return Ok(lists);
    }
    if entry_kind([original, modified], at)? == Some(Kind::Map) {
        let keys = CreationKeys::of(cursor, Dialect::Apiserver).ok_or_else(|| {
            let message = "the schema has no merge key for this list, so no patch can be made of its maps";
            at.error(Code::MissingMergeKey, message)
        })?;
        return MapLists {
            keys,
            diff,
            element: element(cursor),
            retain: cursor.patch_strategy().retain_keys,
        }
        .diff(original, modified, at);
    }
    Ok(diff_scalars(original, modified, diff))
}

struct MapLists<'s> {
    keys: CreationKeys<'s>,
    diff: Diff,
    element: Cursor<'s>,
    /// The list's patch strategy says `retainKeys`, which is about its entries.
    retain: bool,
}

/// What a patch says of the entries of a list.
#[derive(Default)]
struct Changes<'n> {
    merge: Vec<(&'n Identity, Node)>,
    delete: Vec<Node>,
}

/// An entry and what names it.
struct Named<'n> {
    entry: &'n Map,
    node: &'n Node,
    identity: Identity,
    /// The keys as text, by which the lists are compared.
    text: SmolStr,
}

impl MapLists<'_> {
    fn diff(&self, original: &[Node], modified: &[Node], at: &Trail<'_>) -> Result<ListPatch> {
        let (old, new) = (self.name_all(original, at)?, self.name_all(modified, at)?);
        let mut place: FxHashMap<&Identity, usize> = FxHashMap::default();
        for (position, named) in new.iter().enumerate() {
            place.entry(&named.identity).or_insert(position);
        }
        let order_same =
            old.len() == new.len() && old.iter().zip(&new).all(|(a, b)| a.identity == b.identity);
        let mut changes = self.compare(&sorted(&old), &sorted(&new), at)?;
        changes.merge.sort_by_key(|(identity, _)| place.get(identity).copied());
        let mut patch: Vec<Node> = changes.merge.into_iter().map(|(_, node)| node).collect();
        patch.extend(changes.delete);
        let order = self.diff.order
            && (self.diff.changes && (!patch.is_empty() || !order_same)
                || self.diff.deletions && !patch.is_empty());
        let order = if order {
            new.iter().map(|n| Node::map(self.keys.of_entry(n.entry))).collect()
        } else {
            Vec::new()
        };
        Ok(ListPatch { patch, delete: Vec::new(), order })
    }

    fn name_all<'n>(&self, list: &'n [Node], at: &Trail<'_>) -> Result<Vec<Named<'n>>> {
        let named = |(position, node): (usize, &'n Node)| {
            let entry = node.as_map();
            let Some((entry, values)) = entry.and_then(|map| Some((map, self.keys.values(map)?))) else {
                let required = self.keys.names.iter().zip(&self.keys.required).filter(|(_, r)| **r);
                let keys: Vec<&str> = required.map(|(key, _)| *key).collect();
                let message = format!("this entry lacks its merge key `{}`", keys.join("`, `"));
                return Err(at.index(position).error(Code::MissingMergeKey, message).at(node.span()));
            };
            let texts: Vec<SmolStr> = values.iter().map(go_text).collect();
            let text = if let [one] = texts.as_slice() { one.clone() } else { texts.join("\0").into() };
            Ok(Named { entry, node, identity: Identity::of_values(values), text })
        };
        list.iter().enumerate().map(named).collect()
    }

    /// Walks both lists, sorted by the text of their keys.
    fn compare<'n>(
        &self,
        old: &[&'n Named<'n>],
        new: &[&'n Named<'n>],
        at: &Trail<'_>,
    ) -> Result<Changes<'n>> {
        let mut changes = Changes::default();
        let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let side = match (old.peek(), new.peek()) {
                (None, None) => return Ok(changes),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.text.cmp(&b.text),
            };
            let a = old.next_if(|_| side != Ordering::Greater);
            let b = new.next_if(|_| side != Ordering::Less);
            match (a, b) {
                (Some(a), Some(b)) => {
                    let at = at.entry(b.node, &self.keys.names, 0);
                    let inner = self.diff.maps(a.entry, b.entry, self.element, self.retain, &at)?;
                    if !inner.is_empty() {
                        changes.merge.push((&b.identity, self.keyed(inner, b.entry)));
                    }
                }
                (None, Some(b)) if self.diff.changes => changes.merge.push((&b.identity, self.added(b.node))),
                (Some(a), None) if self.diff.deletions => changes.delete.push(self.deleted(a.entry)),
                _ => {}
            }
        }
    }

    fn added(&self, entry: &Node) -> Node {
        let mut added = whole(entry, self.element, Dialect::Apiserver);
        if let Some(map) = added.as_map_mut() {
            self.keys.name(map);
        }
        added
    }

    fn deleted(&self, entry: &Map) -> Node {
        let mut gone = self.keys.of_entry(entry);
        prepend(&mut gone, PATCH, Node::string("delete"));
        self.keys.name(&mut gone);
        Node::map(gone)
    }

    /// Gives a patch of an entry its keys.
    fn keyed(&self, inner: Map, entry: &Map) -> Node {
        let mut out = self.keys.of_entry(entry);
        let kept = |key: &str| !self.keys.names.contains(&key);
        out.entries_mut().extend(inner.into_iter().filter(|field| kept(&field.key.text)));
        self.keys.name(&mut out);
        Node::map(out)
    }
}

/// By the text of their keys; entries with the same one the other way round, as Go's sort leaves them
/// in lists of up to twelve entries.
fn sorted<'n>(list: &'n [Named<'n>]) -> Vec<&'n Named<'n>> {
    let mut sorted: Vec<&Named<'_>> = list.iter().rev().collect();
    sorted.sort_by(|a, b| a.text.cmp(&b.text));
    sorted
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
fn diff_scalars(original: &[Node], modified: &[Node], diff: Diff) -> ListPatch {
    let sorted = |list: &[Node]| {
        let mut sorted: Vec<(SmolStr, Node)> = list
            .iter()
            .map(|n| (KeyValue::of(n).as_ref().map(go_text).unwrap_or_default(), n.clone()))
            .collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        sorted
    };
    let (old, new) = (sorted(original), sorted(modified));
    let (mut add, mut delete) = (Vec::new(), Vec::new());
    let (mut a, mut b) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let side = match (a.peek(), b.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.0.cmp(&b.0),
        };
        match (a.next_if(|_| side != Ordering::Greater), b.next_if(|_| side != Ordering::Less)) {
            (Some(gone), None) if diff.deletions => delete.push(gone.1.clone()),
            (None, Some(new)) if diff.changes => add.push(new.1.clone()),
            _ => {}
        }
    }
    // Go sorts the original list in place, and compares it only then.
    let same = old.len() == modified.len() && old.iter().zip(modified).all(|((_, a), b)| a == b);
    let delete = without_doubles(delete);
    let ordered = diff.order && (diff.deletions && !delete.is_empty() || diff.changes && !same);
    ListPatch {
        patch: in_order_of(add, modified),
        delete,
        order: if ordered { modified.to_vec() } else { Vec::new() },
    }
}

fn in_order_of(mut list: Vec<Node>, order: &[Node]) -> Vec<Node> {
    let mut place: FxHashMap<KeyValue, usize> = FxHashMap::default();
    for (position, value) in order.iter().enumerate() {
        if let Some(value) = KeyValue::of(value) {
            place.entry(value).or_insert(position);
        }
    }
    list.sort_by_key(|value| KeyValue::of(value).and_then(|value| place.get(&value).copied()));
    list
}

/// Fills the place of each double with the last value, as apimachinery does.
fn without_doubles(mut list: Vec<Node>) -> Vec<Node> {
    let mut seen = rustc_hash::FxHashSet::default();
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
