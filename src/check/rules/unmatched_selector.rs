//! A selector that no Pod of the build has the labels of.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::check::causes::Causes;
use crate::check::objects::namespace_of;
use crate::check::reference::pod_template;
use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use crate::diagnostic::{Code, Diagnostic, RuleText, Severity};
use crate::resource::Resource;
use crate::yaml::{Map, Node, nearest};

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

/// How many workloads are looked at for one selector: more that have one of its labels say nothing.
const CANDIDATES: usize = 1000;

/// The workloads of a build by the labels of their Pods.
#[derive(Default)]
struct Workloads<'n> {
    all: Vec<(Option<&'n Node>, &'n Resource)>,
    /// The positions of those that have a label, by namespace, key and value.
    by_label: FxHashMap<(&'n str, &'n str, &'n str), Vec<usize>>,
    /// Those of a namespace.
    by_namespace: FxHashMap<&'n str, Vec<usize>>,
}

impl<'n> Workloads<'n> {
    fn of(resources: impl Iterator<Item = &'n Resource>) -> Self {
        let mut workloads = Self::default();
        for resource in resources {
            let Some(template) = pod_template(resource) else { continue };
            let (namespace, position) = (namespace_of(resource.id()), workloads.all.len());
            workloads.all.push((template.labels, resource));
            workloads.by_namespace.entry(namespace).or_default().push(position);
            for (key, value) in template.labels.and_then(Node::as_map).into_iter().flat_map(Map::iter) {
                let Some(value) = value.scalar_text() else { continue };
                workloads.by_label.entry((namespace, key, value.as_str())).or_default().push(position);
            }
        }
        workloads
    }

    /// The workload that has most labels of a selector, and how many; none when there is nothing to say of it.
    fn nearest(&self, namespace: &str, wanted: &[LabelPair<'_>]) -> Option<(usize, WorkloadLabels<'n>)> {
        let mut lists: Vec<&[usize]> = Vec::new();
        for (key, value) in wanted {
            let value = value.scalar_text().map_or("", SmolStr::as_str);
            lists.extend(self.by_label.get(&(namespace, *key, value)).map(Vec::as_slice));
        }
        let fewest = lists.iter().min_by_key(|list| list.len());
        let candidates = fewest.copied().or_else(|| Some(self.here(namespace)?.as_slice()))?;
        if candidates.len() > CANDIDATES {
            return None;
        }
        let count = |labels: Option<&Node>| wanted.iter().filter(|pair| has(labels, **pair)).count();
        let counted = candidates.iter().map(|i| (count(self.all[*i].0), self.all[*i]));
        counted.max_by_key(|(n, _)| *n)
    }

    /// The workload that has a label which is nearly the one that is wanted, or its value under another key.
    fn alike(&self, namespace: &str, wanted: LabelPair<'_>) -> Option<WorkloadLabels<'n>> {
        let here = self.here(namespace).filter(|here| here.len() <= CANDIDATES)?;
        here.iter().map(|i| self.all[*i]).find(|(labels, _)| is_alike(wanted, *labels))
    }

    fn here(&self, namespace: &str) -> Option<&Vec<usize>> {
        self.by_namespace.get(namespace)
    }
}

/// A label.
type LabelPair<'n> = (&'n str, &'n Node);

/// The labels of a workload's Pods, and the workload.
type WorkloadLabels<'n> = (Option<&'n Node>, &'n Resource);

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

/// Whether labels have a pair.
fn has(labels: Option<&Node>, (key, value): LabelPair<'_>) -> bool {
    labels.and_then(|labels| labels.get(key)).and_then(Node::scalar_text) == value.scalar_text()
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
    let (labels, workload) = if best == 0 { workloads.alike(namespace, wanted[0])? } else { nearest };
    let (key, value) = *wanted.iter().find(|pair| !has(labels, **pair))?;
    if is_elected((key, value), labels) {
        return None;
    }
    let message = format!("no Pod of the build has the label `{key}: {}`", value.scalar_text()?);
    let at = labels.and_then(|labels| labels.get(key)).or(labels).map(Node::span).unwrap_or_default();
    let told = Diagnostic::warning(RULE.code, message).at(value.span());
    let told = told.label(at, format!("the Pods of {} have this", workload.id()));
    let way: Vec<&str> = field.split('.').chain([key]).collect();
    let changed = || causes.changed_label(workload, key).filter(|_| Causes::is_first(resource, &way));
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
