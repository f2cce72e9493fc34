//! Objects that pruning leaves in place, or that are not gone yet: objects with finalizers, owners and namespaces
//! of the run's objects, volumes, objects made by controllers, objects that kubectl writes.

use std::sync::PoisonError;
use std::time::Duration;

use super::proxy::{Answer, Proxy};
use super::rig::{Ran, Rig, eventually};
use super::sets::{NAMESPACES, Sets, maps, names, shelf};

const HOLD: &str = r#"{"metadata": {"finalizers": ["example.com/hold"]}}"#;
const RELEASE: &str = r#"{"metadata": {"finalizers": null}}"#;

fn patch(rig: &Rig, object: &[&str], patch: &str) {
    rig.kubectl(&[&["patch", "--type=merge", "-p", patch], object].concat());
}

fn space(name: &str) -> String {
    format!(
        "\
---
apiVersion: v1
kind: Namespace
metadata: {{name: {name}}}
"
    )
}

/// Finalizes a namespace, as the namespace controller does after it has emptied it.
fn finalize(rig: &Rig, namespace: &str) {
    rig.file(
        "finalize.json",
        &format!(
            r#"{{"apiVersion": "v1", "kind": "Namespace", "metadata": {{"name": "{namespace}"}}, "spec": {{"finalizers": []}}}}"#
        ),
    );
    let path = format!("/api/v1/namespaces/{namespace}/finalize");
    rig.kubectl(&["replace", "--raw", &path, "-f", "finalize.json"]);
}

/// An ApplySet whose parent is cluster-scoped, and a namespace that is or was a member.
struct ClusterScopedSet {
    sets: Sets,
    set: String,
    inner: String,
}

impl ClusterScopedSet {
    fn new() -> Self {
        let sets = Sets::new();
        let (set, inner) = (shelf(&sets.rig), format!("{}-in", sets.rig.name));
        Self { sets, set, inner }
    }

    fn apply(&self, text: &str, more: &[&str]) -> Ran {
        self.sets.rig.file("set.yaml", text);
        let args = ["apply", "--prune", "--applyset", &self.set, "-f", "set.yaml"];
        self.sets.rig.smp(&[&args[..], more].concat())
    }

    /// A ConfigMap in the namespace.
    fn within(&self, name: &str) -> String {
        maps(&[name]).replace("NAME", &self.inner)
    }

    /// The member kinds and namespaces that the parent lists.
    fn member_kinds_and_namespaces(&self) -> [String; 2] {
        ["contains-group-kinds", "additional-namespaces"].map(|name| {
            let path = format!("jsonpath={{.metadata.annotations.applyset\\.kubernetes\\.io/{name}}}");
            self.sets.rig.kubectl(&["get", &self.set, "-o", &path])
        })
    }

    fn phase(&self) -> String {
        self.sets.rig.kubectl(&["get", "namespace", &self.inner, "-o", "jsonpath={.status.phase}"])
    }
}

