//! Tests of rejected and accepted objects, and of the texts of findings.

use serde_json::json;

use super::*;
use smp_text::diagnostic::Severity;
use smp_text::source::SourceMap;
use smp_text::yaml::{ParseOptions, parse_one};

/// Returns the embedded schema with a custom resource of kind `Thing`.
pub(super) fn schema() -> Schema {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"group": "example.com", "names": {"kind": "Thing", "plural": "things"}, "scope": "Namespaced",
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}}},
                "spec": {"type": "object", "required": ["size"],
                    "x-kubernetes-validations": [{"rule": "self.size != 5", "message": "five is too odd"}],
                    "properties": {
                        "name": {"type": "string", "pattern": "^[a-z]*$"},
                        "large": {"type": "string", "pattern": r"^[\p{L}\p{N} ]{1,1000}$"},
                        "not_large": {"type": "string", "not": {"pattern": "(?!a)"}},
                        "size": {"type": "integer", "maximum": 10},
                        "either": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                            "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
                        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        "closed": {"type": "object"},
                        "list": {"type": "array", "items": {"type": "string"}},
                        "map": {"type": "object", "additionalProperties": {"type": "string"}},
                        "choice": {"type": "string", "nullable": true, "enum": ["a"]},
                    }},
            }}}}]},
    });
    Schema::embedded().with_crds(&[crd]).expect("a definition")
}

pub(super) fn found(text: &str, options: &ValidateOptions) -> Vec<Violation> {
    let sources = SourceMap::default();
    let id = sources.add("manifest.yaml", text);
    let node = parse_one(&sources, id, ParseOptions::kubectl()).expect(text);
    validate(&node, &schema(), options)
}

fn container(fields: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: c}}, spec: {{containers: [{{name: c, image: i, {fields}}}]}}}}"
    )
}

fn thing(fields: &str) -> String {
    format!("{{apiVersion: example.com/v1, kind: Thing, metadata: {{name: web}}, {fields}}}")
}

#[test]
fn api_versions_are_deprecated_and_removed_by_release() {
    let text = "{apiVersion: autoscaling/v2beta2, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: \
        {maxReplicas: 1, scaleTargetRef: {kind: a, name: b}}}";
    let first = |minor| found(text, &ValidateOptions::for_kubernetes(1, minor)).into_iter().next();
    assert_eq!(first(22), None);
    let (deprecated, removed) = (first(25).expect("deprecated"), first(26).expect("removed"));
    assert_eq!((deprecated.rule, deprecated.severity), (&rules::deprecated_api::RULE, Severity::Warning));
    assert_eq!((removed.rule, removed.severity), (&rules::removed_api::RULE, Severity::Error));
    assert_eq!(removed.help.as_deref(), Some("use autoscaling/v2"));
}

#[test]
fn duplicate_keys_that_only_server_side_apply_rejects_are_warnings() {
    let found = found(&container("env: [{name: A}, {name: A}]"), &ValidateOptions::default());
    assert_eq!((found[0].rule, found[0].severity), (&rules::duplicate_key::RULE, Severity::Warning));
}

#[test]
fn crds_add_constraints_for_custom_resources() {
    let options = ValidateOptions::default();
    let rules = |text: &str| found(text, &options).iter().map(|v| v.rule.code()).collect::<Vec<_>>();
    assert_eq!(rules(&thing("spec: {size: 1, closed: {a: 1}}")), ["unknown-field"]);
    assert_eq!(rules(&thing("spec: {size: 1}").replace("web", "far-too-long")), ["schema-limits"]);
    assert_eq!(rules(&thing("spec: {}"))[0], "missing-required");
    let five = found(&thing("spec: {size: 5}"), &options);
    assert_eq!(five.len(), 1, "{five:?}");
    if cfg!(feature = "cel") {
        assert_eq!((five[0].message.as_str(), five[0].severity), ("five is too odd", Severity::Error));
    } else {
        assert_eq!(five[0].severity, Severity::Note, "reported as not checked");
    }
}

