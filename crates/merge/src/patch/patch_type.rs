//! What types of patches there are.

/// The types of patches that an API server takes, but for those of server-side apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatchType {
    /// A strategic merge patch: lists merge by what the schema says.
    Strategic,
    /// A JSON merge patch (RFC 7386): maps merge, null removes, all else is replaced.
    Merge,
    /// A JSON patch (RFC 6902): a list of operations.
    Json,
}

impl PatchType {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Strategic, Self::Merge, Self::Json];

    /// The name that `--type` of `kubectl patch` has for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strategic => "strategic",
            Self::Merge => "merge",
            Self::Json => "json",
        }
    }

    /// The type that a content type names, with or without parameters behind it.
    ///
    /// ```
    /// use strategic_merge_patch::patch::PatchType;
    ///
    /// let strategic = PatchType::from_content_type("application/strategic-merge-patch+json; charset=utf-8");
    /// assert_eq!(strategic, Some(PatchType::Strategic));
    /// assert_eq!(PatchType::from_content_type("text/plain"), None);
    /// ```
    #[must_use]
    pub fn from_content_type(text: &str) -> Option<Self> {
        let name = text.split(';').next().unwrap_or_default().trim();
        Self::ALL.into_iter().find(|one| one.content_type() == name)
    }

    /// Its content type.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Json => "application/json-patch+json",
        }
    }
}
