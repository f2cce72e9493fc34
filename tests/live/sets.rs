//! ApplySets on a real server, together with the real kubectl.
//!
//! `SMP_TEST_SET_KILLS` sets how often a pruning apply is killed (5), `SMP_TEST_SET_KILLS_SEED` decides the times,
//! `SMP_TEST_SET_RACES` sets how often two applies of a set run concurrently (10).

mod holders;
mod races;
mod takeover;

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;

use super::proxy::{Answer, Proxy};
use super::rig::{Ran, Rig};

/// Locks namespace deletion: while a CRD that serves no version exists, no namespace can be judged empty.
pub(super) static NAMESPACES: Mutex<()> = Mutex::new(());

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

/// The ApplySets of a test.
pub(super) struct Sets {
    pub(super) rig: Rig,
}

impl Sets {
    pub(super) fn new() -> Self {
        let rig = Rig::new();
        rig.create_namespace();
        Self { rig }
    }

    /// Applies manifests as an ApplySet with this program.
    pub(super) fn smp(&self, set: &str, text: &str, more: &[&str]) -> Ran {
        self.rig.file("set.yaml", text);
        let args = ["apply", "--prune", "--applyset", set, "-n", &self.rig.name, "-f", "set.yaml"];
        self.rig.smp(&[&args[..], more].concat())
    }

    /// Applies manifests as an ApplySet with kubectl.
    pub(super) fn kubectl(&self, set: &str, text: &str) -> Ran {
        self.rig.file("set.yaml", text);
        let args = ["apply", "--prune", "--applyset", set, "-n", &self.rig.name, "-f", "set.yaml"];
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(self.rig.kubeconfig()).args(args).current_dir(self.rig.path("."));
        command.env("HOME", self.rig.path(".")).env("KUBECTL_APPLYSET", "true");
        Ran::new(command.output().expect("kubectl on the PATH"))
    }

    /// The parent without generated fields, and its tooling annotation without the version.
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

