//! The result of a merge.

use std::fmt;

use smp_text::diagnostic::Diagnostic;
use smp_text::path::FieldPath;
use smp_text::yaml::Node;

/// A merged object, as a tree or a `serde_json` value, with warnings and conflicts.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Merged<T = Node> {
    /// The result; `None` if the object is deleted. An object that only lost all its fields is an empty map.
    pub node: Option<T>,
    /// Warnings about changes that may be unintended, such as a list that was replaced because it has no schema.
    pub warnings: Vec<Diagnostic>,
    /// The conflicts of the merge, in the order of the walk.
    pub conflicts: Vec<Conflict<T>>,
}

impl Merged {
    /// Creates a result without warnings and conflicts.
    pub fn from_node(node: Option<Node>) -> Self {
        Self { node, warnings: Vec::new(), conflicts: Vec::new() }
    }
}

/// A field that `updated` and `dest` changed to different values. In a two-way merge, it is a field with different
/// types (map, list or scalar) in the two versions.
///
/// A value is `None` if its version lacks the field. A [`Node`] has its source location ([`Node::span`]). `Debug` omits
/// the values, because values of a Secret must not be logged.
///
/// ```
/// use serde_json::json;
/// use strategic_merge_patch::merge::{MergeOptions, json};
/// use strategic_merge_patch::schema::Schema;
///
/// let [original, updated, dest] = [json!({"size": 1}), json!({"size": 2}), json!({"size": 3})];
/// let merged = json::merge3(&original, &updated, &dest, &Schema::empty(), &MergeOptions::default())?;
/// let conflict = &merged.conflicts[0];
/// assert_eq!((conflict.original.as_ref(), conflict.updated.as_ref()), (Some(&json!(1)), Some(&json!(2))));
/// assert_eq!(conflict.dest, Some(json!(3)));
/// # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Conflict<T = Node> {
    /// The path of the field.
    pub path: FieldPath,
    /// The value before the changes.
    pub original: Option<T>,
    /// The value in the updated version.
    pub updated: Option<T>,
    /// The value in dest.
    pub dest: Option<T>,
    /// True for a list that is replaced only because no schema defines how its entries merge.
    pub unknown_list: bool,
    /// The input whose value is in the result, or that removed the value.
    pub winner: ConflictSide,
}

impl<T> Conflict<T> {
    /// Returns the conflict with its values converted.
    pub(super) fn map<U>(self, convert: impl Fn(T) -> U) -> Conflict<U> {
        let Self { path, original, updated, dest, unknown_list, winner: taken } = self;
        let [original, updated, dest] = [original, updated, dest].map(|value| value.map(&convert));
        Conflict { path, original, updated, dest, unknown_list, winner: taken }
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
            .field("taken", &self.winner)
            .finish()
    }
}

/// One of the two inputs of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConflictSide {
    /// The updated version. In a two-way merge, the source.
    Updated,
    /// Dest.
    Dest,
}
