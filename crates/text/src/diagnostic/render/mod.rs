//! The output formats of diagnostics: text, short, JSON and GitHub.
//!
//! Only this module hides data in messages: control characters, passwords in URLs, and lines with secrets.

mod github;
mod group;
mod json;
mod layout;
mod short;
mod text;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub use self::layout::ColorMode;
use self::layout::{MessageLayout, ShownLocation, TextLocation, without_secrets};
use super::Diagnostic;
use crate::source::{SourceId, SourceMap, Span};

/// An output format of diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageFormat {
    /// Paragraphs with excerpts.
    #[default]
    Text,
    /// `file:line:column: warning[code]: message`.
    Short,
    /// One JSON object per line.
    Json,
    /// GitHub workflow commands, which annotate source lines with the messages.
    Github,
}

/// A location as displayed to the user. Lines and columns start at 1, and columns count characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedLocation {
    /// The path relative to the directory.
    pub file: String,
    /// The path as a URI, relative to the directory or with `file:`.
    pub uri: String,
    /// The line of the first character.
    pub line: usize,
    /// The column of the first character.
    pub column: usize,
    /// The line of the end, which is exclusive.
    pub end_line: usize,
    /// The column of the end, which is exclusive.
    pub end_column: usize,
    /// The text of the label; may be empty.
    pub label: String,
}

impl RenderedLocation {
    fn new(place: &TextLocation, label: &str) -> Self {
        let ((line, column), (end_line, end_column)) = (place.start(), place.end());
        let (file, uri) = (place.file.clone(), place.uri.clone());
        Self { file, uri, line, column, end_line, end_column, label: without_secrets(label) }
    }
}

/// Renders diagnostics as text.
#[derive(Debug, Clone)]
pub struct MessageRenderer<'s> {
    format: MessageFormat,
    layout: MessageLayout<'s>,
}

impl<'s> MessageRenderer<'s> {
    /// Creates a renderer for diagnostics whose locations are in `sources`.
    #[must_use]
    pub fn new(sources: &'s SourceMap, format: MessageFormat) -> Self {
        Self { format, layout: MessageLayout { sources, coloring: ColorMode::Plain, directory: None } }
    }

    /// Sets the use of colors, which only the text format supports.
    #[must_use]
    pub fn coloring(self, coloring: ColorMode) -> Self {
        Self { layout: MessageLayout { coloring, ..self.layout }, ..self }
    }

    /// Shows paths relative to this absolute directory.
    #[must_use]
    pub fn relative_to(self, directory: impl Into<PathBuf>) -> Self {
        Self { layout: MessageLayout { directory: Some(directory.into()), ..self.layout }, ..self }
    }

    /// Selects another format.
    #[must_use]
    pub fn format(self, format: MessageFormat) -> Self {
        Self { format, ..self }
    }

    /// Returns the locations of a diagnostic. The first one is the main location.
    #[must_use]
    pub fn locations(&self, problem: &Diagnostic) -> Vec<RenderedLocation> {
        let label =
            |location: &ShownLocation<'_>| self.without_hidden_values(&location.label.text).into_owned();
        let locations = self.layout.locations(problem);
        locations.map(|location| RenderedLocation::new(&location.text, &label(&location))).collect()
    }

    /// Returns the location of a span, or `None` if it is not in a text.
    #[must_use]
    pub fn location(&self, span: Span) -> Option<RenderedLocation> {
        Some(RenderedLocation::new(&self.layout.location(span)?, ""))
    }

    /// Returns the location and the replacement of the suggested fix, or `None` if the line is hidden.
    #[must_use]
    pub fn fix(&self, problem: &Diagnostic) -> Option<(RenderedLocation, String)> {
        let fix = problem.suggested_fix().filter(|fix| self.layout.sources.may_show(fix.span))?;
        Some((self.location(fix.span)?, without_secrets(&self.without_hidden_values(&fix.replacement))))
    }

    /// Returns a path as displayed to the user.
    #[must_use]
    pub fn path(&self, path: &Path) -> String {
        self.layout.path(path)
    }

    /// Returns a text of a diagnostic without passwords. A long text is shortened.
    #[must_use]
    pub fn clean_text(&self, text: &str) -> String {
        without_secrets(&self.without_hidden_values(text))
    }

    /// Returns the path of a file relative to the directory, or `None` if there is no such text.
    #[must_use]
    pub fn file(&self, source: SourceId) -> Option<String> {
        Some(self.layout.path(self.layout.sources.get(source)?.name()))
    }

    /// Renders diagnostics, each without a trailing line break. In the text format, many equal diagnostics become one
    /// with the locations of the others.
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

    /// Renders a diagnostic without a trailing line break.
    #[must_use]
    pub fn render(&self, problem: &Diagnostic) -> String {
        // Texts are masked before they are shortened, because a part of a value would not be recognized.
        let mask = |text: &str| self.without_hidden_values(text).into_owned();
        let has_hidden = self.layout.sources.has_hidden_values();
        let masked = has_hidden.then(|| problem.clone().map_texts(&mask));
        let problem = masked.as_ref().unwrap_or(problem);
        let text = match self.format {
            MessageFormat::Text => text::render(problem, &self.layout),
            MessageFormat::Short => short::render(problem, &self.layout),
            MessageFormat::Json => {
                let json = json::render(problem, &self.layout);
                return self.layout.sources.findings_without_hidden_values(&json).into_owned();
            }
            MessageFormat::Github => github::render(problem, &self.layout),
        };
        self.without_hidden_values(&text).into_owned()
    }

    fn without_hidden_values<'t>(&self, report: &'t str) -> Cow<'t, str> {
        self.layout.sources.without_hidden_values(report)
    }
}

#[cfg(test)]
mod tests;
