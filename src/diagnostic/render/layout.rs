//! What all forms share: which places are shown, and how paths and foreign texts are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::escape::{escaped, without_passwords};
use crate::diagnostic::{Diagnostic, Label};
use crate::source::{Source, SourceMap};

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
            let source = self.sources.get(label.span.source)?;
            let file = self.path(source.name());
            let (line, column) = source.line_column(label.span.start);
            Some(ShownPlace { file, line, column, label, source, is_primary: i == 0 })
        })
    }

    /// A path as the user sees it.
    pub(super) fn path(&self, path: &Path) -> String {
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
pub(super) struct ShownPlace<'d> {
    pub file: String,
    /// From 1, as the column.
    pub line: usize,
    pub column: usize,
    pub label: &'d Label,
    pub source: Arc<Source>,
    pub is_primary: bool,
}

impl ShownPlace<'_> {
    /// The line and column behind the last character.
    pub(super) fn end(&self) -> (usize, usize) {
        self.source.line_column(self.label.span.end.max(self.label.span.start))
    }
}

/// A foreign text on one line: nothing in it steers a terminal, begins a line, or is a password.
pub(super) fn one_line(text: &str) -> String {
    escaped(&without_passwords(text)).into_owned()
}

/// As [`one_line`] for each line of a text, with spaces before those behind the first.
pub(super) fn lines(text: &str) -> String {
    let clean: Vec<String> = text.trim_end().lines().map(one_line).collect();
    clean.join("\n")
}
