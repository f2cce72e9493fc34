//! What of Secrets is not told: what a cluster has of them, and what a build had and does not print.

use super::blame::{BlamedWrite, ResourceBlame};
use crate::yaml::Node;

/// What stands for a value of a Secret.
pub(super) const HIDDEN: &str = "***";

/// Whether a Secret holds what nobody shall see at a pointer: its data, and kubectl's copy of them.
pub(super) fn is_held(pointer: &str) -> bool {
    let is_below = |field: &str| {
        pointer.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    ["/data", "/stringData"].into_iter().any(is_below) || pointer.ends_with("last-applied-configuration")
}

/// Hides the values of a Secret that are not in what is built: older ones, and those that were removed.
pub(super) fn hide_former(resource: &mut ResourceBlame) {
    if !is_or_was_secret(resource) {
        return;
    }
    let hide = |write: &mut BlamedWrite| write.value = Node::string(HIDDEN);
    for field in resource.fields.iter_mut().filter(|field| is_held(&field.pointer)) {
        field.writes.iter_mut().skip(1).for_each(hide);
    }
    let removed = resource.removed.iter_mut().filter(|removal| is_held(&removal.pointer));
    removed.for_each(|removal| hide(&mut removal.last));
}

fn is_or_was_secret(resource: &ResourceBlame) -> bool {
    let gvk = &resource.id.gvk;
    let is_secret = |write: &BlamedWrite| write.value.scalar_text().is_some_and(|kind| kind == "Secret");
    let kind = || resource.fields.iter().find(|field| field.pointer == "/kind");
    (gvk.group.is_empty() && gvk.kind == "Secret")
        || kind().is_some_and(|kind| kind.writes.iter().skip(1).any(is_secret))
}
