//! One line per finding, for editors and problem matchers.

use crate::check::findings::CheckReport;
use smp_text::diagnostic::{MessageFormat, MessageRenderer};

pub(super) fn render(report: &CheckReport, renderer: &MessageRenderer<'_>) -> String {
    let renderer = renderer.clone().format(MessageFormat::Short);
    report.findings.iter().map(|finding| renderer.render(finding) + "\n").collect()
}
