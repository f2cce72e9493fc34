//! The forms in which diagnostics are told: for people, for editors, for programs, for GitHub.
//!
//! What may not be shown is kept back here and nowhere else: characters that steer a terminal, passwords in URLs,
//! and lines that hold secrets.

mod github;
mod group;
mod json;
mod layout;
mod short;
mod text;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub use self::layout::Coloring;
use self::layout::{MessageLayout, TextPlace, clean};
use super::Diagnostic;
use crate::source::{SourceId, SourceMap, Span};

/// A form of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageFormat {
    /// Paragraphs with excerpts.
    #[default]
    Text,
    /// `file:line:column: warning[code]: message`.
    Short,
    /// One JSON object a line.
    Json,
    /// Commands of GitHub's workflows, which show the messages beside the lines.
    Github,
}

/// A place of a diagnostic as the user sees it; lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedPlace {
    /// The path, as seen from the directory.
    pub file: String,
    /// The path as a URI: relative to the directory, or `file:`.
    pub uri: String,
    /// The line of the first character.
    pub line: usize,
    /// Its column.
    pub column: usize,
    /// The line of the first character behind it.
    pub end_line: usize,
    /// Its column.
    pub end_column: usize,
    /// What is there; may be empty.
    pub label: String,
}

impl RenderedPlace {
    fn new(place: &TextPlace, label: &str) -> Self {
        let ((line, column), (end_line, end_column)) = (place.start(), place.end());
        let (file, uri) = (place.file.clone(), place.uri.clone());
        Self { file, uri, line, column, end_line, end_column, label: clean(label) }
    }
}

/// Makes texts of diagnostics.
#[derive(Debug, Clone)]
pub struct MessageRenderer<'s> {
    format: MessageFormat,
    layout: MessageLayout<'s>,
}

impl<'s> MessageRenderer<'s> {
    /// One for diagnostics whose places are in `sources`.
    #[must_use]
    pub fn new(sources: &'s SourceMap, format: MessageFormat) -> Self {
        Self { format, layout: MessageLayout { sources, coloring: Coloring::Plain, directory: None } }
    }

    /// With colours, or without; only texts for people can have some.
    #[must_use]
    pub fn coloring(self, coloring: Coloring) -> Self {
        Self { layout: MessageLayout { coloring, ..self.layout }, ..self }
    }

    /// Paths below this absolute directory are shown as seen from there.
    #[must_use]
    pub fn relative_to(self, directory: impl Into<PathBuf>) -> Self {
        Self { layout: MessageLayout { directory: Some(directory.into()), ..self.layout }, ..self }
    }

    /// The same in another form.
    #[must_use]
    pub fn format(self, format: MessageFormat) -> Self {
        Self { format, ..self }
    }

    /// The places of a diagnostic, the main one first.
    #[must_use]
    pub fn places(&self, problem: &Diagnostic) -> Vec<RenderedPlace> {
        let places = self.layout.places(problem);
        places.map(|place| RenderedPlace::new(&place.text, &place.label.text)).collect()
    }

    /// A place alone; none for what stands in no text.
    #[must_use]
    pub fn place(&self, span: Span) -> Option<RenderedPlace> {
        Some(RenderedPlace::new(&self.layout.place(span)?, ""))
    }

    /// What most likely mends a problem: where, and by what; none where nobody shall see the line.
    #[must_use]
    pub fn fix(&self, problem: &Diagnostic) -> Option<(RenderedPlace, String)> {
        let fix = problem.known_fix().filter(|fix| self.layout.sources.may_show(fix.span))?;
        Some((self.place(fix.span)?, clean(&fix.replacement)))
    }

    /// A path as the user sees it.
    #[must_use]
    pub fn path(&self, path: &Path) -> String {
        self.layout.path(path)
    }

    /// A text of a diagnostic as it may be shown: without passwords, and without what nobody reads to its end.
    #[must_use]
    pub fn shown(&self, text: &str) -> String {
        clean(text)
    }

    /// A file as it is seen from the directory; none for what is no text.
    #[must_use]
    pub fn file(&self, source: SourceId) -> Option<String> {
        Some(self.layout.path(self.layout.sources.get(source)?.name()))
    }

    /// Diagnostics in the chosen form, each without a line break at its end. For people, many equal ones become one that
    /// says where the others are.
    #[must_use]
    pub fn render_all(&self, problems: &[Diagnostic]) -> Vec<String> {
        match self.format {
            MessageFormat::Text => {
                let shown = group::grouped(problems, &self.layout);
                shown.iter().map(|problem| self.render(problem)).collect()
            }
            _ => problems.iter().map(|problem| self.render(problem)).collect(),
        }
    }

    /// A diagnostic in the chosen form, without a line break at its end.
    #[must_use]
    pub fn render(&self, problem: &Diagnostic) -> String {
        let text = match self.format {
            MessageFormat::Text => text::render(problem, &self.layout),
            MessageFormat::Short => short::render(problem, &self.layout),
            MessageFormat::Json => json::render(problem, &self.layout),
            MessageFormat::Github => github::render(problem, &self.layout),
        };
        self.without_hidden_values(&text).into_owned()
    }

    /// A report without the values that were copied out of Secrets.
    #[must_use]
    pub fn without_hidden_values<'t>(&self, report: &'t str) -> Cow<'t, str> {
        self.layout.sources.without_hidden_values(report)
    }
}

#[cfg(test)]
mod tests;
