use smol_str::SmolStr;

use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "strategy",
        meaning: "Fields of an update strategy contradict each other, or allow no progress.",
        remedy: "Set `rollingUpdate: null` if the type is not `RollingUpdate`. Use a value above 0 for `maxSurge` or `maxUnavailable`.",
    },
    why: "A strategic merge patch that only changes `type` keeps `rollingUpdate` of the base. If neither extra nor \
          missing Pods are allowed, a rollout could never proceed.",
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
        ("DeploymentStrategy", Check::Type(strategy)),
        ("StatefulSetUpdateStrategy", Check::Type(update_strategy)),
        ("DeploymentSpec", Check::Type(deadline)),
        ("RollingUpdateDaemonSet; RollingUpdateDeployment", Check::Type(rolling)),
    ],
    ..ValidationRule::DEFAULT
};

fn strategy(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.text("type") == Some("Recreate") && subject.get("rollingUpdate").is_some() {
        violations.report_field(subject, "rollingUpdate", "may not be specified if `type` is `Recreate`");
    }
}

fn update_strategy(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.text("type") == Some("OnDelete")
        && subject.get("rollingUpdate").is_some()
        && subject.kind() == "StatefulSet"
    {
        violations.report_field(subject, "rollingUpdate", "may not be specified if `type` is `OnDelete`");
    }
}

fn deadline(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.int("progressDeadlineSeconds").unwrap_or(600) <= subject.int("minReadySeconds").unwrap_or(0) {
        let message = "must be greater than `minReadySeconds`";
        violations.report_field(subject, "progressDeadlineSeconds", message);
    }
}

fn rolling(subject: Subject<'_>, violations: &mut RuleViolations) {
    let text = |field| subject.get(field).and_then(Node::scalar_text).map(SmolStr::as_str);
    let is_zero = |field| matches!(text(field), Some("0" | "0%"));
    let is_without_surge = subject.kind() == "DaemonSet" && subject.get("maxSurge").is_none();
    if is_zero("maxUnavailable") && (is_zero("maxSurge") || is_without_surge) {
        violations.report_field(subject, "maxUnavailable", "may not be 0 if `maxSurge` is 0");
    }
    let percent = subject.text("maxUnavailable").and_then(|text| text.strip_suffix('%')?.parse::<u32>().ok());
    if percent.is_some_and(|percent| percent > 100) {
        violations.report_field(subject, "maxUnavailable", "must not be greater than 100%");
    }
}
