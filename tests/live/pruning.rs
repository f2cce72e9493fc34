//! Objects that pruning keeps, and what a dry run shows of it.

use std::sync::PoisonError;

use super::proxy::{Answer, Proxy};
use super::rig::{Rig, eventually};
use super::sets::{NAMESPACES, Sets, maps, names, shelf};

/// Runs `check` while a namespace holds an object of a CRD that serves no version.
fn while_a_definition_serves_nothing(rig: &Rig, inner: &str, check: impl Fn()) {
    let crd = super::CRD.replace("served: true", "served: false");
    rig.file("gadgets.yaml", super::CRD);
    rig.kubectl(&["apply", "-f", "gadgets.yaml"]);
    rig.file(
        "gadget.yaml",
        &format!(
            "\
apiVersion: NAME.example.com/v1
kind: Gadget
metadata: {{name: g, namespace: {inner}}}
"
        ),
    );
    eventually("it can be made", || rig.try_kubectl(&["apply", "-f", "gadget.yaml"]).status == 0);
    rig.file("unserved.yaml", &crd);
    rig.kubectl(&["apply", "-f", "unserved.yaml"]);
    eventually("it is not served", || {
        rig.try_kubectl(&["-n", inner, "get", &format!("gadgets.{}.example.com", rig.name)]).status != 0
    });
    check();
    rig.kubectl(&["apply", "-f", "gadgets.yaml"]);
    eventually("it is served again", || rig.try_kubectl(&["delete", "-f", "gadget.yaml"]).status == 0);
}

