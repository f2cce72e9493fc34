//! The entries of a list during a merge by kyaml's rules.
//!
//! kyaml finds, replaces, removes and appends entries by scanning the list for their keys each time. Its rules for
//! tuples without keys are surprising: an empty key matches every entry that has the key, and no keys at all clear the
//! list. This module has the same results, but looks entries up in an index. The nodes of all entries are in one vector
//! and are changed there.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::restyle::key_scalar;
use super::sequence::{KeyTexts, Sequence, Shape};
use super::tuples::{Keys, filled_columns};
use super::walk::Decision;
use crate::merge::Trail;
use crate::merge::options::ListOrder;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::{Node, Value};

/// The error for an entry of the wrong type.
#[derive(Debug, Clone, Copy)]
struct WrongShape {
    entry: usize,
}

/// The lists of a merge: the list of dest and the results so far.
pub(super) struct ListMerge<'k> {
    nodes: Vec<Node>,
    table: KeyTexts<'k>,
    /// The list of dest. The number of an entry is the index of its slot: a removed entry leaves an empty slot, and
    /// none are inserted.
    dest: Sequence,
    results: Sequence,
    /// Entries of dest that were moved to the results.
    record: FxHashSet<usize>,
    /// The field path of the list.
    trail: &'k Trail<'k>,
}

/// The state of one entry during the merge: its tuple and the matching entry in dest.
pub(super) struct Visit<'t> {
    tuple: &'t [SmolStr],
    found: Option<usize>,
    /// The spans of the keys before the merge, from the first input that has the tuple's text.
    spans: Vec<Span>,
}

/// The list of an input that is only searched.
pub(super) struct Lookup<'k> {
    table: KeyTexts<'k>,
    list: Sequence,
}

impl<'k> Lookup<'k> {
    pub(super) fn new(entries: &[Node], keys: &'k Keys) -> Self {
        let (mut table, mut list) = (KeyTexts::new(keys), Sequence::default());
        for (i, node) in entries.iter().enumerate() {
            table.push(node);
            list.push(i, &table);
        }
        Self { table, list }
    }

    /// Returns the index of the first entry that matches a tuple.
    pub(super) fn find(&mut self, tuple: &[SmolStr]) -> Option<usize> {
        find(&mut self.list, &self.table, tuple)
    }
}

/// Finds an entry by the non-empty keys of the tuple. A tuple without any matches an entry whose keys are empty.
fn find(list: &mut Sequence, table: &KeyTexts<'_>, tuple: &[SmolStr]) -> Option<usize> {
    let columns = filled_columns(tuple);
    let fits = |entry: usize| {
        (table.by_own_text || table.shapes[entry] == Shape::Map)
            && tuple.iter().zip(table.texts_of(entry)).all(|(want, text)| {
                columns != 0 && want.is_empty() || text.as_ref().is_some_and(|text| text == want)
            })
    };
    let at = *list.positions(columns, tuple, table, fits).first()?;
    list.slots.get(at).copied().flatten()
}

impl<'k> ListMerge<'k> {
    pub(super) fn new(dest: Vec<Node>, keys: &'k Keys, trail: &'k Trail<'k>) -> Self {
        let Lookup { table, list } = Lookup::new(&dest, keys);
        let (results, put) = (Sequence::default(), FxHashSet::default());
        Self { nodes: dest, table, dest: list, results, record: put, trail }
    }

