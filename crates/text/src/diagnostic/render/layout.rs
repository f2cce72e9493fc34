//! What all forms share: which places are shown, and how paths and foreign texts are.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::escape::{escaped, guarded, path_uri};
use crate::diagnostic::{Code, Diagnostic, Excerpt, Label};
use crate::source::{Source, SourceMap, Span, as_seen_from, without_passwords};

/// Whether texts have colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coloring {
    /// They have none.
    #[default]
    Plain,
    /// As terminals of the ANSI sort show them.
    Ansi,
}

/// What a form needs to know beside the diagnostic.
#[derive(Debug, Clone)]
pub(super) struct MessageLayout<'s> {
    pub sources: &'s SourceMap,
    pub coloring: Coloring,
    /// What paths are shown relative to.
    pub directory: Option<PathBuf>,
}

impl MessageLayout<'_> {
    /// The places that are known, the main one first.
    pub(super) fn places<'d>(&'d self, problem: &'d Diagnostic) -> impl Iterator<Item = ShownPlace<'d>> {
        problem.labels().iter().enumerate().filter_map(|(i, label)| {
            let text = self.place(label.span)?;
            let (line, column) = text.start();
            let is_hidden = label.excerpt == Excerpt::Hidden || !self.sources.may_show(label.span.at_start());
            Some(ShownPlace { text, line, column, label, is_hidden, is_primary: i == 0 })
        })
    }

    /// Where a span stands in a file; what stands in a text that stands in a file is found there.
    pub(super) fn place(&self, span: Span) -> Option<TextPlace> {
        let span = self.sources.outermost(span);
        let source = self.sources.get(span.source)?;
        let (file, uri) = (self.path(source.name()), self.uri(source.name()));
        Some(TextPlace { file, uri, span, source })
    }

    /// A path as the user sees it.
    pub(super) fn path(&self, path: &Path) -> String {
        let shown = match &self.directory {
            Some(directory) => as_seen_from(path, directory),
            None => Cow::Borrowed(path),
        };
        escaped(&without_passwords(&shown.display().to_string())).into_owned()
    }

    /// The same path as a URI.
    pub(super) fn uri(&self, path: &Path) -> String {
        let seen = match &self.directory {
            Some(directory) => as_seen_from(path, directory),
            None => Cow::Borrowed(path),
        };
        match without_passwords(&seen.display().to_string()) {
            Cow::Borrowed(_) => path_uri(&seen),
            Cow::Owned(text) => path_uri(Path::new(&text)),
        }
    }
}

/// A part of a text that is known.
pub(super) struct TextPlace {
    pub file: String,
    pub uri: String,
    pub span: Span,
    pub source: Arc<Source>,
}

impl TextPlace {
    /// The line and column of the first character, from 1.
    pub(super) fn start(&self) -> (usize, usize) {
        self.source.line_column(self.span.start)
    }

    /// The line and column behind the last character.
    pub(super) fn end(&self) -> (usize, usize) {
        self.source.line_column(self.span.end.max(self.span.start))
    }
}

/// A label whose text is known.
pub(super) struct ShownPlace<'d> {
    pub text: TextPlace,
    /// From 1, as the column.
    pub line: usize,
    pub column: usize,
    pub label: &'d Label,
    /// Whether nobody shall see the line.
    pub is_hidden: bool,
    pub is_primary: bool,
}

/// A foreign text on one line: nothing in it steers a terminal, begins a line, or is a password.
pub(super) fn one_line(text: &str) -> String {
    shortened(&escaped(&without_passwords(text))).into_owned()
}

/// A foreign text for programs, which escape it by themselves: nothing in it is a password.
pub(super) fn clean(text: &str) -> String {
    let lines: Vec<String> =
        text.split('\n').map(|line| shortened(&without_passwords(line)).into_owned()).collect();
    lines.join("\n")
}

/// The longest word, and the longest line, of which all is told.
const LONGEST_WORD: usize = 400;
const LONGEST_LINE: usize = 4000;

/// A text without the middle of what nobody reads: of words such as a path of thousands of names, and of lines.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_WORD {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(LONGEST_LINE);
    for word in text.split_inclusive(char::is_whitespace) {
        push_ends(&mut out, word, LONGEST_WORD);
    }
    let mut line = String::with_capacity(out.len().min(LONGEST_LINE));
    push_ends(&mut line, &out, LONGEST_LINE);
    Cow::Owned(line)
}

/// Writes a text, or of one that is longer both of its ends.
fn push_ends(out: &mut String, text: &str, longest: usize) {
    if text.len() <= longest {
        out.push_str(text);
        return;
    }
    let half = longest / 2;
    let boundary =
        |from: usize| (from..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len());
    out.extend([&text[..boundary(half)], "...", &text[boundary(text.len() - half)..]]);
}

/// As [`one_line`] for each line of a text, with spaces before those behind the first.
pub(super) fn lines(text: &str) -> String {
    let clean = text.trim_end().lines().map(|line| guarded(&one_line(line)).into_owned());
    clean.collect::<Vec<_>>().join("\n")
}

/// Whether it speaks of the command as a whole, or of what was told before: nobody looks that up.
pub(super) fn is_remark(problem: &Diagnostic) -> bool {
    problem.code() == Code::Summary
}
