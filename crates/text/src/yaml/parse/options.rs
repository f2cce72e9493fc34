//! How texts are read.

use crate::source::Reading;
use crate::yaml::events::LastBreak;

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
    /// Whether the text is a patch. kubectl adds no line break to its last line, and kustomize prints nothing more for
    /// a comment behind its last value.
    pub is_patch: bool,
}

impl ParseOptions {
    /// Reads as kubectl does, without comments. Equal keys are errors; kubectl silently takes the last.
    ///
    /// ```
    /// use smp_text::source::SourceMap;
    /// use smp_text::yaml::{ParseOptions, parse_one, to_json};
    ///
    /// let sources = SourceMap::default();
    /// let text = "{day: 2024-01-31, n: yes}";
    /// let read = |options| parse_one(&sources, sources.add("example", text), options);
    /// let by_kustomize = read(ParseOptions::default())?;
    /// assert_eq!(to_json(&by_kustomize)?, r#"{"day":"2024-01-31T00:00:00Z","n":"yes"}"#);
    /// let by_kubectl = read(ParseOptions::kubectl())?;
    /// assert_eq!(to_json(&by_kubectl)?, r#"{"day":"2024-01-31","false":true}"#);
    /// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
    /// ```
    #[must_use]
    pub fn kubectl() -> Self {
        Self { reading: Reading::Kubectl, ..Self::default() }
    }

    /// The same with comments kept on the nodes.
    #[must_use]
    pub fn with_comments(mut self) -> Self {
        self.comments = true;
        self
    }

    /// The same as another reader.
    #[must_use]
    pub fn reading(mut self, reading: Reading) -> Self {
        self.reading = reading;
        self
    }

    /// The same for a patch.
    #[must_use]
    pub fn of_patch(mut self) -> Self {
        self.is_patch = true;
        self
    }

    /// What the end of the text counts as.
    pub(in crate::yaml) fn last_break(self) -> LastBreak {
        if self.is_patch { LastBreak::AsWritten } else { LastBreak::of_manifests(self.reading) }
    }

    /// The same with something else done about equal keys.
    #[must_use]
    pub fn duplicate_keys(mut self, duplicate_keys: DuplicateKeys) -> Self {
        self.duplicate_keys = duplicate_keys;
        self
    }
}
