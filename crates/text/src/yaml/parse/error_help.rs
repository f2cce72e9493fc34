//! Help for texts that are not plain YAML: files with git conflict markers, and Helm templates.

use memchr::memmem;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{SourceId, Span};

/// The lines with which git marks a conflict.
const MARKERS: [&str; 3] = ["<<<<<<<", "=======", ">>>>>>>"];

/// The start of a template expression.
const TEMPLATE: &str = "{{";

/// Improves the error message for a text with conflict markers or template expressions.
pub(super) fn explain_error(error: Diagnostic, id: SourceId, text: &str) -> Diagnostic {
    if let Some(at) = conflict(text) {
        let message = "this file has git conflict markers";
        return Diagnostic::error(Code::Syntax, message)
            .at(Span::new(id, at, at + MARKERS[0].len()))
            .help("resolve the conflict, and remove the lines `<<<<<<<`, `=======` and `>>>>>>>`");
    }
    let at = error.labels().first().filter(|label| label.span.source == id).map(|label| label.span.start);
    match at {
        Some(at) if is_template(text, at as usize) => error.help(
            "this looks like a Helm template: render it with `helm template`, or list its chart under `helmCharts`",
        ),
        _ => error,
    }
}

/// Returns the position of the first marker of a conflict that has all markers. Git writes them at the start of a line,
/// where the text of a block scalar cannot be.
fn conflict(text: &str) -> Option<usize> {
    let [ours, middle, theirs] = MARKERS;
    let first = marker(text, 0, ours)?;
    let second = marker(text, first, middle)?;
    marker(text, second, theirs).map(|_| first)
}

/// Returns the start of the first line after a position that is a marker.
fn marker(text: &str, from: usize, marker: &str) -> Option<usize> {
    let found = memmem::find_iter(&text.as_bytes()[from..], marker).map(|at| from + at);
    let is_line = |at: &usize| {
        let rest = &text[at + marker.len()..];
        (*at == 0 || text.as_bytes()[at - 1] == b'\n')
            && (rest.is_empty() || rest.starts_with([' ', '\n', '\r']))
    };
    found.filter(|at| text.is_char_boundary(*at)).find(is_line)
}

/// Returns true if a template expression probably caused the error: the line of the error contains one, or an
/// earlier line consists of one.
fn is_template(text: &str, at: usize) -> bool {
    let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = at + rest.find('\n').unwrap_or(rest.len());
    let is_statement = |line: &str| {
        let inner = line.trim().strip_prefix(TEMPLATE).map(|inner| inner.trim_start_matches(['-', ' ']));
        let words = [
            "if ",
            "else",
            "end",
            "range ",
            "with ",
            "define ",
            "include ",
            "template ",
            "block ",
            "/*",
            ".",
        ];
        inner.is_some_and(|inner| words.iter().any(|word| inner.starts_with(word)))
    };
    text.get(line_start..line_end).is_some_and(|line| line.contains(TEMPLATE))
        || before.lines().any(is_statement)
}
