//! The short format, for editors and long lists: `file:line:column: warning[code]: message`.

use super::layout::{MessageLayout, is_remark, one_line};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::escape::guarded;

pub(super) fn render(problem: &Diagnostic, how: &MessageLayout<'_>) -> String {
    let what = match problem.severity().name() {
        note if is_remark(problem) => note.to_string(),
        severity => format!("{severity}[{}]", problem.code()),
    };
    match how.places(problem).next() {
        Some(place) => {
            let message = one_line(problem.message());
            let line = format!("{}:{}:{}: {what}: {message}", place.text.file, place.line, place.column);
            guarded(&line).into_owned()
        }
        // Without a location, the resource and field are shown instead.
        None => format!("{what}: {}", one_line(&problem.to_string())),
    }
}
