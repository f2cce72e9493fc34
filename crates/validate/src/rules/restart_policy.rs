use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "restart-policy",
        meaning: "The kind of the workload does not allow the restart policy of its Pod template.",
        remedy: "Use `OnFailure` or `Never` in Jobs and CronJobs, and `Always` in other workloads.",
    },
    why: "The default `Always` would restart the Pods of a Job forever, so a Job must set the field. Other \
          workloads would lose Pods that exit.",
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

fn policy(subject: Subject<'_>, violations: &mut RuleViolations) {
    let message = match (subject.kind(), subject.text_or_empty("restartPolicy")) {
        ("Job" | "CronJob", "OnFailure" | "Never") => return,
        ("Job" | "CronJob", _) => "must be `OnFailure` or `Never` in a Job",
        (_, "" | "Always") => return,
        ("Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" | "ReplicationController", _) => {
            "must be `Always` in this kind"
        }
        _ => return,
    };
    violations.report_field(subject, "restartPolicy", message);
}
