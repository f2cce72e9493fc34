//! Reading the fields of an object: their types are what a controller made of them.

use std::time::SystemTime;

use k8s_openapi::jiff::Timestamp;

use smp_text::yaml::{Node, Resolved};

/// A field; null is absent.
///
/// # Errors
/// What is above it is no map.
pub(super) fn field<'n>(node: &'n Node, path: &[&str]) -> Result<Option<&'n Node>, String> {
    let mut here = node;
    for (i, name) in path.iter().enumerate() {
        let Some(map) = here.as_map() else { return Err(format!("{} is no map", path[..i].join("."))) };
        match map.get(name) {
            Some(value) if !value.is_null() => here = value,
            _ => return Ok(None),
        }
    }
    Ok(Some(here))
}

/// An integer, or the default for anything else.
pub(super) fn int(node: &Node, path: &[&str], default: i64) -> i64 {
    match node.get_path(path).and_then(Node::resolve) {
        Some(Resolved::Int(value)) => value,
        _ => default,
    }
}

/// A text, or the default for anything else.
pub(super) fn text<'n>(node: &'n Node, path: &[&str], default: &'n str) -> &'n str {
    node.get_path(path).and_then(Node::as_str).unwrap_or(default)
}

/// Whether a field is true.
pub(super) fn is_true(node: &Node, path: &[&str]) -> bool {
    matches!(node.get_path(path).and_then(Node::resolve), Some(Resolved::Bool(true)))
}

/// A time as the API writes it.
pub(crate) fn time(node: &Node, path: &[&str]) -> Option<SystemTime> {
    let time: Timestamp = text(node, path, "").parse().ok()?;
    Some(time.into())
}

/// `metadata.generation`.
pub(super) fn generation(object: &Node) -> Result<Option<i64>, String> {
    let Some(value) = field(object, &["metadata", "generation"])? else { return Ok(None) };
    match value.resolve() {
        Some(Resolved::Int(generation)) => Ok(Some(generation)),
        _ => Err("metadata.generation is no integer".into()),
    }
}

/// `status.observedGeneration`, which some controllers write as a text.
pub(super) fn observed(object: &Node) -> Result<Option<i64>, String> {
    let Some(value) = field(object, &["status", "observedGeneration"])? else { return Ok(None) };
    number(value).map(Some).ok_or_else(|| "status.observedGeneration is no integer".into())
}

/// A generation as a number, or as a text that is one.
fn number(value: &Node) -> Option<i64> {
    match value.resolve() {
        Some(Resolved::Int(generation)) => Some(generation),
        Some(Resolved::Str(text)) => text.trim().parse().ok(),
        _ => None,
    }
}

/// An entry of `status.conditions`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatusCondition<'n> {
    pub(crate) kind: &'n str,
    /// True, False or Unknown; anything else says nothing.
    pub(crate) status: &'n str,
    pub(super) reason: &'n str,
    pub(crate) message: &'n str,
    /// The generation that it is of, where it says so.
    pub(super) observed: Option<i64>,
}

/// `status.conditions`, in their order. An entry that is null says nothing.
///
/// # Errors
/// They are no list of maps with texts.
pub(crate) fn conditions(object: &Node) -> Result<Vec<StatusCondition<'_>>, String> {
    let Some(list) = field(object, &["status", "conditions"])? else { return Ok(Vec::new()) };
    let list = list.as_list().ok_or("status.conditions is no list")?;
    list.iter().filter(|entry| !entry.is_null()).map(condition).collect()
}

fn condition(entry: &Node) -> Result<StatusCondition<'_>, String> {
    if entry.as_map().is_none() {
        return Err("an entry of status.conditions is no map".into());
    }
    let text = |name: &str| match entry.get(name).filter(|value| !value.is_null()) {
        None => Ok(""),
        Some(value) => {
            value.as_str().ok_or_else(|| format!("{name} of an entry of status.conditions is no text"))
        }
    };
    let observed = entry.get("observedGeneration").and_then(number);
    let (kind, status) = (text("type")?, text("status")?);
    Ok(StatusCondition { kind, status, reason: text("reason")?, message: text("message")?, observed })
}

/// Whether a condition has a status.
pub(crate) fn says(conditions: &[StatusCondition<'_>], kind: &str, status: &str) -> bool {
    conditions.iter().any(|condition| condition.kind == kind && condition.status == status)
}
