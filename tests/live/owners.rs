//! `owners --take`, `--give` and `--drop` change the owners of fields, and no value.

use serde_json::Value;

use super::rig::Rig;
use super::{DEPLOYMENT, GADGET, install_crd};

/// A live Deployment.
fn read(rig: &Rig) -> Value {
    let args = ["-n", &rig.name, "get", "deployment/web", "-o", "json", "--show-managed-fields"];
    serde_json::from_str(&rig.kubectl(&args)).expect("JSON")
}

/// The managers that own a field of a live Deployment: `name operation` and the subresource.
fn owners(rig: &Rig, pointer: &str) -> Vec<String> {
    let object = read(rig);
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let has = |entry: &&Value| entry["fieldsV1"].pointer(pointer).is_some();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_string();
    let name = |entry: &Value| {
        let words = ["manager", "operation", "subresource"].map(|field| text(entry, field));
        words.join(" ").trim().to_string()
    };
    let mut found: Vec<String> = entries.iter().filter(has).map(name).collect();
    found.sort_unstable();
    found
}

/// Everything but the managed fields and the version.
fn content(rig: &Rig) -> Value {
    let mut object = read(rig);
    for field in ["managedFields", "resourceVersion"] {
        object["metadata"].as_object_mut().map(|metadata| metadata.remove(field));
    }
    object
}

/// A Deployment that `ci` has applied.
fn applied() -> Rig {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.kubectl(&["apply", "--server-side", "--field-manager=ci", "-f", "web.yaml"]);
    rig
}

/// Runs `owners` for the Deployment, checks that no value changes, and returns what it prints.
fn change(rig: &Rig, args: &[&str]) -> String {
    let before = content(rig);
    let ran = rig.smp(&[&["owners", "deployment/web", "-n", &rig.name][..], args].concat()).ended(0);
    assert_eq!(content(rig), before, "{args:?}: {ran:?}");
    ran.stdout + &ran.stderr
}