    /// The names of objects of a kind that have the label of an ApplySet.
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

pub(super) fn number(variable: &str, default: usize) -> usize {
    env::var(variable).map_or(default, |text| text.parse().expect(variable))
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn parents_and_members_equal_those_of_kubectl() {
    let (ours, theirs) = (Sets::new(), Sets::new());
    let stages = [maps(&["a", "b"]), maps(&["b", "c"]) + DEPLOYMENT, DEPLOYMENT.to_string(), maps(&["a"])];
    for parent in ["secrets/shop", "configmaps/shop"] {
        for text in &stages {
            ours.smp(parent, text, &["--prune-limit=100%"]).ended(0);
            theirs.kubectl(parent, text).ended(0);
            let text = |sets: &Sets| sets.parent(parent).to_string().replace(&sets.rig.name, "NAME");
            let (own, their) = (text(&ours), text(&theirs));
            // The id is a hash that includes the namespace.
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
fn sets_of_either_tool_are_extended_and_pruned_by_the_other() {
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
fn dry_run_shows_prunes_and_keeps_the_objects() {
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
fn nothing_is_pruned_unless_all_objects_were_applied() {
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
fn invalid_flag_combinations_are_rejected() {
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
    usage(&["--applyset=shop", "-n", namespace], "requires --prune");
    usage(&["--prune", "--applyset=shop"], "set --namespace");
    usage(&["--cascade=orphan"], "--cascade requires --prune or --replace-immutable");
    usage(&["--prune-limit=1"], "`--prune-limit` requires --applyset");
    usage(&["--adopt"], "`--adopt` requires --applyset");
    usage(
        &["--prune", "--applyset=shop", "-n", namespace, "--prune-limit=x"],
        "use a number such as 5, or 20%",
    );
    usage(&["--replace-nonempty=pvc"], "--replace-immutable");
    usage(&["--prune", "--applyset=shop", "-n", namespace, "-l", "a=b"], "--selector");
    usage(
        &["--prune", "--applyset=shop", "-n", namespace, "--prune-nonempty=Pod"],
        "not a kind that contains",
    );
    let status = |args: &[&str]| rig.smp(&[&["apply", "-f", "new.yaml"], args].concat()).status;
    assert_eq!(status(&["--prune", "--applyset=shop", "-n", namespace, "--prune-nonempty=Pod"]), 2);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn sets_are_rejected_before_anything_is_sent() {
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
    refused("secrets/", &new, &[], 2, &["invalid ApplySet parent"]);
    refused("x/y/z", &new, &[], 2, &["invalid ApplySet parent"]);
    let label =
        new.replace("namespace: NAME}", "namespace: NAME, labels: {applyset.kubernetes.io/part-of: x}}");
    refused("shop", &label, &[], 1, &["the manifest has the label", unsent]);
    refused("configmaps/new", &new, &[], 1, &["is the parent of the ApplySet and cannot be one"]);

    let namespace = &rig.name;
    rig.kubectl(&["-n", namespace, "create", "secret", "generic", "plain"]);
    refused("plain", &new, &[], 1, &["lacks the annotation applyset.kubernetes.io/tooling"]);
    sets.smp("own", &maps(&["m"]), &["--applyset-tooling=smp"]).ended(0);
    refused("own", &new, &[], 1, &["managed by the tool `kubectl-smp`", "--applyset-tooling=smp", unsent]);
    let theirs = sets.kubectl("own", &new);
    assert!(theirs.status > 0 && theirs.stderr.contains("managed by tooling"), "{theirs:?}");
    sets.smp("own", &maps(&["m"]), &["--applyset-tooling=smp"]).ended(0);
    refused("other", &(maps(&["m"]) + &new), &[], 1, &["configmap/m belongs to another ApplySet", unsent]);

    let copy = "applyset.kubernetes.io/id=applyset-x-v1";
    rig.kubectl(&["-n", namespace, "label", "secret", "own", "--overwrite", copy]);
    refused(
        "own",
        &new,
        &["--applyset-tooling=smp"],
        1,
        &["has the label applyset.kubernetes.io/id: applyset-x-v1 instead of", unsent],
    );
    rig.kubectl(&["-n", namespace, "label", "secret", "own", "applyset.kubernetes.io/id-"]);
    refused("own", &new, &["--applyset-tooling=smp"], 1, &["lacks the label", unsent]);
    refused("shop", &new, &["--context=viewer"], 1, &["Forbidden", unsent]);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn missing_list_permission_stops_a_run_before_it_begins() {
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
fn members_are_listed_by_label_where_possible() {
    let sets = Sets::new();
    sets.smp("shop", &(maps(&["a", "b"]) + DEPLOYMENT), &[]).ended(0);
    let witness = Proxy::witness(&sets.rig);
    sets.smp("shop", &maps(&["b"]), &["--history=0", "--server", &witness.url()]).ended(0);
    let asked = witness.take();
    let is_list =
        |request: &&String| request.contains("limit=") && !request.contains("admissionregistration");
    let lists: BTreeSet<_> = asked.iter().filter(is_list).collect();
    assert!(lists.iter().all(|request| request.contains("labelSelector=applyset")), "{lists:?}");
    let (namespace, id) =
        (&sets.rig.name, sets.rig.live("secret/shop", "{.metadata.labels.applyset\\.kubernetes\\.io/id}"));
    for kind in ["/api/v1/namespaces/NAME/configmaps", "/apis/apps/v1/namespaces/NAME/deployments"] {
        let path = kind.replace("NAME", namespace);
        let want = format!("GET {path}?labelSelector=applyset.kubernetes.io%2Fpart-of%3D{id}&limit=500");
        assert!(lists.contains(&want), "{want}: {lists:?}");
    }
    // The parent's inventory grows first and shrinks last; deletions happen in between.
    let writes: Vec<_> = asked.iter().filter(|request| !request.starts_with("GET ")).collect();
    let about_parent = |request: &str| request.contains("/secrets/shop?");
    assert!(about_parent(writes[0]) && about_parent(writes[writes.len() - 1]), "{writes:?}");
    let deleted: Vec<_> = writes.iter().filter(|request| request.starts_with("DELETE")).collect();
    assert_eq!(deleted.len(), 2, "{writes:?}");
}

/// Creates a cluster-scoped parent with members in several namespaces, and returns its reference.
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
    super::eventually("the kind is served", || apply("outer.yaml", &[]).stderr.contains("does not exist"));
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
