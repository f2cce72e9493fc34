use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "crd-approval",
        meaning: "A CustomResourceDefinition in a group of the Kubernetes community has no approval.",
        remedy: "Use a group of your own domain, or set the annotation to the URL of the approval or to a reason that begins with `unapproved`.",
    },
    why: "The groups `k8s.io` and `kubernetes.io` and those below them are protected. The API server requires the \
          annotation `api-approved.kubernetes.io` for their definitions. Generated definitions lose it if the marker in \
          the Go source is missing.",
    documentation: "https://kubernetes.io/docs/reference/labels-annotations-taints/#api-approved-kubernetes-io",
    example: "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.apps.k8s.io}
spec:
  group: apps.k8s.io
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
",
    fix: (
        "{name: widgets.apps.k8s.io}",
        "{name: widgets.apps.k8s.io, annotations: {api-approved.kubernetes.io: 'unapproved, experimental'}}",
    ),
    checks: &[("CustomResourceDefinition", Check::Type(approval))],
    ..ValidationRule::DEFAULT
};

const ANNOTATION: &str = "api-approved.kubernetes.io";

fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        group.strip_suffix(domain).is_some_and(|parent| parent.is_empty() || parent.ends_with('.'))
    })
}

/// Returns true if a text is an absolute URL with a host.
fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        is_scheme && !rest.is_empty() && !rest.starts_with(['/', '?', '#'])
    })
}

fn approval(subject: Subject<'_>, violations: &mut RuleViolations) {
    let at = |path: &[&str]| subject.node.get_path(path);
    let group = at(&["spec", "group"]).and_then(Node::as_str).unwrap_or_default();
    if !subject.is_object || !is_protected(group) {
        return;
    }
    let annotation = at(&["metadata", "annotations", ANNOTATION]);
    let text = annotation.and_then(Node::as_str).unwrap_or_default();
    if text.starts_with("unapproved") || is_url(text) {
        return;
    }
    let nearest = annotation.or_else(|| at(&["spec", "group"])).unwrap_or(subject.node).span();
    let message = if text.is_empty() {
        format!("the annotation `{ANNOTATION}` is required for the protected group `{group}`")
    } else {
        "must be a URL, or a reason that begins with `unapproved`".into()
    };
    violations.report_at(&[Field("metadata"), Field("annotations"), Field(ANNOTATION)], nearest, message);
}
