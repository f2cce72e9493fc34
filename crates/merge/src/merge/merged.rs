//! What a merge gives back.

use smp_text::diagnostic::Diagnostic;
use smp_text::path::FieldPath;
use smp_text::source::Span;
use smp_text::yaml::Node;

/// A merged object, a tree or a `serde_json` value, and what is to be said of it.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Merged<T = Node> {
    /// The result. None when the object is deleted; one that only lost all its fields is an empty map.
    pub node: Option<T>,
    /// What was done and perhaps not meant, such as a list that was replaced for want of a schema.
    pub warnings: Vec<Diagnostic>,
    /// What both sides of a three-way merge changed, in the order in which it was met.
    pub conflicts: Vec<Conflict>,
}

impl Merged {
    /// A result of which there is nothing to say.
    pub fn of(node: Option<Node>) -> Self {
        Self { node, warnings: Vec::new(), conflicts: Vec::new() }
    }
}

/// A field that both sides changed, and not to the same value; in a two-way merge one that is a map, list or
/// scalar in the one and something else in the other.
///
/// The places are those of the field's values; none where a side does not have the field. Of objects that were read
/// from no text, they are [no places](Span::is_none).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The field.
    pub path: FieldPath,
    /// Its value before the changes.
    pub original: Option<Span>,
    /// Its value in the updated version.
    pub updated: Option<Span>,
    /// Its value in dest.
    pub dest: Option<Span>,
    /// Whether it is a list that is one value only because no schema says how its entries are merged.
    pub unknown_list: bool,
    /// Whose value the result has, or who decided that it has none.
    pub taken: ConflictSide,
}

/// One side of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConflictSide {
    /// The updated version, in a two-way merge the source.
    Updated,
    /// Dest.
    Dest,
}
