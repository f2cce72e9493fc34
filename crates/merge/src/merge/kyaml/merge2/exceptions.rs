//! Two-way list merges without silent data loss: the documented exceptions to kustomize's behavior.
//!
//! For valid lists the result is the same as in kustomize, in the same order. kustomize loses entries without a merge
//! key, with equal keys, or with a key that only one input sets. Here these entries are errors, or are matched
//! correctly.

use rustc_hash::FxHashMap;

use super::counterpart::{Counterpart, Side};
use crate::merge::directive::PATCH_MERGE_KEY;
use crate::merge::entry_match::{KeyPattern, ListKeys, first_duplicate};
use crate::merge::identity::Identity;
use crate::merge::keyed_list::KeyedList;
use crate::merge::kyaml::tuples::is_empty_entry;
use crate::merge::kyaml::walk::{Decision, retain};
use crate::merge::options::ListOrder;
use crate::merge::trail::Trail;
use smp_text::diagnostic::Result;
use smp_text::yaml::{List, Node, Value};

/// The parameters of a list merge.
pub(super) struct KeyedLists<'l> {
    pub(super) keys: &'l ListKeys<'l>,
    pub(super) order: ListOrder,
    pub(super) trail: &'l Trail<'l>,
}

/// An entry of the result that came from the patch.
enum MergedEntry {
    /// The entry was merged into this slot.
    Merged(usize),
    New(Node),
}

impl KeyedLists<'_> {
    /// Processes each entry of a list without a counterpart with `value`.
    pub(super) fn normalize(
        &self,
        list: &mut List,
        side: Side,
        mut value: impl FnMut(Option<&mut Node>, Counterpart<'_>, &Trail<'_>) -> Result<Decision>,
    ) -> Result<()> {
        match side {
            Side::Dest => drop_duplicates(list, self.keys),
            Side::Patch => {
                KeyedList::new(List::new(), list, self.keys, self.trail)?;
                self.keys.check_distinct(list.iter(), self.trail)?;
            }
        }
        let mut i = 0;
        retain(list, |node| {
            let here = self.trail.index(i);
            i += 1;
            if side == Side::Patch {
                drop_named_keys(node);
            }
            let decision = value(Some(node), Counterpart::None(side), &here)?;
            let is_lost = side == Side::Patch && is_empty_entry(node);
            Ok(!matches!(decision, Decision::Remove) && !is_lost)
        })
    }

    /// Merges the list of the patch into the list of dest.
    pub(super) fn merge(
        &self,
        list: &mut List,
        theirs: &mut [Node],
        mut value: impl FnMut(Option<&mut Node>, Counterpart<'_>, &Trail<'_>) -> Result<Decision>,
    ) -> Result<()> {
        let Self { keys, order, trail } = *self;
        let used_keys = used_keys(&[list.as_slice(), &*theirs], keys);
        let mut dest = KeyedList::new(std::mem::take(list), theirs, keys, trail)?;
        keys.check_distinct(theirs.iter(), trail)?;
        if !dest.conditions.iter().any(|condition| condition.by_patch_merge_key) {
            keys.check_distinct(dest.entries.iter().flatten(), trail)?;
        }
        dest.delete(theirs, trail)?;
        let mut results = Vec::with_capacity(theirs.len());
        for (i, entry) in theirs.iter_mut().enumerate() {
            if dest.conditions[i].is_deletion {
                continue;
            }
            let name = keys.identify(entry, &KeyPattern::Own);
            let here = match keys.keys().zip(name.as_ref()) {
                Some((keys, name)) => trail.named(keys, name),
                None => trail.index(i),
            };
            let slot = dest.find(i, entry, trail)?;
            drop_named_keys(entry);
            slot.inspect(|slot| dest.mark_matched(*slot, i));
            let old = slot.and_then(|slot| dest.entries[slot].as_mut());
            let decision = value(old, Counterpart::Patch(entry), &here)?;
            results.extend(store(&mut dest, slot, decision, order));
        }
        for (slot, entry) in
            dest.entries.iter_mut().enumerate().filter(|(i, _)| dest.matched_by[*i].is_none())
        {
            let Some(node) = entry else { continue };
            if let Decision::Remove = value(Some(node), Counterpart::None(Side::Dest), &trail.index(slot))? {
                *entry = None;
            }
        }
        *list = arrange(dest.entries, results, order, used_keys);
        Ok(())
    }
}

