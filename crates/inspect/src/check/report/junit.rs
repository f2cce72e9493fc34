//! JUnit XML for CI servers: a suite for each target and a test case for each finding.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::check::findings::{CheckReport, main_location};
use smp_text::diagnostic::{Diagnostic, MessageRenderer, escaped_xml};

pub(super) fn render(report: &CheckReport, renderer: &MessageRenderer<'_>) -> String {
    let mut suites: BTreeMap<String, Vec<&Diagnostic>> =
        report.target_names.iter().map(|target| (renderer.path(target), Vec::new())).collect();
    for finding in &report.findings {
        let target = finding.target_path().map(|target| renderer.path(target)).unwrap_or_default();
        suites.entry(target).or_default().push(finding);
    }
    let all = report.findings.len();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<testsuites name=\"kubectl smp check\" tests=\"{}\" failures=\"{all}\">",
        all.max(suites.len())
    );
    for (target, findings) in &suites {
        let (name, count) = (escaped_xml(target), findings.len());
        let _ =
            writeln!(out, "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{count}\">", count.max(1));
        if findings.is_empty() {
            let _ = writeln!(out, "    <testcase classname=\"{name}\" name=\"check\"/>");
        }
        for finding in findings {
            out.push_str(&case(finding, &name, renderer));
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn case(finding: &Diagnostic, target: &str, renderer: &MessageRenderer<'_>) -> String {
    let location = main_location(finding, renderer);
    let at = location
        .map(|location| format!("{}:{}:{}", location.file, location.line, location.column))
        .unwrap_or_default();
    let (code, message) = (finding.code(), escaped_xml(&renderer.clean_text(&finding.to_string())));
    let help = finding.help_text().map(|help| escaped_xml(&renderer.clean_text(help))).unwrap_or_default();
    let severity = finding.severity().name();
    format!(
        "    <testcase classname=\"{target}\" name=\"{code} {}\">\n      <failure type=\"{severity}\" \
         message=\"{message}\">{}\n{help}</failure>\n    </testcase>\n",
        escaped_xml(&at),
        escaped_xml(&at),
    )
}
