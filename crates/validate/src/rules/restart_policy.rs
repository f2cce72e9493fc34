use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "restart-policy",
        meaning: "The restart policy of a Pod template is not one that its kind allows.",
        remedy: "Use `OnFailure` or `Never` in Jobs and CronJobs, and `Always` in all other workloads.",
    },
    why: "The default `Always` would restart the Pods of a Job forever, so Jobs must set the field.",
    documentation: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy",
    example: "\
apiVersion: batch/v1
kind: Job
metadata: {name: load}
spec:
  template:
    spec:
      restartPolicy: Always
      containers: [{name: load, image: busybox}]
",
    fix: ("Always", "Never"),
    checks: &[("PodSpec", Check::Type(policy))],
    ..ValidationRule::DEFAULT
};

fn policy(of: Subject<'_>, faults: &mut Faults) {
    let message = match (of.kind(), of.text_or_empty("restartPolicy")) {
        ("Job" | "CronJob", "OnFailure" | "Never") => return,
        ("Job" | "CronJob", _) => "the pods of a job restart `OnFailure` or `Never`",
        (_, "" | "Always") => return,
        ("Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" | "ReplicationController", _) => {
            "the pods of this kind restart `Always`"
        }
        _ => return,
    };
    faults.field(of, "restartPolicy", message);
}
