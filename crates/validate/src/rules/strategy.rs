use smol_str::SmolStr;

use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "strategy",
        meaning: "Fields of an update strategy contradict each other, or allow no progress.",
        remedy: "Remove `rollingUpdate` where the type is another one, and leave `maxSurge` or `maxUnavailable` above 0.",
    },
    why: "A patch that only changes `type` leaves `rollingUpdate` behind; remove it by `rollingUpdate: null`.",
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

fn strategy(of: Subject<'_>, faults: &mut Faults) {
    if of.text("type") == Some("Recreate") && of.get("rollingUpdate").is_some() {
        faults.field(of, "rollingUpdate", "`rollingUpdate` does not go with `type: Recreate`");
    }
}

fn update_strategy(of: Subject<'_>, faults: &mut Faults) {
    if of.text("type") == Some("OnDelete") && of.get("rollingUpdate").is_some() && of.kind() == "StatefulSet"
    {
        faults.field(of, "rollingUpdate", "`rollingUpdate` does not go with `type: OnDelete`");
    }
}

fn deadline(of: Subject<'_>, faults: &mut Faults) {
    if of.int("progressDeadlineSeconds").unwrap_or(600) <= of.int("minReadySeconds").unwrap_or(0) {
        let message = "`progressDeadlineSeconds` must be more than `minReadySeconds`";
        faults.field(of, "progressDeadlineSeconds", message);
    }
}

fn rolling(of: Subject<'_>, faults: &mut Faults) {
    let text = |field| of.get(field).and_then(Node::scalar_text).map(SmolStr::as_str);
    let is_zero = |field| matches!(text(field), Some("0" | "0%"));
    let is_without_surge = of.kind() == "DaemonSet" && of.get("maxSurge").is_none();
    if is_zero("maxUnavailable") && (is_zero("maxSurge") || is_without_surge) {
        faults.field(of, "maxUnavailable", "`maxSurge` and `maxUnavailable` cannot both be 0");
    }
    let percent = of.text("maxUnavailable").and_then(|text| text.strip_suffix('%')?.parse::<u32>().ok());
    if percent.is_some_and(|percent| percent > 100) {
        faults.field(of, "maxUnavailable", "more than all cannot be unavailable");
    }
}
