//! What becomes of what others own when these are deleted.

/// What becomes of objects that belong to one that is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Cascade {
    /// They are deleted afterwards.
    #[default]
    Background,
    /// They are deleted before.
    Foreground,
    /// They stay, and belong to nobody.
    Orphan,
}

impl Cascade {
    /// The API's word for it.
    pub(super) fn policy(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}
