//! Fields of built-in kinds that are required, or have an enumeration, in the schema but not in the API server.

use smp_merge::schema::Cursor;

/// Returns true if the API server accepts an object of this type without the field.
pub(super) fn is_optional(cursor: Cursor<'_>, field: &str) -> bool {
    is_listed(FREE, cursor, field)
}

/// Returns true if the API server accepts an empty string in an enumeration instead of an absent value.
pub(super) fn accepts_empty_string(cursor: Cursor<'_>, field: &str) -> bool {
    is_listed(EMPTY_FREE, cursor, field)
}

/// Returns true if a list contains the field of the type. The list names types by their last components, each
/// followed by its fields.
fn is_listed(list: &str, cursor: Cursor<'_>, field: &str) -> bool {
    let name = cursor.type_name().unwrap_or_default();
    let is_end = |end| name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    list.split(';')
        .map(str::split_ascii_whitespace)
        .any(|mut words| words.next().is_some_and(is_end) && words.any(|listed| listed == field))
}

/// The types and fields, most of them with a default.
const EMPTY_FREE: &str = "
    Container imagePullPolicy terminationMessagePolicy; ContainerPort protocol;
    CronJobSpec concurrencyPolicy; DaemonSetUpdateStrategy type; DeploymentStrategy type;
    DeviceSubRequest allocationMode; DeviceToleration effect operator;
    EphemeralContainer imagePullPolicy terminationMessagePolicy; ExactDeviceRequest allocationMode;
    HTTPGetAction scheme; HostPathVolumeSource type; ImageVolumeSource pullPolicy;
    Lifecycle stopSignal; PersistentVolumeSpec persistentVolumeReclaimPolicy;
    PodSpec dnsPolicy restartPolicy; ServicePort protocol;
    ServiceSpec externalTrafficPolicy sessionAffinity type; StatefulSetSpec podManagementPolicy;
    StatefulSetUpdateStrategy type; StorageClass reclaimPolicy; Toleration effect operator;
    core.v1.EndpointPort protocol
";

/// The types and fields. Go decodes an absent value as an empty list, an empty string or 0, which no code
/// validates.
const FREE: &str = "
    CSIDriver spec; CSINode spec; CSINodeSpec drivers; CustomResourceDefinitionVersion served;
    DeviceCapacity value; DeviceClass spec; ForZone name; HTTPHeader value;
    ISCSIPersistentVolumeSource lun; ISCSIVolumeSource lun; LimitRangeSpec limits;
    PodFailurePolicy rules; PreferredSchedulingTerm preference; ResourceClaim spec;
    ResourceClaimTemplate spec; ResourcePool generation; ScaleIOPersistentVolumeSource secretRef;
    ScaleIOVolumeSource secretRef; SleepAction seconds; Sysctl value; TokenRequest audience
";
