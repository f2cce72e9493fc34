//! Rule: a selector matches no Pod of the build, but is similar to the labels of one.

use crate::check::causes::Causes;
use crate::check::objects::namespace_of;
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use crate::check::workloads::{LabelPair, Workloads, has_label};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::yaml::{Node, nearest_name};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "unmatched-selector",
        meaning: "The selector of a Service or PodDisruptionBudget matches no Pod of the build, but nearly matches one.",
        remedy: "Correct the selector or the Pod labels.",
    }),
    title: "Selector matches no Pod",
    group: RuleGroup::DanglingReference,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::BuildableOverlays,
    why: "A Service whose selector matches no Pod has no endpoints: every connection fails. A PodDisruptionBudget \
          without Pods protects nothing during a drain. The rule reports a selector if a workload in the same \
          namespace has all of its labels except one. For a selector with a single label, some workload must have a \
          similar value, or the same value under another key. Selectors that resemble no workload are assumed to \
          select Pods from elsewhere. Labels that controllers or leader election set on running Pods, such as \
          `statefulset.kubernetes.io/pod-name`, are ignored.",
    suppress: Some("The Pods are created outside of the build, or a controller labels them."),
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/",
    bad: &[
        ("kustomization.yaml", "resources: [pod.yaml, service.yaml]\n"),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  labels: {app: web}\nspec:\n  containers:\n  - {name: web, \
             image: nginx}\n",
        ),
        (
            "service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  selector: {app: wep}\n  ports: [{port: 80}]\n",
        ),
    ],
    good: &[
        ("kustomization.yaml", "resources: [pod.yaml, service.yaml]\n"),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  labels: {app: web}\nspec:\n  containers:\n  - {name: web, \
             image: nginx}\n",
        ),
        (
            "service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  selector: {app: web}\n  ports: [{port: 80}]\n",
        ),
    ],
    finder: Finder::Target(find),
};

/// Returns the labels of a selector, and their field path.
fn selector(resource: &Resource) -> Option<(&Node, &'static str)> {
    let node = resource.node();
    let (path, shown): (&[&str], _) = match resource.id().gvk.kind.as_str() {
        "Service" => (&["spec", "selector"], "spec.selector"),
        "PodDisruptionBudget" => {
            node.get_path(&["spec", "selector", "matchExpressions"]).is_none().then_some(())?;
            (&["spec", "selector", "matchLabels"], "spec.selector.matchLabels")
        }
        _ => return None,
    };
    let labels = node.get_path(path).filter(|labels| labels.as_map().is_some_and(|map| !map.is_empty()))?;
    Some((labels, shown))
}

/// Labels that controllers set on Pods. Templates do not contain them.
const CONTROLLERS: [&str; 7] = [
    "apps.kubernetes.io/pod-index",
    "controller-revision-hash",
    "controller-uid",
    "job-name",
    "pod-template-generation",
    "pod-template-hash",
    "statefulset.kubernetes.io/pod-name",
];

fn is_of_controller(key: &str) -> bool {
    CONTROLLERS.contains(&key) || key.starts_with("batch.kubernetes.io/")
}

/// Label values that programs set on their own Pods after leader election.
const ROLES: [&str; 6] = ["leader", "master", "primary", "replica", "active", "standby"];

/// Returns true if a label seems to be the result of a leader election: it contains a role, or a boolean for a key that
/// no template has, such as `vault-active: "true"`.
fn is_elected((key, value): LabelPair<'_>, labels: Option<&Node>) -> bool {
    let has_key = || labels.is_some_and(|labels| labels.get(key).is_some());
    match value.as_str() {
        Some("true" | "false") => !has_key(),
        Some(value) => ROLES.contains(&value),
        None => false,
    }
}

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let (workloads, causes) = (Workloads::new(target.resources()), Causes::new(target.sources));
    target.resources().filter_map(|resource| check(resource, &workloads, &causes)).collect()
}

fn check(resource: &Resource, workloads: &Workloads<'_>, causes: &Causes<'_>) -> Option<Diagnostic> {
    let (selector, field) = selector(resource)?;
    let expected: Vec<_> = selector.as_map()?.iter().filter(|(key, _)| !is_of_controller(key)).collect();
    let namespace = namespace_of(resource.id());
    let (best, nearest) = workloads.nearest(namespace, &expected)?;
    if best + 1 != expected.len() {
        return None;
    }
    // A single label is weak evidence, so some Pods must have a similar one.
    let alike = || workloads.find(namespace, |labels| is_alike(expected[0], labels));
    let (labels, workload) = if best == 0 { alike()? } else { nearest };
    let (key, value) = *expected.iter().find(|pair| !has_label(labels, **pair))?;
    if is_elected((key, value), labels) {
        return None;
    }
    let message = format!("no Pod of the build has the label `{key}: {}`", value.scalar_text()?);
    let at = labels.and_then(|labels| labels.get(key)).or(labels).map(Node::span).unwrap_or_default();
    let finding = Diagnostic::warning(RULE.code, message).at(value.span());
    let finding = finding.label(at, format!("label of the Pods of {}", workload.id()));
    let path: Vec<&str> = field.split('.').chain([key]).collect();
    let changed = || Causes::changed_label(workload, key).filter(|_| Causes::is_unchanged(resource, &path));
    let finding = finding.resource(resource.id()).field(field);
    Some(match changed() {
        Some(cause) => causes.with_cause(finding, cause),
        None => finding,
    })
}

/// Returns true if labels contain a similar pair: a similar value with the same key, or the same value with another
/// key.
fn is_alike((key, value): LabelPair<'_>, labels: Option<&Node>) -> bool {
    let Some(expected) = value.as_str() else { return false };
    labels.and_then(Node::as_map).is_some_and(|labels| {
        let mut labels = labels.iter().filter_map(|(own, value)| Some((own, value.as_str()?)));
        labels.any(
            |(own, has)| if own == key { nearest_name(expected, &[has]).is_some() } else { has == expected },
        )
    })
}
