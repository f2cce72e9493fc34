use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "strategy",
        meaning: "Fields of an update strategy contradict each other, or allow no progress.",
        remedy: "Set `rollingUpdate: null` if the type is not `RollingUpdate`. Use a value above 0 for `maxSurge` or `maxUnavailable`, in a DaemonSet for one of them only, and at most 100%. Use a `progressDeadlineSeconds` above `minReadySeconds`.",
    },
    why: "A strategic merge patch that only changes `type` keeps `rollingUpdate` of the base. If neither extra nor \
          missing Pods are allowed, a rollout could never proceed. A DaemonSet has `maxUnavailable: 1` by default, so \
          `maxSurge` requires `maxUnavailable: 0`.",
    documentation: "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#strategy",
    example: "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
",
    fix: ("Recreate", "RollingUpdate"),
    checks: &[
        ("DeploymentStrategy", Check::Type(check_recreate)),
        ("StatefulSetUpdateStrategy", Check::Type(check_on_delete)),
        ("DeploymentSpec", Check::Type(check_deadline)),
        ("RollingUpdateDaemonSet; RollingUpdateDeployment", Check::Type(check_rolling_update)),
    ],
    ..ValidationRule::DEFAULT
};

fn check_recreate(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.text("type") == Some("Recreate") && subject.get("rollingUpdate").is_some() {
        violations.report_field(subject, "rollingUpdate", "may not be specified if `type` is `Recreate`");
    }
}

fn check_on_delete(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.text("type") == Some("OnDelete")
        && subject.get("rollingUpdate").is_some()
        && subject.kind() == "StatefulSet"
    {
        violations.report_field(subject, "rollingUpdate", "may not be specified if `type` is `OnDelete`");
    }
}

fn check_deadline(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.int("progressDeadlineSeconds").unwrap_or(600) <= subject.int("minReadySeconds").unwrap_or(0) {
        let message = "must be greater than `minReadySeconds`";
        violations.report_field(subject, "progressDeadlineSeconds", message);
    }
}

/// Checks `maxSurge` and `maxUnavailable`. An absent value has the API server's default.
fn check_rolling_update(subject: Subject<'_>, violations: &mut RuleViolations) {
    let amount = |field| {
        let text = subject.get(field).and_then(Node::scalar_text)?;
        text.strip_suffix('%').unwrap_or(text).parse::<i64>().ok()
    };
    let is_daemon_set = subject.kind() == "DaemonSet";
    let unavailable = amount("maxUnavailable").unwrap_or(1);
    let surge = amount("maxSurge").unwrap_or(i64::from(!is_daemon_set));
    if unavailable == 0 && surge == 0 {
        violations.report_field(subject, "maxUnavailable", "may not be 0 if `maxSurge` is 0");
    }
    if is_daemon_set && unavailable != 0 && surge != 0 {
        let message = "may only be above 0 if `maxUnavailable` is 0 (its default is 1)";
        violations.report_field(subject, "maxSurge", message);
    }
    let limited: &[&str] = if is_daemon_set { &["maxUnavailable", "maxSurge"] } else { &["maxUnavailable"] };
    for field in limited {
        let percent = subject.text(field).and_then(|text| text.strip_suffix('%')?.parse::<u32>().ok());
        if percent.is_some_and(|percent| percent > 100) {
            violations.report_field(subject, field, "must not be greater than 100%");
        }
    }
}
