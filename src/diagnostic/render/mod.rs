//! The forms in which diagnostics are told: for people, for editors, for programs, for GitHub.
//!
//! What may not be shown is kept back here and nowhere else: characters that steer a terminal, passwords in URLs,
//! and lines that hold secrets.

mod github;
mod json;
mod short;
mod text;

use std::path::{Path, PathBuf};

use super::escape::{escaped, without_passwords};
use super::{Diagnostic, Label};
use crate::source::{Source, SourceMap};

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

/// Whether texts have colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coloring {
    /// They have none.
    #[default]
    Plain,
    /// As terminals of the ANSI sort show them.
    Ansi,
}

/// Makes texts of diagnostics.
#[derive(Debug, Clone)]
pub struct MessageRenderer<'s> {
    sources: &'s SourceMap,
    format: MessageFormat,
    coloring: Coloring,
    /// What paths are shown relative to.
    directory: Option<PathBuf>,
}

impl<'s> MessageRenderer<'s> {
    /// One for diagnostics whose places are in `sources`.
    #[must_use]
    pub fn new(sources: &'s SourceMap, format: MessageFormat) -> Self {
        Self { sources, format, coloring: Coloring::Plain, directory: None }
    }

    /// With colours, or without; only texts for people can have some.
    #[must_use]
    pub fn coloring(self, coloring: Coloring) -> Self {
        Self { coloring, ..self }
    }

    /// Paths below this absolute directory are shown as seen from there.
    #[must_use]
    pub fn relative_to(self, directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()), ..self }
    }

    /// A diagnostic in the chosen form, without a line break at its end.
    #[must_use]
    pub fn render(&self, problem: &Diagnostic) -> String {
        match self.format {
            MessageFormat::Text => text::render(problem, self),
            MessageFormat::Short => short::render(problem, self),
            MessageFormat::Json => json::render(problem, self),
            MessageFormat::Github => github::render(problem, self),
        }
    }

    /// The places that are known, the main one first.
    fn places<'d>(&'d self, problem: &'d Diagnostic) -> impl Iterator<Item = ShownPlace<'d>> {
        problem.labels().iter().enumerate().filter_map(|(i, label)| {
            let source = self.sources.get(label.span.source)?;
            let file = self.path(source.name());
            let (line, column) = source.line_column(label.span.start);
            Some(ShownPlace { file, line, column, label, source, is_primary: i == 0 })
        })
    }

    /// A path as the user sees it.
    fn path(&self, path: &Path) -> String {
        let below = self.directory.as_deref().and_then(|directory| path.strip_prefix(directory).ok());
        let shown = match below {
            Some(below) if below.as_os_str().is_empty() => Path::new("."),
            Some(below) => below,
            None => path,
        };
        one_line(&shown.display().to_string())
    }
}

/// A label whose text is known.
struct ShownPlace<'d> {
    file: String,
    /// From 1, as the column.
    line: usize,
    column: usize,
    label: &'d Label,
    source: std::sync::Arc<Source>,
    is_primary: bool,
}

impl ShownPlace<'_> {
    /// The line and column behind the last character.
    fn end(&self) -> (usize, usize) {
        self.source.line_column(self.label.span.end.max(self.label.span.start))
    }
}

/// A foreign text on one line: nothing in it steers a terminal, begins a line, or is a password.
fn one_line(text: &str) -> String {
    escaped(&without_passwords(text)).into_owned()
}

/// As [`one_line`] for each line of a text, with spaces before those behind the first.
fn lines(text: &str) -> String {
    let clean: Vec<String> = text.trim_end().lines().map(one_line).collect();
    clean.join("\n")
}

#[cfg(test)]
mod tests;
