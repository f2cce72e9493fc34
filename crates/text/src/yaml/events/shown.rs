//! The text that the parser is shown in place of another one, and the way back to positions in that.
//!
//! Knows nothing of events, nor of why a text is rewritten.

use std::borrow::Cow;
use std::ops::Range;

use super::padding::mark_of;
use super::rewrites::Rewrite;
use crate::yaml::json_stream::further_values;

/// A text as the parser is shown it. Its last line always ends with a line break.
pub(super) struct Shown<'t> {
    text: Cow<'t, str>,
    /// The bytes of the byte order mark, of which the parser does not know.
    mark: usize,
    /// How many bytes the original text has.
    length: usize,
    replaced: Vec<Replaced>,
    /// Whether `---` was inserted between documents.
    pub is_separated: bool,
}

/// A part of the shown text that takes the place of a part of the original text.
#[derive(Clone)]
struct Replaced {
    shown: Range<usize>,
    original: Range<usize>,
}

/// What separates documents that have nothing between them.
const SEPARATOR: &str = "\n---\n";

impl<'t> Shown<'t> {
    /// The text as it is.
    pub fn plain(text: &'t str) -> Self {
        Self::new(text, text.into(), Vec::new())
    }

    /// The text with its rewrites, which are in order.
    pub fn rewritten(text: &'t str, rewrites: &[Rewrite]) -> Self {
        let rewrites = rewrites.iter().map(|rewrite| (rewrite.range.clone(), rewrite.text.as_str()));
        Self::replaced(text, rewrites)
    }

    /// JSON objects that follow each other; none when the text is anything else.
    pub fn separated(text: &'t str) -> Option<Self> {
        let mark = mark_of(text);
        let starts = further_values(&text[mark..])?;
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
        Self { text: shown, mark: mark_of(text), length: text.len(), replaced, is_separated: false }
    }

    /// The text without its byte order mark.
    pub fn body(&self) -> &str {
        &self.text[self.mark..]
    }

    /// The position in the original text of a position in the body. Each event asks twice.
    #[inline]
    pub fn original(&self, at: usize) -> usize {
        let at = at + self.mark;
        let last = self.replaced.partition_point(|replaced| replaced.shown.start < at).checked_sub(1);
        let original = match last.map(|last| &self.replaced[last]) {
            None => at,
            Some(Replaced { shown, original }) if at < shown.end => original.start,
            Some(Replaced { shown, original }) => at - shown.end + original.end,
        };
        original.min(self.length)
    }
}
