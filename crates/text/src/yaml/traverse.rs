//! Traversal of all nodes of a tree.

use super::node::{Map, Node, Value};
use crate::source::Span;

impl Node {
    /// Iterates over the values of a map or the entries of a list.
    pub(crate) fn children(&self) -> impl DoubleEndedIterator<Item = &Self> {
        let (fields, entries) = match &self.value {
            Value::Map(map) => (map.entries(), &[][..]),
            Value::List(list) => (&[][..], list.as_slice()),
            Value::Scalar(_) => (&[][..], &[][..]),
        };
        fields.iter().map(|entry| &entry.value).chain(entries)
    }

    /// Returns true for a scalar, and for an empty map or list.
    pub fn is_leaf(&self) -> bool {
        self.children().next().is_none()
    }

    /// Returns true for an empty map or list.
    pub fn is_empty_collection(&self) -> bool {
        self.is_leaf() && !matches!(self.value, Value::Scalar(_))
    }

    /// Iterates over this node and all nodes below it, in source order.
    pub fn nodes(&self) -> impl Iterator<Item = &Self> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let node = open.pop()?;
            open.extend(node.children().rev());
            Some(node)
        })
    }

    /// Changes this node and then all nodes below it.
    pub fn for_each_mut(&mut self, change: &mut impl FnMut(&mut Self)) {
        change(self);
        match &mut self.value {
            Value::Map(map) => map.iter_mut().for_each(|(_, value)| value.for_each_mut(change)),
            Value::List(list) => list.iter_mut().for_each(|entry| entry.for_each_mut(change)),
            Value::Scalar(_) => {}
        }
    }

    /// Clears all source locations, since locations in a discarded text could be mistaken for those in another text.
    pub fn clear_locations(&mut self) {
        self.for_each_mut(&mut |node| {
            node.meta.span = Span::default();
            let keys = node.as_map_mut().into_iter().flat_map(Map::entries_mut);
            keys.for_each(|entry| entry.key.meta.span = Span::default());
        });
    }
}
