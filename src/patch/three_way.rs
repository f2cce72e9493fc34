//! The patch of `kubectl apply` (apimachinery 0.36, `CreateThreeWayMergePatch`): from what was applied
//! last, what shall be, and what the cluster has.

use super::conflict::maps_conflict;
use super::strategic::{Diff, combine, known, map_of};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::Trail;
use crate::schema::Cursor;
use crate::yaml::{Map, Node};

/// How a three-way patch is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreeWayOptions {
    /// Whether the patch may undo what others changed since the last apply; otherwise that is an error.
    pub overwrite: bool,
    /// Whether `apiVersion`, `kind` and `metadata.name` must stay what they are.
    pub same_identity: bool,
}

impl Default for ThreeWayOptions {
    /// As `kubectl apply`: it overwrites, and an object stays what it is.
    fn default() -> Self {
        Self { overwrite: true, same_identity: true }
    }
}

impl ThreeWayOptions {
    /// The same with another answer to whether changes of others are undone.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// The same with another answer to whether the object must stay what it is.
    #[must_use]
    pub fn same_identity(mut self, same_identity: bool) -> Self {
        self.same_identity = same_identity;
        self
    }
}

/// Makes the patch that brings `current` to `modified` and removes what `modified` has no more of
/// `original`. What others added to `current` stays.
///
/// An original that is null counts as empty: nothing was applied before.
///
/// # Errors
/// As for [`create`](super::create); [`Code::Conflict`] where the patch would undo what others changed
/// and must not, or would change what the object is.
pub fn create_three_way(
    original: &Node,
    modified: &Node,
    current: &Node,
    cursor: Cursor<'_>,
    options: &ThreeWayOptions,
) -> Result<Node> {
    let root = Trail::root();
    known(cursor, &root)?;
    let nothing = Map::new();
    let original = if original.is_null() { &nothing } else { map_of(original, &root)? };
    let (modified, current) = (map_of(modified, &root)?, map_of(current, &root)?);
    let diff = |from, to, diff: Diff| diff.maps(from, to, cursor, false, &root);
    let changes = diff(current, modified, Diff { deletions: false, ..Diff::EVERYTHING })?;
    let mut patch = diff(original, modified, Diff { changes: false, ..Diff::EVERYTHING })?;
    combine(&mut patch, &changes, cursor, &root)?;
    if options.same_identity {
        keeps_identity(&patch, &root)?;
    }
    if !options.overwrite {
        let others = diff(original, current, Diff { order: false, ..Diff::EVERYTHING })?;
        if let Some(conflict) = maps_conflict(&patch, &others, cursor, &root)? {
            return Err(conflict);
        }
    }
    Ok(Node::map(patch))
}

fn keeps_identity(patch: &Map, at: &Trail<'_>) -> Result<()> {
    let changed = |name: &str, node: &Node| -> Diagnostic {
        Diagnostic::error(Code::Conflict, format!("the patch would change `{name}`, which names the object"))
            .field(at.path().field(name))
            .at(node.span())
    };
    for name in ["apiVersion", "kind"] {
        if let Some(node) = patch.get(name) {
            return Err(changed(name, node));
        }
    }
    match patch.get("metadata").and_then(|metadata| metadata.get("name")) {
        Some(node) => Err(changed("metadata.name", node)),
        None => Ok(()),
    }
}
