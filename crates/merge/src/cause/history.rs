//! What is known of the values of one resource: who wrote each, and what was there before.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::known::{KnownValue, RemovedValue, Write, field, write, written};
use super::list;
use super::patch_line::{OperationPart, is_test, place_in_patch};
use super::touched::{Touched, TouchedStep};
use super::writer::{Cause, PlaceKeeping, Writer};
use smp_text::path::{is_within, pointer_to, push_step, steps_of};
use smp_text::source::Span;
use smp_text::yaml::{Entry, Map, Node, Style, Value, reread};

/// The history of a resource.
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
/// history.follow(&"{spec: {replicas: 3}}".parse::<Node>()?, &patch);
///
/// let replicas = history.leaf(&["spec", "replicas"]).expect("a scalar");
/// assert_eq!(replicas[0].by.name(), "patches[0]");
/// assert_eq!(replicas[1].by.name(), "resources[0]");
/// assert_eq!(history.removed()[0].pointer, "/spec/paused");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone)]
pub struct History {
    root: KnownValue,
    removed: Vec<RemovedValue>,
    /// The steps that were at the resource, whether they changed it or not, as far as that is known.
    visitors: Vec<Arc<Writer>>,
    /// The patches that were applied, each with its step once that is known.
    patches: Vec<(Option<Arc<Writer>>, Arc<Node>)>,
}

impl History {
    /// The history of what a step made.
    #[must_use]
    pub fn new(node: &Node, writer: &Arc<Writer>) -> Self {
        let root = written(node, writer);
        Self { root, removed: Vec::new(), visitors: Vec::new(), patches: Vec::new() }
    }

    /// Takes note of what a step made of the resource.
    pub fn follow(&mut self, node: &Node, writer: &Arc<Writer>) {
        self.name_patches(writer);
        let mut follower = HistoryFollower { writer, removed: &mut self.removed, way: Vec::new() };
        follower.value(&mut self.root, node);
    }

    /// Records the changes of a step, which are limited to these values.
    pub fn follow_touched(&mut self, node: &Node, touched: &Touched, writer: &Arc<Writer>) {
        let Touched::Paths(paths) = touched else { return self.follow(node, writer) };
        self.name_patches(writer);
        for path in paths {
            let mut follower = HistoryFollower { writer, removed: &mut self.removed, way: Vec::new() };
            follower.path(&mut self.root, node, path);
        }
    }

    /// Takes note of a step that chose the resource, whatever it makes of it.
    pub fn visit(&mut self, writer: &Arc<Writer>) {
        self.visitors.push(Arc::clone(writer));
    }

    /// The steps that chose the resource, such as patches whose target it is.
    #[must_use]
    pub fn visitors(&self) -> &[Arc<Writer>] {
        &self.visitors
    }

    /// What is known of the whole.
    #[must_use]
    pub fn root(&self) -> &KnownValue {
        &self.root
    }

    /// What is no more, in the order in which it went.
    #[must_use]
    pub fn removed(&self) -> &[RemovedValue] {
        &self.removed
    }

    /// What is known of the value at a path of fields and positions.
    pub fn known(&self, path: &[impl AsRef<str>]) -> Option<&KnownValue> {
        path.iter().map(AsRef::as_ref).try_fold(&self.root, |value, part| match value {
            KnownValue::Leaf(_) => None,
            KnownValue::Map(fields) => fields.iter().find(|(name, _)| name == part).map(|(_, value)| value),
            KnownValue::List(entries) => entries.get(part.parse::<usize>().ok()?).map(|(_, value)| value),
        })
    }

    /// What is known of the scalar at a path of fields and positions: the present one first.
    #[must_use]
    pub fn leaf(&self, path: &[impl AsRef<str>]) -> Option<&[Write]> {
        match self.known(path) {
            Some(KnownValue::Leaf(writes)) => Some(writes),
            _ => None,
        }
    }

    /// Records a patch that was applied; the step that is followed next is the one that it belongs to.
    pub fn patched_by(&mut self, patch: &Arc<Node>) {
        self.patches.push((None, Arc::clone(patch)));
    }

    fn name_patches(&mut self, writer: &Arc<Writer>) {
        for (step, _) in self.patches.iter_mut().rev().take_while(|(step, _)| step.is_none()) {
            *step = Some(Arc::clone(writer));
        }
    }

    /// The steps whose JSON patches test what they find.
    pub fn guards(&self) -> impl Iterator<Item = &Arc<Writer>> {
        let is_guard = |patch: &Node| patch.as_list().is_some_and(|list| list.iter().any(is_test));
        self.patches.iter().filter(move |(_, patch)| is_guard(patch)).filter_map(|(step, _)| step.as_ref())
    }

    /// Where the value at a path was written: the line of a patch, the place of the value, or where the step was asked
    /// for.
    pub fn written_at(&self, path: &[SmolStr], part: OperationPart) -> Option<Span> {
        let write = self.known(path)?.first_write()?;
        let own = Some(write.at).filter(|at| !at.is_none());
        let place = self.line_of(&write.by, path, part).or(own).or(Some(write.by.at()));
        place.filter(|at| !at.is_none())
    }

