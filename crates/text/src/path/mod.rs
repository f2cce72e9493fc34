//! Field paths: the steps from the root of an object to a value.
//!
//! Owns path elements, in the four kinds of server-side apply, and their text format. Values are only used as keys of
//! list entries. Must not depend on schemas.

mod pointer;

use std::fmt::{self, Write as _};

use smol_str::{SmolStr, format_smolstr};

pub use self::pointer::{is_within, pointer_steps, pointer_to, push_step, unescape, with_step};
use crate::yaml::{Node, Resolved, Value};

/// A scalar that identifies a list entry. It is compared by its data, whatever its style is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathValue {
    /// The value `null`.
    Null,
    /// The value `true` or `false`.
    Bool(bool),
    /// A number as written in JSON.
    Number(SmolStr),
    /// A string. Dates are also strings.
    Str(SmolStr),
}

impl PathValue {
    /// Returns the data of a scalar, or `None` for maps and lists.
    #[must_use]
    pub fn from_node(node: &Node) -> Option<Self> {
        Some(match node.resolve()? {
            Resolved::Null => Self::Null,
            Resolved::Bool(value) => Self::Bool(value),
            Resolved::Int(value) => Self::Number(format_smolstr!("{value}")),
            Resolved::UInt(value) => Self::Number(format_smolstr!("{value}")),
            Resolved::Float(value) => Self::Number(format_smolstr!("{value}")),
            Resolved::Timestamp(text) | Resolved::Str(text) => Self::Str(text.into()),
        })
    }
}

impl fmt::Display for PathValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(text) => f.write_str(text),
            Self::Str(text) => quoted_if(f, text, |c| matches!(c, ',' | ']' | '[' | '"' | '=')),
        }
    }
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathElement {
    /// A field of a map.
    Field(SmolStr),
    /// The list entry with these values in its key fields, in the order of the schema.
    Key(Vec<(SmolStr, PathValue)>),
    /// The entry with this value in a list of scalars.
    Value(PathValue),
    /// The list entry with this index, starting at 0.
    Index(usize),
}

impl PathElement {
    /// Returns the index of the field or list entry that this step selects. If no entry has all keys, an entry without
    /// a key also matches, since it has the key's default.
    pub fn position(&self, node: &Node) -> Option<usize> {
        match (&node.value, self) {
            (Value::Map(map), Self::Field(name)) => map.position(name),
            (Value::List(list), Self::Index(index)) => Some(*index).filter(|index| *index < list.len()),
            (Value::List(list), Self::Value(value)) => {
                list.iter().position(|entry| PathValue::from_node(entry).as_ref() == Some(value))
            }
            (Value::List(list), Self::Key(keys)) => {
                let first =
                    |may_lack_keys| list.iter().position(|entry| has_keys(entry, keys, may_lack_keys));
                first(false).or_else(|| first(true))
            }
            _ => None,
        }
    }

    /// Returns the value that this step selects.
    pub fn find<'n>(&self, node: &'n Node) -> Option<&'n Node> {
        let position = self.position(node)?;
        match &node.value {
            Value::Map(map) => map.entries().get(position).map(|entry| &entry.value),
            Value::List(list) => list.get(position),
            Value::Scalar(_) => None,
        }
    }
}

/// Returns true if a list entry has these values in its key fields. With `may_lack_keys`, it may also lack the fields.
fn has_keys(entry: &Node, keys: &[(SmolStr, PathValue)], may_lack_keys: bool) -> bool {
    let has = |(name, value): &(SmolStr, PathValue)| match entry.get(name) {
        Some(own) => PathValue::from_node(own).as_ref() == Some(value),
        None => may_lack_keys,
    };
    entry.as_map().is_some() && keys.iter().all(has)
}

impl fmt::Display for PathElement {
    /// Formats the step as `image`, `["a.b/c"]`, `[name=web]`, `[="x"]` or `[0]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) if is_bare(name) => f.write_str(name),
            Self::Field(name) => write!(f, "[{name:?}]"),
            Self::Key(keys) => {
                f.write_char('[')?;
                for (i, (name, value)) in keys.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={value}")?;
                }
                f.write_char(']')
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The steps from the root of an object to a value; empty for the root itself.
///
/// ```
/// use smp_text::path::{FieldPath, PathElement, PathValue};
///
/// let mut path = FieldPath::root().field("spec").field("containers");
/// path.push(PathElement::Key(vec![("name".into(), PathValue::Str("web".into()))]));
/// assert_eq!(path.field("image").to_string(), "spec.containers[name=web].image");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FieldPath(Vec<PathElement>);

impl FieldPath {
    /// Returns the path of the root.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns the steps, the outermost first.
    #[must_use]
    pub fn elements(&self) -> &[PathElement] {
        &self.0
    }

