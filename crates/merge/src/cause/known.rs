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
    /// The last write of the first value in it.
    pub(crate) fn first_write(&self) -> Option<&Write> {
        match self {
            Self::Leaf(writes) => writes.first(),
            Self::Map(fields) => fields.iter().find_map(|(_, value)| value.first_write()),
            Self::List(entries) => entries.iter().find_map(|(_, value)| value.first_write()),
        }
    }
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
