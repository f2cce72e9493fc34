//! What a value is merged with in a two-way merge, and what it takes over beside the content.

use crate::merge::Trail;
use crate::merge::kyaml::directive;
use smp_text::yaml::{Comments, Node, Value};

/// The side that has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Dest alone: the patch does not reach here.
    Dest,
    /// The patch: the value came from there as a whole and is merged with itself.
    Patch,
}

/// What a value is merged with.
#[derive(Debug)]
pub(super) enum Counterpart<'p> {
    /// No other value; only this side has one.
    None(Side),
    /// A value of the patch. What of it is taken is moved out.
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

/// What a map or list of dest takes from the patch's beside the content: comments where the patch
/// has them, and the layout where dest is empty.
pub(super) fn adopt(dest: &mut Node, with: &Counterpart<'_>) {
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

/// What is left of an entry of the patch that was merged into dest's and that may be visited again:
/// its directive is gone, and it has the scalars of the result.
///
/// In kustomize 5.8 the two share their nodes by accident.
pub(super) fn after_visit(mut entry: Node, result: Option<&Node>, trail: &Trail<'_>) -> Node {
    let Value::Map(map) = &mut entry.value else { return entry };
    // What is wrong with a directive was said during the visit.
    directive::take_from_map(map, trail).ok();
    for (key, value) in map.iter_mut().filter(|(_, value)| !value.is_null()) {
        match result.and_then(|result| result.get(key)) {
            Some(merged) if matches!(merged.value, Value::Scalar(_)) => value.clone_from(merged),
            _ => {}
        }
    }
    entry
}
