//! Waiting until objects are ready. The server has no controllers: the tests write the statuses.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::proxy::{Answer, Proxy};
use super::rig::{Ran, Rig, config_maps, eventually};
use super::{DEPLOYMENT, GADGET, documents, install_crd};

/// A Deployment with a deadline whose replicas are all available.
const AVAILABLE: &str = r#"{"status": {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2,
    "readyReplicas": 2, "availableReplicas": 2, "conditions": [{"type": "Available", "status": "True"},
    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]}}"#;

fn write_status(rig: &Rig, object: &str, status: &str) {
    rig.kubectl(&["-n", &rig.name, "patch", object, "--subresource=status", "--type=merge", "-p", status]);
}

/// A running program, and its stderr lines so far.
struct Running {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Running {
    fn start(rig: &Rig, args: &[&str]) -> Self {
        let mut command = rig.interruptible(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
        let said = Arc::new(Mutex::new(String::new()));
        let (stderr, lines) = (child.stderr.take().expect("a pipe"), Arc::clone(&said));
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                *lines.lock().expect("no panic") += &(line + "\n");
            }
        });
        Self { child, said }
    }

    fn stderr(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    #[track_caller]
    fn wait_for_stderr(&self, text: &str) {
        eventually(text, || self.stderr().contains(text));
    }

    fn end(self) -> Ran {
        let output = self.child.wait_with_output().expect("an end");
        std::thread::sleep(Duration::from_millis(100));
        let stderr = self.said.lock().expect("no panic").clone();
        Ran { stderr, ..Ran::new(output) }
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn apply_waits_until_all_objects_are_ready() {
    let rig = Rig::new();
    rig.create_namespace();
    let claim = "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: NAME}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";
    rig.file("all.yaml", &documents(&[DEPLOYMENT, claim, &config_maps(2)]));
    let apply = Running::start(&rig, &["apply", "-f", "all.yaml", "--wait", "--timeout=60s"]);
    apply.wait_for_stderr(&format!(
        "deployment.apps/web in {} is InProgress (LessReplicas): 0 of 2 replicas",
        rig.name
    ));
    apply.wait_for_stderr("is InProgress (NotBound)");
    write_status(&rig, "deployment/web", AVAILABLE);
    apply.wait_for_stderr("deployment.apps/web in");
    apply.wait_for_stderr("is Current: all 2 replicas are available");
    assert!(!apply.stderr().contains("objects are ready"), "the claim is not: {}", apply.stderr());
    write_status(&rig, "pvc/data", r#"{"status": {"phase": "Bound"}}"#);
    let ran = apply.end().ended(0);
    assert!(ran.stderr.contains("note: 4 objects are ready"), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 4, "what was applied: {ran:?}");

    // Readiness of an older generation does not count.
    rig.file("all.yaml", &documents(&[&DEPLOYMENT.replace("web:1", "web:2"), claim]));
    let ran = rig.smp(&["apply", "-f", "all.yaml", "--wait", "--timeout=1s"]).ended(1);
    for part in [
        "LatestGenerationNotObserved",
        "1 of 2 objects are not ready after 1s",
        "error[not-ready]",
        "the Deployment was created ",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    rig.smp(&["apply", "-f", "all.yaml", "--wait=pvc", "--timeout=20s"]).ended(0);
    let ran = rig
        .smp(&["apply", "-f", "all.yaml", "--wait=PersistentVolumeClaim,statefulsets", "--timeout=20s"])
        .ended(0);
    assert!(ran.stderr.contains("of the kind `statefulsets`"), "{}", ran.stderr);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn invalid_wait_flags_are_rejected() {
    let rig = Rig::new();
    rig.file("map.yaml", &config_maps(1));
    for args in [
        &["apply", "-f", "map.yaml", "--wait", "--dry-run=server"][..],
        &["apply", "-f", "map.yaml", "--wait", "--dry-run"],
        &["apply", "-f", "map.yaml", "--timeout=3s"],
        &["apply", "-f", "map.yaml", "--strict-wait"],
        &["delete", "-f", "map.yaml", "--wait=false", "--timeout=3s"],
    ] {
        rig.smp(args).ended(2);
    }
    let rule = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: m, namespace: NAME, annotations: {smp.kubectl.dev/ready: soon}}
";
    rig.file("rule.yaml", rule);
    let ran = rig.smp(&["wait", "-f", "rule.yaml"]).ended(1);
    assert!(
        ran.stderr.contains("invalid annotation") && ran.stderr.contains("rule.yaml:3:"),
        "{}",
        ran.stderr
    );
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn definite_failure_ends_the_wait_early() {
    let rig = Rig::new();
    rig.create_namespace();
    let job = "\
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: NAME}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
";
    rig.file("all.yaml", &documents(&[DEPLOYMENT, job]));
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let start = Instant::now();
    let wait = Running::start(&rig, &["wait", "-f", "all.yaml", "--timeout=5m"]);
    wait.wait_for_stderr("LessReplicas");
    // Server messages cannot contain terminal escape sequences.
    let late = r#"{"status": {"observedGeneration": 1, "conditions": [{"type": "Progressing", "status": "False",
        "reason": "ProgressDeadlineExceeded", "message": "it is \u001b[31mlate"}]}}"#;
    write_status(&rig, "deployment/web", late);
    let ran = wait.end().ended(1);
    assert!(start.elapsed() < Duration::from_secs(60), "{ran:?}");
    assert!(ran.stderr.contains("failed: Failed (ProgressDeadlineExceeded): it is \\x1b[31mlate"), "{ran:?}");
    assert!(ran.stderr.contains("2 of 2 objects are not ready because of failed objects"), "{ran:?}");
    assert!(!ran.stderr.contains('\x1b'), "{ran:?}");

    let failed = r#"{"status": {"startTime": "2026-01-01T00:00:00Z", "failed": 1, "conditions": [
        {"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}"#;
    write_status(&rig, "job/once", failed);
    let ran = rig.smp(&["wait", "-f", "all.yaml", "--kinds=job", "--timeout=5m"]).ended(1);
    assert!(ran.stderr.contains("job.batch/once") && ran.stderr.contains("BackoffLimitExceeded"), "{ran:?}");
}

/// A ReplicaSet of the Deployment, a Pod of it, and an event about the Pod.
fn dependents(rig: &Rig, revision: &str, waiting: &str) {
    let uid = |object: &str| rig.live(object, "{.metadata.uid}");
    let owned = |kind: &str, name: &str, uid: &str| {
        format!(
            "ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: {name}, uid: {uid}, controller: true}}]"
        )
    };
    let template = "selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: a}]}}";
    let owner = owned("Deployment", "web", &uid("deployment/web"));
    rig.file(
        "set.yaml",
        &format!(
            "\
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{name: web-{revision}, namespace: NAME, annotations: {{deployment.kubernetes.io/revision: '{revision}'}}, {owner}}}
spec: {{{template}}}
"
        ),
    );
    rig.kubectl(&["create", "-f", "set.yaml"]);
    let owner = owned("ReplicaSet", &format!("web-{revision}"), &uid(&format!("replicaset/web-{revision}")));
    rig.file(
        "pod.yaml",
        &format!(
            "\
apiVersion: v1
kind: Pod
metadata: {{name: web-{revision}-x, namespace: NAME, labels: {{app: web}}, {owner}}}
spec: {{containers: [{{name: web, image: a}}]}}
"
        ),
    );
    rig.kubectl(&["create", "-f", "pod.yaml"]);
    let status = format!(
        r#"{{"status": {{"phase": "Pending", "containerStatuses": [{{"name": "web", "image": "a", "imageID": "", "ready": false,
            "restartCount": 3, "state": {{"waiting": {{"reason": "{waiting}", "message": "no such image"}}}}}}]}}}}"#
    );
    write_status(rig, &format!("pod/web-{revision}-x"), &status);
    let pod = uid(&format!("pod/web-{revision}-x"));
    rig.file(
        "event.yaml",
        &format!(
            "\
apiVersion: v1
kind: Event
metadata: {{name: web-{revision}, namespace: NAME}}
involvedObject: {{kind: Pod, name: web-{revision}-x, namespace: NAME, uid: {pod}}}
type: Warning
reason: Failed
message: 'event of revision {revision}'
lastTimestamp: '2026-01-01T00:00:00Z'
"
        ),
    );
    rig.kubectl(&["create", "-f", "event.yaml"]);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn failing_pods_of_the_new_revision_are_reported_early() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    let revision = |number: &str| {
        let patch = format!(
            r#"{{"metadata": {{"annotations": {{"deployment.kubernetes.io/revision": "{number}"}}}}}}"#
        );
        rig.kubectl(&["-n", &rig.name, "patch", "deployment/web", "--type=merge", "-p", &patch]);
    };
    dependents(&rig, "1", "ImagePullBackOff");
    // Failing Pods of an old revision do not matter.
    revision("2");
    let ran = rig.smp(&["wait", "-f", "web.yaml", "--failure-grace-period=0", "--timeout=3s"]).ended(1);
    assert!(ran.stderr.contains("not ready after 3s") && !ran.stderr.contains("ImagePullBackOff"), "{ran:?}");

    revision("1");
    let ran = rig.smp(&["wait", "-f", "web.yaml", "--failure-grace-period=2s", "--timeout=5m"]).ended(1);
    for part in [
        "failed",
        "Pod web-1-x, container web: ImagePullBackOff: no such image",
        "help: check the name and tag of the image",
        "3 restarts of containers",
        "Failed: event of revision 1",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert_last_lines_have_the_reason(&rig);
    // Within the grace period the Pod may recover.
    let ran = rig.smp(&["wait", "-f", "web.yaml", "--failure-grace-period=1m", "--timeout=3s"]).ended(1);
    assert!(ran.stderr.contains("is not ready: InProgress"), "{ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn crashing_containers_are_explained_with_their_log() {
    let rig = Rig::new();
    rig.create_namespace();
    let secret = "\
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: NAME}
stringData: {password: hunter-of-ducks}
";
    rig.file("web.yaml", &documents(&[DEPLOYMENT, secret]));
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    dependents(&rig, "1", "CrashLoopBackOff");
    let revision = r#"{"metadata": {"annotations": {"deployment.kubernetes.io/revision": "1"}}}"#;
    rig.kubectl(&["-n", &rig.name, "patch", "deployment/web", "--type=merge", "-p", revision]);
    let status = r#"{"status": {"phase": "Running", "containerStatuses": [{"name": "web", "image": "a", "imageID": "",
        "ready": false, "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 7, "reason": "Error", "message": "no database"}}}]}}"#;
    write_status(&rig, "pod/web-1-x", status);
    let proxy = Proxy::start(&rig, |request| {
        if request.contains("/pods/web-1-x/log?") {
            let log = "starting\nlogin with hunter-of-ducks failed\n";
            return Answer::Instead("200 OK", &["Content-Type: text/plain"], log);
        }
        Answer::Real
    });
    let wait = |more: &[&str]| {
        let args = ["wait", "-f", "web.yaml", "--failure-grace-period=0", "--server"];
        rig.smp(&[&args[..], &[&proxy.url()], more].concat()).ended(1)
    };
    let ran = wait(&[]);
    for part in [
        "note: Pod web-1-x, container web: CrashLoopBackOff; it exited with code 7 (Error): no database",
        "note: log of web-1-x: starting",
        "note: log of web-1-x: login with *** failed",
        "help: the container ends soon after its start",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let json = wait(&["-o", "json"]);
    let lines: Vec<serde_json::Value> =
        json.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let problem = &lines[lines.len() - 2]["podProblems"][0];
    assert_eq!(problem["exit"]["code"], 7);
    assert_eq!(problem["log"], serde_json::json!(["starting", "login with *** failed"]));
    let asked = proxy.take();
    let logs: Vec<_> = asked.iter().filter(|request| request.contains("/log?")).collect();
    assert_eq!(logs.len(), 2, "{logs:?}");
    assert!(logs[0].contains("previous=true") && logs[0].contains("container=web"), "{logs:?}");
    assert!(
        !asked.iter().any(|request| request.contains("/secrets/")),
        "Secrets are not read for logs: {asked:?}"
    );
    let silent =
        Proxy::start(&rig, |request| if request.contains("/log?") { Answer::Silence } else { Answer::Real });
    let since = Instant::now();
    let args = ["wait", "-f", "web.yaml", "--failure-grace-period=0", "--server", &silent.url()];
    let ran = rig.smp(&args).ended(1);
    assert!(ran.stderr.contains("exited with code 7") && !ran.stderr.contains("log of"), "{ran:?}");
    assert!(since.elapsed() < Duration::from_secs(15), "{:?}", since.elapsed());
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn timeout_applies_to_a_silent_server() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    for (silent, reason) in [("GET /api", "timed out while reading"), ("/deployments", "is not ready")] {
        let proxy = Proxy::start(
            &rig,
            move |request| {
                if request.contains(silent) { Answer::Silence } else { Answer::Real }
            },
        );
        let since = Instant::now();
        let ran = rig.smp(&["wait", "-f", "web.yaml", "--timeout=2s", "--server", &proxy.url()]).ended(1);
        assert!(ran.stderr.contains(reason), "{silent}: {ran:?}");
        assert!(since.elapsed() < Duration::from_secs(8), "{silent}: {:?}", since.elapsed());
    }
}

/// Checks the last `wait -o json` line of a Deployment whose Pod cannot pull its image.
fn assert_last_lines_have_the_reason(rig: &Rig) {
    let lines = |more: &[&str]| -> Vec<serde_json::Value> {
        let ran = rig.smp(&[&["wait", "-f", "web.yaml", "-o", "json"], more].concat()).ended(1);
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    };
    for (more, end, counts) in [
        (&["--failure-grace-period=0", "--timeout=5m"][..], "Failed", (1, 0)),
        (&["--failure-grace-period=1m", "--timeout=3s"], "TimedOut", (0, 1)),
    ] {
        let lines = lines(more);
        let [first, .., object, whole] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(first["status"] == "InProgress" && first.get("outcome").is_none(), "as before: {first}");
        assert_eq!(
            (&object["kind"], &object["name"], &object["outcome"]),
            (&"Deployment".into(), &"web".into(), &end.into())
        );
        let problem = &object["podProblems"][0];
        assert_eq!((&problem["pod"], &problem["container"]), (&"web-1-x".into(), &"web".into()));
        assert_eq!(
            (&problem["reason"], &problem["exit"]),
            (&"ImagePullBackOff".into(), &serde_json::Value::Null)
        );
        let warning = serde_json::json!({
            "reason": "Failed", "message": "event of revision 1", "time": "2026-01-01T00:00:00Z",
        });
        assert_eq!((&object["restarts"], &object["lastWarningEvent"]), (&3.into(), &warning));
        let seconds = if end == "Failed" { 300 } else { 3 };
        let (failed, unready) = counts;
        let want = serde_json::json!({
            "outcome": end, "timeoutSeconds": seconds, "ready": 0, "failed": failed, "notReady": unready,
        });
        assert_eq!(whole, &want);
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn waiting_for_many_objects_sends_two_requests_per_kind_and_namespace() {
    let rig = Rig::new();
    rig.create_namespace();
    let job = |i: usize| {
        format!(
            "\
apiVersion: batch/v1
kind: Job
metadata: {{name: j{i}, namespace: NAME}}
spec: {{suspend: true, template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: a}}]}}}}}}
---
"
        )
    };
    let jobs: String = (0..150).map(job).collect();
    rig.file("all.yaml", &documents(&[&jobs, &config_maps(150)]));
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let witness = Proxy::witness(&rig);
    let url = witness.url();
    let wait = Running::start(&rig, &["wait", "-f", "all.yaml", "--server", &url, "--timeout=2m"]);
    eventually("the first look", || wait.stderr().matches("JobNotStarted").count() == 150);
    let mut asked = Vec::new();
    for i in 0..150 {
        if i == 140 {
            asked = witness.take();
        }
        let status = r#"{"status": {"conditions": [{"type": "Suspended", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}"#;
        write_status(&rig, &format!("job/j{i}"), status);
    }
    let ran = wait.end().ended(0);
    assert!(ran.stderr.contains("300 objects are ready"), "{}", ran.stderr);
    asked.extend(witness.take());
    for kind in ["configmaps", "jobs", "pods", "events"] {
        let of_kind: Vec<_> =
            asked.iter().filter(|line| line.contains(&format!("/{}/{kind}", rig.name))).collect();
        let lists = of_kind.iter().filter(|line| !line.contains("watch=true")).count();
        assert!(lists <= 1, "{of_kind:?}");
        // A watch lasts 50 seconds.
        let watches = of_kind.iter().filter(|line| line.contains("watch=true")).count();
        assert!((0..4).contains(&watches), "{of_kind:?}");
    }
    assert!(asked.iter().any(|line| line.contains("/jobs?watch=true")), "{asked:?}");
    assert!(!asked.iter().any(|line| line.contains("/jobs/j")), "none is asked for by itself: {asked:?}");
}

