use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "crd-versions",
        meaning: "A CustomResourceDefinition does not have exactly one storage version.",
        remedy: "Set `storage: true` in exactly one version.",
    },
    why: "The API server stores all objects in this version. A patch that adds a new version often forgets to \
          change the flag of the old one.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/",
    example: "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
",
    fix: ("false", "true"),
    checks: &[("CustomResourceDefinitionSpec", Check::Type(versions))],
    ..ValidationRule::DEFAULT
};

fn versions(subject: Subject<'_>, violations: &mut RuleViolations) {
    let versions = subject.list("versions");
    let stored = versions.iter().filter(|version| is_true(version.get("storage"))).count();
    if !versions.is_empty() && stored != 1 {
        violations.report_field(subject, "versions", "exactly one version must have `storage: true`");
    }
}
