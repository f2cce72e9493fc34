//! The types of patches.

/// The patch types of the API server, except server-side apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatchType {
    /// A strategic merge patch: lists merge by the schema.
    Strategic,
    /// A JSON merge patch (RFC 7386): maps merge, null removes a field, and any other value replaces the old one.
    Merge,
    /// A JSON patch (RFC 6902): a list of operations.
    Json,
}

impl PatchType {
    /// All patch types.
    pub const ALL: [Self; 3] = [Self::Strategic, Self::Merge, Self::Json];

    /// Returns the name of the type for `kubectl patch --type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strategic => "strategic",
            Self::Merge => "merge",
            Self::Json => "json",
        }
    }

    /// Returns the patch type of a content type. Parameters of the content type are ignored.
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

    /// Returns the content type.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Json => "application/json-patch+json",
        }
    }
}
