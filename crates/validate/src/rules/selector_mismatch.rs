use super::prelude::*;
use crate::labels::holds;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "selector-mismatch",
        meaning: "The selector of a workload does not match the labels of its Pod template.",
        remedy: "Use the same labels in both. Change them together in patches and `labels:` entries.",
    },
    why: "The workload would create Pods endlessly without finding them. The selectors of most workloads are \
          immutable, so a wrong one can only be fixed by recreating the workload.",
    documentation: "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#selector",
    example: "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: site}}
    spec: {containers: [{name: web, image: nginx}]}
",
    fix: ("site", "web"),
    cause: ViolationCause::PodLabels,
    may_be_partial: true,
    checks: &[
        ("DaemonSetSpec; DeploymentSpec; ReplicaSetSpec; StatefulSetSpec", Check::Type(selector)),
        ("ReplicationControllerSpec", Check::Type(plain_selector)),
    ],
    ..ValidationRule::DEFAULT
};

fn template_labels(subject: Subject<'_>) -> Option<&Map> {
    subject.get("template")?.get("metadata")?.get("labels")?.as_map()
}

fn has_label(labels: Option<&Map>, key: &str, value: &Node) -> bool {
    labels.and_then(|labels| labels.get(key)).is_some_and(|own| own == value)
}

/// Reports a requirement of the selector that the labels of the Pod template do not satisfy.
fn mismatch(
    subject: Subject<'_>,
    path: &[PathStep<'_>],
    (key, required): (&str, &str),
    violations: &mut RuleViolations,
) {
    if subject.get("template").is_none() {
        return;
    }
    let found = match template_labels(subject).and_then(|labels| labels.get(key)) {
        Some(value) => format!("has `{key}: {}`", label_text(value)),
        None => format!("has no label `{key}`"),
    };
    let message = format!("the selector requires `{required}`, but the Pod template {found}");
    violations.report_path(subject, path, message);
}

fn label_text(value: &Node) -> &str {
    value.scalar_text().map_or("", |text| text.as_str())
}

/// Formats an expression of a selector, such as `app In (web, site)`.
fn expression_text(expression: &Node) -> String {
    let [key, operator] = ["key", "operator"].map(|field| text_of(expression, field));
    let values = expression.get("values").and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default();
    let values: Vec<&str> = values.iter().map(label_text).collect();
    if values.is_empty() {
        format!("{key} {operator}")
    } else {
        format!("{key} {operator} ({})", values.join(", "))
    }
}

fn selector(subject: Subject<'_>, violations: &mut RuleViolations) {
    let Some(selector) = subject.get("selector") else { return };
    let labels = template_labels(subject);
    let matched = selector.get("matchLabels").and_then(Node::as_map);
    let expressions = selector.get("matchExpressions").and_then(Node::as_list);
    if matched.is_none_or(Map::is_empty) && expressions.is_none_or(Vec::is_empty) {
        return violations.report_field(subject, "selector", "must not be empty");
    }
    for (key, value) in matched.into_iter().flat_map(Map::iter).filter(|(k, v)| !has_label(labels, k, v)) {
        let required = format!("{key}: {}", label_text(value));
        let path = [Field("selector"), Field("matchLabels"), Field(key)];
        mismatch(subject, &path, (key, &required), violations);
    }
    for (i, expression) in expressions.into_iter().flatten().enumerate().filter(|(_, e)| !holds(labels, e)) {
        let path = [Field("selector"), Field("matchExpressions"), Entry(i)];
        mismatch(subject, &path, (text_of(expression, "key"), &expression_text(expression)), violations);
    }
}

/// Checks that the labels of the Pod template contain those of a ReplicationController's selector. Without a selector,
/// the API server uses the labels of the template, so the template must have labels.
fn plain_selector(subject: Subject<'_>, violations: &mut RuleViolations) {
    let labels = template_labels(subject);
    if subject.map("selector").next().is_none() && labels.is_none_or(Map::is_empty) {
        return violations.report_field(
            subject,
            "selector",
            "`selector` or labels of the template are required",
        );
    }
    for (key, value) in subject.map("selector").filter(|(k, v)| !has_label(labels, k, v)) {
        let required = format!("{key}: {}", label_text(value));
        mismatch(subject, &[Field("selector"), Field(key)], (key, &required), violations);
    }
}
