//! The entries of a list while it is merged the way kyaml does it.
//!
//! kyaml finds, replaces, removes and appends entries by scanning the list for their keys each time,
//! and its rules for entries that lack a key are odd: they match all entries that have it, or wipe
//! the list. This does the same by look-up. Entries are numbers here, since one entry can stand in a
//! list twice and in two lists at once; their nodes lie in one place and are changed there.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::options::ListOrder;
use super::restyle::key_scalar;
use super::tuples::{Columns, Keys, filled};
use super::walk::Decision;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::Trail;
use crate::source::Span;
use crate::yaml::{Node, Value};

/// Up to this many entries, a list is scanned instead of indexed.
const FEW: usize = 16;

/// What an entry is, as far as its keys matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Null,
    EmptyMap,
    Map,
    Scalar,
    List,
}

impl Shape {
    fn of(node: &Node) -> Self {
        match &node.value {
            Value::Map(map) if map.is_empty() => Self::EmptyMap,
            Value::Map(_) => Self::Map,
            Value::List(_) => Self::List,
            Value::Scalar(_) if node.is_null() => Self::Null,
            Value::Scalar(_) => Self::Scalar,
        }
    }

    /// Null or an empty map: no entry at all, dropped at the first occasion.
    fn is_nothing(self) -> bool {
        matches!(self, Self::Null | Self::EmptyMap)
    }
}

/// Why a list cannot be merged: this entry is not what its keys need.
#[derive(Debug, Clone, Copy)]
struct WrongShape {
    entry: usize,
}

/// The keys of entries, by number.
#[derive(Debug)]
struct Table<'k> {
    keys: &'k Keys,
    /// Entries are known by their own text.
    whole: bool,
    /// As many per entry as there are keys; none where the entry lacks the field.
    texts: Vec<Option<SmolStr>>,
    shapes: Vec<Shape>,
}

impl<'k> Table<'k> {
    fn new(keys: &'k Keys) -> Self {
        Self { keys, whole: keys.is_whole(), texts: Vec::new(), shapes: Vec::new() }
    }

    /// Whether an entry has a shape that its keys cannot be asked of.
    fn is_unfit(&self, entry: usize) -> bool {
        match self.shapes[entry] {
            Shape::List => true,
            Shape::Map => self.whole,
            Shape::Scalar => !self.whole,
            Shape::Null | Shape::EmptyMap => false,
        }
    }

    fn push(&mut self, node: &Node) {
        self.shapes.push(Shape::of(node));
        for i in 0..self.keys.len() {
            let text = self.keys.raw(node, i);
            self.texts.push(text);
        }
    }

    /// Looks at an entry again. Returns whether its keys have changed.
    fn refresh(&mut self, entry: usize, node: &Node) -> bool {
        self.shapes[entry] = Shape::of(node);
        let mut changed = false;
        for i in 0..self.keys.len() {
            let text = self.keys.raw(node, i);
            let known = &mut self.texts[entry * self.keys.len() + i];
            changed |= *known != text;
            *known = text;
        }
        changed
    }

    fn texts_of(&self, entry: usize) -> &[Option<SmolStr>] {
        &self.texts[entry * self.keys.len()..(entry + 1) * self.keys.len()]
    }

    /// The texts in some columns as one number, if all are there.
    fn hash(&self, entry: usize, columns: Columns) -> Option<u64> {
        let texts = self.texts_of(entry).iter().enumerate().filter(|(i, _)| columns & (1 << i) != 0);
        hash(texts.map(|(_, text)| text.as_deref()))
    }
}

fn hash<'t>(texts: impl Iterator<Item = Option<&'t str>>) -> Option<u64> {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    for text in texts {
        text?.hash(&mut hasher);
    }
    Some(hasher.finish())
}

/// Which entries a list has, in order.
#[derive(Debug, Default)]
struct Sequence {
    /// Removed entries leave a hole, so that positions stay.
    order: Vec<Option<usize>>,
    /// Positions by the texts in some columns; holes and changed entries are found out on use.
    index: FxHashMap<Columns, FxHashMap<u64, Vec<usize>>>,
    /// Positions of entries that are nothing.
    unswept: Vec<usize>,
    /// How many entries have a shape that their keys cannot be asked of.
    unfit: usize,
}

impl Sequence {
    fn push(&mut self, entry: usize, table: &Table<'_>) {
        self.order.push(Some(entry));
        if table.shapes[entry].is_nothing() {
            self.unswept.push(self.order.len() - 1);
        }
        self.unfit += usize::from(table.is_unfit(entry));
        self.note(self.order.len() - 1, entry, table);
    }

    fn note(&mut self, position: usize, entry: usize, table: &Table<'_>) {
        for (columns, positions) in &mut self.index {
            if let Some(hash) = table.hash(entry, *columns) {
                positions.entry(hash).or_default().push(position);
            }
        }
    }

