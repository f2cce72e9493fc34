//! Making strategic merge patches: as kubectl does, and as overlays need them.
//!
//! Must not know where documents come from.

mod apiserver;
mod keys;
#[cfg(test)]
mod laws;
mod lists;
mod overlay;
mod parts;
mod rekeyed;
#[cfg(test)]
mod tests;

pub(super) use apiserver::{ServerDiff, diff};
pub(super) use keys::CreationRules;
pub(super) use parts::PatchPart;

use crate::merge::PatchRules;
use crate::schema::Cursor;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Makes the patch by which the rules turn `original` into `modified`, objects of a kind; empty when
/// they are equal.
///
/// For the API server as kubectl makes it (apimachinery 0.36, `CreateTwoWayMergePatch`). For overlays
/// entries name all keys where there are several, and an order is given only where the entries would not
/// come out in it anyway.
///
/// A null in `modified` comes out as a removal: a strategic merge patch cannot set a field to null.
///
/// # Errors
/// Entries without their merge key, lists of mixed types, and what differs below a field that the
/// schema does not have, each with its field path.
pub fn create(original: &Node, modified: &Node, kind: Cursor<'_>, rules: PatchRules) -> Result<Node> {
    create_by(original, modified, kind, rules.into())
}

impl From<PatchRules> for CreationRules {
    fn from(rules: PatchRules) -> Self {
        match rules {
            PatchRules::Apiserver => Self::Server,
            PatchRules::Overlay => Self::Overlay,
        }
    }
}

/// As [`create`], by rules that patches can be made for.
///
/// # Errors
/// As [`create`].
pub(super) fn create_by(
    original: &Node,
    modified: &Node,
    kind: Cursor<'_>,
    rules: CreationRules,
) -> Result<Node> {
    let part = PatchPart::Everything;
    Ok(Node::map(match rules {
        CreationRules::Overlay => overlay::diff(original, modified, kind)?,
        _ => diff(original, modified, kind, ServerDiff { part, rules })?,
    }))
}
