//! Rule: a reference names a missing object, and the build contains the object that was probably intended.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use crate::check::causes::Causes;
use crate::check::controllers::{is_in_every_cluster, similar_well_known_role};
use crate::check::external::ExternalObject;
use crate::check::names::is_typo;
use crate::check::objects::{FoundObject, Objects};
use crate::check::reference::ObjectReference;
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::source::Span;
use smp_text::yaml::{Node, nearest_name};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "misspelled-reference",
        meaning: "A reference names an object that is not in the build, but a similar one is.",
        remedy: "Correct the name or the namespace. Declare objects that are created elsewhere under \
                 `check.external` in `.smp.yaml`, and objects that a controller creates under `check.controllers`.",
    }),
    title: "Reference to a missing object that resembles an existing one",
    group: RuleGroup::DanglingReference,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::BuildableOverlays,
    why: "Pods do not start without their ConfigMaps, Secrets and PersistentVolumeClaims, and are not created without \
          their ServiceAccount. A HorizontalPodAutoscaler with a wrong target does not scale. A reference is reported if the build \
          has an object with a similar name, or one with the same name in another namespace. A reference to another \
          namespace is reported only if the build also has objects in that namespace. Otherwise the namespace is assumed \
          to be deployed elsewhere. For `scaleTargetRef`, \
          a workload with the same name and another kind is also compared. The reference is \
          also compared with names before prefixes, suffixes and hashes were added, because kustomize does not update a \
          misspelled reference. \
          All other unresolved references are reported by `external-reference`.",
    suppress: Some(
        "The object really exists under this name outside of the build. Declare it under `check.external` \
               instead of suppressing each finding.",
    ),
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/",
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
    missing(target).filter_map(|(reference, meant)| Some(finding(reference, &meant?))).collect()
}

/// Returns the unresolved references, each with the object that was probably intended.
pub(super) fn missing<'t, 'c>(
    target: &'t CheckedTarget<'c>,
) -> impl Iterator<Item = (&'t ObjectReference<'c>, Option<LikelyTarget>)> {
    let names = target.names();
    let missing = names.references.iter().filter(|reference| is_missing(reference, &names.objects, target));
    missing.map(|reference| (reference, likely_target(reference, &names.objects)))
}

/// Returns true if a reference resolves to no known object.
fn is_missing(reference: &ObjectReference<'_>, objects: &Objects<'_>, target: &CheckedTarget<'_>) -> bool {
    is_absent(reference, objects)
        && externals_of(reference, target).next().is_none()
        && !is_claimed(reference, objects)
}

/// Returns true if the object of a reference is neither in the build nor in every cluster.
fn is_absent(reference: &ObjectReference<'_>, objects: &Objects<'_>) -> bool {
    let (kind, name) = (reference.kind.as_str(), reference.text());
    let namespace = if is_cluster_wide(kind) { "" } else { &reference.namespace };
    matches!(objects.find(kind, namespace, name), FoundObject::Absent) && !is_in_every_cluster(kind, name)
}

/// Returns the declarations of external objects that match a reference.
fn externals_of<'c>(
    reference: &ObjectReference<'_>,
    target: &CheckedTarget<'c>,
) -> impl Iterator<Item = &'c ExternalObject> {
    let all = target.outside.objects.iter();
    all.filter(|external| external.matches(&reference.kind, &reference.namespace, reference.text()))
}

/// Returns the locations of the external declarations that references of a target use.
pub(in crate::check) fn used_externals(target: &CheckedTarget<'_>) -> FxHashSet<Span> {
    if target.outside.objects.is_empty() {
        return FxHashSet::default();
    }
    let names = target.names();
    let absent = names.references.iter().filter(|reference| is_absent(reference, &names.objects));
    absent.flat_map(|reference| externals_of(reference, target)).map(|external| external.at).collect()
}

/// Returns true if a kind is cluster-scoped.
fn is_cluster_wide(kind: &str) -> bool {
    matches!(kind, "ClusterRole")
}

/// Returns true if a StatefulSet may create the referenced PersistentVolumeClaim for one of its Pods: the name of the
/// claim contains that of the set.
fn is_claimed(reference: &ObjectReference<'_>, objects: &Objects<'_>) -> bool {
    reference.kind == "PersistentVolumeClaim"
        && objects
            .names_of_kind("StatefulSet", &reference.namespace)
            .any(|set| reference.text().contains(set.as_str()))
}