    /// Where the value at a path was removed, with what it was in or all that was in it: the last time.
    pub fn removed_at(&self, path: &[SmolStr]) -> Option<Span> {
        let pointer = pointer_to(path);
        let is_meant = |removed: &&RemovedValue| {
            is_within(&removed.pointer, &pointer) || is_within(&pointer, &removed.pointer)
        };
        let removed = self.removed.iter().rev().find(is_meant)?;
        self.place_of_removal(removed, path)
    }

    /// Where a value was removed, on the way to a value that may have been in it.
    pub fn place_of_removal(&self, removed: &RemovedValue, path: &[SmolStr]) -> Option<Span> {
        let mut steps: Vec<SmolStr> = steps_of(&removed.pointer).map(SmolStr::from).collect();
        steps.extend(path.get(steps.len()..).unwrap_or_default().iter().cloned());
        let line = self.line_of(&removed.by, &steps, OperationPart::Path);
        line.or(Some(removed.by.at())).filter(|at| !at.is_none())
    }

    /// The place in a patch of a step that writes or removes a value.
    fn line_of(&self, cause: &Cause, path: &[SmolStr], part: OperationPart) -> Option<Span> {
        let is_of_step =
            |step: &Option<Arc<Writer>>| step.as_ref().is_some_and(|step| Arc::ptr_eq(step, cause.writer()));
        let patches = self.patches.iter().filter(|(step, _)| is_of_step(step));
        patches.rev().find_map(|(_, patch)| place_in_patch(patch, path, part))
    }
}

/// Follows the values of one resource through a step.
struct HistoryFollower<'f> {
    writer: &'f Arc<Writer>,
    removed: &'f mut Vec<RemovedValue>,
    /// The way to what is looked at; of most values nobody asks where they are.
    way: Vec<WayStep<'f>>,
}

/// One step on the way to a value.
#[derive(Clone, Copy)]
enum WayStep<'f> {
    Field(&'f str),
    Entry(usize),
}

