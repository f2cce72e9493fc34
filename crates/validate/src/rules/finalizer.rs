use super::prelude::*;
use crate::names::is_qualified_name;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "finalizer",
        meaning: "A finalizer is not a qualified name.",
        remedy: "Use a name with a domain, such as `example.com/cleanup`.",
    },
    why: "Each finalizer belongs to a controller, which is identified by the domain. Only the names of Kubernetes itself have none.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/",
    example: "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, finalizers: [keep]}
data: {mode: prod}
",
    fix: ("keep", "example.com/keep"),
    checks: &[("ObjectMeta", Check::Type(finalizers))],
    ..ValidationRule::DEFAULT
};

fn finalizers(of: Subject<'_>, faults: &mut Faults) {
    for (i, entry) in of.list("finalizers").iter().enumerate() {
        let Some(text) = entry.as_str() else { continue };
        let is_standard = matches!(text, "kubernetes" | "orphan" | "foregroundDeletion");
        if !is_qualified_name(text) || (!text.contains('/') && !is_standard) {
            faults.at(
                of,
                &[Field("finalizers"), Entry(i)],
                "a finalizer is a name such as `example.com/name`",
            );
        }
    }
}
