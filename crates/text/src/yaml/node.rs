//! The tree of nodes. Maps keep the order of their fields, and every node has its source location.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::meta::{Meta, Style, Tag};
use super::scalar::{Resolved, resolve};
use crate::source::Span;

/// A scalar's text, a map, or a list.
#[derive(Debug, Clone)]
pub enum Value {
    /// The text after escapes were decoded. [`Node::resolve`] returns its type.
    Scalar(SmolStr),
    /// A mapping.
    Map(Map),
    /// A sequence.
    List(List),
}

/// A sequence of nodes.
pub type List = Vec<Node>;

/// A value and its metadata.
///
/// ```
/// use smp_text::yaml::{Node, to_yaml};
/// use serde_json::json;
///
/// let mut node: Node = "spec: {replicas: 0x10, paused: no} # off\n".parse()?;
/// assert_eq!(node.to_json_value(), json!({"spec": {"replicas": 16, "paused": false}}));
/// if let Some(spec) = node.get_mut("spec").and_then(Node::as_map_mut) {
///     spec.insert("replicas", Node::int(3));
/// }
/// assert_eq!(to_yaml(&node)?, "spec:\n  paused: false\n  replicas: 3\n");
/// assert_eq!(node, Node::from(&json!({"spec": {"replicas": 3, "paused": false}})), "equal by their data");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Location, style, tag and comments.
    pub meta: Meta,
}

/// A key of a map.
#[derive(Debug, Clone)]
pub struct Key {
    /// The text.
    pub text: SmolStr,
    /// Location, style, tag and comments. Comments above a field belong to its key.
    pub meta: Meta,
}

/// A field of a map.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name of the field.
    pub key: Key,
    /// The value of the field.
    pub value: Node,
}

/// A mapping that keeps the order of its fields.
///
/// Single lookups use linear search, since maps are nearly always small. Use [`Map::index`] to look up many fields in
/// one map.
#[derive(Debug, Clone, Default)]
pub struct Map {
    entries: Vec<Entry>,
}

/// An index for repeated lookups in one map.
#[derive(Debug)]
pub enum MapIndex<'m> {
    /// A small map: linear search is faster than hashing.
    Small(&'m [Entry]),
    /// A large map: a hash table.
    Large(FxHashMap<&'m str, usize>),
}

/// The largest map for which linear search is faster than a hash table.
const MAX_LINEAR_SEARCH: usize = 16;

impl MapIndex<'_> {
    /// Returns the index of a field.
    #[must_use]
    pub fn position(&self, key: &str) -> Option<usize> {
        match self {
            Self::Small(entries) => entries.iter().position(|e| e.key.text == key),
            Self::Large(table) => table.get(key).copied(),
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self { text: text.into(), meta: Meta::default() }
    }
}

impl From<SmolStr> for Key {
    fn from(text: SmolStr) -> Self {
        Self { text, meta: Meta::default() }
    }
}

impl Map {
    /// Creates an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the map has no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the fields in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns a mutable reference to the fields in order. Keys must remain distinct.
    pub fn entries_mut(&mut self) -> &mut Vec<Entry> {
        &mut self.entries
    }

    /// Returns the index of a field.
    #[must_use]
    pub fn position(&self, key: &str) -> Option<usize> {
        // In most large maps, the names differ in their last byte or their length.
        let last = key.as_bytes().last();
        self.entries.iter().position(|e| e.key.text.as_bytes().last() == last && e.key.text == key)
    }

    /// Creates an index for repeated lookups.
    #[must_use]
    pub fn index(&self) -> MapIndex<'_> {
        if self.entries.len() <= MAX_LINEAR_SEARCH {
            return MapIndex::Small(&self.entries);
        }
        MapIndex::Large(self.entries.iter().enumerate().map(|(i, e)| (e.key.text.as_str(), i)).collect())
    }

    /// Returns the value of a field.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|e| e.key.text == key).map(|e| &e.value)
    }

    /// Returns a mutable reference to the value of a field.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|e| e.key.text == key).map(|e| &mut e.value)
    }

    /// Returns a field with its key.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key.text == key)
    }

    /// Returns true if the field exists, even with a null value.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    /// Appends a field. The caller guarantees that the key is new.
    pub fn push(&mut self, key: impl Into<Key>, value: Node) {
        // Parsed maps have no spare capacity. Only one field is reserved, so that a small map does not double in size:
        // many small maps get a single additional field.
        let length = self.entries.len();
        if length == self.entries.capacity() && (1..MAX_LINEAR_SEARCH).contains(&length) {
            self.entries.reserve_exact(1);
        }
        self.entries.push(Entry { key: key.into(), value });
    }

    /// Sets the value of a field at its current position, or appends the field. Returns the former value.
    pub fn insert(&mut self, key: impl Into<Key>, value: Node) -> Option<Node> {
        let key = key.into();
        if let Some(old) = self.get_mut(&key.text) {
            return Some(std::mem::replace(old, value));
        }
        self.push(key, value);
        None
    }

    /// Returns the value of a field. Appends the field if it does not exist.
    pub fn get_or_insert_with(&mut self, key: &str, value: impl FnOnce() -> Node) -> &mut Node {
        let i = self.position(key).unwrap_or_else(|| {
            self.push(key, value());
            self.entries.len() - 1
        });
        &mut self.entries[i].value
    }

    /// Removes a field and keeps the order of the others.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        self.position(key).map(|i| self.entries.remove(i).value)
    }

    /// Iterates over names and values in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Node)> + DoubleEndedIterator {
        self.entries.iter().map(|e| (e.key.text.as_str(), &e.value))
    }

    /// Iterates over names and mutable values in order.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&str, &mut Node)> {
        self.entries.iter_mut().map(|e| (e.key.text.as_str(), &mut e.value))
    }
}

