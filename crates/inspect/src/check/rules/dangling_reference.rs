//! A name that leads nowhere, and was most likely meant to lead to something of the build.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use crate::check::causes::Causes;
use crate::check::controllers::{is_everywhere, similar_everywhere};
use crate::check::names::is_slip;
use crate::check::objects::{FoundObject, Objects};
use crate::check::outside::External;
use crate::check::reference::ObjectReference;
use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::source::Span;
use smp_text::yaml::{Node, nearest};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "dangling-reference",
        meaning: "A name of an object that is not there, though one much like it is.",
        remedy: "Correct the name, or the namespace. What is made by somebody else is declared under `check.external` in \
                 `.smp.yaml`, what a controller makes of an object under `check.controllers`.",
    }),
    name: "Reference to something else than is there",
    group: RuleGroup::PointsNowhere,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::BuiltUsers,
    why: "A ConfigMap, Secret, ServiceAccount, PersistentVolumeClaim, Service, Role or scaled workload that is named and is \
          not in the build, while the build has one that is called much alike, has one of that name in another namespace, \
          or has what is scaled under that name as another kind. Names that objects had before prefixes, suffixes and hashes \
          were added count as well: a misspelled name gets none of these. Names of which nothing in the build is like, and \
          those in a namespace of which the build has nothing, are told by `external-reference`.",
    bad: &[
        ("kustomization.yaml", "resources: [pod.yaml, map.yaml]\n"),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    \
             envFrom:\n    - configMapRef: {name: web-confg}\n",
        ),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-config}\ndata: {A: b}\n"),
    ],
    good: &[
        ("kustomization.yaml", "resources: [pod.yaml, map.yaml]\n"),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    \
             envFrom:\n    - configMapRef: {name: web-config}\n",
        ),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-config}\ndata: {A: b}\n"),
    ],
    finder: Finder::Target(find),
};

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    missing(target).filter_map(|(reference, meant)| Some(told(reference, &meant?))).collect()
}

/// The references that lead to nothing that is known, each with what was most likely meant.
pub(super) fn missing<'t, 'c>(
    target: &'t CheckedTarget<'c>,
) -> impl Iterator<Item = (&'t ObjectReference<'c>, Option<Meant>)> {
    let names = target.names();
    let missing = names.references.iter().filter(|reference| is_missing(reference, &names.objects, target));
    missing.map(|reference| (reference, meant(reference, &names.objects)))
}

/// Returns whether a reference leads to nothing that is known.
fn is_missing(reference: &ObjectReference<'_>, objects: &Objects<'_>, target: &CheckedTarget<'_>) -> bool {
    is_absent(reference, objects)
        && externals_of(reference, target).next().is_none()
        && !is_claimed(reference, objects)
}

/// Returns whether neither the build nor every cluster has the object of a reference.
fn is_absent(reference: &ObjectReference<'_>, objects: &Objects<'_>) -> bool {
    let (kind, name) = (reference.kind.as_str(), reference.text());
    let namespace = if is_cluster_wide(kind) { "" } else { &reference.namespace };
    matches!(objects.find(kind, namespace, name), FoundObject::Absent) && !is_everywhere(kind, name)
}

/// Returns the declarations of external objects that a reference leads to.
fn externals_of<'c>(
    reference: &ObjectReference<'_>,
    target: &CheckedTarget<'c>,
) -> impl Iterator<Item = &'c External> {
    let all = target.outside.external.iter();
    all.filter(|external| external.is(&reference.kind, &reference.namespace, reference.text()))
}

/// Returns where the external objects are declared that references of a target lead to.
pub(in crate::check) fn used_externals(target: &CheckedTarget<'_>) -> FxHashSet<Span> {
    if target.outside.external.is_empty() {
        return FxHashSet::default();
    }
    let names = target.names();
    let absent = names.references.iter().filter(|reference| is_absent(reference, &names.objects));
    absent.flat_map(|reference| externals_of(reference, target)).map(|external| external.at).collect()
}

/// Whether kinds that are named are outside of namespaces.
fn is_cluster_wide(kind: &str) -> bool {
    matches!(kind, "ClusterRole")
}

/// Whether a StatefulSet makes a claim of that name for one of its Pods.
fn is_claimed(reference: &ObjectReference<'_>, objects: &Objects<'_>) -> bool {
    reference.kind == "PersistentVolumeClaim"
        && objects
            .of_kind("StatefulSet", &reference.namespace)
            .any(|set| reference.text().contains(set.as_str()))
}

