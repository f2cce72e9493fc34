//! Which line of a patch writes or removes a field.

use smol_str::SmolStr;

use smp_text::path::{is_within, pointer_to};
use smp_text::source::Span;
use smp_text::yaml::{Node, Value};

/// Which part of an operation of a JSON patch is meant, where the operation is about just the field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OperationPart {
    /// The path, by which the field is there or is not.
    Path,
    /// What the field gets.
    Value,
}

/// The place in a patch, strategic or in JSON, that writes or removes a field, or what it is in.
pub fn place_in_patch(patch: &Node, way: &[SmolStr], part: OperationPart) -> Option<Span> {
    match &patch.value {
        Value::List(operations) => {
            let operation = operations.iter().rev().find(|one| speaks_of(one, way))?;
            Some(place_in_operation(operation, way, part))
        }
        Value::Map(_) => place_in_map(patch, way),
        Value::Scalar(_) => None,
    }
}

/// Whether an operation of a JSON patch tests what it finds.
pub(super) fn is_test(operation: &Node) -> bool {
    operation.get("op").and_then(Node::as_str) == Some("test")
}

/// Whether an operation of a JSON patch changes a value, what is around it, or what is in it.
fn speaks_of(operation: &Node, way: &[SmolStr]) -> bool {
    !is_test(operation) && named_by(operation, way).is_some()
}

/// The path of an operation that leads to a value, around it or into it.
fn named_by<'n>(operation: &'n Node, way: &[SmolStr]) -> Option<&'n Node> {
    let pointer = pointer_to(way);
    let mut paths = ["path", "from"].into_iter().filter_map(|field| operation.get(field));
    paths.find(|path| {
        let Some(path) = path.as_str() else { return false };
        is_within(path, &pointer) || is_within(&pointer, path) || is_added_to(path, &pointer)
    })
}

/// Whether something is in an entry that is added: `-` stands for the entry behind the last one.
fn is_added_to(path: &str, pointer: &str) -> bool {
    path.strip_suffix("/-").is_some_and(|list| is_within(list, pointer))
}

/// The place in an operation that speaks of a field: what it has of it in its value, or else its path.
fn place_in_operation(operation: &Node, way: &[SmolStr], part: OperationPart) -> Span {
    let Some(path) = named_by(operation, way) else { return operation.span() };
    let steps = path.as_str().unwrap_or_default().matches('/').count();
    let is_own = operation.get("path").is_some_and(|own| std::ptr::eq(own, path));
    let value = operation.get("value").filter(|_| is_own);
    match (value, way.get(steps..)) {
        (Some(value), Some(rest)) if !rest.is_empty() => place_in_value(value, rest),
        (Some(value), Some(_)) if part == OperationPart::Value => value.span(),
        _ => path.span(),
    }
}

/// The deepest place on the way to a field that a value has.
fn place_in_value(value: &Node, way: &[SmolStr]) -> Span {
    let Some((step, rest)) = way.split_first() else { return value.span() };
    let (here, below) = match &value.value {
        Value::Map(map) => {
            let entry = map.entry(step);
            (entry.map(|entry| entry.key.meta.span), entry.map(|entry| &entry.value))
        }
        Value::List(list) => (None, step.parse::<usize>().ok().and_then(|position| list.get(position))),
        Value::Scalar(_) => (None, None),
    };
    match (here, below) {
        (Some(key), _) if rest.is_empty() => key,
        (_, Some(below)) => place_in_value(below, rest),
        _ => value.span(),
    }
}

/// The deepest place on the way to a field at which a strategic merge patch says something: the field, or a null or a
/// directive around it.
fn place_in_map(node: &Node, way: &[SmolStr]) -> Option<Span> {
    if let Value::List(list) = &node.value {
        // Entries stand elsewhere in the result: the first that speaks of it is taken.
        let rest = way.get(1..)?;
        return list.iter().find_map(|entry| place_in_map(entry, rest));
    }
    let map = node.as_map()?;
    let directive = || map.entry("$patch").map(|entry| entry.key.meta.span);
    let Some((step, rest)) = way.split_first() else { return directive() };
    let Some(entry) = map.entry(step) else { return directive() };
    let is_end = rest.is_empty() || entry.value.is_null();
    let own = Some(entry.key.meta.span).filter(|_| is_end);
    own.or_else(|| place_in_map(&entry.value, rest)).or_else(directive)
}
