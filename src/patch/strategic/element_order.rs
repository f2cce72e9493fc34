//! `$setElementOrder/field`: the order that a patch gives to the entries of a list.

use rustc_hash::{FxHashMap, FxHashSet};

use super::entries::{Merged, is_delete};
use super::server::{declared, entry_kind, is_list, malformed, strategy};
use crate::diagnostic::{Code, Result};
use crate::merge::Trail;
use crate::merge::align::{Identity, KeyValue};
use crate::merge::association::{patch_merge_keys, recommended_keys};
use crate::merge::directive::{PATCH, PATCH_MERGE_KEY, PatchField, SET_ELEMENT_ORDER};
use crate::merge::order::{Rank, permuted, weave};
use crate::schema::Cursor;
use crate::yaml::{Entry, List, Map, Node};

/// How values of a patch get into the result.
pub(super) struct Taking {
    /// Merges two lists.
    pub(super) merge: fn(Vec<Node>, &[Node], Cursor<'_>, &Trail<'_>) -> Result<Merged>,
    /// An entry of a list that was not there.
    pub(super) add: fn(&Node) -> Option<Node>,
    /// An entry of a list that takes the place of another one.
    pub(super) replace: fn(&Node) -> Node,
}

/// Merges all lists of a map for which the patch gives an order, as the API server does
/// (apimachinery 0.36, `mergePatchIntoOriginal`); the names of their fields.
pub(super) fn apply<'p>(
    dest: &mut Map,
    patch: &'p Map,
    cursor: Cursor<'_>,
    taking: &Taking,
    at: &Trail<'_>,
) -> Result<Vec<&'p str>> {
    let mut done = Vec::new();
    for entry in patch.entries() {
        match PatchField::of(&entry.key.text) {
            PatchField::SetElementOrder(field) => {
                merge_in_order(dest, patch, (entry, field), cursor, taking, &at.field(field))?;
                done.push(field);
            }
            PatchField::Malformed if entry.key.text.starts_with(SET_ELEMENT_ORDER) => {
                return Err(malformed(entry, SET_ELEMENT_ORDER, at));
            }
            _ => {}
        }
    }
    Ok(done)
}

fn merge_in_order(
    dest: &mut Map,
    patch: &Map,
    (directive, field): (&Entry, &str),
    parent: Cursor<'_>,
    taking: &Taking,
    at: &Trail<'_>,
) -> Result<()> {
    let order = list_of(&directive.value, at)?;
    let from = patch.entry(field);
    let patched = from.map(|entry| list_of(&entry.value, at)).transpose()?;
    let live = dest.get(field).map(|node| list_of(node, at)).transpose()?;
    let cursor = declared(parent, field, &directive.value, at)?;
    is_list(cursor, &directive.value, at)?;
    let strategy = strategy(cursor, at)?;
    let entries = patched.map(Vec::as_slice).unwrap_or_default();
    let keys = OrderKeys::new(cursor, order, entries);
    keys.check(entries, order, directive, at)?;
    let kind = entry_kind([live.map(Vec::as_slice).unwrap_or_default(), entries], at)?;
    if kind.is_none() && (live.is_some() || patched.is_some()) {
        let message = format!("`{}` has no entries to put in order", directive.key.text);
        return Err(at.error(Code::Directive, message).at(directive.value.span()));
    }
    let live = dest.get_mut(field).and_then(Node::as_list_mut).map(std::mem::take);
    let joined = match (live, patched) {
        (None, None) => return Ok(()),
        (Some(live), None) => keys.ranked(live.clone(), &live, at)?,
        (None, Some(_)) => {
            let nodes: Vec<Node> = entries.iter().filter_map(taking.add).collect();
            let rank = |position| Rank { patch: Some(position), ..Rank::default() };
            Merged { ranks: (0..nodes.len()).map(rank).collect(), nodes, deleted: 0 }
        }
        (Some(live), Some(_)) if strategy.merge => (taking.merge)(live, entries, cursor, at)?,
        (Some(live), Some(_)) => keys.ranked(entries.iter().map(taking.replace).collect(), &live, at)?,
    };
    let (nodes, live) = first_order(joined);
    set_list(dest, field, from, keys.reorder(nodes, &live, order, at)?);
    Ok(())
}

/// Sets the entries of a list that is there, or that the patch brings.
fn set_list(dest: &mut Map, field: &str, from: Option<&Entry>, nodes: List) {
    if let Some(list) = dest.get_mut(field).and_then(Node::as_list_mut) {
        *list = nodes;
    } else if let Some(entry) = from {
        dest.insert(entry.key.clone(), Node { meta: entry.value.meta.clone(), ..Node::list(nodes) });
    }
}

/// The order that the merge alone gives, and each entry's place in the live list.
///
/// There the API server lets new entries take the places that deletions left at the end.
fn first_order(merged: Merged) -> (Vec<Node>, Vec<Option<usize>>) {
    let order = weave(&merged.ranks);
    let mut free = merged.deleted;
    let mut places: Vec<Option<usize>> = Vec::with_capacity(order.len());
    for rank in &merged.ranks {
        let place = rank.live.or_else(|| {
            free = free.checked_sub(1)?;
            Some(usize::MAX - free)
        });
        places.push(place);
    }
    let live = order.iter().map(|&i| places[i]).collect();
    (permuted(merged.nodes, &order), live)
}

