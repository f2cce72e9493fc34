//! `delete`: the order, finalizers, and missing objects.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::proxy::{Answer, Proxy};
use super::rig::{Rig, config_maps, eventually};
use super::sets;
use super::{CRD, DEPLOYMENT, GADGET, NAMESPACE, documents};

fn held(name: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: NAME, finalizers: [example.com/hold]}}
"
    )
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_are_deleted_in_reverse_apply_order() {
    let rig = Rig::new();
    let role = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: NAME}
";
    let late = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: late, namespace: NAME, annotations: {smp.kubectl.dev/wave: '3'}}
";
    rig.file("all.yaml", &documents(&[NAMESPACE, CRD, role, GADGET, late]));
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let want = |dry: &str| {
        let crd = format!("customresourcedefinition.apiextensions.k8s.io/gadgets.{}.example.com", rig.name);
        let gadget = format!("gadget.{}.example.com/g", rig.name);
        [
            "configmap/late",
            &gadget,
            "role.rbac.authorization.k8s.io/r",
            &crd,
            &format!("namespace/{}", rig.name),
        ]
        .map(|name| format!("{name} deleted{dry}\n"))
        .concat()
    };
    let ran = rig.smp(&["delete", "-f", "all.yaml", "--dry-run=client"]).ended(0);
    assert_eq!(ran.stdout, want(" (dry run)"));
    let ran = rig.smp(&["delete", "-f", "all.yaml", "--dry-run=server"]).ended(0);
    assert_eq!(ran.stdout, want(" (server dry run)"));
    assert!(rig.exists("configmap/late"), "nothing was deleted");

    let witness = Proxy::witness(&rig);
    // No controller empties namespaces on this server.
    let ran = rig.smp(&["delete", "-f", "all.yaml", "--server", &witness.url(), "--timeout=4s"]).ended(1);
    assert_eq!(ran.stdout, want(""));
    assert!(
        ran.stderr.contains(&format!("namespace/{} is being deleted and still exists", rig.name)),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("finalizer kubernetes, until its contents are deleted"), "{ran:?}");
    assert!(ran.stderr.contains("1 of 5 objects were not deleted"), "{ran:?}");
    let asked = witness.take();
    let deletes: Vec<&String> = asked.iter().filter(|line| line.starts_with("DELETE")).collect();
    assert_eq!(deletes.len(), 5, "{deletes:?}");
    // The CRD is deleted only when its objects are gone, after a list request or the server's confirmation.
    assert!(!rig.exists(&format!("crd/gadgets.{}.example.com", rig.name)));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn pending_finalizers_are_named_with_their_managers() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("all.yaml", &documents(&[&held("m"), &config_maps(2)]));
    rig.smp(&["apply", "-f", "all.yaml", "--field-manager=holder"]).ended(0);
    let start = Instant::now();
    let ran = rig.smp(&["delete", "-f", "all.yaml", "--timeout=2s"]).ended(1);
    assert!(start.elapsed() >= Duration::from_secs(2), "it waited");
    assert_eq!(ran.stdout.lines().count(), 3, "the deletion of each was taken: {ran:?}");
    for part in [
        &format!("configmap/m in {} is being deleted and still exists after 2s", rig.name),
        "blocked by finalizer example.com/hold, set by holder",
        "1 of 3 objects were not deleted",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!rig.exists("configmap/c0"), "others are gone");
    let ran = rig.smp(&["delete", "-f", "all.yaml", "--wait=false", "--ignore-not-found"]).ended(0);
    assert!(ran.stderr.contains("3 objects: 1 deleted, 2 not found"), "{ran:?}");

    // The wait ends when the finalizer is removed.
    let mut child = rig
        .command(&["delete", "-f", "all.yaml", "--ignore-not-found", "--timeout=60s"])
        .spawn()
        .expect("it");
    std::thread::sleep(Duration::from_millis(1500));
    assert!(child.try_wait().expect("a child").is_none(), "it waits");
    let patch = r#"{"metadata": {"finalizers": null}}"#;
    rig.kubectl(&["-n", &rig.name, "patch", "configmap/m", "--type=merge", "-p", patch]);
    assert!(child.wait().expect("an end").success());
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn missing_object_fails_without_stopping_the_rest() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("two.yaml", &config_maps(2));
    rig.file("three.yaml", &config_maps(3));
    rig.smp(&["apply", "-f", "two.yaml"]).ended(0);
    let ran = rig.smp(&["delete", "-f", "three.yaml", "-o", "name"]).ended(1);
    assert_eq!(
        ran.stdout,
        "\
configmap/c0
configmap/c1
"
    );
    assert!(ran.stderr.contains(&format!("configmap/c2 not found in namespace {}", rig.name)), "{ran:?}");
    assert!(ran.stderr.contains("1 of 3 objects were not deleted"), "{ran:?}");
    let ran = rig.smp(&["delete", "-f", "three.yaml", "--ignore-not-found"]).ended(0);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("3 objects: 0 deleted, 3 not found"), "{ran:?}");

    // The existence of objects is unknown if discovery does not list their kind.
    let proxy = Proxy::start(&rig, |request| match request {
        "GET /apis/down.example.com/v1" => Answer::Instead("503 Service Unavailable", &[], "no endpoints"),
        _ => Answer::Real,
    });
    rig.file(
        "lost.yaml",
        "\
apiVersion: down.example.com/v1
kind: Lost
metadata: {name: l, namespace: NAME}
",
    );
    let args =
        ["delete", "-f", "lost.yaml", "--ignore-not-found", "--request-timeout=3s", "--server", &proxy.url()];
    let ran = rig.smp(&args).ended(1);
    assert!(ran.stderr.contains("discovery of down.example.com/v1 failed"), "{ran:?}");

    // A kind that the server does not know has no objects.
    rig.file("gadget.yaml", GADGET);
    rig.smp(&["delete", "-f", "gadget.yaml", "--ignore-not-found"]).ended(0);
    rig.smp(&["delete", "-f", "gadget.yaml"]).ended(1);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn operators_and_crds_stay_while_custom_resources_exist() {
    let rig = Rig::new();
    rig.create_namespace();
    let held = GADGET.replace("name: g,", "name: g, finalizers: [example.com/hold],");
    rig.file("all.yaml", &documents(&[CRD, &held, DEPLOYMENT, &config_maps(1)]));
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let ran = rig.smp(&["delete", "-f", "all.yaml", "--timeout=2s"]).ended(1);
    assert!(ran.stdout.lines().count() == 1 && ran.stdout.starts_with("gadget."), "{ran:?}");
    let not_tried = format!(
        "not attempted: deployment.apps/web in {0}, configmap/c0 in {0}, \
         customresourcedefinition.apiextensions.k8s.io/gadgets.{0}.example.com",
        rig.name
    );
    assert!(ran.stderr.contains(&not_tried), "{ran:?}");
    assert!(ran.stderr.contains("4 of 4 objects were not deleted"), "{ran:?}");
    assert!(rig.exists("deployment/web"), "it may be what takes the finalizer away");
    let definition = format!("gadgets.{}.example.com", rig.name);
    assert_eq!(rig.kubectl(&["get", "crd", &definition, "-o", "jsonpath={.metadata.deletionTimestamp}"]), "");
    let patch = r#"{"metadata": {"finalizers": null}}"#;
    rig.kubectl(&["-n", &rig.name, "patch", &format!("{definition}/g"), "--type=merge", "-p", patch]);
    rig.smp(&["delete", "-f", "all.yaml", "--ignore-not-found", "--timeout=60s"]).ended(0);
    eventually("the definition is gone", || rig.try_kubectl(&["get", "crd", &definition]).status != 0);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn namespaces_outside_the_target_are_not_deleted() {
    let rig = Rig::new();
    rig.create_namespace();
    let other = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: NAME}
";
    let labelled = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: mine, namespace: NAME, labels: {tier: web}}
