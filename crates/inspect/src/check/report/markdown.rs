//! A Markdown table, for comments on pull requests.

use crate::check::findings::{CheckReport, main_location};
use smp_text::diagnostic::{Diagnostic, MessageRenderer, escaped_markdown, markdown_code};

pub(super) fn render(report: &CheckReport, renderer: &MessageRenderer<'_>) -> String {
    let mut out = format!("**kubectl smp check**: {}\n", super::text::summary(report));
    if report.findings.is_empty() {
        return out;
    }
    out.push_str("\n| | location | message | code |\n|---|---|---|---|\n");
    for finding in &report.findings {
        out.push_str(&row(finding, renderer));
    }
    out
}

fn row(finding: &Diagnostic, renderer: &MessageRenderer<'_>) -> String {
    let at = main_location(finding, renderer)
        .map(|location| markdown_code(&format!("{}:{}:{}", location.file, location.line, location.column)))
        .unwrap_or_default();
    let what = renderer.clean_text(&finding.to_string());
    let help =
        finding.help_text().map(|help| format!("<br>{}", escaped_markdown(&renderer.clean_text(help))));
    let (severity, help) = (finding.severity().name(), help.unwrap_or_default());
    format!("| {severity} | {} | {}{help} | `{}` |\n", at, escaped_markdown(&what), finding.code())
}
