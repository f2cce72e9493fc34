//! Merging the entries of keyed lists: deletions first, then each entry of the patch into its match.
//!
//! Knows how entries find each other; how two entries merge and in which order the result stands, the
//! dialects decide.

use rustc_hash::FxHashMap;

use super::Dialect;
use super::index::Index;
use super::search::{ListRules, Pattern, Search};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::Trail;
use crate::merge::align::Identity;
use crate::merge::directive::{self, Action, PATCH};
use crate::merge::order::Rank;
use crate::yaml::Node;

/// A merged list: entries that were live in their order, then the new ones.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) nodes: Vec<Node>,
    /// What the API server's order of each entry depends on.
    pub(super) ranks: Vec<Rank>,
    /// How many live entries were deleted.
    pub(super) deleted: usize,
}

/// What an entry of the patch asks for.
struct Wish<'p> {
    entry: &'p Node,
    /// Its position in the patch.
    position: usize,
    delete: bool,
    search: Search<'p>,
}

/// Merges the entries of a patch into a live list. `merge` makes one entry of a match, if there is
/// one, and an entry of the patch.
pub(super) fn merge_entries(
    live: Vec<Node>,
    patch: &[Node],
    rules: &ListRules<'_>,
    at: &Trail<'_>,
    mut merge: impl FnMut(Option<Node>, &Node, &Trail<'_>) -> Result<Node>,
) -> Result<Merged> {
    let wishes = read(patch, rules, at)?;
    let mut slots = Slots::new(live, rules, &wishes);
    let deleted = wishes.iter().filter(|wish| wish.delete).map(|wish| slots.delete(&wish.search)).sum();
    for wish in wishes.iter().filter(|wish| !wish.delete) {
        let found = slots.find(wish, at)?;
        let live = found.and_then(|slot| slots.entries[slot].take());
        let keys = rules.keys.as_ref().map_or(&[][..], |keys| &keys.names);
        let merged = merge(live, wish.entry, &at.entry(wish.entry, keys, wish.position))?;
        slots.put(found, merged, wish.position);
    }
    let ranks = match rules.dialect {
        Dialect::Apiserver => slots.server_ranks(&wishes, at)?,
        Dialect::Overlay => slots.live_ranks(),
    };
    Ok(Merged { nodes: slots.entries.into_iter().flatten().collect(), ranks, deleted })
}

fn read<'p>(patch: &'p [Node], rules: &ListRules<'p>, at: &Trail<'_>) -> Result<Vec<Wish<'p>>> {
    let wish = |(position, entry): (usize, &'p Node)| {
        let here = at.index(position);
        let map = entry.as_map().ok_or_else(|| not_a_map(entry, &here))?;
        let action = directive::action(map, &here)?;
        if action == Some(Action::Merge) && rules.dialect == Dialect::Apiserver {
            return Err(merge_in_list(entry, &here));
        }
        let search = rules.search(entry, map, &here)?;
        Ok(Wish { entry, position, delete: action == Some(Action::Delete), search })
    };
    patch.iter().enumerate().map(wish).collect()
}

/// The API server's own dialect has no word for what happens anyway.
pub(super) fn merge_in_list(entry: &Node, at: &Trail<'_>) -> Diagnostic {
    at.error(Code::Directive, "`$patch: merge` cannot stand in an entry of a list")
        .at(entry.span())
        .help("entries are merged anyway: leave it out")
}

/// Whether an entry asks to be deleted: in a patch, that is; elsewhere such a field is data.
pub(super) fn is_delete(entry: &Node) -> bool {
    entry.get(PATCH).and_then(Node::as_str) == Some("delete")
}

pub(super) fn not_a_map(entry: &Node, at: &Trail<'_>) -> Diagnostic {
    let message = format!("an entry of this list must be a map and is {}", entry.type_name());
    at.error(Code::WrongType, message).at(entry.span())
}

