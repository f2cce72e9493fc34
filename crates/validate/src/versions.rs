//! Which kinds there are in which release: unknown ones, removed ones, deprecated ones.

use super::options::{NEWEST, ValidateOptions};
use super::rules;
use super::violation::Violation;
use super::walk::Decoding;
use smp_merge::schema::{Gvk, Schema, is_built_in_group, kinds_of_group};
use smp_text::diagnostic::Severity;
use smp_text::path::FieldPath;
use smp_text::yaml::{Node, suggestion};

/// How the objects of a kind are read.
pub(super) fn decoding(gvk: &Gvk) -> Decoding {
    if is_built_in_group(&gvk.group) { Decoding::BuiltIn } else { Decoding::Structural }
}

/// What there is to say of the kind itself.
pub(super) fn judge(node: &Node, gvk: &Gvk, schema: &Schema, options: &ValidateOptions) -> Option<Violation> {
    if gvk.kind.is_empty() || !is_built_in_group(&gvk.group) {
        return None;
    }
    let release = options.kubernetes.unwrap_or(NEWEST);
    let end = ENDS.iter().find(|end| end.is_of(gvk));
    // Of a version that ended as a whole any kind is said to have been.
    if let Some(end) = end.filter(|end| end.kind.is_some() || schema.kind(gvk).is_some()) {
        return end.judge(node, release);
    }
    if schema.kind(gvk).is_some() {
        return None;
    }
    let kinds = kinds_of_group(&gvk.group);
    let versions: Vec<&str> =
        kinds.iter().filter(|known| known.kind == gvk.kind).map(|known| known.version.as_str()).collect();
    if gvk.version.is_empty() {
        let (path, message) =
            (FieldPath::root().field("apiVersion"), "the required field `apiVersion` is missing");
        let at = node.get("apiVersion").map_or(node.span(), Node::span);
        let help = (!versions.is_empty()).then(|| format!("there is {}", versions.join(", ")));
        return Some(Violation::error(&rules::missing_required::RULE, path, at, message).help(help));
    }
    let mut names: Vec<&str> = kinds.iter().map(|known| known.kind.as_str()).collect();
    names.dedup();
    let meant = suggestion(&gvk.kind, &names);
    if let Some(end) = end.filter(|_| !versions.is_empty() || meant.is_none()) {
        return end.judge(node, release);
    }
    let (field, message, help) = if versions.is_empty() {
        let group = if gvk.group.is_empty() { "the core group" } else { gvk.group.as_str() };
        ("kind", format!("there is no kind {} in {group}", gvk.kind), meant)
    } else {
        let message = format!("there is no version {} of {} in Kubernetes", gvk.version, gvk.kind);
        ("apiVersion", message, Some(format!("there is {}", versions.join(", "))))
    };
    let at = node.get(field).map_or(node.span(), Node::span);
    Some(Violation::error(&rules::unknown_kind::RULE, FieldPath::root().field(field), at, message).help(help))
}

/// When an API version ended.
struct End {
    group: &'static str,
    version: &'static str,
    /// None for all of the version.
    kind: Option<&'static str>,
    /// The minor number of the release that deprecated it, and of the one that removed it.
    deprecated: u32,
    removed: Option<u32>,
    instead: &'static str,
}

impl End {
    fn is_of(&self, gvk: &Gvk) -> bool {
        gvk.group == self.group
            && gvk.version == self.version
            && self.kind.is_none_or(|kind| gvk.kind == kind)
    }

    fn judge(&self, node: &Node, (major, minor): (u32, u32)) -> Option<Violation> {
        let name = node.get("kind").and_then(Node::as_str).unwrap_or_default();
        let version = if self.group.is_empty() {
            self.version.into()
        } else {
            format!("{}/{}", self.group, self.version)
        };
        let at = node.get("apiVersion").map_or(node.span(), Node::span);
        let path = FieldPath::root().field("apiVersion");
        let help = (!self.instead.is_empty()).then(|| format!("use {}", self.instead));
        let is_after = |release: u32| (major, minor) >= (1, release);
        if let Some(removed) = self.removed.filter(|removed| is_after(*removed)) {
            let message = format!("{version} {name} was removed in Kubernetes 1.{removed}");
            return Some(Violation::error(&rules::removed_api::RULE, path, at, message).help(help));
        }
        let message = match self.removed {
            Some(removed) => format!("{version} {name} is deprecated, and removed in Kubernetes 1.{removed}"),
            None => format!("{version} {name} is deprecated"),
        };
        let violation = Violation::error(&rules::deprecated_api::RULE, path, at, message).help(help);
        is_after(self.deprecated).then(|| violation.severity(Severity::Warning))
    }
}

