//! The forms in which a report is told.

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

/// A form of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckForm {
    /// Paragraphs with excerpts.
    #[default]
    Text,
    /// A line for each: `file:line:column: warning[code]: message`.
    Short,
    /// A JSON array of findings, each as a message for programs.
    Json,
    /// SARIF 2.1.0: one run.
    Sarif,
    /// JUnit's XML: a suite for each target.
    Junit,
    /// Commands of GitHub's workflows.
    Github,
    /// A table.
    Markdown,
}

/// A report in one of its forms, with a line break at its end unless it is empty.
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
