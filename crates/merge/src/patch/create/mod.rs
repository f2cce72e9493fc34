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

use crate::merge::Rules;
use crate::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic, Result};
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
/// schema does not have, each with its field path. Rules that no patch can be made for.
pub fn create(original: &Node, modified: &Node, kind: Cursor<'_>, rules: Rules) -> Result<Node> {
    create_by(original, modified, kind, CreationRules::of(rules)?)
}

impl CreationRules {
    /// Returns the rules for patches that are applied by `rules`.
    ///
    /// # Errors
    /// Rules that no patch can be made for.
    pub(super) fn of(rules: Rules) -> Result<Self> {
        match rules {
            Rules::Apiserver => Ok(Self::Server),
            Rules::Overlay => Ok(Self::Overlay),
            Rules::Kustomize { .. } | Rules::Kyaml | Rules::Lossless => {
                let message = "patches are made for the API server and for overlays";
                Err(Diagnostic::error(Code::Unsupported, message))
            }
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
