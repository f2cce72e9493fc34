//! The lists of a two-way merge where nothing may get lost silently.
//!
//! What comes out is what kustomize makes of lists that are as they should be, in the same order.
//! Where it would lose entries (no merge key, equal keys, a key that only one side spells out) there
//! is an error, or the entry finds the one that it means.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::{Merge2, Own, Source};
use crate::diagnostic::{Code, Result};
use crate::merge::Trail;
use crate::merge::directive::PATCH_MERGE_KEY;
use crate::merge::kyaml::Fate;
use crate::merge::kyaml::options::ListOrder;
use crate::merge::kyaml::position::Position;
use crate::merge::kyaml::tuples::{are_distinct, is_nothing};
use crate::merge::kyaml::wish::{Haystack, KeySet, Wish};
use crate::yaml::{Node, Value};

/// An entry of the result that the patch speaks of.
enum Entry {
    /// It was at this position.
    Merged(usize),
    New(Node),
}

impl<'s> Merge2<'s> {
    /// A list that no other list is merged into.
    pub(super) fn strict_own_entries(
        &self,
        list: &mut Vec<Node>,
        own: Own,
        keys: &KeySet,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        let element = at.element(self.schema);
        match own {
            Own::Absent => drop_doubles(list, keys),
            Own::Same => {
                read(list, keys, trail)?;
                keys.check_distinct(list, trail)?;
            }
        }
        let mut stays = Vec::with_capacity(list.len());
        for (i, node) in list.iter_mut().enumerate() {
            if matches!(own, Own::Same) {
                drop_named_keys(node);
            }
            let fate = self.value(Some(node), own.source(), element.clone(), &trail.index(i))?;
            let is_lost = matches!(own, Own::Same) && is_nothing(node);
            stays.push(!matches!(fate, Fate::Clear) && !is_lost);
        }
        let mut stays = stays.into_iter();
        list.retain(|_| stays.next().unwrap_or(true));
        Ok(())
    }

    /// Merges the patch's list into dest's.
    pub(super) fn strict_entries(
        &self,
        list: &mut Vec<Node>,
        theirs: &mut [Node],
        keys: &KeySet,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        let wishes = read(theirs, keys, trail)?;
        keys.check_distinct(theirs, trail)?;
        if !wishes.iter().any(|wish| wish.named) {
            keys.check_distinct(list, trail)?;
        }
        // kustomize 5.8 moves changed entries to the front only where one key tells all apart.
        let in_place =
            self.options.list_order == ListOrder::Append || keys.used(list.iter().chain(theirs.iter())) > 1;
        let element = at.element(self.schema);
        let mut dest = Haystack::new(std::mem::take(list), keys);
        for (i, wish) in wishes.iter().enumerate().filter(|(_, wish)| wish.delete) {
            dest.delete(wish, &theirs[i], &trail.index(i))?;
        }
        let mut results = Vec::with_capacity(theirs.len());
        let mut touched = vec![false; dest.entries.len()];
        for (i, wish) in wishes.iter().enumerate().filter(|(_, wish)| !wish.delete) {
            let here = trail.index(i);
            let found = dest.find(wish, &theirs[i], &here)?;
            drop_named_keys(&mut theirs[i]);
            if let Some(at) = found {
                if std::mem::replace(&mut touched[at], true) {
                    let message = "this entry of the patch is about one that another entry changed already";
                    return Err(here.error(Code::DuplicateMergeKey, message).at(theirs[i].span()));
                }
            }
            results.extend(self.strict_entry(&mut dest, found, &mut theirs[i], &element, &here)?);
        }
        for (i, slot) in dest.entries.iter_mut().enumerate().filter(|(i, _)| !touched[*i]) {
            if let Some(node) = slot
                && matches!(
                    self.value(Some(node), Source::Absent, element.clone(), &trail.index(i))?,
                    Fate::Clear
                )
            {
                *slot = None;
            }
        }
        *list = arrange(dest.entries, results, self.options.list_order, in_place);
        Ok(())
    }

    /// Merges one entry of the patch into the one that it is about, or makes a new one of it.
    fn strict_entry(
        &self,
        dest: &mut Haystack<'_>,
        found: Option<usize>,
        entry: &mut Node,
        element: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Option<Entry>> {
        let slot = found.and_then(|at| dest.entries.get_mut(at));
        let old = slot.and_then(Option::as_mut);
        let is_new = old.is_none();
        let fate = self.value(old, Source::Node(entry), element.clone(), trail)?;
        let replaces = self.options.list_order == ListOrder::Append;
        Ok(match (fate, found) {
            (Fate::Take(node), _) if is_new => (!is_nothing(&node)).then_some(Entry::New(node)),
            // Where entries go to the front, kustomize 5.8 puts the old one back over its replacement.
            (Fate::Take(node), Some(at)) => {
                if replaces {
                    dest.entries[at] = Some(node);
                }
                Some(Entry::Merged(at))
            }
            (Fate::Keep, found) => found.map(Entry::Merged),
            (_, found) => {
                if let Some(at) = found {
                    dest.entries[at] = None;
                }
                None
            }
        })
    }
}

fn read(entries: &[Node], keys: &KeySet, trail: &Trail<'_>) -> Result<Vec<Wish>> {
    entries.iter().enumerate().map(|(i, entry)| keys.wish(entry, &trail.index(i))).collect()
}

fn drop_named_keys(entry: &mut Node) {
    if let Value::Map(map) = &mut entry.value {
        map.remove(PATCH_MERGE_KEY);
    }
}

/// The merged list in its order: the new entries behind or before those of dest, and where it does
/// not merge in place, the changed ones with them.
fn arrange(mut dest: Vec<Option<Node>>, results: Vec<Entry>, order: ListOrder, in_place: bool) -> Vec<Node> {
    let take = |entry| match entry {
        Entry::New(node) => Some(node),
        Entry::Merged(at) if !in_place => dest.get_mut(at).and_then(Option::take),
        Entry::Merged(_) => None,
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
fn drop_doubles(list: &mut Vec<Node>, keys: &KeySet) {
    if are_distinct(list, keys.keys()) {
        return;
    }
    let moves = keys.used(list.iter()) <= 1;
    let mut known: FxHashMap<Vec<SmolStr>, usize> = FxHashMap::default();
    let mut out: Vec<Option<Node>> = Vec::with_capacity(list.len());
    for node in list.drain(..) {
        let texts = keys.texts(&node);
        let earlier = texts.as_ref().and_then(|texts| known.get(texts).copied());
        if let Some(at) = earlier.filter(|_| moves) {
            out[at] = Some(node);
            continue;
        }
        if let Some(at) = earlier {
            out[at] = None;
        }
        known.extend(texts.map(|texts| (texts, out.len())));
        out.push(Some(node));
    }
    list.extend(out.into_iter().flatten());
}
