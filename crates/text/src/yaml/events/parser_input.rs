//! The rewritten text that is passed to the parser, and the mapping of its positions to the original text.
//!
//! This module depends neither on events nor on the reasons for rewrites.

use std::borrow::Cow;
use std::ops::Range;

use super::padding::bom_length;
use super::rewrites::Rewrite;
use crate::yaml::json_stream::further_value_starts;

/// A text that is passed to the parser. Its last line always ends with a line break.
pub(super) struct ParserInput<'t> {
    text: Cow<'t, str>,
    /// The length of the byte order mark, which is not passed to the parser.
    bom_length: usize,
    /// The length of the original text.
    original_length: usize,
    replaced: Vec<Replaced>,
    /// True if `---` was inserted between documents.
    pub is_separated: bool,
}

/// A part of the rewritten text that replaces a part of the original text.
#[derive(Clone)]
struct Replaced {
    shown: Range<usize>,
    original: Range<usize>,
}

/// The separator that is inserted between adjacent documents.
const SEPARATOR: &str = "\n---\n";

impl<'t> ParserInput<'t> {
    /// Returns the text without rewrites.
    pub fn unchanged(text: &'t str) -> Self {
        Self::new(text, text.into(), Vec::new())
    }

    /// Returns the text with its rewrites, which must be in order.
    pub fn rewritten(text: &'t str, rewrites: &[Rewrite]) -> Self {
        let rewrites = rewrites.iter().map(|rewrite| (rewrite.range.clone(), rewrite.text.as_str()));
        Self::replaced(text, rewrites)
    }

    /// Returns consecutive JSON objects with separators between them, or `None` for any other text.
    pub fn separated(text: &'t str) -> Option<Self> {
        let mark = bom_length(text);
        let starts = further_value_starts(&text[mark..])?;
        let rewrites = starts.into_iter().map(|start| (mark + start..mark + start, SEPARATOR));
        Some(Self { is_separated: true, ..Self::replaced(text, rewrites) })
    }

    fn replaced<'r>(text: &'t str, rewrites: impl Iterator<Item = (Range<usize>, &'r str)>) -> Self {
        let (mut out, mut replaced, mut done) = (String::with_capacity(text.len() + 16), Vec::new(), 0);
        for (original, new) in rewrites {
            out.push_str(&text[done..original.start]);
            done = original.end;
            let start = out.len();
            out.push_str(new);
            replaced.push(Replaced { shown: start..out.len(), original });
        }
        out.push_str(&text[done..]);
        Self::new(text, out.into(), replaced)
    }

    fn new(text: &str, mut shown: Cow<'t, str>, replaced: Vec<Replaced>) -> Self {
        if !shown.ends_with('\n') {
            shown.to_mut().push('\n');
        }
        Self {
            text: shown,
            bom_length: bom_length(text),
            original_length: text.len(),
            replaced,
            is_separated: false,
        }
    }

    /// Returns the text without its byte order mark.
    pub fn body(&self) -> &str {
        &self.text[self.bom_length..]
    }

    /// Converts a position in the body to a position in the original text. It is called twice for each event.
    #[inline]
    pub fn original_position(&self, at: usize) -> usize {
        let at = at + self.bom_length;
        let last = self.replaced.partition_point(|replaced| replaced.shown.start < at).checked_sub(1);
        let original = match last.map(|last| &self.replaced[last]) {
            None => at,
            Some(Replaced { shown, original }) if at < shown.end => original.start,
            Some(Replaced { shown, original }) => at - shown.end + original.end,
        };
        original.min(self.original_length)
    }
}
