//! How texts are read.

use crate::source::Reading;

/// Two equal keys in one map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateKeys {
    /// Are an error that names both lines.
    #[default]
    Deny,
    /// The last one counts, as in kustomization files. Keys may be numbers there, too.
    LastWins,
    /// The first one counts, as in strategic merge patches.
    FirstWins,
}

/// How to read a text.
#[derive(Debug, Clone, Copy, Default)]
pub struct ParseOptions {
    /// Whether comments are kept on the nodes.
    pub comments: bool,
    /// What to do about equal keys.
    pub duplicate_keys: DuplicateKeys,
    /// Whose reader decides what scalars, keys and `<<` mean.
    pub reading: Reading,
}

impl ParseOptions {
    /// Reads as kubectl does, without comments. Equal keys are errors; kubectl silently takes the last.
    #[must_use]
    pub fn kubectl() -> Self {
        Self { reading: Reading::Kubectl, ..Self::default() }
    }
}
