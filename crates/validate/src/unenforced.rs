//! Fields of built-in kinds that the schema requires or limits to an enumeration, but the API server does not.

use std::sync::LazyLock;

use smp_merge::schema::Cursor;

/// Returns true if the API server accepts an object of this type without the field.
pub(super) fn is_optional(cursor: Cursor<'_>, field: &str) -> bool {
    is_listed(&FREE_FIELDS, cursor, field)
}

/// Returns true if the API server accepts an empty string in a field with an enumeration, as if the field were absent.
pub(super) fn accepts_empty_string(cursor: Cursor<'_>, field: &str) -> bool {
    is_listed(&EMPTY_FREE_FIELDS, cursor, field)
}

/// Fields, each with the last component of its type's name.
type Fields = LazyLock<Vec<(&'static str, &'static str)>>;

static EMPTY_FREE_FIELDS: Fields = LazyLock::new(|| fields(EMPTY_FREE));
static FREE_FIELDS: Fields = LazyLock::new(|| fields(FREE));

/// Parses a list of fields. Each line names a type by its last component, followed by fields.
fn fields(list: &'static str) -> Vec<(&'static str, &'static str)> {
    let fields_of_type = |part: &'static str| {
        let mut words = part.split_ascii_whitespace();
        let end = words.next().unwrap_or_default();
        words.map(move |field| (field, end))
    };
    list.split(';').flat_map(fields_of_type).collect()
}

fn is_listed(list: &[(&str, &str)], cursor: Cursor<'_>, field: &str) -> bool {
    let is_of_type = |end| {
        let name = cursor.type_name().unwrap_or_default();
        name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    list.iter().any(|(listed, end)| *listed == field && is_of_type(*end))
}

/// The types and their fields that accept an empty string. Most of the fields have a default.
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

/// The types and their fields that may be absent. Go decodes an absent value as an empty list, an empty string or 0,
/// which the API server's code does not validate.
const FREE: &str = "
    CSIDriver spec; CSINode spec; CSINodeSpec drivers; CustomResourceDefinitionVersion served;
    DeviceCapacity value; DeviceClass spec; ForZone name; HTTPHeader value;
    ISCSIPersistentVolumeSource lun; ISCSIVolumeSource lun; LimitRangeSpec limits;
    PodFailurePolicy rules; PreferredSchedulingTerm preference; ResourceClaim spec;
    ResourceClaimTemplate spec; ResourcePool generation; ScaleIOPersistentVolumeSource secretRef;
    ScaleIOVolumeSource secretRef; SleepAction seconds; Sysctl value; TokenRequest audience
";
