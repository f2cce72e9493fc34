//! The text format: message, excerpts of the locations, and help.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use super::layout::{ColorMode, MessageLayout, ShownLocation, is_summary, lines, one_line};
use crate::diagnostic::escape::{escaped, may_need_escape};
use crate::diagnostic::{Diagnostic, Severity};

/// The maximum length of an excerpt. For a longer line, such as one of minified JSON, only the part around the location
/// is shown.
const LONGEST_EXCERPT: usize = 240;

/// The number of bytes that are shown before the location in a shortened line.
const BEFORE_LOCATION: usize = 60;

/// The text that replaces the rest of a shortened line.
const CUT: &str = "...";

pub(super) fn render(problem: &Diagnostic, layout: &MessageLayout<'_>) -> String {
    let level = match problem.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(one_line(problem.message()));
    let title = if is_summary(problem) { title } else { title.id(problem.code().name()) };
    let mut group = Group::with_title(title);
    let mut headings = Vec::new();
    for location in layout.locations(problem) {
        group = group.element(element(location, &mut headings));
    }
    let named = |name: &'static str, text: String| Level::NOTE.with_name(name).message(text);
    if let Some(resource) = problem.resource_name() {
        group = group.element(named("resource", one_line(resource)));
    }
    if let Some(field) = problem.field_path() {
        group = group.element(named("field", one_line(field)));
    }
    if let Some(target) = problem.target_path() {
        group = group.element(named("target", layout.path(target)));
    }
    for note in problem.shown_notes() {
        group = group.element(Level::NOTE.message(lines(&note)));
    }
    if let Some(help) = problem.help_text() {
        group = group.element(Level::HELP.message(lines(help)));
    }
    let renderer = match layout.coloring {
        ColorMode::Plain => Renderer::plain(),
        ColorMode::Ansi => Renderer::styled(),
    };
    let text = renderer.render(&[group]);
    headings.iter().fold(text, |text, heading| text.replacen(&heading.rendered, &heading.correct, 1))
}

/// The `--> file:line:column` of an excerpt as the rendering crate prints it, and the correct text. In a shortened
/// line, the crate counts columns from the start of the excerpt.
struct Heading {
    rendered: String,
    correct: String,
}

fn element(location: ShownLocation<'_>, headings: &mut Vec<Heading>) -> Element<'static> {
    if location.is_hidden {
        return hidden(location);
    }
    let text = location.text.source.line(location.line);
    let (line, part) = excerpt(text, within_line(&location, text));
    let kind = if location.is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    let column = line.get(..part.start).unwrap_or_default().chars().count() + 1;
    let annotation = labelled(kind.span(part), &location);
    let snippet = Snippet::source(line).line_start(location.line).annotation(annotation);
    if column == location.column {
        return snippet.path(location.text.file).into();
    }
    // Paths do not contain this character, because it would have been escaped.
    let name = format!("\u{e000}{}\u{e000}", headings.len());
    headings.push(Heading {
        rendered: format!("{name}:{}:{column}", location.line),
        correct: format!("{}:{}:{}", location.text.file, location.line, location.column),
    });
    snippet.path(name).into()
}

/// Returns the excerpt of a line, and the range of the location within it.
fn excerpt(text: &str, part: Range<usize>) -> (String, Range<usize>) {
    if text.len() <= LONGEST_EXCERPT {
        return escaped_excerpt(text, part);
    }
    let boundary = |mut i: usize| {
        while !text.is_char_boundary(i) {
            i -= 1;
        }
        i
    };
    let start = boundary(part.start.saturating_sub(BEFORE_LOCATION));
    let end = boundary((start + LONGEST_EXCERPT).min(text.len()));
    let window = text.get(start..end).unwrap_or_default();
    let (line, part) = escaped_excerpt(window, part.start - start..part.end.min(end) - start);
    let before = if start > 0 { CUT } else { "" };
    let after = if end < text.len() { CUT } else { "" };
    (format!("{before}{line}{after}"), part.start + before.len()..part.end + before.len())
}

fn labelled<'a>(annotation: Annotation<'a>, location: &ShownLocation<'_>) -> Annotation<'a> {
    let label = one_line(&location.label.text);
    if label.is_empty() { annotation } else { annotation.label(label) }
}

/// Returns the excerpt of a location whose line is hidden.
fn hidden(location: ShownLocation<'_>) -> Element<'static> {
    if location.column > LONGEST_EXCERPT {
        return Origin::path(location.text.file).line(location.line).char_column(location.column).into();
    }
    let kind = if location.is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    let text = format!("{}***", " ".repeat(location.column - 1));
    let annotation = labelled(kind.span(location.column - 1..text.len()), &location);
    Snippet::source(text).path(location.text.file).line_start(location.line).annotation(annotation).into()
}

/// Returns the part of a span that is on its first line, as a byte range of this line.
fn within_line(location: &ShownLocation<'_>, text: &str) -> Range<usize> {
    let span = location.text.span;
    let line_start = location.text.source.line_start(location.line);
    let start = (span.start as usize).saturating_sub(line_start).min(text.len());
    let end = (span.end as usize).saturating_sub(line_start).clamp(start, text.trim_end().len().max(start));
    start..end
}

/// Escapes the control characters of a line except tabs, and returns the new range of `part`.
fn escaped_excerpt(line: &str, part: Range<usize>) -> (String, Range<usize>) {
    if !line.split('\t').any(may_need_escape) {
        return (line.to_string(), part);
    }
    let clean = |text: &str| {
        let parts: Vec<_> = text.split('\t').map(escaped).collect();
        parts.join("\t")
    };
    let (before, rest) = line.split_at_checked(part.start).unwrap_or((line, ""));
    let (within, after) = rest.split_at_checked(part.end - part.start).unwrap_or((rest, ""));
    let (before, within) = (clean(before), clean(within));
    let range = before.len()..before.len() + within.len();
    (before + &within + &clean(after), range)
}
