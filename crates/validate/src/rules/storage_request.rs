use super::prelude::*;
use crate::quantity::Quantity;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "storage-request",
        meaning: "A claim requests no storage, or a volume has no capacity.",
        remedy: "Set `resources.requests.storage` of the claim, or `capacity.storage` of the volume, to more than 0.",
    },
    why: "Claims are bound to volumes by size.",
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

fn claim(of: Subject<'_>, faults: &mut Faults) {
    let requests = of.get("resources").and_then(|resources| resources.get("requests"));
    let storage = requests.and_then(|requests| requests.get("storage"));
    let path = [Field("resources"), Field("requests"), Field("storage")];
    let at = storage.unwrap_or(of.node).span();
    if storage.is_none_or(Node::is_null) {
        faults.below(&path, at, "a claim must say how much storage it requests");
    } else if !is_positive(storage) {
        faults.below(&path, at, "a claim must request more than 0");
    }
}

fn is_positive(value: Option<&Node>) -> bool {
    value.and_then(Quantity::of).is_none_or(Quantity::is_positive)
}

fn volume(of: Subject<'_>, faults: &mut Faults) {
    if of.kind() != "PersistentVolume" {
        return;
    }
    let capacity = of.get("capacity").and_then(Node::as_map);
    if capacity.is_none_or(|capacity| capacity.len() != 1 || !capacity.contains_key("storage")) {
        faults.field(of, "capacity", "the capacity of a volume is its `storage`");
    } else if !is_positive(capacity.and_then(|capacity| capacity.get("storage"))) {
        faults.field(of, "capacity", "the capacity of a volume must be more than 0");
    }
}
