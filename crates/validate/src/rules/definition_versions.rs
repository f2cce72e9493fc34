use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "definition-versions",
        meaning: "Not exactly one version of a CustomResourceDefinition is stored.",
        remedy: "Set `storage: true` in exactly one version.",
    },
    why: "The API server converts all objects to that version before it stores them.",
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

fn versions(of: Subject<'_>, faults: &mut Faults) {
    let versions = of.list("versions");
    let stored = versions.iter().filter(|version| is_true(version.get("storage"))).count();
    if !versions.is_empty() && stored != 1 {
        faults.field(of, "versions", "just one version must be the one that is stored");
    }
}
