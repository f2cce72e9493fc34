//! Walks over all nodes of a tree.

use super::node::{Map, Node, Value};
use crate::source::Span;

impl Node {
    /// The values of a map, or the entries of a list.
    pub(crate) fn children(&self) -> impl DoubleEndedIterator<Item = &Self> {
        let (fields, entries) = match &self.value {
            Value::Map(map) => (map.entries(), &[][..]),
            Value::List(list) => (&[][..], list.as_slice()),
            Value::Scalar(_) => (&[][..], &[][..]),
        };
        fields.iter().map(|entry| &entry.value).chain(entries)
    }

    /// Whether nothing is below it: a scalar, or a map or list without entries.
    pub fn is_leaf(&self) -> bool {
        self.children().next().is_none()
    }

    /// Whether it is a map or list without entries.
    pub fn is_empty_collection(&self) -> bool {
        self.is_leaf() && !matches!(self.value, Value::Scalar(_))
    }

    /// This node and all below it, in the order of a text.
    pub fn nodes(&self) -> impl Iterator<Item = &Self> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let node = open.pop()?;
            open.extend(node.children().rev());
            Some(node)
        })
    }

    /// Changes this node and then all below it.
    pub fn change_each(&mut self, change: &mut impl FnMut(&mut Self)) {
        change(self);
        match &mut self.value {
            Value::Map(map) => map.iter_mut().for_each(|(_, value)| value.change_each(change)),
            Value::List(list) => list.iter_mut().for_each(|entry| entry.change_each(change)),
            Value::Scalar(_) => {}
        }
    }

    /// Drops all places: those of a text that nobody has any more would be taken for those of another one.
    pub fn forget_places(&mut self) {
        self.change_each(&mut |node| {
            node.meta.span = Span::default();
            let keys = node.as_map_mut().into_iter().flat_map(Map::entries_mut);
            keys.for_each(|entry| entry.key.meta.span = Span::default());
        });
    }
}
