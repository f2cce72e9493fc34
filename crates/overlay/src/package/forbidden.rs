//! What a schema forbids: values of another type, fields that it does not have or that are missing, sets that hold a
//! value twice.

use rustc_hash::FxHashSet;

use smp_merge::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::Span;
use smp_text::yaml::Node;
use smp_validate::{DUPLICATE_KEY, MISSING_REQUIRED, UNKNOWN_FIELD, Violation, type_violations};

/// A warning for each thing in a changed object that the schema forbids, and that was not there before.
pub(super) fn newly_forbidden(before: &Node, after: &Node, kind: Cursor<'_>) -> Vec<Diagnostic> {
    let now = forbidden(after, kind);
    if now.is_empty() {
        return Vec::new();
    }
    let old = forbidden(before, kind);
    let texts: FxHashSet<String> = old.iter().map(ToString::to_string).collect();
    // A value whose index is another one now still stands where it stood.
    let places: FxHashSet<(Span, &str)> = old.iter().filter_map(place).collect();
    let is_new = |warning: &Diagnostic| {
        !texts.contains(&warning.to_string()) && place(warning).is_none_or(|place| !places.contains(&place))
    };
    now.into_iter().filter(is_new).collect()
}

/// A warning for each value of an object that is of another type than its schema wants.
pub fn wrong_types(object: &Node, kind: Cursor<'_>) -> Vec<Diagnostic> {
    let is_of_type = |warning: &Diagnostic| warning.code() == Code::WrongType;
    forbidden(object, kind).into_iter().filter(is_of_type).collect()
}

/// Where a value stands in a text, if it came from one, and what is said of it there.
fn place(warning: &Diagnostic) -> Option<(Span, &str)> {
    let span = warning.labels().first()?.span;
    (span != Span::default()).then(|| (span, warning.message()))
}

fn forbidden(object: &Node, kind: Cursor<'_>) -> Vec<Diagnostic> {
    type_violations(object, kind).into_iter().map(warning).collect()
}

fn warning(violation: Violation) -> Diagnostic {
    let (rule, at) = (violation.rule, violation.at);
    let (code, at, help) = if rule == UNKNOWN_FIELD {
        (Code::UnknownField, at, "the API server refuses it, or drops it")
    } else if rule == MISSING_REQUIRED {
        (Code::MissingField, at.at_start(), "the API server refuses an object without it")
    } else if rule == DUPLICATE_KEY {
        (Code::InvalidValue, at, "the API server refuses it in custom resources, and in what is applied")
    } else {
        (Code::WrongType, at, "the API server refuses it")
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
    fn what_the_schema_forbids_is_found_where_it_is_new() {
        let schema = Schema::embedded();
        let kind = schema.kind(&Gvk::from_manifest("apps/v1", "Deployment")).expect("built in");
        let before = "spec: {replicas: two, template: {spec: {containers: []}}}";
        let table: [(&str, &[&str]); 10] = [
            ("spec: {replicas: two, paused: true}", &[]),
            ("spec: {replicas: 3.0, template: null}", &[]),
            ("spec: {replicas: three}", &[]),
            ("spec: {paused: 'yes'}", &["spec.paused: this must be `true` or `false` and is a string"]),
            ("spec: {paused: yes}", &[]),
            ("spec: {replcas: 3}", &["spec.replcas: there is no field `replcas` here"]),
            ("spec: {template: []}", &["spec.template: this must be a map and is a list"]),
            (
                "metadata: {annotations: {a: 1}, labels: {b: x}}",
                &["metadata.annotations.a: this must be a string and is an integer"],
            ),
            (
                "spec: {template: {spec: {containers: [{env: [{value: 5}]}]}}}",
                &["spec.template.spec.containers[0].env[0].value: this must be a string and is an integer"],
            ),
            (
                "spec: {template: {spec: {containers: [{resources: {limits: {cpu: 1, memory: 1.5Gi}}, livenessProbe: \
                 {httpGet: {port: http}}}], volumes: [{emptyDir: {sizeLimit: 5}}]}}}",
                &[],
            ),
        ];
        for (after, want) in table {
            let warnings = newly_forbidden(&node(before), &node(after), kind);
            // What these rows leave out is missing in all of them.
            let values = warnings.iter().filter(|warning| warning.code() != Code::MissingField);
            let got: Vec<_> = values.map(ToString::to_string).collect();
            assert_eq!(got, want, "{after}");
        }
    }

    #[test]
    fn what_is_missing_is_told_once_it_is() {
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
            let warnings = newly_forbidden(&node(before), &node(after), kind);
            let got: Vec<_> = warnings.iter().filter_map(Diagnostic::field_path).collect();
            assert_eq!(got, want, "{after}");
        }
    }
}
