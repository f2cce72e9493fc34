//! What stands between documents: the directives and ends of documents that libyaml refuses.

use std::ops::Range;

use granit_parser::Event;

use super::padding::BOM;

/// What has been seen of the documents of a text.
pub(super) struct Markers<'t> {
    body: &'t str,
    /// How many documents have begun.
    documents: usize,
    /// Where the last document began, behind its `---`, or ended.
    at: usize,
}

impl<'t> Markers<'t> {
    pub fn of(body: &'t str) -> Self {
        Self { body, documents: 0, at: 0 }
    }

    /// Takes note of an event; says what libyaml refuses there, and where.
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
        let refused = match event {
            Event::DocumentStart(false, _) if self.documents > 0 => Some((IMPLICIT_START, at.start)),
            Event::DocumentEnd => self.end_of_nothing(before, at),
            // `...` may stand behind a document any number of times.
            _ if self.documents == 0 => (self.line(before.clone(), is_end))
                .or_else(|| self.mark(before.clone()))
                .or_else(|| self.directive(before)),
            _ => self.directive(before),
        };
        self.documents += usize::from(is_start);
        self.at = at.end;
        refused
    }

    /// `...` behind a `---` that separates documents, with nothing but comments between them.
    fn end_of_nothing(&self, before: Range<usize>, at: &Range<usize>) -> Option<(&'static str, usize)> {
        let is_comment = |line: &str| line.is_empty() || line.starts_with('#');
        let is_empty = || self.body[before].lines().map(str::trim).all(is_comment);
        (self.documents > 1 && !at.is_empty() && is_empty()).then_some((LONE_END, at.start))
    }

    /// A byte order mark behind the one that may begin a text, which the parser passes over, too.
    fn mark(&self, range: Range<usize>) -> Option<(&'static str, usize)> {
        let (start, found) = (range.start, self.body[range].find(BOM)?);
        Some(("a byte order mark is only allowed at the start of a text, once: remove it", start + found))
    }

    fn directive(&self, range: Range<usize>) -> Option<(&'static str, usize)> {
        self.line(range, is_unknown_directive)
    }

    /// The first line that begins in a range and is of a sort.
    fn line(
        &self,
        range: Range<usize>,
        refused: impl Fn(&str) -> Option<&'static str>,
    ) -> Option<(&'static str, usize)> {
        let mut start = range.start;
        let mut is_whole = start == 0 || self.body.as_bytes()[start - 1] == b'\n';
        for line in self.body[range].split_inclusive('\n') {
            if is_whole && let Some(message) = refused(line.trim_end()) {
                return Some((message, start));
            }
            (is_whole, start) = (true, start + line.len());
        }
        None
    }
}

const IMPLICIT_START: &str = "a document begins without `---` behind the end of another";

const LONE_END: &str = "`...` stands where a document should begin";

fn is_end(line: &str) -> Option<&'static str> {
    line.strip_prefix("...")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        .then_some(LONE_END)
}

fn is_unknown_directive(line: &str) -> Option<&'static str> {
    let name = line.strip_prefix('%')?.split([' ', '\t']).next();
    (!matches!(name, Some("YAML" | "TAG"))).then_some("YAML knows no such directive: only `%YAML` and `%TAG`")
}