fn list_of<'n>(node: &'n Node, at: &Trail<'_>) -> Result<&'n List> {
    node.as_list().ok_or_else(|| {
        let message = format!("a list with an order must be a list and is {}", node.type_name());
        at.error(Code::WrongType, message).at(node.span())
    })
}

/// By what entries are found in a list that gives the order.
#[derive(Debug)]
pub(super) struct OrderKeys<'k> {
    /// Empty for lists of scalars.
    keys: Vec<&'k str>,
    /// How many of them, from the first, each entry must have.
    needed: usize,
}

impl<'k> OrderKeys<'k> {
    /// The default keys; of those that the schema recommends, or that entries of the patch name, also
    /// the ones that the order mentions.
    fn new(cursor: Cursor<'k>, order: &'k [Node], patch: &'k [Node]) -> Self {
        let mut more = recommended_keys(cursor);
        let named = patch.iter().filter_map(|entry| entry.get(PATCH_MERGE_KEY)?.as_list());
        more.extend(named.flatten().filter_map(Node::as_str));
        Self::with(patch_merge_keys(cursor), more, order)
    }

    /// The keys that entries must have, and of `more` those that the order mentions.
    pub(super) fn with(mut keys: Vec<&'k str>, more: Vec<&'k str>, order: &[Node]) -> Self {
        let needed = keys.len();
        let fields = order.iter().filter_map(Node::as_map).flat_map(Map::iter);
        let mentioned: FxHashSet<&str> = fields.map(|(name, _)| name).collect();
        let mut seen: FxHashSet<&str> = keys.iter().copied().collect();
        keys.extend(more.into_iter().filter(|key| mentioned.contains(key) && seen.insert(key)));
        Self { keys, needed }
    }

    fn identify(&self, entry: &Node, at: &Trail<'_>) -> Result<Identity> {
        if self.keys.is_empty() {
            return KeyValue::of(entry).map(Identity::One).ok_or_else(|| {
                let message = "entries that are maps have no order without a merge key in the schema";
                at.error(Code::MissingMergeKey, message).at(entry.span())
            });
        }
        let values = entry.as_map().and_then(|map| {
            self.keys.iter().map(|key| KeyValue::of_field(map, key)).collect::<Option<Vec<KeyValue>>>()
        });
        let complete = |values: &Vec<KeyValue>| values[..self.needed].iter().all(|v| *v != KeyValue::Absent);
        values.filter(complete).map(Identity::of_values).ok_or_else(|| {
            let message = format!("this entry lacks its merge key `{}`", self.keys.join("`, `"));
            at.error(Code::MissingMergeKey, message).at(entry.span())
        })
    }

    fn positions(&self, list: &[Node], at: &Trail<'_>) -> Result<FxHashMap<Identity, usize>> {
        let mut positions = FxHashMap::default();
        for (position, entry) in list.iter().enumerate() {
            positions.entry(self.identify(entry, &at.index(position))?).or_insert(position);
        }
        Ok(positions)
    }

    /// Entries with their places in the live list.
    fn ranked(&self, nodes: Vec<Node>, live: &[Node], at: &Trail<'_>) -> Result<Merged> {
        let positions = self.positions(live, at)?;
        let rank = |(position, entry): (usize, &Node)| {
            let live = positions.get(&self.identify(entry, &at.index(position))?).copied();
            // The order among themselves is the one that they have.
            Ok(Rank { patch: Some(position), live, last: false })
        };
        let ranks = nodes.iter().enumerate().map(rank).collect::<Result<_>>()?;
        Ok(Merged { nodes, ranks, deleted: 0 })
    }

    /// Puts entries that the order names in that order, woven with the others by their places in `live`.
    pub(super) fn reorder(
        &self,
        nodes: Vec<Node>,
        live: &[Option<usize>],
        order: &[Node],
        at: &Trail<'_>,
    ) -> Result<Vec<Node>> {
        let positions = self.positions(order, at)?;
        let rank = |(position, (entry, live)): (usize, (&Node, &Option<usize>))| {
            let patch = positions.get(&self.identify(entry, &at.index(position))?).copied();
            Ok(Rank { patch, live: *live, last: is_delete(entry) })
        };
        let ranks = nodes.iter().zip(live).enumerate().map(rank).collect::<Result<Vec<_>>>()?;
        Ok(permuted(nodes, &weave(&ranks)))
    }

    /// The entries of the patch must stand in the order's order, and all be named there.
    fn check(&self, patch: &[Node], order: &[Node], directive: &Entry, at: &Trail<'_>) -> Result<()> {
        if order.is_empty() || patch.is_empty() {
            return Ok(());
        }
        let default = Self { keys: self.keys[..self.needed].to_vec(), needed: self.needed };
        let mut items = order.iter().enumerate();
        for (position, entry) in patch.iter().enumerate() {
            let mut found = false;
            if let Some(action) = entry.get(PATCH).filter(|_| !self.keys.is_empty()) {
                // Other directives than deletions count as entries once the order is used up.
                found = items.len() > 0 || action.as_str() == Some("delete");
            } else {
                let wanted = default.identify(entry, &at.index(position))?;
                while !found && let Some((place, item)) = items.next() {
                    found = default.identify(item, &at.index(place))? == wanted;
                }
            }
            if !found {
                let message = format!("this entry is not in `{}`, or at another place", directive.key.text);
                return Err(at
                    .index(position)
                    .error(Code::Directive, message)
                    .at(entry.span())
                    .label(directive.value.span(), "the order")
                    .help("name all entries of the patch there, in the same order"));
            }
        }
        Ok(())
    }
}