impl Drop for ClusterScopedSet {
    fn drop(&mut self) {
        let definition = format!("shelves.{}.example.com", self.sets.rig.name);
        self.sets.rig.try_kubectl(&["delete", "crd", &definition, "--wait=false"]);
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn member_with_a_finalizer_stays_in_the_set_and_keeps_its_namespace() {
    let _alone = NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner);
    let shelf = ClusterScopedSet::new();
    let (rig, inner) = (&shelf.sets.rig, &shelf.inner);
    let outer = maps(&["outer"]);
    shelf.apply(&(maps(&["outer"]) + &space(inner) + &shelf.within("fin")), &[]).ended(0);
    let object = ["-n", inner, "configmap", "fin"];
    patch(rig, &object, HOLD);
    let all = ["ConfigMap,Namespace".to_string(), format!("{},{inner}", rig.name)];
    // The second run reports it again, though nothing is left to delete.
    for time in 0..2 {
        let ran = shelf.apply(&outer, &[]).ended(0);
        assert!(!ran.stdout.contains("pruned"), "{time}: {ran:?}");
        for part in [
            &format!("warning[applyset]: configmap/fin in {inner} is being deleted and still exists"),
            "blocked by finalizer example.com/hold, set by kubectl-patch",
            "the object stays a member of the ApplySet",
            &format!("namespace/{inner} is not pruned: it still contains configmap/fin"),
            "1 still being deleted, 1 not pruned",
        ] {
            assert!(ran.stderr.contains(part), "{time} {part}: {}", ran.stderr);
        }
        assert_eq!(
            (shelf.member_kinds_and_namespaces(), shelf.phase().as_str()),
            (all.clone(), "Active"),
            "{time}"
        );
    }
    let ran = shelf.apply(&outer, &["--wait", "--timeout=3s"]).ended(1);
    assert!(ran.stderr.contains("error[not-ready]: configmap/fin in"), "{ran:?}");
    let not_tried = format!("not attempted: namespace/{inner}");
    assert!(ran.stderr.contains("2 objects were not pruned") && ran.stderr.contains(&not_tried), "{ran:?}");
    assert_eq!((shelf.member_kinds_and_namespaces(), shelf.phase().as_str()), (all, "Active"));

    patch(rig, &object, RELEASE);
    let ran = shelf.apply(&outer, &[]).ended(0);
    assert!(ran.stderr.contains(&format!("namespace/{inner} is being deleted and still exists")), "{ran:?}");
    assert_eq!(shelf.member_kinds_and_namespaces()[0], "ConfigMap,Namespace");
    finalize(rig, inner);
    let ran = shelf.apply(&outer, &["--wait", "--timeout=30s"]).ended(0);
    assert!(!ran.stderr.contains("still"), "{ran:?}");
    assert_eq!(shelf.member_kinds_and_namespaces(), ["ConfigMap".to_string(), rig.name.clone()]);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn prune_with_wait_waits_for_deletion() {
    let sets = Sets::new();
    let rig = &sets.rig;
    sets.smp("shop", &maps(&["a", "fin"]), &[]).ended(0);
    let object = ["-n", &rig.name, "configmap", "fin"];
    patch(rig, &object, HOLD);
    rig.file("set.yaml", &maps(&["a"]));
    // Longer than the ApplySet lock is valid without renewal.
    let args =
        ["apply", "--prune", "--applyset=shop", "-n", &rig.name, "-f", "set.yaml", "--wait", "--timeout=60s"];
    let mut command = rig.command(&args);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("it");
    std::thread::sleep(std::time::Duration::from_secs(7));
    assert!(child.try_wait().expect("a child").is_none(), "it waits");
    let mark = r"{.metadata.annotations.smp\.kubectl\.dev/applyset-run}";
    let times = rig.live("secret/shop", mark).split(' ').nth(2).and_then(|times| times.parse::<u32>().ok());
    assert!(times.is_some_and(|times| times >= 3), "the mark is renewed: {times:?}");
    patch(rig, &object, RELEASE);
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("configmap/fin pruned"), "{output:?}");
    assert_eq!(sets.members("configmap"), names(&["a"]));
}

const DEPLOYMENT: &str = "---
apiVersion: apps/v1
kind: Deployment
metadata: {name: an-operator, namespace: NAME}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: a, image: example.com/a}]}
";

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn custom_resources_are_pruned_before_their_operator_and_crd() {
    let _alone = NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner);
    let sets = Sets::new();
    let rig = &sets.rig;
    let all = [super::CRD, DEPLOYMENT, "---\n", super::GADGET, &maps(&["a"])].concat();
    sets.smp("shop", &all, &[]).ended(0);
    let definition = format!("gadgets.{}.example.com", rig.name);
    let object = ["-n", &rig.name, &definition, "g"];
    patch(rig, &object, HOLD);
    let kinds = || sets.annotation("secret/shop", "contains-group-kinds");
    let all = kinds();
    let is_free = || {
        rig.kubectl(&["get", "crd", &definition, "-o", "jsonpath={.metadata.deletionTimestamp}"]).is_empty()
    };
    for time in 0..2 {
        let ran = sets.smp("shop", &maps(&["a"]), &[]).ended(0);
        assert!(!ran.stdout.contains("pruned"), "{time}: {ran:?}");
        let gadget = format!("gadget.{}.example.com/g", rig.name);
        for part in [
            &format!("{gadget} in {} is being deleted and still exists", rig.name),
            &format!("deployment.apps/an-operator is not pruned: {gadget} is still terminating"),
            &format!("{definition} is not pruned: {gadget} is still terminating"),
        ] {
            assert!(ran.stderr.contains(part), "{time} {part}: {}", ran.stderr);
        }
        assert!(rig.exists("deployment/an-operator") && is_free(), "{time}");
        assert_eq!(kinds(), all, "{time}");
    }
    for dry in ["--prune-dry-run", "--dry-run=server", "--dry-run=client"] {
        let ran = sets.smp("shop", &maps(&["a"]), &[dry]).ended(0);
        assert!(!ran.stdout.contains("pruned"), "{dry}: {ran:?}");
        assert!(ran.stderr.contains("deployment.apps/an-operator is not pruned"), "{dry}: {ran:?}");
    }
    patch(rig, &object, RELEASE);
    let ran = sets.smp("shop", &maps(&["a"]), &["--wait", "--timeout=30s"]).ended(0);
    assert!(ran.stdout.contains("deployment.apps/an-operator pruned"), "{ran:?}");
    assert!(ran.stdout.contains(&format!("{definition} pruned")), "{ran:?}");
    assert_eq!(kinds(), "ConfigMap");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn kind_that_is_temporarily_not_served_keeps_its_namespaces() {
    let shelf = ClusterScopedSet::new();
    let (rig, inner) = (&shelf.sets.rig, &shelf.inner);
    shelf.apply(&(space(inner) + &shelf.within("a")), &[]).ended(0);
    rig.kubectl(&[
        "annotate",
        &shelf.set,
        "--overwrite",
        "applyset.kubernetes.io/contains-group-kinds=ConfigMap,Gone.apps,Namespace",
    ]);
    for _ in 0..2 {
        shelf.apply(&(space(inner) + &maps(&["outer"])), &[]).ended(0);
        let want = ["ConfigMap,Gone.apps,Namespace".to_string(), format!("{},{inner}", rig.name)];
        assert_eq!(shelf.member_kinds_and_namespaces(), want);
    }
    let ran = rig.smp(&["applyset", "orphan", &shelf.set]).ended(1);
    assert!(ran.stderr.contains("does not serve the kind Gone.apps") && ran.stdout.is_empty(), "{ran:?}");
    assert!(rig.smp(&["applyset", "view", &shelf.set]).ended(0).stdout.contains("outer"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn namespaces_with_objects_of_the_run_are_never_pruned() {
    let _alone = NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner);
    let shelf = ClusterScopedSet::new();
    let (rig, inner) = (&shelf.sets.rig, &shelf.inner);
    shelf.apply(&(maps(&["outer"]) + &space(inner) + &shelf.within("old")), &[]).ended(0);
    let new = maps(&["outer"]) + &shelf.within("new");
    for dry in [&[][..], &["--dry-run=server"], &["--dry-run=client"]] {
        let ran = shelf.apply(&new, &[&["--prune-nonempty=Namespace"], dry].concat()).ended(1);
        for part in [
            &format!("namespace/{inner} left the ApplySet but cannot be pruned: it contains configmap/new"),
            "nothing was sent to the cluster",
        ] {
            assert!(ran.stderr.contains(part), "{dry:?} {part}: {}", ran.stderr);
        }
        assert!(rig.try_kubectl(&["-n", inner, "get", "configmap", "new"]).status != 0, "{dry:?}");
    }
    let ran = shelf.apply(&new, &[]).ended(0);
    assert!(
        ran.stderr.contains(&format!("namespace/{inner} is not pruned: it contains configmap/new")),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("configmap/old pruned"), "{ran:?}");
    assert_eq!(shelf.phase(), "Active");
    // The flag concerns foreign objects in the namespace.
    rig.kubectl(&["-n", inner, "create", "configmap", "foreign"]);
    shelf.apply(&maps(&["outer"]), &["--prune-nonempty=Namespace"]).ended(0);
    assert_eq!(shelf.phase(), "Terminating");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn owners_of_the_parent_or_of_custom_resources_of_the_run_are_never_pruned() {
    let _alone = NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner);
    let sets = Sets::new();
    let rig = &sets.rig;
    let role = "\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME}
";
    sets.smp("shop", &(space("NAME") + role), &[]).ended(0);
    let ran = sets.smp("shop", role, &["--prune-adopted", "--prune-nonempty=Namespace"]).ended(1);
    assert!(ran.stderr.contains("it contains the parent of the ApplySet, secret/shop"), "{ran:?}");
    let ran = sets.smp("shop", role, &["--prune-adopted"]).ended(0);
    assert!(
        ran.stderr.contains(&format!("namespace/{} is not pruned: it contains the parent", rig.name)),
        "{ran:?}"
    );
    rig.kubectl(&["delete", "clusterrole", &rig.name]);

    sets.smp("gadgets", &[super::CRD, "---\n", super::GADGET].concat(), &[]).ended(0);
    let ran = sets.smp("gadgets", super::GADGET, &["--prune-nonempty=crd"]).ended(1);
    assert!(
        ran.stderr.contains("cannot be pruned: it contains gadget.")
            && ran.stderr.contains("nothing was sent"),
        "{ran:?}"
    );
}

fn claim(name: &str, more: &str) -> String {
    format!(
        "\
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}, namespace: NAME}}
spec: {{accessModes: [ReadWriteOnce], storageClassName: '', resources: {{requests: {{storage: 1Gi}}}}{more}}}
"
    )
}

fn volume(name: &str, more: &str) -> String {
    format!(
        "\
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: NAME-{name}}}
spec: {{capacity: {{storage: 1Gi}}, accessModes: [ReadWriteOnce], hostPath: {{path: /x}}{more}}}
"
    )
}

/// A Pod that uses a claim.
const POD: &str = "apiVersion: v1
kind: Pod
metadata: {name: p, namespace: NAME}
spec: {containers: [{name: a, image: a}], volumes: [{name: v, persistentVolumeClaim: {claimName: used}}]}
";

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn volumes_that_may_hold_data_are_not_pruned() {
    let sets = Sets::new();
    let (rig, name) = (&sets.rig, &sets.rig.name);
    let reserved = ", claimRef: {namespace: NAME, name: data}";
    let claims = [claim("free", ""), claim("named", ", volumeName: NAME-v"), claim("used", "")].concat();
    let volumes = [volume("free", ""), volume("released", reserved), volume("reserved", reserved)].concat();
    sets.smp("shop", &(maps(&["a"]) + &claims + &volumes), &[]).ended(0);
    let released = format!("{name}-released");
    patch(rig, &["--subresource=status", "pv", &released], r#"{"status": {"phase": "Released"}}"#);
    rig.file("pod.yaml", POD);
    rig.kubectl(&["create", "-f", "pod.yaml"]);
    let ran = sets.smp("shop", &maps(&["a"]), &["--prune-limit=100%"]).ended(0);
    for part in [
        &format!("persistentvolumeclaim/named is not pruned: it refers to volume {name}-v"),
        "persistentvolumeclaim/used is not pruned: pod/p uses it",
        &format!("{released} is not pruned: it is Released and still contains the data of claim {name}/data"),
        &format!("persistentvolume/{name}-reserved is not pruned: it is reserved for claim {name}/data"),
        "4 not pruned",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    // No controller removes the finalizers of claims and volumes on this server.
    assert!(!ran.stderr.contains("free is not pruned"), "{ran:?}");
    let reserved = format!("pv/{name}-reserved");
    for object in [&format!("pv/{released}"), &reserved, "pvc/named", "pvc/used"] {
        assert_eq!(rig.live(object, "{.metadata.deletionTimestamp}"), "", "{object}");
    }
    for volume in ["free", "released", "reserved"] {
        let volume = format!("{name}-{volume}");
        rig.try_kubectl(&["patch", "pv", &volume, "--type=merge", "-p", RELEASE]);
        rig.try_kubectl(&["delete", "pv", &volume, "--wait=false"]);
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn controlled_objects_are_deleted_only_with_their_owner() {
    let sets = Sets::new();
    let rig = &sets.rig;
    let service = "\
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAME}
spec: {ports: [{port: 80}]}
";
    let slice = |name: &str| {
        format!(
            "\
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: {name}, namespace: NAME}}
addressType: IPv4
endpoints: []
"
        )
    };
    sets.smp("shop", &(slice("own") + service), &[]).ended(0);
    let (uid, label) = (
        rig.live("service/web", "{.metadata.uid}"),
        rig.live("service/web", r"{.metadata.labels.applyset\.kubernetes\.io/part-of}"),
    );
    // Copies labels as the EndpointSlice controller does.
    let child = slice("child").replace(
        "namespace: NAME}",
        &format!(
            "namespace: NAME, labels: {{applyset.kubernetes.io/part-of: {label}}}, ownerReferences: [{{apiVersion: v1, \
             kind: Service, name: web, uid: {uid}, controller: true}}]}}"
        ),
    );
    rig.file("child.yaml", &child);
    rig.kubectl(&["create", "-f", "child.yaml"]);
    let ran = sets.smp("shop", service, &["-v"]).ended(0);
    assert!(ran.stdout.contains("endpointslice.discovery.k8s.io/own pruned"), "{ran:?}");
    assert!(ran.stderr.contains("endpointslice.discovery.k8s.io/child is not pruned"), "{ran:?}");
    assert!(rig.exists("endpointslice/child"));
    let quiet = sets.smp("shop", &(slice("own") + service), &[]).ended(0);
    assert!(!quiet.stderr.contains("child"), "{quiet:?}");
    // An orphaned object stays when its owner is deleted.
    let dry = sets.smp("shop", &maps(&["a"]), &["--dry-run=server", "--cascade=orphan"]).ended(0);
    assert!(dry.stdout.contains("service/web pruned") && !dry.stdout.contains("child"), "{dry:?}");
    let ran = sets.smp("shop", &maps(&["a"]), &[]).ended(0);
    assert!(ran.stdout.contains("service/web pruned"), "{ran:?}");
    assert!(!rig.exists("endpointslice/child"), "its owner went: {ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn fields_that_kubectl_later_omits_are_removed() {
    let sets = Sets::new();
    let rig = &sets.rig;
    let data = |data: &str| maps(&["m"]).replace("a: b", data);
    let last = || {
        rig.live("configmap/m", r"{.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}")
    };
    sets.kubectl("shop", &data("a: '1', b: '1'")).ended(0);
    for more in ["c: '1'", "d: '1'"] {
        let text = data(&format!("a: '2', b: '1', {more}"));
        sets.smp("shop", &text, &[]).ended(0);
        let said: serde_json::Value = serde_json::from_str(&last()).expect("JSON");
        let (key, _) = more.split_once(':').expect("a field");
        assert_eq!((&said["data"]["a"], &said["data"][key]), (&"2".into(), &"1".into()));
        let ran = sets.smp("shop", &text, &[]).ended(0);
        assert!(ran.stdout.contains("configmap/m unchanged"), "{ran:?}");
        rig.smp(&["diff", "--applyset=shop", "-n", &rig.name, "-f", "set.yaml"]).ended(0);
        let ran = sets.kubectl("shop", &data("a: '1'")).ended(0);
        assert!(!ran.stderr.contains("missing"), "{ran:?}");
        assert_eq!(rig.live("configmap/m", "{.data}"), r#"{"a":"1"}"#, "{more}");
    }
    // Server-side apply by kubectl keeps the annotation too, owned by another field manager.
    rig.file("set.yaml", &data("a: '1', e: '1'"));
    let args = ["apply", "--server-side", "--prune", "--applyset=shop", "-n", &rig.name, "-f", "set.yaml"];
    let mut command = std::process::Command::new("kubectl");
    command.arg("--kubeconfig").arg(rig.kubeconfig()).args(args).arg("--force-conflicts");
    command.current_dir(rig.path(".")).env("HOME", rig.path(".")).env("KUBECTL_APPLYSET", "true");
    assert!(command.output().expect("kubectl").status.success());
    sets.smp("shop", &data("a: '1', e: '1', f: '1'"), &[]).ended(0);
    assert!(last().contains(r#""f":"1""#), "{}", last());

    // An ApplySet of this program has no last-applied annotation for kubectl.
    sets.kubectl("other", &maps(&["own"])).ended(0);
    rig.smp(&["applyset", "orphan", "other", "-n", &rig.name]).ended(0);
    sets.smp("mine", &maps(&["own"]), &["--applyset-tooling=smp"]).ended(0);
    assert!(!rig.live("configmap/own", "{.metadata.annotations}").contains("last-applied"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_that_kubectl_applied_are_pruned_when_the_set_omits_them() {
    let sets = Sets::new();
    let rig = &sets.rig;
    let data = |data: &str| maps(&["m"]).replace("a: b", data);
    rig.file("old.yaml", &data("a: '1', b: '1'"));
    rig.kubectl(&["apply", "-f", "old.yaml"]);
    let text = data("a: '2', c: '1'");
    rig.file("set.yaml", &text);
    let told = rig.smp(&["diff", "--applyset=shop", "-n", &rig.name, "-f", "set.yaml"]).ended(1);
    assert!(told.stdout.contains("-  b: \"1\""), "{told:?}");
    sets.smp("shop", &text, &[]).ended(0);
    assert_eq!(rig.live("configmap/m", "{.data}"), r#"{"a":"2","c":"1"}"#);
    rig.smp(&["diff", "--applyset=shop", "-n", &rig.name, "-f", "set.yaml"]).ended(0);
    // Also objects that another ApplySet of kubectl created.
    sets.kubectl("shop", &data("a: '2', c: '1', d: '1'")).ended(0);
    sets.smp("shop", &data("a: '3'"), &[]).ended(0);
    assert_eq!(rig.live("configmap/m", "{.data}"), r#"{"a":"3"}"#);
    let last = r"{.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}";
    assert!(rig.live("configmap/m", last).contains(r#""a":"3""#));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn applied_member_is_pruned_despite_a_controller() {
    let sets = Sets::new();
    let rig = &sets.rig;
    rig.kubectl(&["-n", &rig.name, "create", "configmap", "owner"]);
    let uid = rig.live("configmap/owner", "{.metadata.uid}");
    let owner = format!(
        "name: m, ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}, controller: true}}]"
    );
    sets.smp("shop", &(maps(&["a"]) + &maps(&["m"]).replace("name: m", &owner)), &[]).ended(0);
    let ran = sets.smp("shop", &maps(&["a"]), &[]).ended(0);
    assert!(ran.stdout.contains("configmap/m pruned") && !rig.exists("configmap/m"), "{ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn slow_deletion_is_awaited() {
    let sets = Sets::new();
    let rig = &sets.rig;
    sets.smp("shop", &maps(&["a", "b"]), &[]).ended(0);
    let proxy = Proxy::start(rig, |request| {
        if request.starts_with("DELETE ") { Answer::Late(Duration::from_secs(7)) } else { Answer::Real }
    });
    let ran = sets.smp("shop", &maps(&["a"]), &["--server", &proxy.url()]).ended(0);
    assert!(ran.stdout.contains("configmap/b pruned"), "{ran:?}");
    assert_eq!(proxy.count("DELETE"), 1);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn kinds_outside_the_objects_cause_no_wait_after_an_apply() {
    let sets = Sets::new();
    let rig = &sets.rig;
    rig.file("map.yaml", &maps(&["m"]));
    for (kinds, status, parts) in [
        ("--wait=", 2, ["a value is required for '--wait[=<KINDS>]'", "error[usage]"]),
        ("--wait=TYPO", 2, ["no such kind: `TYPO`", "nothing was sent"]),
        ("--wait=configmap,TYPO", 2, ["no such kind: `TYPO`", "nothing was sent"]),
        ("--wait=statefulset", 1, ["none of the objects is of the given kinds", "nothing was sent"]),
    ] {
        let ran = rig.smp(&["apply", "-f", "map.yaml", kinds]);
        assert_eq!(ran.status, status, "{kinds}: {ran:?}");
        for part in parts {
            assert!(ran.stderr.contains(part), "{kinds} {part}: {}", ran.stderr);
        }
        assert!(!rig.exists("configmap/m"), "{kinds}");
    }
    let ran = rig.smp(&["apply", "-f", "map.yaml", "--wait=cm,statefulset", "--timeout=20s"]).ended(0);
    assert!(
        ran.stderr.contains("warning[cluster-state]") && ran.stderr.contains("the kind `statefulset`"),
        "{ran:?}"
    );

    // Errors that no server sent are not reported as the server's response.
    let object = ["-n", &rig.name, "configmap", "m"];
    patch(rig, &object, HOLD);
    rig.kubectl(&["-n", &rig.name, "delete", "configmap", "m", "--wait=false"]);
    for args in [&["apply", "-f", "map.yaml"][..], &["diff", "-f", "map.yaml"]] {
        let ran = rig.smp(args).ended(0);
        assert!(ran.stderr.contains("warning[cluster-state]: configmap/m is being deleted"), "{ran:?}");
    }
    patch(rig, &object, RELEASE);
    eventually("it is gone", || !rig.exists("configmap/m"));
}