/// A list while it changes. Deleted entries leave a hole, new ones go to the end.
struct Slots<'r, 'p> {
    rules: &'r ListRules<'p>,
    entries: Vec<Option<Node>>,
    /// How many entries there were.
    live: usize,
    /// By the schema's keys, as they were before anything was merged.
    identities: Vec<Option<Identity>>,
    indexes: Vec<(Pattern<'p>, Index)>,
    /// The first entry of the patch that went into each slot.
    touched: Vec<Option<usize>>,
}

impl<'r, 'p> Slots<'r, 'p> {
    fn new(live: Vec<Node>, rules: &'r ListRules<'p>, wishes: &[Wish<'p>]) -> Self {
        let identities: Vec<_> = live.iter().map(|entry| rules.identify_by_schema(entry)).collect();
        let mut indexes: Vec<(Pattern<'p>, Index)> = Vec::new();
        for (pattern, _) in wishes.iter().flat_map(|wish| &wish.search.wanted) {
            if indexes.iter().any(|(known, _)| known == pattern) {
                continue;
            }
            let mut index = Index::default();
            for (slot, entry) in live.iter().enumerate() {
                let identity = match pattern {
                    Pattern::Schema => identities[slot].clone(),
                    Pattern::Named { .. } => rules.identify(pattern, entry),
                };
                if let Some(identity) = identity {
                    index.push(identity, slot);
                }
            }
            indexes.push((pattern.clone(), index));
        }
        let touched = vec![None; live.len()];
        let entries: Vec<_> = live.into_iter().map(Some).collect();
        Self { rules, live: entries.len(), entries, identities, indexes, touched }
    }

    /// The slots that fit, in order.
    fn matches(&mut self, pattern: &Pattern<'_>, identity: &Identity) -> impl Iterator<Item = usize> {
        let entries = &self.entries;
        let index = self.indexes.iter_mut().find(|(known, _)| known == pattern);
        index.into_iter().flat_map(|(_, index)| index.find(identity, |slot| entries[slot].is_some()))
    }

    /// Deletes all entries that fit; how many.
    fn delete(&mut self, search: &Search<'_>) -> usize {
        for (pattern, identity) in &search.wanted[..search.deletes_by()] {
            let found: Vec<usize> = self.matches(pattern, identity).collect();
            for &slot in &found {
                self.entries[slot] = None;
            }
            if !found.is_empty() {
                return found.len();
            }
        }
        0
    }

    /// The slot of the entry that a wish is about.
    fn find(&mut self, wish: &Wish<'_>, at: &Trail<'_>) -> Result<Option<usize>> {
        let mut found = None;
        for (pattern, identity) in &wish.search.wanted {
            let mut matches = self.matches(pattern, identity);
            found = matches.next();
            let several = matches.next().is_some() && !wish.search.first_of_several;
            drop(matches);
            if several {
                let all: Vec<usize> = self.matches(pattern, identity).collect();
                return Err(self.ambiguous(&all, wish, at));
            }
            if found.is_some() {
                break;
            }
        }
        let double = found.and_then(|slot| self.touched[slot]);
        match double.filter(|_| self.rules.dialect == Dialect::Overlay) {
            Some(first) => Err(double_entry(first, wish, at)),
            None => Ok(found),
        }
    }

    fn ambiguous(&self, slots: &[usize], wish: &Wish<'_>, at: &Trail<'_>) -> Diagnostic {
        let positions: Vec<String> = slots.iter().map(|slot| format!("[{slot}]")).collect();
        let message =
            format!("{} entries match this one of the patch: {}", slots.len(), positions.join(", "));
        let help = if wish.search.named {
            "name more keys under `$patchMergeKey`, so that one entry is left"
        } else {
            "entries of this list must differ in their keys: remove or change the others first"
        };
        let error = at.index(wish.position).error(Code::Ambiguous, message).at(wish.entry.span()).help(help);
        slots
            .iter()
            .filter_map(|&slot| self.entries[slot].as_ref())
            .fold(error, |error, entry| error.label(entry.span(), "this one matches"))
    }

    /// Puts an entry where it was found, or at the end.
    fn put(&mut self, slot: Option<usize>, entry: Node, position: usize) {
        if let Some(slot) = slot {
            self.touched[slot].get_or_insert(position);
            self.entries[slot] = Some(entry);
            return;
        }
        let slot = self.entries.len();
        for (pattern, index) in &mut self.indexes {
            if let Some(identity) = self.rules.identify(pattern, &entry) {
                index.push(identity, slot);
            }
        }
        self.identities.push(self.rules.identify_by_schema(&entry));
        self.touched.push(Some(position));
        self.entries.push(Some(entry));
    }

    /// Existing entries first, in their order.
    fn live_ranks(&self) -> Vec<Rank> {
        let there = |slot: &usize| self.entries[*slot].is_some();
        let rank = |slot| Rank { live: Some(slot), ..Rank::default() };
        (0..self.entries.len()).filter(there).map(rank).collect()
    }

    /// The API server knows entries by their keys alone: several with the same ones share a place.
    ///
    /// # Errors
    /// An entry that lacks its merge key.
    fn server_ranks(&self, wishes: &[Wish<'_>], at: &Trail<'_>) -> Result<Vec<Rank>> {
        let by_slot = wishes.iter().any(|wish| wish.search.named);
        let mut in_patch: FxHashMap<&Identity, usize> = FxHashMap::default();
        for wish in wishes.iter().filter(|wish| !wish.delete && !wish.search.named) {
            if let [(_, identity)] = wish.search.wanted.as_slice() {
                in_patch.entry(identity).or_insert(wish.position);
            }
        }
        let mut in_live: FxHashMap<&Identity, usize> = FxHashMap::default();
        let mut ranks = Vec::with_capacity(self.entries.len());
        for (slot, entry) in self.entries.iter().enumerate() {
            let Some(entry) = entry else { continue };
            // A key that the patch sets to null is gone by now.
            let now = self.touched[slot].and_then(|_| self.rules.identify_by_schema(entry));
            let there = self.touched[slot].is_none() || self.rules.has_keys(now.as_ref());
            let identity = self.identities[slot].as_ref().filter(|i| there && self.rules.has_keys(Some(i)));
            let Some(identity) = identity else {
                return Err(self.rules.missing_key(entry, &at.index(slot)));
            };
            let mut live = (slot < self.live).then_some(slot);
            if !by_slot && slot < self.live {
                live = Some(*in_live.entry(identity).or_insert(slot));
            }
            let touched = if by_slot { self.touched[slot] } else { None };
            let patch = touched.or_else(|| in_patch.get(identity).copied());
            ranks.push(Rank { patch, live, last: is_delete(entry) });
        }
        Ok(ranks)
    }
}

fn double_entry(first: usize, wish: &Wish<'_>, at: &Trail<'_>) -> Diagnostic {
    let message = format!("the patch has two entries for the same one: [{first}] and [{}]", wish.position);
    let help = if wish.search.named {
        "join the two"
    } else {
        "join the two, or tell them apart by naming more keys under `$patchMergeKey`"
    };
    at.error(Code::DuplicateMergeKey, message).at(wish.entry.span()).help(help)
}
