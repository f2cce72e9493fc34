//! Labels that change what a workload of a base selects.

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "changed-selector",
        meaning: "An overlay adds labels to the selector of a workload of its base.",
        remedy: "Use `labels` with `includeSelectors: false`, and `includeTemplates: true` where Pods shall have them.",
    }),
    name: "Labels that change selectors",
    group: RuleGroup::MeansElse,
    severity: Severity::Warning,
    standing: RuleStanding::Off,
    reach: RuleReach::Each,
    why: "The selector of a Deployment, StatefulSet, DaemonSet or Job cannot be changed in a cluster: adding `commonLabels`, \
          or `labels` with `includeSelectors`, to what runs already makes the next apply fail, and changing them later does, \
          too. Many overlays do so from the beginning, which is why this is off.",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [base]\nlabels:\n- pairs: {env: prod}\n  includeSelectors: true\n",
        ),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", DEPLOYMENT),
    ],
    good: &[
        (
            "kustomization.yaml",
            "resources: [base]\nlabels:\n- pairs: {env: prod}\n  includeTemplates: true\n",
        ),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", DEPLOYMENT),
    ],
    finder: Finder::Target(find),
};

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: \
                          {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - \
                          {name: web, image: nginx}\n";

/// The fields that write labels.
const FIELDS: [&str; 2] = ["labels", "commonLabels"];

/// The kinds whose selectors cannot be changed.
const KINDS: [&str; 5] = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"];

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let workloads = target.resources().filter(|resource| KINDS.contains(&resource.id().gvk.kind.as_str()));
    workloads.filter_map(|resource| told(target, resource)).collect()
}

fn told(target: &CheckedTarget<'_>, resource: &Resource) -> Option<Diagnostic> {
    let path = ["spec", "selector", "matchLabels"];
    let labels = resource.node().get_path(&path)?.as_map()?;
    let history = resource.history.as_deref()?;
    let own = history.leaf(&["metadata", "name"])?.last()?.by.at().source;
    let written = labels.iter().find_map(|(label, _)| {
        let first = history.leaf(&[path[0], path[1], path[2], label])?.last()?;
        let by_labels = FIELDS.iter().any(|field| first.by.name().starts_with(field));
        // The kustomization that lists the workload may give it what it wants.
        (by_labels && first.by.at().source != own).then_some(first)
    })?;
    let name = target.sources.get(written.by.at().source).map(|_| written.by.name())?;
    Some(
        Diagnostic::warning(RULE.code, format!("{name} changes the selector of a workload of a base"))
            .at(written.by.at())
            .label(resource.node().span().at_start(), "this workload")
            .resource(resource.id())
            .field("spec.selector.matchLabels"),
    )
}
