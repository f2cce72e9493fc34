//! Names, finalizers and owners of objects.

use super::super::names::{is_dns_label, is_dns_subdomain, is_path_segment, is_qualified_name};
use super::super::violation::ViolationRule;
use super::subject::{Below, Faults, RuleOfType, Subject, is_true};
use smp_text::yaml::Node;

pub(super) const RULES: &[(&str, RuleOfType)] = &[("ObjectMeta", finalizers), ("ObjectMeta", owners)];

/// How long a name may be for a kind, and of which form it is.
fn name_form(kind: &str, object: &Node) -> (usize, fn(&str) -> bool, &'static str) {
    const LABEL: &str = "small letters, digits and `-`, and at most 63 characters";
    const SUBDOMAIN: &str = "small letters, digits, `-` and `.`";
    const SEGMENT: &str = "no `/` and no `%`";
    match kind {
        "Service" | "Namespace" | "StatefulSet" => (63, is_dns_label, LABEL),
        "Job" if is_indexed(object) => (63, is_dns_label, LABEL),
        "CronJob" => (52, is_dns_subdomain, "small letters, digits, `-` and `.`, and at most 52 characters"),
        "Role"
        | "ClusterRole"
        | "RoleBinding"
        | "ClusterRoleBinding"
        | "PodDisruptionBudget"
        | "CertificateSigningRequest" => (usize::MAX, is_path_segment, SEGMENT),
        _ => (253, is_dns_subdomain, SUBDOMAIN),
    }
}

fn is_indexed(object: &Node) -> bool {
    object.get_path(&["spec", "completionMode"]).and_then(Node::as_str) == Some("Indexed")
}

/// The name of an object, of any kind.
pub(crate) fn name(object: &Node, faults: &mut Faults) {
    let Some(metadata) = object.get("metadata") else {
        let message = "the object has no `metadata`, and so no name";
        return faults.below(ViolationRule::ObjectName, &[Below::Field("metadata")], object.span(), message);
    };
    let text = |field| metadata.get(field).and_then(Node::as_str).filter(|text| !text.is_empty());
    if text("namespace").is_some_and(|namespace| namespace.len() > 63 || !is_dns_label(namespace)) {
        let at = metadata.get("namespace").map_or(metadata.span(), Node::span);
        let path = [Below::Field("metadata"), Below::Field("namespace")];
        let message = "the name of a namespace has small letters, digits and `-`, and at most 63 characters";
        faults.below(ViolationRule::ObjectName, &path, at, message);
    }
    let kind = object.get("kind").and_then(Node::as_str).unwrap_or_default();
    let (longest, form, wanted) = name_form(kind, object);
    let path = [Below::Field("metadata"), Below::Field("name")];
    match text("name") {
        Some(name) if name.len() > longest || !form(name) => {
            let at = metadata.get("name").map_or(metadata.span(), Node::span);
            faults.below(ViolationRule::ObjectName, &path, at, format!("the name of a {kind} has {wanted}"));
        }
        Some(_) => {}
        None if text("generateName").is_some() || kind == "LimitRange" => {}
        // Of a name of another type its type is told.
        None if metadata.get("name").is_some_and(|name| !name.is_null() && name.as_str() != Some("")) => {}
        None => faults.below(ViolationRule::ObjectName, &path, metadata.span(), "the object has no name"),
    }
}

/// Kinds that a server refuses without a `spec`, though no schema says so.
const WITH_SPEC: [&str; 14] = [
    "CronJob",
    "DaemonSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "Ingress",
    "IngressClass",
    "Job",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "Service",
    "StatefulSet",
];

/// Whether the object has a `spec`, if its kind needs one.
pub(crate) fn spec(object: &Node, faults: &mut Faults) {
    let kind = object.get("kind").and_then(Node::as_str).unwrap_or_default();
    if WITH_SPEC.contains(&kind) && object.get("spec").is_none_or(Node::is_null) {
        let message = "the required field `spec` is missing";
        faults.below(ViolationRule::MissingRequired, &[Below::Field("spec")], object.span(), message);
    }
}

fn finalizers(of: Subject<'_>, faults: &mut Faults) {
    for (i, entry) in of.list("finalizers").iter().enumerate() {
        let Some(text) = entry.as_str() else { continue };
        let is_standard = matches!(text, "kubernetes" | "orphan" | "foregroundDeletion");
        if !is_qualified_name(text) || (!text.contains('/') && !is_standard) {
            let path = [Below::Field("finalizers"), Below::Entry(i)];
            let message = "a finalizer is a name such as `example.com/name`";
            faults.below(ViolationRule::Finalizer, &path, entry.span(), message);
        }
    }
}

fn owners(of: Subject<'_>, faults: &mut Faults) {
    let is_controller = |entry: &&Node| is_true(entry.get("controller"));
    let owners = of.list("ownerReferences");
    if owners.iter().filter(is_controller).count() > 1 {
        let message = "only one owner can be the controller";
        faults.field(ViolationRule::Owner, of, "ownerReferences", message);
    }
}
