use std::collections::HashSet;

use super::definition_schema::{schema_at, word};
use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "crd-path",
        meaning: "A JSON path in a CustomResourceDefinition is invalid.",
        remedy: "Write the path with a leading dot, such as `.spec.replicas`, and only use fields of the schema.",
    },
    why: "The paths of printer columns, of the scale subresource and of selectable fields begin with a dot. Those of \
          the scale subresource are below `.spec` or `.status`, and selectable fields are strings, integers or \
          booleans of the schema.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#crd-selectable-fields",
    example: definition!(
        "  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: spec.size}]
"
    ),
    fix: ("spec.size", ".spec.size"),
    checks: &[
        ("CustomResourceColumnDefinition jsonPath", Check::OptionalString(JSON_PATH)),
        ("CustomResourceSubresourceScale", Check::Type(scale)),
        ("CustomResourceDefinitionVersion", Check::Type(selectable_fields)),
    ],
    ..ValidationRule::DEFAULT
};

const JSON_PATH: StringFormat = (|text| text.starts_with('.'), "a path that begins with `.`");

fn scale(subject: Subject<'_>, violations: &mut RuleViolations) {
    const PATHS: [(&str, &[&str], &str); 3] = [
        ("specReplicasPath", &[".spec."], "must be a path below `.spec`"),
        ("statusReplicasPath", &[".status."], "must be a path below `.status`"),
        ("labelSelectorPath", &[".spec.", ".status."], "must be a path below `.spec` or `.status`"),
    ];
    for (field, starts, message) in PATHS {
        let path = subject.text_or_empty(field);
        if !path.is_empty() && !starts.iter().any(|start| path.starts_with(start)) {
            violations.report_field(subject, field, message);
        }
    }
}

/// The maximum number of selectable fields of a version.
const MAX_SELECTABLE_FIELDS: usize = 8;

fn selectable_fields(subject: Subject<'_>, violations: &mut RuleViolations) {
    const FIELDS: &str = "selectableFields";
    let schema = subject.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
    let mut seen = HashSet::new();
    for (index, field) in subject.list(FIELDS).iter().enumerate() {
        let path = text_of(field, "jsonPath");
        let Some(schema) = schema.filter(|_| !path.is_empty()) else { continue };
        let message = match schema_at(schema, path, false).map(|field| word(field, "type")) {
            None => "must be the path of a field in the schema",
            Some(_) if path.starts_with(".metadata.") => "must not be a field of the metadata",
            Some(Some("string" | "boolean" | "integer")) if seen.insert(path) => continue,
            Some(Some("string" | "boolean" | "integer")) => "an earlier entry has the same path",
            Some(_) => "must be the path of a string, a boolean or an integer",
        };
        violations.report_path(subject, &[Field(FIELDS), Entry(index), Field("jsonPath")], message);
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        violations.report_field(
            subject,
            FIELDS,
            format!("must have at most {MAX_SELECTABLE_FIELDS} entries"),
        );
    }
}