    /// Converts the path to field names and list indices in a tree. Stops at a list entry that does not exist.
    #[must_use]
    pub fn positions(&self, node: &Node) -> Vec<SmolStr> {
        let mut at = Some(node);
        let mut positions = Vec::with_capacity(self.0.len());
        for element in &self.0 {
            let position = at.and_then(|node| element.position(node));
            match (element, position) {
                (PathElement::Field(name), _) => positions.push(name.clone()),
                (_, Some(position)) => positions.push(format_smolstr!("{position}")),
                (PathElement::Index(index), None) => positions.push(format_smolstr!("{index}")),
                (_, None) => break,
            }
            at = at.and_then(|node| element.find(node));
        }
        positions
    }

    /// Returns the value at the path in a tree.
    #[must_use]
    pub fn find<'n>(&self, node: &'n Node) -> Option<&'n Node> {
        self.0.iter().try_fold(node, |node, element| element.find(node))
    }

    /// Appends a step.
    pub fn push(&mut self, element: PathElement) {
        self.0.push(element);
    }

    /// Removes the last step.
    pub fn pop(&mut self) -> Option<PathElement> {
        self.0.pop()
    }

    /// Returns the path of a field below this one.
    #[must_use]
    pub fn field(mut self, name: impl Into<SmolStr>) -> Self {
        self.push(PathElement::Field(name.into()));
        self
    }
}

impl FromIterator<PathElement> for FieldPath {
    fn from_iter<I: IntoIterator<Item = PathElement>>(elements: I) -> Self {
        Self(elements.into_iter().collect())
    }
}

impl fmt::Display for FieldPath {
    /// Formats the path as `spec.template.spec.containers[name=web].image`, and the root as `.`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_char('.');
        }
        for (i, element) in self.0.iter().enumerate() {
            if i > 0 && matches!(element, PathElement::Field(name) if is_bare(name)) {
                f.write_char('.')?;
            }
            write!(f, "{element}")?;
        }
        Ok(())
    }
}

/// Returns true if a field name needs no quotes in a path.
fn is_bare(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| matches!(c, '.' | '[' | ']' | '"') || c.is_whitespace())
}

fn quoted_if(f: &mut fmt::Formatter<'_>, text: &str, special: impl Fn(char) -> bool) -> fmt::Result {
    if text.is_empty() || text.contains(|c: char| special(c) || c.is_whitespace()) {
        return write!(f, "{text:?}");
    }
    f.write_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(fields: &[(&str, PathValue)]) -> PathElement {
        PathElement::Key(fields.iter().map(|(k, v)| (SmolStr::from(*k), v.clone())).collect())
    }

    #[test]
    fn paths_look_like_field_access() {
        let mut path = FieldPath::root().field("spec").field("containers");
        path.push(key(&[("name", PathValue::Str("web".into()))]));
        assert_eq!(path.clone().field("image").to_string(), "spec.containers[name=web].image");
        path.push(PathElement::Field("ports".into()));
        path.push(key(&[
            ("containerPort", PathValue::Number("80".into())),
            ("protocol", PathValue::Str("TCP".into())),
        ]));
        assert_eq!(path.to_string(), "spec.containers[name=web].ports[containerPort=80,protocol=TCP]");
    }

    #[test]
    fn special_names_and_values_are_quoted() {
        let mut path = FieldPath::root().field("metadata").field("annotations");
        path.push(PathElement::Field("example.com/a".into()));
        assert_eq!(path.to_string(), r#"metadata.annotations["example.com/a"]"#);
        let value = PathElement::Value(PathValue::Str("a b".into()));
        assert_eq!(value.to_string(), r#"[="a b"]"#);
        assert_eq!(PathElement::Index(3).to_string(), "[3]");
        assert_eq!(FieldPath::root().to_string(), ".");
    }

    #[test]
    fn path_values_are_typed_data() {
        assert_eq!(PathValue::from_node(&Node::plain("0x10")), Some(PathValue::Number("16".into())));
        assert_eq!(PathValue::from_node(&Node::string("16")), Some(PathValue::Str("16".into())));
        assert_eq!(PathValue::from_node(&Node::plain("~")), Some(PathValue::Null));
        assert_eq!(PathValue::from_node(&Node::list(Vec::new())), None);
    }

    #[test]
    fn entries_with_all_keys_come_before_entries_that_lack_some() {
        let ports: Node = "[{port: 53}, {port: 53, protocol: UDP}, {port: 80}]".parse().expect("YAML");
        let port = |number: &str, protocol: &str| {
            key(&[("port", PathValue::Number(number.into())), ("protocol", PathValue::Str(protocol.into()))])
        };
        assert_eq!(port("53", "UDP").position(&ports), Some(1));
        assert_eq!(port("53", "TCP").position(&ports), Some(0));
        assert_eq!(port("80", "TCP").position(&ports), Some(2));
        assert_eq!(port("81", "TCP").position(&ports), None);
    }
}
