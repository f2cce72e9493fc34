//! Deletion propagation to dependent objects.

/// Deletion propagation: the treatment of objects that a deleted object owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Cascade {
    /// The owned objects are deleted after their owner.
    #[default]
    Background,
    /// The owned objects are deleted before their owner.
    Foreground,
    /// The owned objects are kept, without their owner reference.
    Orphan,
}

impl Cascade {
    /// Returns the value of the API field `propagationPolicy`.
    pub(super) fn propagation_policy(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}
