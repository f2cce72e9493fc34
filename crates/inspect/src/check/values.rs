//! Access to the values of changed objects.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use smp_text::yaml::{Map, Node};

/// Returns the text of a scalar.
pub(super) fn text(node: Option<&Node>) -> Option<&str> {
    node.and_then(Node::scalar_text).map(SmolStr::as_str)
}

/// Returns the entries of a list. Returns no entries if the list is absent or not a list.
pub(super) fn entries(node: Option<&Node>) -> &[Node] {
    node.and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the entries of a list that the old list does not contain, with their indices.
pub(super) fn added_entries<'n>(old: Option<&Node>, new: Option<&'n Node>) -> Vec<(usize, &'n Node)> {
    let key = |entry: &Node| entry.to_json_value().to_string();
    let known: FxHashSet<String> = entries(old).iter().map(key).collect();
    entries(new).iter().enumerate().filter(|(_, entry)| !known.contains(&key(entry))).collect()
}

/// Returns the requirements of a label selector. An object must satisfy all of them.
pub(super) fn requirements(selector: Option<&Node>) -> BTreeSet<String> {
    let labels = selector.and_then(|selector| selector.get("matchLabels")).and_then(Node::as_map);
    let labels = labels.into_iter().flat_map(Map::iter);
    let labels = labels.map(|(key, value)| format!("{key}={}", value.to_json_value()));
    let expressions = entries(selector.and_then(|selector| selector.get("matchExpressions"))).iter();
    labels.chain(expressions.map(|expression| expression.to_json_value().to_string())).collect()
}

/// Returns true for the boolean `true`.
pub(super) fn is_true(node: Option<&Node>) -> bool {
    text(node) == Some("true")
}
