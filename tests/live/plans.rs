//! Plans: what they show is what an apply then does, and saved ones are applied only while that is so.

use std::collections::BTreeMap;

use serde_json::Value;

use super::proxy::Proxy;
use super::rig::{Ran, Rig};
use super::sets::{Sets, maps, shelf};
use super::{DEPLOYMENT, documents};

const SECRET: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: NAME}
stringData: {password: VALUE}
";

/// The flags that apply the test's set.
fn set_flags(rig: &Rig) -> [String; 7] {
    let own = ["--prune", "--applyset=shop", "-n", &rig.name, "-f", "set.yaml", "--prune-limit=100%"];
    own.map(String::from)
}

fn apply(rig: &Rig, more: &[&str]) -> Ran {
    let flags = set_flags(rig);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    rig.smp(&[&["apply"], &flags[..], more].concat())
}

/// The resource versions of all objects of the test.
fn versions(rig: &Rig) -> String {
    let kinds = "configmaps,secrets,deployments,statefulsets,pods,services";
    let path = "{range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}";
    rig.kubectl(&["-n", &rig.name, "get", kinds, "-o", &format!("jsonpath={path}")])
}

/// The change of each object in a JSON plan.
fn planned(ran: &Ran) -> BTreeMap<String, String> {
    let plan: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let objects = plan["objects"].as_array().expect("objects").iter();
    objects.map(|one| (key(one), one["change"].as_str().expect("a change").to_string())).collect()
}

/// The action that an apply must report for each object of a JSON plan, except for kept ones.
pub(super) fn expected_actions(plan: &Ran) -> BTreeMap<String, String> {
    let words = [
        ("created", "created"),
        ("moved", "created"),
        ("changed", "configured"),
        ("replaced", "replaced"),
        ("adopted", "adopted"),
        ("pruned", "pruned"),
    ];
    let words = BTreeMap::from(words);
    let changes = planned(plan).into_iter().filter(|(_, change)| change != "kept");
    changes.map(|(key, change)| (key, words[change.as_str()].to_string())).collect()
}

fn key(object: &Value) -> String {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_string();
    format!("{}/{}/{}", text("kind"), text("namespace"), text("name"))
}

