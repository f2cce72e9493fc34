use super::prelude::*;
use crate::quantity::Quantity;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "storage-request",
        meaning: "A PersistentVolumeClaim requests no storage, or a PersistentVolume has no capacity.",
        remedy: "Set `resources.requests.storage` of the claim or `capacity.storage` of the volume to a positive size.",
    },
    why: "Claims are bound to volumes by size, so a claim without one is never created and its Pods stay in \
          `Pending`.",
    documentation: "https://kubernetes.io/docs/concepts/storage/persistent-volumes/#persistentvolumeclaims",
    example: "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
",
    fix: ("ReadWriteOnce]\n", "ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n"),
    may_be_partial: true,
    checks: &[
        ("PersistentVolumeClaimSpec", Check::Type(claim)),
        ("PersistentVolumeSpec", Check::Type(volume)),
    ],
    ..ValidationRule::DEFAULT
};

fn claim(subject: Subject<'_>, violations: &mut RuleViolations) {
    let requests = subject.get("resources").and_then(|resources| resources.get("requests"));
    let storage = requests.and_then(|requests| requests.get("storage"));
    let path = [Field("resources"), Field("requests"), Field("storage")];
    let at = storage.unwrap_or(subject.node).span();
    if storage.is_none_or(Node::is_null) {
        violations.report_at(&path, at, "a storage request is required");
    } else if !is_positive(storage) {
        violations.report_at(&path, at, "must be greater than 0");
    }
}

fn is_positive(value: Option<&Node>) -> bool {
    value.and_then(Quantity::from_node).is_none_or(Quantity::is_positive)
}

fn volume(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.kind() != "PersistentVolume" {
        return;
    }
    let capacity = subject.get("capacity").and_then(Node::as_map);
    if capacity.is_none_or(|capacity| capacity.len() != 1 || !capacity.contains_key("storage")) {
        violations.report_field(subject, "capacity", "must contain `storage` and nothing else");
    } else if !is_positive(capacity.and_then(|capacity| capacity.get("storage"))) {
        violations.report_field(subject, "capacity", "must be greater than 0");
    }
}