/// What was most likely meant.
pub(super) enum Meant {
    /// One that is called much alike.
    Name(SmolStr),
    /// The one of that name in another namespace.
    Namespace(SmolStr),
    /// The one of that name and another kind.
    Kind(&'static str),
}

const DEFAULT_NAMESPACE: &str = "default";
/// The kinds that are scaled.
const SCALED: [&str; 4] = ["Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"];

/// What was most likely meant; none where nothing in the build is like it.
fn meant(reference: &ObjectReference<'_>, objects: &Objects<'_>) -> Option<Meant> {
    let (kind, namespace, name) = (reference.kind.as_str(), reference.namespace.as_str(), reference.text());
    // Where nobody says a namespace, objects of the default one are meant as well.
    let default = Some(DEFAULT_NAMESPACE).filter(|_| namespace.is_empty() && !is_cluster_wide(kind));
    let own = if is_cluster_wide(kind) { "" } else { namespace };
    let mut namespaces = [own].into_iter().chain(default);
    if let Some(near) = namespaces.clone().find_map(|namespace| objects.similar(kind, namespace, name)) {
        return Some(Meant::Name(near));
    }
    if let Some(elsewhere) = elsewhere(reference, objects) {
        return Some(Meant::Namespace(elsewhere));
    }
    if let Some(similar) = similar_everywhere(kind, name) {
        return Some(Meant::Name(similar.into()));
    }
    if let Some(other) = other_kind(reference, objects) {
        return Some(Meant::Kind(other));
    }
    // What is misspelled was not renamed with what it means. A name that something had is not misspelled.
    let former = namespaces.find_map(|namespace| objects.similar_former(kind, namespace, name));
    let moved = || objects.similar_moved(kind, namespace, name);
    let is_said = reference.beside.namespace.is_some();
    former.or_else(|| is_said.then(moved).flatten()).map(Meant::Name)
}

/// The namespace that was most likely meant, if the one that is looked in is of this build or nearly so: whatever is in
/// others is made elsewhere.
fn elsewhere(reference: &ObjectReference<'_>, objects: &Objects<'_>) -> Option<SmolStr> {
    let (kind, name) = (reference.kind.as_str(), reference.text());
    let now = objects.namespaces_of(kind, name);
    let former = objects.former_namespaces_of(kind, name);
    // What is said nowhere moved with the object that has the reference.
    let former = former.iter().filter(|_| reference.beside.namespace.is_some());
    let near = now.iter().chain(former).find(|known| is_slip(&reference.namespace, known));
    let first = || now.first().filter(|_| objects.has_namespace(&reference.namespace));
    near.or_else(first).cloned()
}

/// The kind of the object of that name that can be scaled, where the one that is said cannot, or is not there.
fn other_kind(reference: &ObjectReference<'_>, objects: &Objects<'_>) -> Option<&'static str> {
    let kind = reference.kind.as_str();
    let is_scaled = SCALED.contains(&kind) || nearest(kind, &SCALED).is_some();
    let is_built = |kind: &&str| {
        let found = objects.find(kind, &reference.namespace, reference.text());
        matches!(found, FoundObject::Built(_))
    };
    SCALED.into_iter().find(is_built).filter(|_| is_scaled)
}

fn told(reference: &ObjectReference<'_>, meant: &Meant) -> Diagnostic {
    let (kind, name) = (&reference.kind, reference.text());
    let help = match meant {
        Meant::Name(near) => format!("did you mean `{near}`?"),
        Meant::Namespace(namespace) => {
            format!(
                "the one of that name is in the namespace {namespace}, and this one is looked for in {}",
                reference.namespace
            )
        }
        Meant::Kind(kind) => format!("the one of that name is a {kind}"),
    };
    Diagnostic::warning(RULE.code, format!("there is no {kind} `{name}` in the build"))
        .at(Causes::written_at(reference.from, wrong(reference, meant)))
        .resource(reference.from.id())
        .field(&reference.field)
        .help(help)
}

/// What of a reference is wrong: the name, or what is said beside it.
fn wrong<'n>(reference: &ObjectReference<'n>, meant: &Meant) -> &'n Node {
    let beside = match meant {
        Meant::Name(_) => None,
        Meant::Namespace(_) => reference.beside.namespace,
        Meant::Kind(_) => reference.beside.kind,
    };
    beside.unwrap_or(reference.name)
}
