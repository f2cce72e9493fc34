//! `$setElementOrder/field`: the order that a patch sets for the entries of a list.
//!
//! Finds entries in this order and sorts lists by it. The merge engines determine which lists have one.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::association::{patch_merge_keys, recommended_keys};
use super::directive::{PATCH, SET_ELEMENT_ORDER, is_delete, patch_merge_key_names};
use super::entry_match::unidentified_entry_error;
use super::identity::{Identity, KeyComparison, KeyRule, KeyValue, MergeKeys, NullKey};
use super::order::{Rank, permuted, server_order};
use super::trail::Trail;
use crate::schema::{Cursor, ListType};
use smp_text::diagnostic::{Code, Result};
use smp_text::yaml::{Entry, Map, Node};

/// A list, with the data that determines the order of its entries on the API server.
#[derive(Debug, Default)]
pub(crate) struct RankedList {
    pub(crate) nodes: Vec<Node>,
    pub(crate) ranks: Vec<Rank>,
    /// The number of deleted live entries.
    pub(crate) deleted: usize,
}

impl RankedList {
    /// Creates a list of entries with the order of their patch.
    pub(crate) fn from_patch(nodes: Vec<Node>) -> Self {
        let rank = |position| Rank { patch: Some(position), ..Rank::default() };
        Self { ranks: (0..nodes.len()).map(rank).collect(), nodes, deleted: 0 }
    }

    /// Returns the entries in the API server's order.
    pub(crate) fn into_ordered(self) -> Vec<Node> {
        let order = server_order(&self.ranks);
        permuted(self.nodes, &order)
    }

    /// Returns the entries in the API server's order, each with its index in the live list.
    ///
    /// The API server gives new entries the indices that deletions have freed at the end of the live list.
    pub(crate) fn into_ordered_with_positions(self) -> (Vec<Node>, Vec<Option<usize>>) {
        let order = server_order(&self.ranks);
        let mut free = self.deleted;
        let mut position = |rank: &Rank| {
            rank.live.or_else(|| {
                free = free.checked_sub(1)?;
                Some(usize::MAX - free)
            })
        };
        let positions: Vec<_> = self.ranks.iter().map(&mut position).collect();
        let positions = order.iter().map(|&i| positions[i]).collect();
        (permuted(self.nodes, &order), positions)
    }
}

/// The keys with which entries are found in a `$setElementOrder` list.
#[derive(Debug)]
pub(crate) struct OrderKeys {
    /// The keys; `None` for lists of scalars.
    keys: Option<MergeKeys>,
    /// The keys that each entry must have.
    default: Option<MergeKeys>,
}

impl OrderKeys {
    /// Returns the API server's keys: the default keys, and those recommended keys and keys from `$patchMergeKey` that
    /// occur in the order.
    pub(crate) fn for_apiserver(list: Cursor<'_>, order: &[Node], patch: &[Node]) -> Self {
        let mut more = recommended_keys(list);
        more.extend(patch.iter().filter_map(patch_merge_key_names).flatten().map(SmolStr::from));
        let mentioned: FxHashSet<&str> = mentioned(order).collect();
        more.retain(|key| mentioned.contains(key.as_str()));
        Self::new(patch_merge_keys(list), more.into_iter())
    }

    /// Returns the keys of the overlay rules: all fields that occur in the order.
    ///
    /// # Errors
    /// An item of the order lacks one of several merge keys.
    pub(crate) fn for_overlay(list: Cursor<'_>, order: &[Node], at: &Trail<'_>) -> Result<Self> {
        let required_keys = patch_merge_keys(list);
        if required_keys.len() > 1 && list.list_type() != Some(ListType::Map) {
            let required = required_keys.into_iter().map(|key| (key, KeyRule::Required));
            let keys = MergeKeys::new(required, NullKey::Absent, KeyComparison::Data);
            for (position, entry) in order.iter().enumerate() {
                identify_item(Some(&keys), entry, at, position)?;
            }
        }
        Ok(Self::new(Vec::new(), mentioned(order).map(SmolStr::from)))
    }

    fn new(needed: Vec<SmolStr>, more: impl Iterator<Item = SmolStr>) -> Self {
        let mut seen: FxHashSet<SmolStr> = needed.iter().cloned().collect();
        let more: Vec<_> = more.filter(|key| seen.insert(key.clone())).collect();
        let needed: Vec<_> = needed.into_iter().map(|key| (key, KeyRule::Required)).collect();
        let more = more.into_iter().map(|key| (key, KeyRule::Optional));
        // With several keys, null is treated as absent.
        let null = if needed.len() > 1 { NullKey::Absent } else { NullKey::Value };
        let keys = |keys: Vec<_>| (!keys.is_empty()).then(|| MergeKeys::new(keys, null, KeyComparison::Data));
        Self { default: keys(needed.clone()), keys: keys(needed.into_iter().chain(more).collect()) }
    }

