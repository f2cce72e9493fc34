//! ApplySets on a real server, beside the real kubectl.
//!
//! `SMP_TEST_SET_KILLS` is how often an apply that prunes is killed (5), `SMP_TEST_SET_KILLS_SEED` decides when,
//! `SMP_TEST_SET_RACES` is how often two applies of a set run at a time (10).

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kubectl_smp_testing::dice::Dice;
use serde_json::Value;

use super::proxy::{Answer, Proxy};
use super::rig::{Ran, Rig};

/// ConfigMaps with these names.
pub(super) fn maps(names: &[&str]) -> String {
    names.iter().fold(String::new(), |mut text, name| {
        let _ = write!(
            text,
            "\
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: NAME}}
data: {{a: b}}
"
        );
        text
    })
}

const DEPLOYMENT: &str = "---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAME}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: a, image: example.com/a}]}
";

/// A test's sets.
pub(super) struct Sets {
    pub(super) rig: Rig,
}

impl Sets {
    pub(super) fn new() -> Self {
        let rig = Rig::new();
        rig.create_namespace();
        Self { rig }
    }

    /// Applies manifests as a set with this program.
    pub(super) fn smp(&self, set: &str, text: &str, more: &[&str]) -> Ran {
        self.rig.file("set.yaml", text);
        let args = ["apply", "--prune", "--applyset", set, "-n", &self.rig.name, "-f", "set.yaml"];
        self.rig.smp(&[&args[..], more].concat())
    }

    /// The same with kubectl.
    pub(super) fn kubectl(&self, set: &str, text: &str) -> Ran {
        self.rig.file("set.yaml", text);
        let args = ["apply", "--prune", "--applyset", set, "-n", &self.rig.name, "-f", "set.yaml"];
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(self.rig.kubeconfig()).args(args).current_dir(self.rig.path("."));
        command.env("HOME", self.rig.path(".")).env("KUBECTL_APPLYSET", "true");
        Ran::of(command.output().expect("kubectl on the PATH"))
    }

    /// The parent without what differs from object to object, and its tool without the version.
    fn parent(&self, parent: &str) -> Value {
        let args = ["-n", &self.rig.name, "get", parent, "-o", "json", "--show-managed-fields"];
        let mut object: Value = serde_json::from_str(&self.rig.kubectl(&args)).expect("JSON");
        let metadata = object["metadata"].as_object_mut().expect("metadata");
        for field in ["uid", "resourceVersion", "creationTimestamp"] {
            metadata.remove(field);
        }
        for entry in metadata["managedFields"].as_array_mut().expect("managers") {
            entry.as_object_mut().expect("an entry").remove("time");
        }
        let tooling = &mut metadata["annotations"]["applyset.kubernetes.io/tooling"];
        *tooling = tooling.as_str().and_then(|text| text.split('/').next()).expect("a tool").into();
        object
    }

    /// The names of objects of a kind that have the label of a set.
    pub(super) fn members(&self, kind: &str) -> BTreeSet<String> {
        let selector = "applyset.kubernetes.io/part-of";
        let path = "{.items[*].metadata.name}";
        let args = ["-n", &self.rig.name, "get", kind, "-l", selector, "-o", &format!("jsonpath={path}")];
        self.rig.kubectl(&args).split_whitespace().map(str::to_string).collect()
    }

    pub(super) fn annotation(&self, parent: &str, name: &str) -> String {
        let name = name.replace('.', "\\.");
        self.rig.live(parent, &format!("{{.metadata.annotations.applyset\\.kubernetes\\.io/{name}}}"))
    }
}

pub(super) fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

