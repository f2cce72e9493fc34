//! Block scalars at the end of a text whose last line has no line break.
//!
//! The input of the parser always ends with a line break. kubectl's document reader also adds one. kustomize's does
//! not, so its scalars must not include the added line break.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span};

use crate::source::Reading;

/// The last line of a text, if it has no line break and the document reader adds none.
pub(super) struct LastLine<'t> {
    line: &'t str,
    text: &'t str,
}

impl<'t> LastLine<'t> {
    /// Returns `None` if the text ends with a line break, or its document reader adds one.
    pub fn new(text: &'t str, ends: FinalLineBreak) -> Option<Self> {
        let is_open = ends == FinalLineBreak::Unchanged && !text.ends_with(['\n', '\r']);
        let line = text.rsplit('\n').next().unwrap_or_default();
        is_open.then_some(Self { line, text })
    }

    /// Removes the added line break from a block scalar at the end of the text.
    pub fn remove_added_break(&self, event: &mut Event<'_>, span: &Span, at: &Range<usize>) {
        if let Event::Scalar(value, ScalarStyle::Literal | ScalarStyle::Folded, ..) = event
            && at.end >= self.text.len()
            && (self.is_within(value, span.indent, at.start) || value.ends_with("\n\n") || value == "\n")
            && let Some(rest) = value.strip_suffix('\n')
        {
            *value = rest.to_string().into();
        }
    }

    /// Returns true if the line is part of the scalar, because it is longer than the indentation.
    fn is_within(&self, value: &str, indent: Option<usize>, start: usize) -> bool {
        let indent = indent.unwrap_or_else(|| {
            // In text that consists only of spaces, the longest line determines the indentation.
            let first = self.text[..start].rfind('\n').map_or(0, |end| end + 1);
            let longest = |text: &str| text.lines().map(str::len).max().unwrap_or_default();
            longest(&self.text[first..]).saturating_sub(longest(value))
        });
        !self.line.trim_start_matches(' ').is_empty() || self.line.len() > indent
    }
}

/// The handling of a missing line break at the end of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::yaml) enum FinalLineBreak {
    /// The text is used unchanged.
    Unchanged,
    /// A line break is added.
    Added,
}

impl FinalLineBreak {
    /// Returns the handling for manifests. kubectl reads them line by line, and ends each line with a line break.
    pub fn for_manifests(reading: Reading) -> Self {
        match reading {
            Reading::Kustomize => Self::Unchanged,
            Reading::Kubectl => Self::Added,
        }
    }
}