impl From<Vec<Entry>> for Map {
    /// Creates a map from fields with distinct keys.
    fn from(entries: Vec<Entry>) -> Self {
        Self { entries }
    }
}

impl<K: Into<Key>> FromIterator<(K, Node)> for Map {
    /// Creates a map from fields with distinct keys.
    fn from_iter<I: IntoIterator<Item = (K, Node)>>(fields: I) -> Self {
        Self { entries: fields.into_iter().map(|(k, value)| Entry { key: k.into(), value }).collect() }
    }
}

impl IntoIterator for Map {
    type Item = Entry;
    type IntoIter = std::vec::IntoIter<Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl Node {
    fn scalar(text: SmolStr, tag: Tag) -> Self {
        Self { value: Value::Scalar(text), meta: Meta { tag, ..Meta::default() } }
    }

    /// Creates a string, whatever its text is.
    #[must_use]
    pub fn string(text: impl Into<SmolStr>) -> Self {
        Self::scalar(text.into(), Tag::Str)
    }

    /// Creates a scalar whose type is determined by its text, as if it was written without quotes.
    #[must_use]
    pub fn plain(text: impl Into<SmolStr>) -> Self {
        Self::scalar(text.into(), Tag::None)
    }

    /// Creates a scalar whose type is determined by its text only when it is printed: [`Tag::Undecided`].
    #[must_use]
    pub fn undecided(text: impl Into<SmolStr>) -> Self {
        Self::scalar(text.into(), Tag::Undecided)
    }

    /// Creates an integer.
    #[must_use]
    pub fn int(value: i64) -> Self {
        Self::scalar(smol_str::format_smolstr!("{value}"), Tag::Int)
    }

    /// Creates the null scalar.
    #[must_use]
    pub fn null() -> Self {
        Self::scalar(SmolStr::new_static("null"), Tag::Null)
    }

    /// Creates a map.
    #[must_use]
    pub fn map(map: Map) -> Self {
        Self { value: Value::Map(map), meta: Meta { style: Style::Block, ..Meta::default() } }
    }

    /// Creates a list.
    #[must_use]
    pub fn list(list: List) -> Self {
        Self { value: Value::List(list), meta: Meta { style: Style::Block, ..Meta::default() } }
    }

    /// Sets the source location of the value.
    #[must_use]
    pub fn with_span(mut self, span: Span) -> Self {
        self.meta.span = span;
        self
    }

    /// Returns the source location of the value.
    #[must_use]
    pub fn span(&self) -> Span {
        self.meta.span
    }

    /// Returns the map, if the node is one.
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        if let Value::Map(map) = &self.value { Some(map) } else { None }
    }

