use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "multiple-controllers",
        meaning: "More than one owner reference is the controller.",
        remedy: "Set `controller: true` in at most one owner reference.",
    },
    why: "Two controllers that manage the same object would undo each other's changes and could delete it.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/",
    example: "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  ownerReferences:
  - {apiVersion: v1, kind: Node, name: one, uid: \"1\", controller: true}
  - {apiVersion: v1, kind: Node, name: two, uid: \"2\", controller: true}
",
    fix: ("\"2\", controller: true", "\"2\", controller: false"),
    checks: &[("ObjectMeta", Check::Type(check_controllers))],
    ..ValidationRule::DEFAULT
};

fn check_controllers(subject: Subject<'_>, violations: &mut RuleViolations) {
    let owners = subject.list("ownerReferences").iter();
    if owners.filter(|entry| is_true(entry.get("controller"))).count() > 1 {
        violations.report_field(
            subject,
            "ownerReferences",
            "only one owner reference can have `controller: true`",
        );
    }
}
