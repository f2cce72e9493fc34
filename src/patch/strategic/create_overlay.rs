//! Makes patches for the overlay dialect: only what its rules need to get from one object to the other.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::format_smolstr;

use super::Dialect;
use super::create::add_retain_keys;
use super::named_keys::{CreationKeys, prepend, replace_marker, whole};
use super::overlay::is_atomic;
use crate::merge::align::{Identity, KeyValue};
use crate::merge::association::Association;
use crate::merge::directive::{DELETE_FROM_PRIMITIVE_LIST, PATCH, SET_ELEMENT_ORDER};
use crate::schema::Cursor;
use crate::yaml::{Entry, Map, Node, Value};

/// The patch between two maps; `retain` says whether it lists the fields that stay.
pub(super) fn diff_maps(original: &Map, modified: &Map, cursor: Cursor<'_>, retain: bool) -> Map {
    let mut patch = Map::new();
    let index = original.index();
    for entry in modified.entries() {
        let before = index.position(&entry.key.text).map(|i| &original.entries()[i].value);
        diff_field(before, entry, cursor.field(&entry.key.text), &mut patch);
    }
    let index = modified.index();
    let missing = |entry: &&Entry| index.position(&entry.key.text).is_none();
    for entry in original.entries().iter().filter(missing) {
        patch.push(entry.key.text.clone(), Node::null());
    }
    if retain && !patch.is_empty() {
        add_retain_keys(&mut patch, modified);
    }
    patch
}

fn diff_field(before: Option<&Node>, entry: &Entry, cursor: Cursor<'_>, patch: &mut Map) {
    let (name, after) = (&entry.key.text, &entry.value);
    let all = || whole(after, cursor, Dialect::Overlay);
    match before.map(|before| (&before.value, &after.value)) {
        Some((Value::Map(a), Value::Map(b))) if !is_atomic(cursor) => {
            let inner = diff_maps(a, b, cursor, cursor.patch_strategy().retain_keys);
            if !inner.is_empty() {
                patch.push(name.clone(), Node::map(inner));
            }
        }
        Some((Value::List(a), Value::List(b))) if before != Some(after) => match diff_lists(a, b, cursor) {
            None => patch.push(name.clone(), replaced(after, cursor)),
            Some(lists) => {
                let parts = [
                    (format_smolstr!("{SET_ELEMENT_ORDER}/{name}"), lists.order),
                    (name.clone(), lists.merge),
                    (format_smolstr!("{DELETE_FROM_PRIMITIVE_LIST}/{name}"), lists.delete),
                ];
                for (key, list) in parts.into_iter().filter(|(_, list)| !list.is_empty()) {
                    patch.push(key, Node::list(list));
                }
            }
        },
        _ if before != Some(after) => patch.push(name.clone(), all()),
        _ => {}
    }
}

/// The list in the place of whatever is there.
fn replaced(after: &Node, cursor: Cursor<'_>) -> Node {
    let mut after = whole(after, cursor, Dialect::Overlay);
    let merges = !matches!(Association::overlay(cursor), Association::Atomic | Association::Unknown);
    if let Some(list) = after.as_list_mut().filter(|_| merges)
        && list.first().and_then(|entry| entry.get(PATCH)).is_none()
    {
        list.insert(0, replace_marker());
    }
    after
}

/// What a patch says of a list that merges.
struct ListPatch {
    merge: Vec<Node>,
    delete: Vec<Node>,
    order: Vec<Node>,
}

/// None when only replacing the whole list gets there.
fn diff_lists(before: &[Node], after: &[Node], cursor: Cursor<'_>) -> Option<ListPatch> {
    match Association::overlay(cursor) {
        Association::Unknown | Association::Atomic => None,
        Association::Set => diff_values(before, after),
        Association::Keyed(_) => {
            diff_entries(before, after, &CreationKeys::of(cursor, Dialect::Overlay)?, cursor)
        }
    }
}

/// Distinct scalars.
fn diff_values(before: &[Node], after: &[Node]) -> Option<ListPatch> {
    let values = |list: &[Node]| {
        let values: Option<Vec<KeyValue>> = list.iter().map(KeyValue::of).collect();
        values.filter(|values| are_distinct(values.iter()))
    };
    let (old, new) = (values(before)?, values(after)?);
    let (in_old, in_new): (FxHashSet<_>, FxHashSet<_>) = (old.iter().collect(), new.iter().collect());
    let added = |list: &[Node], values: &[KeyValue], other: &FxHashSet<&KeyValue>| -> Vec<Node> {
        list.iter().zip(values).filter(|(_, value)| !other.contains(value)).map(|(n, _)| n.clone()).collect()
    };
    let (merge, delete) = (added(after, &new, &in_old), added(before, &old, &in_new));
    let kept = old.iter().filter(|value| in_new.contains(value));
    let natural = kept.chain(new.iter().filter(|value| !in_old.contains(value)));
    let order = if natural.eq(&new) { Vec::new() } else { after.to_vec() };
    Some(ListPatch { merge, delete, order })
}