/// A server that reports one group as unavailable.
fn server_without_a_group(rig: &Rig) -> Proxy {
    let groups = ["down.example.com", &format!("{}.example.com", rig.name), "apiextensions.k8s.io"];
    let groups = groups
        .map(|name| serde_json::json!({"name": name, "versions": [{"groupVersion": format!("{name}/v1")}]}));
    let groups: &'static str =
        serde_json::json!({"kind": "APIGroupList", "groups": groups}).to_string().leak();
    Proxy::start(rig, move |request| match request {
        "GET /apis" => Answer::Instead("200 OK", &["Content-Type: application/json"], groups),
        "GET /apis/down.example.com/v1" => Answer::Instead("503 Service Unavailable", &[], "no endpoints"),
        _ => Answer::Real,
    })
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn namespace_that_cannot_be_fully_listed_is_not_pruned() {
    let _alone = NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner);
    let sets = Sets::new();
    let rig = &sets.rig;
    let inner = format!("{}-in", rig.name);
    let set = shelf(rig);
    let apply = |file: &str, more: &[&str]| {
        rig.smp(&[&["apply", "--prune", "--applyset", &set, "-f", file], more].concat())
    };
    let space = format!(
        "\
---
apiVersion: v1
kind: Namespace
metadata: {{name: {inner}}}
"
    );
    rig.file("all.yaml", &(maps(&["outer"]) + &space));
    apply("all.yaml", &[]).ended(0);
    let stays = |what: &str, part: &str, more: &[&str]| {
        let ran = apply("outer.yaml", more).ended(0);
        assert!(ran.stderr.contains(&format!("namespace/{inner} is not pruned")), "{what}: {ran:?}");
        assert!(ran.stderr.contains(part), "{what}: {ran:?}");
    };
    while_a_definition_serves_nothing(rig, &inner, || {
        let part = format!("contains a Gadget.{}.example.com: no version of the CRD is served", rig.name);
        stays("no version is served", &part, &[]);
    });
    let down = server_without_a_group(rig);
    let more = ["--server", &down.url(), "--request-timeout=3s"];
    stays("a group is down", "cannot list what it still contains: /apis/down.example.com/v1: ", &more);
    let no_crds = Proxy::start(rig, |request| {
        if request.starts_with("GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions?labelSelector=&")
        {
            return Answer::Instead("403 Forbidden", &[], r#"{"message":"not yours","reason":"Forbidden"}"#);
        }
        Answer::Real
    });
    stays("who may not list CRDs", "CRDs that are not served: not yours", &["--server", &no_crds.url()]);

    // Bindings and access reviews are not stored: no permission to list them is needed.
    let unlisted = Proxy::start(rig, |request| {
        if request.contains("/bindings?") || request.contains("/localsubjectaccessreviews?") {
            return Answer::Instead("403 Forbidden", &[], r#"{"message":"not yours","reason":"Forbidden"}"#);
        }
        Answer::Real
    });
    let ran = apply("outer.yaml", &["--server", &unlisted.url()]).ended(0);
    assert!(ran.stderr.contains(&format!("namespace/{inner} is being deleted")), "{ran:?}");
    rig.kubectl(&["delete", "crd", &format!("shelves.{}.example.com", rig.name), "--wait=false"]);
}

/// Rejects the deletion of one ConfigMap of a namespace.
const POLICY: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}
  validations:
  - {expression: oldObject.metadata.name != 'guarded', message: it is guarded}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec:
  policyName: NAME
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}}
";

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn server_dry_run_shows_deletions_the_server_would_reject() {
    let sets = Sets::new();
    let rig = &sets.rig;
    rig.file("policy.yaml", POLICY);
    rig.kubectl(&["apply", "-f", "policy.yaml"]);
    sets.smp("shop", &maps(&["a", "b", "guarded"]), &[]).ended(0);
    let dry = ["-n", &rig.name, "delete", "configmap", "guarded", "--dry-run=server"];
    eventually("the policy is in force", || rig.try_kubectl(&dry).status != 0);
    let ran = sets.smp("shop", &maps(&["b"]), &["--dry-run=server"]).ended(1);
    assert!(ran.stderr.contains("it is guarded") && ran.stderr.contains("for configmap/guarded"), "{ran:?}");
    assert!(ran.stdout.contains("configmap/a pruned (server dry run)"), "{ran:?}");
    assert!(ran.stderr.contains("1 object was not pruned (server dry run)"), "{ran:?}");
    assert_eq!(sets.members("configmap"), names(&["a", "b", "guarded"]));
    let shown = sets.smp("shop", &maps(&["b"]), &["--dry-run=server", "--prune-dry-run"]).ended(0);
    assert!(shown.stdout.contains("configmap/guarded pruned (server dry run)"), "only shown: {shown:?}");
    rig.kubectl(&["delete", "-f", "policy.yaml"]);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn removing_objects_from_their_set_prints_a_warning() {
    let sets = Sets::new();
    let rig = &sets.rig;
    sets.smp("configmaps/shop", &maps(&["a", "b", "c"]), &[]).ended(0);
    rig.file("plain.yaml", &maps(&["a", "new"]));
    let said = format!("configmap/a in {0} was removed from the ApplySet configmap/shop in {0}", rig.name);
    let ran = rig.smp(&["apply", "-f", "plain.yaml", "--dry-run=server"]).ended(0);
    assert!(ran.stderr.contains(&said), "{ran:?}");
    assert_eq!(sets.members("configmap"), names(&["a", "b", "c"]));
    let ran = rig.smp(&["apply", "-f", "plain.yaml"]).ended(0);
    assert!(ran.stderr.contains(&said) && ran.stderr.contains("applyset adopt"), "{ran:?}");
    assert_eq!(sets.members("configmap"), names(&["b", "c"]));
    let ran = rig.smp(&["apply", "-f", "plain.yaml"]).ended(0);
    assert!(!ran.stderr.contains("ApplySet"), "it is in none any more: {ran:?}");
    rig.file("plain.yaml", &maps(&["b", "c"]));
    let ran = rig.smp(&["apply", "-f", "plain.yaml"]).ended(0);
    assert!(ran.stderr.contains("2 objects were removed from the ApplySet"), "{ran:?}");
    assert!(ran.stderr.contains("configmap/b, configmap/c"), "{ran:?}");
    let ran = sets.smp("configmaps/shop", &maps(&["a", "b"]), &[]).ended(0);
    assert!(!ran.stderr.contains("removed from the ApplySet"), "who applies the set takes them in: {ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn tooling_annotations_of_both_programs_are_accepted() {
    let sets = Sets::new();
    let tooling = || sets.annotation("secret/shop", "tooling");
    sets.smp("shop", &maps(&["a", "b"]), &[]).ended(0);
    assert_eq!(tooling(), "kubectl/v1.36");
    let version: serde_json::Value =
        serde_json::from_str(&sets.rig.kubectl(&["version", "--client", "-o", "json"])).expect("JSON");
    let theirs = format!("kubectl/{}", version["clientVersion"]["gitVersion"].as_str().expect("a version"));
    for (more, fewer) in [("c", "a"), ("d", "b")] {
        let kept: Vec<&str> =
            ["a", "b", "c", "d"].into_iter().filter(|name| *name != fewer && *name <= more).collect();
        let ran = sets.kubectl("shop", &maps(&kept)).ended(0);
        assert!(!ran.stderr.contains("conflict"), "the parent is written by the same manager: {ran:?}");
        assert_eq!(tooling(), theirs, "it writes its own version");
        let ran = sets.smp("shop", &maps(&kept[1..]), &["--force-conflicts"]).ended(0);
        assert_eq!(tooling(), "kubectl/v1.36");
        assert!(ran.stdout.contains(&format!("configmap/{} pruned", kept[0])), "{ran:?}");
        let left: Vec<&str> = kept[1..].to_vec();
        assert_eq!(sets.members("configmap"), names(&left));
        sets.kubectl("shop", &maps(&["a", "b"])).ended(0);
        assert_eq!(sets.members("configmap"), names(&["a", "b"]));
    }
    // Both programs compare the name before the last slash.
    for version in ["kubectl/v1.99.0", "kubectl"] {
        let annotation = format!("applyset.kubernetes.io/tooling={version}");
        let annotate = ["-n", &sets.rig.name, "annotate", "secret", "shop", "--overwrite", &annotation];
        sets.rig.kubectl(&annotate);
        sets.kubectl("shop", &maps(&["a"])).ended(0);
        sets.rig.kubectl(&annotate);
        sets.smp("shop", &maps(&["a"]), &["--force-conflicts"]).ended(0);
    }
}