/// Stores the result of a patch entry in its slot, or returns it as a new entry.
fn store(
    dest: &mut KeyedList<'_>,
    slot: Option<usize>,
    decision: Decision,
    order: ListOrder,
) -> Option<MergedEntry> {
    match (decision, slot) {
        (Decision::Replace(node), None) => (!is_empty_entry(&node)).then_some(MergedEntry::New(node)),
        // If entries are prepended, kustomize 5.8 replaces the new entry with the old one again.
        (Decision::Replace(node), Some(slot)) => {
            if order == ListOrder::Append {
                dest.entries[slot] = Some(node);
            }
            Some(MergedEntry::Merged(slot))
        }
        (Decision::Keep, slot) => slot.map(MergedEntry::Merged),
        (Decision::Remove, slot) => {
            if let Some(slot) = slot {
                dest.entries[slot] = None;
            }
            None
        }
    }
}

fn drop_named_keys(entry: &mut Node) {
    if let Value::Map(map) = &mut entry.value {
        map.remove(PATCH_MERGE_KEY);
    }
}

/// Returns the number of keys that at least one entry has.
fn used_keys(lists: &[&[Node]], keys: &ListKeys<'_>) -> usize {
    let Some(keys) = keys.keys() else { return 0 };
    let has = |entry: &Node, name: &str| {
        let value = entry.as_map().and_then(|map| keys.comparison().value(map, name));
        value.is_some_and(|value| value.is_present())
    };
    keys.names().iter().filter(|name| lists.iter().copied().flatten().any(|entry| has(entry, name))).count()
}

/// Returns the merged list in order. New entries are after those of dest or before them.
///
/// If a single key identifies all entries, changed entries also move to the front, as in kustomize 5.8.
fn arrange(
    mut dest: Vec<Option<Node>>,
    results: Vec<MergedEntry>,
    order: ListOrder,
    used_keys: usize,
) -> List {
    let take = |entry| match entry {
        MergedEntry::New(node) => Some(node),
        MergedEntry::Merged(slot) if order == ListOrder::Prepend && used_keys <= 1 => dest[slot].take(),
        MergedEntry::Merged(_) => None,
    };
    let moved: Vec<_> = results.into_iter().filter_map(take).collect();
    let stays = dest.into_iter().flatten();
    match order {
        ListOrder::Append => stays.chain(moved).collect(),
        ListOrder::Prepend => moved.into_iter().chain(stays).collect(),
    }
}

/// Drops duplicates from a list that the patch does not change. As in kustomize, the last entry with equal keys is
/// kept. It moves to the index of the first one if a single key identifies the entries.
fn drop_duplicates(list: &mut List, keys: &ListKeys<'_>) {
    let names: Vec<_> = list.iter().map(|entry| keys.identify(entry, &KeyPattern::Own)).collect();
    if first_duplicate(&names).is_none() {
        return;
    }
    let moves = used_keys(&[list.as_slice()], keys) <= 1;
    let mut known: FxHashMap<Identity, usize> = FxHashMap::default();
    let mut out: Vec<Option<Node>> = Vec::with_capacity(list.len());
    for (name, node) in names.into_iter().zip(list.drain(..)) {
        let earlier = name.as_ref().and_then(|name| known.get(name).copied());
        if let Some(at) = earlier.filter(|_| moves) {
            out[at] = Some(node);
            continue;
        }
        if let Some(at) = earlier {
            out[at] = None;
        }
        known.extend(name.map(|name| (name, out.len())));
        out.push(Some(node));
    }
    list.extend(out.into_iter().flatten());
}
