//! Where Secrets hold what is not told: what a cluster has of them, and what a build had and does not print.

use crate::path::is_within;

/// What stands for a value of a Secret.
pub(super) const HIDDEN: &str = "***";

/// Whether a Secret holds what nobody shall see at a pointer: its data, and kubectl's copy of them.
pub(super) fn is_held(pointer: &str) -> bool {
    ["/data", "/stringData"].into_iter().any(|field| is_within(field, pointer))
        || pointer.ends_with("last-applied-configuration")
}
