//! The history of one resource's values: the step that wrote each value, and the previous values.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::entry_matching;
use super::patch_location::{OperationPart, is_test, location_in_patch};
use super::touched::{Touched, TouchedStep};
use super::value_history::{RemovedValue, ValueHistory, Write, new_field, new_value, new_write};
use super::writer::{Cause, LocationKeeping, Writer};
use smp_text::path::{is_within, pointer_steps, pointer_to, push_step};
use smp_text::source::Span;
use smp_text::yaml::{Entry, Map, Node, Style, Value, apply_round_trip_changes};

/// The history of a resource's values.
///
/// ```
/// use std::sync::Arc;
///
/// use strategic_merge_patch::cause::{History, Writer};
/// use smp_text::source::Span;
/// use smp_text::yaml::Node;
///
/// let load = Arc::new(Writer::new("resources[0]", Span::default()));
/// let mut history = History::new(&"{spec: {replicas: 1, paused: true}}".parse::<Node>()?, &load);
/// let patch = Arc::new(Writer::new("patches[0]", Span::default()));
/// history.record(&"{spec: {replicas: 3}}".parse::<Node>()?, &patch);
///
/// let replicas = history.writes_at(&["spec", "replicas"]).expect("a scalar");
/// assert_eq!(replicas[0].by.name(), "patches[0]");
/// assert_eq!(replicas[1].by.name(), "resources[0]");
/// assert_eq!(history.removed()[0].pointer, "/spec/paused");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone)]
pub struct History {
    root: ValueHistory,
    removed: Vec<RemovedValue>,
    /// The steps that are known to have selected the resource, including those that did not change it.
    selecting_steps: Vec<Arc<Writer>>,
    /// The applied patches. The step is `None` until the step that applied the patch is recorded.
    patches: Vec<(Option<Arc<Writer>>, Arc<Node>)>,
}

impl History {
    /// Starts the history of a resource that a step created.
    #[must_use]
    pub fn new(node: &Node, writer: &Arc<Writer>) -> Self {
        let root = new_value(node, writer);
        Self { root, removed: Vec::new(), selecting_steps: Vec::new(), patches: Vec::new() }
    }

    /// Records the changes that a step made to the resource.
    pub fn record(&mut self, node: &Node, writer: &Arc<Writer>) {
        self.assign_patches(writer);
        let mut recorder = ChangeRecorder { writer, removed: &mut self.removed, steps: Vec::new() };
        recorder.value(&mut self.root, node);
    }

    /// Records the changes of a step that touched only the given values.
    pub fn record_touched(&mut self, node: &Node, touched: &Touched, writer: &Arc<Writer>) {
        let Touched::Paths(paths) = touched else { return self.record(node, writer) };
        self.assign_patches(writer);
        for path in paths {
            let mut recorder = ChangeRecorder { writer, removed: &mut self.removed, steps: Vec::new() };
            recorder.path(&mut self.root, node, path);
        }
    }

    /// Records that a step selected the resource, whether it changes it or not.
    pub fn record_selection(&mut self, writer: &Arc<Writer>) {
        self.selecting_steps.push(Arc::clone(writer));
    }

    /// Returns the steps that selected the resource, such as patches that target it.
    #[must_use]
    pub fn selecting_steps(&self) -> &[Arc<Writer>] {
        &self.selecting_steps
    }

    /// Returns the history of the root value.
    #[must_use]
    pub fn root(&self) -> &ValueHistory {
        &self.root
    }

    /// Returns the removed values, in the order of their removal.
    #[must_use]
    pub fn removed(&self) -> &[RemovedValue] {
        &self.removed
    }

    /// Returns the history of the value at a path of field names and list indices.
    pub fn value_at(&self, path: &[impl AsRef<str>]) -> Option<&ValueHistory> {
        path.iter().map(AsRef::as_ref).try_fold(&self.root, |value, part| match value {
            ValueHistory::Leaf(_) => None,
            ValueHistory::Map(fields) => fields.iter().find(|(name, _)| name == part).map(|(_, value)| value),
            ValueHistory::List(entries) => entries.get(part.parse::<usize>().ok()?).map(|(_, value)| value),
        })
    }

