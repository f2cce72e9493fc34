use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "job",
        meaning: "Fields of a Job contradict each other.",
        remedy: "Set `completions` for an indexed Job, and remove `selector`.",
    },
    why: "An indexed Job needs the number of indexes. The API server generates the selector of a Job. It rejects a \
          selector that is copied from another Job, unless `manualSelector` is true.",
    documentation: "https://kubernetes.io/docs/concepts/workloads/controllers/job/",
    example: "\
apiVersion: batch/v1
kind: Job
metadata: {name: load}
spec:
  completionMode: Indexed
  parallelism: 3
  template:
    spec:
      restartPolicy: Never
      containers: [{name: load, image: busybox}]
",
    fix: ("template:", "completions: 3\n  template:"),
    checks: &[("JobSpec", Check::Type(job))],
    ..ValidationRule::DEFAULT
};

fn job(subject: Subject<'_>, violations: &mut RuleViolations) {
    // A Job with neither `completions` nor `parallelism` gets 1 for both. The template of a CronJob gets no defaults.
    let has_default = subject.kind() != "CronJob" && subject.get("parallelism").is_none();
    let is_indexed = subject.text("completionMode") == Some("Indexed");
    if is_indexed && subject.get("completions").is_none() && !has_default {
        violations.report_field(subject, "completions", "is required if `completionMode` is `Indexed`");
    }
    let is_rejected = |selector: &Node| {
        subject.kind() == "CronJob" || (selects_something(selector) && !subject.is_true("manualSelector"))
    };
    if subject.get("selector").is_some_and(is_rejected) {
        violations.report_field(
            subject,
            "selector",
            "must not be set: the API server generates the selector",
        );
    }
}

/// Returns true if a selector is not empty. An empty selector of a Job is valid, since the API server adds its own
/// label.
fn selects_something(selector: &Node) -> bool {
    let labels = selector.get("matchLabels").and_then(Node::as_map);
    let expressions = selector.get("matchExpressions").and_then(Node::as_list);
    !(labels.is_none_or(Map::is_empty) && expressions.is_none_or(Vec::is_empty))
}
