//! A list whose entries are told apart by keys, while a patch is merged into it.
//!
//! Knows how entries find each other; how two entries merge and in which order the result stands, the
//! engines decide.

use rustc_hash::FxHashMap;

use super::association::Several;
use super::entry_match::{EntryMatch, KeyPattern, ListKeys};
use super::identity::{FEW, Identity};
use super::rules::{PatchRules, Rules};
use super::trail::Trail;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Node;

/// A list while it changes. Deleted entries leave a hole, new ones go to the end.
#[derive(Debug)]
pub(crate) struct KeyedList<'k> {
    keys: &'k ListKeys<'k>,
    pub(crate) entries: Vec<Option<Node>>,
    /// How many entries there were.
    pub(crate) live: usize,
    /// How many of them were deleted.
    pub(crate) deleted: usize,
    /// What the entries of the patch are about.
    pub(crate) wanted: Vec<EntryMatch>,
    /// By each pattern that is asked for, the list's own keys first: the entries as they were before
    /// anything was merged.
    indexes: Vec<(KeyPattern, Index)>,
    /// The first entry of the patch that was about each slot.
    pub(crate) touched: Vec<Option<usize>>,
}

impl<'k> KeyedList<'k> {
    /// A list and what the entries of a patch are about.
    ///
    /// # Errors
    /// As [`ListKeys::entry_match`].
    pub(crate) fn new(
        live: Vec<Node>,
        patch: &[Node],
        keys: &'k ListKeys<'k>,
        at: &Trail<'_>,
    ) -> Result<Self> {
        let read = |(i, entry): (usize, &Node)| keys.entry_match(entry, &at.index(i));
        let wanted: Vec<EntryMatch> = patch.iter().enumerate().map(read).collect::<Result<_>>()?;
        let mut indexes = vec![(KeyPattern::Own, Index::default())];
        for (pattern, _) in wanted.iter().flat_map(|wanted| &wanted.by) {
            if indexes.iter().all(|(known, _)| known != pattern) {
                indexes.push((pattern.clone(), Index::default()));
            }
        }
        for (pattern, index) in &mut indexes {
            for entry in &live {
                index.push(keys.identify(entry, pattern));
            }
        }
        let (touched, entries): (Vec<_>, Vec<_>) = live.into_iter().map(|entry| (None, Some(entry))).unzip();
        Ok(Self { keys, live: entries.len(), entries, deleted: 0, wanted, indexes, touched })
    }

