use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "job",
        meaning: "Fields of a Job contradict each other.",
        remedy: "Set `completions` for an indexed Job, and leave `selector` out.",
    },
    why: "The Job controller needs to know the number of indices, and makes the selector of a Job itself.",
    documentation: "https://kubernetes.io/docs/concepts/workloads/controllers/job/",
    example: "\
apiVersion: batch/v1
kind: Job
metadata: {name: load}
spec:
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers: [{name: load, image: busybox}]
",
    fix: ("template:", "completions: 3\n  template:"),
    checks: &[("JobSpec", Check::Type(job))],
    ..ValidationRule::DEFAULT
};

fn job(of: Subject<'_>, faults: &mut Faults) {
    if of.text("completionMode") == Some("Indexed") && of.get("completions").is_none() {
        faults.field(of, "completions", "a job with `completionMode: Indexed` needs `completions`");
    }
    let is_refused = |selector: &Node| {
        of.kind() == "CronJob" || (selects_something(selector) && !of.is_true("manualSelector"))
    };
    if of.get("selector").is_some_and(is_refused) {
        faults.field(of, "selector", "the selector of a job is made for it");
    }
}

/// The API server adds its own label to the selector of a Job, so an empty one is valid.
fn selects_something(selector: &Node) -> bool {
    let labels = selector.get("matchLabels").and_then(Node::as_map);
    let expressions = selector.get("matchExpressions").and_then(Node::as_list);
    !(labels.is_none_or(Map::is_empty) && expressions.is_none_or(Vec::is_empty))
}
