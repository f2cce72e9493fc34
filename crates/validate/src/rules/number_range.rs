use super::prelude::*;
use smp_text::yaml::Resolved;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "number-range",
        meaning: "A number is outside of the range of its field.",
        remedy: "Use a number within the range that the message names.",
    },
    why: "Counts and durations must not be negative, and file modes, \
          weights, timeouts and user IDs have narrower limits. A file mode without a leading zero, such as \
          `644`, is a frequent mistake. The API server accepts a negative `terminationGracePeriodSeconds`, but treats it as 1, \
          so that is a warning.",
    documentation: "https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#lifecycle",
    example: pod!("activeDeadlineSeconds: -30"),
    fix: ("-30", "30"),
    checks: &[
    (
        "ControllerRevision revision;
        CronJobSpec startingDeadlineSeconds successfulJobsHistoryLimit failedJobsHistoryLimit;
        DaemonSetSpec minReadySeconds;
        DeploymentSpec replicas minReadySeconds revisionHistoryLimit progressDeadlineSeconds;
        JobSpec parallelism completions activeDeadlineSeconds backoffLimit backoffLimitPerIndex maxFailedIndexes
            ttlSecondsAfterFinished;
        LeaseSpec leaseTransitions; PodDisruptionBudgetSpec minAvailable maxUnavailable;
        Probe initialDelaySeconds periodSeconds timeoutSeconds successThreshold failureThreshold;
        ReplicaSetSpec replicas minReadySeconds; ReplicationControllerSpec replicas;
        RollingUpdateDaemonSet maxSurge maxUnavailable; RollingUpdateDeployment maxSurge maxUnavailable;
        RollingUpdateStatefulSetStrategy partition; StatefulSetOrdinals start;
        StatefulSetSpec replicas minReadySeconds; VolumeNodeResources count",
        Check::IntRange(0, i64::MAX),
    ),
    (
        "HPAScalingPolicy value;
        HorizontalPodAutoscalerSpec minReplicas maxReplicas targetCPUUtilizationPercentage;
        LeaseSpec leaseDurationSeconds; MetricTarget averageUtilization; Probe terminationGracePeriodSeconds;
        TopologySpreadConstraint maxSkew minDomains",
        Check::IntRange(1, i64::MAX),
    ),
    (
        "ConfigMapVolumeSource defaultMode; DownwardAPIVolumeFile mode; DownwardAPIVolumeSource defaultMode;
        KeyToPath mode; ProjectedVolumeSource defaultMode; SecretVolumeSource defaultMode",
        Check::IntRange(0, 0o777),
    ),
    (
        "PodSecurityContext runAsUser runAsGroup fsGroup; SecurityContext runAsUser runAsGroup",
        Check::IntRange(0, 2_147_483_647),
    ),
    ("APIServiceSpec groupPriorityMinimum", Check::IntRange(1, 20_000)),
    ("APIServiceSpec versionPriority", Check::IntRange(1, 1000)),
    ("CertificateSigningRequestSpec expirationSeconds", Check::IntRange(600, i64::MAX)),
    ("ClientIPConfig timeoutSeconds", Check::IntRange(1, 86_400)),
    ("FlowSchemaSpec matchingPrecedence", Check::IntRange(1, 10_000)),
    ("HPAScalingPolicy periodSeconds", Check::IntRange(1, 1800)),
    ("HPAScalingRules stabilizationWindowSeconds", Check::IntRange(0, 3600)),
    ("MutatingWebhook timeoutSeconds; ValidatingWebhook timeoutSeconds", Check::IntRange(1, 30)),
    ("PodSpec activeDeadlineSeconds", Check::IntRange(1, 2_147_483_647)),
    ("PreferredSchedulingTerm weight; WeightedPodAffinityTerm weight", Check::IntRange(1, 100)),
    ("PriorityClass value", Check::IntRange(-2_147_483_648, 1_000_000_000)),
    ("ServiceAccountTokenProjection expirationSeconds", Check::IntRange(600, 1 << 32)),
    (
        "PodDisruptionBudgetSpec minAvailable maxUnavailable; RollingUpdateDaemonSet maxSurge maxUnavailable;
        RollingUpdateDeployment maxSurge maxUnavailable",
        Check::AnyString((is_percentage, "a number or a percentage such as `25%`")),
    ),
    ("Container", Check::Type(successes)),
    ("PodSpec", Check::Type(grace_period)),
    ],
    ..ValidationRule::DEFAULT
};

fn is_percentage(text: &str) -> bool {
    let digits = text.strip_suffix('%').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Warns about a negative grace period.
fn grace_period(subject: Subject<'_>, violations: &mut RuleViolations) {
    let field = "terminationGracePeriodSeconds";
    if subject.int(field).is_some_and(|seconds| seconds < 0) {
        violations.report_field(subject, field, "is negative, and is treated as 1");
        violations.only_warn();
    }
}

/// Checks that only readiness probes require more than one success.
fn successes(subject: Subject<'_>, violations: &mut RuleViolations) {
    for field in ["livenessProbe", "startupProbe"] {
        let threshold = subject.get(field).and_then(|probe| probe.get("successThreshold"));
        if matches!(threshold.and_then(Node::resolve), Some(Resolved::Int(count)) if count > 1) {
            let path = [Field(field), Field("successThreshold")];
            violations.report_path(subject, &path, "must be 1 for liveness and startup probes");
        }
    }
}
