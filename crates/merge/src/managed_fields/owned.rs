//! The field set of an object: all leaves and list entries that a manager owns by applying it.

use serde_json::Value;

use super::field_set::{Entry, FieldSet};
use super::path_element::PathElement;
use super::types::{Fields, List, Part, Type};

/// Returns the paths below a value, and whether the path of the value itself is in the set.
fn owned(value: &Value, ty: Type<'_>) -> (FieldSet, bool) {
    match ty.part(value) {
        Part::Map(fields) if fields.is_atomic => (FieldSet::new(), true),
        Part::Map(fields) => (in_map(value, &fields), false),
        Part::Scalar(_) => (FieldSet::new(), true),
        Part::List(list) if list.is_atomic() => (FieldSet::new(), true),
        Part::List(list) => (in_list(value, &list), false),
        Part::None => (FieldSet::new(), false),
    }
}

/// Returns the field set of an object.
pub(super) fn owned_fields(object: &Value, ty: Type<'_>) -> FieldSet {
    owned(object, ty).0
}

fn in_map(value: &Value, fields: &Fields<'_>) -> FieldSet {
    let entries = value.as_object().into_iter().flatten().map(|(name, value)| {
        let declared = fields.declared(name);
        let (children, is_leaf) = owned(value, declared.unwrap_or(fields.others));
        let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
        Entry::new(PathElement::from(name.as_str()), is_leaf || is_empty || declared.is_none(), children)
    });
    FieldSet::from_entries(entries.collect())
}

/// Returns the field set of a list. Entries with the same path element are owned as a whole, since they cannot be
/// distinguished.
fn in_list(value: &Value, list: &List<'_>) -> FieldSet {
    let entries = value.as_array().into_iter().flatten();
    let mut elements: Vec<(PathElement, &Value)> =
        entries.map(|entry| (list.any_element_of(entry), entry)).collect();
    elements.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut found: Vec<Entry> = Vec::with_capacity(elements.len());
    for (element, entry) in elements {
        match found.last_mut().filter(|last| last.element == element) {
            Some(last) => last.children = FieldSet::new(),
            None => found.push(Entry::new(element, true, owned(entry, list.element).0)),
        }
    }
    FieldSet::from_entries(found)
}

/// Returns the set with those declared fields added that have members below them.
pub(super) fn with_declared_fields(set: &FieldSet, ty: Type<'_>) -> FieldSet {
    let shape = ty.shape();
    let entries = set.entries().iter().map(|entry| {
        if entry.children.is_empty() {
            return entry.clone();
        }
        let (is_declared, below) = match (&entry.element, shape.map, shape.list) {
            (PathElement::Field(name), Some(fields), _) => {
                (fields.declared(name).is_some(), fields.field(name))
            }
            (PathElement::Key(_), _, Some(list)) => (false, list.element),
            _ => (false, Type::Undeclared),
        };
        let children = with_declared_fields(&entry.children, below);
        Entry::new(entry.element.clone(), entry.is_member || is_declared, children)
    });
    FieldSet::from_entries(entries.collect())
}

/// Returns the set adapted to a change of the schema: a value that became atomic is owned as a whole. Returns `None` if
/// nothing changes.
pub(super) fn reconciled(set: &FieldSet, ty: Type<'_>) -> Option<FieldSet> {
    match ty.shape().part() {
        Part::Map(fields) if !fields.is_free_form() && !fields.is_atomic => {
            reconciled_entries(set, |element| match element {
                PathElement::Field(name) => fields.field(name),
                _ => fields.others,
            })
        }
        Part::List(list) if !list.is_atomic() => reconciled_entries(set, |_| list.element),
        _ => None,
    }
}

fn reconciled_entries<'s>(set: &FieldSet, type_of: impl Fn(&PathElement) -> Type<'s>) -> Option<FieldSet> {
    let mut found: Option<Vec<Entry>> = None;
    for (i, entry) in set.entries().iter().enumerate() {
        match (reconciled_entry(entry, type_of(&entry.element)), &mut found) {
            (None, None) => {}
            (None, Some(found)) => found.push(entry.clone()),
            (Some(new), found) => found.get_or_insert_with(|| set.entries()[..i].to_vec()).push(new),
        }
    }
    found.map(FieldSet::from_entries)
}

fn reconciled_entry(entry: &Entry, ty: Type<'_>) -> Option<Entry> {
    let became_atomic = match ty.shape().part() {
        Part::Map(fields) => fields.is_atomic && !fields.is_free_form() && !entry.children.is_empty(),
        Part::List(list) => list.is_atomic() && !(entry.is_member && entry.children.is_empty()),
        Part::Scalar(_) | Part::None => false,
    };
    if became_atomic {
        return Some(Entry::new(entry.element.clone(), true, FieldSet::new()));
    }
    let children = reconciled(&entry.children, ty)?;
    Some(Entry::new(entry.element.clone(), entry.is_member, children))
}
