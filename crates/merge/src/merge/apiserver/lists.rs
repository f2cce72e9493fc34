//! The list merges of the API server (apimachinery 0.36), except the merge of two entries.

use rustc_hash::{FxHashMap, FxHashSet};

use super::target::MergeTarget;
use super::types::element;
use crate::merge::association::{Association, ListPolicy};
use crate::merge::directive::{Action, action, has_patch_merge_key, is_delete};
use crate::merge::element_order::RankedList;
use crate::merge::entry_match::{KeyPattern, ListKeys, merge_directive_error};
use crate::merge::identity::{Identity, KeyValue};
use crate::merge::keyed_list::KeyedList;
use crate::merge::order::Rank;
use crate::merge::rules::PatchRules;
use crate::merge::trail::Trail;
use crate::schema::Cursor;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Returns the merge keys of a list, or `None` if the schema declares none.
pub(super) fn list_keys(list: Cursor<'_>) -> Option<ListKeys<'_>> {
    let association = Association::from_directives(list.directives(), element(list), ListPolicy::Apiserver);
    let keyed = matches!(association, Association::Keyed { .. });
    keyed.then(|| ListKeys::new(association, list, element(list), PatchRules::Apiserver))
}

/// Returns the entries of a merged list with their positions in the patch and in the live list.
///
/// The API server identifies entries only by their keys: several entries with equal keys share a position. Entries with
/// `$patchMergeKey` and equal own keys are distinct, so each has its own position.
///
/// # Errors
/// An entry has no merge key.
pub(super) fn ranked(list: KeyedList<'_>, keys: &ListKeys<'_>, at: &Trail<'_>) -> Result<RankedList> {
    let uses_patch_merge_key = list.conditions.iter().any(|condition| condition.by_patch_merge_key);
    let mut in_patch: FxHashMap<&Identity, usize> = FxHashMap::default();
    for (position, wanted) in
        list.conditions.iter().enumerate().filter(|(_, c)| !c.is_deletion && !c.by_patch_merge_key)
    {
        if let [(_, identity)] = wanted.identities.as_slice() {
            in_patch.entry(identity).or_insert(position);
        }
    }
    let mut in_live: FxHashMap<&Identity, usize> = FxHashMap::default();
    let mut ranks = Vec::with_capacity(list.entries.len());
    for (slot, entry) in list.entries.iter().enumerate() {
        let Some(entry) = entry else { continue };
        // The patch may have removed a key with null.
        let touched = list.matched_by[slot];
        let is_named = touched.is_none() || keys.identify(entry, &KeyPattern::Own).is_some();
        let identity = list.identity(slot).filter(|_| is_named);
        let identity = identity.ok_or_else(|| keys.missing_key_error(entry, &at.index(slot)))?;
        let mut live = (slot < list.live_count).then_some(slot);
        if !uses_patch_merge_key && slot < list.live_count {
            live = Some(*in_live.entry(identity).or_insert(slot));
        }
        let patch = touched.filter(|_| uses_patch_merge_key).or_else(|| in_patch.get(identity).copied());
        ranks.push(Rank { patch, live, last: is_delete(entry) });
    }
    Ok(RankedList { ranks, deleted: list.deleted_count, nodes: list.into_entries() })
}

/// Returns the entries of a patch that replaces a whole list (`$patch: replace`).
///
/// # Errors
/// Entries without merge keys, and malformed directives.
pub(super) fn replacement(
    patch: &[Node],
    keys: &ListKeys<'_>,
    target: MergeTarget,
    at: &Trail<'_>,
) -> Result<RankedList> {
    let mut ranked = RankedList::default();
    let mut first: FxHashMap<_, usize> = FxHashMap::default();
    let uses_patch_merge_key = patch.iter().any(has_patch_merge_key);
    for (position, entry) in patch.iter().enumerate() {
        let here = at.index(position);
        let Some(map) = entry.as_map() else { return Err(keys.not_a_map_error(entry, &here)) };
        let action = action(map, &here)?;
        match action {
            Some(Action::Replace) => continue,
            Some(Action::Merge) => return Err(merge_directive_error(entry, &here)),
            Some(Action::Delete) | None => {}
        }
        let identity = keys.identify(entry, &KeyPattern::Own);
        let identity = identity.ok_or_else(|| keys.missing_key_error(entry, &here))?;
        if action.is_none() {
            let live =
                if uses_patch_merge_key { position } else { *first.entry(identity).or_insert(position) };
            ranked.ranks.push(Rank { live: Some(live), ..Rank::default() });
            ranked.nodes.push(target.replacement(entry));
        }
    }
    Ok(ranked)
}

/// Returns the union of two lists of scalars, without duplicates.
pub(super) fn union(live: Vec<Node>, patch: &[Node]) -> RankedList {
    let positions = |list: &[Node]| {
        let mut positions: FxHashMap<KeyValue, usize> = FxHashMap::default();
        for (position, value) in list.iter().enumerate() {
            if let Some(value) = KeyValue::from_node(value) {
                positions.entry(value).or_insert(position);
            }
        }
        positions
    };
    let (in_patch, in_live) = (positions(patch), positions(&live));
    let mut seen = FxHashSet::default();
    let mut ranked = RankedList::default();
    for entry in live.into_iter().chain(patch.iter().cloned()) {
        let Some(value) = KeyValue::from_node(&entry) else { continue };
        let (patch, live) = (in_patch.get(&value).copied(), in_live.get(&value).copied());
        if seen.insert(value) {
            ranked.nodes.push(entry);
            ranked.ranks.push(Rank { patch, live, ..Rank::default() });
        }
    }
    ranked
}
