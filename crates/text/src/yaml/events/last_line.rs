//! Block scalars that end a text whose last line has no line break.
//!
//! The parser is always shown a line break there. kubectl's reader of documents adds one, too; kustomize's does not, so
//! that the scalar must not get it.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span};

use crate::source::Reading;

/// The last line of a text, where it has no line break and gets none.
pub(super) struct LastLine<'t> {
    line: &'t str,
    text: &'t str,
}

impl<'t> LastLine<'t> {
    /// None when the text ends with a line break, or its reader adds one.
    pub fn of(text: &'t str, ends: LastBreak) -> Option<Self> {
        let is_open = ends == LastBreak::AsWritten && !text.ends_with(['\n', '\r']);
        let line = text.rsplit('\n').next().unwrap_or_default();
        is_open.then_some(Self { line, text })
    }

    /// Removes the added line break from the value of a block scalar that ends the text.
    pub fn correct(&self, event: &mut Event<'_>, span: &Span, at: &Range<usize>) {
        if let Event::Scalar(value, ScalarStyle::Literal | ScalarStyle::Folded, ..) = event
            && at.end >= self.text.len()
            && (self.is_within(value, span.indent, at.start) || value.ends_with("\n\n") || value == "\n")
            && let Some(rest) = value.strip_suffix('\n')
        {
            *value = rest.to_string().into();
        }
    }

    /// Whether the line is one of the scalar: it is more than indentation.
    fn is_within(&self, value: &str, indent: Option<usize>, start: usize) -> bool {
        let indent = indent.unwrap_or_else(|| {
            // Of text without anything but blanks, the longest line says it.
            let first = self.text[..start].rfind('\n').map_or(0, |end| end + 1);
            let longest = |text: &str| text.lines().map(str::len).max().unwrap_or_default();
            longest(&self.text[first..]).saturating_sub(longest(value))
        });
        !self.line.trim_start_matches(' ').is_empty() || self.line.len() > indent
    }
}

/// What a text counts as that does not end with a line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::yaml) enum LastBreak {
    /// What it is.
    AsWritten,
    /// A text that ends with a line break.
    Added,
}

impl LastBreak {
    /// What a manifest counts as: kubectl reads manifests line by line, and ends each line with a line break.
    pub fn of_manifests(reading: Reading) -> Self {
        match reading {
            Reading::Kustomize => Self::AsWritten,
            Reading::Kubectl => Self::Added,
        }
    }
}
