//! Reports schema violations: wrong types, unknown fields, missing required fields, and duplicate values in sets.

use rustc_hash::FxHashSet;

use smp_merge::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::Span;
use smp_text::yaml::Node;
use smp_validate::{DUPLICATE_KEY, MISSING_REQUIRED, UNKNOWN_FIELD, Violation, type_violations};

/// Returns a warning for each schema violation that a change introduced.
pub(super) fn new_violations(before: &Node, after: &Node, kind: Cursor<'_>) -> Vec<Diagnostic> {
    let now = all_violations(after, kind);
    if now.is_empty() {
        return Vec::new();
    }
    let old = all_violations(before, kind);
    let texts: FxHashSet<String> = old.iter().map(ToString::to_string).collect();
    // The same violation may have another list index now, but the same source location.
    let locations: FxHashSet<(Span, &str)> = old.iter().filter_map(location).collect();
    let is_new = |warning: &Diagnostic| {
        !texts.contains(&warning.to_string())
            && location(warning).is_none_or(|location| !locations.contains(&location))
    };
    now.into_iter().filter(is_new).collect()
}

/// Returns a warning for each value whose type differs from the schema.
pub fn type_warnings(object: &Node, kind: Cursor<'_>) -> Vec<Diagnostic> {
    let is_of_type = |warning: &Diagnostic| warning.code() == Code::WrongType;
    all_violations(object, kind).into_iter().filter(is_of_type).collect()
}

/// Returns the source location of a violation, if it has one, and its message.
fn location(warning: &Diagnostic) -> Option<(Span, &str)> {
    let span = warning.labels().first()?.span;
    (span != Span::default()).then(|| (span, warning.message()))
}

fn all_violations(object: &Node, kind: Cursor<'_>) -> Vec<Diagnostic> {
    type_violations(object, kind).into_iter().map(warning).collect()
}

fn warning(violation: Violation) -> Diagnostic {
    let (rule, at) = (violation.rule, violation.at);
    let (code, at, help) = if rule == UNKNOWN_FIELD {
        (Code::UnknownField, at, "the API server rejects or drops it")
    } else if rule == MISSING_REQUIRED {
        (Code::MissingField, at.at_start(), "the API server rejects an object without it")
    } else if rule == DUPLICATE_KEY {
        (Code::InvalidValue, at, "the API server rejects it in custom resources and in `apply`")
    } else {
        (Code::WrongType, at, "the API server rejects it")
    };
    let help = violation.help.filter(|_| rule != DUPLICATE_KEY).unwrap_or_else(|| help.into());
    Diagnostic::warning(code, violation.message).at(at).field(violation.path).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_merge::schema::{Gvk, Schema};
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one};

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("test.yaml", text);
        parse_one(&sources, id, ParseOptions::kubectl()).expect("the test's YAML")
    }

    #[test]
    fn only_new_schema_violations_are_reported() {
        let schema = Schema::embedded();
        let kind = schema.kind(&Gvk::from_manifest("apps/v1", "Deployment")).expect("built in");
        let before = "spec: {replicas: two, template: {spec: {containers: []}}}";
        let table: [(&str, &[&str]); 10] = [
            ("spec: {replicas: two, paused: true}", &[]),
            ("spec: {replicas: 3.0, template: null}", &[]),
            ("spec: {replicas: three}", &[]),
            ("spec: {paused: 'yes'}", &["spec.paused: `paused` must be `true` or `false`, but is a string"]),
            ("spec: {paused: yes}", &[]),
            ("spec: {replcas: 3}", &["spec.replcas: unknown field `replcas`"]),
            ("spec: {template: []}", &["spec.template: `template` must be a map, but is a list"]),
            (
                "metadata: {annotations: {a: 1}, labels: {b: x}}",
                &["metadata.annotations.a: `a` must be a string, but is an integer"],
            ),
            (
                "spec: {template: {spec: {containers: [{env: [{value: 5}]}]}}}",
                &[
                    "spec.template.spec.containers[0].env[0].value: `value` must be a string, but is an integer",
                ],
            ),
            (
                "spec: {template: {spec: {containers: [{resources: {limits: {cpu: 1, memory: 1.5Gi}}, livenessProbe: \
                 {httpGet: {port: http}}}], volumes: [{emptyDir: {sizeLimit: 5}}]}}}",
                &[],
            ),
        ];
        for (after, want) in table {
            let warnings = new_violations(&node(before), &node(after), kind);
            // Each case lacks required fields, which another test checks.
            let values = warnings.iter().filter(|warning| warning.code() != Code::MissingField);
            let got: Vec<_> = values.map(ToString::to_string).collect();
            assert_eq!(got, want, "{after}");
        }
    }

    #[test]
    fn missing_required_fields_are_reported_when_new() {
        let schema = Schema::embedded();
        let kind = schema.kind(&Gvk::from_manifest("apps/v1", "Deployment")).expect("built in");
        let before = "spec: {selector: {}, template: {spec: {containers: [{image: a}]}}}";
        let table = [
            ("spec: {selector: null, template: {spec: {containers: [{image: b}]}}}", vec!["spec.selector"]),
            (
                "spec: {selector: {}, template: {spec: {containers: [{image: b, env: [{value: x}]}]}}}",
                vec!["spec.template.spec.containers[0].env[0].name"],
            ),
            ("{}", vec!["spec"]),
        ];
        for (after, want) in table {
            let warnings = new_violations(&node(before), &node(after), kind);
            let got: Vec<_> = warnings.iter().filter_map(Diagnostic::field_path).collect();
            assert_eq!(got, want, "{after}");
        }
    }
}