    /// Returns a mutable reference to the map, if the node is one.
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        if let Value::Map(map) = &mut self.value { Some(map) } else { None }
    }

    /// Applies `change` to the last scalar, empty map or empty list in the tree.
    pub(in crate::yaml) fn change_last_leaf(&mut self, change: impl FnOnce(&mut Self)) {
        let last = match &mut self.value {
            Value::Scalar(_) => None,
            Value::List(list) => list.last_mut(),
            Value::Map(map) => map.entries_mut().last_mut().map(|entry| &mut entry.value),
        };
        match last {
            Some(last) => last.change_last_leaf(change),
            None => change(self),
        }
    }

    /// Returns the list, if the node is one.
    #[must_use]
    pub fn as_list(&self) -> Option<&List> {
        if let Value::List(list) = &self.value { Some(list) } else { None }
    }

    /// Returns a mutable reference to the list, if the node is one.
    pub fn as_list_mut(&mut self) -> Option<&mut List> {
        if let Value::List(list) = &mut self.value { Some(list) } else { None }
    }

    /// Returns the text of a scalar of any type.
    #[must_use]
    pub fn scalar_text(&self) -> Option<&SmolStr> {
        if let Value::Scalar(text) = &self.value { Some(text) } else { None }
    }

    /// Returns the text of a string scalar, or `None` for numbers, booleans, nulls, maps and lists.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self.resolve()? {
            Resolved::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the typed value of a scalar, or `None` for maps and lists.
    #[must_use]
    pub fn resolve(&self) -> Option<Resolved<'_>> {
        self.scalar_text().map(|text| resolve(text, self.meta.style, self.meta.tag))
    }

    /// Returns true for the null scalar. A scalar that a program set without a type ([`Tag::Undecided`]) is not null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.meta.tag != Tag::Undecided && matches!(self.resolve(), Some(Resolved::Null))
    }

    /// Returns the value of a field, or `None` if the field does not exist or the node is not a map.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map().and_then(|map| map.get(key))
    }

    /// Returns a mutable reference to the value of a field.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.as_map_mut().and_then(|map| map.get_mut(key))
    }

    /// Returns the value at a path of field names.
    #[must_use]
    pub fn get_path(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the type for use in messages, such as "a map", "a list", "null" or "a string".
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match &self.value {
            Value::Map(_) => "a map",
            Value::List(_) => "a list",
            Value::Scalar(_) => self.resolve().map_or("a scalar", |r| r.type_name()),
        }
    }
}

impl From<bool> for Node {
    fn from(value: bool) -> Self {
        Self::scalar(SmolStr::new_static(if value { "true" } else { "false" }), Tag::Bool)
    }
}

impl PartialEq for Node {
    /// Compares the data: typed scalars, lists in order, maps in any order. Metadata is ignored.
    fn eq(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Scalar(_), Value::Scalar(_)) => self.resolve() == other.resolve(),
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Map(a), Value::Map(b)) => a == b,
            _ => false,
        }
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        let index = other.index();
        self.iter().enumerate().all(|(i, (key, value))| {
            // In most cases, the compared maps have the same order.
            let at = if other.entries[i].key.text == key { Some(i) } else { index.position(key) };
            at.is_some_and(|at| other.entries[at].value == *value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_equal_in_any_order_and_by_type() {
        let a = Node::map([("x", Node::int(1)), ("y", Node::string("1"))].into_iter().collect());
        let b = Node::map([("y", Node::string("1")), ("x", Node::plain("1"))].into_iter().collect());
        assert_eq!(a, b);
        let c = Node::map([("y", Node::int(1)), ("x", Node::int(1))].into_iter().collect());
        assert_ne!(a, c);
    }

    #[test]
    fn insert_keeps_the_position() {
        let mut map: Map = [("a", Node::int(1)), ("b", Node::int(2))].into_iter().collect();
        assert_eq!(map.insert("a", Node::int(3)), Some(Node::int(1)));
        assert_eq!(map.insert("c", Node::int(4)), None);
        let keys: Vec<_> = map.iter().map(|(k, _)| k.to_string()).collect();
        assert_eq!(keys, ["a", "b", "c"]);
    }

    #[test]
    fn large_maps_are_indexed() {
        let map: Map = (0..100).map(|i| (SmolStr::from(format!("k{i}")), Node::int(i))).collect();
        let index = map.index();
        assert!(matches!(index, MapIndex::Large(_)));
        assert_eq!(index.position("k73"), Some(73));
        assert_eq!(index.position("nope"), None);
    }

    #[test]
    fn nodes_stay_small() {
        assert!(size_of::<Node>() <= 64, "{}", size_of::<Node>());
        assert!(size_of::<Entry>() <= 120, "{}", size_of::<Entry>());
    }
}
