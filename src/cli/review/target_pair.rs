//! A target and its paths on both sides of a comparison.

use std::path::PathBuf;

/// A target on both sides.
#[derive(Debug, Clone)]
pub(in crate::cli) struct TargetPair {
    /// The path as displayed.
    pub(in crate::cli) shown: PathBuf,
    /// The path on the old side; `None` if the target does not exist there.
    pub(in crate::cli) old: Option<PathBuf>,
    /// The path on the new side; `None` if the target does not exist there.
    pub(in crate::cli) new: Option<PathBuf>,
}
