//! Creates strategic merge patches as kubectl does, and patches for overlays.
//!
//! This module must not depend on the origin of documents.

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

pub(super) use apiserver::{ServerPatchOptions, diff};
pub(super) use keys::CreationRules;
pub(super) use parts::PatchPart;

use crate::merge::PatchRules;
use crate::schema::Cursor;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Creates the patch that turns `original` into `modified`, two objects of the same kind, under the given rules. The
/// patch is empty if they are equal.
///
/// For the API server, the patch is the one that kubectl creates (apimachinery 0.36, `CreateTwoWayMergePatch`). For
/// overlays, entries contain all keys if there are several. An order is set only if the entries would otherwise have a
/// different one.
///
/// A null in `modified` becomes a removal, because a strategic merge patch cannot set a field to null.
///
/// # Errors
/// An entry lacks its merge key, a list has mixed types, or there is a difference below a field that the schema lacks.
/// Errors have a field path.
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

/// Creates a patch like [`create`], by creation rules.
///
/// # Errors
/// The errors of [`create`].
pub(super) fn create_by(
    original: &Node,
    modified: &Node,
    kind: Cursor<'_>,
    rules: CreationRules,
) -> Result<Node> {
    let part = PatchPart::Everything;
    Ok(Node::map(match rules {
        CreationRules::Overlay => overlay::diff(original, modified, kind)?,
        _ => diff(original, modified, kind, ServerPatchOptions { part, rules })?,
    }))
}
