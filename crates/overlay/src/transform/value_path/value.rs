//! The kinds of values on a path, and how missing ones are created.

use super::parts::{entry_parts, is_entry};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::strconv;
use smp_text::yaml::{Map, Node, Value};

/// The kind of a value to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transform) enum NodeKind {
    Scalar,
    Map,
    List,
}

impl NodeKind {
    /// Returns the kind of another value.
    pub(in crate::transform) fn of_node(node: &Node) -> Self {
        match node.value {
            Value::Scalar(_) => Self::Scalar,
            Value::Map(_) => Self::Map,
            Value::List(_) => Self::List,
        }
    }

    pub(super) fn node(self) -> Node {
        match self {
            Self::Scalar => Node::undecided(""),
            Self::Map => Node::map(Map::new()),
            Self::List => Node::list(Vec::new()),
        }
    }

    /// Returns the kind of value in which `next` can be created, or `leaf` if it is the end of the path.
    pub(super) fn for_next(next: Option<&String>, leaf: Self) -> Self {
        match next.map(String::as_str) {
            None | Some("") => leaf,
            Some(next) if is_entry(next) || strconv::atoi(next).is_some_and(|i| i >= 0) => Self::List,
            Some(_) => Self::Map,
        }
    }
}

/// Returns the text of a scalar, or an empty string for maps and lists.
pub(in crate::transform) fn text_of(node: &Node) -> &str {
    node.scalar_text().map_or("", |text| text.as_str())
}

fn wrong_kind(node: &Node, expected: &str, part: &str) -> Diagnostic {
    let message = format!("expected {expected} `{part}`, found {}", node.type_name());
    Diagnostic::error(Code::WrongType, message).at(node.span())
}

/// Returns the entries of a list. Null is treated as an empty list.
pub(super) fn entries<'n>(node: &'n Node, part: &str) -> Result<&'n [Node]> {
    match &node.value {
        Value::List(list) => Ok(list),
        _ if node.is_null() => Ok(&[]),
        _ => Err(wrong_kind(node, "a list for", part)),
    }
}

/// Returns the fields of a map, or `None` for null.
pub(super) fn fields<'n>(node: &'n Node, part: &str) -> Result<Option<&'n Map>> {
    match &node.value {
        Value::Map(map) => Ok(Some(map)),
        _ if node.is_null() => Ok(None),
        _ => Err(wrong_kind(node, "a map with", part)),
    }
}

/// Creates the entry for `[name=value]` or `[=value]`.
pub(super) fn new_entry(part: &str) -> Result<Node> {
    let (name, value) = entry_parts(part)?;
    if name.is_empty() {
        return Ok(Node::undecided(value));
    }
    Ok(Node::map([(name, Node::undecided(value))].into_iter().collect()))
}