    /// Returns the writes of the scalar at a path of field names and list indices, current value first.
    #[must_use]
    pub fn writes_at(&self, path: &[impl AsRef<str>]) -> Option<&[Write]> {
        match self.value_at(path) {
            Some(ValueHistory::Leaf(writes)) => Some(writes),
            _ => None,
        }
    }

    /// Records an applied patch. It belongs to the next step that is recorded.
    pub fn record_patch(&mut self, patch: &Arc<Node>) {
        self.patches.push((None, Arc::clone(patch)));
    }

    fn assign_patches(&mut self, writer: &Arc<Writer>) {
        for (step, _) in self.patches.iter_mut().rev().take_while(|(step, _)| step.is_none()) {
            *step = Some(Arc::clone(writer));
        }
    }

    /// Returns the steps whose JSON patches have `test` operations.
    pub fn steps_with_test_operations(&self) -> impl Iterator<Item = &Arc<Writer>> {
        let has_test = |patch: &Node| patch.as_list().is_some_and(|list| list.iter().any(is_test));
        self.patches.iter().filter(move |(_, patch)| has_test(patch)).filter_map(|(step, _)| step.as_ref())
    }

    /// Returns the location where the value at a path was written. This is the line of a patch if there is one, else
    /// the location of the value itself, else that of the step.
    pub fn write_location(&self, path: &[SmolStr], part: OperationPart) -> Option<Span> {
        let write = self.value_at(path)?.last_write()?;
        let own = Some(write.at).filter(|at| !at.is_none());
        let location = self.location_in_patches(&write.by, path, part).or(own).or(Some(write.by.location()));
        location.filter(|at| !at.is_none())
    }

    /// Returns the location of the last removal of the value at a path, of a parent, or of a value below it.
    pub fn last_removal_location(&self, path: &[SmolStr]) -> Option<Span> {
        let pointer = pointer_to(path);
        let overlaps = |removed: &&RemovedValue| {
            is_within(&removed.pointer, &pointer) || is_within(&pointer, &removed.pointer)
        };
        let removed = self.removed.iter().rev().find(overlaps)?;
        self.removal_location(removed, path)
    }

    /// Returns the location where a value was removed. `path` may be the path of a value below the removed one.
    pub fn removal_location(&self, removed: &RemovedValue, path: &[SmolStr]) -> Option<Span> {
        let mut steps: Vec<SmolStr> = pointer_steps(&removed.pointer).map(SmolStr::from).collect();
        steps.extend(path.get(steps.len()..).unwrap_or_default().iter().cloned());
        let line = self.location_in_patches(&removed.by, &steps, OperationPart::Path);
        line.or(Some(removed.by.location())).filter(|at| !at.is_none())
    }

    /// Returns the location in a step's patch that writes or removes a value.
    fn location_in_patches(&self, cause: &Cause, path: &[SmolStr], part: OperationPart) -> Option<Span> {
        let is_of_step =
            |step: &Option<Arc<Writer>>| step.as_ref().is_some_and(|step| Arc::ptr_eq(step, cause.writer()));
        let patches = self.patches.iter().filter(|(step, _)| is_of_step(step));
        patches.rev().find_map(|(_, patch)| location_in_patch(patch, path, part))
    }
}

/// Records the changes that one step made to one resource.
struct ChangeRecorder<'f> {
    writer: &'f Arc<Writer>,
    removed: &'f mut Vec<RemovedValue>,
    /// The path to the current value. It is formatted only for removed values, since most paths are never needed.
    steps: Vec<PathStep<'f>>,
}

/// One step of the path to a value.
#[derive(Clone, Copy)]
enum PathStep<'f> {
    Field(&'f str),
    Entry(usize),
}

