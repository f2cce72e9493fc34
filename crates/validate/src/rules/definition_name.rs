use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "crd-name",
        meaning: "The name of a CustomResourceDefinition or APIService does not match its `spec`, or the names in its `spec` are contradictory.",
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
        ("CustomResourceDefinitionSpec", Check::Type(group)),
        ("CustomResourceDefinitionNames", Check::Type(list_kind)),
    ],
    ..ValidationRule::DEFAULT
};

fn group(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.text("group").is_some_and(|group| !group.is_empty() && !group.contains('.')) {
        violations.report_field(subject, "group", "must be a domain with at least one dot");
    }
}

fn list_kind(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.text("kind").is_some_and(|kind| !kind.is_empty() && subject.text("listKind") == Some(kind)) {
        violations.report_field(subject, "listKind", "must differ from `kind`");
    }
}

fn name(subject: Subject<'_>, first: &[&str], violations: &mut RuleViolations) {
    let text = |path: &[&str]| subject.node.get_path(path).and_then(Node::as_str).unwrap_or_default();
    let name = format!("{}.{}", text(first), text(&["spec", "group"]));
    if subject.is_object && text(&["metadata", "name"]) != name {
        let at = subject.node.get_path(&["metadata", "name"]).unwrap_or(subject.node).span();
        let message = format!("the name must be `{name}` (`{}` + `.` + `spec.group`)", first.join("."));
        violations.report_at(&[Field("metadata"), Field("name")], at, message);
    }
}