    /// Replaces or removes the entry at a position.
    fn set_at(&mut self, position: usize, entry: Option<usize>, table: &Table<'_>) {
        if let Some(old) = std::mem::replace(&mut self.order[position], entry) {
            self.unfit -= usize::from(table.is_unfit(old));
        }
        if let Some(entry) = entry {
            self.unfit += usize::from(table.is_unfit(entry));
            if table.shapes[entry].is_nothing() {
                self.unswept.push(position);
            }
            self.note(position, entry, table);
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    fn entries(&self) -> impl Iterator<Item = usize> {
        self.order.iter().flatten().copied()
    }

    /// Positions, ascending, of entries that `fits` among those with these texts in these columns.
    fn positions(
        &mut self,
        columns: Columns,
        texts: &[SmolStr],
        table: &Table<'_>,
        fits: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let fits = |order: &[Option<usize>], at: usize| order.get(at).copied().flatten().is_some_and(&fits);
        if columns == 0 || self.order.len() <= FEW {
            return (0..self.order.len()).filter(|&at| fits(&self.order, at)).collect();
        }
        let order = &self.order;
        let positions = self.index.entry(columns).or_insert_with(|| {
            let mut positions: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
            for (at, entry) in order.iter().enumerate() {
                if let Some(hash) = entry.and_then(|entry| table.hash(entry, columns)) {
                    positions.entry(hash).or_default().push(at);
                }
            }
            positions
        });
        let wanted = texts.iter().enumerate().filter(|(i, _)| columns & (1 << i) != 0);
        let hash = hash(wanted.map(|(_, text)| Some(text.as_str())));
        let found = hash.and_then(|hash| positions.get(&hash)).map_or(&[][..], Vec::as_slice);
        let mut found: Vec<_> = found.iter().copied().filter(|&at| fits(&self.order, at)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Drops entries that are nothing.
    fn sweep(&mut self, table: &Table<'_>) {
        for at in self.unswept.drain(..) {
            if let Some(slot) = self.order.get_mut(at) {
                *slot = slot.filter(|&entry| !table.shapes[entry].is_nothing());
            }
        }
    }

    /// To be called when the entry at a position has changed.
    fn refresh(&mut self, position: usize, entry: usize, keys_changed: bool, table: &Table<'_>) {
        if keys_changed {
            self.note(position, entry, table);
        }
        if table.shapes[entry].is_nothing() {
            self.unswept.push(position);
        }
    }
}

/// The lists of a merge: what dest has, and the results so far.
pub(super) struct Entries<'k> {
    nodes: Vec<Node>,
    table: Table<'k>,
    /// Here the position of an entry is its number, since entries only leave this list.
    dest: Sequence,
    results: Sequence,
    /// Entries of dest that were put among the results.
    put: FxHashSet<usize>,
    /// Where the list is.
    trail: &'k Trail<'k>,
}

/// An entry on its way through a merge: what means it, and where it is in dest.
pub(super) struct Visit<'t> {
    tuple: &'t [SmolStr],
    found: Option<usize>,
    /// Where its keys stood before the merge: each in the first side that has it with this text.
    places: Vec<Span>,
}

/// The list of a side that is only looked up.
pub(super) struct Lookup<'k> {
    table: Table<'k>,
    list: Sequence,
}

impl<'k> Lookup<'k> {
    pub(super) fn new(entries: &[Node], keys: &'k Keys) -> Self {
        let (mut table, mut list) = (Table::new(keys), Sequence::default());
        for (i, node) in entries.iter().enumerate() {
            table.push(node);
            list.push(i, &table);
        }
        Self { table, list }
    }

    /// The position of the first entry that a tuple means.
    pub(super) fn find(&mut self, tuple: &[SmolStr]) -> Option<usize> {
        find(&mut self.list, &self.table, tuple)
    }
}

/// By the keys that the tuple has; by empty keys when it has none.
fn find(list: &mut Sequence, table: &Table<'_>, tuple: &[SmolStr]) -> Option<usize> {
    let columns = filled(tuple);
    let fits = |entry: usize| {
        (table.whole || table.shapes[entry] == Shape::Map)
            && tuple.iter().zip(table.texts_of(entry)).all(|(want, text)| {
                columns != 0 && want.is_empty() || text.as_ref().is_some_and(|text| text == want)
            })
    };
    let at = *list.positions(columns, tuple, table, fits).first()?;
    list.order.get(at).copied().flatten()
}

impl<'k> Entries<'k> {
    pub(super) fn new(dest: Vec<Node>, keys: &'k Keys, trail: &'k Trail<'k>) -> Self {
        let Lookup { table, list } = Lookup::new(&dest, keys);
        let (results, put) = (Sequence::default(), FxHashSet::default());
        Self { nodes: dest, table, dest: list, results, put, trail }
    }

    /// The entry of dest that a tuple means. `others` are those of the other sides.
    pub(super) fn visit<'t>(
        &mut self,
        tuple: &'t [SmolStr],
        others: &[Option<&Node>],
    ) -> (Option<&mut Node>, Visit<'t>) {
        let found = find(&mut self.dest, &self.table, tuple);
        let node = found.and_then(|entry| self.nodes.get_mut(entry));
        let sides = || node.as_deref().into_iter().chain(others.iter().copied().flatten());
        let place = |(key, text): (&SmolStr, &SmolStr)| {
            let mut fields = sides().filter_map(|side| side.get(key));
            fields.find(|field| field.scalar_text() == Some(text)).map(Node::span).unwrap_or_default()
        };
        let places = self.table.keys.names().iter().zip(tuple).map(place).collect();
        (node, Visit { tuple, found, places })
    }