const fn end(
    version: (&'static str, &'static str),
    kind: Option<&'static str>,
    (deprecated, removed): (u32, u32),
    instead: &'static str,
) -> End {
    let removed = if removed == 0 { None } else { Some(removed) };
    End { group: version.0, version: version.1, kind, deprecated, removed, instead }
}

/// From the deprecation guide of Kubernetes: version, kind, in which release it was deprecated and removed, and what
/// there is instead. What has 0 for its removal is still served.
const ENDS: [End; 64] = [
    end(("extensions", "v1beta1"), Some("Deployment"), (9, 16), "apps/v1"),
    end(("extensions", "v1beta1"), Some("DaemonSet"), (9, 16), "apps/v1"),
    end(("extensions", "v1beta1"), Some("ReplicaSet"), (9, 16), "apps/v1"),
    end(("extensions", "v1beta1"), Some("NetworkPolicy"), (9, 16), "networking.k8s.io/v1"),
    end(("extensions", "v1beta1"), Some("PodSecurityPolicy"), (10, 16), "Pod Security admission"),
    end(("extensions", "v1beta1"), Some("Ingress"), (14, 22), "networking.k8s.io/v1"),
    end(("apps", "v1beta1"), None, (9, 16), "apps/v1"),
    end(("apps", "v1beta2"), None, (9, 16), "apps/v1"),
    end(
        ("admissionregistration.k8s.io", "v1beta1"),
        Some("ValidatingWebhookConfiguration"),
        (16, 22),
        "admissionregistration.k8s.io/v1",
    ),
    end(
        ("admissionregistration.k8s.io", "v1beta1"),
        Some("MutatingWebhookConfiguration"),
        (16, 22),
        "admissionregistration.k8s.io/v1",
    ),
    end(("apiextensions.k8s.io", "v1beta1"), None, (16, 22), "apiextensions.k8s.io/v1"),
    end(("apiregistration.k8s.io", "v1beta1"), None, (19, 22), "apiregistration.k8s.io/v1"),
    end(("authentication.k8s.io", "v1beta1"), Some("TokenReview"), (19, 22), "authentication.k8s.io/v1"),
    end(("authorization.k8s.io", "v1beta1"), None, (19, 22), "authorization.k8s.io/v1"),
    end(
        ("certificates.k8s.io", "v1beta1"),
        Some("CertificateSigningRequest"),
        (19, 22),
        "certificates.k8s.io/v1",
    ),
    end(("coordination.k8s.io", "v1beta1"), Some("Lease"), (19, 22), "coordination.k8s.io/v1"),
    end(("networking.k8s.io", "v1beta1"), Some("Ingress"), (19, 22), "networking.k8s.io/v1"),
    end(("networking.k8s.io", "v1beta1"), Some("IngressClass"), (19, 22), "networking.k8s.io/v1"),
    end(("rbac.authorization.k8s.io", "v1alpha1"), None, (17, 22), "rbac.authorization.k8s.io/v1"),
    end(("rbac.authorization.k8s.io", "v1beta1"), None, (17, 22), "rbac.authorization.k8s.io/v1"),
    end(("scheduling.k8s.io", "v1alpha1"), Some("PriorityClass"), (14, 22), "scheduling.k8s.io/v1"),
    end(("scheduling.k8s.io", "v1beta1"), Some("PriorityClass"), (14, 22), "scheduling.k8s.io/v1"),
    end(("storage.k8s.io", "v1beta1"), Some("CSIDriver"), (19, 22), "storage.k8s.io/v1"),
    end(("storage.k8s.io", "v1beta1"), Some("CSINode"), (17, 22), "storage.k8s.io/v1"),
    end(("storage.k8s.io", "v1beta1"), Some("StorageClass"), (19, 22), "storage.k8s.io/v1"),
    end(("storage.k8s.io", "v1beta1"), Some("VolumeAttachment"), (19, 22), "storage.k8s.io/v1"),
    end(("storage.k8s.io", "v1alpha1"), Some("VolumeAttachment"), (19, 24), "storage.k8s.io/v1"),
    end(("storage.k8s.io", "v1alpha1"), Some("CSIStorageCapacity"), (21, 24), "storage.k8s.io/v1"),
    end(("storage.k8s.io", "v1beta1"), Some("CSIStorageCapacity"), (24, 27), "storage.k8s.io/v1"),
    end(("batch", "v1beta1"), Some("CronJob"), (21, 25), "batch/v1"),
    end(("batch", "v2alpha1"), Some("CronJob"), (21, 21), "batch/v1"),
    end(("discovery.k8s.io", "v1beta1"), None, (21, 25), "discovery.k8s.io/v1"),
    end(("events.k8s.io", "v1beta1"), None, (22, 25), "events.k8s.io/v1"),
    end(("autoscaling", "v2beta1"), None, (22, 25), "autoscaling/v2"),
    end(("autoscaling", "v2beta2"), None, (23, 26), "autoscaling/v2"),
    end(("policy", "v1beta1"), Some("PodDisruptionBudget"), (21, 25), "policy/v1"),
    end(("policy", "v1beta1"), Some("PodSecurityPolicy"), (21, 25), "Pod Security admission"),
    end(("policy", "v1beta1"), Some("Eviction"), (22, 25), "policy/v1"),
    end(("node.k8s.io", "v1alpha1"), None, (20, 24), "node.k8s.io/v1"),
    end(("node.k8s.io", "v1beta1"), None, (22, 25), "node.k8s.io/v1"),
    end(("flowcontrol.apiserver.k8s.io", "v1alpha1"), None, (20, 24), "flowcontrol.apiserver.k8s.io/v1"),
    end(("flowcontrol.apiserver.k8s.io", "v1beta1"), None, (23, 26), "flowcontrol.apiserver.k8s.io/v1"),
    end(("flowcontrol.apiserver.k8s.io", "v1beta2"), None, (26, 29), "flowcontrol.apiserver.k8s.io/v1"),
    end(("flowcontrol.apiserver.k8s.io", "v1beta3"), None, (29, 32), "flowcontrol.apiserver.k8s.io/v1"),
    end(
        ("admissionregistration.k8s.io", "v1alpha1"),
        Some("ValidatingAdmissionPolicy"),
        (28, 33),
        "admissionregistration.k8s.io/v1",
    ),
    end(
        ("admissionregistration.k8s.io", "v1alpha1"),
        Some("ValidatingAdmissionPolicyBinding"),
        (28, 33),
        "admissionregistration.k8s.io/v1",
    ),
    end(
        ("admissionregistration.k8s.io", "v1beta1"),
        Some("ValidatingAdmissionPolicy"),
        (30, 34),
        "admissionregistration.k8s.io/v1",
    ),
    end(
        ("admissionregistration.k8s.io", "v1beta1"),
        Some("ValidatingAdmissionPolicyBinding"),
        (30, 34),
        "admissionregistration.k8s.io/v1",
    ),
    end(
        ("authentication.k8s.io", "v1alpha1"),
        Some("SelfSubjectReview"),
        (27, 30),
        "authentication.k8s.io/v1",
    ),
    end(
        ("authentication.k8s.io", "v1beta1"),
        Some("SelfSubjectReview"),
        (28, 31),
        "authentication.k8s.io/v1",
    ),
    end(("networking.k8s.io", "v1alpha1"), Some("ClusterCIDR"), (28, 29), ""),
    end(("networking.k8s.io", "v1alpha1"), Some("IPAddress"), (31, 34), "networking.k8s.io/v1"),
    end(("networking.k8s.io", "v1alpha1"), Some("ServiceCIDR"), (31, 34), "networking.k8s.io/v1"),
    end(("networking.k8s.io", "v1beta1"), Some("IPAddress"), (33, 36), "networking.k8s.io/v1"),
    end(("networking.k8s.io", "v1beta1"), Some("ServiceCIDR"), (33, 36), "networking.k8s.io/v1"),
    end(("resource.k8s.io", "v1alpha1"), None, (27, 27), "resource.k8s.io/v1"),
    end(("resource.k8s.io", "v1alpha2"), None, (31, 31), "resource.k8s.io/v1"),
    end(("storage.k8s.io", "v1alpha1"), Some("VolumeAttributesClass"), (31, 35), "storage.k8s.io/v1"),
    end(("storage.k8s.io", "v1beta1"), Some("VolumeAttributesClass"), (34, 37), "storage.k8s.io/v1"),
    end(
        ("certificates.k8s.io", "v1alpha1"),
        Some("ClusterTrustBundle"),
        (33, 37),
        "certificates.k8s.io/v1beta1",
    ),
    end(("coordination.k8s.io", "v1alpha1"), None, (32, 32), "coordination.k8s.io/v1beta1"),
    end(("", "v1"), Some("ComponentStatus"), (19, 0), ""),
    end(("", "v1"), Some("Endpoints"), (33, 0), "discovery.k8s.io/v1 EndpointSlice"),
    end(("settings.k8s.io", "v1alpha1"), None, (19, 20), ""),
];