impl<'f> ChangeRecorder<'f> {
    fn value(&mut self, known: &mut ValueHistory, node: &'f Node) {
        match (&mut *known, &node.value) {
            (ValueHistory::Map(fields), Value::Map(map)) if !map.is_empty() => self.map(fields, map),
            (ValueHistory::List(entries), Value::List(list)) if !list.is_empty() => self.list(entries, list),
            (ValueHistory::Leaf(writes), _) if node.is_leaf() => self.leaf(writes, node),
            // An empty map or list that becomes non-empty is not recorded as removed.
            (ValueHistory::Leaf(writes), _) if writes.first().is_some_and(|last| !is_scalar(&last.value)) => {
                *known = new_value(node, self.writer);
            }
            _ => {
                let mut new = new_value(node, self.writer);
                // A map or list that became empty has no location of its own.
                if let ValueHistory::Leaf(writes) = &mut new
                    && is_emptied(known, node)
                {
                    for write in writes {
                        write.at = Span::default();
                    }
                }
                let old = std::mem::replace(known, new);
                self.remove(old, None);
            }
        }
    }

    /// Records changes of the value at a path. If a part of the path is not found, or fields or entries were added,
    /// records the changes of the whole surrounding map or list. A field that was added as the last one is recorded
    /// alone.
    fn path(&mut self, known: &mut ValueHistory, node: &'f Node, path: &[TouchedStep]) {
        let Some((step, rest)) = path.split_first() else { return self.value(known, node) };
        match (&mut *known, &node.value, step) {
            (ValueHistory::Map(fields), Value::Map(map), TouchedStep::Field(name, position))
                if fields.len() == map.len() =>
            {
                let is_here = |(known, entry): (&(SmolStr, ValueHistory), &Entry)| {
                    known.0 == *name && entry.key.text == *name
                };
                let at = |i: &usize| fields.get(*i).zip(map.entries().get(*i)).is_some_and(is_here);
                // An earlier field may have been removed, which shifts the position by one.
                let found = [*position, position.saturating_sub(1)].into_iter().find(at);
                match found.and_then(|i| fields.get_mut(i).zip(map.entries().get(i))) {
                    Some(((_, known), entry)) => {
                        self.steps.push(PathStep::Field(&entry.key.text));
                        self.path(known, &entry.value, rest);
                        self.steps.pop();
                    }
                    None => self.value(known, node),
                }
            }
            // A new field is the last one.
            (ValueHistory::Map(fields), Value::Map(map), TouchedStep::Field(name, _))
                if fields.len() + 1 == map.len()
                    && map.entries().last().is_some_and(|entry| entry.key.text == *name) =>
            {
                fields.extend(map.entries().last().map(|entry| new_field(entry, self.writer)));
            }
            (ValueHistory::List(entries), Value::List(list), TouchedStep::Entry(i))
                if entries.len() == list.len() =>
            {
                match entries.get_mut(*i).zip(list.get(*i)).filter(|((span, _), node)| *span == node.span()) {
                    Some(((_, known), node)) => {
                        self.steps.push(PathStep::Entry(*i));
                        self.path(known, node, rest);
                        self.steps.pop();
                    }
                    None => self.value(known, node),
                }
            }
            _ => self.value(known, node),
        }
    }

    /// Records a write if the value changed. If the writer keeps locations, also records the same value at another
    /// location.
    fn leaf(&mut self, writes: &mut Vec<Write>, node: &Node) {
        let Some(last) = writes.first_mut() else { return };
        let seen = last.value.span();
        let is_same = match (&last.value.value, &node.value) {
            (Value::Scalar(old), Value::Scalar(new)) => old == new || is_respelled(&last.value, node),
            (Value::Map(_), Value::Map(_)) | (Value::List(_), Value::List(_)) => true,
            _ => false,
        };
        let has_moved =
            self.writer.locations == LocationKeeping::Kept && !node.span().is_none() && node.span() != seen;
        let at = match (is_same, has_moved) {
            (true, false) => {
                // The value did not change. Its new location, such as a position in the output of a function, is only
                // kept for the comparison with later steps.
                last.value.meta.span = node.span();
                return;
            }
            (_, true) => node.span(),
            // A value that changed at the same location was computed.
            (false, false) => Span::default(),
        };
        writes.insert(0, new_write(node, at, self.writer));
    }

