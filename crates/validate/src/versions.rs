//! Finds kinds and API versions that a Kubernetes release does not have, or deprecates.

use std::sync::LazyLock;

use super::options::{NEWEST_RELEASE, ValidateOptions};
use super::rules;
use super::violation::Violation;
use super::walk::Decoding;
use smp_merge::schema::{Gvk, is_built_in_group, kinds_in_group};
use smp_text::diagnostic::Severity;
use smp_text::path::FieldPath;
use smp_text::yaml::{Node, did_you_mean};

/// Returns the way in which the API server decodes objects of a kind.
pub(super) fn decoding(gvk: &Gvk) -> Decoding {
    if is_built_in_group(&gvk.group) { Decoding::BuiltIn } else { Decoding::Structural }
}

/// Validates the kind and API version of an object. `is_known` is true if the schema has the kind.
pub(super) fn check(node: &Node, gvk: &Gvk, is_known: bool, options: &ValidateOptions) -> Option<Violation> {
    if gvk.kind.is_empty() || !is_built_in_group(&gvk.group) {
        return None;
    }
    let release = options.kubernetes.unwrap_or(NEWEST_RELEASE);
    let end = ENDS_OF_LIFE.iter().find(|end| end.applies_to(gvk));
    // An entry for a whole version applies only to known kinds.
    if let Some(end) = end.filter(|end| end.kind.is_some() || is_known) {
        return end.judge(node, release);
    }
    if is_known {
        return None;
    }
    let kinds = kinds_in_group(&gvk.group);
    let versions: Vec<&str> =
        kinds.iter().filter(|known| known.kind == gvk.kind).map(|known| known.version.as_str()).collect();
    if gvk.version.is_empty() {
        let (path, message) = (FieldPath::root().field("apiVersion"), "missing required field `apiVersion`");
        let at = node.get("apiVersion").map_or(node.span(), Node::span);
        let help = (!versions.is_empty()).then(|| format!("available versions: {}", versions.join(", ")));
        return Some(Violation::error(&rules::missing_required::RULE, path, at, message).help(help));
    }
    let mut names: Vec<&str> = kinds.iter().map(|known| known.kind.as_str()).collect();
    names.dedup();
    let meant = did_you_mean(&gvk.kind, &names);
    if let Some(end) = end.filter(|_| !versions.is_empty() || meant.is_none()) {
        return end.judge(node, release);
    }
    let (field, message, help) = if versions.is_empty() {
        let group = if gvk.group.is_empty() { "the core group" } else { gvk.group.as_str() };
        ("kind", format!("unknown kind {} in {group}", gvk.kind), meant)
    } else {
        let message = format!("Kubernetes has no version {} of {}", gvk.version, gvk.kind);
        ("apiVersion", message, Some(format!("available versions: {}", versions.join(", "))))
    };
    let at = node.get(field).map_or(node.span(), Node::span);
    Some(Violation::error(&rules::unknown_kind::RULE, FieldPath::root().field(field), at, message).help(help))
}

/// The end of life of an API version.
struct EndOfLife {
    group: &'static str,
    version: &'static str,
    /// The kind; `None` if the entry applies to all kinds of the version.
    kind: Option<&'static str>,
    /// The minor release that deprecated the version.
    deprecated: u32,
    removed: Option<u32>,
    instead: &'static str,
}

impl EndOfLife {
    fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.splitn(5, ' ');
        let version = words.next()?;
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let kind = Some(words.next()?).filter(|kind| *kind != "*");
        let (deprecated, removed) = (words.next()?.parse().ok()?, words.next()?.parse().ok());
        Some(Self { group, version, kind, deprecated, removed, instead: words.next().unwrap_or_default() })
    }

    fn applies_to(&self, gvk: &Gvk) -> bool {
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
        let is_since = |release: u32| (major, minor) >= (1, release);
        if let Some(removed) = self.removed.filter(|removed| is_since(*removed)) {
            let message = format!("{version} {name} was removed in Kubernetes 1.{removed}");
            return Some(Violation::error(&rules::removed_api::RULE, path, at, message).help(help));
        }
        let message = match self.removed {
            Some(removed) => {
                format!("{version} {name} is deprecated; it will be removed in Kubernetes 1.{removed}")
            }
            None => format!("{version} {name} is deprecated"),
        };
        let violation = Violation::error(&rules::deprecated_api::RULE, path, at, message).help(help);
        is_since(self.deprecated).then(|| violation.severity(Severity::Warning))
    }
}