";
    rig.file("all.yaml", &documents(&[labelled, other]));
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let ran = rig.smp(&["delete", "-f", "all.yaml", "-l", "tier=web"]).ended(0);
    assert_eq!(ran.stdout, "configmap/mine deleted\n");
    assert!(rig.exists("configmap/other"));
    let phase = rig.kubectl(&["get", "namespace", &rig.name, "-o", "jsonpath={.status.phase}"]);
    assert_eq!(phase, "Active");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn dependents_are_deleted_as_cascade_selects() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    for (cascade, finalizer) in [
        ("foreground", "foregroundDeletion, until its dependents are deleted"),
        ("orphan", "orphan, until its dependents are orphaned"),
    ] {
        rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
        let ran = rig.smp(&["delete", "-f", "web.yaml", &format!("--cascade={cascade}"), "--timeout=1s"]);
        // No garbage collector deletes them on this server.
        let ran = ran.ended(1);
        assert!(ran.stderr.contains(&format!("finalizer {finalizer}")), "{ran:?}");
        let patch = r#"{"metadata": {"finalizers": null}}"#;
        rig.kubectl(&["-n", &rig.name, "patch", "deployment/web", "--type=merge", "-p", patch]);
        eventually("it is gone", || !rig.exists("deployment/web"));
    }
}

