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
pub enum ReportFormat {
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
pub fn render(report: &CheckReport, format: ReportFormat, renderer: &MessageRenderer<'_>) -> String {
    match format {
        ReportFormat::Text => text::render(report, renderer),
        ReportFormat::Short => short::render(report, renderer),
        ReportFormat::Json => json::render(report, renderer),
        ReportFormat::Sarif => sarif::render(report, renderer),
        ReportFormat::Junit => junit::render(report, renderer),
        ReportFormat::Github => github::render(report, renderer),
        ReportFormat::Markdown => markdown::render(report, renderer),
    }
}