    fn map(&mut self, fields: &mut Vec<(SmolStr, ValueHistory)>, map: &'f Map) {
        let entries = map.entries();
        // Most maps have the same fields in the same order as before. If the order differs, this loop stops early;
        // recording the first fields again below changes nothing.
        if fields.len() == entries.len()
            && fields.iter_mut().zip(entries).all(|((name, value), entry)| {
                let is_here = *name == entry.key.text;
                if is_here {
                    self.child(PathStep::Field(&entry.key.text), value, &entry.value);
                }
                is_here
            })
        {
            return;
        }
        let mut old: FxHashMap<SmolStr, ValueHistory> = fields.drain(..).collect();
        for entry in entries {
            let name = &entry.key.text;
            match old.remove(name) {
                Some(mut value) => {
                    self.child(PathStep::Field(name), &mut value, &entry.value);
                    fields.push((name.clone(), value));
                }
                None => fields.push(new_field(entry, self.writer)),
            }
        }
        let mut gone: Vec<_> = old.into_iter().collect();
        gone.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, value) in gone {
            self.remove(value, Some(PathStep::Field(&name)));
        }
    }

    fn list(&mut self, known: &mut Vec<(Span, ValueHistory)>, list: &'f [Node]) {
        if known.len() == list.len() && known.iter().zip(list).all(|((span, _), node)| *span == node.span()) {
            for (i, ((_, value), node)) in known.iter_mut().zip(list).enumerate() {
                self.child(PathStep::Entry(i), value, node);
            }
            return;
        }
        let (pairs, gone) = entry_matching::pair_entries(std::mem::take(known), list);
        for (i, (old, node)) in pairs.into_iter().zip(list).enumerate() {
            let value = match old {
                Some(mut value) => {
                    self.child(PathStep::Entry(i), &mut value, node);
                    value
                }
                None => new_value(node, self.writer),
            };
            known.push((node.span(), value));
        }
        for (i, value) in gone {
            self.remove(value, Some(PathStep::Entry(i)));
        }
    }

    fn child(&mut self, step: PathStep<'f>, known: &mut ValueHistory, node: &'f Node) {
        self.steps.push(step);
        self.value(known, node);
        self.steps.pop();
    }

    /// Records the removal of the current value, or of its child `last`.
    fn remove(&mut self, value: ValueHistory, last: Option<PathStep<'_>>) {
        let mut pointer = String::new();
        for step in self.steps.iter().copied().chain(last) {
            match step {
                PathStep::Field(name) => push_step(&mut pointer, name),
                PathStep::Entry(position) => push_step(&mut pointer, &position.to_string()),
            }
        }
        self.removed.push(RemovedValue { pointer, value, by: Cause::from_writer(self.writer) });
    }
}

/// Returns true if `new` equals `old` after a round trip through JSON or through the YAML output of the build.
fn is_respelled(old: &Node, new: &Node) -> bool {
    let mut read = old.clone();
    apply_round_trip_changes(&mut read);
    let (read, new) = (read.to_json_value(), new.to_json_value());
    // JSON numbers are compared as floats.
    read == new || read.as_f64().is_some_and(|number| new.as_f64() == Some(number))
}

/// Returns true if `node` is an empty map or list from which the last field or entry in `known` was removed.
fn is_emptied(known: &ValueHistory, node: &Node) -> bool {
    let span = node.span();
    let is_within = |at: Span| at.source == span.source && (span.start..span.end).contains(&at.start);
    // An empty map or list that is written in the source has flow style.
    let is_block = node.meta.style == Style::Block;
    !is_scalar(node)
        && !span.is_none()
        && (is_block
            || match known {
                ValueHistory::Leaf(writes) => writes.iter().any(|write| is_within(write.at)),
                ValueHistory::Map(fields) => fields.iter().any(|(_, value)| is_emptied(value, node)),
                ValueHistory::List(entries) => entries.iter().any(|(_, value)| is_emptied(value, node)),
            })
}

fn is_scalar(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(_))
}
