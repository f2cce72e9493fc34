//! The lists of a two-way merge where nothing may get lost silently: the listed exceptions.
//!
//! What comes out is what kustomize makes of lists that are as they should be, in the same order.
//! Where it would lose entries (no merge key, equal keys, a key that only one side spells out) there
//! is an error, or the entry finds the one that it means.

use rustc_hash::FxHashMap;

use super::counterpart::{Counterpart, Side};
use crate::merge::directive::PATCH_MERGE_KEY;
use crate::merge::entry_match::{KeyPattern, ListKeys, first_double};
use crate::merge::identity::Identity;
use crate::merge::keyed_list::KeyedList;
use crate::merge::kyaml::tuples::is_nothing;
use crate::merge::kyaml::walk::{Decision, retain};
use crate::merge::options::ListOrder;
use crate::merge::trail::Trail;
use smp_text::diagnostic::Result;
use smp_text::yaml::{List, Node, Value};

/// How the lists of a place are merged.
pub(super) struct Lists<'l> {
    pub(super) keys: &'l ListKeys<'l>,
    pub(super) order: ListOrder,
    pub(super) trail: &'l Trail<'l>,
}

/// An entry of the result that the patch speaks of.
enum MergedEntry {
    /// It was in this slot.
    Merged(usize),
    New(Node),
}

impl Lists<'_> {
    /// A list that no other list is merged into. `value` merges an entry with what there is of it.
    pub(super) fn own(
        &self,
        list: &mut List,
        side: Side,
        mut value: impl FnMut(Option<&mut Node>, Counterpart<'_>, &Trail<'_>) -> Result<Decision>,
    ) -> Result<()> {
        match side {
            Side::Dest => drop_doubles(list, self.keys),
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
            let is_lost = side == Side::Patch && is_nothing(node);
            Ok(!matches!(decision, Decision::Remove) && !is_lost)
        })
    }

    /// Merges the patch's list into dest's.
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
        if !dest.wanted.iter().any(|wanted| wanted.named) {
            keys.check_distinct(dest.entries.iter().flatten(), trail)?;
        }
        dest.delete(theirs, trail)?;
        let mut results = Vec::with_capacity(theirs.len());
        for (i, entry) in theirs.iter_mut().enumerate() {
            if dest.wanted[i].delete {
                continue;
            }
            let name = keys.identify(entry, &KeyPattern::Own);
            let here = match keys.keys().zip(name.as_ref()) {
                Some((keys, name)) => trail.named(keys, name),
                None => trail.index(i),
            };
            let slot = dest.find(i, entry, trail)?;
            drop_named_keys(entry);
            slot.inspect(|slot| dest.touch(*slot, i));
            let old = slot.and_then(|slot| dest.entries[slot].as_mut());
            let decision = value(old, Counterpart::Patch(entry), &here)?;
            results.extend(settle(&mut dest, slot, decision, order));
        }
        for (slot, entry) in dest.entries.iter_mut().enumerate().filter(|(i, _)| dest.touched[*i].is_none()) {
            let Some(node) = entry else { continue };
            if let Decision::Remove = value(Some(node), Counterpart::None(Side::Dest), &trail.index(slot))? {
                *entry = None;
            }
        }
        *list = arrange(dest.entries, results, order, used_keys);
        Ok(())
    }
}

/// Puts what came of an entry of the patch into the slot that it was about, or makes a new one of it.
fn settle(
    dest: &mut KeyedList<'_>,
    slot: Option<usize>,
    decision: Decision,
    order: ListOrder,
) -> Option<MergedEntry> {
    match (decision, slot) {
        (Decision::Replace(node), None) => (!is_nothing(&node)).then_some(MergedEntry::New(node)),
        // Where entries go to the front, kustomize 5.8 puts the old one back over its replacement.
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

/// How many of the keys some entry has.
fn used_keys(lists: &[&[Node]], keys: &ListKeys<'_>) -> usize {
    let Some(keys) = keys.keys() else { return 0 };
    let has = |entry: &Node, name: &str| {
        let value = entry.as_map().and_then(|map| keys.comparison().value(map, name));
        value.is_some_and(|value| value.is_present())
    };
    keys.names().iter().filter(|name| lists.iter().copied().flatten().any(|entry| has(entry, name))).count()
}

/// The merged list in its order: the new entries behind those of dest or before them.
///
/// Where one key tells all entries apart, kustomize 5.8 moves the changed ones to the front, too.
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

/// Of entries with equal keys in a list that the patch does not speak of the last one stays, as in
/// kustomize: where the first one was if one key tells the entries apart, else where it is.
fn drop_doubles(list: &mut List, keys: &ListKeys<'_>) {
    let names: Vec<_> = list.iter().map(|entry| keys.identify(entry, &KeyPattern::Own)).collect();
    if first_double(&names).is_none() {
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
