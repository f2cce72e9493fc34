//! GitHub workflow commands.

use crate::check::findings::CheckReport;
use smp_text::diagnostic::{MessageFormat, MessageRenderer};

pub(super) fn render(report: &CheckReport, renderer: &MessageRenderer<'_>) -> String {
    let renderer = renderer.clone().format(MessageFormat::Github);
    report.findings.iter().map(|finding| renderer.render(finding) + "\n").collect()
}
