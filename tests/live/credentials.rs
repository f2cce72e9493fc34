//! Credentials from an exec plugin.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::rig::{Ran, Rig};
use super::{CRD, GADGET, GADGET_OVERLAY, documents, install_crd};

/// A kubeconfig whose user gets the credentials of the test's user from a shell script.
fn kubeconfig(rig: &Rig, script: &str) -> PathBuf {
    let text = fs::read_to_string(rig.kubeconfig()).expect("a kubeconfig");
    let mut config: Value = serde_yaml::from_str(&text).expect("YAML");
    let users = config["users"].as_array_mut().expect("users");
    let admin = users.iter_mut().find(|user| user["name"] == "admin").expect("a user");
    let token = admin["user"]["token"].as_str().expect("a token").to_string();
    admin["user"] = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
        "command": "sh", "args": ["-c", script.replace("TOKEN", &token)],
    }});
    rig.file("exec-kubeconfig", &config.to_string())
}

fn run(rig: &Rig, kubeconfig: &PathBuf, args: &[&str]) -> Ran {
    Ran::new(rig.command(args).env("KUBECONFIG", kubeconfig).output().expect("the program"))
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn exec_plugin_for_credentials_runs_once_per_run() {
    let rig = Rig::new();
    rig.create_namespace();
    install_crd(&rig);
    rig.file("base/gadget.yaml", GADGET);
    rig.file("over/gadget.yaml", GADGET_OVERLAY);
    rig.file("all.yaml", &documents(&[CRD, GADGET]));
    let count = rig.path("count");
    let script = format!(
        "echo x >>'{}'; echo '{{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"kind\": \"ExecCredential\", \
         \"status\": {{\"token\": \"TOKEN\"}}}}'",
        count.display()
    );
    let kubeconfig = kubeconfig(&rig, &script);
    let runs: [(&[&str], i32); 6] = [
        (&["apply", "over", "--base", "base"], 0),
        (&["diff", "over", "--base", "base"], 0),
        (&["apply", "-f", "all.yaml", "--force-conflicts"], 0),
        (&["build", "over", "--base", "base", "--schema", "cluster"], 0),
        (&["schema", "list", "gadgets"], 0),
        (&["schema", "fetch", "gadgets"], 0),
    ];
    for (args, status) in runs {
        let _ = fs::remove_file(&count);
        run(&rig, &kubeconfig, args).ended(status);
        assert_eq!(fs::read_to_string(&count).expect("it ran"), "x\n", "{args:?}");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn exec_plugin_for_credentials_is_limited_by_the_request_timeout() {
    let rig = Rig::new();
    rig.file(
        "map.yaml",
        "\
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
",
    );
    let kubeconfig = kubeconfig(&rig, "exec sleep 60");
    for (command, status) in [("apply", 1), ("diff", 2)] {
        let start = Instant::now();
        let ran = run(&rig, &kubeconfig, &[command, "-f", "map.yaml", "--request-timeout=1s"]).ended(status);
        assert!(ran.stderr.contains("did not finish within 1s"), "{ran:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}