fn number(variable: &str, default: usize) -> usize {
    env::var(variable).map_or(default, |text| text.parse().expect(variable))
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn parents_and_members_are_written_as_kubectl_writes_them() {
    let (ours, theirs) = (Sets::new(), Sets::new());
    let stages = [maps(&["a", "b"]), maps(&["b", "c"]) + DEPLOYMENT, DEPLOYMENT.to_string(), maps(&["a"])];
    for parent in ["secrets/shop", "configmaps/shop"] {
        for text in &stages {
            ours.smp(parent, text, &[]).ended(0);
            theirs.kubectl(parent, text).ended(0);
            let text = |sets: &Sets| sets.parent(parent).to_string().replace(&sets.rig.name, "NAME");
            let (own, their) = (text(&ours), text(&theirs));
            // The id is a hash of the namespace, too.
            let without_id = |text: &str| {
                let at = text.find("applyset-").expect("an id");
                text.replace(&text[at..at + "applyset-".len() + 43], "ID")
            };
            assert_eq!(without_id(&own), without_id(&their), "{parent}");
            for kind in ["configmap", "deployment"] {
                assert_eq!(ours.members(kind), theirs.members(kind));
            }
        }
        for sets in [&ours, &theirs] {
            sets.rig.smp(&["applyset", "orphan", parent, "-n", &sets.rig.name]).ended(0);
            assert!(!sets.rig.exists(parent) && sets.rig.exists("configmap/a"));
            assert_eq!(sets.members("configmap"), names(&[]));
            sets.rig.kubectl(&["-n", &sets.rig.name, "delete", "configmap", "a"]);
        }
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn sets_of_either_tool_are_grown_and_pruned_by_the_other() {
    let sets = Sets::new();
    sets.kubectl("shop", &maps(&["a", "b"])).ended(0);
    let ran = sets.smp("shop", &(maps(&["b", "c"]) + DEPLOYMENT), &["--force-conflicts"]).ended(0);
    assert!(ran.stdout.ends_with("configmap/a pruned\n"), "{ran:?}");
    assert!(ran.stderr.contains("1 pruned"), "{ran:?}");
    assert_eq!(sets.members("configmap"), names(&["b", "c"]));
    sets.kubectl("shop", &maps(&["c", "d"])).ended(0);
    assert_eq!(sets.members("configmap"), names(&["c", "d"]));
    assert!(!sets.rig.exists("deployment/web"));
    sets.smp("shop", &maps(&["d"]), &["--force-conflicts"]).ended(0);
    assert_eq!(sets.members("configmap"), names(&["d"]));
    assert_eq!(sets.annotation("secret/shop", "contains-group-kinds"), "ConfigMap");
    assert_eq!(sets.annotation("secret/shop", "tooling"), "kubectl/v1.36");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn what_would_be_pruned_is_shown_and_stays() {
    let sets = Sets::new();
    sets.smp("shop", &maps(&["a", "b"]), &[]).ended(0);
    for (dry, line) in [
        ("--dry-run=server", "configmap/a pruned (server dry run)\n"),
        ("--dry-run=client", "configmap/a pruned (dry run)\n"),
        ("--prune-dry-run", "configmap/a pruned (dry run)\n"),
    ] {
        let ran = sets.smp("shop", &maps(&["b"]), &[dry]).ended(0);
        assert!(ran.stdout.ends_with(line), "{dry}: {ran:?}");
        assert_eq!(sets.members("configmap"), names(&["a", "b"]), "{dry}");
    }
    sets.rig.file("set.yaml", &maps(&["b"]));
    let diff = ["diff", "--applyset=shop", "-n", &sets.rig.name, "-f", "set.yaml"];
    let ran = sets.rig.smp(&diff).ended(1);
    assert!(
        ran.stdout.contains("--- LIVE/v1.ConfigMap.") && ran.stdout.contains("\n-  name: a\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("1 would be pruned, 1 unchanged") || ran.stderr.contains("1 unchanged"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("1 would be pruned"), "{ran:?}");
    sets.smp("shop", &maps(&["b"]), &[]).ended(0);
    assert_eq!(sets.members("configmap"), names(&["b"]));
    sets.rig.smp(&diff).ended(0);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn nothing_is_pruned_unless_all_was_applied() {
    let sets = Sets::new();
    sets.smp("shop", &maps(&["a", "b"]), &[]).ended(0);
    let bad = maps(&["b"])
        + "\
---
apiVersion: v1
kind: Secret
metadata: {name: bad, namespace: NAME}
data: {a: '?'}
";
    let ran = sets.smp("shop", &bad, &[]).ended(1);
    assert!(
        ran.stderr.contains("1 of 2 objects were not applied") && !ran.stdout.contains("pruned"),
        "{ran:?}"
    );
    assert_eq!(sets.members("configmap"), names(&["a", "b"]));
    assert_eq!(
        sets.annotation("secret/shop", "contains-group-kinds"),
        "ConfigMap,Secret",
        "all is found again"
    );
    sets.smp("shop", &maps(&["b"]), &[]).ended(0);
    assert_eq!(sets.members("configmap"), names(&["b"]));
    assert_eq!(sets.annotation("secret/shop", "contains-group-kinds"), "ConfigMap");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn words_that_do_not_fit_are_refused() {
    let sets = Sets::new();
    let rig = &sets.rig;
    rig.file("new.yaml", &maps(&["new"]));
    let namespace = &rig.name;
    let usage = |args: &[&str], part: &str| {
        let ran = rig.smp(&[&["apply", "-f", "new.yaml"], args].concat());
        assert!(ran.status > 0 && ran.stderr.contains(part), "{args:?}: {ran:?}");
        assert!(!rig.exists("configmap/new"), "{args:?}");
    };
    usage(&["--prune", "-n", namespace], "--applyset=NAME");
    usage(&["--applyset=shop", "-n", namespace], "goes with --prune");
    usage(&["--prune", "--applyset=shop"], "give it with --namespace");
    usage(&["--prune", "--applyset=shop", "-n", namespace, "-l", "a=b"], "--selector");
    usage(&["--prune", "--applyset=shop", "-n", namespace, "--prune-holding=Pod"], "hold no others");
    let status = |args: &[&str]| rig.smp(&[&["apply", "-f", "new.yaml"], args].concat()).status;
    assert_eq!(status(&["--prune", "--applyset=shop", "-n", namespace, "--prune-holding=Pod"]), 2);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn each_refusal_comes_before_anything_is_sent() {
    let sets = Sets::new();
    let rig = &sets.rig;
    let refused = |set: &str, text: &str, more: &[&str], status: i32, parts: &[&str]| {
        let ran = sets.smp(set, text, more).ended(status);
        for part in parts {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
        assert!(!rig.exists("configmap/new"), "{set}");
    };
    let new = maps(&["new"]);
    let unsent = "nothing was sent to the cluster";
    refused("deployments.apps/shop", &new, &[], 1, &["cannot be the parent", unsent]);
    refused("nonsense/shop", &new, &[], 1, &["no resource `nonsense`", unsent]);
    refused("secrets/", &new, &[], 2, &["names no parent"]);
    refused("x/y/z", &new, &[], 2, &["names no parent"]);
    let label =
        new.replace("namespace: NAME}", "namespace: NAME, labels: {applyset.kubernetes.io/part-of: x}}");
    refused("shop", &label, &[], 1, &["stands in the manifest", unsent]);
    refused("configmaps/new", &new, &[], 1, &["is the parent of the ApplySet and among its objects"]);

    let namespace = &rig.name;
    rig.kubectl(&["-n", namespace, "create", "secret", "generic", "plain"]);
    refused("plain", &new, &[], 1, &["lacks the annotation applyset.kubernetes.io/tooling"]);
    sets.smp("own", &maps(&["m"]), &["--applyset-tooling=smp"]).ended(0);
    refused("own", &new, &[], 1, &["managed by the tooling `kubectl-smp`", "--applyset-tooling=smp", unsent]);
    let theirs = sets.kubectl("own", &new);
    assert!(theirs.status > 0 && theirs.stderr.contains("managed by tooling"), "{theirs:?}");
    sets.smp("own", &maps(&["m"]), &["--applyset-tooling=smp"]).ended(0);
    refused("other", &(maps(&["m"]) + &new), &[], 1, &["configmap/m belongs to another ApplySet", unsent]);

    let copy = "applyset.kubernetes.io/id=applyset-x-v1";
    rig.kubectl(&["-n", namespace, "label", "secret", "own", "--overwrite", copy]);
    refused("own", &new, &["--applyset-tooling=smp"], 1, &["another value of the label", unsent]);
    rig.kubectl(&["-n", namespace, "label", "secret", "own", "applyset.kubernetes.io/id-"]);
    refused("own", &new, &["--applyset-tooling=smp"], 1, &["lacks the label", unsent]);
    refused("shop", &new, &["--context=viewer"], 1, &["Forbidden", unsent]);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn what_may_not_be_listed_stops_a_run_before_it_begins() {
    let sets = Sets::new();
    sets.smp("configmaps/shop", &(maps(&["a"]) + DEPLOYMENT), &[]).ended(0);
    let proxy = Proxy::start(&sets.rig, |request| {
        if request.starts_with("GET /apis/apps/v1/namespaces/") && request.contains("labelSelector") {
            return Answer::Instead("403 Forbidden", &[], r#"{"message":"not yours","reason":"Forbidden"}"#);
        }
        Answer::Real
    });
    let ran = sets.smp("configmaps/shop", &maps(&["new"]), &["--server", &proxy.url()]).ended(1);
    assert!(ran.stderr.contains("not yours") && ran.stderr.contains("nothing was sent"), "{ran:?}");
    assert!(
        !sets.rig.exists("configmap/new")
            && sets.rig.exists("configmap/a")
            && sets.rig.exists("deployment/web")
    );
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn members_are_looked_for_by_label_where_they_can_be() {
    let sets = Sets::new();
    sets.smp("shop", &(maps(&["a", "b"]) + DEPLOYMENT), &[]).ended(0);
    let witness = Proxy::witness(&sets.rig);
    sets.smp("shop", &maps(&["b"]), &["--server", &witness.url()]).ended(0);
    let asked = witness.take();
    let lists: BTreeSet<_> = asked.iter().filter(|request| request.contains("limit=")).collect();
    assert!(lists.iter().all(|request| request.contains("labelSelector=applyset")), "{lists:?}");
    let (namespace, id) =
        (&sets.rig.name, sets.rig.live("secret/shop", "{.metadata.labels.applyset\\.kubernetes\\.io/id}"));
    for kind in ["/api/v1/namespaces/NAME/configmaps", "/apis/apps/v1/namespaces/NAME/deployments"] {
        let path = kind.replace("NAME", namespace);
        let want = format!("GET {path}?labelSelector=applyset.kubernetes.io%2Fpart-of%3D{id}&limit=500");
        assert!(lists.contains(&want), "{want}: {lists:?}");
    }
    // The parent grows first and shrinks last, and what goes goes between.
    let writes: Vec<_> = asked.iter().filter(|request| !request.starts_with("GET ")).collect();
    let about_parent = |request: &str| request.contains("/secrets/shop?");
    assert!(about_parent(writes[0]) && about_parent(writes[writes.len() - 1]), "{writes:?}");
    let deleted: Vec<_> = writes.iter().filter(|request| request.starts_with("DELETE")).collect();
    assert_eq!(deleted.len(), 2, "{writes:?}");
}

/// Makes a parent without a namespace, which has members in several, by hand; returns what names it.
pub(super) fn shelf(rig: &Rig) -> String {
    rig.file("crd.yaml", SHELVES);
    rig.kubectl(&["apply", "-f", "crd.yaml"]);
    rig.file(
        "shelf.yaml",
        "\
apiVersion: NAME.example.com/v1
kind: Shelf
metadata: {name: shelf}
",
    );
    let set = format!("shelves.{}.example.com/shelf", rig.name);
    rig.file("outer.yaml", &maps(&["outer"]));
    let apply = |file: &str, more: &[&str]| {
        rig.smp(&[&["apply", "--prune", "--applyset", &set, "-f", file], more].concat())
    };
    super::eventually("the kind is served", || apply("outer.yaml", &[]).stderr.contains("is not there"));
    super::eventually("it can be made", || rig.try_kubectl(&["apply", "-f", "shelf.yaml"]).status == 0);
    let ran = apply("outer.yaml", &[]).ended(1);
    assert!(
        ran.stderr.contains("lacks the annotation") && ran.stderr.contains("nothing was sent"),
        "{ran:?}"
    );
    let at = ran.stderr.find("applyset-").expect("the id that it must have");
    let id = &ran.stderr[at..at + "applyset-".len() + 43 + "-v1".len()];
    let (tooling, kinds) =
        ("applyset.kubernetes.io/tooling=kubectl/v1.36", "applyset.kubernetes.io/contains-group-kinds=");
    rig.kubectl(&["annotate", &set, tooling, kinds]);
    rig.kubectl(&["label", &set, &format!("applyset.kubernetes.io/id={id}")]);
    set
}

fn annotation_of(rig: &Rig, object: &str, name: &str) -> String {
    let path = format!("jsonpath={{.metadata.annotations.applyset\\.kubernetes\\.io/{name}}}");
    rig.kubectl(&["get", object, "-o", &path])
}

/// A namespace, and what is in it.
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

/// Takes the finalizer of the claim away, which nobody else does here.
fn release_claim(rig: &Rig, inner: &str) {
    let release = r#"{"metadata": {"finalizers": null}}"#;
    rig.kubectl(&["-n", inner, "patch", "pvc", "claim", "--type=merge", "-p", release]);
}

/// A CRD that serves no version may have objects in any namespace: for that time no other is judged.
pub(super) static NAMESPACES: Mutex<()> = Mutex::new(());

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn a_namespace_that_holds_things_survives() {
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
    for part in ["persistentvolumeclaim/claim is not pruned: it is bound", "it still holds configmap/foreign"]
    {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(
        ran.stderr.contains("--prune-holding=Namespace") && ran.stderr.contains("2 not pruned"),
        "{ran:?}"
    );
    assert_eq!(annotation("contains-group-kinds"), "ConfigMap,Namespace,PersistentVolumeClaim");
    assert_eq!(phase(), "Active");

    let ran = apply("outer.yaml", &["--prune-holding=pvc"]).ended(0);
    assert!(ran.stderr.contains("held by finalizer kubernetes.io/pvc-protection"), "{ran:?}");
    assert_eq!(phase(), "Active");
    release_claim(&sets.rig, &inner);
    sets.rig.kubectl(&["-n", &inner, "delete", "configmap", "foreign"]);
    let ran = apply("outer.yaml", &[]).ended(0);
    assert!(
        ran.stderr.contains(&format!("namespace/{inner} is being deleted, and is still there")),
        "{ran:?}"
    );
    assert_eq!(phase(), "Terminating");
    assert_eq!(annotation("additional-namespaces"), sets.rig.name);
    sets.rig.kubectl(&["delete", "crd", &format!("shelves.{}.example.com", sets.rig.name), "--wait=false"]);
}

const SHELVES: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shelves.NAME.example.com, labels: {applyset.kubernetes.io/is-parent-type: 'true'}}
spec:
  group: NAME.example.com
  scope: Cluster
  names: {kind: Shelf, plural: shelves, singular: shelf}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
";

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn a_definition_with_objects_survives() {
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
    assert!(ran.stderr.contains("it still holds gadget.") && ran.stderr.contains("/own"), "{ran:?}");
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
fn a_kind_that_is_gone_is_told_and_kept() {
    let sets = Sets::new();
    sets.smp("shop", &maps(&["a", "b"]), &[]).ended(0);
    let kinds = "applyset.kubernetes.io/contains-group-kinds=ConfigMap,Gone.apps,Gone.gone.example.com";
    sets.rig.kubectl(&["-n", &sets.rig.name, "annotate", "secret", "shop", "--overwrite", kinds]);
    for is_first in [true, false] {
        let ran = sets.smp("shop", &maps(&["b"]), &[]).ended(0);
        assert!(ran.stderr.contains("no kind Gone.apps any more"), "{ran:?}");
        // Where nothing defines the group, nothing comes back.
        let gone = "nothing defines the kind Gone.gone.example.com any more";
        assert_eq!(ran.stderr.contains(gone), is_first, "{ran:?}");
        assert!(ran.stderr.contains("contains-group-kinds of secret/shop"), "{ran:?}");
        assert_eq!(sets.members("configmap"), names(&["b"]));
        let kinds = sets.annotation("secret/shop", "contains-group-kinds");
        assert_eq!(kinds, "ConfigMap,Gone.apps", "it may be served again");
    }
    // What older tools wrote is read, too, and goes.
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
fn objects_are_adopted() {
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
        ran.stderr.contains("configmap/missing is not there") && !rig.exists("configmap/missing"),
        "{ran:?}"
    );
    assert_eq!(sets.members("configmap"), names(&["a", "b"]));
    let listed = rig.smp(&["applyset", "list", "-n", &rig.name]).ended(0).stdout;
    // Sets of other tests, whose parents have no namespace, are in the list, too.
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
    assert!(ran.stderr.contains("no custom resources are looked for: not yours"), "{ran:?}");
    let viewed = rig.smp(&["applyset", "view", "shop", "-n", &rig.name, "-o", "json"]).ended(0).stdout;
    let viewed: Value = serde_json::from_str(&viewed).expect("JSON");
    assert_eq!(
        (viewed["members"].as_array().map(Vec::len), &viewed["members"][1]["name"]),
        (Some(2), &"b".into())
    );
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn a_set_is_given_up_and_its_objects_stay() {
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

/// Sixty objects of which a number changes some, and leaves others out.
fn changing(number: usize) -> Vec<String> {
    (0..60).filter(|i| !(i + number).is_multiple_of(3)).map(|i| format!("m{i}")).collect()
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
#[allow(clippy::print_stdout, reason = "the seed is wanted when it fails")]
fn what_a_killed_apply_of_a_set_left_is_done_by_the_next() {
    let sets = Sets::new();
    let (seed, kills) = (number("SMP_TEST_SET_KILLS_SEED", 1), number("SMP_TEST_SET_KILLS", 5));
    println!("{kills} kills by seed {seed}");
    let mut dice = Dice::new(seed as u64);
    let text = |number: usize| {
        let wanted = changing(number);
        maps(&wanted.iter().map(String::as_str).collect::<Vec<_>>())
    };
    sets.smp("shop", &text(0), &[]).ended(0);
    let start = Instant::now();
    sets.smp("shop", &text(1), &[]).ended(0);
    let whole = usize::try_from(start.elapsed().as_micros()).expect("a short time");
    let mut cut_short = 0;
    for kill in 2..kills + 2 {
        sets.rig.file("set.yaml", &text(kill));
        let args = ["apply", "--prune", "--applyset=shop", "-n", &sets.rig.name, "-f", "set.yaml"];
        let mut child =
            sets.rig.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it");
        std::thread::sleep(Duration::from_micros(u64::try_from(dice.below(whole)).expect("64 bits")));
        child.kill().expect("a child");
        cut_short += usize::from(child.wait().expect("an end").code().is_none());
        // The next one is of another revision, even.
        sets.smp("shop", &text(kill + 1), &[]).ended(0);
        assert_eq!(sets.members("configmap"), changing(kill + 1).into_iter().collect());
        let all = sets.rig.live("configmaps", "{.items[*].metadata.name}");
        assert_eq!(all.split_whitespace().filter(|name| name.starts_with('m')).count(), 40);
        assert_eq!(
            sets.parent("secret/shop")["metadata"]["annotations"].as_object().map(serde_json::Map::len),
            Some(3)
        );
    }
    assert!(cut_short > 0, "no apply was killed before its end");
}

/// Who ended well has all that it applied, unless the other one came after it.
fn who_ended_well_has_all(runs: [&Ran; 2], applied: [&[String]; 2], members: &BTreeSet<String>) {
    let told = || format!("{members:?}\n{runs:?}");
    let whole = |wanted: &[String]| wanted.iter().all(|name| members.contains(name));
    let is_all = |wanted: &[String]| whole(wanted) && members.len() == wanted.len();
    match runs.map(|ran| ran.status) {
        [0, 0] => assert!(applied.iter().any(|wanted| is_all(wanted)), "{}", told()),
        [0, _] => assert!(whole(applied[0]), "{}", told()),
        [_, 0] => assert!(whole(applied[1]), "{}", told()),
        _ => panic!("none ended well: {}", told()),
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn two_applies_of_one_set_prune_nothing_of_each_other() {
    let sets = Sets::new();
    let races = number("SMP_TEST_SET_RACES", 10);
    for race in 0..races {
        let shared = ["x0", "x1", "x2", "x3"];
        let own = |who: &str| -> Vec<String> {
            let own = (0..6).map(|i| format!("{who}{i}-{race}"));
            own.chain(shared.iter().map(ToString::to_string)).collect()
        };
        let (a, b) = (own("a"), own("b"));
        for (file, names) in [("a.yaml", &a), ("b.yaml", &b)] {
            sets.rig.file(file, &maps(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        let spawn = |file: &str| {
            let args =
                ["apply", "--prune", "--applyset=shop", "-n", &sets.rig.name, "-f", file, "--concurrency=2"];
            let mut command = sets.rig.command(&args);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it")
        };
        let one = spawn("a.yaml");
        // Sometimes at once, sometimes in the midst of the other.
        std::thread::sleep(Duration::from_millis(u64::try_from(race % 10).expect("small") * 40));
        let other = spawn("b.yaml");
        let ended = |child: std::process::Child| Ran::of(child.wait_with_output().expect("an end"));
        let (one, other) = (ended(one), ended(other));
        let members = sets.members("configmap");
        for ran in [&one, &other] {
            let is_plain =
                ran.status == 0 || ran.stderr.contains("another run began to work on the ApplySet");
            assert!(is_plain, "{ran:?}");
        }
        who_ended_well_has_all([&one, &other], [&a, &b], &members);
        // And the next one has nothing but its own.
        let ran =
            sets.rig.smp(&["apply", "--prune", "--applyset=shop", "-n", &sets.rig.name, "-f", "a.yaml"]);
        ran.ended(0);
        assert_eq!(sets.members("configmap"), a.iter().cloned().collect(), "race {race}");
        let all = sets.rig.live("configmaps", "{.items[*].metadata.name}");
        assert_eq!(all.split_whitespace().count(), a.len(), "race {race}: nothing is lost sight of");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn an_object_that_was_made_anew_or_taken_out_meanwhile_stays() {
    let sets = Sets::new();
    sets.smp("shop", &maps(&["a", "anew", "out", "changed"]), &[]).ended(0);
    // Just before the first deletion reaches the server, others have their way with the objects.
    let count = std::sync::Arc::new(AtomicUsize::new(0));
    let (kubeconfig, namespace) = (sets.rig.kubeconfig().to_path_buf(), sets.rig.name.clone());
    let seen = std::sync::Arc::clone(&count);
    let proxy = Proxy::start(&sets.rig, move |request| {
        if request.starts_with("DELETE") && seen.fetch_add(1, Ordering::SeqCst) == 0 {
            let kubectl = |args: &[&str]| {
                let mut command = Command::new("kubectl");
                command.arg("--kubeconfig").arg(&kubeconfig).args(["-n", &namespace]).args(args);
                assert!(command.output().expect("kubectl").status.success());
            };
            kubectl(&["delete", "configmap", "anew"]);
            kubectl(&["create", "configmap", "anew"]);
            kubectl(&["label", "configmap", "out", "applyset.kubernetes.io/part-of-"]);
            kubectl(&["label", "configmap", "changed", "other=label"]);
        }
        Answer::Real
    });
    let ran = sets.smp("shop", &maps(&["a"]), &["--server", &proxy.url(), "--concurrency=1"]).ended(0);
    assert!(sets.rig.exists("configmap/anew") && sets.rig.exists("configmap/out"), "{ran:?}");
    assert!(!sets.rig.exists("configmap/changed"), "it is still a member: {ran:?}");
    for part in ["made anew meanwhile", "taken out of the set meanwhile"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}
