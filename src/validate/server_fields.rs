//! Keys that an expression of a policy may miss in a manifest although a server has them: defaults of built-in kinds, what
//! a server writes itself, and what only a request knows.

use crate::schema::{Gvk, is_built_in_group};

/// Whether a server may have a key that an object of a kind lacks.
pub(super) fn may_be_filled_in(gvk: &Gvk, key: &str) -> bool {
    let is_pod = gvk.kind == "Pod" && gvk.group.is_empty();
    let has_labels = matches!(gvk.kind.as_str(), "Namespace" | "ReplicationController");
    ALWAYS.contains(&key)
        || (key == "labels" && has_labels && is_built_in_group(&gvk.group))
        || (is_built_in_group(&gvk.group) && DEFAULTS.contains(&key))
        || (is_pod && POD.contains(&key))
}

/// Fields of requests, and metadata that a server sets when it creates an object.
const ALWAYS: [&str; 8] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "options",
    "resourceVersion",
    "status",
    "uid",
    "userInfo",
];

/// Fields that admission plugins set in pods.
const POD: [&str; 10] = [
    "enableServiceLinks",
    "imagePullSecrets",
    "nodeName",
    "preemptionPolicy",
    "priority",
    "serviceAccount",
    "serviceAccountName",
    "tolerations",
    "volumeMounts",
    "volumes",
];

/// Fields of built-in kinds that have defaults.
const DEFAULTS: [&str; 73] = [
    "allocateLoadBalancerNodePorts",
    "apiGroup",
    "attachRequired",
    "backoffLimit",
    "clusterIP",
    "clusterIPs",
    "completionMode",
    "completions",
    "concurrencyPolicy",
    "defaultMode",
    "divisor",
    "dnsPolicy",
    "effect",
    "enableServiceLinks",
    "externalTrafficPolicy",
    "failedJobsHistoryLimit",
    "failurePolicy",
    "failureThreshold",
    "hostPort",
    "imagePullPolicy",
    "internalTrafficPolicy",
    "ipFamilies",
    "ipFamilyPolicy",
    "manualSelector",
    "matchPolicy",
    "maxSurge",
    "maxUnavailable",
    "minReplicas",
    "mode",
    "namespace",
    "namespaceSelector",
    "nodeAffinityPolicy",
    "objectSelector",
    "operator",
    "parallelism",
    "partition",
    "periodSeconds",
    "persistentVolumeClaimRetentionPolicy",
    "podManagementPolicy",
    "podReplacementPolicy",
    "policyTypes",
    "preemptionPolicy",
    "progressDeadlineSeconds",
    "protocol",
    "reclaimPolicy",
    "replicas",
    "requests",
    "resources",
    "restartPolicy",
    "revisionHistoryLimit",
    "rollingUpdate",
    "schedulerName",
    "scheme",
    "scope",
    "seLinuxMount",
    "securityContext",
    "selector",
    "sessionAffinity",
    "sessionAffinityConfig",
    "sideEffects",
    "strategy",
    "successThreshold",
    "successfulJobsHistoryLimit",
    "suspend",
    "targetPort",
    "terminationGracePeriodSeconds",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "timeoutSeconds",
    "type",
    "updateStrategy",
    "volumeBindingMode",
    "volumeMode",
];

#[cfg(test)]
mod tests {
    use super::{ALWAYS, DEFAULTS, POD};

    #[test]
    fn fields_are_sorted() {
        assert!(DEFAULTS.is_sorted() && ALWAYS.is_sorted() && POD.is_sorted());
    }
}
