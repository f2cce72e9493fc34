//! The field path of a recursive function. It is on the stack and costs nothing until an error needs it.

use smol_str::SmolStr;

use super::identity::{Identity, MergeKeys};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::path::{FieldPath, PathElement, PathValue};
use smp_text::yaml::Node;

/// The path elements from the root to a value. Each call extends the path of its caller.
#[derive(Debug, Clone, Copy)]
pub struct Trail<'t> {
    parent: Option<&'t Trail<'t>>,
    element: TrailElement<'t>,
}

#[derive(Debug, Clone, Copy)]
enum TrailElement<'t> {
    Root,
    Field(&'t str),
    Index(usize),
    Entry(&'t Node, &'t [SmolStr], usize),
    Named(&'t MergeKeys, &'t Identity),
    Texts(&'t [SmolStr], &'t [SmolStr]),
}

impl<'t> Trail<'t> {
    /// Returns the path of an object's root.
    #[must_use]
    pub fn root() -> Self {
        Self { parent: None, element: TrailElement::Root }
    }

    /// Returns the path of a field of the current map.
    #[must_use]
    pub fn field(&'t self, name: &'t str) -> Self {
        Self { parent: Some(self), element: TrailElement::Field(name) }
    }

    /// Returns the name of the current field, or `None` for a list entry or the root.
    pub(crate) fn field_name(&self) -> Option<&'t str> {
        match self.element {
            TrailElement::Field(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the path of another field of the map that contains the current field.
    pub(crate) fn sibling<'s>(&self, name: &'s str) -> Trail<'s>
    where
        't: 's,
    {
        Trail { parent: self.parent, element: TrailElement::Field(name) }
    }

    /// Returns the path of an entry of the current list by its index.
    #[must_use]
    pub fn index(&'t self, index: usize) -> Self {
        Self { parent: Some(self), element: TrailElement::Index(index) }
    }

    /// Returns the path of an entry by those keys that it has, otherwise by its index.
    #[must_use]
    pub fn entry(&'t self, entry: &'t Node, keys: &'t [SmolStr], index: usize) -> Self {
        Self { parent: Some(self), element: TrailElement::Entry(entry, keys, index) }
    }

    /// Returns the path of an entry by the values of its keys.
    #[must_use]
    pub(crate) fn named(&'t self, keys: &'t MergeKeys, name: &'t Identity) -> Self {
        Self { parent: Some(self), element: TrailElement::Named(keys, name) }
    }

    /// Returns the path of an entry by the texts of its keys. The key `""` stands for the entry itself.
    #[must_use]
    pub fn texts(&'t self, keys: &'t [SmolStr], texts: &'t [SmolStr]) -> Self {
        Self { parent: Some(self), element: TrailElement::Texts(keys, texts) }
    }

    /// Returns the field path, for messages.
    #[must_use]
    pub fn path(&self) -> FieldPath {
        let mut elements = Vec::new();
        let mut here = Some(self);
        while let Some(trail) = here {
            elements.extend(trail.element.path_element());
            here = trail.parent;
        }
        elements.into_iter().rev().collect()
    }

    /// Creates an error at this path.
    #[must_use]
    pub fn error(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        let error = Diagnostic::error(code, message);
        if self.parent.is_none() { error } else { error.field(self.path()) }
    }
}

impl TrailElement<'_> {
    fn path_element(&self) -> Option<PathElement> {
        Some(match *self {
            Self::Root => return None,
            Self::Field(name) => PathElement::Field(name.into()),
            Self::Index(index) => PathElement::Index(index),
            Self::Entry(node, keys, index) => entry_element(node, keys, index),
            Self::Named(keys, name) => keys.path_element(name),
            Self::Texts([key], [text]) if key.is_empty() => PathElement::Value(text_value(text)),
            Self::Texts(keys, texts) => {
                let pairs = keys.iter().zip(texts).filter(|(_, text)| !text.is_empty());
                PathElement::Key(pairs.map(|(key, text)| (key.clone(), text_value(text))).collect())
            }
        })
    }
}

/// Converts an unquoted text to a value of a path.
fn text_value(text: &SmolStr) -> PathValue {
    PathValue::from_node(&Node::plain(text.clone())).unwrap_or(PathValue::Null)
}

/// Returns the path element of an entry: those keys that it has, or its index if it has none.
fn entry_element(node: &Node, keys: &[SmolStr], index: usize) -> PathElement {
    let present = |key: &SmolStr| {
        let value = PathValue::from_node(node.get(key)?)?;
        (value != PathValue::Null).then(|| (key.clone(), value))
    };
    let fields: Vec<_> = keys.iter().filter_map(present).collect();
    if fields.is_empty() { PathElement::Index(index) } else { PathElement::Key(fields) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trails_identify_entries_by_their_keys() {
        let entry = Node::map([("name", Node::string("web")), ("port", Node::null())].into_iter().collect());
        let root = Trail::root();
        let list = root.field("list");
        let keys = ["name".into(), "port".into()];
        let item = list.entry(&entry, &keys, 3);
        assert_eq!(item.field("x").path().to_string(), "list[name=web].x");
        assert_eq!(list.entry(&Node::null(), &keys, 3).path().to_string(), "list[3]");
        assert_eq!(list.index(2).error(Code::WrongType, "no").to_string(), "list[2]: no");
        assert_eq!(root.path().to_string(), ".");
        let (keys, texts) = (["port".into(), "protocol".into()], ["80".into(), "".into()]);
        assert_eq!(list.texts(&keys, &texts).field("x").path().to_string(), "list[port=80].x");
        assert_eq!(list.texts(&["".into()], &["a".into()]).path().to_string(), "list[=a]");
        assert_eq!(root.error(Code::WrongType, "no").to_string(), "no", "the root needs no name");
    }
}
