//! Rule: many targets changed by one line.

use super::prelude::*;

/// The minimum number of targets that one changed line must affect to be reported.
pub const MANY_TARGETS: usize = 20;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "many-targets",
        meaning: "One line changes objects in many targets.",
        remedy: "Roll the change out in steps: set it in some overlays first.",
    }),
    title: "Many targets changed by one line",
    why: "A mistake in the line reaches all targets at the same time. The rule reports lines that change objects in 20 targets or more.",
    suppress: Some("The targets are deployed one after the other."),
    documentation: "https://kubernetes.io/docs/concepts/workloads/management/#canary-deployments",
    bad: &[(
        "base/kustomization.yaml",
        "# 20 overlays use this base\nresources: [web.yaml]\nimages: [{name: nginx, newTag: \"1.28\"}]\n",
    )],
    good: &[(
        "overlays/canary/kustomization.yaml",
        "resources: [../../base]\nimages: [{name: nginx, newTag: \"1.28\"}]\n",
    )],
    finder: Finder::Review,
    ..DANGER
};
