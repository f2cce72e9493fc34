use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "owner",
        meaning: "More than one owner reference is the controller.",
        remedy: "Set `controller: true` in one owner reference at most.",
    },
    why: "An object is managed by at most one controller.",
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
    checks: &[("ObjectMeta", Check::Type(owners))],
    ..ValidationRule::DEFAULT
};

fn owners(of: Subject<'_>, faults: &mut Faults) {
    let owners = of.list("ownerReferences").iter();
    if owners.filter(|entry| is_true(entry.get("controller"))).count() > 1 {
        faults.field(of, "ownerReferences", "only one owner can be the controller");
    }
}
