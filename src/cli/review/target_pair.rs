//! A target on both sides of a comparison.

use std::path::PathBuf;

/// A target on both sides.
#[derive(Debug, Clone)]
pub(in crate::cli) struct TargetPair {
    /// The path as it is shown.
    pub(in crate::cli) shown: PathBuf,
    /// The path on the old side; none if it does not exist there.
    pub(in crate::cli) old: Option<PathBuf>,
    /// The path on the new side; none if it does not exist there.
    pub(in crate::cli) new: Option<PathBuf>,
}