    /// Merges the entries of a patch, deletions first, each into its match. `merge` makes one entry of a
    /// match, if there is one, and an entry of the patch.
    ///
    /// # Errors
    /// Those of `merge`; several matches; two entries for one, which only the API server takes.
    pub(crate) fn merge(
        &mut self,
        patch: &[Node],
        at: &Trail<'_>,
        mut merge: impl FnMut(Option<Node>, &Node, &Trail<'_>) -> Result<Node>,
    ) -> Result<()> {
        self.delete(patch, at)?;
        for (i, entry) in patch.iter().enumerate() {
            if self.wanted[i].delete {
                continue;
            }
            let slot = self.find(i, entry, at)?;
            let live = slot.and_then(|slot| self.entries[slot].take());
            let merged = merge(live, entry, &at.entry(entry, self.keys.names(), i))?;
            self.put(slot, merged, i);
        }
        Ok(())
    }

    /// Deletes what the patch says.
    ///
    /// # Errors
    /// In kustomize's lists, several matches of an entry that does not name its keys.
    pub(crate) fn delete(&mut self, patch: &[Node], at: &Trail<'_>) -> Result<()> {
        let Self { keys, entries, wanted, indexes, .. } = self;
        for (i, wanted) in wanted.iter().enumerate().filter(|(_, wanted)| wanted.delete) {
            let found = wanted.by.iter().map(|by| slots(indexes, entries, by).collect::<Vec<_>>());
            let Some(found) = found.into_iter().find(|found| !found.is_empty()) else { continue };
            if found.len() > 1 && !wanted.named && keys.rules().is_kustomize() {
                return Err(ambiguous(&found, entries, (wanted, &patch[i], keys), &at.index(i)));
            }
            self.deleted += found.len();
            for slot in found {
                entries[slot] = None;
            }
        }
        Ok(())
    }

    /// The slot of the entry that an entry of the patch is about.
    ///
    /// # Errors
    /// Several match; another entry of the patch was about it.
    pub(crate) fn find(&mut self, i: usize, entry: &Node, at: &Trail<'_>) -> Result<Option<usize>> {
        let Self { keys, entries, wanted, indexes, .. } = self;
        let wanted = &wanted[i];
        let mut found = None;
        for by in &wanted.by {
            let mut fitting = slots(indexes, entries, by);
            found = fitting.next();
            let is_only = wanted.several == Several::First || fitting.next().is_none();
            drop(fitting);
            if !is_only {
                let all: Vec<usize> = slots(indexes, entries, by).collect();
                return Err(ambiguous(&all, entries, (wanted, entry, keys), &at.index(i)));
            }
            if found.is_some() {
                break;
            }
        }
        match found.and_then(|slot| self.touched[slot]) {
            Some(first) if self.keys.rules() != Rules::Patch(PatchRules::Apiserver) => {
                let message = format!("the patch has two entries for the same one: [{first}] and [{i}]");
                let help = match self.keys.more_to_name(entry) {
                    Some(_) if !wanted.named => {
                        "join the two, or tell them apart by naming more keys under `$patchMergeKey`"
                    }
                    _ => "join the two",
                };
                Err(at.error(Code::DuplicateMergeKey, message).at(entry.span()).help(help))
            }
            _ => Ok(found),
        }
    }

    /// Notes that an entry of the patch was about a slot.
    pub(crate) fn touch(&mut self, slot: usize, i: usize) {
        self.touched[slot].get_or_insert(i);
    }

    fn put(&mut self, slot: Option<usize>, entry: Node, i: usize) {
        if let Some(slot) = slot {
            self.touch(slot, i);
            self.entries[slot] = Some(entry);
            return;
        }
        for (pattern, index) in &mut self.indexes {
            index.push(self.keys.identify(&entry, pattern));
        }
        self.touched.push(Some(i));
        self.entries.push(Some(entry));
    }

    /// What named the entry in a slot before anything was merged.
    pub(crate) fn name(&self, slot: usize) -> Option<&Identity> {
        self.indexes.first().and_then(|(_, index)| index.names[slot].as_ref())
    }

    /// The entries in their order, the new ones at the end.
    pub(crate) fn into_entries(self) -> Vec<Node> {
        self.entries.into_iter().flatten().collect()
    }
}

/// The slots that fit, in order.
fn slots(
    indexes: &mut [(KeyPattern, Index)],
    entries: &[Option<Node>],
    (pattern, identity): &(KeyPattern, Identity),
) -> impl Iterator<Item = usize> {
    let index = indexes.iter_mut().find(|(known, _)| known == pattern);
    index.into_iter().flat_map(|(_, index)| index.find(identity, |slot| entries[slot].is_some()))
}

/// What to do where no more keys could tell entries apart.
const DIFFER: &str = "entries of this list must differ in their keys: remove or change the others first";

fn ambiguous(
    slots: &[usize],
    entries: &[Option<Node>],
    (wanted, entry, keys): (&EntryMatch, &Node, &ListKeys<'_>),
    at: &Trail<'_>,
) -> Diagnostic {
    let positions: Vec<String> = slots.iter().map(|slot| format!("[{slot}]")).collect();
    let message = format!("{} entries match this one of the patch: {}", slots.len(), positions.join(", "));
    let help = match wanted.by.as_slice() {
        _ if wanted.named => keys.more_to_name(entry).map_or_else(
            || DIFFER.to_string(),
            |all| {
                format!("name more keys under `$patchMergeKey`, such as `[{all}]`, so that one entry is left")
            },
        ),
        [(KeyPattern::Own, _)] => DIFFER.to_string(),
        _ => "give this entry more keys, or name them under `$patchMergeKey`".to_string(),
    };
    let error = at.error(Code::Ambiguous, message).at(entry.span()).help(help);
    let matches = slots.iter().filter_map(|&slot| entries[slot].as_ref());
    matches.fold(error, |error, entry| error.label(entry.span(), "this one matches"))
}

const END: u32 = u32::MAX;

/// Finds entries of a list by name while entries come and go.
#[derive(Debug, Default)]
struct Index {
    /// The name that each slot has, if any.
    names: Vec<Option<Identity>>,
    /// In long lists: for each name its slots in order, as a chain through `next`.
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
    fn push(&mut self, name: Option<Identity>) {
        self.names.push(name);
        while self.names.len() > FEW && self.next.len() < self.names.len() {
            self.link(self.next.len());
        }
    }

    fn link(&mut self, slot: usize) {
        self.next.push(END);
        let (Some(name), Ok(position)) = (&self.names[slot], u32::try_from(slot)) else { return };
        match self.chains.get_mut(name) {
            Some(chain) => {
                self.next[chain.last as usize] = position;
                chain.last = position;
            }
            None => drop(self.chains.insert(name.clone(), Chain { first: position, last: position })),
        }
    }

    /// The slots of that name that are still there, in order.
    ///
    /// Those at the front that are gone are forgotten, so that looking again costs nothing.
    fn find(&mut self, name: &Identity, alive: impl Fn(usize) -> bool) -> impl Iterator<Item = usize> {
        let mut at = END as usize;
        if self.next.is_empty() {
            at = 0;
        } else if let Some(chain) = self.chains.get_mut(name) {
            while !alive(chain.first as usize) && chain.first != chain.last {
                chain.first = self.next[chain.first as usize];
            }
            at = chain.first as usize;
        }
        std::iter::from_fn(move || {
            let slot = at;
            let found = self.names.get(slot)?;
            at = self.next.get(slot).map_or(slot + 1, |&next| next as usize);
            Some((slot, found.as_ref() == Some(name)))
        })
        .filter_map(move |(slot, fits)| (fits && alive(slot)).then_some(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::identity::KeyValue;

    #[test]
    fn slots_are_found_in_order_and_forgotten_when_gone() {
        let id = |n| Identity::One(KeyValue::Int(n));
        // A short list, and a long one.
        for offset in [0, FEW] {
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