    /// Returns the visit of a tuple with the matching entry of dest. `others` are the entries of the other inputs.
    pub(super) fn visit<'t>(
        &mut self,
        tuple: &'t [SmolStr],
        others: &[Option<&Node>],
    ) -> (Option<&mut Node>, Visit<'t>) {
        let found = find(&mut self.dest, &self.table, tuple);
        let node = found.and_then(|entry| self.nodes.get_mut(entry));
        let sides = || node.as_deref().into_iter().chain(others.iter().copied().flatten());
        let span = |(key, text): (&SmolStr, &SmolStr)| {
            let mut fields = sides().filter_map(|side| side.get(key));
            fields.find(|field| field.scalar_text() == Some(text)).map(Node::span).unwrap_or_default()
        };
        let spans = self.table.keys.names().iter().zip(tuple).map(span).collect();
        (node, Visit { tuple, found, spans })
    }

    /// Adds the result of a visit to the results, or removes the entries that match its tuple from dest. Returns the
    /// result.
    ///
    /// # Errors
    /// If the keys are needed: a scalar or list is among maps, or a map or list is among scalars.
    pub(super) fn put(&mut self, visit: &Visit<'_>, decision: Decision) -> Result<Option<&Node>> {
        if let Some(entry) = visit.found {
            if matches!(decision, Decision::Keep) {
                complete(&mut self.nodes[entry], &self.table, visit);
            }
            self.refresh(entry);
        }
        let result = match decision {
            Decision::Keep => visit.found,
            Decision::Replace(mut node) => {
                complete(&mut node, &self.table, visit);
                self.table.push(&node);
                self.nodes.push(node);
                Some(self.nodes.len() - 1)
            }
            Decision::Remove => None,
        };
        let put = result.filter(|&entry| !self.table.shapes[entry].is_empty());
        self.record.extend(put.filter(|_| result == visit.found));
        let list = if put.is_some() { &mut self.results } else { &mut self.dest };
        set(list, &self.table, visit.tuple, put).map_err(|wrong| self.error(wrong))?;
        Ok(result.map(|entry| &self.nodes[entry]))
    }

    /// Updates the keys of an entry of dest, whose node may have changed.
    fn refresh(&mut self, entry: usize) {
        let keys_changed = self.table.refresh(entry, &self.nodes[entry]);
        let is_nothing = self.table.shapes[entry].is_empty();
        if !keys_changed && !is_nothing {
            return;
        }
        self.dest.reindex(entry, entry, &self.table);
        // This is rare: an entry is visited again only if other entries lack some of its keys.
        if self.record.contains(&entry) {
            for at in 0..self.results.slots.len() {
                if self.results.slots[at] == Some(entry) {
                    self.results.reindex(at, entry, &self.table);
                }
            }
        }
    }

    /// Returns the merged list: the results merged into dest, or dest appended to the results.
    ///
    /// # Errors
    /// The errors of [`Entries::put`].
    pub(super) fn finish(mut self, order: ListOrder) -> Result<Vec<Node>> {
        let (dest, results) = (std::mem::take(&mut self.dest), std::mem::take(&mut self.results));
        let list = match order {
            ListOrder::Append => self.joined(dest, &results)?,
            ListOrder::Prepend => self.joined(results, &dest)?,
        };
        Ok(gather(self.nodes, &list))
    }

    /// Returns the merged list in the order of dest. Entries that dest did not have are appended or prepended.
    ///
    /// # Errors
    /// The errors of [`Entries::put`].
    pub(super) fn finish_in_place(mut self, order: ListOrder) -> Result<Vec<Node>> {
        let (dest, results) = (std::mem::take(&mut self.dest), std::mem::take(&mut self.results));
        let known = dest.slots.len();
        let list = self.joined(dest, &results)?;
        // The list may have been cleared during the merge.
        let new = list.slots.iter().skip(known).flatten().count();
        let mut nodes = gather(self.nodes, &list);
        if order == ListOrder::Prepend {
            nodes.rotate_right(new);
        }
        Ok(nodes)
    }

    fn joined(&self, mut list: Sequence, rest: &Sequence) -> Result<Sequence> {
        for entry in rest.entries() {
            append(&mut list, &self.table, entry).map_err(|wrong| self.error(wrong))?;
        }
        Ok(list)
    }

    fn error(&self, wrong: WrongShape) -> Diagnostic {
        let node = &self.nodes[wrong.entry];
        let expected = if self.table.by_own_text { "a scalar" } else { "a map" };
        let message = format!("an entry of this list must be {expected}, not {}", node.type_name());
        self.trail.error(Code::WrongType, message).at(node.span())
    }
}

