//! A list with merge keys while a patch is merged into it.
//!
//! Finds the matching entries. The merge engines determine how two entries merge and how the result is sorted.

use rustc_hash::FxHashMap;

use super::association::MultipleMatches;
use super::entry_match::{EntryMatch, KeyPattern, ListKeys};
use super::identity::{Identity, PAIRWISE_LIMIT};
use super::rules::{PatchRules, Rules};
use super::trail::Trail;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Node;

/// A list during the merge. Deleted entries leave an empty slot, and new entries are appended.
#[derive(Debug)]
pub(crate) struct KeyedList<'k> {
    keys: &'k ListKeys<'k>,
    pub(crate) entries: Vec<Option<Node>>,
    /// The number of live entries at the start.
    pub(crate) live_count: usize,
    /// The number of deleted live entries.
    pub(crate) deleted_count: usize,
    /// The match conditions of the patch's entries.
    pub(crate) conditions: Vec<EntryMatch>,
    /// An index of the live entries for each key pattern in use. The first one is for the list's own keys. The indexes
    /// contain the entries as they were before the merge.
    indexes: Vec<(KeyPattern, Index)>,
    /// The first entry of the patch that matched each slot.
    pub(crate) matched_by: Vec<Option<usize>>,
}

impl<'k> KeyedList<'k> {
    /// Creates the list and the match conditions of the entries of a patch.
    ///
    /// # Errors
    /// The errors of [`ListKeys::entry_match`].
    pub(crate) fn new(
        live: Vec<Node>,
        patch: &[Node],
        keys: &'k ListKeys<'k>,
        at: &Trail<'_>,
    ) -> Result<Self> {
        let read = |(i, entry): (usize, &Node)| keys.entry_match(entry, &at.index(i));
        let conditions: Vec<EntryMatch> = patch.iter().enumerate().map(read).collect::<Result<_>>()?;
        let mut indexes = vec![(KeyPattern::Own, Index::default())];
        for (pattern, _) in conditions.iter().flat_map(|condition| &condition.identities) {
            if indexes.iter().all(|(known, _)| known != pattern) {
                indexes.push((pattern.clone(), Index::default()));
            }
        }
        for (pattern, index) in &mut indexes {
            for entry in &live {
                index.push(keys.identify(entry, pattern));
            }
        }
        let (matched_by, entries): (Vec<_>, Vec<_>) =
            live.into_iter().map(|entry| (None, Some(entry))).unzip();
        Ok(Self {
            keys,
            live_count: entries.len(),
            entries,
            deleted_count: 0,
            conditions,
            indexes,
            matched_by,
        })
    }

