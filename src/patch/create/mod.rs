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
#[cfg(test)]
mod tests;

pub(super) use apiserver::diff;
pub(super) use parts::PatchPart;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::Rules;
use crate::schema::Cursor;
use crate::yaml::Node;

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
    let patch = match rules {
        Rules::Apiserver => diff(original, modified, kind, PatchPart::Everything)?,
        Rules::Overlay => overlay::diff(original, modified, kind)?,
        Rules::Kustomize { .. } | Rules::Kyaml | Rules::Lossless => {
            let message = "patches are made for the API server and for overlays";
            return Err(Diagnostic::error(Code::Unsupported, message));
        }
    };
    Ok(Node::map(patch))
}
