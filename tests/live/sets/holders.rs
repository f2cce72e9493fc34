//! Namespaces and CRDs that hold objects are not pruned.

use std::sync::PoisonError;

use serde_json::Value;

use super::{NAMESPACES, SHELVES, Sets, maps, names, shelf};
use crate::proxy::{Answer, Proxy};
use crate::rig::Rig;

fn annotation_of(rig: &Rig, object: &str, name: &str) -> String {
    let path = format!("jsonpath={{.metadata.annotations.applyset\\.kubernetes\\.io/{name}}}");
    rig.kubectl(&["get", object, "-o", &path])
}

/// The objects in a namespace.
fn inner_objects(inner: &str) -> String {
    let space = format!(
        "\
---
apiVersion: v1
kind: Namespace
metadata: {{name: {inner}}}
"
    );
    let inside = maps(&["inside"]).replace("NAME", inner);
    let claim = format!(
        "\
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: claim, namespace: {inner}}}
spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
"
    );
    space + &inside + &claim
}

fn bind_claim(rig: &Rig, inner: &str) {
    let bound = r#"{"status": {"phase": "Bound"}}"#;
    let patch = ["-n", inner, "patch", "pvc", "claim", "--subresource=status", "--type=merge", "-p", bound];
    rig.kubectl(&patch);
}