fn are_distinct<T: Eq + std::hash::Hash>(mut values: impl Iterator<Item = T>) -> bool {
    let mut seen = FxHashSet::default();
    values.all(|value| seen.insert(value))
}

fn diff_entries(
    before: &[Node],
    after: &[Node],
    keys: &CreationKeys<'_>,
    cursor: Cursor<'_>,
) -> Option<ListPatch> {
    let element = cursor.element();
    let (old, new) = (identities(before, keys, element)?, identities(after, keys, element)?);
    let in_old: FxHashMap<&Identity, &Node> = old.iter().zip(before).collect();
    let in_new: FxHashSet<&Identity> = new.iter().collect();
    let mut merge = Vec::new();
    for (identity, entry) in new.iter().zip(after) {
        merge.extend(match in_old.get(identity) {
            Some(before) if loses_key(before, entry, keys) => return None,
            Some(before) => diff_entry(before, entry, keys, cursor),
            None => Some(added(entry, keys, element)),
        });
    }
    for (_, entry) in old.iter().zip(before).filter(|(identity, _)| !in_new.contains(identity)) {
        let mut gone = keys_of(entry, keys);
        prepend(&mut gone, PATCH, Node::string("delete"));
        keys.name(&mut gone);
        merge.push(Node::map(gone));
    }
    let kept = old.iter().filter(|identity| in_new.contains(identity));
    let natural = kept.chain(new.iter().filter(|identity| !in_old.contains_key(identity)));
    let in_order = natural.eq(&new);
    let order =
        if in_order { Vec::new() } else { after.iter().map(|e| Node::map(keys_of(e, keys))).collect() };
    Some(ListPatch { merge, delete: Vec::new(), order })
}

/// What names each entry: its keys, with the schema's defaults for those that it lacks. None where that
/// does not tell all entries apart.
fn identities(list: &[Node], keys: &CreationKeys<'_>, element: Cursor<'_>) -> Option<Vec<Identity>> {
    let identify = |entry: &Node| {
        let fits = !keys.named || keys.values(entry.as_map()?).is_some_and(|v| !v.contains(&KeyValue::Null));
        let default = |key| element.key_default(key).and_then(KeyValue::of_json);
        Identity::of_keys(entry, &keys.names, default).filter(|id| fits && (keys.named || id.is_complete()))
    };
    let identities: Vec<Identity> = list.iter().map(identify).collect::<Option<_>>()?;
    are_distinct(identities.iter()).then_some(identities)
}

/// Whether an entry loses a key that has a default. A patch cannot say that of one entry: a key that is
/// null takes the first entry that has it.
fn loses_key(before: &Node, after: &Node, keys: &CreationKeys<'_>) -> bool {
    keys.named && keys.names.iter().any(|key| before.get(key).is_some() && after.get(key).is_none())
}

fn keys_of(entry: &Node, keys: &CreationKeys<'_>) -> Map {
    entry.as_map().map(|map| keys.of_entry(map)).unwrap_or_default()
}

fn added(entry: &Node, keys: &CreationKeys<'_>, element: Cursor<'_>) -> Node {
    let mut out = whole(entry, element, Dialect::Overlay);
    if let Some(map) = out.as_map_mut() {
        keys.name(map);
    }
    out
}

fn diff_entry(before: &Node, after: &Node, keys: &CreationKeys<'_>, cursor: Cursor<'_>) -> Option<Node> {
    let element = cursor.element();
    if before == after {
        return None;
    }
    let (Some(a), Some(b), false) = (before.as_map(), after.as_map(), is_atomic(element)) else {
        return Some(added(after, keys, element));
    };
    let inner = diff_maps(a, b, element, cursor.patch_strategy().retain_keys);
    let mut out = keys_of(after, keys);
    let named = out.clone();
    out.entries_mut().extend(inner.into_iter().filter(|field| !named.contains_key(&field.key.text)));
    keys.name(&mut out);
    Some(Node::map(out))
}
