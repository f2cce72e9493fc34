//! Checks of directives and document markers that libyaml rejects.

use std::ops::Range;

use granit_parser::Event;

use super::padding::BOM;

/// The document markers that were already read.
pub(super) struct DocumentMarkers<'t> {
    body: &'t str,
    /// The number of documents that have begun.
    documents: usize,
    /// The position after the `---` of the last document, or after its end.
    at: usize,
}

impl<'t> DocumentMarkers<'t> {
    pub fn new(body: &'t str) -> Self {
        Self { body, documents: 0, at: 0 }
    }

    /// Processes an event. If libyaml rejects the text, returns an error message and its position.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>, at: &Range<usize>) -> Option<(&'static str, usize)> {
        match event {
            Event::DocumentStart(..) | Event::DocumentEnd | Event::StreamEnd => self.marker(event, at),
            _ => None,
        }
    }

    fn marker(&mut self, event: &Event<'_>, at: &Range<usize>) -> Option<(&'static str, usize)> {
        let before = self.at..at.start.max(self.at);
        let is_start = matches!(event, Event::DocumentStart(..));
        let rejected = match event {
            Event::DocumentStart(false, _) if self.documents > 0 => Some((IMPLICIT_START, at.start)),
            Event::DocumentEnd => self.end_of_empty_document(before, at),
            // A document may be followed by any number of `...`.
            _ if self.documents == 0 => (self.line(before.clone(), is_end))
                .or_else(|| self.mark(before.clone()))
                .or_else(|| self.directive(before)),
            _ => self.directive(before),
        };
        self.documents += usize::from(is_start);
        self.at = at.end;
        rejected
    }

    /// Detects `...` after a `---` that separates documents, with only comments between them.
    fn end_of_empty_document(
        &self,
        before: Range<usize>,
        at: &Range<usize>,
    ) -> Option<(&'static str, usize)> {
        let is_comment = |line: &str| line.is_empty() || line.starts_with('#');
        let is_empty = || self.body[before].lines().map(str::trim).all(is_comment);
        (self.documents > 1 && !at.is_empty() && is_empty()).then_some((LONE_END, at.start))
    }

    /// Detects a byte order mark after the one at the start of a text. The parser would skip it.
    fn mark(&self, range: Range<usize>) -> Option<(&'static str, usize)> {
        let (start, found) = (range.start, self.body[range].find(BOM)?);
        Some(("unexpected byte order mark: it is only allowed once, at the start of a text", start + found))
    }

    fn directive(&self, range: Range<usize>) -> Option<(&'static str, usize)> {
        self.line(range, is_unknown_directive)
    }

    /// Returns the first rejected line that begins in a range.
    fn line(
        &self,
        range: Range<usize>,
        rejected: impl Fn(&str) -> Option<&'static str>,
    ) -> Option<(&'static str, usize)> {
        let mut start = range.start;
        let mut is_whole = start == 0 || self.body.as_bytes()[start - 1] == b'\n';
        for line in self.body[range].split_inclusive('\n') {
            if is_whole && let Some(message) = rejected(line.trim_end()) {
                return Some((message, start));
            }
            (is_whole, start) = (true, start + line.len());
        }
        None
    }
}

const IMPLICIT_START: &str = "missing `---`: a document after the end of another must begin with it";

const LONE_END: &str = "unexpected `...` at the start of a document";

fn is_end(line: &str) -> Option<&'static str> {
    line.strip_prefix("...")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        .then_some(LONE_END)
}

fn is_unknown_directive(line: &str) -> Option<&'static str> {
    let name = line.strip_prefix('%')?.split([' ', '\t']).next();
    (!matches!(name, Some("YAML" | "TAG")))
        .then_some("unknown YAML directive: only `%YAML` and `%TAG` are supported")
}
