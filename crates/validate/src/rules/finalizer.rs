use super::prelude::*;
use crate::names::is_qualified_name;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "finalizer",
        meaning: "A finalizer has no domain, or is not a qualified name.",
        remedy: "Use a name with a domain, such as `example.com/cleanup`.",
    },
    why: "The domain of a finalizer identifies the controller that removes it. Only the finalizers of \
          Kubernetes itself have no domain. The API server accepts some other names without one and rejects \
          the rest. An object with a finalizer that no controller knows stays after its deletion until \
          someone removes the finalizer.",
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

fn finalizers(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (i, entry) in subject.list("finalizers").iter().enumerate() {
        let Some(text) = entry.as_str() else { continue };
        let is_standard = matches!(text, "kubernetes" | "orphan" | "foregroundDeletion");
        if !is_qualified_name(text) || (!text.contains('/') && !is_standard) {
            violations.report_path(
                subject,
                &[Field("finalizers"), Entry(i)],
                "this must be a qualified name with a domain, such as `example.com/name`",
            );
        }
    }
}
