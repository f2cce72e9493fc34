//! How findings name what they are about.

use crate::path::{PathElement, PathValue};
use crate::yaml::Node;

/// The step to an entry of a list: by its `name`, if it has one, else by its position.
pub(super) fn named_entry(position: usize, entry: &Node) -> PathElement {
    match entry.get("name").and_then(Node::as_str) {
        Some(name) => PathElement::Key(vec![("name".into(), PathValue::Str(name.into()))]),
        None => PathElement::Index(position),
    }
}
