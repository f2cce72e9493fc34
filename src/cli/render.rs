//! Diagnostics for a terminal: what, where with an excerpt, and what to do.

use std::io::{self, IsTerminal, Write};
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Excerpt, Label, Severity};
use crate::source::{Source, SourceMap};

/// Prints diagnostics to stderr, in colour when that is a terminal and NO_COLOR is not set.
pub(super) fn print(problems: &[Diagnostic], sources: &SourceMap) {
    let stderr = io::stderr();
    let colour = has_colour(&stderr);
    let mut stderr = stderr.lock();
    for problem in problems {
        // When stderr is closed there is nobody left to tell.
        let _ = writeln!(stderr, "{}", render(problem, sources, colour));
    }
}

/// Whether what is written there is shown in colour.
pub(super) fn has_colour(out: &impl IsTerminal) -> bool {
    out.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Prints a message that has no place.
pub(super) fn print_plain(severity: Severity, message: &str) {
    let word = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let _ = writeln!(io::stderr(), "{word}: {message}");
}

/// Prints what is worth knowing and no problem.
pub(super) fn print_note(message: &str) {
    let _ = writeln!(io::stderr(), "note: {message}");
}

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verbosity {
    /// Problems.
    Usual,
    /// What is done, too.
    Verbose,
}

impl Verbosity {
    /// Says something that only those want to know who ask for it.
    pub(super) fn say(self, message: &str) {
        if self == Self::Verbose {
            print_note(message);
        }
    }
}

/// A diagnostic as text.
pub(super) fn render(problem: &Diagnostic, sources: &SourceMap, colour: bool) -> String {
    let level = match problem.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(problem.message().to_string()));
    for (i, label) in problem.labels().iter().enumerate() {
        let Some(source) = sources.get(label.span.source) else { continue };
        group = group.element(place(label, &source, i == 0));
    }
    if let Some(resource) = problem.resource_name() {
        group = group.element(Level::NOTE.with_name("resource").message(resource.to_string()));
    }
    if let Some(field) = problem.field_path() {
        group = group.element(Level::NOTE.with_name("field").message(field.to_string()));
    }
    for note in problem.notes() {
        group = group.element(Level::NOTE.message(note.clone()));
    }
    if let Some(help) = problem.help_text() {
        group = group.element(Level::HELP.message(help.to_string()));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// Lines longer than this are shown without an excerpt: minified JSON helps nobody.
const LONGEST_EXCERPT: usize = 400;

fn place(label: &Label, source: &Source, main: bool) -> Element<'static> {
    let (line, column) = source.line_column(label.span.start);
    let path = source.name().display().to_string();
    if label.excerpt == Excerpt::Hidden {
        return hidden_place(label, path, (line, column));
    }
    let text = source.line(line).to_string();
    if text.len() > LONGEST_EXCERPT || text.chars().any(|c| c.is_control() && c != '\t') {
        return Origin::path(path).line(line).char_column(column).into();
    }
    let kind = if main { AnnotationKind::Primary } else { AnnotationKind::Context };
    let annotation = kind.span(within_line(label, source, line, &text));
    let annotation = if label.text.is_empty() { annotation } else { annotation.label(label.text.clone()) };
    Snippet::source(text).path(path).line_start(line).annotation(annotation).into()
}

/// A place whose line nobody shall see.
fn hidden_place(label: &Label, path: String, (line, column): (usize, usize)) -> Element<'static> {
    if column > LONGEST_EXCERPT {
        return Origin::path(path).line(line).char_column(column).into();
    }
    let text = format!("{}***", " ".repeat(column - 1));
    let annotation = AnnotationKind::Context.span(column - 1..text.len()).label(label.text.clone());
    Snippet::source(text).path(path).line_start(line).annotation(annotation).into()
}

/// The part of a span that is on its first line, as bytes of that line.
fn within_line(label: &Label, source: &Source, line: usize, text: &str) -> Range<usize> {
    let before = source.text().get(..label.span.start as usize).unwrap_or_default();
    let line_start = if line == 1 { 0 } else { before.rfind('\n').map_or(0, |i| i + 1) };
    let start = (label.span.start as usize).saturating_sub(line_start).min(text.len());
    let end =
        (label.span.end as usize).saturating_sub(line_start).clamp(start, text.trim_end().len().max(start));
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use crate::source::Span;

    #[test]
    fn a_problem_is_shown_with_its_places() {
        let sources = SourceMap::default();
        let id = sources.add("app/web.yaml", "kind: Service\nname: web\nname: db\n");
        let problem = Diagnostic::error(Code::DuplicateKey, "the key `name` stands here twice")
            .label(Span::new(id, 24, 28), "again here")
            .label(Span::new(id, 14, 18), "first here")
            .resource("Service web")
            .field("metadata.name")
            .help("remove one of the two");
        insta::assert_snapshot!(render(&problem, &sources, false), @"
        error: the key `name` stands here twice
         --> app/web.yaml:3:1
          |
        3 | name: db
          | ^^^^ again here
          |
         ::: app/web.yaml:2:1
          |
        2 | name: web
          | ---- first here
          |
          = resource: Service web
          = field: metadata.name
          = help: remove one of the two
        ");
    }
}