#[test]
fn nulls_are_validated_as_the_api_server_leaves_them() {
    let options = ValidateOptions::default();
    let codes = |text: &str| found(text, &options).iter().map(|v| v.rule.code()).collect::<Vec<_>>();
    // The API server removes these null fields before it validates the object.
    assert_eq!(
        codes(&thing("spec: {size: 1, name: null, map: {a: null}, list: null, closed: null}")),
        [""; 0]
    );
    assert_eq!(codes(&thing("spec: {size: 1, list: [null]}")), ["null-value"]);
    assert_eq!(codes(&thing("spec: null")), [""; 0], "the CRD does not require a spec");
    // Go decodes a null entry as a struct without fields, and a null string as an empty string.
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [null]}}";
    assert!(codes(pod).contains(&"missing-required"), "{:?}", codes(pod));
    assert_eq!(codes(&container("args: [null], env: [{name: A, value: null}]")), [""; 0]);
}

#[test]
fn kinds_that_preserve_unknown_fields_keep_nulls() {
    for (version, preserves) in [("v1", "preserveUnknownFields: true, "), ("v1beta1", "")] {
        let crd = format!(
            "{{apiVersion: apiextensions.k8s.io/{version}, kind: CustomResourceDefinition, spec: {{{preserves}group: \
             example.com, names: {{kind: Old, plural: olds}}, scope: Namespaced, versions: [{{name: v1, schema: \
             {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{a: {{type: \
             string}}}}}}}}}}}}}}]}}}}"
        );
        let crd = crd.parse::<Node>().expect("a definition").to_json_value();
        let schema = Schema::embedded().with_crds(&[crd]).expect("a definition");
        let codes = |spec: &str| {
            let text =
                format!("{{apiVersion: example.com/v1, kind: Old, metadata: {{name: a}}, spec: {spec}}}");
            let node: Node = text.parse().expect("YAML");
            let found = validate(&node, &schema, &ValidateOptions::default());
            found.iter().map(|violation| violation.rule.code()).collect::<Vec<_>>()
        };
        assert_eq!(codes("{a: b, unknown: {c: 1}}"), [""; 0]);
        assert_eq!(codes("{a: null}"), ["null-value"]);
    }
}

#[test]
fn spaces_around_an_image_are_only_rejected_in_pods() {
    let severity = |text: &str| {
        let found = found(text, &ValidateOptions::default());
        found.iter().map(|violation| (violation.rule.code(), violation.severity)).collect::<Vec<_>>()
    };
    let pod = "containers: [{name: c, image: 'i '}]";
    assert_eq!(
        severity(&format!("{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{{pod}}}}}")),
        [("image", Severity::Error)]
    );
    let deployment = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: a}}, spec: {{selector: {{matchLabels: {{a: b}}}}, \
         template: {{metadata: {{labels: {{a: b}}}}, spec: {{{pod}}}}}}}}}"
    );
    assert_eq!(severity(&deployment), [("image", Severity::Warning)]);
}

#[test]
fn patterns_that_cannot_be_compiled_are_notes() {
    for field in ["large: abc", "not_large: abc"] {
        let found = found(&thing(&format!("spec: {{size: 1, {field}}}")), &ValidateOptions::default());
        let [note] = found.as_slice() else { panic!("{field}: {found:?}") };
        assert_eq!((note.rule, note.severity), (SCHEMA_PATTERN, Severity::Note));
        assert!(note.message.contains("was not checked: ") && note.help.is_some() && !note.at.is_none());
        assert!(!note.message.contains("abc"), "it quotes no value");
    }
}

#[test]
fn help_suggests_names_and_messages_quote_no_values() {
    let found = |text: &str| found(text, &ValidateOptions::default()).remove(0);
    assert_eq!(
        found(&container("imagePullPolcy: x")).help.as_deref(),
        Some("did you mean `imagePullPolicy`?")
    );
    assert_eq!(
        found(&container("").replace("spec: {", "spec: {restartPolicy: Alwys, ")).help.as_deref(),
        Some("did you mean `Always`?")
    );
    let secret = found("{apiVersion: v1, kind: Secret, metadata: {name: web}, stringData: {a: 1234567}}");
    assert!(!format!("{secret:?}").contains("1234567"));
    let diagnostic = secret.into_diagnostic();
    assert_eq!(diagnostic.field_path(), Some("stringData.a"));
}
