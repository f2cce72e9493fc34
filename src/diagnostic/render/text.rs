//! For people: what, where with an excerpt, and what to do.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use super::layout::{Coloring, MessageLayout, ShownPlace, lines, one_line};
use crate::diagnostic::escape::{escaped, steers};
use crate::diagnostic::{Code, Diagnostic, Excerpt, Severity};

/// Lines longer than this are shown without an excerpt: minified JSON helps nobody.
const LONGEST_EXCERPT: usize = 400;

pub(super) fn render(problem: &Diagnostic, how: &MessageLayout<'_>) -> String {
    let level = match problem.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(one_line(problem.message()));
    let title = if problem.code() == Code::Summary { title } else { title.id(problem.code().name()) };
    let mut group = Group::with_title(title);
    for place in how.places(problem) {
        group = group.element(element(place));
    }
    let named = |name: &'static str, text: String| Level::NOTE.with_name(name).message(text);
    if let Some(resource) = problem.resource_name() {
        group = group.element(named("resource", one_line(resource)));
    }
    if let Some(field) = problem.field_path() {
        group = group.element(named("field", one_line(field)));
    }
    if let Some(target) = problem.target_path() {
        group = group.element(named("target", how.path(target)));
    }
    for note in problem.notes() {
        group = group.element(Level::NOTE.message(lines(note)));
    }
    if let Some(help) = problem.help_text() {
        group = group.element(Level::HELP.message(lines(help)));
    }
    let renderer = match how.coloring {
        Coloring::Plain => Renderer::plain(),
        Coloring::Ansi => Renderer::styled(),
    };
    renderer.render(&[group])
}

fn element(place: ShownPlace<'_>) -> Element<'static> {
    if place.label.excerpt == Excerpt::Hidden || !place.source.may_show(place.line) {
        return hidden(place);
    }
    let text = place.source.line(place.line);
    if text.len() > LONGEST_EXCERPT {
        return Origin::path(place.file).line(place.line).char_column(place.column).into();
    }
    let kind = if place.is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    let (text, range) = escaped_line(text, within_line(&place, text));
    let annotation = kind.span(range);
    let annotation = labelled(annotation, &place);
    Snippet::source(text).path(place.file).line_start(place.line).annotation(annotation).into()
}

fn labelled<'a>(annotation: Annotation<'a>, place: &ShownPlace<'_>) -> Annotation<'a> {
    let label = one_line(&place.label.text);
    if label.is_empty() { annotation } else { annotation.label(label) }
}

/// A place whose line nobody shall see.
fn hidden(place: ShownPlace<'_>) -> Element<'static> {
    if place.column > LONGEST_EXCERPT {
        return Origin::path(place.file).line(place.line).char_column(place.column).into();
    }
    let kind = if place.is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    let text = format!("{}***", " ".repeat(place.column - 1));
    let annotation = labelled(kind.span(place.column - 1..text.len()), &place);
    Snippet::source(text).path(place.file).line_start(place.line).annotation(annotation).into()
}

/// The part of a span that is on its first line, as bytes of that line.
fn within_line(place: &ShownPlace<'_>, text: &str) -> Range<usize> {
    let span = place.label.span;
    let before = place.source.text().get(..span.start as usize).unwrap_or_default();
    let line_start = if place.line == 1 { 0 } else { before.rfind('\n').map_or(0, |i| i + 1) };
    let start = (span.start as usize).saturating_sub(line_start).min(text.len());
    let end = (span.end as usize).saturating_sub(line_start).clamp(start, text.trim_end().len().max(start));
    start..end
}

/// A line whose characters steer nothing, and where in it a part is then; tabs stay.
fn escaped_line(line: &str, part: Range<usize>) -> (String, Range<usize>) {
    if !line.chars().any(|c| c != '\t' && steers(c)) {
        return (line.to_string(), part);
    }
    let clean = |text: &str| {
        let parts: Vec<_> = text.split('\t').map(escaped).collect();
        parts.join("\t")
    };
    let (before, rest) = line.split_at_checked(part.start).unwrap_or((line, ""));
    let (within, behind) = rest.split_at_checked(part.end - part.start).unwrap_or((rest, ""));
    let (before, within) = (clean(before), clean(within));
    let range = before.len()..before.len() + within.len();
    (before + &within + &clean(behind), range)
}