const OLD: &str = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"c0","uid":"11111111-1111-1111-1111-111111111111"}}"#;

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn another_object_of_the_same_name_is_not_deleted() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("map.yaml", &config_maps(1));
    rig.smp(&["apply", "-f", "map.yaml"]).ended(0);
    let path = format!("GET /api/v1/namespaces/{}/configmaps/c0", rig.name);
    let proxy = Proxy::start(&rig, move |request| {
        if request.starts_with(&path) {
            Answer::Instead("200 OK", &["Content-Type: application/json"], OLD)
        } else {
            Answer::Real
        }
    });
    let ran = rig.smp(&["delete", "-f", "map.yaml", "--server", &proxy.url()]).ended(1);
    assert!(ran.stderr.contains("may have been recreated"), "{ran:?}");
    assert!(rig.exists("configmap/c0"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn failed_deletion_does_not_stop_the_rest() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("maps.yaml", &config_maps(3));
    rig.smp(&["apply", "-f", "maps.yaml"]).ended(0);
    let ran = rig.smp(&["delete", "-f", "maps.yaml", "--context=viewer"]).ended(1);
    assert_eq!(ran.stderr.matches("cannot delete resource").count(), 3, "{ran:?}");
    assert!(ran.stderr.contains("3 of 3 objects were not deleted"), "{ran:?}");
    assert!(rig.exists("configmap/c2"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_deleted_with_namespaces_and_crds_are_counted() {
    let _alone = sets::NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner);
    let rig = Rig::new();
    rig.file("all.yaml", &documents(&[NAMESPACE, CRD, GADGET, &config_maps(2)]));
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    rig.file("own.yaml", &GADGET.replace("name: g", "name: own"));
    eventually("it can be made", || rig.try_kubectl(&["apply", "-f", "own.yaml"]).status == 0);
    let create = |name| drop(rig.kubectl(&["-n", &rig.name, "create", "configmap", name]));
    ["x1", "x2", "x3", "x4"].into_iter().for_each(create);
    let gadget = format!("gadget.{}.example.com/own", rig.name);
    let of_namespace = format!(
        "5 other objects are deleted with namespace/{}: configmap/x1, configmap/x2, configmap/x3 and 2 more",
        rig.name
    );
    let of_definition = format!(
        "1 other object is deleted with customresourcedefinition.apiextensions.k8s.io/gadgets.{}.example.com: \
         {gadget}",
        rig.name
    );
    let delete = |more: &[&str]| rig.smp(&[&["delete", "-f", "all.yaml"], more].concat());
    let ran = delete(&["--dry-run=server"]).ended(0);
    for part in [&of_namespace, &of_definition] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(rig.exists("configmap/x1"), "a dry run");
    let ran = delete(&["--dry-run=client"]).ended(0);
    assert!(
        ran.stderr.contains(&format!("cannot list the objects that are deleted with namespace/{}", rig.name)),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("use --dry-run=server"), "{ran:?}");

    // Without permission to list, the count is reported as unknown and the deletion goes on.
    let proxy = Proxy::start(&rig, |request| {
        if request.starts_with("GET /api/v1/namespaces/") && request.contains("/secrets?") {
            return Answer::Instead("403 Forbidden", &[], r#"{"message":"not yours","reason":"Forbidden"}"#);
        }
        Answer::Real
    });
    let ran = delete(&["--wait=false", "--server", &proxy.url()]).ended(0);
    assert!(ran.stderr.contains(&of_definition), "{ran:?}");
    let unknown = format!("cannot determine which objects are deleted with namespace/{}: ", rig.name);
    assert!(ran.stderr.contains(&unknown) && ran.stderr.contains("not yours"), "{ran:?}");
    let at = ran.stderr.find(&of_definition).zip(ran.stderr.find(&unknown));
    assert!(at.is_some_and(|(definition, namespace)| definition < namespace), "{ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_in_the_input_are_not_counted_as_dependents() {
    let _alone = sets::NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner);
    let rig = Rig::new();
    rig.file("all.yaml", &documents(&[NAMESPACE, CRD, GADGET, &config_maps(2)]));
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let ran = rig.smp(&["delete", "-f", "all.yaml", "--dry-run=server"]).ended(0);
    assert!(!ran.stderr.contains("deleted with") && !ran.stderr.contains("cannot determine"), "{ran:?}");
}