/// Removes the finalizer of the claim; no controller does so on this server.
fn release_claim(rig: &Rig, inner: &str) {
    let release = r#"{"metadata": {"finalizers": null}}"#;
    rig.kubectl(&["-n", inner, "patch", "pvc", "claim", "--type=merge", "-p", release]);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn namespace_that_holds_objects_is_not_pruned() {
    let _alone = NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner);
    let sets = Sets::new();
    let inner = format!("{}-in", sets.rig.name);
    let set = shelf(&sets.rig);
    let apply = |file: &str, more: &[&str]| {
        sets.rig.smp(&[&["apply", "--prune", "--applyset", &set, "-f", file], more].concat())
    };
    sets.rig.file("all.yaml", &(maps(&["outer"]) + &inner_objects(&inner)));
    apply("all.yaml", &[]).ended(0);
    let annotation = |name: &str| annotation_of(&sets.rig, &set, name);
    let phase = || sets.rig.kubectl(&["get", "namespace", &inner, "-o", "jsonpath={.status.phase}"]);
    assert_eq!(annotation("additional-namespaces"), format!("{},{inner}", sets.rig.name));
    assert_eq!(annotation("contains-group-kinds"), "ConfigMap,Namespace,PersistentVolumeClaim");
    bind_claim(&sets.rig, &inner);
    sets.rig.kubectl(&["-n", &inner, "create", "configmap", "foreign"]);

    let ran = apply("outer.yaml", &[]).ended(0);
    assert!(ran.stdout.contains("configmap/inside pruned"), "{ran:?}");
    for part in
        ["persistentvolumeclaim/claim is not pruned: it is bound", "it still contains configmap/foreign"]
    {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(
        ran.stderr.contains("--prune-nonempty=Namespace") && ran.stderr.contains("2 not pruned"),
        "{ran:?}"
    );
    assert_eq!(annotation("contains-group-kinds"), "ConfigMap,Namespace,PersistentVolumeClaim");
    assert_eq!(phase(), "Active");

    let ran = apply("outer.yaml", &["--prune-nonempty=pvc"]).ended(0);
    assert!(ran.stderr.contains("blocked by finalizer kubernetes.io/pvc-protection"), "{ran:?}");
    assert_eq!(phase(), "Active");
    release_claim(&sets.rig, &inner);
    sets.rig.kubectl(&["-n", &inner, "delete", "configmap", "foreign"]);
    let ran = apply("outer.yaml", &[]).ended(0);
    assert!(ran.stderr.contains(&format!("namespace/{inner} is being deleted and still exists")), "{ran:?}");
    assert_eq!(phase(), "Terminating");
    assert_eq!(annotation("additional-namespaces"), sets.rig.name);
    sets.rig.kubectl(&["delete", "crd", &format!("shelves.{}.example.com", sets.rig.name), "--wait=false"]);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn crd_with_objects_is_not_pruned() {
    let sets = Sets::new();
    let crd = SHELVES.replace("shelves", "gadgets").replace("Shelf", "Gadget").replace("shelf", "gadget");
    let gadget = "\
---
apiVersion: NAME.example.com/v1
kind: Gadget
metadata: {name: g}
";
    sets.smp("shop", &format!("{crd}{gadget}{}", maps(&["a"])), &[]).ended(0);
    let kinds = format!(
        "ConfigMap,CustomResourceDefinition.apiextensions.k8s.io,Gadget.{}.example.com",
        sets.rig.name
    );
    assert_eq!(sets.annotation("secret/shop", "contains-group-kinds"), kinds);
    let definition = format!("gadgets.{}.example.com", sets.rig.name);
    let own = gadget.replace("name: g", "name: own");
    sets.rig.file("own.yaml", &own);
    sets.rig.kubectl(&["apply", "-f", "own.yaml"]);
    let ran = sets.smp("shop", &maps(&["a"]), &[]).ended(0);
    assert!(ran.stdout.contains("/g pruned") && !ran.stdout.contains("customresourcedefinition"), "{ran:?}");
    assert!(ran.stderr.contains("it still contains gadget.") && ran.stderr.contains("/own"), "{ran:?}");
    assert!(sets.rig.exists(&format!("crd/{definition}")));
    sets.rig.kubectl(&["delete", &definition, "own"]);
    let ran = sets.smp("shop", &maps(&["a"]), &[]).ended(0);
    assert!(
        ran.stdout.contains(&format!("customresourcedefinition.apiextensions.k8s.io/{definition} pruned")),
        "{ran:?}"
    );
    assert_eq!(sets.annotation("secret/shop", "contains-group-kinds"), "ConfigMap");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn kind_that_is_no_longer_defined_is_reported_and_kept() {
    let sets = Sets::new();
    sets.smp("shop", &maps(&["a", "b"]), &[]).ended(0);
    let kinds = "applyset.kubernetes.io/contains-group-kinds=ConfigMap,Gone.apps,Gone.gone.example.com";
    sets.rig.kubectl(&["-n", &sets.rig.name, "annotate", "secret", "shop", "--overwrite", kinds]);
    for is_first in [true, false] {
        let ran = sets.smp("shop", &maps(&["b"]), &[]).ended(0);
        assert!(ran.stderr.contains("no longer serves the kind Gone.apps"), "{ran:?}");
        // If nothing defines the group, its objects cannot return.
        let gone = "no CRD or APIService defines the kind Gone.gone.example.com any more";
        assert_eq!(ran.stderr.contains(gone), is_first, "{ran:?}");
        assert!(ran.stderr.contains("contains-group-kinds of secret/shop"), "{ran:?}");
        assert_eq!(sets.members("configmap"), names(&["b"]));
        let kinds = sets.annotation("secret/shop", "contains-group-kinds");
        assert_eq!(kinds, "ConfigMap,Gone.apps", "it may be served again");
    }
    // The annotation of older tools is read and removed.
    let (new, old) = (
        "applyset.kubernetes.io/contains-group-kinds-",
        "applyset.kubernetes.io/contains-group-resources=configmaps",
    );
    sets.rig.kubectl(&["-n", &sets.rig.name, "annotate", "secret", "shop", new, old]);
    sets.smp("shop", &maps(&["c"]), &[]).ended(0);
    assert_eq!(sets.members("configmap"), names(&["c"]));
    assert_eq!(sets.annotation("secret/shop", "contains-group-kinds"), "ConfigMap");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn unowned_objects_are_adopted() {
    let sets = Sets::new();
    let rig = &sets.rig;
    rig.file("set.yaml", &maps(&["a", "b"]));
    rig.kubectl(&["apply", "-f", "set.yaml"]);
    rig.file("more.yaml", &maps(&["a", "b", "missing"]));
    let ran = rig.smp(&["applyset", "adopt", "shop", "-f", "more.yaml", "-n", &rig.name]).ended(1);
    assert_eq!(
        ran.stdout,
        "\
configmap/a adopted
configmap/b adopted
"
    );
    assert!(
        ran.stderr.contains("configmap/missing does not exist") && !rig.exists("configmap/missing"),
        "{ran:?}"
    );
    assert_eq!(sets.members("configmap"), names(&["a", "b"]));
    let listed = rig.smp(&["applyset", "list", "-n", &rig.name]).ended(0).stdout;
    // Cluster-scoped ApplySets of other tests are in the list, too.
    let line = listed.lines().find(|line| line.starts_with(&rig.name)).expect("a set");
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(words, [&rig.name, "secret/shop", "kubectl/v1.36", "ConfigMap", &rig.name]);
    assert!(rig.smp(&["applyset", "list", "-A", "-o", "json"]).ended(0).stdout.contains(&rig.name));
    let proxy = Proxy::start(rig, |request| {
        if request.contains("/customresourcedefinitions") {
            return Answer::Instead("403 Forbidden", &[], r#"{"message":"not yours","reason":"Forbidden"}"#);
        }
        Answer::Real
    });
    let ran = rig.smp(&["applyset", "list", "-n", &rig.name, "--server", &proxy.url()]).ended(0);
    assert!(ran.stdout.contains("secret/shop"), "{ran:?}");
    assert!(ran.stderr.contains("custom resources are not searched for parents: not yours"), "{ran:?}");
    let viewed = rig.smp(&["applyset", "view", "shop", "-n", &rig.name, "-o", "json"]).ended(0).stdout;
    let viewed: Value = serde_json::from_str(&viewed).expect("JSON");
    assert_eq!(
        (viewed["members"].as_array().map(Vec::len), &viewed["members"][1]["name"]),
        (Some(2), &"b".into())
    );
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn released_set_keeps_its_objects() {
    let sets = Sets::new();
    let rig = &sets.rig;
    rig.file("set.yaml", &maps(&["a", "b"]));
    rig.kubectl(&["apply", "-f", "set.yaml"]);
    rig.smp(&["applyset", "adopt", "shop", "-f", "set.yaml", "-n", &rig.name]).ended(0);
    sets.kubectl("shop", &maps(&["b"])).ended(0);
    assert_eq!(sets.members("configmap"), names(&["b"]), "kubectl prunes what was adopted");
    let ran = rig.smp(&["applyset", "adopt", "other", "-f", "set.yaml", "-n", &rig.name]).ended(1);
    assert!(ran.stderr.contains("belongs to another ApplySet"), "{ran:?}");
    rig.smp(&["applyset", "orphan", "shop", "-n", &rig.name, "--keep-parent"]).ended(0);
    assert_eq!(sets.members("configmap"), names(&[]));
    assert!(rig.exists("configmap/b") && rig.exists("secret/shop"));
    assert_eq!(sets.annotation("secret/shop", "contains-group-kinds"), "");
    rig.kubectl(&[
        "-n",
        &rig.name,
        "patch",
        "secret",
        "shop",
        "--type=merge",
        "-p",
        r#"{"stringData": {"a": "b"}}"#,
    ]);
    rig.smp(&["applyset", "orphan", "shop", "-n", &rig.name]).ended(0);
    assert!(rig.exists("secret/shop"), "it has data of somebody");
    rig.smp(&["applyset", "view", "shop", "-n", &rig.name]).ended(1);
}