/// The difference between a reference and the object that was probably intended.
pub(super) enum LikelyTarget {
    /// An object has a similar name.
    Name(SmolStr),
    /// An object with this name is in another namespace.
    Namespace(SmolStr),
    /// An object with this name has another kind.
    Kind(&'static str),
}

const DEFAULT_NAMESPACE: &str = "default";
/// The kinds that can be scaled.
const SCALED: [&str; 4] = ["Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"];

/// Returns the probably intended object, or `None` if no object of the build is similar.
fn likely_target(reference: &ObjectReference<'_>, objects: &Objects<'_>) -> Option<LikelyTarget> {
    let (kind, namespace, name) = (reference.kind.as_str(), reference.namespace.as_str(), reference.text());
    // If the reference has no namespace, objects in the default namespace are also candidates.
    let default = Some(DEFAULT_NAMESPACE).filter(|_| namespace.is_empty() && !is_cluster_wide(kind));
    let own = if is_cluster_wide(kind) { "" } else { namespace };
    let mut namespaces = [own].into_iter().chain(default);
    if let Some(near) = namespaces.clone().find_map(|namespace| objects.similar(kind, namespace, name)) {
        return Some(LikelyTarget::Name(near));
    }
    if let Some(elsewhere) = elsewhere(reference, objects) {
        return Some(LikelyTarget::Namespace(elsewhere));
    }
    if let Some(similar) = similar_well_known_role(kind, name) {
        return Some(LikelyTarget::Name(similar.into()));
    }
    if let Some(other) = other_kind(reference, objects) {
        return Some(LikelyTarget::Kind(other));
    }
    // A misspelled reference was not renamed together with its object. A reference that equals a former name is not
    // misspelled.
    let former = namespaces.find_map(|namespace| objects.similar_former(kind, namespace, name));
    let moved = || objects.similar_moved(kind, namespace, name);
    let is_stated = reference.stated.namespace.is_some();
    former.or_else(|| is_stated.then(moved).flatten()).map(LikelyTarget::Name)
}

/// Returns the probably intended namespace, if the namespace in the reference is part of this build or similar to one
/// that is. Objects in other namespaces are created elsewhere.
fn elsewhere(reference: &ObjectReference<'_>, objects: &Objects<'_>) -> Option<SmolStr> {
    let (kind, name) = (reference.kind.as_str(), reference.text());
    let now = objects.namespaces_of(kind, name);
    let former = objects.former_namespaces_of(kind, name);
    // If the reference has no namespace, it was moved together with the referring object.
    let former = former.iter().filter(|_| reference.stated.namespace.is_some());
    let near = now.iter().chain(former).find(|known| is_typo(&reference.namespace, known));
    let first = || now.first().filter(|_| objects.has_namespace(&reference.namespace));
    near.or_else(first).cloned()
}

/// Returns the kind of a scalable object that has the name in the reference. The kind in the reference must be
/// scalable, or a misspelling of such a kind.
fn other_kind(reference: &ObjectReference<'_>, objects: &Objects<'_>) -> Option<&'static str> {
    let kind = reference.kind.as_str();
    let is_scaled = SCALED.contains(&kind) || nearest_name(kind, &SCALED).is_some();
    let is_built = |kind: &&str| {
        let found = objects.find(kind, &reference.namespace, reference.text());
        matches!(found, FoundObject::Built(_))
    };
    SCALED.into_iter().find(is_built).filter(|_| is_scaled)
}

fn finding(reference: &ObjectReference<'_>, meant: &LikelyTarget) -> Diagnostic {
    let (kind, name) = (&reference.kind, reference.text());
    let help = match meant {
        LikelyTarget::Name(near) => format!("did you mean `{near}`?"),
        LikelyTarget::Namespace(namespace) => {
            format!(
                "an object with this name is in namespace {namespace}, but the reference points to namespace {}",
                reference.namespace
            )
        }
        LikelyTarget::Kind(kind) => format!("the object with this name is a {kind}"),
    };
    Diagnostic::warning(RULE.code, format!("{kind} `{name}` is not in the build"))
        .at(Causes::written_at(reference.from, wrong(reference, meant)))
        .resource(reference.from.id())
        .field(&reference.field)
        .help(help)
}

/// Returns the part of a reference to correct: the name, or the namespace or kind next to it.
fn wrong<'n>(reference: &ObjectReference<'n>, meant: &LikelyTarget) -> &'n Node {
    let stated = match meant {
        LikelyTarget::Name(_) => None,
        LikelyTarget::Namespace(_) => reference.stated.namespace,
        LikelyTarget::Kind(_) => reference.stated.kind,
    };
    stated.unwrap_or(reference.name)
}
