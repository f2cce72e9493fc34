//! Code that all formats share: locations, paths, and the escaping of untrusted text.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::escape::{escaped, escaped_line_start, path_uri};
use crate::diagnostic::{Code, Diagnostic, Excerpt, Label};
use crate::source::{Source, SourceMap, Span, mask_url_secrets, relative_path};

/// The use of colors in the text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorMode {
    /// No colors.
    #[default]
    Plain,
    /// ANSI escape sequences.
    Ansi,
}

/// The options of a format.
#[derive(Debug, Clone)]
pub(super) struct MessageLayout<'s> {
    pub sources: &'s SourceMap,
    pub coloring: ColorMode,
    /// The directory to which displayed paths are relative.
    pub directory: Option<PathBuf>,
}

impl MessageLayout<'_> {
    /// Returns the locations that are in a text. The first one is the main location.
    pub(super) fn locations<'d>(
        &'d self,
        problem: &'d Diagnostic,
    ) -> impl Iterator<Item = ShownLocation<'d>> {
        problem.labels().iter().enumerate().filter_map(|(i, label)| {
            let text = self.location(label.span)?;
            let (line, column) = text.start();
            let is_hidden = label.excerpt == Excerpt::Hidden || !self.sources.may_show(label.span.at_start());
            Some(ShownLocation { text, line, column, label, is_hidden, is_primary: i == 0 })
        })
    }

    /// Returns the location of a span in a file. A span in an embedded text is mapped to the enclosing file.
    pub(super) fn location(&self, span: Span) -> Option<TextLocation> {
        let span = self.sources.outermost(span);
        let source = self.sources.get(span.source)?;
        let (file, uri) = (self.path(source.name()), self.uri(source.name()));
        Some(TextLocation { file, uri, span, source })
    }

    /// Returns a path as displayed to the user.
    pub(super) fn path(&self, path: &Path) -> String {
        let shown = match &self.directory {
            Some(directory) => relative_path(path, directory),
            None => Cow::Borrowed(path),
        };
        escaped(&mask_url_secrets(&shown.display().to_string())).into_owned()
    }

    /// Returns a path as a URI.
    pub(super) fn uri(&self, path: &Path) -> String {
        let seen = match &self.directory {
            Some(directory) => relative_path(path, directory),
            None => Cow::Borrowed(path),
        };
        match mask_url_secrets(&seen.display().to_string()) {
            Cow::Borrowed(_) => path_uri(&seen),
            Cow::Owned(text) => path_uri(Path::new(&text)),
        }
    }
}

/// A location in a text.
pub(super) struct TextLocation {
    pub file: String,
    pub uri: String,
    pub span: Span,
    pub source: Arc<Source>,
}

impl TextLocation {
    /// Returns the line and column of the first character, starting at 1.
    pub(super) fn start(&self) -> (usize, usize) {
        self.source.line_column(self.span.start)
    }

    /// Returns the line and column after the last character.
    pub(super) fn end(&self) -> (usize, usize) {
        self.source.line_column(self.span.end.max(self.span.start))
    }
}

/// A label with its location in a text.
pub(super) struct ShownLocation<'d> {
    pub text: TextLocation,
    /// The line. Lines and columns start at 1.
    pub line: usize,
    pub column: usize,
    pub label: &'d Label,
    /// True if the line is hidden.
    pub is_hidden: bool,
    pub is_primary: bool,
}

/// Formats untrusted text as one line without control characters, line breaks and passwords.
pub(super) fn one_line(text: &str) -> String {
    shortened(&escaped(&mask_url_secrets(text))).into_owned()
}

/// Formats untrusted text for programs, without passwords. The program that reads the text must escape it.
pub(super) fn without_secrets(text: &str) -> String {
    let lines: Vec<String> =
        text.split('\n').map(|line| shortened(&mask_url_secrets(line)).into_owned()).collect();
    lines.join("\n")
}

/// The maximum lengths of words and lines that are shown completely.
const LONGEST_WORD: usize = 400;
const LONGEST_LINE: usize = 4000;

/// Removes the middle of overlong words, such as a path with thousands of names, and of overlong lines.
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

/// Appends a text. If it is too long, appends only both ends.
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

/// Formats each line of a text like [`one_line`].
pub(super) fn lines(text: &str) -> String {
    let clean = text.trim_end().lines().map(|line| escaped_line_start(&one_line(line)).into_owned());
    clean.collect::<Vec<_>>().join("\n")
}

/// Returns true for the summary of a command. Its code is not shown, since it need not be looked up.
pub(super) fn is_summary(problem: &Diagnostic) -> bool {
    problem.code() == Code::Summary
}