    /// Puts what came of a visit among the results, or removes from dest what its tuple matches.
    /// Returns the result.
    ///
    /// # Errors
    /// A scalar or list among maps, or a map or list among scalars, where that matters.
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
        let put = result.filter(|&entry| !self.table.shapes[entry].is_nothing());
        self.put.extend(put.filter(|_| result == visit.found));
        let list = if put.is_some() { &mut self.results } else { &mut self.dest };
        set(list, &self.table, visit.tuple, put).map_err(|wrong| self.error(wrong))?;
        Ok(result.map(|entry| &self.nodes[entry]))
    }

    /// Looks at an entry of dest again, whose node may have changed.
    fn refresh(&mut self, entry: usize) {
        let keys_changed = self.table.refresh(entry, &self.nodes[entry]);
        let is_nothing = self.table.shapes[entry].is_nothing();
        if !keys_changed && !is_nothing {
            return;
        }
        self.dest.refresh(entry, entry, keys_changed, &self.table);
        // Seldom: an entry is visited again only when others lack some of its keys.
        if self.put.contains(&entry) {
            for at in 0..self.results.order.len() {
                if self.results.order[at] == Some(entry) {
                    self.results.refresh(at, entry, keys_changed, &self.table);
                }
            }
        }
    }

    /// The merged list: the results into dest, or dest behind the results.
    ///
    /// # Errors
    /// As [`Entries::put`].
    pub(super) fn finish(mut self, order: ListOrder) -> Result<Vec<Node>> {
        if order == ListOrder::Append {
            return self.finish_in_place(order);
        }
        let mut onto = std::mem::take(&mut self.results);
        for entry in self.dest.entries() {
            append(&mut onto, &self.table, entry).map_err(|wrong| self.error(wrong))?;
        }
        Ok(gather(self.nodes, &onto))
    }

    /// The merged list in dest's order; entries that dest did not have stand behind it, or before it.
    ///
    /// # Errors
    /// As [`Entries::put`].
    pub(super) fn finish_in_place(mut self, order: ListOrder) -> Result<Vec<Node>> {
        let mut onto = std::mem::take(&mut self.dest);
        let known = onto.order.len();
        for entry in self.results.entries() {
            append(&mut onto, &self.table, entry).map_err(|wrong| self.error(wrong))?;
        }
        // A list that was cleared on the way is shorter than it was.
        let new = onto.order.iter().skip(known).flatten().count();
        let mut nodes = gather(self.nodes, &onto);
        if order == ListOrder::Prepend {
            nodes.rotate_right(new);
        }
        Ok(nodes)
    }

    fn error(&self, wrong: WrongShape) -> Diagnostic {
        let node = &self.nodes[wrong.entry];
        let wanted = if self.table.whole { "a scalar" } else { "a map" };
        let message = format!("an entry of this list must be {wanted}, not {}", node.type_name());
        self.trail.error(Code::WrongType, message).at(node.span())
    }
}

/// Makes sure that an entry has the keys by which it was found.
fn complete(node: &mut Node, table: &Table<'_>, Visit { tuple, places, .. }: &Visit<'_>) {
    let Value::Map(map) = &mut node.value else { return };
    if map.is_empty() || table.whole {
        return;
    }
    for (i, ((key, default), text)) in table.keys.iter().zip(*tuple).enumerate() {
        if !text.is_empty() && default != Some(text) && !map.contains_key(key) {
            let place = places.get(i).copied().unwrap_or_default();
            map.push(key.clone(), key_scalar(text).with_span(place));
        }
    }
}

/// Moves the nodes of a list out; one that stands there several times is copied.
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

/// Puts an entry in the place of every one that the values match, or at the end; or removes those.
///
/// A value that is empty matches any entry that has the field. Fewer values than keys match by the
/// first keys; no value at all matches nothing and keeps nothing.
fn set(
    list: &mut Sequence,
    table: &Table<'_>,
    values: &[SmolStr],
    entry: Option<usize>,
) -> std::result::Result<(), WrongShape> {
    list.sweep(table);
    let by_map = !table.whole && values.first().is_some_and(|value| !value.is_empty());
    if !by_map
        && !values.is_empty()
        && list.unfit > 0
        && let Some(entry) = list.entries().find(|&entry| table.is_unfit(entry))
    {
        return Err(WrongShape { entry });
    }
    let mut matched = false;
    if values.is_empty() {
        list.clear();
    } else {
        let columns = if table.whole { 1 } else { filled(values) };
        let fits = |entry: usize| {
            table.whole && table.texts_of(entry)[0].as_ref() == Some(&values[0])
                || !table.whole
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

/// Adds an entry of the other list: in place of the same entry for one key, behind all for several.
fn append(list: &mut Sequence, table: &Table<'_>, entry: usize) -> std::result::Result<(), WrongShape> {
    if table.whole {
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