/// Scales the Deployment as `person`.
fn scale(rig: &Rig) {
    let patch = ["--subresource=scale", "--type=merge", "-p", r#"{"spec": {"replicas": 5}}"#];
    let args = ["-n", &rig.name, "patch", "deployment/web", "--field-manager=person"];
    rig.kubectl(&[&args[..], &patch].concat());
}

const REPLICAS: &str = "/f:spec/f:replicas";

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn fields_are_taken_and_shared() {
    let rig = applied();
    let shown = change(&rig, &["--take", "spec.replicas", "--field-manager=scaler"]);
    assert!(shown.contains("--field-manager=scaler") && shown.contains("replicas: 2"), "{shown}");
    assert_eq!(owners(&rig, REPLICAS), ["ci Apply"], "only printed");
    let sent = change(&rig, &["--take", "spec.replicas", "--field-manager=scaler", "--yes"]);
    assert!(sent.contains("1 request sent"), "{sent}");
    assert_eq!(owners(&rig, REPLICAS), ["ci Apply", "scaler Apply"]);
    // A default of the server has no owner before.
    let history = "/f:spec/f:revisionHistoryLimit";
    assert_eq!(owners(&rig, history), Vec::<String>::new());
    change(&rig, &["--take", "spec.revisionHistoryLimit", "--field-manager=scaler", "--yes"]);
    assert_eq!(owners(&rig, history), ["scaler Apply"]);
    assert_eq!(owners(&rig, REPLICAS), ["ci Apply", "scaler Apply"], "what was taken before stays");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn fields_are_given_by_managers_that_apply_and_that_update() {
    let rig = applied();
    let image = "spec.template.spec.containers[name=web].image";
    let pointer = "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"web\"}/f:image";
    let sent = change(&rig, &["--give", image, "--to=images", "--field-manager=ci", "--yes"]);
    assert!(sent.contains("2 requests sent"), "{sent}");
    assert_eq!(owners(&rig, pointer), ["images Apply"]);
    change(&rig, &["--give", "spec.replicas", "--to=images", "--field-manager=ci", "--yes"]);
    assert_eq!(
        (owners(&rig, REPLICAS), owners(&rig, pointer)),
        (vec!["images Apply".into()], vec!["images Apply".into()])
    );

    scale(&rig);
    assert_eq!(owners(&rig, REPLICAS), ["person Update scale"]);
    let sent = change(&rig, &["--give", "spec.replicas", "--to=ci", "--field-manager=person", "--yes"]);
    assert!(sent.contains("2 requests sent"), "{sent}");
    assert_eq!(owners(&rig, REPLICAS), ["ci Apply"]);
    assert_eq!(rig.live("deployment/web", "{.spec.replicas}"), "5");

    let refused = ["owners", "deployment/web", "-n", &rig.name, "--give", "spec.replicas", "--to=a", "--yes"];
    let ran = rig.smp(&refused).ended(1);
    assert!(ran.stderr.contains("`kubectl-smp` does not own the field"), "{ran:?}");
    let ran = rig.smp(&[&refused[..], &["--field-manager=a"]].concat()).ended(1);
    assert!(ran.stderr.contains("cannot give a field to itself"), "{ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn fields_of_the_status_are_given_through_its_subresource() {
    let rig = applied();
    let patch = r#"{"status": {"replicas": 2, "readyReplicas": 1}}"#;
    rig.kubectl(&[
        "-n",
        &rig.name,
        "patch",
        "deployment/web",
        "--subresource=status",
        "--type=merge",
        "-p",
        patch,
        "--field-manager=controller",
    ]);
    let pointer = "/f:status/f:replicas";
    assert_eq!(owners(&rig, pointer), ["controller Update status"]);
    change(&rig, &["--give", "status.replicas", "--to=other", "--field-manager=controller", "--yes"]);
    assert_eq!(owners(&rig, pointer), ["other Apply status"]);
    assert_eq!(owners(&rig, "/f:status/f:readyReplicas"), ["controller Update status"]);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn managers_are_dropped() {
    let rig = applied();
    scale(&rig);
    change(&rig, &["--drop=person", "--yes"]);
    assert_eq!(owners(&rig, REPLICAS), Vec::<String>::new());
    assert_eq!(rig.live("deployment/web", "{.spec.replicas}"), "5");
    change(&rig, &["--drop=ci", "--yes"]);
    assert_eq!(rig.live("deployment/web", "{.metadata.managedFields}"), "");
    let ran = rig.smp(&["owners", "deployment/web", "-n", &rig.name, "--drop=ci", "--yes"]).ended(1);
    assert!(ran.stderr.contains("`ci` owns no fields"), "{ran:?}");
}

/// The printed requests have the effect of those that are sent, as long as the object stays the same.
#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn printed_requests_can_be_sent_with_kubectl() {
    let rig = applied();
    let give = [
        "owners",
        "deployment/web",
        "-n",
        &rig.name,
        "--give",
        "spec.replicas",
        "--to=scaler",
        "--field-manager=ci",
    ];
    let printed = rig.smp(&give).ended(0).stdout;
    for document in printed.split("---\n").filter(|text| !text.is_empty()) {
        let command = document.lines().next().expect("a command");
        let words: Vec<&str> = command.trim_start_matches("# kubectl ").split(' ').collect();
        rig.file("request.yaml", document);
        rig.kubectl(&[&words[..words.len() - 1], &["request.yaml"]].concat());
    }
    assert_eq!(owners(&rig, REPLICAS), ["scaler Apply"]);

    let dropped = rig.smp(&["owners", "deployment/web", "-n", &rig.name, "--drop=scaler"]).ended(0).stdout;
    let patch = dropped.lines().last().expect("a patch");
    let send = ["-n", &rig.name, "patch", "deployment/web", "--type=json", "-p", patch];
    rig.kubectl(&["-n", &rig.name, "annotate", "deployment/web", "a=b"]);
    let outdated = rig.try_kubectl(&send);
    assert_ne!(outdated.status, 0, "the object has changed: {outdated:?}");
    assert_eq!(owners(&rig, REPLICAS), ["scaler Apply"]);
}

/// A printed apply is refused if the object has changed since.
#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn printed_applies_have_the_version_that_they_were_made_for() {
    let rig = applied();
    let take =
        ["owners", "deployment/web", "-n", &rig.name, "--take", "spec.replicas", "--field-manager=scaler"];
    let printed = rig.smp(&take).ended(0).stdout;
    rig.kubectl(&["-n", &rig.name, "annotate", "deployment/web", "a=b"]);
    rig.file("request.yaml", &printed);
    let send = ["apply", "--server-side", "--field-manager=scaler", "-f", "request.yaml"];
    let outdated = rig.try_kubectl(&send);
    assert!(outdated.status != 0 && outdated.stderr.contains("the object has been modified"), "{outdated:?}");
    rig.file("request.yaml", &rig.smp(&take).ended(0).stdout);
    rig.kubectl(&send);
    assert_eq!(owners(&rig, REPLICAS), ["ci Apply", "scaler Apply"]);
}

/// Maps that a manager has applied empty stay as others have filled them.
#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn empty_maps_are_applied_empty_again() {
    let rig = Rig::new();
    rig.create_namespace();
    let empty = DEPLOYMENT
        .replace("namespace: NAME}", "namespace: NAME, labels: {}, annotations: null}")
        .replace("web:1'}", "web:1', securityContext: {}, env: [], resources: {}}")
        .replace("  replicas: 2\n", "  replicas: 2\n  strategy: {}\n");
    rig.file("web.yaml", &empty);
    rig.kubectl(&["apply", "--server-side", "--field-manager=ci", "-f", "web.yaml"]);
    rig.kubectl(&["-n", &rig.name, "label", "deployment/web", "x=y"]);
    let patch = r#"{"spec": {"template": {"spec": {"containers": [{"name": "web", "securityContext": {"privileged": false}}]}}}}"#;
    rig.kubectl(&["-n", &rig.name, "patch", "deployment/web", "-p", patch]);
    let sent = change(&rig, &["--give", "spec.replicas", "--to=scaler", "--field-manager=ci", "--yes"]);
    assert!(sent.contains("2 requests sent"), "{sent}");
    assert_eq!(owners(&rig, REPLICAS), ["scaler Apply"]);
}

/// Custom kinds are found in the cluster, with their schema.
#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn owners_of_custom_resources_are_changed_by_the_schema_of_the_cluster() {
    let rig = Rig::new();
    rig.create_namespace();
    install_crd(&rig);
    rig.file("gadget.yaml", GADGET);
    rig.kubectl(&["apply", "--server-side", "--field-manager=ci", "-f", "gadget.yaml"]);
    let group = format!("{}.example.com", rig.name);
    for kind in [format!("gadgets.{group}"), format!("gadget.v1.{group}")] {
        let shown = rig.smp(&["owners", &kind, "g", "-n", &rig.name]).ended(0).stdout;
        assert!(shown.contains("size: 1") && shown.contains("# ci"), "{shown}");
    }
    let field = "spec.ports[port=53,protocol=UDP].name";
    let give = ["--give", field, "--to=other", "--field-manager=ci", "--yes"];
    let kind = format!("gadgets.{group}/g");
    for schema in ["auto", "cluster"] {
        let args = [&["owners", &kind, "-n", &rig.name, "--schema", schema], &give[..]].concat();
        let ran = rig.smp(&args);
        // The second one finds that the field is given.
        assert_eq!(ran.stderr.contains("does not own the field"), schema == "cluster", "{ran:?}");
    }
    let object = rig.kubectl(&["-n", &rig.name, "get", &kind, "-o", "json", "--show-managed-fields"]);
    let object: Value = serde_json::from_str(&object).expect("JSON");
    assert_eq!(object["spec"]["ports"].as_array().map(Vec::len), Some(2), "{object}");
    let ran = rig.smp(&["owners", "gadgits/g", "-n", &rig.name]).ended(1);
    assert!(ran.stderr.contains("unknown kind"), "{ran:?}");
}
