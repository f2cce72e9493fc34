use super::prelude::*;
use crate::names::is_qualified_name;
use smp_merge::schema::is_built_in_group;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "finalizer",
        meaning: "A finalizer is not a qualified name, or has no domain.",
        remedy: "Use a name with a domain, such as `example.com/cleanup`.",
    },
    why: "The domain of a finalizer identifies the controller that removes it. In most \
          built-in kinds, the API server rejects every finalizer without a domain except `kubernetes`, `orphan` and \
          `foregroundDeletion`. In custom resources and a few \
          built-in kinds it accepts them, but a domain avoids collisions: a warning is reported. An object with a finalizer that no controller knows stays after its deletion until \
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

/// The API groups of Kubernetes in which, as in custom resources, a finalizer needs no domain.
const GROUPS_WITHOUT_DOMAIN: [&str; 6] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "policy",
];

/// Returns true if the API server rejects finalizers without a domain in an object.
fn requires_domain(object: &Node) -> bool {
    let group = text_of(object, "apiVersion").split_once('/').map_or("", |(group, _)| group);
    is_built_in_group(group) && !GROUPS_WITHOUT_DOMAIN.contains(&group)
}

fn finalizers(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (i, entry) in subject.list("finalizers").iter().enumerate() {
        let Some(text) = entry.as_str() else { continue };
        let is_standard = matches!(text, "kubernetes" | "orphan" | "foregroundDeletion");
        if !is_qualified_name(text) || (!text.contains('/') && !is_standard) {
            violations.report_path(
                subject,
                &[Field("finalizers"), Entry(i)],
                "must be a qualified name with a domain, such as `example.com/name`",
            );
            if is_qualified_name(text) && !requires_domain(subject.object) {
                violations.only_warn();
            }
        }
    }
}
