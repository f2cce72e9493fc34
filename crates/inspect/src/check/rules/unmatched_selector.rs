//! A selector that no Pod of the build has the labels of.

use crate::check::causes::Causes;
use crate::check::objects::namespace_of;
use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use crate::check::workloads::{LabelPair, Workloads, has};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::yaml::{Node, nearest};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "unmatched-selector",
        meaning: "The selector of a Service or PodDisruptionBudget fits no Pod of the build, though one nearly has its labels.",
        remedy: "Correct the selector, or the labels of the Pods.",
    }),
    name: "Selector without Pods",
    group: RuleGroup::PointsNowhere,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::BuiltUsers,
    why: "Some workload of the same namespace has all labels of the selector but one, and none has all of them: the Service \
          gets no endpoints. Of a selector of one label some workload has nearly the value, or the value under another key. \
          Selectors of which no workload has anything are taken for those of Pods from elsewhere, and labels that \
          controllers give to Pods, such as `statefulset.kubernetes.io/pod-name`, or programs to their own when one is \
          elected, are not looked at.",
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

/// A selector: the map of its labels, and where it is.
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

/// Labels that controllers give to Pods; no template has them.
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

/// What programs label their own Pods with when they have elected one of them.
const ROLES: [&str; 6] = ["leader", "master", "primary", "replica", "active", "standby"];

/// Whether programs label their own Pods so: with a role, or with whether they have it under a key that no template has,
/// such as `vault-active: "true"`.
fn is_elected((key, value): LabelPair<'_>, labels: Option<&Node>) -> bool {
    let is_told = || labels.is_some_and(|labels| labels.get(key).is_some());
    match value.as_str() {
        Some("true" | "false") => !is_told(),
        Some(value) => ROLES.contains(&value),
        None => false,
    }
}

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let (workloads, causes) = (Workloads::of(target.resources()), Causes::new(target.sources));
    target.resources().filter_map(|resource| told(resource, &workloads, &causes)).collect()
}

fn told(resource: &Resource, workloads: &Workloads<'_>, causes: &Causes<'_>) -> Option<Diagnostic> {
    let (selector, field) = selector(resource)?;
    let wanted: Vec<_> = selector.as_map()?.iter().filter(|(key, _)| !is_of_controller(key)).collect();
    let namespace = namespace_of(resource.id());
    let (best, nearest) = workloads.nearest(namespace, &wanted)?;
    if best + 1 != wanted.len() {
        return None;
    }
    // One label that is alone says little: some Pods must have nearly the same.
    let alike = || workloads.any(namespace, |labels| is_alike(wanted[0], labels));
    let (labels, workload) = if best == 0 { alike()? } else { nearest };
    let (key, value) = *wanted.iter().find(|pair| !has(labels, **pair))?;
    if is_elected((key, value), labels) {
        return None;
    }
    let message = format!("no Pod of the build has the label `{key}: {}`", value.scalar_text()?);
    let at = labels.and_then(|labels| labels.get(key)).or(labels).map(Node::span).unwrap_or_default();
    let told = Diagnostic::warning(RULE.code, message).at(value.span());
    let told = told.label(at, format!("the Pods of {} have this", workload.id()));
    let way: Vec<&str> = field.split('.').chain([key]).collect();
    let changed = || Causes::changed_label(workload, key).filter(|_| Causes::is_first(resource, &way));
    let told = told.resource(resource.id()).field(field);
    Some(match changed() {
        Some(cause) => causes.caused(told, cause),
        None => told,
    })
}

/// Whether labels have nearly a pair: its key with a value much like its own, or its value under another key.
fn is_alike((key, value): LabelPair<'_>, labels: Option<&Node>) -> bool {
    let Some(wanted) = value.as_str() else { return false };
    labels.and_then(Node::as_map).is_some_and(|labels| {
        let mut labels = labels.iter().filter_map(|(own, value)| Some((own, value.as_str()?)));
        labels.any(|(own, has)| if own == key { nearest(wanted, &[has]).is_some() } else { has == wanted })
    })
}