const GONE: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old","reason":"Expired","code":410}"#;
const ERROR: &str = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410}}\n";
const HALF: &str = "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Deploy";

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn broken_watch_is_resumed() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    let ways: [Answer; 7] = [
        Answer::Instead("410 Gone", &["Content-Type: application/json"], GONE),
        Answer::Instead("200 OK", &["Content-Type: application/json"], ERROR),
        Answer::Instead("200 OK", &["Content-Type: application/json"], HALF),
        Answer::Instead("200 OK", &["Content-Type: application/json"], ""),
        Answer::Instead("503 Service Unavailable", &[], ""),
        Answer::Closed,
        // A half-open connection: the server's timeout for the watch passes first.
        Answer::Silence,
    ];
    let count = AtomicUsize::new(0);
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let proxy = Proxy::start(&rig, move |request| {
        if !request.contains("/deployments?watch=true") {
            return Answer::Real;
        }
        let way = ways.get(count.fetch_add(1, Ordering::SeqCst)).copied();
        way.unwrap_or_else(|| {
            over.store(true, Ordering::SeqCst);
            Answer::Real
        })
    });
    let url = proxy.url();
    let args = ["wait", "-f", "web.yaml", "--server", &url, "--request-timeout=2s", "--timeout=2m"];
    let wait = Running::start(&rig, &args);
    eventually("a watch that works", || is_over.load(Ordering::SeqCst));
    write_status(&rig, "deployment/web", AVAILABLE);
    wait.end().ended(0);
    let lists = proxy.take().iter().filter(|what| what.contains("/deployments?field")).count();
    assert!((2..8).contains(&lists), "{lists} lists");
}

