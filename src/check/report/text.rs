//! For people.

use crate::check::findings::CheckReport;
use crate::diagnostic::{MessageFormat, MessageRenderer, Severity};

pub(super) fn render(report: &CheckReport, renderer: &MessageRenderer<'_>) -> String {
    let renderer = renderer.clone().format(MessageFormat::Text);
    let paragraphs: Vec<String> =
        report.findings.iter().map(|finding| renderer.render(finding) + "\n").collect();
    paragraphs.join("\n")
}

/// A line on how many findings there are, of which sort, and in how many targets.
#[must_use]
pub fn summary(report: &CheckReport) -> String {
    let count = |severity| report.findings.iter().filter(|one| one.severity() == severity).count();
    let all = report.findings.len();
    let of = match report.targets {
        1 => "1 target".to_string(),
        targets => format!("{targets} targets"),
    };
    let found = match all {
        0 => format!("no findings in {of}"),
        _ => format!(
            "{all} finding{} in {of}: {} error{}, {} warning{}",
            plural(all),
            count(Severity::Error),
            plural(count(Severity::Error)),
            count(Severity::Warning),
            plural(count(Severity::Warning)),
        ),
    };
    let left_out = [(report.silenced, "silenced"), (report.known, "in the baseline")];
    let left_out = left_out.iter().filter(|(count, _)| *count > 0);
    left_out.fold(found, |text, (count, what)| format!("{text}, {count} {what}"))
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