impl<'f> HistoryFollower<'f> {
    fn value(&mut self, known: &mut KnownValue, node: &'f Node) {
        match (&mut *known, &node.value) {
            (KnownValue::Map(fields), Value::Map(map)) if !map.is_empty() => self.map(fields, map),
            (KnownValue::List(entries), Value::List(list)) if !list.is_empty() => self.list(entries, list),
            (KnownValue::Leaf(writes), _) if node.is_leaf() => self.leaf(writes, node),
            // What had nothing in it is not removed when something comes into it.
            (KnownValue::Leaf(writes), _) if writes.first().is_some_and(|last| !is_scalar(&last.value)) => {
                *known = written(node, self.writer);
            }
            _ => {
                let mut new = written(node, self.writer);
                // Of what became empty, nothing stands where it was written.
                if let KnownValue::Leaf(writes) = &mut new
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

    /// Records changes of the value at a path. If a step of the path does not match, records those of the whole map or
    /// list.
    fn path(&mut self, known: &mut KnownValue, node: &'f Node, path: &[TouchedStep]) {
        let Some((step, rest)) = path.split_first() else { return self.value(known, node) };
        match (&mut *known, &node.value, step) {
            (KnownValue::Map(fields), Value::Map(map), TouchedStep::Field(name, position))
                if fields.len() == map.len() =>
            {
                let is_here = |(known, entry): (&(SmolStr, KnownValue), &Entry)| {
                    known.0 == *name && entry.key.text == *name
                };
                let at = |i: &usize| fields.get(*i).zip(map.entries().get(*i)).is_some_and(is_here);
                // A field before it may have been removed since.
                let found = [*position, position.saturating_sub(1)].into_iter().find(at);
                match found.and_then(|i| fields.get_mut(i).zip(map.entries().get(i))) {
                    Some(((_, known), entry)) => {
                        self.way.push(WayStep::Field(&entry.key.text));
                        self.path(known, &entry.value, rest);
                        self.way.pop();
                    }
                    None => self.value(known, node),
                }
            }
            // A new field is the last one.
            (KnownValue::Map(fields), Value::Map(map), TouchedStep::Field(name, _))
                if fields.len() + 1 == map.len()
                    && map.entries().last().is_some_and(|entry| entry.key.text == *name) =>
            {
                fields.extend(map.entries().last().map(|entry| field(entry, self.writer)));
            }
            (KnownValue::List(entries), Value::List(list), TouchedStep::Entry(i))
                if entries.len() == list.len() =>
            {
                match entries.get_mut(*i).zip(list.get(*i)).filter(|((span, _), node)| *span == node.span()) {
                    Some(((_, known), node)) => {
                        self.way.push(WayStep::Entry(*i));
                        self.path(known, node, rest);
                        self.way.pop();
                    }
                    None => self.value(known, node),
                }
            }
            _ => self.value(known, node),
        }
    }

    /// A value is another one when it says something else, or when it was written once more at another place.
    fn leaf(&mut self, writes: &mut Vec<Write>, node: &Node) {
        let Some(last) = writes.first_mut() else { return };
        let seen = last.value.span();
        let is_same = match (&last.value.value, &node.value) {
            (Value::Scalar(old), Value::Scalar(new)) => old == new || is_respelled(&last.value, node),
            (Value::Map(_), Value::Map(_)) | (Value::List(_), Value::List(_)) => true,
            _ => false,
        };
        let has_moved =
            self.writer.places == PlaceKeeping::Kept && !node.span().is_none() && node.span() != seen;
        let at = match (is_same, has_moved) {
            (true, false) => {
                // Where it stands for now, in the output of a program, is no news for the steps behind.
                last.value.meta.span = node.span();
                return;
            }
            (_, true) => node.span(),
            // What changed in its place was computed.
            (false, false) => Span::default(),
        };
        writes.insert(0, write(node, at, self.writer));
    }

    fn map(&mut self, fields: &mut Vec<(SmolStr, KnownValue)>, map: &'f Map) {
        let entries = map.entries();
        // Mostly they are the same in the same order. Where it turns out that they are not, what was followed already
        // is known, and following it again changes nothing.
        if fields.len() == entries.len()
            && fields.iter_mut().zip(entries).all(|((name, value), entry)| {
                let is_here = *name == entry.key.text;
                if is_here {
                    self.below(WayStep::Field(&entry.key.text), value, &entry.value);
                }
                is_here
            })
        {
            return;
        }
        let mut old: FxHashMap<SmolStr, KnownValue> = fields.drain(..).collect();
        for entry in entries {
            let name = &entry.key.text;
            match old.remove(name) {
                Some(mut value) => {
                    self.below(WayStep::Field(name), &mut value, &entry.value);
                    fields.push((name.clone(), value));
                }
                None => fields.push(field(entry, self.writer)),
            }
        }
        let mut gone: Vec<_> = old.into_iter().collect();
        gone.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, value) in gone {
            self.remove(value, Some(WayStep::Field(&name)));
        }
    }

    fn list(&mut self, known: &mut Vec<(Span, KnownValue)>, list: &'f [Node]) {
        if known.len() == list.len() && known.iter().zip(list).all(|((span, _), node)| *span == node.span()) {
            for (i, ((_, value), node)) in known.iter_mut().zip(list).enumerate() {
                self.below(WayStep::Entry(i), value, node);
            }
            return;
        }
        let (pairs, gone) = list::paired(std::mem::take(known), list);
        for (i, (old, node)) in pairs.into_iter().zip(list).enumerate() {
            let value = match old {
                Some(mut value) => {
                    self.below(WayStep::Entry(i), &mut value, node);
                    value
                }
                None => written(node, self.writer),
            };
            known.push((node.span(), value));
        }
        for (i, value) in gone {
            self.remove(value, Some(WayStep::Entry(i)));
        }
    }

    fn below(&mut self, step: WayStep<'f>, known: &mut KnownValue, node: &'f Node) {
        self.way.push(step);
        self.value(known, node);
        self.way.pop();
    }

    /// Notes that a value is no more: the one that is looked at, or one below.
    fn remove(&mut self, value: KnownValue, last: Option<WayStep<'_>>) {
        let mut pointer = String::new();
        for step in self.way.iter().copied().chain(last) {
            match step {
                WayStep::Field(name) => push_step(&mut pointer, name),
                WayStep::Entry(position) => push_step(&mut pointer, &position.to_string()),
            }
        }
        self.removed.push(RemovedValue { pointer, value, by: Cause::of(self.writer) });
    }
}

/// Whether a scalar is what reading makes of another one, by way of JSON or of the text in which a build ends.
fn is_respelled(old: &Node, new: &Node) -> bool {
    let mut read = old.clone();
    reread(&mut read);
    let (read, new) = (read.to_json_value(), new.to_json_value());
    // In JSON all numbers are floats.
    read == new || read.as_f64().is_some_and(|number| new.as_f64() == Some(number))
}

/// Whether a map or list with nothing in it is the one that something of what is known stood in.
fn is_emptied(known: &KnownValue, node: &Node) -> bool {
    let place = node.span();
    let is_within = |at: Span| at.source == place.source && (place.start..place.end).contains(&at.start);
    // What is written as empty stands in brackets.
    let is_block = node.meta.style == Style::Block;
    !is_scalar(node)
        && !place.is_none()
        && (is_block
            || match known {
                KnownValue::Leaf(writes) => writes.iter().any(|write| is_within(write.at)),
                KnownValue::Map(fields) => fields.iter().any(|(_, value)| is_emptied(value, node)),
                KnownValue::List(entries) => entries.iter().any(|(_, value)| is_emptied(value, node)),
            })
}

fn is_scalar(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(_))
}
