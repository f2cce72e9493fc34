//! Options of parsing.

use crate::source::Reading;
use crate::yaml::events::FinalLineBreak;

/// The handling of duplicate keys in a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateKeys {
    /// Duplicate keys are an error with both locations.
    #[default]
    Deny,
    /// The last value is used, as in kustomization files. Their keys may also be numbers.
    LastWins,
    /// The first value is used, as in strategic merge patches.
    FirstWins,
}

/// Options of parsing.
#[derive(Debug, Clone, Copy, Default)]
pub struct ParseOptions {
    /// True to keep comments on the nodes.
    pub keep_comments: bool,
    /// The handling of duplicate keys in a map.
    pub duplicate_keys: DuplicateKeys,
    /// The program whose rules apply to scalars, keys and `<<`.
    pub reading: Reading,
    /// True if the text is a patch: kubectl adds no line break to its last line, and kustomize prints no additional
    /// line break for a comment after its last value.
    pub is_patch: bool,
}

impl ParseOptions {
    /// Returns the default options, which parse a text like kubectl, without comments. Duplicate keys are errors,
    /// although kubectl uses the last one.
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

    /// Keeps comments on the nodes.
    #[must_use]
    pub fn with_comments(mut self) -> Self {
        self.keep_comments = true;
        self
    }

    /// Sets the program whose rules apply.
    #[must_use]
    pub fn reading(mut self, reading: Reading) -> Self {
        self.reading = reading;
        self
    }

    /// Sets the options for a patch.
    #[must_use]
    pub fn for_patch(mut self) -> Self {
        self.is_patch = true;
        self
    }

    /// Returns the handling of a missing line break at the end of the text.
    pub(in crate::yaml) fn last_break(self) -> FinalLineBreak {
        if self.is_patch { FinalLineBreak::Unchanged } else { FinalLineBreak::for_manifests(self.reading) }
    }

    /// Sets the handling of duplicate keys.
    #[must_use]
    pub fn duplicate_keys(mut self, duplicate_keys: DuplicateKeys) -> Self {
        self.duplicate_keys = duplicate_keys;
        self
    }
}
