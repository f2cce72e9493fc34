//! `drift` lists what others changed since the last apply, and nothing else.

use serde_json::Value;

use super::proxy::Proxy;
use super::rig::{Ran, Rig, config_maps};
use super::sets::maps;
use super::{DEPLOYMENT, documents};

fn drift(rig: &Rig, more: &[&str], status: i32) -> Ran {
    rig.smp(&[&["drift", "-f", "all.yaml"], more].concat()).ended(status)
}

/// Waits until the server's clock shows another second: managed fields have no fractions.
fn next_second() {
    std::thread::sleep(std::time::Duration::from_millis(1100));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn changes_of_others_are_listed_with_their_managers() {
    let rig = Rig::new();
    rig.create_namespace();
    let secret = "\
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: NAME}
stringData: {password: mine}
";
    rig.file(
        "all.yaml",
        &documents(&[DEPLOYMENT, &maps(&["a", "b", "gone"]).replace("a: b", "a: b, c: d"), secret]),
    );
    let missing = drift(&rig, &[], 1);
    assert_eq!(missing.stderr, "note: 5 objects: 5 missing\n");
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let none = drift(&rig, &[], 0);
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "note: 5 objects: 5 without drift\n"));
    next_second();
    let kubectl = |args: &[&str]| rig.kubectl(&[&["-n", &rig.name], args].concat());
    kubectl(&["scale", "deployment/web", "--replicas=5"]);
    kubectl(&["set", "image", "deployment/web", "*=other:1"]);
    kubectl(&["label", "configmap/a", "team=x"]);
    kubectl(&["patch", "configmap/b", "--type=merge", "-p", r#"{"data": {"a": null}}"#]);
    kubectl(&["patch", "secret/login", "--type=merge", "-p", r#"{"stringData": {"password": "theirs"}}"#]);
    kubectl(&["delete", "configmap/gone"]);
    let status = r#"{"status": {"replicas": 1}}"#;
    kubectl(&["patch", "deployment/web", "--subresource=status", "--type=merge", "-p", status]);
    let ran = drift(&rig, &[], 1);
    let name = &rig.name;
    for line in [
        format!("changed   deployment.apps/web in {name}"),
        "  spec.replicas: 2 -> 5 by kubectl (scale)".into(),
        format!("changed   configmap/a in {name}"),
        "  metadata.labels.team: (none) -> x by kubectl-label at 2".into(),
        format!("changed   configmap/b in {name}"),
        "  data.a: b -> (none) (removed by others, or new in the manifest)".into(),
        format!("changed   secret/login in {name}"),
        "  data.password: (none) -> *** by kubectl-patch at 2".into(),
        format!("missing   configmap/gone in {name}"),
    ] {
        assert!(ran.stdout.lines().any(|shown| shown.starts_with(&line)), "{line}: {}", ran.stdout);
    }
    assert!(
        ran.stdout.contains(".image: ") && ran.stdout.contains(" -> other:1 by kubectl-set at 2"),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains("theirs") && !ran.stdout.contains("mine"), "{ran:?}");
    assert_eq!(ran.stderr, "note: 5 objects: 4 changed by others, 1 missing\n");
    assert_eq!(ran.stdout.lines().count(), 10, "{}", ran.stdout);

    let json: Value = serde_json::from_str(&drift(&rig, &["-o", "json"], 1).stdout).expect("JSON");
    let objects = json["objects"].as_array().expect("objects");
    let web = objects.iter().find(|one| one["kind"] == "Deployment").expect("the Deployment");
    let replicas =
        web["fields"].as_array().expect("fields").iter().find(|one| one["path"] == "spec.replicas");
    let replicas = replicas.expect("the field");
    assert_eq!((&replicas["manifest"], &replicas["live"]), (&2.into(), &5.into()));
    assert_eq!(replicas["writer"]["subresource"], "scale");

    next_second();
    rig.smp(&["apply", "-f", "all.yaml", "--force-conflicts"]).ended(0);
    let rest = drift(&rig, &[], 1);
    assert!(
        rest.stdout.starts_with(&format!("changed   configmap/a in {name}\n")),
        "the label stays: {rest:?}"
    );
    assert_eq!(rest.stderr, "note: 5 objects: 1 changed by others, 4 without drift\n");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn changes_of_the_manifest_are_no_drift() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("all.yaml", &maps(&["a"]));
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    rig.file("all.yaml", &maps(&["a"]).replace("a: b", "a: c"));
    assert_eq!(drift(&rig, &[], 0).stdout, "");
    rig.kubectl(&["-n", &rig.name, "create", "configmap", "other", "--from-literal=a=b"]);
    rig.file("all.yaml", &maps(&["a", "other"]));
    let unknown = drift(&rig, &[], 2);
    assert_eq!(unknown.stdout, format!("unknown   configmap/other in {}\n", rig.name));
    let error = "the drift of 1 object is unknown: the field manager `kubectl-smp` owns no fields";
    assert!(unknown.stderr.contains(error), "{unknown:?}");
    rig.smp(&["drift", "-f", "nothing.yaml"]).ended(2);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn many_objects_are_listed() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("all.yaml", &config_maps(300));
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let proxy = Proxy::witness(&rig);
    drift(&rig, &["--server", &proxy.url()], 0);
    let requests = proxy.take();
    assert!(requests.len() <= 10, "{requests:#?}");
}
