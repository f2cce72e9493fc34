//! Columns of volumes, claims and storage drivers, and of devices.

use serde_json::Value;

use super::column::{
    AGE, Cell, Column, Kinds, NAME, UNSET, boolean, entries, integer, joined, or_none, phase, string,
    text_column, texts,
};
use crate::metadata::meta;
use crate::state::text;

pub(super) const KINDS: Kinds = &[
    ("CSIDriver", DRIVER),
    ("CSINode", NODE),
    ("DeviceClass", &[NAME, AGE]),
    ("PersistentVolume", VOLUME),
    ("PersistentVolumeClaim", CLAIM),
    ("ResourceClaim", DEVICE_CLAIM),
    ("ResourceClaimTemplate", &[NAME, AGE]),
    ("ResourceSlice", SLICE),
    ("StorageClass", CLASS),
    ("VolumeAttachment", ATTACHMENT),
    ("VolumeAttributesClass", ATTRIBUTES),
];

const VOLUME: &[Column] = &[
    NAME,
    text_column("Capacity", Cell::Text("/spec/capacity/storage", "0")),
    text_column("Access Modes", Cell::Show(|volume| modes(volume, "/spec/accessModes"))),
    text_column("Reclaim Policy", Cell::Text("/spec/persistentVolumeReclaimPolicy", "")),
    text_column("Status", Cell::Show(phase)),
    text_column("Claim", Cell::Show(claim)),
    text_column("StorageClass", Cell::Show(class)),
    text_column("VolumeAttributesClass", Cell::Text("/spec/volumeAttributesClassName", UNSET)),
    text_column("Reason", Cell::Text("/status/reason", "")),
    AGE,
    text_column("VolumeMode", Cell::Text("/spec/volumeMode", UNSET)).wide(),
];

const CLAIM: &[Column] = &[
    NAME,
    text_column("Status", Cell::Show(phase)),
    text_column("Volume", Cell::Text("/spec/volumeName", "")),
    text_column("Capacity", Cell::Show(|claim| bound(claim, capacity))),
    text_column(
        "Access Modes",
        Cell::Show(|claim| bound(claim, |claim| modes(claim, "/status/accessModes"))),
    ),
    text_column("StorageClass", Cell::Show(class)),
    text_column("VolumeAttributesClass", Cell::Text("/spec/volumeAttributesClassName", UNSET)),
    AGE,
    text_column("VolumeMode", Cell::Text("/spec/volumeMode", UNSET)).wide(),
];

const CLASS: &[Column] = &[
    text_column("Name", Cell::Show(class_name)).naming(),
    text_column("Provisioner", Cell::Text("/provisioner", "")),
    text_column("ReclaimPolicy", Cell::Text("/reclaimPolicy", "Delete")),
    text_column("VolumeBindingMode", Cell::Text("/volumeBindingMode", "Immediate")),
    text_column("AllowVolumeExpansion", Cell::Flag("/allowVolumeExpansion", false)),
    AGE,
];

const ATTRIBUTES: &[Column] = &[NAME, text_column("DriverName", Cell::Text("/driverName", "")), AGE];

const ATTACHMENT: &[Column] = &[
    NAME,
    text_column("Attacher", Cell::Text("/spec/attacher", "")).naming(),
    text_column("PV", Cell::Text("/spec/source/persistentVolumeName", "")),
    text_column("Node", Cell::Text("/spec/nodeName", "")),
    boolean("Attached", Cell::Flag("/status/attached", false)),
    AGE,
];

const NODE: &[Column] = &[NAME, integer("Drivers", Cell::Size("/spec/drivers")), AGE];

const DRIVER: &[Column] = &[
    NAME,
    boolean("AttachRequired", Cell::Flag("/spec/attachRequired", true)),
    boolean("PodInfoOnMount", Cell::Flag("/spec/podInfoOnMount", false)),
    boolean("StorageCapacity", Cell::Flag("/spec/storageCapacity", false)),
    text_column("TokenRequests", Cell::Show(audiences)),
    boolean("RequiresRepublish", Cell::Flag("/spec/requiresRepublish", false)),
    text_column(
        "Modes",
        Cell::Show(|driver| or_none(joined(texts(driver, "/spec/volumeLifecycleModes"), ","))),
    ),
    AGE,
];

const DEVICE_CLAIM: &[Column] = &[NAME, text_column("State", Cell::Show(device_state)), AGE];

const SLICE: &[Column] = &[
    NAME,
    text_column("Node", Cell::Text("/spec/nodeName", "")),
    text_column("Driver", Cell::Text("/spec/driver", "")),
    text_column("Pool", Cell::Text("/spec/pool/name", "")),
    AGE,
];

/// The access modes and their short names, in the order in which they are shown.
const MODES: [(&str, &str); 4] = [
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
];

fn modes(object: &Value, at: &str) -> String {
    let has = |mode: &str| texts(object, at).any(|one| one == mode);
    joined(MODES.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| short), ",")
}

/// Returns a cell of a bound claim, or an empty cell if the claim is not bound.
fn bound(claim: &Value, show: fn(&Value) -> String) -> String {
    if text(claim, "/spec/volumeName").is_empty() { String::new() } else { show(claim) }
}

fn capacity(claim: &Value) -> String {
    claim["status"]["capacity"]["storage"].as_str().unwrap_or("0").into()
}

/// Returns the claim of a volume.
fn claim(volume: &Value) -> String {
    let claim = &volume["spec"]["claimRef"];
    if claim.is_null() {
        return String::new();
    }
    format!("{}/{}", string(claim, "namespace"), string(claim, "name"))
}

/// Returns the storage class of a volume or claim: from the old annotation, or from the spec.
fn class(object: &Value) -> String {
    let old = &object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    old.as_str().unwrap_or_else(|| text(object, "/spec/storageClassName")).into()
}

fn class_name(class: &Value) -> String {
    let name = meta(class, "name");
    let is_set = |prefix: &str| {
        class["metadata"]["annotations"][format!("{prefix}.kubernetes.io/is-default-class")] == "true"
    };
    let is_default = is_set("storageclass") || is_set("storageclass.beta");
    if is_default { format!("{name} (default)") } else { name.into() }
}

fn audiences(driver: &Value) -> String {
    if driver["spec"]["tokenRequests"].is_null() {
        return UNSET.into();
    }
    joined(entries(driver, "/spec/tokenRequests").map(|request| string(request, "audience")), ",")
}

fn device_state(claim: &Value) -> String {
    let is_deleted = !claim["metadata"]["deletionTimestamp"].is_null();
    let is_allocated = !claim["status"]["allocation"].is_null();
    let is_reserved = is_allocated && entries(claim, "/status/reservedFor").next().is_some();
    let states = [
        ("deleted", is_deleted),
        ("pending", !is_allocated && !is_deleted),
        ("allocated", is_allocated),
        ("reserved", is_reserved),
    ];
    joined(states.into_iter().filter(|(_, is_so)| *is_so).map(|(state, _)| state), ",")
}
