//! Rule: an overlay adds labels to the selector of a workload from its base.

use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "changed-selector",
        meaning: "An overlay adds labels to the selector of a workload in its base.",
        remedy: "Use `labels` without `includeSelectors`. Set `includeTemplates: true` if Pods need the labels.",
    }),
    title: "Label added to an immutable selector",
    group: RuleGroup::UnintendedResult,
    severity: Severity::Warning,
    default: RuleDefault::Disabled,
    scope: RuleScope::Target,
    why: "The selectors of Deployments, StatefulSets, DaemonSets and Jobs are immutable. If `commonLabels`, or \
          `labels` with `includeSelectors`, adds a label to a workload that is already running, the next apply \
          fails. So does every later change of the label. The rule is disabled by default because many overlays \
          have used these fields since their first deployment.",
    suppress: Some(
        "The workload has never been deployed without the label, or is recreated on every deployment.",
    ),
    documentation: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/labels/",
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

/// The kustomization fields that write labels.
const FIELDS: [&str; 2] = ["labels", "commonLabels"];

/// The kinds with immutable selectors.
const KINDS: [&str; 5] = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"];

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let workloads = target.resources().filter(|resource| KINDS.contains(&resource.id().gvk.kind.as_str()));
    workloads.filter_map(|resource| check(target, resource)).collect()
}

fn check(target: &CheckedTarget<'_>, resource: &Resource) -> Option<Diagnostic> {
    let path = ["spec", "selector", "matchLabels"];
    let labels = resource.node().get_path(&path)?.as_map()?;
    let history = resource.history.as_deref()?;
    let own = history.writes_at(&["metadata", "name"])?.last()?.by.location().source;
    let written = labels.iter().find_map(|(label, _)| {
        let first = history.writes_at(&[path[0], path[1], path[2], label])?.last()?;
        let by_labels = FIELDS.iter().any(|field| first.by.name().starts_with(field));
        // The kustomization that lists the workload may set any label.
        (by_labels && first.by.location().source != own).then_some(first)
    })?;
    let name = target.sources.get(written.by.location().source).map(|_| written.by.name())?;
    Some(
        Diagnostic::warning(
            RULE.code,
            format!("{name} changes the immutable selector of a workload in a base"),
        )
        .at(written.by.location())
        .label(resource.node().span().at_start(), "workload")
        .resource(resource.id())
        .field("spec.selector.matchLabels"),
    )
}
