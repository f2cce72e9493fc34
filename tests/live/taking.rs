//! `apply --force-conflicts-with`: fields are taken only from the named managers.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::DEPLOYMENT;
use super::proxy::{Answer, Proxy};
use super::rig::{Ran, Rig};

/// A Deployment that `ci` has applied and whose replicas `scaler` has changed.
fn scaled() -> Rig {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.kubectl(&["apply", "--server-side", "--field-manager=ci", "-f", "web.yaml"]);
    scale(&rig, "scaler", 5);
    rig.file("three.yaml", &DEPLOYMENT.replace("replicas: 2", "replicas: 3"));
    rig.file("new.yaml", &DEPLOYMENT.replace("replicas: 2", "replicas: 3").replace("web:1", "web:2"));
    rig
}

fn scale(rig: &Rig, manager: &str, replicas: usize) {
    let patch = format!("{{\"spec\": {{\"replicas\": {replicas}}}}}");
    let manager = format!("--field-manager={manager}");
    rig.kubectl(&["-n", &rig.name, "patch", "deployment/web", "--type=merge", "-p", &patch, &manager]);
}

fn apply(rig: &Rig, file: &str, more: &[&str]) -> Ran {
    rig.smp(&[&["apply", "-f", file, "--force-conflicts-with=scaler"], more].concat())
}

fn replicas(rig: &Rig) -> String {
    rig.live("deployment/web", "{.spec.replicas}")
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn fields_of_the_named_managers_are_taken_and_listed() {
    let rig = scaled();
    let unforced = rig.smp(&["apply", "-f", "three.yaml"]).ended(1);
    assert!(unforced.stderr.contains("spec.replicas: owned by `scaler`"), "{unforced:?}");
    let dry = apply(&rig, "three.yaml", &["--dry-run=server"]).ended(0);
    assert!(dry.stderr.contains("takes .spec.replicas from `scaler`"), "{dry:?}");
    assert_eq!(replicas(&rig), "5");
    let ran = apply(&rig, "three.yaml", &[]).ended(0);
    for part in ["takes .spec.replicas from `scaler`", "written at 20", "its value 5 is lost"] {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    assert_eq!(replicas(&rig), "3");
    let managers = rig.live("deployment/web", "{.metadata.managedFields[*].manager}");
    assert!(!managers.contains("scaler"), "{managers}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_in_conflict_with_others_stay_unchanged() {
    let rig = scaled();
    let before = rig.live("deployment/web", "{.metadata.resourceVersion}");
    let ran = apply(&rig, "new.yaml", &[]).ended(1);
    for part in ["spec.replicas: owned by `scaler`", "image: owned by `ci`"] {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    assert!(!ran.stderr.contains("takes "), "nothing is taken: {ran:?}");
    assert_eq!(rig.live("deployment/web", "{.metadata.resourceVersion}"), before);
    let both = apply(&rig, "new.yaml", &["--force-conflicts-with=ci"]).ended(0);
    for part in
        ["takes .spec.replicas from `scaler`", "image from `ci`", "its value example.com/web:1 is lost"]
    {
        assert!(both.stderr.contains(part), "{part}: {both:?}");
    }
    assert_eq!(replicas(&rig), "3");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_without_conflict_are_applied_unforced() {
    let rig = scaled();
    let proxy = Proxy::witness(&rig);
    rig.file("five.yaml", &DEPLOYMENT.replace("replicas: 2", "replicas: 5"));
    apply(&rig, "five.yaml", &["--server", &proxy.url()]).ended(0);
    let requests = proxy.take();
    assert!(!requests.iter().any(|request| request.contains("force=true")), "{requests:?}");
}

/// Between the unforced and the forced apply, a manager changes the object. Its field is only taken if it is named, too.
#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_that_change_meanwhile_are_applied_from_the_start() {
    for (manager, status, expected) in [("scaler", 0, "3"), ("person", 1, "6")] {
        let rig = scaled();
        let (kubeconfig, namespace) = (rig.kubeconfig().to_path_buf(), rig.name.clone());
        let count = AtomicUsize::new(0);
        let proxy = Proxy::start(&rig, move |request| {
            let is_forced =
                request.starts_with("PATCH") && request.contains("force=true") && !request.contains("dryRun");
            if is_forced && count.fetch_add(1, Ordering::SeqCst) == 0 {
                let patch = "{\"spec\": {\"replicas\": 6}}";
                let manager = format!("--field-manager={manager}");
                let mut kubectl = std::process::Command::new("kubectl");
                kubectl.arg("--kubeconfig").arg(&kubeconfig).args([
                    "-n",
                    &namespace,
                    "patch",
                    "deployment/web",
                ]);
                let done = kubectl.args(["--type=merge", "-p", patch, &manager]).output().expect("kubectl");
                assert!(done.status.success(), "{done:?}");
            }
            Answer::Real
        });
        let ran = apply(&rig, "three.yaml", &["--server", &proxy.url()]).ended(status);
        assert_eq!(replicas(&rig), expected, "{manager}: {ran:?}");
        let requests = proxy.take();
        let forced = requests.iter().filter(|request| {
            request.starts_with("PATCH") && request.contains("force=true") && !request.contains("dryRun")
        });
        assert_eq!(forced.count(), if status == 0 { 2 } else { 1 }, "{requests:?}");
        if status == 1 {
            assert!(ran.stderr.contains("spec.replicas: owned by `person`"), "{ran:?}");
        }
    }
}
