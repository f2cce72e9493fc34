//! Fields of built-in kinds for which the schema demands more than a server: that they are there, or one of its words.

use smp_merge::schema::Cursor;

/// Whether a server takes an object of this type without the field.
pub(super) fn is_free(cursor: Cursor<'_>, field: &str) -> bool {
    is_listed(FREE, cursor, field)
}

/// Whether a server takes an empty text for a word that is not there; elsewhere it is none of the possible ones.
pub(super) fn is_empty_free(cursor: Cursor<'_>, field: &str) -> bool {
    is_listed(EMPTY_FREE, cursor, field)
}

/// Returns whether a list has the field of the type. It names types by their last parts, each with its fields.
fn is_listed(list: &str, cursor: Cursor<'_>, field: &str) -> bool {
    let name = cursor.type_name().unwrap_or_default();
    let is_end = |end| name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    list.split(';')
        .map(str::split_ascii_whitespace)
        .any(|mut words| words.next().is_some_and(is_end) && words.any(|listed| listed == field))
}

/// The type and the field, most of them with a default.
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

/// The type and the field. Go decodes what is not there as an empty list or text, or as 0, and nobody asks again.
const FREE: &str = "
    CSIDriver spec; CSINode spec; CSINodeSpec drivers; CustomResourceDefinitionVersion served;
    DeviceCapacity value; DeviceClass spec; ForZone name; HTTPHeader value;
    ISCSIPersistentVolumeSource lun; ISCSIVolumeSource lun; LimitRangeSpec limits;
    PodFailurePolicy rules; PreferredSchedulingTerm preference; ResourceClaim spec;
    ResourceClaimTemplate spec; ResourcePool generation; ScaleIOPersistentVolumeSource secretRef;
    ScaleIOVolumeSource secretRef; SleepAction seconds; Sysctl value; TokenRequest audience
";
