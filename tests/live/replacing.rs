//! Replacing objects whose immutable fields change.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::DEPLOYMENT;
use crate::eventually;
use crate::rig::Rig;

const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.NAME.example.com}
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

const GADGET: &str = "\
apiVersion: NAME.example.com/v1
kind: Gadget
metadata: {name: precious, namespace: NAME}
spec: {size: 1}
";

const CLAIM: &str = "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: NAME}
spec: {accessModes: [ReadWriteOnce], storageClassName: slow, resources: {requests: {storage: 1Gi}}}
";

const WEB: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: NAME}
spec:
  serviceName: web
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: app:1}]}
";

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn definition_with_custom_resources_is_replaced_only_with_consent() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("crd.yaml", DEFINITION);
    rig.file("gadget.yaml", GADGET);
    rig.smp(&["apply", "-f", "crd.yaml"]).ended(0);
    rig.smp(&["apply", "-f", "gadget.yaml"]).ended(0);
    rig.file("crd.yaml", &DEFINITION.replace("scope: Namespaced", "scope: Cluster"));

    let ran = rig.smp(&["apply", "-f", "crd.yaml"]).ended(1);
    assert!(ran.stderr.contains("spec.scope is immutable"), "{ran:?}");
    assert!(!ran.stderr.contains("--replace-immutable"), "never advised for definitions: {ran:?}");

    let gadget = format!("gadget.{}.example.com/precious", rig.name);
    let reason = format!("is not replaced: it still contains {gadget}");
    for dry_run in [&["--dry-run=server"][..], &[]] {
        let args = [&["apply", "-f", "crd.yaml", "--replace-immutable=crd"], dry_run].concat();
        let ran = rig.smp(&args).ended(1);
        assert!(ran.stderr.contains(&reason), "{ran:?}");
        assert!(ran.stderr.contains("--replace-nonempty=CustomResourceDefinition"), "{ran:?}");
        assert!(rig.exists(&gadget));
        let ran = rig.smp(&[&args[..], &["--replace-nonempty=crd", "--cascade=orphan"]].concat()).ended(1);
        assert!(
            ran.stderr.contains("--cascade=orphan does not keep what a CustomResourceDefinition"),
            "{ran:?}"
        );
        assert!(rig.exists(&gadget));
    }

    let consent = ["apply", "-f", "crd.yaml", "--replace-immutable=crd", "--replace-nonempty=crd"];
    let dry = rig.smp(&[&consent[..], &["--dry-run=server"]].concat()).ended(0);
    assert!(dry.stderr.contains("would be replaced although it still contains"), "{dry:?}");
    assert!(rig.exists(&gadget));
    let ran = rig.smp(&consent).ended(0);
    assert!(ran.stdout.contains("replaced") && ran.stderr.contains("is replaced although it"), "{ran:?}");
    eventually("the new definition has no objects", || {
        let listed = rig.try_kubectl(&["get", &format!("gadgets.{}.example.com", rig.name), "-o", "name"]);
        listed.status == 0 && listed.stdout.is_empty()
    });
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn claim_with_data_is_not_replaced() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("claim.yaml", CLAIM);
    rig.smp(&["apply", "-f", "claim.yaml"]).ended(0);
    let bound = r#"{"status": {"phase": "Bound"}}"#;
    rig.kubectl(&[
        "-n",
        &rig.name,
        "patch",
        "pvc",
        "data",
        "--subresource=status",
        "--type=merge",
        "-p",
        bound,
    ]);
    let uid = rig.live("pvc/data", "{.metadata.uid}");
    rig.file("claim.yaml", &CLAIM.replace("slow", "fast"));
    let ran = rig.smp(&["apply", "-f", "claim.yaml"]).ended(1);
    assert!(!ran.stderr.contains("--replace-immutable"), "{ran:?}");
    for dry_run in ["--dry-run=server", "--dry-run=none"] {
        let ran = rig.smp(&["apply", "-f", "claim.yaml", "--replace-immutable=pvc", dry_run]).ended(1);
        assert!(ran.stderr.contains("persistentvolumeclaim/data is not replaced: it is bound"), "{ran:?}");
    }
    assert_eq!(rig.live("pvc/data", "{.metadata.uid}"), uid);
    let diff = rig.smp(&["diff", "-f", "claim.yaml", "-o", "paths", "--replace-immutable=pvc"]).ended(2);
    assert!(diff.stderr.contains("persistentvolumeclaim/data is not replaced: it is bound"), "{diff:?}");
    let with_consent = ["--replace-immutable=pvc", "--replace-nonempty=pvc"];
    let diff = rig.smp(&[&["diff", "-f", "claim.yaml"], &with_consent[..]].concat()).ended(1);
    assert!(diff.stderr.contains("would be replaced although it is bound"), "{diff:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn diff_shows_changes_of_immutable_fields() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("all.yaml", &[DEPLOYMENT, "---\n", CLAIM].concat());
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    rig.file("all.yaml", &[&DEPLOYMENT.replace("app: web", "app: new"), "---\n", CLAIM].concat());
    let diff = |more: &[&str], status: i32| {
        rig.smp(&[&["diff", "-f", "all.yaml", "-o", "fields"], more].concat()).ended(status)
    };
    let refused = diff(&[], 2);
    let name = &rig.name;
    let changed = "  spec.selector.matchLabels.app\n    - web\n    + new\n";
    assert!(
        refused.stdout.starts_with(&format!("deployment.apps/web in {name} changed\n{changed}")),
        "{refused:?}"
    );
    for part in ["spec.selector is immutable", "1 would change, 1 unchanged, 1 would be rejected"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    let replaced = diff(&["--replace-immutable=Deployment"], 1);
    assert_eq!(replaced.stdout, refused.stdout.replacen("changed", "replaced", 1));
    let note = "deployment.apps/web would be deleted and recreated";
    assert!(replaced.stderr.contains(note) && !replaced.stderr.contains("error"), "{replaced:?}");
    rig.smp(&["apply", "-f", "all.yaml", "--replace-immutable=Deployment"]).ended(0);
    diff(&["--replace-immutable=pod"], 0);
    let unknown = diff(&["--replace-immutable=Deploymint"], 2);
    assert!(unknown.stderr.contains("no such kind"), "{unknown:?}");
}

/// Creates a Pod that belongs to the StatefulSet.
fn create_pod(rig: &Rig) {
    let uid = rig.live("statefulset/web", "{.metadata.uid}");
    let owner =
        format!("{{apiVersion: apps/v1, kind: StatefulSet, name: web, controller: true, uid: {uid}}}");
    rig.file(
        "pod.yaml",
        &format!(
            "\
apiVersion: v1
kind: Pod
metadata: {{name: web-0, namespace: NAME, labels: {{app: web}}, ownerReferences: [{owner}]}}
spec: {{containers: [{{name: app, image: app:1}}]}}
"
        ),
    );
    rig.kubectl(&["apply", "-f", "pod.yaml"]);
}

/// Does what the garbage collector does for an object deleted with the policy `Orphan`: removes the finalizer once the
/// dependents have no owner. Returns the finalizers that it saw.
fn orphan_dependents(rig: &Rig, is_finished: &AtomicBool) -> String {
    while !is_finished.load(Ordering::Relaxed) {
        let finalizers = rig.try_kubectl(&[
            "-n",
            &rig.name,
            "get",
            "statefulset/web",
            "-o",
            "jsonpath={.metadata.finalizers}",
        ]);
        if finalizers.stdout.contains("orphan") {
            let patch = |object: &str, field: &str| {
                let patch = format!(r#"{{"metadata": {{"{field}": null}}}}"#);
                rig.kubectl(&["-n", &rig.name, "patch", object, "--type=merge", "-p", &patch]);
            };
            patch("pod/web-0", "ownerReferences");
            patch("statefulset/web", "finalizers");
            return finalizers.stdout;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    String::new()
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn pods_of_replaced_workload_are_counted_or_orphaned() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", WEB);
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    create_pod(&rig);
    rig.file("web.yaml", &WEB.replace("serviceName: web", "serviceName: other"));
    let ran = rig.smp(&["apply", "-f", "web.yaml"]).ended(1);
    assert!(ran.stderr.contains("--replace-immutable=StatefulSet and --cascade=orphan"), "{ran:?}");

    let replace = ["apply", "-f", "web.yaml", "--replace-immutable=sts"];
    let dry = rig.smp(&[&replace[..], &["--dry-run=server"]].concat()).ended(0);
    let note = "1 Pod of statefulset.apps/web would be deleted with it; --cascade=orphan keeps its Pods";
    assert!(dry.stderr.contains(note), "{dry:?}");

    let is_finished = AtomicBool::new(false);
    let (ran, finalizers) = std::thread::scope(|scope| {
        let collector = scope.spawn(|| orphan_dependents(&rig, &is_finished));
        let ran = rig.smp(&[&replace[..], &["--cascade=orphan"]].concat());
        is_finished.store(true, Ordering::Relaxed);
        (ran, collector.join().expect("the garbage collector"))
    });
    let ran = ran.ended(0);
    assert_eq!(ran.stdout, "statefulset.apps/web replaced\n");
    assert!(!ran.stderr.contains("warning"), "{ran:?}");
    assert!(finalizers.contains("orphan"), "deleted with the policy: {finalizers}");
    assert!(rig.exists("pod/web-0"));
    assert_eq!(rig.live("statefulset/web", "{.spec.serviceName}"), "other");
}
