//! The counterpart of a value in a two-way merge, and the metadata that is copied from it.

use crate::merge::Trail;
use crate::merge::kyaml::directive;
use smp_text::yaml::{Comments, Node, Value};

/// The only input that has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Dest: the patch has no such value.
    Dest,
    /// The patch: the value was copied from the patch and is merged with itself.
    Patch,
}

/// The counterpart of a value.
#[derive(Debug)]
pub(super) enum Counterpart<'p> {
    /// None; only this input has a value.
    None(Side),
    /// A value of the patch. Its parts are moved out when they are used.
    Patch(&'p mut Node),
}

impl Counterpart<'_> {
    pub(super) fn patch(&self) -> Option<&Node> {
        if let Self::Patch(node) = self { Some(node) } else { None }
    }
}

pub(super) fn take(node: &mut Node) -> Node {
    std::mem::replace(node, Node::null())
}

/// Copies metadata of the patch to a map or list of dest: comments if the patch has any, and the style if dest is
/// empty.
pub(super) fn adopt_metadata(dest: &mut Node, with: &Counterpart<'_>) {
    let Counterpart::Patch(patch) = with else { return };
    if dest.is_empty_collection() {
        dest.meta.style = patch.meta.style;
    }
    if let Some(theirs) = patch.meta.comments.as_deref() {
        let Comments { head, line, foot, .. } = theirs.clone();
        let mine = dest.meta.comments.get_or_insert_default();
        mine.line = line.or_else(|| mine.line.take());
        if !head.is_empty() {
            mine.head = head;
        }
        if !foot.is_empty() {
            mine.foot = foot;
        }
    }
}

/// Returns an entry of the patch as it must be for the next visit after it was merged: without its directive, and with
/// the scalars of the result. If several entries of dest match, each is merged with the same patch entry.
///
/// In kustomize 5.8, the patch entry and the merged entry share their nodes by accident. Merging one entry of dest
/// therefore changes the patch for the following ones.
pub(super) fn after_visit(mut entry: Node, result: Option<&Node>, trail: &Trail<'_>) -> Node {
    let Value::Map(map) = &mut entry.value else { return entry };
    // Errors in a directive were already reported during the visit.
    directive::take_from_map(map, trail).ok();
    for (key, value) in map.iter_mut().filter(|(_, value)| !value.is_null()) {
        match result.and_then(|result| result.get(key)) {
            Some(merged) if matches!(merged.value, Value::Scalar(_)) => value.clone_from(merged),
            _ => {}
        }
    }
    entry
}
