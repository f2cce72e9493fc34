//! For comments on changes: a table.

use crate::check::findings::{CheckReport, main_place};
use crate::diagnostic::{Diagnostic, MessageRenderer};

pub(super) fn render(report: &CheckReport, renderer: &MessageRenderer<'_>) -> String {
    let mut out = format!("**kubectl smp check**: {}\n", super::text::summary(report));
    if report.findings.is_empty() {
        return out;
    }
    out.push_str("\n| | where | what | code |\n|---|---|---|---|\n");
    for finding in &report.findings {
        out.push_str(&row(finding, renderer));
    }
    out
}

fn row(finding: &Diagnostic, renderer: &MessageRenderer<'_>) -> String {
    let at = main_place(finding, renderer)
        .map(|place| format!("`{}:{}:{}`", place.file, place.line, place.column))
        .unwrap_or_default();
    let what = renderer.shown(&finding.to_string());
    let help = finding.help_text().map(|help| format!("<br>{}", cell(&renderer.shown(help))));
    let (severity, help) = (finding.severity().name(), help.unwrap_or_default());
    format!("| {severity} | {} | {}{help} | `{}` |\n", at.replace('|', "\\|"), cell(&what), finding.code())
}

/// A text that ends no cell and is no markup.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("<br>"),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '_' | '[' | ']' | '\\' | '@' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}
