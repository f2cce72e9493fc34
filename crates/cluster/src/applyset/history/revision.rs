//! Revisions of a set.

/// A revision of a set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Revision {
    /// The number of the revision, starting at 1.
    pub number: u64,
    /// The time of the apply in RFC 3339.
    pub time: String,
    /// Number of objects.
    pub objects: usize,
    /// Compressed size in bytes.
    pub size: usize,
    /// The number of Secrets in which the revision is stored.
    pub chunks: usize,
    /// A hash of the content.
    pub digest: String,
    /// The target that was applied and its repository, if known.
    pub target: Option<String>,
    /// The revision that was applied again, if this revision is a rollback.
    pub rollback_of: Option<u64>,
}

/// Options of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryOptions {
    /// The maximum number of revisions; 0 disables the history.
    pub limit: usize,
    /// True to store the values of Secrets.
    pub with_secrets: bool,
    /// The revision that is applied again, if any.
    pub rollback_of: Option<u64>,
}

impl Default for HistoryOptions {
    fn default() -> Self {
        Self { limit: 10, with_secrets: false, rollback_of: None }
    }
}
