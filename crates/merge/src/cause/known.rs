//! What is known of one value.

use std::sync::Arc;

use smol_str::SmolStr;

use super::writer::{Cause, PlaceKeeping, Writer};
use smp_text::source::Span;
use smp_text::yaml::{Entry, Node, Value};

/// A value at the end of a path: a scalar, or a map or list that has nothing in it.
#[derive(Debug, Clone)]
pub struct Write {
    /// The value.
    pub value: Node,
    /// Where it stands; no place for what was computed.
    pub at: Span,
    /// What wrote it.
    pub by: Cause,
}

/// The history of one value.
#[derive(Debug, Clone)]
pub enum KnownValue {
    /// A value at the end of a path: the present one first, then the older ones, the newest first.
    Leaf(Vec<Write>),
    /// The fields of a map.
    Map(Vec<(SmolStr, KnownValue)>),
    /// The entries of a list, each with the place where it stood when it was last looked at.
    List(Vec<(Span, KnownValue)>),
}

impl KnownValue {
    /// The histories of the fields of a map, or of the entries of a list.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = &Self> {
        let (fields, entries) = match self {
            Self::Map(fields) => (fields.as_slice(), &[][..]),
            Self::List(entries) => (&[][..], entries.as_slice()),
            Self::Leaf(_) => (&[][..], &[][..]),
        };
        fields.iter().map(|(_, value)| value).chain(entries.iter().map(|(_, value)| value))
    }

    /// The writes of each value in it, those of one value from the present one back.
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

    /// The last write of the first value in it.
    pub(crate) fn first_write(&self) -> Option<&Write> {
        self.leaves().find_map(<[Write]>::first)
    }
}

/// The writes of one value that made another one of it: to write the same once more changes nothing.
pub fn changes(writes: &[Write]) -> impl Iterator<Item = &Write> {
    let is_same = |i: usize| writes.get(i + 1).is_some_and(|older| older.value == writes[i].value);
    writes.iter().enumerate().filter(move |(i, _)| !is_same(*i)).map(|(_, write)| write)
}

/// Something that is no more.
#[derive(Debug, Clone)]
pub struct RemovedValue {
    /// The JSON pointer to where it was.
    pub pointer: String,
    /// What it was.
    pub value: KnownValue,
    /// What removed it.
    pub by: Cause,
}

/// The history of a value that a step has written.
pub(super) fn written(node: &Node, writer: &Arc<Writer>) -> KnownValue {
    match &node.value {
        Value::Map(map) if !map.is_empty() => {
            KnownValue::Map(map.entries().iter().map(|entry| field(entry, writer)).collect())
        }
        Value::List(list) if !list.is_empty() => {
            KnownValue::List(list.iter().map(|entry| (entry.span(), written(entry, writer))).collect())
        }
        _ => KnownValue::Leaf(vec![write(node, place(node, writer), writer)]),
    }
}

pub(super) fn field(entry: &Entry, writer: &Arc<Writer>) -> (SmolStr, KnownValue) {
    (entry.key.text.clone(), written(&entry.value, writer))
}

fn place(node: &Node, writer: &Writer) -> Span {
    match writer.places {
        PlaceKeeping::Kept => node.span(),
        PlaceKeeping::Lost => Span::default(),
    }
}

pub(super) fn write(node: &Node, at: Span, writer: &Arc<Writer>) -> Write {
    let mut value = node.clone();
    value.meta.comments = None;
    Write { at, by: Cause::new(writer, node.span()), value }
}
