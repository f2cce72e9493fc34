//! The fields that differ between two versions of an object.

use std::collections::BTreeMap;

use serde_json::Value;

use super::field_set::{Entry, FieldSet};
use super::json_value::equal;
use super::path_element::PathElement;
use super::reset::ResetFields;
use super::types::{Fields, List, Part, Shape, Type};

/// The fields that differ between two versions of an object.
#[derive(Debug, Clone, Default)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    /// Compares two objects of a type.
    pub(super) fn new(old: &Value, new: &Value, ty: Type<'_>) -> Self {
        compare(old, new, ty).below
    }

    /// Returns the differences without the reset fields.
    pub(super) fn without(self, reset: &ResetFields) -> Self {
        Self {
            removed: reset.filter(self.removed),
            modified: reset.filter(self.modified),
            added: reset.filter(self.added),
        }
    }

    fn add(&mut self, element: &PathElement, node: Node) {
        let Node { removed, modified, added, below } = node;
        let sets = [
            (&mut self.removed, removed, below.removed),
            (&mut self.modified, modified, below.modified),
            (&mut self.added, added, below.added),
        ];
        for (set, is_member, children) in sets {
            if is_member || !children.is_empty() {
                set.add(Entry::new(element.clone(), is_member, children));
            }
        }
    }
}

/// The differences at a value and below it.
#[derive(Debug, Default)]
struct Node {
    removed: bool,
    modified: bool,
    added: bool,
    below: Comparison,
}

impl Node {
    /// Compares two values as a whole.
    fn leaf(old: &Value, new: &Value) -> Self {
        Self { modified: !equal(old, new), ..Self::default() }
    }

    /// Returns the differences for a value that is only in the old object.
    fn removed(old: &Value, ty: Type<'_>) -> Self {
        let below = Comparison { removed: all_below(old, ty), ..Comparison::default() };
        Self { removed: true, below, ..Self::default() }
    }

    /// Returns the differences for a value that is only in the new object.
    fn added(new: &Value, ty: Type<'_>) -> Self {
        let below = Comparison { added: all_below(new, ty), ..Comparison::default() };
        Self { added: true, below, ..Self::default() }
    }

    fn and(self, other: Self) -> Self {
        let [a, b] = [self.below, other.below];
        let below = Comparison {
            removed: a.removed.union(&b.removed),
            modified: a.modified.union(&b.modified),
            added: a.added.union(&b.added),
        };
        Self {
            removed: self.removed || other.removed,
            modified: self.modified || other.modified,
            added: self.added || other.added,
            below,
        }
    }
}

/// Returns all paths below a value that is only in one of the objects.
fn all_below(value: &Value, ty: Type<'_>) -> FieldSet {
    let entry = |element, value, ty| Entry::new(element, true, all_below(value, ty));
    match (ty.part(value), value) {
        (Part::Map(fields), Value::Object(map)) if !fields.is_atomic => {
            let entries =
                map.iter().map(|(name, value)| entry(name.as_str().into(), value, fields.field(name)));
            FieldSet::from_entries(entries.collect())
        }
        (Part::List(list), Value::Array(values)) if !list.is_atomic() => {
            let mut entries: BTreeMap<PathElement, Option<&Value>> = BTreeMap::new();
            for (element, value) in
                values.iter().filter_map(|value| Some((list.element_of(value).ok()?, value)))
            {
                // Entries with the same element are added as a whole.
                entries.entry(element).and_modify(|first| *first = None).or_insert(Some(value));
            }
            let entries = entries.into_iter().map(|(element, value)| match value {
                Some(value) => entry(element, value, list.element),
                None => Entry::new(element, true, FieldSet::new()),
            });
            FieldSet::from_entries(entries.collect())
        }
        _ => FieldSet::new(),
    }
}

/// Compares two values. Values of two types, such as a scalar and a map, are compared as each of these types.
fn compare(old: &Value, new: &Value, ty: Type<'_>) -> Node {
    let shape = ty.shape();
    let (before, after) = (shape.of_value(Some(old)), shape.of_value(Some(new)));
    if before.is_same(&after) {
        compare_by(&after, old, new)
    } else {
        compare_by(&before, old, new).and(compare_by(&after, old, new))
    }
}

fn compare_by(shape: &Shape<'_>, old: &Value, new: &Value) -> Node {
    match shape.part() {
        Part::Map(fields) => compare_maps(&fields, old, new),
        Part::List(list) => compare_lists(&list, old, new),
        Part::Scalar(_) | Part::None => Node::leaf(old, new),
    }
}

fn compare_maps(fields: &Fields<'_>, old: &Value, new: &Value) -> Node {
    let (before, after) = (old.as_object(), new.as_object());
    if fields.is_atomic
        || (before.is_none_or(serde_json::Map::is_empty) && after.is_none_or(serde_json::Map::is_empty))
    {
        return Node::leaf(old, new);
    }
    let mut below = Comparison::default();
    for (name, value) in before.into_iter().flatten() {
        let ty = fields.field(name);
        let node = match after.and_then(|map| map.get(name)) {
            Some(other) => compare(value, other, ty),
            None => Node::removed(value, ty),
        };
        below.add(&name.as_str().into(), node);
    }
    for (name, value) in after.into_iter().flatten() {
        if before.is_none_or(|map| !map.contains_key(name)) {
            below.add(&name.as_str().into(), Node::added(value, fields.field(name)));
        }
    }
    Node { below, ..Node::default() }
}

/// The old and the new list entries with the same path element (key).
type Sides<'v> = [Vec<&'v Value>; 2];

fn compare_lists(list: &List<'_>, old: &Value, new: &Value) -> Node {
    let [before, after] = [old, new].map(|side| side.as_array().map(Vec::as_slice));
    if list.is_atomic() || (before.is_none_or(<[_]>::is_empty) && after.is_none_or(<[_]>::is_empty)) {
        return Node::leaf(old, new);
    }
    if before == after {
        return Node::default();
    }
    let mut entries: BTreeMap<PathElement, Sides<'_>> = BTreeMap::new();
    for (side, values) in [before, after].into_iter().enumerate() {
        for value in values.into_iter().flatten() {
            if let Ok(element) = list.element_of(value) {
                entries.entry(element).or_default()[side].push(value);
            }
        }
    }
    let mut below = Comparison::default();
    for (element, sides) in &entries {
        compare_entries(list, element, sides, &mut below);
    }
    Node { below, ..Node::default() }
}

/// Adds the differences between the entries with a path element. If several entries have the same element, they are
/// compared as a whole.
fn compare_entries(list: &List<'_>, element: &PathElement, sides: &Sides<'_>, below: &mut Comparison) {
    let whole = || Entry::new(element.clone(), true, FieldSet::new());
    match [sides[0].as_slice(), sides[1].as_slice()] {
        [[], []] => {}
        [[old], [new]] => below.add(element, compare(old, new, list.element)),
        [[old], []] => below.add(element, Node::removed(old, list.element)),
        [[], [new]] => below.add(element, Node::added(new, list.element)),
        [old @ [_, _, ..], new @ [_, _, ..]] => {
            if old.len() != new.len() || !old.iter().zip(new).all(|(old, new)| equal(old, new)) {
                below.modified.add(whole());
            }
        }
        [[_, _, ..], new] => {
            if let Some(new) = new.first() {
                below.add(element, Node::added(new, list.element));
            }
            below.removed.add(whole());
        }
        [old, _] => {
            if let Some(old) = old.first() {
                below.add(element, Node::removed(old, list.element));
            }
            below.added.add(whole());
        }
    }
}