/// Adds the keys by which an entry was found, if they are missing.
fn complete(node: &mut Node, table: &KeyTexts<'_>, Visit { tuple, spans, .. }: &Visit<'_>) {
    let Value::Map(map) = &mut node.value else { return };
    if map.is_empty() || table.by_own_text {
        return;
    }
    for (i, ((key, default), text)) in table.keys.iter().zip(*tuple).enumerate() {
        if !text.is_empty() && default != Some(text) && !map.contains_key(key) {
            let span = spans.get(i).copied().unwrap_or_default();
            map.push(key.clone(), key_scalar(text).with_span(span));
        }
    }
}

/// Moves the nodes of a list out. A node that occurs several times is cloned.
fn gather(nodes: Vec<Node>, list: &Sequence) -> Vec<Node> {
    let mut uses = vec![0_u32; nodes.len()];
    for entry in list.entries() {
        uses[entry] += 1;
    }
    let mut nodes: Vec<_> = nodes.into_iter().map(Some).collect();
    let take = |entry: usize| {
        uses[entry] -= 1;
        if uses[entry] == 0 { nodes[entry].take() } else { nodes[entry].clone() }
    };
    list.entries().filter_map(take).collect()
}

/// Replaces each entry that matches the values with `entry`, or appends it if none matches. With `None`, removes the
/// matches.
///
/// An empty value matches any entry that has the field. If there are fewer values than keys, only the first keys are
/// compared. If there are no values, no entry matches and the list is cleared.
fn set(
    list: &mut Sequence,
    table: &KeyTexts<'_>,
    values: &[SmolStr],
    entry: Option<usize>,
) -> std::result::Result<(), WrongShape> {
    list.remove_empty(table);
    let by_map = !table.by_own_text && values.first().is_some_and(|value| !value.is_empty());
    if !by_map
        && !values.is_empty()
        && list.keyless > 0
        && let Some(entry) = list.entries().find(|&entry| table.lacks_keys(entry))
    {
        return Err(WrongShape { entry });
    }
    let mut matched = false;
    if values.is_empty() {
        list.clear();
    } else {
        let columns = if table.by_own_text { 1 } else { filled_columns(values) };
        let fits = |entry: usize| {
            table.by_own_text && table.texts_of(entry)[0].as_ref() == Some(&values[0])
                || !table.by_own_text
                    && table.shapes[entry] == Shape::Map
                    && values.iter().zip(table.texts_of(entry)).all(|(value, text)| {
                        text.as_ref().is_some_and(|text| value.is_empty() || text == value)
                    })
        };
        for at in list.positions(columns, values, table, fits) {
            matched = true;
            list.set_at(at, entry, table);
        }
    }
    match entry {
        Some(entry) if !matched && table.shapes[entry] != Shape::Null => list.push(entry, table),
        _ => {}
    }
    Ok(())
}

/// Adds an entry of the other list. If there is one key, the entry replaces the equal one; if there are several keys,
/// it is appended.
fn append(list: &mut Sequence, table: &KeyTexts<'_>, entry: usize) -> std::result::Result<(), WrongShape> {
    if table.by_own_text {
        let text = table.texts_of(entry)[0].clone().unwrap_or_default();
        return set(list, table, &[text], Some(entry));
    }
    if matches!(table.shapes[entry], Shape::Scalar | Shape::List) {
        return Err(WrongShape { entry });
    }
    let mut values = Vec::with_capacity(table.keys.len());
    for text in table.texts_of(entry) {
        match text {
            Some(text) => values.push(text.clone()),
            None => list.push(entry, table),
        }
    }
    if table.keys.len() > 1 {
        set(list, table, &values, None)?;
    }
    set(list, table, &values, Some(entry))
}
