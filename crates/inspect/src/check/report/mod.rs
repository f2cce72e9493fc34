//! The output formats of reports.

mod github;
mod json;
mod junit;
mod markdown;
mod sarif;
mod short;
mod text;

use smp_text::diagnostic::MessageRenderer;

pub use self::text::summary;
use super::findings::CheckReport;

/// An output format of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckForm {
    /// Paragraphs with source excerpts.
    #[default]
    Text,
    /// One line per finding: `file:line:column: warning[code]: message`.
    Short,
    /// A JSON array of findings.
    Json,
    /// SARIF 2.1.0 with a single run.
    Sarif,
    /// JUnit XML with a suite for each target.
    Junit,
    /// GitHub workflow commands.
    Github,
    /// A Markdown table.
    Markdown,
}

/// Renders a report. The result ends with a line break unless it is empty.
#[must_use]
pub fn render(report: &CheckReport, form: CheckForm, renderer: &MessageRenderer<'_>) -> String {
    match form {
        CheckForm::Text => text::render(report, renderer),
        CheckForm::Short => short::render(report, renderer),
        CheckForm::Json => json::render(report, renderer),
        CheckForm::Sarif => sarif::render(report, renderer),
        CheckForm::Junit => junit::render(report, renderer),
        CheckForm::Github => github::render(report, renderer),
        CheckForm::Markdown => markdown::render(report, renderer),
    }
}
