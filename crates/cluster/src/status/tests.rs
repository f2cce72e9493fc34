//! The test cases of kstatus, and those in which this program differs.

use std::time::{Duration, SystemTime};

use super::{MissingStatus, ObjectStatus, Readiness, object_status};
use smp_merge::schema::Gvk;
use smp_text::yaml::Node;

use Readiness::{Current, Failed, InProgress, Terminating, Unknown};

fn status_of(text: &str, without: MissingStatus) -> ObjectStatus {
    let object: Node = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let field = |name| object.get(name).and_then(Node::as_str).unwrap_or_default();
    let gvk = Gvk::from_manifest(field("apiVersion"), field("kind"));
    // Two minutes after the creation of the objects in the tests.
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_120);
    object_status(&gvk, &object, without, now)
}

/// A kind, its other fields, and the expected readiness and reason.
type Case = (&'static str, &'static str, Readiness, &'static str);

fn check(cases: &[Case]) {
    for (kind, rest, readiness, reason) in cases {
        let (version, kind) = kind.rsplit_once(' ').expect("a version and a kind");
        let text = format!("{{apiVersion: {version}, kind: {kind}, {rest}}}");
        let status = status_of(&text, MissingStatus::Current);
        assert_eq!((status.readiness, status.reason.as_str()), (*readiness, *reason), "{text}: {status:?}");
    }
}

const G1: &str = "metadata: {generation: 1}";

const OF_ANY_KIND: &[Case] = &[
    ("v1 ConfigMap", "metadata: {deletionTimestamp: '2023-11-14T22:13:20Z'}", Terminating, "Terminating"),
    ("v1 ConfigMap", G1, Current, ""),
    ("v1 Secret", G1, Current, ""),
    ("batch/v1 CronJob", "metadata: {generation: 1}, status: null", Current, ""),
    ("x.io/v1 Mine", G1, Current, ""),
    (
        "x.io/v1 Mine",
        "metadata: {generation: 2}, status: {observedGeneration: 1}",
        InProgress,
        "LatestGenerationNotObserved",
    ),
    (
        "x.io/v1 Mine",
        "metadata: {generation: 2}, status: {observedGeneration: '1'}",
        InProgress,
        "LatestGenerationNotObserved",
    ),
    ("x.io/v1 Mine", "metadata: {generation: 2}, status: {observedGeneration: '2'}", Current, ""),
    (
        "x.io/v1 Mine",
        "metadata: {generation: 2}, status: {observedGeneration: soon}",
        Unknown,
        "NotUnderstood",
    ),
    ("x.io/v1 Mine", "status: {conditions: {Ready: true}}", Unknown, "NotUnderstood"),
    ("x.io/v1 Mine", "status: {conditions: [{type: Ready, status: 'True', reason: AllOk}]}", Current, ""),
    (
        "x.io/v1 Mine",
        "status: {conditions: [{type: Ready, status: 'False', reason: NotYet}]}",
        InProgress,
        "NotYet",
    ),
    (
        "x.io/v1 Mine",
        "status: {conditions: [{type: Ready, status: Unknown, reason: Who}]}",
        InProgress,
        "Who",
    ),
    ("x.io/v1 Mine", "status: {conditions: [{type: Other, status: 'False'}]}", Current, ""),
    ("x.io/v1 Mine", "status: {conditions: [{type: Stalled, status: 'True', reason: Bad}]}", Failed, "Bad"),
    (
        "x.io/v1 Mine",
        "status: {conditions: [{type: Reconciling, status: 'True', reason: Going}, {type: Ready, status: 'True'}]}",
        InProgress,
        "Going",
    ),
    ("v1 Namespace", "status: {phase: Active}", Current, ""),
    (
        "policy/v1beta1 PodDisruptionBudget",
        "metadata: {generation: 2}, status: {observedGeneration: 1}",
        InProgress,
        "LatestGenerationNotObserved",
    ),
    (
        "policy/v1 PodDisruptionBudget",
        "metadata: {generation: 1}, status: {observedGeneration: 1}",
        Current,
        "",
    ),
];

#[test]
fn rules_for_all_kinds() {
    check(OF_ANY_KIND);
}

const PODS_AND_JOBS: &[Case] = &[
    ("v1 Pod", G1, InProgress, "PodNotObserved"),
    ("v1 Pod", "status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}", Current, ""),
    (
        "v1 Pod",
        "status: {phase: Running, conditions: [{type: Ready, status: 'False'}]}",
        InProgress,
        "PodRunningNotReady",
    ),
    (
        "v1 Pod",
        "status: {phase: Running, containerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff}}}]}",
        Failed,
        "ContainerCrashLooping",
    ),
    (
        "v1 Pod",
        "status: {phase: Succeeded, conditions: [{type: Ready, status: 'False', reason: PodCompleted}]}",
        Current,
        "",
    ),
    ("v1 Pod", "status: {phase: Failed}", Current, ""),
    ("v1 Pod", "status: {phase: Pending}", InProgress, "PodPending"),
    ("v1 Pod", "status: {phase: Other}", Unknown, "NotUnderstood"),
    ("batch/v1 Job", G1, InProgress, "JobNotStarted"),
    ("batch/v1 Job", "status: {succeeded: 1, conditions: [{type: Complete, status: 'True'}]}", Current, ""),
    (
        "batch/v1 Job",
        "spec: {completions: 4}, status: {failed: 1, conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]}",
        Failed,
        "JobFailed",
    ),
    (
        "batch/v1 Job",
        "status: {startTime: '2023-11-14T22:13:20Z', active: 2, conditions: [{type: Failed, status: 'False'}]}",
        Current,
        "",
    ),
    (
        "batch/v1 Job",
        "spec: {suspend: true}, status: {conditions: [{type: Suspended, status: 'True'}]}",
        Current,
        "",
    ),
    (
        "batch/v1 Job",
        "spec: {suspend: false}, status: {conditions: [{type: Suspended, status: 'True'}]}",
        InProgress,
        "JobNotStarted",
    ),
];

#[test]
fn job_with_failure_target_has_failed() {
    let job = |conditions: &str| {
        let rest =
            format!("status: {{startTime: '2023-11-14T22:13:20Z', active: 2, conditions: [{conditions}]}}");
        status_of(&format!("{{apiVersion: batch/v1, kind: Job, {rest}}}"), MissingStatus::Current)
    };
    let target = "{type: FailureTarget, status: 'True', reason: PodFailurePolicy, message: exit code 3}";
    let status = job(target);
    let result = (status.readiness, status.reason.as_str(), status.message.as_str());
    assert_eq!(
        result,
        (Failed, "FailureTarget", "fails once its Pods have terminated: PodFailurePolicy exit code 3")
    );
    assert_eq!(job(&format!("{target}, {{type: Failed, status: 'True'}}")).reason, "JobFailed");
    assert_eq!(job("{type: FailureTarget, status: 'False'}").readiness, Current);
    assert_eq!(job("{type: SuccessCriteriaMet, status: 'True'}").readiness, Current);
}

#[test]
fn status_of_a_paused_deployment_mentions_it() {
    let deployment = |spec: &str, status: &str| {
        let text =
            format!("{{apiVersion: apps/v1, kind: Deployment, spec: {{{spec}}}, status: {{{status}}}}}");
        let status = status_of(&text, MissingStatus::Current);
        (status.readiness, status.reason, status.message)
    };
    let rolling = "replicas: 2, updatedReplicas: 1, availableReplicas: 2, readyReplicas: 2";
    let (readiness, reason, message) = deployment("replicas: 2, paused: true", rolling);
    assert_eq!((readiness, reason.as_str()), (InProgress, "LessUpdated"));
    let paused = "paused; the rollout continues once it is resumed: ";
    assert_eq!(message, format!("{paused}1 of 2 replicas are updated"));
    assert_eq!(deployment("replicas: 2, paused: false", rolling).2, "1 of 2 replicas are updated");
    let whole = "replicas: 1, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1, conditions: [\
                 {type: Available, status: 'True'}, {type: Progressing, status: Unknown, reason: DeploymentPaused}]";
    let held = deployment("progressDeadlineSeconds: 600, paused: true", whole);
    assert!(held.0 == InProgress && held.2.starts_with(paused), "{held:?}");
    assert_eq!(deployment("paused: true", whole).0, Current);
}

#[test]
fn rules_for_pods_and_jobs() {
    let unschedulable = "conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]";
    let new = format!(
        "metadata: {{creationTimestamp: '2023-11-14T22:15:10Z'}}, status: {{phase: Pending, {unschedulable}}}"
    );
    let old = format!(
        "metadata: {{creationTimestamp: '2023-11-14T22:15:04Z'}}, status: {{phase: Pending, {unschedulable}}}"
    );
    for (rest, readiness, reason) in [(new, InProgress, "PodNotScheduled"), (old, Failed, "PodUnschedulable")]
    {
        let status = status_of(&format!("{{apiVersion: v1, kind: Pod, {rest}}}"), MissingStatus::Current);
        assert_eq!((status.readiness, status.reason.as_str()), (readiness, reason), "{rest}");
    }
    check(PODS_AND_JOBS);
}

const WORKLOADS: &[Case] = &[
    ("apps/v1 Deployment", G1, InProgress, "LessReplicas"),
    (
        "apps/v1 Deployment",
        "status: {updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, replicas: 1, conditions: [{type: Progressing, status: 'True', reason: NewReplicaSetAvailable}, {type: Available, status: 'True'}]}",
        Current,
        "",
    ),
    (
        "apps/v1 Deployment",
        "spec: {progressDeadlineSeconds: 45}, status: {updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, replicas: 1, conditions: [{type: Progressing, status: 'False', reason: Other}, {type: Available, status: 'True'}]}",
        InProgress,
        "ReplicaSetNotAvailable",
    ),
    (
        "apps/v1 Deployment",
        "status: {updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, replicas: 1, conditions: [{type: Available, status: 'True'}]}",
        Current,
        "",
    ),
    (
        "apps/v1 Deployment",
        "status: {updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, replicas: 1, conditions: [{type: Available, status: 'False'}]}",
        InProgress,
        "DeploymentNotAvailable",
    ),
    (
        "apps/v1 Deployment",
        "spec: {replicas: 2}, status: {updatedReplicas: 1, replicas: 2}",
        InProgress,
        "LessUpdated",
    ),
    ("apps/v1 Deployment", "status: {updatedReplicas: 1, replicas: 2}", InProgress, "ExtraPods"),
    ("apps/v1 Deployment", "status: {updatedReplicas: 1, replicas: 1}", InProgress, "LessAvailable"),
    (
        "apps/v1 Deployment",
        "status: {updatedReplicas: 1, replicas: 1, availableReplicas: 1}",
        InProgress,
        "LessReady",
    ),
    (
        "extensions/v1beta1 Deployment",
        "status: {conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}",
        Failed,
        "ProgressDeadlineExceeded",
    ),
    ("apps/v1 ReplicaSet", G1, InProgress, "LessLabelled"),
    (
        "apps/v1 ReplicaSet",
        "spec: {replicas: 2}, status: {replicas: 2, readyReplicas: 2, availableReplicas: 2, fullyLabeledReplicas: 2, conditions: [{type: ReplicaFailure, status: 'False'}]}",
        Current,
        "",
    ),
    (
        "apps/v1 ReplicaSet",
        "spec: {replicas: 4}, status: {replicas: 4, readyReplicas: 2, availableReplicas: 4, fullyLabeledReplicas: 4}",
        InProgress,
        "LessReady",
    ),
    (
        "apps/v1 ReplicaSet",
        "spec: {replicas: 4}, status: {replicas: 4, readyReplicas: 4, availableReplicas: 2, fullyLabeledReplicas: 4}",
        InProgress,
        "LessAvailable",
    ),
    (
        "apps/v1 ReplicaSet",
        "spec: {replicas: 4}, status: {replicas: 4, conditions: [{type: ReplicaFailure, status: 'True'}]}",
        InProgress,
        "ReplicaFailure",
    ),
    ("apps/v1 StatefulSet", G1, InProgress, "LessReplicas"),
    ("apps/v1 StatefulSet", "status: {currentReplicas: 1}", InProgress, "LessReplicas"),
    (
        "apps/v1 StatefulSet",
        "spec: {replicas: 4}, status: {currentReplicas: 4, readyReplicas: 4, replicas: 4}",
        Current,
        "",
    ),
    (
        "apps/v1 StatefulSet",
        "spec: {replicas: 4}, status: {currentReplicas: 4, readyReplicas: 2, replicas: 4}",
        InProgress,
        "LessReady",
    ),
    (
        "apps/v1 StatefulSet",
        "spec: {replicas: 4}, status: {currentReplicas: 2, readyReplicas: 4, replicas: 4}",
        InProgress,
        "LessCurrent",
    ),
    (
        "apps/v1 StatefulSet",
        "spec: {replicas: 4}, status: {currentReplicas: 4, readyReplicas: 4, replicas: 8}",
        InProgress,
        "ExtraPods",
    ),
    ("apps/v1 StatefulSet", "spec: {updateStrategy: {type: OnDelete}}", Current, ""),
    (
        "apps/v1 StatefulSet",
        "spec: {updateStrategy: {rollingUpdate: {partition: 0}}}, status: {readyReplicas: 1, replicas: 1}",
        InProgress,
        "PartitionRollout",
    ),
    (
        "apps/v1 StatefulSet",
        "status: {readyReplicas: 1, replicas: 1, currentReplicas: 1, currentRevision: a, updateRevision: b}",
        InProgress,
        "RevisionMismatch",
    ),
    ("apps/v1 DaemonSet", G1, InProgress, "NoObservedGeneration"),
    ("apps/v1 DaemonSet", "status: {}", InProgress, "NoGeneration"),
    (
        "apps/v1 DaemonSet",
        "metadata: {generation: 1}, status: {observedGeneration: 1}",
        InProgress,
        "NoDesiredNumber",
    ),
    (
        "apps/v1 DaemonSet",
        "metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 4, currentNumberScheduled: 4, updatedNumberScheduled: 4, numberAvailable: 4, numberReady: 4}",
        Current,
        "",
    ),
    (
        "apps/v1 DaemonSet",
        "metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 4, currentNumberScheduled: 4, updatedNumberScheduled: 4, numberAvailable: 4, numberReady: 2}",
        InProgress,
        "LessReady",
    ),
    (
        "apps/v1 DaemonSet",
        "metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 4, currentNumberScheduled: 4, updatedNumberScheduled: 4, numberAvailable: 2, numberReady: 4}",
        InProgress,
        "LessAvailable",
    ),
    (
        "apps/v1 DaemonSet",
        "metadata: {generation: 2}, status: {observedGeneration: 1}",
        InProgress,
        "LatestGenerationNotObserved",
    ),
];

#[test]
fn rules_for_workloads() {
    check(WORKLOADS);
}

const OTHERS: &[Case] = &[
    ("v1 PersistentVolumeClaim", G1, InProgress, "NotBound"),
    ("v1 PersistentVolumeClaim", "status: {phase: Bound}", Current, ""),
    ("v1 Service", G1, Current, ""),
    ("v1 Service", "spec: {type: NodePort}", Current, ""),
    ("v1 Service", "spec: {type: LoadBalancer, clusterIP: 1.2.3.4}", Current, ""),
    ("v1 Service", "spec: {type: LoadBalancer}", InProgress, "NoIPAssigned"),
    ("apiextensions.k8s.io/v1 CustomResourceDefinition", G1, InProgress, "Installing"),
    (
        "apiextensions.k8s.io/v1 CustomResourceDefinition",
        "status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'False', reason: Installing}]}",
        InProgress,
        "Installing",
    ),
    (
        "apiextensions.k8s.io/v1 CustomResourceDefinition",
        "status: {conditions: [{type: Established, status: 'False', reason: Broken}]}",
        Failed,
        "Broken",
    ),
    (
        "apiextensions.k8s.io/v1 CustomResourceDefinition",
        "status: {conditions: [{type: NamesAccepted, status: 'False', reason: Taken}]}",
        Failed,
        "Taken",
    ),
    (
        "apiextensions.k8s.io/v1 CustomResourceDefinition",
        "status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]}",
        Current,
        "",
    ),
];

#[test]
fn rules_for_other_built_in_kinds() {
    check(OTHERS);
}

#[test]
fn custom_resource_waits_for_its_controller_if_required() {
    let strictly = |rest: &str| {
        let status =
            status_of(&format!("{{apiVersion: x.io/v1, kind: Mine, {rest}}}"), MissingStatus::Unknown);
        (status.readiness, status.reason)
    };
    let unseen = (Unknown, "ControllerNotSeen".to_string());
    for rest in [G1, "status: {}", "status: {conditions: [], url: null}"] {
        assert_eq!(strictly(rest), unseen, "{rest}");
    }
    let ready = |observed: &str| {
        format!(
            "metadata: {{generation: 2}}, status: {{conditions: [{{type: Ready, status: 'True', observedGeneration: {observed}}}]}}"
        )
    };
    for observed in ["1", "'1'", "' 1 '"] {
        assert_eq!(strictly(&ready(observed)), unseen, "{observed}");
    }
    for observed in ["2", "'2'", "null"] {
        assert_eq!(strictly(&ready(observed)).0, Current, "{observed}");
    }
    assert_eq!(strictly("status: {phase: Active}").0, Current);
    let built_in = status_of("{apiVersion: v1, kind: ConfigMap}", MissingStatus::Unknown);
    assert_eq!(built_in.readiness, Current);
}

#[test]
fn null_conditions_are_ignored() {
    let stalled = "status: {conditions: [null, {type: Stalled, status: 'True', reason: Broken}]}";
    let status =
        status_of(&format!("{{apiVersion: x.io/v1, kind: Mine, {stalled}}}"), MissingStatus::Current);
    assert_eq!((status.readiness, status.reason.as_str()), (Failed, "Broken"));
    let alone =
        status_of("{apiVersion: x.io/v1, kind: Mine, status: {conditions: [null]}}", MissingStatus::Current);
    assert_eq!(alone.readiness, Current);
}

#[test]
fn ready_annotation_is_an_additional_requirement() {
    let claim = |phase: &str, rule: &str| {
        let annotation = format!("metadata: {{annotations: {{smp.kubectl.dev/ready: '{rule}'}}}}");
        let text = format!(
            "{{apiVersion: v1, kind: PersistentVolumeClaim, {annotation}, status: {{phase: {phase}, ok: 1}}}}"
        );
        status_of(&text, MissingStatus::Current)
    };
    assert_eq!(claim("Bound", "{.status.ok}=1").readiness, Current);
    let status = claim("Bound", "{.status.ok}=2");
    assert_eq!((status.readiness, status.message.as_str()), (InProgress, "{.status.ok} is 1, must be 2"));
    assert_eq!(claim("Lost", "{.status.ok}=1").reason, "NotBound", "the rules of the kind still count");
    assert_eq!(claim("Bound", "soon").readiness, Unknown);
}