    /// Returns the index of each identity in a list, or in its order.
    fn positions(
        &self,
        list: &[Node],
        identify: Identify,
        at: &Trail<'_>,
    ) -> Result<FxHashMap<Identity, usize>> {
        let mut positions = FxHashMap::default();
        for (position, entry) in list.iter().enumerate() {
            positions.entry(identify(self.keys.as_ref(), entry, at, position)?).or_insert(position);
        }
        Ok(positions)
    }

    /// Returns entries with their indices in the live list. Their relative order does not change.
    ///
    /// # Errors
    /// An entry lacks its merge keys.
    pub(crate) fn ranked(&self, nodes: Vec<Node>, live: &[Node], at: &Trail<'_>) -> Result<RankedList> {
        let positions = self.positions(live, identify, at)?;
        let mut ranked = RankedList::from_patch(nodes);
        for (position, (entry, rank)) in ranked.nodes.iter().zip(&mut ranked.ranks).enumerate() {
            let identity = identify(self.keys.as_ref(), entry, at, position)?;
            rank.live = positions.get(&identity).copied();
        }
        Ok(ranked)
    }

    /// Sorts the entries that the order contains. The other entries are placed between them by their indices in the
    /// live list.
    ///
    /// # Errors
    /// An entry lacks its merge keys.
    pub(crate) fn reorder(
        &self,
        nodes: Vec<Node>,
        live_positions: &[Option<usize>],
        order: &[Node],
        at: &Trail<'_>,
    ) -> Result<Vec<Node>> {
        let positions = self.positions(order, identify_item, at)?;
        let rank = |(position, (entry, live)): (usize, (&Node, &Option<usize>))| {
            let identity = identify(self.keys.as_ref(), entry, at, position)?;
            Ok(Rank { patch: positions.get(&identity).copied(), live: *live, last: is_delete(entry) })
        };
        let ranks = nodes.iter().zip(live_positions).enumerate().map(rank).collect::<Result<Vec<_>>>()?;
        Ok(permuted(nodes, &server_order(&ranks)))
    }

    /// Checks that the order contains all entries of the patch, in the same sequence.
    ///
    /// # Errors
    /// An entry is missing in the order, or has another place in the sequence.
    pub(crate) fn check(
        &self,
        patch: &[Node],
        order: &[Node],
        directive: &Entry,
        at: &Trail<'_>,
    ) -> Result<()> {
        if order.is_empty() || patch.is_empty() {
            return Ok(());
        }
        let default = self.default.as_ref();
        let mut items = order.iter().enumerate();
        for (position, entry) in patch.iter().enumerate() {
            let mut found = false;
            if let Some(action) = entry.get(PATCH).filter(|_| self.keys.is_some()) {
                // As on the API server, directives other than deletions are errors only after the last item of the
                // order.
                found = items.len() > 0 || action.as_str() == Some("delete");
            } else {
                let identity = identify(default, entry, at, position)?;
                while !found && let Some((index, item)) = items.next() {
                    found = identify_item(default, item, at, index)? == identity;
                }
            }
            if !found {
                let message = format!(
                    "this entry is missing from `{}` or has another position there",
                    directive.key.text
                );
                let names = self.default.as_ref().map(MergeKeys::names).unwrap_or_default();
                return Err(at
                    .entry(entry, names, position)
                    .error(Code::Directive, message)
                    .at(entry.span())
                    .label(directive.value.span(), "the order")
                    .help("list all entries of the patch there, in the same order"));
            }
        }
        Ok(())
    }
}

/// Returns the names of all fields in the items of a `$setElementOrder` list.
fn mentioned(order: &[Node]) -> impl Iterator<Item = &str> {
    order.iter().filter_map(Node::as_map).flat_map(Map::iter).map(|(name, _)| name)
}

/// A function that identifies the entry at an index of a list, or of the order of a list.
type Identify = fn(Option<&MergeKeys>, &Node, &Trail<'_>, usize) -> Result<Identity>;

/// Returns the identity of the item at an index of the order of a list. The field path of errors is that of the order.
fn identify_item(
    keys: Option<&MergeKeys>,
    item: &Node,
    list: &Trail<'_>,
    position: usize,
) -> Result<Identity> {
    identify(keys, item, list, position).or_else(|error| {
        let Some(name) = list.field_name() else { return Err(error) };
        identify(keys, item, &list.sibling(&format!("{SET_ELEMENT_ORDER}/{name}")), position)
    })
}

/// Returns the identity of the entry at an index of a list.
fn identify(keys: Option<&MergeKeys>, entry: &Node, list: &Trail<'_>, position: usize) -> Result<Identity> {
    match keys {
        Some(keys) => keys
            .identify(entry)
            .ok_or_else(|| unidentified_entry_error(keys, entry, &list.entry(entry, keys.names(), position))),
        None => KeyValue::from_node(entry).map(Identity::One).ok_or_else(|| {
            let message = "maps cannot be ordered without a merge key in the schema";
            list.index(position).error(Code::MissingMergeKey, message).at(entry.span())
        }),
    }
}
