//! What sorts of patches there are, and what they are made of.

use crate::merge::Rules;
use crate::yaml::Node;

/// What a patch is and by whose rules it is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// A strategic merge patch.
    Strategic(Rules),
    /// A JSON merge patch (RFC 7386).
    Merge,
    /// A JSON patch (RFC 6902).
    Json,
}

/// The versions of an object that a patch is made of.
#[derive(Debug, Clone, Copy)]
pub struct PatchSides<'n> {
    /// The object as it was applied last; as it is, where there is no other version of it.
    pub original: &'n Node,
    /// The object as it shall be.
    pub modified: &'n Node,
    /// The object as it is, if others may have changed it since: the patch is for this one.
    pub current: Option<&'n Node>,
}

impl<'n> PatchSides<'n> {
    /// The object that the patch will be applied to.
    #[must_use]
    pub fn input(&self) -> &'n Node {
        self.current.unwrap_or(self.original)
    }
}
