//! `apply --dry-run=client --live` returns the objects that the server returns.

use serde_json::Value;

use super::rig::Rig;
use super::{CRD, DEPLOYMENT, GADGET, install_crd};

const SERVICE: &str = "
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAME}
spec: {clusterIP: None, ports: [{port: 80, name: http}], selector: {app: web}}
";

const AUTOSCALER: &str = "
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: NAME}
spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
";

/// Quantities, nulls and templates of claims, which the server writes in another form.
const STATEFUL_SET: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: NAME, labels: {a: null, b: c}, annotations: {}}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      nodeSelector: {a: null}
      containers:
      - {name: db, image: 'db:1', command: [null, a], resources: {limits: {cpu: 1000m, memory: 0.5Gi}, requests: {cpu: 100u, memory: 1e3}}}
      volumes: [{name: a, emptyDir: {sizeLimit: 1024Mi}}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}
";

const CONFIG_MAP: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: NAME, annotations: {q: null}}
data: {a: null, b: x}
";

const QUOTA: &str = "
apiVersion: v1
kind: ResourceQuota
metadata: {name: web, namespace: NAME}
spec: {hard: {cpu: 1000m, pods: 10, memory: 1.234, requests.memory: 5., limits.memory: 12345678901234567890}}
";

/// Removes what the server allocates, and times.
fn comparable(text: &str) -> Value {
    let mut object: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    for field in ["uid", "resourceVersion", "creationTimestamp"] {
        object["metadata"].as_object_mut().map(|metadata| metadata.remove(field));
    }
    for entry in object["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
        entry.as_object_mut().map(|entry| entry.remove("time"));
    }
    object
}

/// Applies manifests of objects that are not in the dump.
#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn offline_applies_create_the_objects_of_the_server() {
    let rig = Rig::new();
    rig.create_namespace();
    install_crd(&rig);
    rig.file("crd.yaml", CRD);
    rig.file("live.yaml", "{apiVersion: v1, kind: List, items: []}");
    for manifest in [DEPLOYMENT, SERVICE, AUTOSCALER, GADGET, STATEFUL_SET, CONFIG_MAP, QUOTA] {
        rig.file("new.yaml", manifest);
        let options = ["-f", "new.yaml", "--field-manager=m", "-o", "json", "--show-managed-fields"];
        let ours = ["apply", "--dry-run=client", "--live", "live.yaml", "--schema", "crd.yaml"];
        let ours = rig.smp(&[&ours[..], &options].concat()).ended(0).stdout;
        let theirs = rig.kubectl(&[&["apply", "--server-side"], &options[..]].concat());
        let mut theirs = comparable(&theirs);
        for allocated in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            theirs.get_mut("spec").and_then(Value::as_object_mut).map(|spec| spec.remove(allocated));
        }
        assert_eq!(comparable(&ours), theirs, "{manifest}");
        // What the server has written is what the manifest says.
        let live = rig.kubectl(&["get", "-f", "new.yaml", "-o", "yaml", "--show-managed-fields"]);
        rig.file("stored.yaml", &live);
        let again = ["apply", "--dry-run=client", "--live", "stored.yaml", "--schema", "crd.yaml"];
        let again = rig.smp(&[&again[..], &options[..3]].concat()).ended(0).stdout;
        assert!(again.ends_with(" unchanged (dry run)\n"), "{again}");
    }
}

/// Applies changed manifests of objects that another manager has applied, updated or created. Conflicts are forced, because
/// a value in another form than the server's is one.
#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn offline_applies_return_the_objects_of_the_server() {
    let rig = Rig::new();
    rig.create_namespace();
    install_crd(&rig);
    rig.file("crd.yaml", CRD);
    let cases = [
        (DEPLOYMENT, DEPLOYMENT.replace("web:1'}", "web:1', tty: true, ports: [{containerPort: 80}]}")),
        (DEPLOYMENT, DEPLOYMENT.replace("  replicas: 2\n", "  paused: true\n") + "status: {replicas: 7}\n"),
        (
            STATEFUL_SET,
            STATEFUL_SET.replace("a: null, b: c", "a: '', b: null").replace("cpu: 1000m", "cpu: 1"),
        ),
        (QUOTA, QUOTA.replace("pods: 10", "pods: '10'").replace("1.234", "1e3")),
        (SERVICE, SERVICE.replace("ports: [", "ports: [{port: 53, protocol: UDP, name: dns}, ")),
        (
            AUTOSCALER,
            AUTOSCALER.replace("spec: {", "spec: {behavior: {scaleUp: {stabilizationWindowSeconds: 5}}, "),
        ),
        (GADGET, GADGET.replace("  size: 1\n", "") + "  - {port: 80, name: web}\n"),
    ];
    let managed = ["-o", "json", "--show-managed-fields"];
    for (i, (first, second)) in cases.iter().enumerate() {
        rig.file("first.yaml", first);
        rig.file("second.yaml", second);
        let by_update = i % 2 == 1;
        let create: &[&str] =
            if by_update { &["create"] } else { &["apply", "--server-side", "--field-manager=ci"] };
        rig.kubectl(&[create, &["-f", "first.yaml"]].concat());
        let live = rig.kubectl(&["get", "-f", "first.yaml", "-o", "yaml", "--show-managed-fields"]);
        rig.file("live.yaml", &live);
        let ours = [
            "apply",
            "--dry-run=client",
            "--live",
            "live.yaml",
            "-f",
            "second.yaml",
            "--field-manager=m",
            "--force-conflicts",
            "--schema",
            "crd.yaml",
        ];
        let ours = rig.smp(&[&ours[..], &managed].concat()).ended(0).stdout;
        let theirs =
            ["apply", "--server-side", "--field-manager=m", "--force-conflicts", "-f", "second.yaml"];
        let theirs = rig.kubectl(&[&theirs[..], &managed].concat());
        assert_eq!(comparable(&ours), comparable(&theirs), "{second}");
        rig.kubectl(&["delete", "-f", "first.yaml"]);
    }
}
