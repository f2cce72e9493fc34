//! The history of one value.

use std::sync::Arc;

use smol_str::SmolStr;

use super::writer::{Cause, LocationKeeping, Writer};
use smp_text::source::Span;
use smp_text::yaml::{Entry, Meta, Node, Value};

/// One write of a leaf: a scalar, or an empty map or list.
#[derive(Debug, Clone)]
pub struct Write {
    /// The value.
    pub value: Node,
    /// The value's location; empty for a computed value.
    pub at: Span,
    /// The step or entry that wrote the value.
    pub by: Cause,
}

/// The history of one value.
#[derive(Debug, Clone)]
pub enum ValueHistory {
    /// The writes of a scalar or of an empty map or list, newest first.
    Leaf(Vec<Write>),
    /// The fields of a map.
    Map(Vec<(SmolStr, ValueHistory)>),
    /// The entries of a list, each with its location when it was last recorded.
    List(Vec<(Span, ValueHistory)>),
}

impl ValueHistory {
    /// Returns the histories of a map's fields or of a list's entries.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = &Self> {
        let (fields, entries) = match self {
            Self::Map(fields) => (fields.as_slice(), &[][..]),
            Self::List(entries) => (&[][..], entries.as_slice()),
            Self::Leaf(_) => (&[][..], &[][..]),
        };
        fields.iter().map(|(_, value)| value).chain(entries.iter().map(|(_, value)| value))
    }

    /// Returns the writes of each leaf of this value, in the order of the leaves. The writes of a leaf are sorted, the
    /// newest first.
    pub fn leaves(&self) -> impl Iterator<Item = &[Write]> {
        let mut open = vec![self];
        let mut known = std::iter::from_fn(move || {
            let known = open.pop()?;
            open.extend(known.children().rev());
            Some(known)
        });
        std::iter::from_fn(move || {
            known
                .find_map(|known| if let Self::Leaf(writes) = known { Some(writes.as_slice()) } else { None })
        })
    }

    /// Returns the last write of the first leaf in this value.
    pub(crate) fn last_write(&self) -> Option<&Write> {
        self.leaves().find_map(<[Write]>::first)
    }
}

/// Returns the writes of one leaf that changed its value. Writing the same value again is not a change.
pub fn changes(writes: &[Write]) -> impl Iterator<Item = &Write> {
    let is_same = |i: usize| writes.get(i + 1).is_some_and(|older| older.value == writes[i].value);
    writes.iter().enumerate().filter(move |(i, _)| !is_same(*i)).map(|(_, write)| write)
}

/// A removed value.
#[derive(Debug, Clone)]
pub struct RemovedValue {
    /// The JSON pointer of the removed value.
    pub pointer: String,
    /// The history of the value.
    pub value: ValueHistory,
    /// The step or entry that removed the value.
    pub by: Cause,
}

/// Returns the history of a value that a step has just written.
pub(super) fn new_value(node: &Node, writer: &Arc<Writer>) -> ValueHistory {
    match &node.value {
        Value::Map(map) if !map.is_empty() => {
            ValueHistory::Map(map.entries().iter().map(|entry| new_field(entry, writer)).collect())
        }
        Value::List(list) if !list.is_empty() => {
            ValueHistory::List(list.iter().map(|entry| (entry.span(), new_value(entry, writer))).collect())
        }
        _ => ValueHistory::Leaf(vec![new_write(node, kept_location(node, writer), writer)]),
    }
}

pub(super) fn new_field(entry: &Entry, writer: &Arc<Writer>) -> (SmolStr, ValueHistory) {
    (entry.key.text.clone(), new_value(&entry.value, writer))
}

fn kept_location(node: &Node, writer: &Writer) -> Span {
    match writer.locations {
        LocationKeeping::Kept => node.span(),
        LocationKeeping::Lost => Span::default(),
    }
}

pub(super) fn new_write(node: &Node, at: Span, writer: &Arc<Writer>) -> Write {
    let Meta { span, style, tag, is_aliased, shared_group, comments: _ } = node.meta;
    let meta = Meta { span, style, tag, is_aliased, shared_group, comments: None };
    let value = Node { value: node.value.clone(), meta };
    Write { at, by: Cause::new(writer, node.span()), value }
}
