//! SARIF 2.1.0 (OASIS) for code scanning: a single run, with paths relative to the working directory.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::check::findings::CheckReport;
use crate::check::registry::rule_by_code;
use crate::check::rule::Rule;
use smp_text::diagnostic::{Code, Diagnostic, MessageRenderer, RenderedLocation, Severity, escaped_json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Json,
    locations: Vec<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Json>,
}

pub(super) fn render(report: &CheckReport, renderer: &MessageRenderer<'_>) -> String {
    let mut codes: BTreeMap<&str, Code> = BTreeMap::new();
    report.findings.iter().for_each(|finding| _ = codes.insert(finding.code().name(), finding.code()));
    let index: BTreeMap<&str, usize> = codes.keys().enumerate().map(|(i, name)| (*name, i)).collect();
    let results: Vec<SarifResult> = report
        .findings
        .iter()
        .map(|finding| result(finding, index[finding.code().name()], renderer))
        .collect();
    let rules: Vec<Json> = codes.values().map(|code| rule(*code)).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "kubectl-smp",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    // Strings and numbers always serialize.
    escaped_json(&serde_json::to_string_pretty(&log).unwrap_or_default()) + "\n"
}

fn rule(code: Code) -> Json {
    let rule = rule_by_code(code);
    json!({
        "id": code.name(),
        "name": rule.map_or(code.name(), Rule::title),
        "shortDescription": {"text": code.meaning()},
        "fullDescription": {"text": rule.map_or(code.meaning(), |rule| rule.why)},
        "help": {"text": code.remedy()},
        "defaultConfiguration": {"level": level(rule.map_or(Severity::Error, |rule| rule.severity))},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn result(finding: &Diagnostic, rule_index: usize, renderer: &MessageRenderer<'_>) -> SarifResult {
    let mut message = renderer.clean_text(&finding.to_string());
    if let Some(help) = finding.help_text() {
        message = format!("{message}\n{}", renderer.clean_text(help));
    }
    let mut locations = renderer.locations(finding).into_iter();
    let main = locations.next().map(|at| location(&at, None)).into_iter().collect();
    let others = locations.enumerate().map(|(i, at)| location(&at, Some(i))).collect();
    SarifResult {
        rule_id: finding.code().name(),
        rule_index,
        level: level(finding.severity()),
        message: json!({ "text": message }),
        locations: main,
        related_locations: others,
        fixes: fix(finding, renderer).into_iter().collect(),
    }
}

fn location(at: &RenderedLocation, id: Option<usize>) -> Json {
    let mut location = json!({"physicalLocation": {
        "artifactLocation": {"uri": at.uri},
        "region": region(at),
    }});
    if let Some(id) = id {
        location["id"] = json!(id);
        if !at.label.is_empty() {
            location["message"] = json!({ "text": at.label });
        }
    }
    location
}

fn region(at: &RenderedLocation) -> Json {
    json!({
        "startLine": at.line,
        "startColumn": at.column,
        "endLine": at.end_line,
        "endColumn": at.end_column,
    })
}

fn fix(finding: &Diagnostic, renderer: &MessageRenderer<'_>) -> Option<Json> {
    let (at, replacement) = renderer.fix(finding)?;
    Some(json!({"artifactChanges": [{
        "artifactLocation": {"uri": at.uri},
        "replacements": [{
            "deletedRegion": region(&at),
            "insertedContent": {"text": replacement},
        }],
    }]}))
}
