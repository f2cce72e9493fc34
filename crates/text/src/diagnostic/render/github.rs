//! The GitHub format: workflow commands, which GitHub shows as annotations of source lines.
//!
//! The syntax is documented in "Workflow commands for GitHub Actions".

use std::borrow::Cow;

use super::layout::{MessageLayout, one_line};
use crate::diagnostic::{Diagnostic, Severity};

pub(super) fn render(problem: &Diagnostic, layout: &MessageLayout<'_>) -> String {
    let command = match problem.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let mut properties = Vec::new();
    if let Some(location) = layout.locations(problem).next() {
        let (end_line, end_column) = location.text.end();
        properties.push(format!("file={}", property(&location.text.file)));
        properties.push(format!("line={},endLine={end_line}", location.line));
        if end_line == location.line {
            properties.push(format!("col={},endColumn={end_column}", location.column));
        }
    }
    properties.push(format!("title={}", problem.code()));
    let mut message = one_line(&problem.to_string());
    for text in problem.shown_notes().chain(problem.help_text().map(Cow::Borrowed)) {
        for line in text.lines() {
            message.push('\n');
            message.push_str(&one_line(line));
        }
    }
    format!("::{command} {}::{}", properties.join(","), data(&message))
}

/// Escapes the message after the `::`. GitHub shows its line breaks.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
