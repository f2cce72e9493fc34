//! The history of ApplySets, and rollbacks.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::documents;
use super::rig::{Ran, Rig};
use super::sets::{Sets, maps, names, shelf};

const SECRET: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: NAME}
stringData: {password: VALUE}
";

fn applyset(rig: &Rig, args: &[&str], status: i32) -> Ran {
    rig.smp(&[&["applyset"], args, &["-n", &rig.name]].concat()).ended(status)
}

fn history(rig: &Rig) -> Vec<Value> {
    serde_json::from_str(&applyset(rig, &["history", "shop", "-o", "json"], 0).stdout).expect("JSON")
}

fn numbers(rig: &Rig) -> Vec<u64> {
    history(rig).iter().map(|one| one["revision"].as_u64().expect("a number")).collect()
}

/// The stored Secrets of the history.
fn stored(rig: &Rig) -> Vec<Value> {
    let args = ["-n", &rig.name, "get", "secrets", "-l", "smp.kubectl.dev/history-of", "-o", "json"];
    let list: Value = serde_json::from_str(&rig.kubectl(&args)).expect("JSON");
    list["items"].as_array().expect("items").clone()
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn each_change_of_the_manifests_is_a_revision() {
    let sets = Sets::new();
    let none = applyset(&sets.rig, &["history", "shop"], 0);
    assert_eq!(none.stderr, "note: the ApplySet has no revisions\n");
    for text in [maps(&["a"]), maps(&["a", "b"]), maps(&["a", "b"]), maps(&["b"])] {
        let ran = sets.smp("shop", &text, &[]).ended(0);
        assert!(!ran.stderr.contains("revision"), "{ran:?}");
    }
    assert_eq!(numbers(&sets.rig), [1, 2, 3], "the same manifests are no revision");
    let table = applyset(&sets.rig, &["history", "shop"], 0).stdout;
    assert!(table.starts_with("REVISION   APPLIED ") && table.lines().count() == 4, "{table}");
    let first = &stored(&sets.rig)[0];
    let owner = &first["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["name"]), (&json!("Secret"), &json!("shop")), "gone with the set");
    assert_eq!(owner["uid"], sets.rig.live("secret/shop", "{.metadata.uid}"));
    sets.smp("shop", &maps(&["c", "b"]), &["--history=2"]).ended(0);
    assert_eq!(numbers(&sets.rig), [3, 4]);
    sets.smp("shop", &maps(&["d", "b"]), &["--history=0"]).ended(0);
    sets.smp("shop", &maps(&["e", "b"]), &["--dry-run=server"]).ended(0);
    assert_eq!(numbers(&sets.rig), [3, 4]);
    assert_eq!(sets.members("secret"), names(&[]), "the history is no member");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn rollback_gives_the_objects_of_the_revision() {
    let sets = Sets::new();
    let rig = &sets.rig;
    let first = maps(&["a", "b"]);
    let live = || {
        rig.kubectl(&[
            "-n",
            &rig.name,
            "get",
            "configmaps",
            "-l",
            "applyset.kubernetes.io/part-of",
            "-o",
            "jsonpath={range .items[*]}{.metadata.name}={.data}{end}",
        ])
    };
    sets.smp("shop", &first, &[]).ended(0);
    let before = live();
    let second = [maps(&["b"]).replace("a: b", "a: changed, new: x"), maps(&["c"])].concat();
    sets.smp("shop", &second, &[]).ended(0);
    rig.kubectl(&["-n", &rig.name, "label", "configmap/b", "team=x"]);
    assert_ne!(live(), before);

    let diff = rig.smp(&["diff", "--applyset=shop", "--revision=1", "-n", &rig.name, "-o", "plan"]).ended(1);
    for line in ["created   configmap/a in ", "  data.a: changed -> b", "pruned    configmap/c in "] {
        assert!(diff.stdout.contains(line), "{line}: {diff:?}");
    }
    let plan = applyset(rig, &["rollback", "shop", "--plan"], 1);
    assert_eq!(plan.stdout, diff.stdout);
    assert!(plan.stderr.starts_with("note: revision 1 of 2"), "{plan:?}");
    let ran = applyset(rig, &["rollback", "shop"], 0);
    assert!(
        ran.stdout.contains("configmap/a created") && ran.stdout.contains("configmap/c pruned"),
        "{ran:?}"
    );
    assert_eq!(live(), before);
    assert_eq!(rig.live("configmap/b", "{.metadata.labels.team}"), "x", "fields of others stay");
    let last = history(rig).pop().expect("a revision");
    assert_eq!((&last["revision"], &last["rollbackOf"]), (&json!(3), &json!(1)));
    // A rollback of the rollback, by number.
    applyset(rig, &["rollback", "shop", "--to-revision=2"], 0);
    assert!(rig.exists("configmap/c") && !rig.exists("configmap/a"));
    assert_eq!(rig.live("configmap/b", "{.data.a}"), "changed");

    for (args, error) in [
        (&["rollback", "shop", "--to-revision=9"][..], "the ApplySet secret/shop has no revision 9"),
        (&["rollback", "other"], "the ApplySet secret/other has no earlier revision"),
    ] {
        let ran = applyset(rig, args, 1);
        assert!(ran.stderr.contains(error) && ran.stdout.is_empty(), "{ran:?}");
    }
    let both =
        rig.smp(&["diff", "--applyset=shop", "--revision=1", "-n", &rig.name, "-f", "set.yaml"]).ended(2);
    assert!(both.stderr.contains("cannot be used with"), "{both:?}");
    let both = applyset(rig, &["rollback", "shop", "-f", "set.yaml"], 2);
    assert!(both.stderr.contains("cannot be used with a target or --filename"), "{both:?}");
    let alone = rig.smp(&["diff", "--revision=1", "-n", &rig.name]).ended(2);
    assert!(alone.stderr.contains("`--revision` requires --applyset"), "{alone:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn values_of_secrets_are_withheld_from_the_history() {
    let sets = Sets::new();
    let rig = &sets.rig;
    let with = |password: &str, more: &str| documents(&[&SECRET.replace("VALUE", password), &maps(&[more])]);
    sets.smp("shop", &with("one-password", "a"), &[]).ended(0);
    sets.smp("shop", &with("one-password", "b"), &[]).ended(0);
    for secret in stored(rig) {
        let content = secret["data"]["content"].as_str().expect("content");
        let command = format!("echo {content} | base64 -d | gunzip");
        let output = std::process::Command::new("sh").args(["-c", &command]).output().expect("gunzip");
        let text = String::from_utf8(output.stdout).expect("JSON");
        assert!(text.contains("\"login\"") && !text.contains("password\":\""), "{text}");
        assert!(!text.contains("one-password") && !text.contains("b25lLXBhc3N3b3Jk"), "{text}");
    }
    applyset(rig, &["rollback", "shop"], 0);
    assert!(rig.exists("configmap/a") && !rig.exists("configmap/b"));
    assert_eq!(
        rig.live("secret/login", "{.data.password}"),
        "b25lLXBhc3N3b3Jk",
        "taken from the live Secret"
    );

    sets.smp("shop", &with("two-password", "b"), &["--history-secrets"]).ended(0);
    let refused = applyset(rig, &["rollback", "shop"], 1);
    let error = "the revision does not contain the value of `password` of secret/login";
    assert!(refused.stderr.contains(error) && refused.stdout.is_empty(), "{refused:?}");
    assert!(!rig.exists("configmap/a"), "nothing was sent");
    sets.smp("shop", &with("three-password", "c"), &[]).ended(0);
    let with_secrets = history(rig).len() - 1;
    applyset(rig, &["rollback", "shop", &format!("--to-revision={with_secrets}")], 0);
    assert_eq!(rig.live("secret/login", "{.data.password}"), "dHdvLXBhc3N3b3Jk");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn large_revisions_need_several_secrets() {
    let sets = Sets::new();
    // Text that hardly compresses.
    let mut state = 1_u64;
    let mut text = || {
        let mut text = String::new();
        while text.len() < 600_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let _ = write!(text, "{state:016x}");
        }
        text
    };
    let large =
        ["a", "b", "c"].map(|name| maps(&[name]).replace("a: b", &format!("a: '{}'", text()))).concat();
    sets.smp("shop", &large, &[]).ended(0);
    let secrets = stored(&sets.rig);
    assert!(secrets.len() > 1, "{}", secrets.len());
    sets.smp("shop", &maps(&["a"]), &["--prune-limit=100%"]).ended(0);
    let before = sets.rig.live("configmap/a", "{.data.a}");
    assert_eq!(before, "b");
    applyset(&sets.rig, &["rollback", "shop"], 0);
    assert_eq!(sets.rig.live("configmap/c", "{.data.a}").len(), 600_000);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn apply_succeeds_without_permission_for_the_history() {
    let sets = Sets::new();
    let (rig, name) = (&sets.rig, sets.rig.name.as_str());
    let role = "--resource=configmaps";
    rig.kubectl(&["-n", name, "create", "role", "maps", "--verb=*", role]);
    rig.kubectl(&["-n", name, "create", "rolebinding", "maps", "--role=maps", &format!("--user={name}")]);
    rig.file("set.yaml", &maps(&["a"]));
    let args = ["apply", "--prune", "--applyset=configmaps/shop", "-n", name, "-f", "set.yaml", "--as", name];
    let may =
        || rig.try_kubectl(&["auth", "can-i", "list", "configmaps", "--as", name, "-n", name]).status == 0;
    super::eventually("the server knows the role", may);
    let ran = rig.smp(&args).ended(0);
    assert_eq!(ran.stderr.matches("no revision was recorded: secrets is forbidden").count(), 1, "{ran:?}");
    assert!(!rig.smp(&[&args[..], &["--history=0"]].concat()).ended(0).stderr.contains("revision"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn history_of_a_cluster_scoped_parent_is_in_the_namespace_that_it_names() {
    let sets = Sets::new();
    let rig = &sets.rig;
    let set = shelf(rig);
    let apply = |name: &str| {
        rig.file("maps.yaml", &maps(&[name]));
        rig.smp(&["apply", "--prune", "--prune-limit=100%", "--applyset", &set, "-f", "maps.yaml"]).ended(0)
    };
    let ran = apply("a");
    assert!(ran.stderr.contains("no revision was recorded: the cluster-scoped parent"), "{ran:?}");
    let none = rig.smp(&["applyset", "history", &set]).ended(1);
    assert!(none.stderr.contains("smp.kubectl.dev/history-namespace=NAMESPACE"), "{none:?}");

    rig.kubectl(&["annotate", &set, &format!("smp.kubectl.dev/history-namespace={}", rig.name)]);
    for name in ["a", "b"] {
        assert!(!apply(name).stderr.contains("revision"));
    }
    let listed = rig.smp(&["applyset", "history", &set, "-o", "json"]).ended(0).stdout;
    let listed: Vec<Value> = serde_json::from_str(&listed).expect("JSON");
    assert_eq!((listed.len(), stored(rig).len()), (2, 2), "{listed:?}");
    assert_eq!(stored(rig)[0]["metadata"]["ownerReferences"][0]["kind"], "Shelf");
    rig.smp(&["applyset", "rollback", &set, "--prune-limit=100%"]).ended(0);
    assert_eq!(rig.kubectl(&["-n", &rig.name, "get", "cm", "a", "-o", "name"]), "configmap/a\n");
    assert_ne!(rig.try_kubectl(&["-n", &rig.name, "get", "cm", "b"]).status, 0, "pruned");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn stored_version_of_a_crd_is_not_taken_away() {
    let sets = Sets::new();
    let rig = &sets.rig;
    let crd = |versions: &str| {
        format!(
            "\
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: gadgets.NAME.example.com}}
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {{plural: gadgets, singular: gadget, kind: Gadget}}
  versions: [{versions}]
"
        )
    };
    let version = |name: &str, storage: bool| {
        format!(
            "{{name: {name}, served: true, storage: {storage}, schema: {{openAPIV3Schema: {{type: object}}}}}}"
        )
    };
    let old = [maps(&["a"]), crd(&version("v1", true))].concat();
    let new = [maps(&["a"]), crd(&[version("v1", false), version("v2", true)].join(", "))].concat();
    sets.smp("shop", &old, &[]).ended(0);
    sets.smp("shop", &new, &[]).ended(0);
    let ran = applyset(rig, &["rollback", "shop"], 1);
    let error = format!("the CRD gadgets.{}.example.com of the revision lacks version v2", rig.name);
    assert!(ran.stderr.contains(&error) && ran.stdout.is_empty(), "{ran:?}");
}
