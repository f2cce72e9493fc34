//! Objects that exist before a run adds them to its ApplySet, and runs that would prune too much.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::{DEPLOYMENT, Sets, maps, names};

fn services(names: &[&str]) -> String {
    names.iter().fold(String::new(), |mut text, name| {
        let _ = write!(
            text,
            "\
---
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: NAME}}
spec: {{ports: [{{port: 80}}]}}
"
        );
        text
    })
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn adopted_object_is_reported_and_pruned_only_with_consent() {
    let sets = Sets::new();
    let create = ["-n", &sets.rig.name, "create", "configmap", "precious", "--from-literal=a=b"];
    sets.rig.kubectl(&create);
    let both = maps(&["precious", "own"]);
    let set = ["--applyset=shop", "-n", &sets.rig.name, "-f", "set.yaml"];
    sets.rig.file("set.yaml", &both);
    let diff = sets.rig.smp(&[&["diff"], &set[..]].concat()).ended(1);
    assert!(diff.stderr.contains("configmap/precious would be adopted"), "{diff:?}");
    for (dry_run, status) in [("--dry-run=server", " (server dry run)"), ("--dry-run=none", "")] {
        let ran = sets.smp("shop", &both, &[dry_run]).ended(0);
        assert!(ran.stdout.contains(&format!("configmap/precious adopted{status}\n")), "{ran:?}");
        assert!(ran.stdout.contains(&format!("configmap/own created{status}\n")), "{ran:?}");
    }
    let again = sets.smp("shop", &both, &[]).ended(0);
    assert!(again.stdout.contains("configmap/precious unchanged"), "adopted once: {again:?}");

    let left = sets.smp("shop", &maps(&["own"]), &[]).ended(0);
    assert!(left.stderr.contains("configmap/precious is not pruned: it existed before"), "{left:?}");
    assert!(left.stderr.contains("--prune-adopted"), "{left:?}");
    assert_eq!(sets.members("configmap"), names(&["own", "precious"]));
    sets.smp("shop", &maps(&["own"]), &["--prune-adopted"]).ended(0);
    assert!(!sets.rig.exists("configmap/precious"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn rejected_adoption_changes_nothing() {
    let sets = Sets::new();
    sets.rig.kubectl(&["-n", &sets.rig.name, "create", "configmap", "precious", "--from-literal=a=other"]);
    let before = sets.rig.live("configmap/precious", "{.metadata.resourceVersion}");
    let ran = sets.smp("shop", &maps(&["precious"]), &[]).ended(1);
    assert!(ran.stderr.contains("data.a: owned by `kubectl-create`"), "{ran:?}");
    assert_eq!(sets.rig.live("configmap/precious", "{.metadata.resourceVersion}"), before);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_that_were_applied_before_join_and_are_pruned() {
    let sets = Sets::new();
    sets.rig.file("before.yaml", &maps(&["client", "own"]));
    sets.rig.kubectl(&["apply", "-f", "before.yaml"]);
    sets.rig.file("ours.yaml", &maps(&["ours"]));
    sets.rig.smp(&["apply", "-f", "ours.yaml"]).ended(0);
    let ran = sets.smp("shop", &maps(&["client", "own", "ours"]), &[]).ended(0);
    assert!(ran.stderr.contains("note: 3 objects were applied before without an ApplySet"), "{ran:?}");
    assert!(!ran.stdout.contains("adopted"), "{ran:?}");
    sets.smp("shop", &maps(&["own"]), &[]).ended(0);
    assert_eq!(sets.members("configmap"), names(&["own"]));
    assert!(!sets.rig.exists("configmap/client") && !sets.rig.exists("configmap/ours"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_of_other_tools_are_refused() {
    let sets = Sets::new();
    let namespace = &sets.rig.name;
    let marks: [(&str, &[&str], &str); 5] = [
        ("annotate", &["meta.helm.sh/release-name=web"], "the Helm release `web`"),
        ("annotate", &["argocd.argoproj.io/tracking-id=web:/ConfigMap:x/y"], "the Argo CD application `web`"),
        ("label", &["argocd.argoproj.io/instance=web"], "the Argo CD application `web`"),
        (
            "label",
            &["kustomize.toolkit.fluxcd.io/name=apps", "kustomize.toolkit.fluxcd.io/namespace=flux"],
            "the Flux Kustomization `apps` in flux",
        ),
        ("label", &["applyset.kubernetes.io/part-of=applyset-x-v1"], "another ApplySet"),
    ];
    for (i, (command, mark, owner)) in marks.into_iter().enumerate() {
        let (name, set) = (format!("m{i}"), format!("s{i}"));
        let object = format!("configmap/{name}");
        sets.rig.kubectl(&["-n", namespace, "create", "configmap", &name, "--from-literal=a=b"]);
        sets.rig.kubectl(&[&["-n", namespace, command, &object], mark].concat());
        let both = maps(&["new", &name]);
        for dry_run in ["--dry-run=server", "--dry-run=none"] {
            let ran = sets.smp(&set, &both, &[dry_run]).ended(1);
            assert!(ran.stderr.contains(&format!("{object} belongs to {owner}")), "{owner}: {ran:?}");
            assert!(ran.stderr.contains("nothing was sent to the cluster"), "{ran:?}");
            assert!(!sets.rig.exists("configmap/new"), "{owner}");
        }
        let ran = sets.smp(&set, &maps(&[&name]), &["--adopt", "--force-conflicts"]).ended(0);
        assert_eq!(ran.stdout, format!("{object} adopted\n"));
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn run_that_would_prune_most_of_a_set_stops() {
    let sets = Sets::new();
    let all = ["a", "b", "c", "d", "e", "f", "g"];
    sets.smp("shop", &(maps(&all) + &services(&["s", "t"])), &[]).ended(0);
    let few = maps(&["a", "b"]) + &services(&["s"]);
    let prunes = |more: &[&str]| sets.smp("shop", &few, more);
    let ran = prunes(&[]).ended(1);
    let error = "6 of the 9 objects in the ApplySet would be pruned: more than half";
    assert!(ran.stderr.contains(error) && ran.stderr.contains("nothing was sent"), "{ran:?}");
    for object in ["configmap/c", "configmap/g", "service/t"] {
        assert!(ran.stderr.contains(&format!("note: {object} in {}", sets.rig.name)), "{ran:?}");
    }
    assert!(ran.stderr.contains("--prune-limit=6"), "{ran:?}");
    sets.rig.file("set.yaml", &few);
    let diff = sets.rig.smp(&["diff", "--applyset=shop", "-n", &sets.rig.name, "-f", "set.yaml"]).ended(2);
    assert!(diff.stderr.contains(error) && diff.stdout.contains("ConfigMap"), "{diff:?}");
    prunes(&["--prune-limit=5"]).ended(1);
    prunes(&["--prune-limit=50%"]).ended(1);
    assert!(sets.rig.exists("configmap/g"));

    let without_services = sets.smp("shop", &maps(&all), &[]).ended(1);
    assert!(without_services.stderr.contains("all objects of the kind Service"), "{without_services:?}");
    sets.smp("shop", &(maps(&all[..4]) + &services(&["s", "t"])), &[]).ended(0);
    assert_eq!(sets.members("configmap"), names(&all[..4]));
    prunes(&["--prune-limit=70%"]).ended(0);
    assert_eq!(sets.members("configmap"), names(&["a", "b"]));
    // A last object of a kind may leave, and so may a few objects.
    sets.smp("shop", &(maps(&["a", "b"]) + DEPLOYMENT), &[]).ended(0);
    assert!(!sets.rig.exists("service/s"));
}

fn git(directory: &Path, args: &[&str]) {
    let ran = Command::new("git").arg("-C").arg(directory).args(args).output().expect("git on the PATH");
    assert!(ran.status.success(), "git {args:?}: {ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn set_that_was_applied_from_another_target_is_not_pruned() {
    let sets = Sets::new();
    let (prod, test) = ("prod/set.yaml", "test/set.yaml");
    sets.rig.file(prod, &maps(&["a", "b", "c"]));
    sets.rig.file(test, &maps(&["a", "b"]));
    git(&sets.rig.path("."), &["init", "--quiet"]);
    git(&sets.rig.path("."), &["remote", "add", "origin", "https://me:hunter2@example.com/acme/shop.git"]);
    let apply = |file: &str, more: &[&str]| {
        let args = ["apply", "--prune", "--applyset=shop", "-n", &sets.rig.name, "-f", file];
        sets.rig.smp(&[&args[..], more].concat())
    };
    apply(prod, &[]).ended(0);
    let annotations = sets.rig.live("secret/shop", "{.metadata.annotations}");
    assert!(annotations.contains(r#""smp.kubectl.dev/target":"prod/set.yaml""#), "{annotations}");
    assert!(annotations.contains(r#""smp.kubectl.dev/repository":"example.com/acme/shop""#), "{annotations}");
    let ran = apply(test, &[]).ended(1);
    let reason = "was last applied from prod/set.yaml of example.com/acme/shop, not test/set.yaml of";
    assert!(ran.stderr.contains(reason), "{ran:?}");
    assert!(sets.rig.exists("configmap/c"));
    sets.rig.file(test, &maps(&["a", "b", "c", "d"]));
    apply(test, &["--dry-run=server"]).ended(0);
    sets.rig.file(test, &maps(&["a", "b"]));
    apply(test, &["--prune-limit=1"]).ended(0);
    apply(prod, &[]).ended(0);
    assert_eq!(sets.members("configmap"), names(&["a", "b", "c"]));
}
