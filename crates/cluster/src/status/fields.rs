//! Access to fields of live objects, which may have unexpected types.

use std::time::SystemTime;

use k8s_openapi::jiff::Timestamp;

use smp_text::yaml::{Node, Resolved};

/// Returns a field, or `None` if it is missing or null.
///
/// # Errors
/// A value above the field is not a map.
pub(super) fn field<'n>(node: &'n Node, path: &[&str]) -> Result<Option<&'n Node>, String> {
    let mut current = node;
    for (i, name) in path.iter().enumerate() {
        let Some(map) = current.as_map() else { return Err(format!("{} is not a map", path[..i].join("."))) };
        match map.get(name) {
            Some(value) if !value.is_null() => current = value,
            _ => return Ok(None),
        }
    }
    Ok(Some(current))
}

/// Returns an integer, or the default for any other value.
pub(super) fn int(node: &Node, path: &[&str], default: i64) -> i64 {
    match node.get_path(path).and_then(Node::resolve) {
        Some(Resolved::Int(value)) => value,
        _ => default,
    }
}

/// Returns a string, or the default for any other value.
pub(super) fn text<'n>(node: &'n Node, path: &[&str], default: &'n str) -> &'n str {
    node.get_path(path).and_then(Node::as_str).unwrap_or(default)
}

/// Returns true if a field is `true`.
pub(super) fn is_true(node: &Node, path: &[&str]) -> bool {
    matches!(node.get_path(path).and_then(Node::resolve), Some(Resolved::Bool(true)))
}

/// Returns a timestamp.
pub(crate) fn time(node: &Node, path: &[&str]) -> Option<SystemTime> {
    let time: Timestamp = text(node, path, "").parse().ok()?;
    Some(time.into())
}

/// Returns `metadata.generation`.
pub(super) fn generation(object: &Node) -> Result<Option<i64>, String> {
    let Some(value) = field(object, &["metadata", "generation"])? else { return Ok(None) };
    match value.resolve() {
        Some(Resolved::Int(generation)) => Ok(Some(generation)),
        _ => Err("metadata.generation is not an integer".into()),
    }
}

/// Returns `status.observedGeneration`, which some controllers write as a string.
pub(super) fn observed_generation(object: &Node) -> Result<Option<i64>, String> {
    let Some(value) = field(object, &["status", "observedGeneration"])? else { return Ok(None) };
    number(value).map(Some).ok_or_else(|| "status.observedGeneration is not an integer".into())
}

/// Parses a generation that is a number, or a string with a number.
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
    pub(crate) condition_type: &'n str,
    /// True, False or Unknown. Other values are ignored.
    pub(crate) status: &'n str,
    pub(crate) reason: &'n str,
    pub(crate) message: &'n str,
    /// The observed generation, if the condition has one.
    pub(super) observed: Option<i64>,
}

/// Returns `status.conditions` in order, without null entries.
///
/// # Errors
/// The value is not a list of maps with strings.
pub(crate) fn conditions(object: &Node) -> Result<Vec<StatusCondition<'_>>, String> {
    let Some(list) = field(object, &["status", "conditions"])? else { return Ok(Vec::new()) };
    let list = list.as_list().ok_or("status.conditions is not a list")?;
    list.iter().filter(|entry| !entry.is_null()).map(condition).collect()
}

fn condition(entry: &Node) -> Result<StatusCondition<'_>, String> {
    if entry.as_map().is_none() {
        return Err("an entry of status.conditions is not a map".into());
    }
    let text = |name: &str| match entry.get(name).filter(|value| !value.is_null()) {
        None => Ok(""),
        Some(value) => {
            value.as_str().ok_or_else(|| format!("{name} of an entry of status.conditions is not a string"))
        }
    };
    let observed = entry.get("observedGeneration").and_then(number);
    let (kind, status) = (text("type")?, text("status")?);
    Ok(StatusCondition {
        condition_type: kind,
        status,
        reason: text("reason")?,
        message: text("message")?,
        observed,
    })
}

/// Returns true if the condition of type `kind` has the given status.
pub(crate) fn has_condition(conditions: &[StatusCondition<'_>], kind: &str, status: &str) -> bool {
    conditions.iter().any(|condition| condition.condition_type == kind && condition.status == status)
}
