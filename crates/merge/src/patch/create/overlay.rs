//! Creates minimal patches for overlays.

use super::keys::{CreationKeys, CreationRules, replace_marker, whole_value};
use super::parts::{ListPatch, add_retain_keys, map_of};
use super::rekeyed::RekeyedEntries;
use crate::merge::align::{self, AlignedEntry};
use crate::merge::association::{Association, ListPolicy, is_atomic};
use crate::merge::directive::PATCH;
use crate::merge::identity::Identity;
use crate::schema::{Cursor, PatchStrategy};
use smp_text::diagnostic::Result;
use smp_text::yaml::{Entry, Map, Node, Value};

/// Returns the patch between two objects of a kind.
///
/// # Errors
/// One of the values is not a map.
pub(super) fn diff(original: &Node, modified: &Node, kind: Cursor<'_>) -> Result<Map> {
    Ok(diff_maps(map_of(original)?, map_of(modified)?, kind, PatchStrategy::default()))
}

/// Returns the patch between two maps. `strategy` is the patch strategy of the field or list that contains them.
fn diff_maps(original: &Map, modified: &Map, cursor: Cursor<'_>, strategy: PatchStrategy) -> Map {
    let mut patch = Map::new();
    for row in align::fields([modified, original]) {
        match row {
            [Some(after), before] => {
                diff_field(before.map(|e| &e.value), after, cursor.field(&after.key.text), &mut patch);
            }
            [None, Some(before)] => patch.push(before.key.text.clone(), Node::null()),
            [None, None] => {}
        }
    }
    if strategy.retain_keys && !patch.is_empty() {
        add_retain_keys(&mut patch, modified);
    }
    patch
}

fn diff_field(before: Option<&Node>, entry: &Entry, cursor: Cursor<'_>, patch: &mut Map) {
    let (name, after) = (&entry.key.text, &entry.value);
    match before.map(|before| (&before.value, &after.value)) {
        Some((Value::Map(a), Value::Map(b))) if !is_atomic(cursor) => {
            let inner = diff_maps(a, b, cursor, cursor.patch_strategy());
            if !inner.is_empty() {
                patch.push(name.clone(), Node::map(inner).with_span(after.span().at_start()));
            }
        }
        Some((Value::List(a), Value::List(b))) if before != Some(after) => match diff_lists(a, b, cursor) {
            None => patch.push(name.clone(), replacement(after, cursor)),
            Some(lists) => lists.put_into(patch, name, after),
        },
        _ if before != Some(after) => {
            patch.push(name.clone(), whole_value(after, cursor, CreationRules::Overlay));
        }
        _ => {}
    }
}

/// Returns a list that replaces the existing one.
fn replacement(after: &Node, cursor: Cursor<'_>) -> Node {
    let mut after = whole_value(after, cursor, CreationRules::Overlay);
    let association = Association::of_list(cursor, ListPolicy::Overlay);
    let merges = !matches!(association, Association::Atomic | Association::Unknown);
    if let Some(list) = after.as_list_mut().filter(|_| merges)
        && list.first().and_then(|entry| entry.get(PATCH)).is_none()
    {
        list.insert(0, replace_marker());
    }
    after
}

/// Returns the patch between two lists, or `None` if the list must be replaced as a whole.
fn diff_lists(before: &[Node], after: &[Node], cursor: Cursor<'_>) -> Option<ListPatch> {
    let association = Association::of_list(cursor, ListPolicy::Overlay);
    let keys = match association {
        Association::Unknown | Association::Atomic => return None,
        Association::Set => None,
        Association::Keyed { .. } => Some(CreationKeys::for_list(cursor, CreationRules::Overlay)?),
    };
    let association = keys.as_ref().map_or(association, CreationKeys::association);
    let rows = align::entries([after, before], &association)?;
    let rows = match keys.as_ref().and_then(CreationKeys::directive_keys) {
        Some(named) => align::join_rekeyed(rows, named, [0, 1]),
        None => rows,
    };
    let mut rekeyed = RekeyedEntries::new(before, after);
    let (mut patch, mut is_added_anew) = (ListPatch::default(), false);
    for AlignedEntry { identity, positions: [new, old] } in &rows {
        match (&keys, new.map(|i| &after[i]), old.map(|i| &before[i])) {
            (None, ..) if matches!(identity, Identity::Whole(_)) => return None,
            (Some(keys), Some(new), Some(old)) => {
                let entries = diff_keyed(identity, [old, new], (keys, &mut rekeyed), cursor);
                is_added_anew |= entries.len() > 1;
                patch.entries.extend(entries);
            }
            (Some(keys), Some(new), None) => {
                patch.entries.push(keys.addition(new, cursor.element(), CreationRules::Overlay));
            }
            (Some(keys), None, Some(old)) => patch.entries.push(keys.deletion(old)),
            (None, Some(new), None) => patch.entries.push(new.clone()),
            (None, None, Some(old)) => patch.delete.push(old.clone()),
            _ => {}
        }
    }
    // Existing entries keep their order and new ones follow. A re-added entry would move to the end each time the patch
    // is applied.
    let is_in_merge_order = rows
        .iter()
        .filter(|row| row.positions[0].is_some())
        .is_sorted_by_key(|row| row.positions[1].unwrap_or(usize::MAX));
    if !is_in_merge_order || is_added_anew && after.len() > 1 {
        patch.order = after.iter().map(|entry| order_entry(entry, keys.as_ref())).collect();
    }
    Some(patch)
}

/// Returns the item of `$setElementOrder` for an entry: its merge keys, or the scalar.
fn order_entry(entry: &Node, keys: Option<&CreationKeys>) -> Node {
    keys.map_or_else(|| entry.clone(), |keys| Node::map(keys.key_fields(entry)))
}

/// Returns the patch entries for an entry in both lists. If no patch can express which keys the entry gets or loses, it
/// is deleted and added again, with two patch entries.
fn diff_keyed(
    name: &Identity,
    [old, new]: [&Node; 2],
    (keys, rekeyed): (&CreationKeys, &mut RekeyedEntries<'_>),
    list: Cursor<'_>,
) -> Vec<Node> {
    let is_same = !keys.has_other_keys(old, new) || keys.association().identify(new).as_ref() == Some(name);
    if is_same && !keys.loses_key(old, new) {
        return diff_entry(old, new, keys, list).into_iter().collect();
    }
    let element = list.element();
    if let (Some(a), Some(b), false) = (old.as_map(), new.as_map(), is_same || is_atomic(element))
        && let Some(names) = rekeyed.named_keys(keys, [old, new])
    {
        return vec![CreationKeys::key_change(names, new, diff_maps(a, b, element, list.patch_strategy()))];
    }
    vec![keys.deletion(old), keys.addition(new, element, CreationRules::Overlay)]
}

fn diff_entry(before: &Node, after: &Node, keys: &CreationKeys, list: Cursor<'_>) -> Option<Node> {
    let element = list.element();
    if before == after {
        return None;
    }
    let (Some(a), Some(b), false) = (before.as_map(), after.as_map(), is_atomic(element)) else {
        return Some(keys.addition(after, element, CreationRules::Overlay));
    };
    Some(keys.change(after, diff_maps(a, b, element, list.patch_strategy())))
}
