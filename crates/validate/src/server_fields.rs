//! Fields that may be absent from a manifest although the API server has them when it evaluates a policy: defaults of
//! built-in kinds, fields that the API server sets, and fields of the request.

use smp_merge::schema::{Gvk, is_built_in_group};

/// Returns true if the API server may set a field that the manifest lacks.
pub(super) fn may_be_filled_in(gvk: &Gvk, key: &str) -> bool {
    let is_pod = gvk.kind == "Pod" && gvk.group.is_empty();
    let kind_has = || OF_KIND.iter().filter(|(kind, _)| *kind == gvk.kind).any(|(_, keys)| has(keys, key));
    has(ALWAYS, key)
        || (is_built_in_group(&gvk.group) && (has(DEFAULTS, key) || kind_has()))
        || (is_pod && has(POD, key))
}

fn has(keys: &str, key: &str) -> bool {
    keys.split_ascii_whitespace().any(|known| known == key)
}

/// Fields that only some built-in kinds get: defaults, and fields that admission plugins and registry strategies set.
const OF_KIND: &[(&str, &str)] = &[
    ("CertificateSigningRequest", "extra groups uid username"),
    ("EndpointSlice", "name"),
    (
        "HorizontalPodAutoscaler",
        "metrics policies scaleDown scaleUp selectPolicy stabilizationWindowSeconds targetCPUUtilizationPercentage",
    ),
    ("Ingress", "ingressClassName spec"),
    (
        "Job",
        "batch.kubernetes.io/controller-uid batch.kubernetes.io/job-name controller-uid job-name labels matchLabels",
    ),
    ("Lease", "spec"),
    ("Namespace", "finalizers kubernetes.io/metadata.name labels spec"),
    ("NetworkPolicy", "spec"),
    ("Node", "labels spec taints"),
    ("PersistentVolume", "finalizers"),
    ("PersistentVolumeClaim", "finalizers storageClassName"),
    ("PodDisruptionBudget", "spec"),
    ("ReplicationController", "labels"),
    ("ResourceQuota", "spec"),
];

/// Fields of requests, and metadata that the server sets on creation.
const ALWAYS: &str = "
    creationTimestamp generation managedFields namespace options resourceVersion status uid userInfo
";

/// Fields that admission plugins set in Pods.
const POD: &str = "
    cpu enableServiceLinks ephemeral-storage imagePullSecrets limits memory nodeName nodeSelector
    overhead preemptionPolicy priority priorityClassName serviceAccount serviceAccountName
    tolerations volumeMounts volumes
";

/// Fields of built-in kinds with defaults.
const DEFAULTS: &str = "
    allocateLoadBalancerNodePorts allocationMode apiGroup apiVersion attachRequired backoffLimit
    cachingMode clientIP clusterIP clusterIPs completionMode completions concurrencyPolicy
    conversion count default defaultMode defaultRequest divisor dnsPolicy effect emptyDir
    enableServiceLinks expirationSeconds externalTrafficPolicy failedJobsHistoryLimit failurePolicy
    failureThreshold fsGroupPolicy fsType handSize healthCheckNodePort hostPort imagePullPolicy
    internalTrafficPolicy ipFamilies ipFamilyPolicy iscsiInterface keyring kind lendablePercent
    limitResponse listKind manualSelector matchPolicy matchingPrecedence maxSurge maxUnavailable
    metadata minReplicas mode namespaceSelector nodeAffinityPolicy nodePort nominalConcurrencyShares
    objectSelector onPodConditions operator parallelism partition path periodSeconds
    persistentVolumeClaimRetentionPolicy persistentVolumeReclaimPolicy podInfoOnMount
    podManagementPolicy podReplacementPolicy podSelector policyTypes pool port preemptionPolicy
    progressDeadlineSeconds protocol queueLengthLimit queues readOnly reclaimPolicy
    reinvocationPolicy replicas requests requiresRepublish resources restartPolicy
    revisionHistoryLimit rollingUpdate rules schedulerName scheme scope seLinuxMount securityContext
    selector service serviceAccount sessionAffinity sessionAffinityConfig sideEffects singular
    storageCapacity storageMode strategy successThreshold successfulJobsHistoryLimit suspend
    targetPort terminationGracePeriodSeconds terminationMessagePath terminationMessagePolicy
    timeoutSeconds type updateStrategy user volumeBindingMode volumeLifecycleModes volumeMode
    whenDeleted whenScaled
";

#[cfg(test)]
mod tests {
    use super::{ALWAYS, DEFAULTS, OF_KIND, POD, may_be_filled_in};
    use smp_merge::schema::Gvk;

    #[test]
    fn keys_are_sorted() {
        let is_sorted = |keys: &str| keys.split_ascii_whitespace().is_sorted();
        assert!([DEFAULTS, ALWAYS, POD].into_iter().all(is_sorted));
        assert!(OF_KIND.is_sorted() && OF_KIND.iter().all(|(_, keys)| is_sorted(keys)));
    }

    #[test]
    fn fields_that_a_server_sets_may_be_missing() {
        let is_filled = |api_version: &str, kind: &str, key: &str| {
            may_be_filled_in(&Gvk::from_manifest(api_version, kind), key)
        };
        for (api_version, kind, keys) in [
            ("v1", "Pod", "path scheme service apiVersion expirationSeconds emptyDir imagePullSecrets"),
            ("v1", "Pod", "priorityClassName priority preemptionPolicy serviceAccountName serviceAccount"),
            ("v1", "Pod", "tolerations volumes volumeMounts limits overhead"),
            ("v1", "PersistentVolumeClaim", "storageClassName volumeMode finalizers"),
            ("networking.k8s.io/v1", "Ingress", "ingressClassName"),
            ("batch/v1", "Job", "labels metadata selector matchLabels"),
            ("v1", "Namespace", "finalizers spec labels"),
            ("autoscaling/v2", "HorizontalPodAutoscaler", "metrics"),
            ("apps/v1", "StatefulSet", "apiVersion kind status volumeMode whenDeleted"),
            ("v1", "Service", "nodePort clusterIP clusterIPs ipFamilies ipFamilyPolicy sessionAffinity"),
            ("v1", "Service", "internalTrafficPolicy"),
            ("example.com/v1", "Widget", "uid creationTimestamp generation managedFields resourceVersion"),
            ("example.com/v1", "Widget", "namespace"),
        ] {
            for key in keys.split(' ') {
                assert!(is_filled(api_version, kind, key), "{kind} {key}");
            }
        }
        for (api_version, kind, key) in [
            ("example.com/v1", "Widget", "replicas"),
            ("example.com/v1", "Ingress", "ingressClassName"),
            ("apps/v1", "Deployment", "labels"),
            ("apps/v1", "Deployment", "serviceAccountName"),
            ("v1", "Pod", "labels"),
        ] {
            assert!(!is_filled(api_version, kind, key), "{kind} {key}");
        }
    }
}
