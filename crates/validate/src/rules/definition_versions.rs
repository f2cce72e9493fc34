use std::collections::HashSet;

use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "crd-versions",
        meaning: "The versions of a CustomResourceDefinition are contradictory, or not exactly one is stored.",
        remedy: "Give each version its own name, and set `storage: true` in exactly one of them.",
    },
    why: "The API server stores all objects in this version. A patch that adds a new version often forgets to \
          change the flag of the old one.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/",
    example: definition!(
        "  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
"
    ),
    fix: ("false", "true"),
    checks: &[
        ("CustomResourceDefinitionSpec", Check::Type(versions)),
        ("CustomResourceDefinitionVersion", Check::Type(warning)),
    ],
    ..ValidationRule::DEFAULT
};

fn versions(subject: Subject<'_>, violations: &mut RuleViolations) {
    let versions = subject.list("versions");
    let stored = versions.iter().filter(|version| is_true(version.get("storage"))).count();
    if !versions.is_empty() && stored != 1 {
        violations.report_field(subject, "versions", "exactly one version must have `storage: true`");
    }
    let mut names = HashSet::new();
    for (index, version) in versions.iter().enumerate() {
        if names.insert(text_of(version, "name")) {
            continue;
        }
        let path = [Field("versions"), Entry(index), Field("name")];
        violations.report_path(subject, &path, "an earlier version has the same name");
    }
}

/// The maximum number of bytes of a deprecation warning.
const LONGEST_WARNING: usize = 256;

fn warning(subject: Subject<'_>, violations: &mut RuleViolations) {
    const WARNING: &str = "deprecationWarning";
    let Some(text) = subject.text(WARNING) else { return };
    if !subject.is_true("deprecated") {
        violations.report_field(subject, WARNING, "may be set only if `deprecated` is true");
    }
    if text.len() > LONGEST_WARNING {
        violations.report_field(subject, WARNING, "must have at most 256 bytes");
    }
    if text.contains(char::is_control) {
        violations.report_field(subject, WARNING, "must not contain control characters");
    }
}
