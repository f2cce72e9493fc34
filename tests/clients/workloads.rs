//! kubectl with the stand-ins for controllers.

use super::rig::Rig;

const WORKLOADS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'web:1', ports: [{name: http, containerPort: 8080}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: 'db:1'}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: load}
spec:
  completions: 3
  parallelism: 2
  template: {spec: {restartPolicy: Never, containers: [{name: load, image: 'load:1'}]}}
";

fn rig() -> Rig {
    let rig = Rig::new(&["--controllers", "*"]);
    rig.kubectl_with(&["apply", "-f", "-"], WORKLOADS);
    rig
}

fn count(rig: &Rig, kind: &str, selector: &str) -> usize {
    rig.kubectl(&["get", kind, "-l", selector, "-o", "name"]).lines().count()
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn workloads_get_ready() {
    let rig = rig();
    rig.kubectl(&["rollout", "status", "deployment/web", "--timeout=10s"]);
    rig.kubectl(&["rollout", "status", "statefulset/db", "--timeout=10s"]);
    rig.kubectl(&["wait", "--for=condition=Complete", "job/load", "--timeout=10s"]);
    rig.kubectl(&["wait", "--for=condition=Ready", "pod", "-l", "app=web", "--timeout=10s"]);
    assert_eq!(count(&rig, "pods", "app=web"), 3);
    assert_eq!(rig.kubectl(&["get", "pods", "-l", "app=db", "-o", "name"]), "pod/db-0\npod/db-1\n");
    assert_eq!(rig.kubectl(&["get", "pvc", "-o", "name"]).lines().count(), 2);
    let job = rig.kubectl(&["get", "job", "load", "-o", "jsonpath={.status.succeeded}"]);
    assert_eq!(job, "3");
    let slice = rig.kubectl(&[
        "get",
        "endpointslices",
        "-l",
        "kubernetes.io/service-name=web",
        "-o",
        "jsonpath={.items[0].ports[0].port} {.items[0].endpoints[*].conditions.ready}",
    ]);
    assert_eq!(slice, "8080 true true true");
    let table = rig.kubectl(&["get", "pods", "-l", "app=web"]);
    assert!(table.lines().skip(1).all(|line| line.contains("1/1") && line.contains("Running")), "{table}");
    assert!(rig.kubectl(&["get", "deployment", "web"]).contains("3/3"));
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn rollouts_have_a_history() {
    let rig = rig();
    rig.kubectl(&["set", "image", "deployment/web", "web=web:2"]);
    rig.kubectl(&["rollout", "status", "deployment/web", "--timeout=10s"]);
    assert_eq!(count(&rig, "replicasets", "app=web"), 2);
    assert_eq!(count(&rig, "pods", "app=web"), 3);
    let images = || {
        rig.kubectl(&["get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.containers[0].image}"])
    };
    assert_eq!(images(), "web:2 web:2 web:2");
    let history = rig.kubectl(&["rollout", "history", "deployment/web"]);
    assert!(history.lines().any(|line| line.starts_with("2 ")), "{history}");
    rig.kubectl(&["rollout", "undo", "deployment/web"]);
    rig.kubectl(&["rollout", "status", "deployment/web", "--timeout=10s"]);
    assert_eq!(images(), "web:1 web:1 web:1");
    rig.kubectl(&["rollout", "restart", "deployment/web"]);
    rig.kubectl(&["rollout", "status", "deployment/web", "--timeout=10s"]);
    rig.kubectl(&["rollout", "pause", "deployment/web"]);
    rig.kubectl(&["set", "image", "deployment/web", "web=web:3"]);
    assert_eq!(images(), "web:1 web:1 web:1", "a paused Deployment does not roll out");
    rig.kubectl(&["rollout", "resume", "deployment/web"]);
    rig.kubectl(&["rollout", "status", "deployment/web", "--timeout=10s"]);
    assert_eq!(images(), "web:3 web:3 web:3");
    rig.kubectl(&["scale", "deployment/web", "--replicas=1"]);
    assert_eq!(count(&rig, "pods", "app=web"), 1);
    rig.kubectl(&["set", "image", "statefulset/db", "db=db:2"]);
    rig.kubectl(&["rollout", "status", "statefulset/db", "--timeout=10s"]);
    let images =
        rig.kubectl(&["get", "pods", "-l", "app=db", "-o", "jsonpath={.items[*].spec.containers[0].image}"]);
    assert_eq!(images, "db:2 db:2");
    rig.kubectl(&["rollout", "undo", "statefulset/db"]);
    rig.kubectl(&["rollout", "status", "statefulset/db", "--timeout=10s"]);
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn deletions_cascade() {
    let rig = rig();
    rig.kubectl(&["delete", "deployment", "web", "--cascade=orphan"]);
    assert_eq!((count(&rig, "replicasets", "app=web"), count(&rig, "pods", "app=web")), (1, 3));
    rig.kubectl_with(&["apply", "-f", "-"], WORKLOADS);
    assert_eq!((count(&rig, "replicasets", "app=web"), count(&rig, "pods", "app=web")), (1, 3), "adopted");
    rig.kubectl(&["delete", "deployment", "web", "--cascade=foreground", "--timeout=10s"]);
    assert_eq!((count(&rig, "replicasets", "app=web"), count(&rig, "pods", "app=web")), (0, 0));
    rig.kubectl(&["delete", "statefulset", "db", "--timeout=10s"]);
    assert_eq!(count(&rig, "pods", "app=db"), 0);
    rig.kubectl(&["delete", "service", "web"]);
    assert_eq!(rig.kubectl(&["get", "endpointslices", "-o", "name"]), "");
    rig.kubectl(&["delete", "job", "load", "--timeout=10s"]);
    assert_eq!(rig.kubectl(&["get", "pods", "-o", "name"]), "");
    rig.create(&["create", "namespace", "shop"]);
    rig.kubectl_with(&["apply", "-n", "shop", "-f", "-"], WORKLOADS);
    rig.kubectl(&["delete", "namespace", "shop", "--timeout=10s"]);
    assert_eq!(rig.kubectl(&["get", "all,configmaps,pvc", "-n", "shop", "-o", "name"]), "");
}
