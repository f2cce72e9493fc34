//! A JSON array of findings.

use crate::check::findings::CheckReport;
use smp_text::diagnostic::{MessageFormat, MessageRenderer};

pub(super) fn render(report: &CheckReport, renderer: &MessageRenderer<'_>) -> String {
    let renderer = renderer.clone().format(MessageFormat::Json);
    let objects: Vec<String> = report.findings.iter().map(|finding| renderer.render(finding)).collect();
    if objects.is_empty() { "[]\n".into() } else { format!("[\n{}\n]\n", objects.join(",\n")) }
}
