//! Finds the line of a patch that writes or removes a field.

use smol_str::SmolStr;

use smp_text::path::{is_within, pointer_to};
use smp_text::source::Span;
use smp_text::yaml::{Node, Value};

/// The part of a JSON patch operation whose location is reported if the operation targets exactly the field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OperationPart {
    /// The operation's `path`, for an added or removed field.
    Path,
    /// The field's new value.
    Value,
}

/// Returns the location in a strategic merge patch or JSON patch that writes or removes a field or its parent.
pub fn location_in_patch(patch: &Node, path: &[SmolStr], part: OperationPart) -> Option<Span> {
    match &patch.value {
        Value::List(operations) => {
            let operation = operations.iter().rev().find(|one| affects(one, path))?;
            Some(location_in_operation(operation, path, part))
        }
        Value::Map(_) => location_in_map(patch, path),
        Value::Scalar(_) => None,
    }
}

/// Returns true if a JSON patch operation is a `test`.
pub(super) fn is_test(operation: &Node) -> bool {
    operation.get("op").and_then(Node::as_str) == Some("test")
}

/// Returns true if a JSON patch operation other than `test` refers to the value at the path, as in [`path_to`].
fn affects(operation: &Node, path: &[SmolStr]) -> bool {
    !is_test(operation) && path_to(operation, path).is_some()
}

/// Returns the operation's `path` or `from` if it refers to the value, its parent or its children, or if it appends to
/// a list that contains the value.
fn path_to<'n>(operation: &'n Node, path: &[SmolStr]) -> Option<&'n Node> {
    let pointer = pointer_to(path);
    let mut paths = ["path", "from"].into_iter().filter_map(|field| operation.get(field));
    paths.find(|path| {
        let Some(path) = path.as_str() else { return false };
        is_within(path, &pointer) || is_within(&pointer, path) || is_added_to(path, &pointer)
    })
}

/// Returns true if `path` ends with `-` (the end of a list) and the value at `pointer` is in an entry of that list.
fn is_added_to(path: &str, pointer: &str) -> bool {
    path.strip_suffix("/-").is_some_and(|list| is_within(list, pointer))
}

/// Returns the location of a field in an operation: in the operation's value if it contains the field, otherwise the
/// `path`.
fn location_in_operation(operation: &Node, path: &[SmolStr], part: OperationPart) -> Span {
    let Some(pointer) = path_to(operation, path) else { return operation.span() };
    let steps = pointer.as_str().unwrap_or_default().matches('/').count();
    let is_own = operation.get("path").is_some_and(|own| std::ptr::eq(own, pointer));
    let value = operation.get("value").filter(|_| is_own);
    match (value, path.get(steps..)) {
        (Some(value), Some(rest)) if !rest.is_empty() => location_in_value(value, rest),
        (Some(value), Some(_)) if part == OperationPart::Value => value.span(),
        _ => pointer.span(),
    }
}

/// Returns the location of the deepest part of the path that exists in the value.
fn location_in_value(value: &Node, path: &[SmolStr]) -> Span {
    let Some((step, rest)) = path.split_first() else { return value.span() };
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
        (_, Some(below)) => location_in_value(below, rest),
        _ => value.span(),
    }
}

/// Returns the location of the deepest part of the path that a strategic merge patch changes: the field itself, or a
/// null or directive that affects it.
fn location_in_map(node: &Node, path: &[SmolStr]) -> Option<Span> {
    if let Value::List(list) = &node.value {
        // Indices in the patch and in the result differ, so the first entry that changes the field is used.
        let rest = path.get(1..)?;
        return list.iter().find_map(|entry| location_in_map(entry, rest));
    }
    let map = node.as_map()?;
    let directive = || map.entry("$patch").map(|entry| entry.key.meta.span);
    let Some((step, rest)) = path.split_first() else { return directive() };
    let Some(entry) = map.entry(step) else { return directive() };
    let is_end = rest.is_empty() || entry.value.is_null();
    let own = Some(entry.key.meta.span).filter(|_| is_end);
    own.or_else(|| location_in_map(&entry.value, rest)).or_else(directive)
}
