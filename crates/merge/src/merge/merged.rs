//! What a merge gives back.

use std::fmt;

use smp_text::diagnostic::Diagnostic;
use smp_text::path::FieldPath;
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
    pub conflicts: Vec<Conflict<T>>,
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
/// A value is none where a side does not have the field. As a [`Node`], it has the location at which it was read:
/// [`Node::span`]. `Debug` leaves the values out, because those of a Secret must not get into logs.
///
/// ```
/// use serde_json::json;
/// use strategic_merge_patch::merge::{MergeOptions, json};
/// use strategic_merge_patch::schema::Schema;
///
/// let [original, updated, dest] = [json!({"size": 1}), json!({"size": 2}), json!({"size": 3})];
/// let merged = json::merge3(&original, &updated, &dest, &Schema::none(), &MergeOptions::default())?;
/// let conflict = &merged.conflicts[0];
/// assert_eq!((conflict.original.as_ref(), conflict.updated.as_ref()), (Some(&json!(1)), Some(&json!(2))));
/// assert_eq!(conflict.dest, Some(json!(3)));
/// # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Conflict<T = Node> {
    /// The field.
    pub path: FieldPath,
    /// Its value before the changes.
    pub original: Option<T>,
    /// Its value in the updated version.
    pub updated: Option<T>,
    /// Its value in dest.
    pub dest: Option<T>,
    /// Whether it is a list that is one value only because no schema says how its entries are merged.
    pub unknown_list: bool,
    /// Whose value the result has, or who decided that it has none.
    pub taken: ConflictSide,
}

impl<T> Conflict<T> {
    /// Returns the conflict with its values converted.
    pub(super) fn map<U>(self, convert: impl Fn(T) -> U) -> Conflict<U> {
        let Self { path, original, updated, dest, unknown_list, taken } = self;
        let [original, updated, dest] = [original, updated, dest].map(|value| value.map(&convert));
        Conflict { path, original, updated, dest, unknown_list, taken }
    }
}

impl<T> fmt::Debug for Conflict<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides = [("original", &self.original), ("updated", &self.updated), ("dest", &self.dest)];
        let present: Vec<&str> =
            sides.into_iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name).collect();
        f.debug_struct("Conflict")
            .field("path", &self.path)
            .field("present_in", &present)
            .field("unknown_list", &self.unknown_list)
            .field("taken", &self.taken)
            .finish()
    }
}

/// One side of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConflictSide {
    /// The updated version, in a two-way merge the source.
    Updated,
    /// Dest.
    Dest,
}
