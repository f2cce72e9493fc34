//! The roles of `examples/rbac` are sufficient for their commands, and have no verb too many.

use std::process::Stdio;
use std::time::Duration;

use super::rig::{Ran, Rig, config_maps, eventually};

const SERVICE: &str = "---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAME}
spec: {ports: [{port: 80}]}
";

/// A user with a role of `examples/rbac`, and the objects of its command.
struct User {
    rig: Rig,
    role: String,
}

impl User {
    fn new(command: &str) -> Self {
        let rig = Rig::new();
        rig.create_namespace();
        let path = format!("{}/examples/rbac/{command}.yaml", env!("CARGO_MANIFEST_DIR"));
        let role = std::fs::read_to_string(path).expect("the example");
        let (name, user) = (format!("--role=smp-{command}"), format!("--user={}", rig.name));
        rig.kubectl(&["-n", &rig.name, "create", "rolebinding", "smp", &name, &user]);
        rig.file("all.yaml", &[config_maps(9), SERVICE.into()].concat());
        Self { rig, role }
    }

    /// Runs a command with the role, which has all verbs but one.
    fn run(&self, args: &[&str], without: Option<&str>) -> Ran {
        let (name, rig) = (self.rig.name.as_str(), &self.rig);
        rig.file("role.yaml", &without.map_or_else(|| self.role.clone(), |verb| self.without(verb)));
        rig.kubectl(&["-n", name, "apply", "-f", "role.yaml"]);
        for verb in self.verbs() {
            let may = ["auth", "can-i", &verb, "services", "--as", name, "-n", name];
            let is_expected = || (rig.try_kubectl(&may).status == 0) == (without != Some(&verb));
            eventually("the server knows the role", is_expected);
        }
        rig.smp(&[args, &["--as", name, "-n", name]].concat())
    }

    fn without(&self, verb: &str) -> String {
        self.role.replace(&format!("{verb}, "), "").replace(&format!(", {verb}]"), "]")
    }

    fn verbs(&self) -> Vec<String> {
        let (_, verbs) = self.role.split_once("verbs: [").expect("verbs");
        let (verbs, _) = verbs.split_once(']').expect("an end");
        verbs.split(", ").map(str::to_string).collect()
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_that_may_not_be_listed_are_read_by_name() {
    let mut user = User::new("wait");
    user.role = user.role.replace("verbs: [list, watch]", "verbs: [get]");
    let name = user.rig.name.clone();
    let wait = |timeout: &str| user.run(&["wait", "-f", "all.yaml", "--timeout", timeout], None);
    let missing = wait("2s").ended(1);
    assert!(
        missing.stderr.contains("configmap/c8") && !missing.stderr.contains("configmaps is forbidden"),
        "{missing:?}"
    );
    user.rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    assert!(wait("10s").ended(0).stderr.contains("10 objects are ready"));
    // Changes are seen while it waits.
    user.rig.kubectl(&["-n", &name, "delete", "configmap", "c3"]);
    let mut command =
        user.rig.command(&["wait", "-f", "all.yaml", "--timeout=30s", "--as", &name, "-n", &name]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
    std::thread::sleep(Duration::from_secs(2));
    user.rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    Ran::new(child.wait_with_output().expect("an end")).ended(0);
}

/// The effect of a missing verb.
#[derive(Debug, PartialEq, Eq)]
enum Effect {
    Fails,
    /// The command cannot tell which objects it changed.
    UnknownChanges,
    /// None, unless objects are not ready or not gone at once.
    NoneHere,
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn roles_of_the_examples_are_sufficient_and_minimal() {
    let all = ["-f", "all.yaml"];
    let prune = ["apply", "--prune", "--applyset=shop"];
    let table: [(&str, &[&str]); 6] = [
        ("diff", &["apply", "--dry-run=server"]),
        ("diff", &["diff"]),
        ("apply", &["apply"]),
        ("wait", &["wait", "--timeout=3s"]),
        ("prune", &prune),
        ("delete", &["delete", "--timeout=10s"]),
    ];
    for (command, args) in table {
        let user = User::new(command);
        let (rig, name) = (&user.rig, user.rig.name.as_str());
        let verbs = user.verbs();
        for verb in verbs.iter().map(|verb| Some(verb.as_str())).chain([None]) {
            match command {
                "wait" | "delete" => drop(rig.smp(&[&["apply"], &all[..]].concat()).ended(0)),
                // One object is created, and one is pruned.
                "prune" => {
                    rig.file("more.yaml", &config_maps(10));
                    rig.smp(&[&prune[..], &["-f", "more.yaml", "-n", name]].concat()).ended(0);
                    rig.kubectl(&["-n", name, "delete", "configmap", "c0"]);
                }
                _ => drop(rig.kubectl(&["-n", name, "delete", "--ignore-not-found", "-f", "all.yaml"])),
            }
            let ran = user.run(&[args, &all].concat(), verb);
            let effect = match (args[0], verb) {
                ("diff", None) => {
                    assert_eq!(ran.status, 1, "{ran:?}");
                    continue;
                }
                (_, None) => {
                    ran.ended(0);
                    continue;
                }
                _ if ran.status != 0 => Effect::Fails,
                _ if ran.stdout.contains("serverside-applied") => Effect::UnknownChanges,
                _ => Effect::NoneHere,
            };
            let expected = match (args, verb) {
                (["apply"] | ["apply", "--dry-run=server"], Some("get")) => Effect::UnknownChanges,
                (_, Some("watch")) => Effect::NoneHere,
                _ => Effect::Fails,
            };
            assert_eq!(effect, expected, "{args:?} without {verb:?}: {ran:?}");
        }
    }
}
