use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "crd-name",
        meaning: "The name of a CustomResourceDefinition or APIService does not match its `spec`.",
        remedy: "Name a CustomResourceDefinition `PLURAL.GROUP`, and an APIService `VERSION.GROUP`.",
    },
    why: "The required name guarantees that each plural is defined only once per group. A common cause is a \
          patch or a script that renames the plural or the group, but not the object. `namePrefix` and \
          `nameSuffix` do not apply to CRDs and APIServices.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#create-a-customresourcedefinition",
    example: "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
",
    fix: ("widgets", "widgets.example.com"),
    checks: &[
        ("APIService", Check::Type(|subject, violations| name(subject, &["spec", "version"], violations))),
        (
            "CustomResourceDefinition",
            Check::Type(|subject, violations| {
                name(subject, &["spec", "names", "plural"], violations);
            }),
        ),
    ],
    ..ValidationRule::DEFAULT
};

fn name(subject: Subject<'_>, first: &[&str], violations: &mut RuleViolations) {
    let text = |path: &[&str]| subject.node.get_path(path).and_then(Node::as_str).unwrap_or_default();
    let name = format!("{}.{}", text(first), text(&["spec", "group"]));
    if subject.is_object && text(&["metadata", "name"]) != name {
        let at = subject.node.get_path(&["metadata", "name"]).unwrap_or(subject.node).span();
        let message = format!("the name must be `{name}` (`{}` + `.` + `spec.group`)", first.join("."));
        violations.report_at(&[Field("metadata"), Field("name")], at, message);
    }
}
