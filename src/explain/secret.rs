//! Where Secrets hold what is not told: what a cluster has of them, and what a build had and does not print.

/// What stands for a value of a Secret.
pub(super) const HIDDEN: &str = "***";

/// Whether a Secret holds what nobody shall see at a pointer: its data, and kubectl's copy of them.
pub(super) fn is_held(pointer: &str) -> bool {
    let is_below = |field: &str| {
        pointer.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    ["/data", "/stringData"].into_iter().any(is_below) || pointer.ends_with("last-applied-configuration")
}
