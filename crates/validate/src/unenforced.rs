//! Fields of built-in kinds for which the schema demands more than a server: that they are there, or one of its words.

use smp_merge::schema::Cursor;

/// Whether a server takes an object of this type without the field.
pub(super) fn is_free(cursor: Cursor<'_>, field: &str) -> bool {
    is_listed(&FREE, cursor, field)
}

/// Whether a server takes an empty text for a word that is not there; elsewhere it is none of the possible ones.
pub(super) fn is_empty_free(cursor: Cursor<'_>, field: &str) -> bool {
    is_listed(&EMPTY_FREE, cursor, field)
}

/// Whether a list has the field of the type. It has the end of the type's name.
fn is_listed(list: &[(&str, &str)], cursor: Cursor<'_>, field: &str) -> bool {
    let name = cursor.type_name().unwrap_or_default();
    let is_end = |end| name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    list.iter().any(|(end, listed)| *listed == field && is_end(*end))
}

/// The type and the field, most of them with a default.
const EMPTY_FREE: [(&str, &str); 29] = [
    ("Container", "imagePullPolicy"),
    ("Container", "terminationMessagePolicy"),
    ("ContainerPort", "protocol"),
    ("CronJobSpec", "concurrencyPolicy"),
    ("DaemonSetUpdateStrategy", "type"),
    ("DeploymentStrategy", "type"),
    ("DeviceSubRequest", "allocationMode"),
    ("DeviceToleration", "effect"),
    ("DeviceToleration", "operator"),
    ("EphemeralContainer", "imagePullPolicy"),
    ("EphemeralContainer", "terminationMessagePolicy"),
    ("ExactDeviceRequest", "allocationMode"),
    ("HTTPGetAction", "scheme"),
    ("HostPathVolumeSource", "type"),
    ("ImageVolumeSource", "pullPolicy"),
    ("Lifecycle", "stopSignal"),
    ("PersistentVolumeSpec", "persistentVolumeReclaimPolicy"),
    ("PodSpec", "dnsPolicy"),
    ("PodSpec", "restartPolicy"),
    ("ServicePort", "protocol"),
    ("ServiceSpec", "externalTrafficPolicy"),
    ("ServiceSpec", "sessionAffinity"),
    ("ServiceSpec", "type"),
    ("StatefulSetSpec", "podManagementPolicy"),
    ("StatefulSetUpdateStrategy", "type"),
    ("StorageClass", "reclaimPolicy"),
    ("Toleration", "effect"),
    ("Toleration", "operator"),
    ("core.v1.EndpointPort", "protocol"),
];

/// The type and the field. Go decodes what is not there as an empty list or text, or as 0, and nobody asks again.
const FREE: [(&str, &str); 21] = [
    ("CSIDriver", "spec"),
    ("CSINode", "spec"),
    ("CSINodeSpec", "drivers"),
    ("CustomResourceDefinitionVersion", "served"),
    ("DeviceCapacity", "value"),
    ("DeviceClass", "spec"),
    ("ForZone", "name"),
    ("HTTPHeader", "value"),
    ("ISCSIPersistentVolumeSource", "lun"),
    ("ISCSIVolumeSource", "lun"),
    ("LimitRangeSpec", "limits"),
    ("PodFailurePolicy", "rules"),
    ("PreferredSchedulingTerm", "preference"),
    ("ResourceClaim", "spec"),
    ("ResourceClaimTemplate", "spec"),
    ("ResourcePool", "generation"),
    ("ScaleIOPersistentVolumeSource", "secretRef"),
    ("ScaleIOVolumeSource", "secretRef"),
    ("SleepAction", "seconds"),
    ("Sysctl", "value"),
    ("TokenRequest", "audience"),
];
