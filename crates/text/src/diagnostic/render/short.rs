//! The short format, for editors and long lists: `file:line:column: warning[code]: message`.

use super::layout::{MessageLayout, is_summary, one_line};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::escape::escaped_line_start;

pub(super) fn render(problem: &Diagnostic, layout: &MessageLayout<'_>) -> String {
    let what = match problem.severity().name() {
        note if is_summary(problem) => note.to_string(),
        severity => format!("{severity}[{}]", problem.code()),
    };
    match layout.locations(problem).next() {
        Some(location) => {
            let message = one_line(problem.message());
            let line =
                format!("{}:{}:{}: {what}: {message}", location.text.file, location.line, location.column);
            escaped_line_start(&line).into_owned()
        }
        // If there is no location, the resource and field are shown.
        None => format!("{what}: {}", one_line(&problem.to_string())),
    }
}