/// The CRD with a status subresource that accepts any fields.
fn crd_with_status() -> String {
    super::CRD
        .replace(
            "    storage: true\n",
            r"    storage: true
    subresources: {status: {}}
",
        )
        .replace(
            "          spec:\n",
            r"          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
",
        )
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn strict_wait_requires_a_controller_status() {
    let rig = Rig::new();
    install_crd(&rig);
    rig.create_namespace();
    rig.file("gadget.yaml", GADGET);
    rig.smp(&["apply", "-f", "gadget.yaml", "--wait", "--timeout=30s"]).ended(0);
    // Its CRD has no status, so no controller can write one.
    rig.smp(&["wait", "-f", "gadget.yaml", "--strict-wait", "--timeout=30s"]).ended(0);
    rig.file("crd.yaml", &crd_with_status());
    rig.smp(&["apply", "-f", "crd.yaml", "--wait", "--timeout=30s"]).ended(0);
    rig.smp(&["wait", "-f", "gadget.yaml", "--timeout=0"]).ended(0);
    let ran = rig.smp(&["wait", "-f", "gadget.yaml", "--strict-wait", "--timeout=0"]).ended(1);
    assert!(ran.stderr.contains("Unknown (ControllerNotSeen)"), "{ran:?}");
    let object = format!("gadgets.{}.example.com/g", rig.name);
    eventually("the status is served", || {
        let patch = r#"{"status": {"observedGeneration": "1", "conditions": [{"type": "Ready", "status": "False", "reason": "Soon"}]}}"#;
        rig.try_kubectl(&[
            "-n",
            &rig.name,
            "patch",
            &object,
            "--subresource=status",
            "--type=merge",
            "-p",
            patch,
        ])
        .status
            == 0
    });
    let wait =
        Running::start(&rig, &["wait", "-f", "gadget.yaml", "--strict-wait", "-o", "json", "--timeout=60s"]);
    std::thread::sleep(Duration::from_millis(1500));
    write_status(&rig, &object, r#"{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}"#);
    let ran = wait.end().ended(0);
    let lines: Vec<serde_json::Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let [changes @ .., whole] = lines.as_slice() else { panic!("{ran:?}") };
    let statuses: Vec<_> =
        changes.iter().map(|line| (line["status"].as_str(), line["reason"].as_str())).collect();
    assert_eq!(statuses, [(Some("InProgress"), Some("Soon")), (Some("Current"), Some(""))], "{ran:?}");
    let want = serde_json::json!({
        "outcome": "Ready", "timeoutSeconds": 60, "ready": 1, "failed": 0, "notReady": 0,
    });
    assert_eq!(whole, &want);
    assert_eq!((lines[0]["kind"].as_str(), lines[0]["name"].as_str()), (Some("Gadget"), Some("g")));
    assert_eq!(lines[0]["namespace"], rig.name.as_str());
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn missing_object_is_awaited_and_its_own_readiness_rule_is_used() {
    let rig = Rig::new();
    rig.create_namespace();
    let map = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: m, namespace: NAME, annotations: {smp.kubectl.dev/ready: '{.data.phase}=done'}}
";
    rig.file("map.yaml", map);
    let wait = Running::start(&rig, &["wait", "-f", "map.yaml", "--timeout=60s"]);
    wait.wait_for_stderr("is NotFound");
    rig.smp(&["apply", "-f", "map.yaml"]).ended(0);
    wait.wait_for_stderr("{.data.phase} is not set, must be done");
    rig.kubectl(&[
        "-n",
        &rig.name,
        "patch",
        "configmap/m",
        "--type=merge",
        "-p",
        r#"{"data": {"phase": "begun"}}"#,
    ]);
    wait.wait_for_stderr("{.data.phase} is begun, must be done");
    rig.kubectl(&[
        "-n",
        &rig.name,
        "patch",
        "configmap/m",
        "--type=merge",
        "-p",
        r#"{"data": {"phase": "done"}}"#,
    ]);
    wait.end().ended(0);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn readiness_rule_of_the_live_object_is_used_with_its_timeout() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file(
        "plain.yaml",
        "\
apiVersion: v1
kind: ConfigMap
metadata: {name: m, namespace: NAME}
data: {a: b}
",
    );
    rig.smp(&["apply", "-f", "plain.yaml", "--wait", "--timeout=10s"]).ended(0);
    let slow = (0..9).fold("true".to_string(), |inner, i| format!("[0,1,2,3,4,5,6,7,8,9].all(v{i},{inner})"));
    let rules =
        [("!has(object.data)", "is false, must be true"), (slow.as_str(), "exceeds the limit of 100 ms")];
    for (rule, part) in rules {
        rig.kubectl(&[
            "-n",
            &rig.name,
            "annotate",
            "--overwrite",
            "configmap/m",
            &format!("smp.kubectl.dev/ready={rule}"),
        ]);
        let start = Instant::now();
        let ran = rig.smp(&["wait", "-f", "plain.yaml", "--timeout=1s"]).ended(1);
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
        assert!(start.elapsed() < Duration::from_secs(10), "{part}");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn interrupted_wait_reports_objects_that_are_not_ready() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    for (signal, status) in [("-INT", 130), ("-TERM", 143)] {
        let wait = Running::start(&rig, &["wait", "-f", "web.yaml"]);
        wait.wait_for_stderr("LessReplicas");
        let killed = std::process::Command::new("kill").args([signal, &wait.child.id().to_string()]).status();
        assert!(killed.expect("kill").success());
        let ran = wait.end().ended(status);
        assert!(ran.stderr.contains("1 of 1 objects are not ready (interrupted)"), "{ran:?}");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn missing_read_permission_is_reported_at_once() {
    let rig = Rig::new();
    rig.create_namespace();
    let secret = "\
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: NAME}
stringData: {a: hidden}
";
    rig.file("all.yaml", &documents(&[secret, DEPLOYMENT]));
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let ran = rig.smp(&["wait", "-f", "all.yaml", "--context=viewer", "--timeout=5m"]).ended(1);
    assert!(ran.stderr.contains("secret/s") && ran.stderr.contains("Unknown (NotReadable)"), "{ran:?}");
    assert!(ran.stderr.contains("forbidden"), "{ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn readiness_rule_may_be_a_cel_expression() {
    let rig = Rig::new();
    rig.create_namespace();
    let claim = |rule: &str| {
        format!(
            "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  namespace: NAME
  annotations:
    smp.kubectl.dev/ready: {rule}
spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
"
        )
    };
    // An expression that cannot be parsed stops an apply before anything is sent.
    for (rule, part) in [
        ("object.status.phase ==", "is not a valid CEL expression"),
        ("status.phase == 'Bound'", "unknown name `status`"),
        ("1 + 1", "has the type int"),
    ] {
        rig.file("claim.yaml", &claim(rule));
        let ran = rig.smp(&["apply", "-f", "claim.yaml", "--wait"]).ended(1);
        for part in [part, "claim.yaml:7:", "PersistentVolumeClaim data"] {
            assert!(ran.stderr.contains(part), "{rule}: {part}: {}", ran.stderr);
        }
        assert!(!rig.exists("pvc/data"), "{rule}");
    }
    rig.file("claim.yaml", &claim("has(object.status.capacity) && self.status.capacity.storage == '2Gi'"));
    let apply = Running::start(&rig, &["apply", "-f", "claim.yaml", "--wait", "--timeout=60s"]);
    apply.wait_for_stderr("is InProgress (NotBound)");
    write_status(&rig, "pvc/data", r#"{"status": {"phase": "Bound"}}"#);
    apply.wait_for_stderr("is InProgress (ReadyAnnotation): `has(object.status.capacity)");
    write_status(&rig, "pvc/data", r#"{"status": {"capacity": {"storage": "2Gi"}}}"#);
    apply.end().ended(0);

    // Only the live object shows that the expression is not a condition.
    rig.file("claim.yaml", &claim("object.status.phase"));
    let start = Instant::now();
    let ran = rig.smp(&["apply", "-f", "claim.yaml", "--wait", "--timeout=60s"]).ended(1);
    assert!(start.elapsed() < Duration::from_secs(30), "it is certain: {ran:?}");
    for part in ["has the type string, must be bool", "claim.yaml:7:", "data"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}
