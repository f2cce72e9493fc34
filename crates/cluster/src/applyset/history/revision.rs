//! Revisions of a set, and which ones are kept.

/// A revision of a set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Revision {
    /// The number, from 1.
    pub number: u64,
    /// The time of the apply in RFC 3339.
    pub time: String,
    /// Number of objects.
    pub objects: usize,
    /// Compressed size in bytes.
    pub size: usize,
    /// Number of Secrets that store it.
    pub chunks: usize,
    /// A hash of the content.
    pub digest: String,
    /// The target that was applied and its repository, if known.
    pub target: Option<String>,
    /// The revision that was applied again, if this is a rollback.
    pub rollback_of: Option<u64>,
}

/// Options of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryOptions {
    /// Maximum number of revisions; 0 records none.
    pub limit: usize,
    /// Store the values of Secrets.
    pub with_secrets: bool,
    /// The revision that is applied again.
    pub rollback_of: Option<u64>,
}

impl Default for HistoryOptions {
    fn default() -> Self {
        Self { limit: 10, with_secrets: false, rollback_of: None }
    }
}
