//! An API group of an aggregated server: a second proxy started by this test, which forwards to the shared API
//! server.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::rig::{Ran, Rig, closed_address, eventually};
use super::{CRD, GADGET, GADGET_OVERLAY};

/// Lets anonymous users use the group: the aggregated server sends no name.
const ANYBODY: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME}
rules:
- {apiGroups: [NAME.example.com], resources: ['*'], verbs: ['*']}
- {nonResourceURLs: ['*'], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: 'system:anonymous'}]
";

/// Registers the aggregated server for the group.
const FORWARDING: &str = "apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: v1
kind: Service
metadata: {name: other, namespace: NAME}
spec: {type: ExternalName, externalName: localhost, ports: [{port: PORT}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.NAME.example.com}
spec:
  group: NAME.example.com
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  insecureSkipTLSVerify: true
  service: {name: other, namespace: NAME, port: PORT}
";

/// The aggregated server. It ends with the test.
struct Front<'r> {
    rig: &'r Rig,
    state: PathBuf,
}

impl Drop for Front<'_> {
    fn drop(&mut self) {
        let _ = self.script("down").output();
        self.rig.try_kubectl(&["delete", "clusterrole,clusterrolebinding", &self.rig.name]);
    }
}

impl<'r> Front<'r> {
    fn start(rig: &'r Rig) -> Self {
        let front = Self { rig, state: rig.path("front") };
        Ran::new(front.script("up").output().expect("bash")).ended(0);
        front
    }

    fn script(&self, name: &str) -> Command {
        let mut command = Command::new(format!("{}/tests/live/{name}", env!("CARGO_MANIFEST_DIR")));
        command.env("SMP_TEST_STATE", &self.state);
        command
    }

    fn kubeconfig(&self) -> String {
        self.state.join("kubeconfig").display().to_string()
    }

    fn kubectl(&self, args: &[&str]) -> Ran {
        self.rig.try_kubectl(&[args, &["--kubeconfig", &self.kubeconfig()]].concat())
    }

    fn smp(&self, args: &[&str]) -> Ran {
        self.rig.smp(&[args, &["--kubeconfig", &self.kubeconfig()]].concat())
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_of_an_aggregated_group_are_built_applied_and_pruned() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("behind.yaml", &[CRD, "---\n", ANYBODY].concat());
    rig.kubectl(&["apply", "-f", "behind.yaml"]);
    let front = Front::start(&rig);
    let url = rig.kubectl(&["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    let port = url.rsplit(':').next().expect("a port");
    rig.file("forwarding.yaml", &FORWARDING.replace("PORT", port));
    front.kubectl(&["apply", "-f", "forwarding.yaml"]).ended(0);
    let gadgets = format!("gadgets.{}.example.com", rig.name);
    eventually("the group is served", || front.kubectl(&["-n", &rig.name, "get", &gadgets]).status == 0);
    let document = format!("/openapi/v3/apis/{}.example.com/v1", rig.name);
    eventually("its schema is, too", || front.kubectl(&["get", "--raw", &document]).status == 0);

    let shown = front.smp(&["schema", "show", &format!("{gadgets}.spec.ports")]).ended(0);
    assert!(shown.stdout.contains("port, protocol"), "{shown:?}");
    rig.file("gadget.yaml", GADGET);
    front.smp(&["diff", "-f", "gadget.yaml"]).ended(1);
    let ran = front.smp(&["apply", "-f", "gadget.yaml", "--wait", "--timeout=20s"]).ended(0);
    assert!(ran.stdout.ends_with("/g created\n"), "{ran:?}");
    assert!(rig.exists(&format!("{gadgets}/g")), "the other server has it");
    let ran = front.smp(&["apply", "-f", "gadget.yaml"]).ended(0);
    assert!(ran.stdout.ends_with("/g unchanged\n"), "{ran:?}");
    front.smp(&["diff", "-f", "gadget.yaml"]).ended(0);

    // An overlay over it is merged by the schema of the aggregated server.
    rig.file("base/gadget.yaml", GADGET);
    rig.file("overlay/gadget.yaml", GADGET_OVERLAY);
    let overlay = ["--base", "base", "overlay"];
    let ran = front.smp(&[&["diff"], &overlay[..]].concat()).ended(1);
    assert!(ran.stdout.contains("renamed") && ran.stdout.contains("web"), "{ran:?}");
    front.smp(&[&["apply"], &overlay[..]].concat()).ended(0);
    let ports = rig.live(&format!("{gadgets}/g"), "{.spec.ports[*].name}");
    assert_eq!(ports, "dns-tcp renamed web");

    // Its objects can be members of ApplySets.
    let set = ["apply", "--prune", "--applyset=shop", "-n", &rig.name, "-f"];
    front.smp(&[&set[..], &["gadget.yaml"]].concat()).ended(0);
    rig.file("map.yaml", &super::sets::maps(&["m"]));
    let ran = front.smp(&[&set[..], &["map.yaml"]].concat()).ended(0);
    assert!(ran.stdout.contains("/g pruned") && !rig.exists(&format!("{gadgets}/g")), "{ran:?}");

    // A group that is down does not delay a run that does not need it.
    let down = closed_address().rsplit(':').next().expect("a port").to_string();
    rig.file("forwarding.yaml", &FORWARDING.replace("PORT", &down));
    front.kubectl(&["apply", "-f", "forwarding.yaml"]).ended(0);
    eventually("the group is down", || front.kubectl(&["-n", &rig.name, "get", &gadgets]).status != 0);
    let start = Instant::now();
    front.smp(&[&set[..], &["map.yaml"]].concat()).ended(0);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}
