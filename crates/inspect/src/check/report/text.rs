//! Text output for terminals.

use crate::check::findings::CheckReport;
use smp_text::diagnostic::{MessageFormat, MessageRenderer, Severity, counted};

pub(super) fn render(report: &CheckReport, renderer: &MessageRenderer<'_>) -> String {
    let renderer = renderer.clone().format(MessageFormat::Text);
    let paragraphs = renderer.render_all(&report.findings).into_iter().map(|paragraph| paragraph + "\n");
    paragraphs.collect::<Vec<_>>().join("\n")
}

/// Returns a line with the number of findings by severity and the number of targets.
#[must_use]
pub fn summary(report: &CheckReport) -> String {
    let count = |severity| report.findings.iter().filter(|one| one.severity() == severity).count();
    let all = report.findings.len();
    let of = counted(report.targets, "target");
    let severities = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    // Notes are rare, so their number is printed only if there are any.
    let counts = severities.map(|(severity, word)| (count(severity), severity, word));
    let counts = counts.iter().filter(|(count, severity, _)| *count > 0 || *severity != Severity::Note);
    let counts: Vec<String> = counts.map(|(count, _, word)| counted(*count, word)).collect();
    let found = match all {
        0 => format!("no findings in {of}"),
        _ => format!("{} in {of}: {}", counted(all, "finding"), counts.join(", ")),
    };
    let in_baseline = if report.is_revision { "also in the old revision" } else { "in the baseline" };
    let left_out = [(report.suppressed, "suppressed"), (report.in_baseline, in_baseline)];
    let left_out = left_out.iter().filter(|(count, _)| *count > 0);
    left_out.fold(found, |text, (count, what)| format!("{text}, {count} {what}"))
}