/// The Kubernetes deprecation guide. Each row has the version and kind (`*` for all kinds of the version), the minor
/// releases that deprecated and removed it, and the replacement.
const GUIDE: &str = "\
extensions/v1beta1 Deployment 9 16 apps/v1
extensions/v1beta1 DaemonSet 9 16 apps/v1
extensions/v1beta1 ReplicaSet 9 16 apps/v1
extensions/v1beta1 NetworkPolicy 9 16 networking.k8s.io/v1
extensions/v1beta1 PodSecurityPolicy 10 16 Pod Security admission
extensions/v1beta1 Ingress 14 22 networking.k8s.io/v1
apps/v1beta1 * 9 16 apps/v1
apps/v1beta2 * 9 16 apps/v1
admissionregistration.k8s.io/v1beta1 ValidatingWebhookConfiguration 16 22 admissionregistration.k8s.io/v1
admissionregistration.k8s.io/v1beta1 MutatingWebhookConfiguration 16 22 admissionregistration.k8s.io/v1
apiextensions.k8s.io/v1beta1 * 16 22 apiextensions.k8s.io/v1
apiregistration.k8s.io/v1beta1 * 19 22 apiregistration.k8s.io/v1
authentication.k8s.io/v1beta1 TokenReview 19 22 authentication.k8s.io/v1
authorization.k8s.io/v1beta1 * 19 22 authorization.k8s.io/v1
certificates.k8s.io/v1beta1 CertificateSigningRequest 19 22 certificates.k8s.io/v1
coordination.k8s.io/v1beta1 Lease 19 22 coordination.k8s.io/v1
networking.k8s.io/v1beta1 Ingress 19 22 networking.k8s.io/v1
networking.k8s.io/v1beta1 IngressClass 19 22 networking.k8s.io/v1
rbac.authorization.k8s.io/v1alpha1 * 17 22 rbac.authorization.k8s.io/v1
rbac.authorization.k8s.io/v1beta1 * 17 22 rbac.authorization.k8s.io/v1
scheduling.k8s.io/v1alpha1 PriorityClass 14 22 scheduling.k8s.io/v1
scheduling.k8s.io/v1beta1 PriorityClass 14 22 scheduling.k8s.io/v1
storage.k8s.io/v1beta1 CSIDriver 19 22 storage.k8s.io/v1
storage.k8s.io/v1beta1 CSINode 17 22 storage.k8s.io/v1
storage.k8s.io/v1beta1 StorageClass 19 22 storage.k8s.io/v1
storage.k8s.io/v1beta1 VolumeAttachment 19 22 storage.k8s.io/v1
storage.k8s.io/v1alpha1 VolumeAttachment 19 24 storage.k8s.io/v1
storage.k8s.io/v1alpha1 CSIStorageCapacity 21 24 storage.k8s.io/v1
storage.k8s.io/v1beta1 CSIStorageCapacity 24 27 storage.k8s.io/v1
batch/v1beta1 CronJob 21 25 batch/v1
batch/v2alpha1 CronJob 21 21 batch/v1
discovery.k8s.io/v1beta1 * 21 25 discovery.k8s.io/v1
events.k8s.io/v1beta1 * 22 25 events.k8s.io/v1
autoscaling/v2beta1 * 22 25 autoscaling/v2
autoscaling/v2beta2 * 23 26 autoscaling/v2
policy/v1beta1 PodDisruptionBudget 21 25 policy/v1
policy/v1beta1 PodSecurityPolicy 21 25 Pod Security admission
policy/v1beta1 Eviction 22 25 policy/v1
node.k8s.io/v1alpha1 * 20 24 node.k8s.io/v1
node.k8s.io/v1beta1 * 22 25 node.k8s.io/v1
flowcontrol.apiserver.k8s.io/v1alpha1 * 20 24 flowcontrol.apiserver.k8s.io/v1
flowcontrol.apiserver.k8s.io/v1beta1 * 23 26 flowcontrol.apiserver.k8s.io/v1
flowcontrol.apiserver.k8s.io/v1beta2 * 26 29 flowcontrol.apiserver.k8s.io/v1
flowcontrol.apiserver.k8s.io/v1beta3 * 29 32 flowcontrol.apiserver.k8s.io/v1
admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicy 28 33 admissionregistration.k8s.io/v1
admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicyBinding 28 33 admissionregistration.k8s.io/v1
admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy 30 34 admissionregistration.k8s.io/v1
admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicyBinding 30 34 admissionregistration.k8s.io/v1
authentication.k8s.io/v1alpha1 SelfSubjectReview 27 30 authentication.k8s.io/v1
authentication.k8s.io/v1beta1 SelfSubjectReview 28 31 authentication.k8s.io/v1
networking.k8s.io/v1alpha1 ClusterCIDR 28 29
networking.k8s.io/v1alpha1 IPAddress 31 34 networking.k8s.io/v1
networking.k8s.io/v1alpha1 ServiceCIDR 31 34 networking.k8s.io/v1
networking.k8s.io/v1beta1 IPAddress 33 36 networking.k8s.io/v1
networking.k8s.io/v1beta1 ServiceCIDR 33 36 networking.k8s.io/v1
resource.k8s.io/v1alpha1 * 27 27 resource.k8s.io/v1
resource.k8s.io/v1alpha2 * 31 31 resource.k8s.io/v1
storage.k8s.io/v1alpha1 VolumeAttributesClass 31 35 storage.k8s.io/v1
storage.k8s.io/v1beta1 VolumeAttributesClass 34 37 storage.k8s.io/v1
certificates.k8s.io/v1alpha1 ClusterTrustBundle 33 37 certificates.k8s.io/v1beta1
coordination.k8s.io/v1alpha1 * 32 32 coordination.k8s.io/v1beta1
v1 ComponentStatus 19 -
v1 Endpoints 33 - discovery.k8s.io/v1 EndpointSlice
settings.k8s.io/v1alpha1 * 19 20
";

static ENDS_OF_LIFE: LazyLock<Vec<EndOfLife>> =
    LazyLock::new(|| GUIDE.lines().filter_map(EndOfLife::parse).collect());

#[cfg(test)]
#[test]
fn each_line_of_the_guide_is_parsed() {
    assert_eq!(ENDS_OF_LIFE.len(), GUIDE.lines().count());
}