/// The action on each object of an apply, except for unchanged and kept ones.
pub(super) fn done(ran: &Ran) -> BTreeMap<String, String> {
    let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let actions = lines.map(|one| (key(&one), one["action"].as_str().expect("an action").to_string()));
    actions.filter(|(_, action)| !["unchanged", "kept"].contains(&action.as_str())).collect()
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn plan_shows_what_apply_then_does() {
    let sets = Sets::new();
    let rig = &sets.rig;
    let other = format!("{}-b", rig.name);
    rig.kubectl(&["create", "namespace", &other]);
    let parent = shelf(rig);
    let flags = ["--prune", "--applyset", &parent, "-f", "set.yaml", "--prune-limit=100%"];
    rig.file("set.yaml", &documents(&[DEPLOYMENT, &maps(&["stays", "changes", "leaves", "moves"])]));
    rig.smp(&[&["apply"], &flags[..]].concat()).ended(0);
    rig.kubectl(&["-n", &rig.name, "create", "configmap", "precious", "--from-literal=a=b"]);
    let moved = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: moves, namespace: NAME-b}
data: {a: b}
";
    let changed = maps(&["changes"]).replace("a: b", "a: c");
    let replaced = DEPLOYMENT.replace("app: web", "app: new");
    rig.file("set.yaml", &documents(&[&replaced, &maps(&["stays", "precious", "new"]), &changed, moved]));

    let run =
        |more: &[&str]| rig.smp(&[&["apply", "--replace-immutable=Deployment"], &flags[..], more].concat());
    let at_start = versions(rig);
    let plan = run(&["--plan", "-o", "json"]).ended(1);
    let text = run(&["--plan"]).ended(1);
    assert_eq!(versions(rig), at_start, "a plan changes nothing");
    for line in [
        format!("adopted   configmap/precious in {}", rig.name),
        "  risk adoption: it exists, and the ApplySet did not create it".into(),
        format!("moved     configmap/moves in {other}, from {}", rig.name),
        format!("pruned    configmap/moves in {}, moves to {other}", rig.name),
        format!("replaced  deployment.apps/web in {}", rig.name),
        "  data.a: b -> c".into(),
    ] {
        assert!(text.stdout.lines().any(|shown| shown == line), "{line}: {text:?}");
    }
    let expected = expected_actions(&plan);
    assert_eq!(expected.len(), 7, "{expected:?}");
    assert_eq!(done(&run(&["--results=json"]).ended(0)), expected);
    let again = run(&["--plan"]).ended(0);
    assert_eq!((again.stdout.as_str(), again.stderr.as_str()), ("", "note: 6 objects: 6 unchanged\n"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn plan_names_what_is_deleted_along() {
    let rig = Rig::new();
    rig.create_namespace();
    let (owned, inner) = (format!("{}-owned", rig.name), "in-it");
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAME-owned}\n";
    rig.file("set.yaml", &documents(&[DEPLOYMENT, namespace, &maps(&["stays"])]));
    // The namespace of the parent is that of the other objects.
    apply(&rig, &[]).ended(0);
    rig.kubectl(&["-n", &owned, "create", "configmap", inner]);
    let uid = rig.live("deployment/web", "{.metadata.uid}");
    let owner = |kind: &str, version: &str, uid: &str| {
        format!(
            "ownerReferences: [{{apiVersion: {version}, kind: {kind}, name: web, controller: true, uid: {uid}}}]"
        )
    };
    let set = format!(
        "\
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{name: web, namespace: NAME, {}}}
spec: {{selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{{name: a, image: a}}]}}}}}}
",
        owner("Deployment", "apps/v1", &uid)
    );
    rig.file("rs.yaml", &set);
    rig.kubectl(&["apply", "-f", "rs.yaml"]);
    let uid = rig.live("replicaset/web", "{.metadata.uid}");
    for pod in ["p1", "p2"] {
        let text = format!(
            "\
apiVersion: v1
kind: Pod
metadata: {{name: {pod}, namespace: NAME, {}}}
spec: {{containers: [{{name: a, image: a}}]}}
",
            owner("ReplicaSet", "apps/v1", &uid)
        );
        rig.file("pod.yaml", &text);
        rig.kubectl(&["apply", "-f", "pod.yaml"]);
    }
    rig.file("set.yaml", &maps(&["stays"]));
    let kept = apply(&rig, &["--plan"]).ended(1);
    assert!(kept.stdout.contains(&format!("kept      namespace/{owned}: it still contains")), "{kept:?}");
    let plan = apply(&rig, &["--plan", "--prune-nonempty=Namespace"]).ended(1);
    for line in [
        format!("pruned    namespace/{owned}\n  risk data-loss: it still contains configmap/in-it\n"),
        format!(
            "pruned    deployment.apps/web in {}\n  risk downtime: 2 Pods would be deleted with it\n",
            rig.name
        ),
    ] {
        assert!(plan.stdout.contains(&line), "{line}: {plan:?}");
    }
    assert!(plan.stderr.contains("2 would be pruned, 1 unchanged, 2 with risks"), "{plan:?}");
    let orphan = apply(&rig, &["--plan", "--prune-nonempty=Namespace", "--cascade=orphan"]).ended(1);
    assert!(!orphan.stdout.contains("downtime"), "{orphan:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn plan_names_fields_that_are_taken() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    rig.kubectl(&["-n", &rig.name, "scale", "deployment/web", "--replicas=5"]);
    let refused = rig.smp(&["apply", "-f", "web.yaml", "--plan"]).ended(2);
    assert!(refused.stderr.contains("spec.replicas: owned by `kubectl`"), "{refused:?}");
    let plan = rig.smp(&["apply", "-f", "web.yaml", "--plan", "--force-conflicts"]).ended(1);
    assert!(plan.stdout.contains("  risk ownership: 1 field is owned by `kubectl`\n"), "{plan:?}");
    assert!(plan.stdout.contains("  spec.replicas: 5 -> 2\n"), "{plan:?}");
    assert!(!plan.stderr.contains("error"), "{plan:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn saved_plan_is_applied_only_while_it_is_true() {
    let rig = Rig::new();
    rig.create_namespace();
    let manifests = |data: &str, password: &str| {
        let map = maps(&["settings"]).replace("a: b", data);
        rig.file("set.yaml", &documents(&[DEPLOYMENT, &map, &SECRET.replace("VALUE", password)]));
    };
    manifests("a: b", "first-password");
    apply(&rig, &[]).ended(0);
    manifests("a: new", "second-password");
    let saved = apply(&rig, &["--plan-file=plan.json"]).ended(1);
    assert!(saved.stderr.contains("saved the plan to plan.json"), "{saved:?}");
    let text = std::fs::read_to_string(rig.path("plan.json")).expect("the plan");
    assert!(!text.contains("password\": \"") && !saved.stdout.contains("-password"), "{saved:?}\n{text}");
    for secret in ["first-password", "second-password", "Zmlyc3QtcGFzc3dvcmQ", "c2Vjb25kLXBhc3N3b3Jk"] {
        assert!(!text.contains(secret), "{text}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(rig.path("plan.json")).expect("the plan").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let outdated = |more: &[&str], reason: &str| {
        let at_start = versions(&rig);
        let ran = apply(&rig, &[&["--from-plan=plan.json"], more].concat()).ended(1);
        assert!(ran.stderr.contains("error") && ran.stderr.contains("the plan is outdated"), "{ran:?}");
        assert!(ran.stderr.contains(reason), "{reason}: {ran:?}");
        assert_eq!((ran.stdout.as_str(), versions(&rig)), ("", at_start), "nothing was done");
    };
    outdated(&["--cascade=orphan"], "--cascade was `background` in the plan, and is `orphan`");
    outdated(&["--force-conflicts"], "--force-conflicts was `false` in the plan, and is `true`");
    manifests("a: newer", "second-password");
    outdated(&[], "configmap/settings would get other content");
    manifests("a: new", "third-password");
    outdated(&[], "secret/login would get other content");
    manifests("a: new", "second-password");
    rig.kubectl(&["-n", &rig.name, "label", "configmap/settings", "team=a"]);
    outdated(&[], "configmap/settings has changed since (resourceVersion ");
    rig.kubectl(&["-n", &rig.name, "label", "configmap/settings", "team-"]);
    rig.kubectl(&["-n", &rig.name, "delete", "secret/login"]);
    outdated(&[], "secret/login would be created, not changed");
    apply(&rig, &["--plan-file=plan.json"]).ended(1);
    // Controllers write the status all the time.
    let status = r#"{"status":{"replicas":1}}"#;
    rig.kubectl(&[
        "-n",
        &rig.name,
        "patch",
        "deployment/web",
        "--subresource=status",
        "--type=merge",
        "-p",
        status,
    ]);
    let applied = apply(&rig, &["--from-plan=plan.json", "--results=json"]).ended(0);
    let name = &rig.name;
    let want = BTreeMap::from([
        (format!("ConfigMap/{name}/settings"), "configured".to_string()),
        (format!("Secret/{name}/login"), "created".to_string()),
    ]);
    assert_eq!(done(&applied), want);
    outdated(&[], "configmap/settings would no longer be changed");
    rig.file("other.json", "{\"bindings\": 1}");
    let invalid = apply(&rig, &["--from-plan=other.json"]).ended(1);
    assert!(invalid.stderr.contains("other.json is not a saved plan"), "{invalid:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn plan_that_would_fail_is_not_saved() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("set.yaml", &documents(&["apiVersion: v1\nkind: Nothing\nmetadata: {name: a}\n", DEPLOYMENT]));
    let ran = rig.smp(&["apply", "-f", "set.yaml", "--plan-file=plan.json"]).ended(2);
    assert!(ran.stderr.contains("the plan was not saved to plan.json: an apply would fail"), "{ran:?}");
    assert!(!rig.path("plan.json").exists());
    let missing = rig.smp(&["apply", "-f", "nothing.yaml", "--plan"]).ended(2);
    assert!(missing.stdout.is_empty(), "{missing:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn namespaces_to_create_are_part_of_the_plan() {
    let rig = Rig::new();
    rig.file("set.yaml", &maps(&["a"]));
    let plan = apply(&rig, &["--plan", "--create-namespace"]).ended(1);
    let name = &rig.name;
    assert_eq!(plan.stdout, format!("created   configmap/a in {name}\ncreated   namespace/{name}\n"));
    assert_ne!(rig.try_kubectl(&["get", "namespace", name]).status, 0);
    assert!(apply(&rig, &["--create-namespace"]).ended(0).stdout.contains("configmap/a created"));
    rig.kubectl(&["delete", "namespace", name, "--wait=false"]);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn plan_sends_as_many_requests_as_diff() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("set.yaml", &documents(&[DEPLOYMENT, &maps(&["a", "b", "c"])]));
    apply(&rig, &[]).ended(0);
    rig.file("set.yaml", &documents(&[DEPLOYMENT, &maps(&["a"])]));
    let proxy = Proxy::witness(&rig);
    let url = proxy.url();
    let diff = ["diff", "--applyset=shop", "-n", &rig.name, "-f", "set.yaml", "--prune-limit=100%"];
    rig.smp(&[&diff[..], &["--server", &url]].concat()).ended(1);
    let by_diff = proxy.take().len();
    apply(&rig, &["--plan", "--server", &url]).ended(1);
    let by_plan = proxy.take();
    assert!(by_plan.len() <= by_diff, "{by_diff} requests of diff, and {by_plan:#?}");
    assert!(
        by_plan.iter().all(|head| !head.starts_with("PATCH") || head.contains("dryRun=All")),
        "{by_plan:#?}"
    );
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn plan_is_applied_after_confirmation() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("set.yaml", &maps(&["a"]));
    let no_terminal = rig.smp(&["apply", "--confirm", "-f", "set.yaml"]).ended(2);
    assert!(no_terminal.stderr.contains("--confirm requires a terminal"), "{no_terminal:?}");
    for (answer, status) in [("n\n", 1), ("\n", 1), ("y\n", 0)] {
        assert!(!rig.exists("configmap/a"), "{answer:?}");
        let ran = rig.smp_in_terminal(&["apply", "--confirm", "-f", "set.yaml"], answer).ended(status);
        assert!(ran.stdout.contains("created   configmap/a"), "{ran:?}");
        assert!(ran.stdout.contains("Apply these changes to https://"), "{ran:?}");
        assert_eq!(ran.stdout.contains("nothing was applied"), status == 1, "{ran:?}");
    }
    assert!(rig.exists("configmap/a"));
    let unchanged = rig.smp_in_terminal(&["apply", "--confirm", "-f", "set.yaml"], "").ended(0);
    assert!(!unchanged.stdout.contains("Apply these changes"), "{unchanged:?}");
}