    /// Merges the entries of a patch into their matches. Deletions are applied first. `merge` combines the matching
    /// entry, if any, with the entry of the patch.
    ///
    /// # Errors
    /// The errors of `merge`, or an entry of the patch has several matches. With all rules but those of the API server,
    /// also two entries of the patch with the same match.
    pub(crate) fn merge(
        &mut self,
        patch: &[Node],
        at: &Trail<'_>,
        mut merge: impl FnMut(Option<Node>, &Node, &Trail<'_>) -> Result<Node>,
    ) -> Result<()> {
        self.delete(patch, at)?;
        for (i, entry) in patch.iter().enumerate() {
            if self.conditions[i].is_deletion {
                continue;
            }
            let slot = self.find(i, entry, at)?;
            let live = slot.and_then(|slot| self.entries[slot].take());
            let merged = merge(live, entry, &at.entry(entry, self.keys.names(), i))?;
            self.put(slot, merged, i);
        }
        Ok(())
    }

    /// Deletes the entries that the patch deletes.
    ///
    /// # Errors
    /// With kustomize's rules, an entry without `$patchMergeKey` has several matches.
    pub(crate) fn delete(&mut self, patch: &[Node], at: &Trail<'_>) -> Result<()> {
        let Self { keys, entries, conditions, indexes, .. } = self;
        for (i, condition) in conditions.iter().enumerate().filter(|(_, condition)| condition.is_deletion) {
            let found = condition
                .identities
                .iter()
                .map(|by| matching_slots(indexes, entries, by).collect::<Vec<_>>());
            let Some(found) = found.into_iter().find(|found| !found.is_empty()) else { continue };
            if found.len() > 1 && !condition.by_patch_merge_key && keys.rules().is_kustomize() {
                return Err(ambiguous(&found, entries, (condition, &patch[i], keys), &at.index(i)));
            }
            self.deleted_count += found.len();
            for slot in found {
                entries[slot] = None;
            }
        }
        Ok(())
    }

    /// Returns the slot that an entry of the patch matches.
    ///
    /// # Errors
    /// The entry has several matches. With all rules but those of the API server, also a match that another entry of
    /// the patch has already used.
    pub(crate) fn find(&mut self, i: usize, entry: &Node, at: &Trail<'_>) -> Result<Option<usize>> {
        let Self { keys, entries, conditions, indexes, .. } = self;
        let keys = *keys;
        let condition = &conditions[i];
        let mut found = None;
        for by in &condition.identities {
            let mut matches = matching_slots(indexes, entries, by);
            found = matches.next();
            let is_only = condition.multiple_matches == MultipleMatches::First || matches.next().is_none();
            drop(matches);
            if !is_only {
                let all: Vec<usize> = matching_slots(indexes, entries, by).collect();
                return Err(ambiguous(&all, entries, (condition, entry, keys), &at.index(i)));
            }
            if found.is_some() {
                break;
            }
        }
        match found.and_then(|slot| self.matched_by[slot]) {
            Some(first) if keys.rules() != Rules::Patch(PatchRules::Apiserver) => {
                let message = match conditions[first].own_keys(keys).zip(condition.own_keys(keys)) {
                    Some((names, others)) if names == others => {
                        format!("entries {first} and {i} of this list have the same {}", names.join(" and "))
                    }
                    _ => format!("entries {first} and {i} of this list match the same entry"),
                };
                let help = match keys.unused_keys(entry) {
                    Some(_) if !condition.by_patch_merge_key => {
                        "remove one of them, combine them, or name more keys under `$patchMergeKey` to distinguish them"
                    }
                    _ => "remove one of them, or combine them",
                };
                Err(at.error(Code::DuplicateMergeKey, message).at(entry.span()).help(help))
            }
            _ => Ok(found),
        }
    }

    /// Records that the entry at an index of the patch matched a slot.
    pub(crate) fn mark_matched(&mut self, slot: usize, patch_index: usize) {
        self.matched_by[slot].get_or_insert(patch_index);
    }

    fn put(&mut self, slot: Option<usize>, entry: Node, i: usize) {
        if let Some(slot) = slot {
            self.mark_matched(slot, i);
            self.entries[slot] = Some(entry);
            return;
        }
        for (pattern, index) in &mut self.indexes {
            index.push(self.keys.identify(&entry, pattern));
        }
        self.matched_by.push(Some(i));
        self.entries.push(Some(entry));
    }

    /// Returns the identity of the entry in a slot before the merge.
    pub(crate) fn identity(&self, slot: usize) -> Option<&Identity> {
        self.indexes.first().and_then(|(_, index)| index.identities[slot].as_ref())
    }

    /// Returns the entries in order. New entries are at the end.
    pub(crate) fn into_entries(self) -> Vec<Node> {
        self.entries.into_iter().flatten().collect()
    }
}

/// Returns the matching slots in order.
fn matching_slots(
    indexes: &mut [(KeyPattern, Index)],
    entries: &[Option<Node>],
    (pattern, identity): &(KeyPattern, Identity),
) -> impl Iterator<Item = usize> {
    let index = indexes.iter_mut().find(|(known, _)| known == pattern);
    index.into_iter().flat_map(|(_, index)| index.find(identity, |slot| entries[slot].is_some()))
}

/// The help for ambiguous entries if there are no more keys to distinguish them.
const UNIQUE_KEYS_HELP: &str =
    "entries of this list must have unique keys: remove or change the other entries first";

fn ambiguous(
    slots: &[usize],
    entries: &[Option<Node>],
    (condition, entry, keys): (&EntryMatch, &Node, &ListKeys<'_>),
    at: &Trail<'_>,
) -> Diagnostic {
    let positions: Vec<String> = slots.iter().map(|slot| format!("[{slot}]")).collect();
    let message =
        format!("this entry of the patch matches {} entries: {}", slots.len(), positions.join(", "));
    let help = match condition.identities.as_slice() {
        _ if condition.by_patch_merge_key => keys.unused_keys(entry).map_or_else(
            || UNIQUE_KEYS_HELP.to_string(),
            |all| {
                format!(
                    "name more keys under `$patchMergeKey`, such as `[{all}]`, so that only one entry matches"
                )
            },
        ),
        [(KeyPattern::Own, _)] => UNIQUE_KEYS_HELP.to_string(),
        _ => "set more keys in this entry, or name them under `$patchMergeKey`".to_string(),
    };
    let error = at.error(Code::Ambiguous, message).at(entry.span()).help(help);
    let matches = slots.iter().filter_map(|&slot| entries[slot].as_ref());
    matches.fold(error, |error, entry| error.label(entry.span(), "matching entry"))
}

const END: u32 = u32::MAX;

/// An index of list entries by identity that supports additions and deletions.
#[derive(Debug, Default)]
struct Index {
    /// The identity of each slot, if any.
    identities: Vec<Option<Identity>>,
    /// For long lists: the slots of each identity in order, as a chain linked by `next`.
    chains: FxHashMap<Identity, Chain>,
    next: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

impl Index {
    /// Adds a slot.
    fn push(&mut self, identity: Option<Identity>) {
        self.identities.push(identity);
        while self.identities.len() > PAIRWISE_LIMIT && self.next.len() < self.identities.len() {
            self.link(self.next.len());
        }
    }

    fn link(&mut self, slot: usize) {
        self.next.push(END);
        let (Some(identity), Ok(position)) = (&self.identities[slot], u32::try_from(slot)) else { return };
        match self.chains.get_mut(identity) {
            Some(chain) => {
                self.next[chain.last as usize] = position;
                chain.last = position;
            }
            None => drop(self.chains.insert(identity.clone(), Chain { first: position, last: position })),
        }
    }

    /// Returns the remaining slots with an identity, in order.
    ///
    /// Removes deleted slots at the front of a chain, so that repeated lookups stay fast.
    fn find(&mut self, identity: &Identity, alive: impl Fn(usize) -> bool) -> impl Iterator<Item = usize> {
        let mut next_slot = END as usize;
        if self.next.is_empty() {
            next_slot = 0;
        } else if let Some(chain) = self.chains.get_mut(identity) {
            while !alive(chain.first as usize) && chain.first != chain.last {
                chain.first = self.next[chain.first as usize];
            }
            next_slot = chain.first as usize;
        }
        std::iter::from_fn(move || {
            let slot = next_slot;
            let found = self.identities.get(slot)?;
            next_slot = self.next.get(slot).map_or(slot + 1, |&next| next as usize);
            Some((slot, found.as_ref() == Some(identity)))
        })
        .filter_map(move |(slot, fits)| (fits && alive(slot)).then_some(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::identity::KeyValue;

    #[test]
    fn slots_are_found_in_order_without_deleted_ones() {
        let id = |n| Identity::One(KeyValue::Int(n));
        // A short list and a long one.
        for offset in [0, PAIRWISE_LIMIT] {
            let mut index = Index::default();
            let names = (0..offset).map(|_| None).chain([1, 2, 1, 1].map(|n| Some(id(n))));
            for name in names {
                index.push(name);
            }
            let find = |index: &mut Index, n, gone: &[usize]| -> Vec<usize> {
                let alive = |slot: usize| !gone.contains(&(slot - offset));
                index.find(&id(n), alive).map(|slot| slot - offset).collect()
            };
            assert_eq!(find(&mut index, 1, &[]), [0, 2, 3]);
            assert_eq!(find(&mut index, 1, &[0, 2]), [3]);
            assert_eq!(find(&mut index, 1, &[0, 2, 3]), Vec::<usize>::new());
            index.push(Some(id(1)));
            assert_eq!(find(&mut index, 1, &[0, 2, 3]), [4]);
            assert_eq!(find(&mut index, 2, &[]), [1]);
            assert_eq!(find(&mut index, 9, &[]), Vec::<usize>::new());
        }
    }
}
