//! Repeated applies: after client-side apply, over immutable fields, in waves, and over connections that break.

use super::proxy::{Answer, Proxy};
use super::rig::{Rig, config_maps, eventually};
use super::{DEPLOYMENT, documents};

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn fields_of_client_side_apply_are_removed_with_the_manifest() {
    let rig = Rig::new();
    rig.create_namespace();
    let side = "      - {name: side, image: 'example.com/side:1'}\n";
    let old = DEPLOYMENT.replace("replicas: 2", "replicas: 2\n  paused: true") + side;
    rig.file("old.yaml", &old);
    rig.file("new.yaml", &DEPLOYMENT.replace("web:1", "web:2"));
    rig.kubectl(&["apply", "-f", "old.yaml"]);
    rig.kubectl(&["-n", &rig.name, "scale", "deployment/web", "--replicas=7"]);

    let diff = rig.smp(&["diff", "--force-conflicts", "-f", "new.yaml"]).ended(1);
    assert!(
        diff.stdout.contains("-  paused: true\n") && diff.stdout.contains("-        name: side\n"),
        "{diff:?}"
    );
    assert!(!diff.stdout.contains("-  revisionHistoryLimit"), "defaults come back: {}", diff.stdout);
    let dry = rig.smp(&["apply", "--dry-run=server", "--force-conflicts", "-f", "new.yaml"]).ended(0);
    assert_eq!(dry.stdout, "deployment.apps/web configured (server dry run)\n");
    let refused = rig.smp(&["apply", "-f", "new.yaml"]).ended(1);
    assert!(refused.stderr.contains("spec.replicas: owned by `kubectl`"), "{}", refused.stderr);

    rig.smp(&["apply", "--force-conflicts", "-f", "new.yaml"]).ended(0);
    assert_eq!(rig.live("deployment/web", "{.spec.paused}"), "");
    assert_eq!(rig.live("deployment/web", "{.spec.template.spec.containers[*].name}"), "web");
    assert_eq!(rig.live("deployment/web", "{.metadata.annotations}"), "");
    assert_eq!(rig.live("deployment/web", "{.metadata.managedFields[*].operation}"), "Apply");
    assert_eq!(rig.smp(&["diff", "-f", "new.yaml"]).ended(0).stdout, "");
    let again = rig.smp(&["apply", "-f", "new.yaml"]).ended(0);
    assert_eq!(again.stdout, "deployment.apps/web unchanged\n");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn missing_namespaces_are_one_error_and_created_if_enabled() {
    let rig = Rig::new();
    rig.file("maps.yaml", &config_maps(4));
    let refused = rig.smp(&["apply", "-f", "maps.yaml"]).ended(1);
    assert_eq!(refused.stderr.matches("error[remote]: namespaces").count(), 1, "{refused:?}");
    for part in
        ["3 more objects cannot be applied", "configmap/c1, configmap/c2, configmap/c3", "--create-namespace"]
    {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    let name = &rig.name;
    let create = ["apply", "-f", "maps.yaml", "--create-namespace"];
    let dry = rig.smp(&[&create[..], &["--dry-run=server"]].concat()).ended(0);
    assert!(
        dry.stdout.starts_with(&format!("namespace/{name} created (server dry run)\nconfigmap/c0 created"))
    );
    rig.smp(&[&create[..], &["--dry-run=client"]].concat()).ended(2);
    assert!(!rig.exists(&format!("namespace/{name}")), "{dry:?}");
    let created = rig.smp(&create).ended(0);
    assert!(
        created.stdout.starts_with(&format!("namespace/{name} created\nconfigmap/c0 created")),
        "{created:?}"
    );
    assert!(created.stderr.contains("5 objects: 5 created"), "{created:?}");
    let again = rig.smp(&create).ended(0);
    assert!(
        !again.stdout.contains("namespace/") && again.stderr.contains("4 objects: 4 unchanged"),
        "{again:?}"
    );
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn namespace_of_an_applyset_is_created_and_not_pruned() {
    let rig = Rig::new();
    let name = rig.name.clone();
    let set = ["--prune", "--applyset=shop", "-n", &name, "--create-namespace"];
    rig.file("maps.yaml", &config_maps(2));
    let ran = rig.smp(&[&["apply", "-f", "maps.yaml"][..], &set].concat()).ended(0);
    assert_eq!(ran.stdout, format!("namespace/{name} created\nconfigmap/c0 created\nconfigmap/c1 created\n"));
    rig.file("maps.yaml", &config_maps(1));
    let ran = rig.smp(&[&["apply", "-f", "maps.yaml"][..], &set].concat()).ended(0);
    assert_eq!(ran.stdout, "configmap/c0 unchanged\nconfigmap/c1 pruned\n");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn restored_backups_are_applied_without_server_fields() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("maps.yaml", &config_maps(1));
    rig.smp(&["apply", "-f", "maps.yaml"]).ended(0);
    let backup =
        rig.kubectl(&["-n", &rig.name, "get", "configmap", "c0", "-o", "yaml", "--show-managed-fields"]);
    let owners = "  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: gone, uid: old}]\n";
    rig.file("backup.yaml", &backup.replace("  name: c0\n", &["  name: c0\n", owners].concat()));
    rig.kubectl(&["-n", &rig.name, "delete", "configmap", "c0"]);
    rig.kubectl(&["-n", &rig.name, "create", "configmap", "c0", "--from-literal=i=new"]);
    for (command, status) in [("apply", 1), ("diff", 2)] {
        let ran = rig.smp(&[command, "-f", "backup.yaml"]).ended(status);
        let help =
            "the cluster sets metadata.managedFields, metadata.resourceVersion, metadata.uid: remove them";
        assert!(ran.stderr.contains(help), "{command}: {ran:?}");
    }
    let flags = ["-f", "backup.yaml", "--strip-server-fields", "--force-conflicts"];
    rig.smp(&[&["diff"], &flags[..]].concat()).ended(1);
    let ran = rig.smp(&[&["apply"], &flags[..]].concat()).ended(0);
    assert!(ran.stdout == "configmap/c0 configured\n" && ran.stderr.contains("from 1 object"), "{ran:?}");
    assert_eq!(rig.live("configmap/c0", "{.data.i}{.metadata.ownerReferences}"), "0");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn forbidden_objects_are_explained() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("maps.yaml", &config_maps(1));
    let name = &rig.name;
    let refused = |part: &str| {
        let ran = rig.smp(&["apply", "-f", "maps.yaml"]).ended(1);
        assert!(
            ran.stderr.contains(part) && !ran.stderr.contains("request the permission"),
            "{part}: {ran:?}"
        );
    };
    rig.kubectl(&["-n", name, "create", "quota", "q", "--hard=configmaps=1"]);
    let status = r#"{"status":{"hard":{"configmaps":"1"},"used":{"configmaps":"1"}}}"#;
    rig.kubectl(&["-n", name, "patch", "quota", "q", "--subresource=status", "--type=merge", "-p", status]);
    // The server's admission reads quotas from a cache.
    eventually("the quota is exceeded", || {
        rig.smp(&["apply", "-f", "maps.yaml"]).stderr.contains("exceeded quota")
    });
    refused("raise the ResourceQuota");
    rig.kubectl(&["-n", name, "delete", "quota", "q"]);
    rig.kubectl(&["delete", "namespace", name, "--wait=false"]);
    refused("wait until the namespace is gone");
}

/// The lines of a run with `--results=json`: name, action, and whether there are a reason and a duration.
fn results(rig: &Rig, args: &[&str], status: i32) -> Vec<(String, String, bool, bool)> {
    let ran = rig.smp(&[&["apply", "-f", "maps.yaml", "--results=json"], args].concat()).ended(status);
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).expect(line);
        assert_eq!(line["kind"], "ConfigMap");
        assert_eq!(
            (line["apiVersion"].as_str(), line["namespace"].as_str()),
            (Some("v1"), Some(rig.name.as_str()))
        );
        assert_eq!(line["dryRun"], args.iter().any(|arg| arg.starts_with("--dry-run")));
        let text = |field: &str| line[field].as_str().expect("a text").to_string();
        let was_sent = line["durationMilliseconds"].as_u64().expect("a number") > 0;
        (text("name"), text("action"), line["reason"].is_string(), was_sent)
    };
    ran.stdout.lines().map(line).collect()
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn results_are_printed_as_json_lines() {
    let rig = Rig::new();
    rig.create_namespace();
    let result =
        |name: &str, action: &str, has_reason: bool| (name.to_string(), action.to_string(), has_reason);
    let actions = |args: &[&str], status: i32| {
        let lines = results(&rig, args, status).into_iter();
        lines.map(|(name, action, has_reason, _)| (name, action, has_reason)).collect::<Vec<_>>()
    };
    rig.file("maps.yaml", &config_maps(2));
    for dry_run in ["--dry-run=server", "--dry-run=client"] {
        let action = if dry_run.ends_with("server") { "created" } else { "applied" };
        assert_eq!(actions(&[dry_run], 0), [result("c0", action, false), result("c1", action, false)]);
    }
    assert!(results(&rig, &[], 0).iter().all(|(_, action, _, was_sent)| action == "created" && *was_sent));
    // A field of another manager is a conflict, and the next wave is not sent.
    rig.kubectl(&[
        "-n",
        &rig.name,
        "patch",
        "configmap",
        "c0",
        "--type=merge",
        "-p",
        r#"{"data":{"i":"x"}}"#,
    ]);
    let wave = "name: c1, annotations: {smp.kubectl.dev/wave: '1'}";
    rig.file("maps.yaml", &config_maps(2).replace("name: c1", wave));
    assert_eq!(actions(&[], 1), [result("c0", "failed", true), result("c1", "skipped", false)]);
    let set = ["--prune", "--applyset=shop", "-n", &rig.name, "--force-conflicts"];
    // The other manager owns the only field of c0.
    assert_eq!(actions(&set, 0), [result("c0", "adopted", false), result("c1", "configured", false)]);
    rig.file("maps.yaml", &config_maps(1));
    assert_eq!(actions(&set, 0), [result("c0", "unchanged", false), result("c1", "pruned", false)]);
}

/// Creates an object, and then applies it client-side: both managers own fields.
fn create_and_apply(rig: &Rig) {
    rig.create_namespace();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NAME}\ndata: ";
    for (file, data) in [
        ("create.yaml", "{made: '1', both: '1'}"),
        ("apply.yaml", "{made: '1', both: '2', applied: '1'}"),
        ("next.yaml", "{made: '3', both: '3', applied: '1'}"),
        ("last.yaml", "{made: '3'}"),
    ] {
        rig.file(file, &format!("{map}{data}\n"));
    }
    rig.kubectl(&["create", "-f", "create.yaml"]);
    rig.kubectl(&["apply", "-f", "apply.yaml"]);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn ownership_of_created_and_applied_fields_is_migrated_as_by_kubectl() {
    let (ours, theirs) = (Rig::new(), Rig::new());
    let data = |rig: &Rig| rig.live("configmap/a", "{.data}");
    for rig in [&ours, &theirs] {
        create_and_apply(rig);
        let managers = rig.live("configmap/a", "{.metadata.managedFields[*].manager}");
        assert!(managers.contains("kubectl-create") && managers.contains("client-side"), "{managers}");
    }
    // Only the default manager takes fields of client-side appliers without force.
    let before = data(&ours);
    ours.smp(&["diff", "--field-manager=other", "-f", "next.yaml"]).ended(2);
    let other = ours.smp(&["apply", "--field-manager=other", "-f", "next.yaml"]).ended(1);
    assert!(other.stderr.contains("owned by `kubectl-client-side-apply`"), "{other:?}");
    assert_eq!(data(&ours), before);
    let differs = ours.smp(&["diff", "-f", "next.yaml"]).ended(1);
    assert!(!differs.stderr.contains("--force-conflicts"), "{differs:?}");
    for file in ["next.yaml", "last.yaml"] {
        ours.smp(&["apply", "-f", file]).ended(0);
        theirs.kubectl(&["apply", "--server-side", "-f", file]);
        assert_eq!(data(&ours), data(&theirs), "{file}");
    }
    assert_eq!(data(&ours), r#"{"made":"3"}"#);

    // Later changes by others stay theirs, for both programs.
    let (ours, theirs) = (Rig::new(), Rig::new());
    for rig in [&ours, &theirs] {
        create_and_apply(rig);
        let patch = r#"{"data": {"made": "other"}}"#;
        rig.kubectl(&["-n", &rig.name, "patch", "configmap", "a", "--type=merge", "-p", patch]);
    }
    let ran = ours.smp(&["apply", "-f", "next.yaml"]).ended(1);
    assert!(ran.stderr.contains("data.made: owned by `kubectl-patch`"), "{ran:?}");
    let differs = ours.smp(&["diff", "-f", "next.yaml"]);
    assert!(differs.stderr.contains("--force-conflicts"), "{differs:?}");
    assert!(theirs.try_kubectl(&["apply", "--server-side", "-f", "next.yaml"]).status != 0);
    assert_eq!(data(&ours), data(&theirs));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn the_manager_of_kubectl_keeps_its_annotation() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.kubectl(&["apply", "-f", "web.yaml"]);
    rig.smp(&["apply", "--field-manager=kubectl", "-f", "web.yaml"]).ended(0);
    assert!(rig.live("deployment/web", "{.metadata.annotations}").contains("last-applied-configuration"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn immutable_fields_are_named_and_replaced_if_enabled() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    let uid = rig.live("deployment/web", "{.metadata.uid}");
    rig.file("web.yaml", &DEPLOYMENT.replace("app: web", "app: other"));
    for args in [&["apply", "-f", "web.yaml"][..], &["diff", "-f", "web.yaml"]] {
        let ran = rig.smp(args);
        assert!(ran.status > 0 && ran.stderr.contains("spec.selector is immutable"), "{ran:?}");
        assert!(ran.stderr.contains("--replace-immutable=Deployment"), "{}", ran.stderr);
    }
    let dry =
        rig.smp(&["apply", "--dry-run=server", "--replace-immutable=deployment", "-f", "web.yaml"]).ended(0);
    assert_eq!(dry.stdout, "deployment.apps/web replaced (server dry run)\n");
    assert_eq!(rig.live("deployment/web", "{.metadata.uid}"), uid);
    rig.smp(&["apply", "--replace-immutable=StatefulSet", "-f", "web.yaml"]).ended(1);
    assert_eq!(rig.live("deployment/web", "{.metadata.uid}"), uid, "other kinds are not meant");
    let ran = rig.smp(&["apply", "--replace-immutable=deployment", "-f", "web.yaml"]).ended(0);
    assert_eq!(ran.stdout, "deployment.apps/web replaced\n");
    assert_ne!(rig.live("deployment/web", "{.metadata.uid}"), uid);

    // An object that is invalid for another reason, too, is not deleted.
    let uid = rig.live("deployment/web", "{.metadata.uid}");
    rig.file("web.yaml", &DEPLOYMENT.replace("replicas: 2", "replicas: -2"));
    rig.smp(&["apply", "--replace-immutable=deployment", "-f", "web.yaml"]).ended(1);
    assert_eq!(rig.live("deployment/web", "{.metadata.uid}"), uid);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn unknown_kind_in_replace_immutable_is_rejected() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    for set in [&[][..], &["--prune", "--applyset=shop", "-n", &rig.name]] {
        for (word, part) in [("Nope", "no such kind: `Nope`"), ("Deploymnt", "did you mean `Deployment`?")] {
            let word = format!("--replace-immutable={word}");
            let ran = rig.smp(&[&["apply", "-f", "web.yaml", &word], set].concat());
            assert!(ran.status > 0 && ran.stderr.contains("error[usage]"), "{ran:?}");
            assert!(ran.stderr.contains(part) && !ran.stderr.contains("warning["), "{part}: {ran:?}");
            assert!(!rig.exists("deployment/web") && !rig.exists("secret/shop"), "{ran:?}");
        }
    }
    // A known kind without objects in the input is fine: a pipeline passes one list for all targets.
    let ran = rig.smp(&["apply", "-f", "web.yaml", "--replace-immutable=jobs.batch,sts"]).ended(0);
    assert!(!ran.stderr.contains("warning"), "{ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn duplicate_object_is_rejected_before_anything_is_sent() {
    let rig = Rig::new();
    rig.create_namespace();
    let map = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: m, namespace: NAME}
";
    rig.file("a.yaml", map);
    rig.file("b.yaml", map);
    let ran = rig.smp(&["apply", "-f", "a.yaml", "-f", "b.yaml"]).ended(1);
    for part in ["duplicate object configmap/m", "a.yaml:1:1", "b.yaml:1:1"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!rig.exists("configmap/m"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn failed_wave_stops_the_next_wave() {
    let rig = Rig::new();
    rig.create_namespace();
    let map = |name: &str, wave: &str, data: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: NAME, annotations: {{{wave}}}}}
data: {data}
"
        )
    };
    let own = |wave: i32| format!("smp.kubectl.dev/wave: '{wave}'");
    let good = [map("late", &own(5), "{}"), map("first", &own(-1), "{}"), map("none", "", "{}")];
    let text = documents(&good.each_ref().map(String::as_str));
    let ran = rig.smp_with_stdin(&["apply", "-f", "-"], &text).ended(0);
    assert_eq!(
        ran.stdout,
        "\
configmap/first created
configmap/none created
configmap/late created
"
    );

    let argo = |wave: i32| format!("argocd.argoproj.io/sync-wave: '{wave}'");
    let bad = [map("after", &argo(1), "{}"), map("bad", &argo(0), "{a: {b: c}}")];
    let text = documents(&bad.each_ref().map(String::as_str));
    let ran = rig.smp_with_stdin(&["apply", "--waves", "argocd", "-f", "-"], &text).ended(1);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("not sent: configmap/after"), "{}", ran.stderr);
    let ran = rig.smp_with_stdin(&["apply", "-f", "-"], &text).ended(1);
    assert_eq!(
        ran.stdout, "configmap/after created\n",
        "unless asked for, another tool's waves do not count"
    );
    let ran =
        rig.smp_with_stdin(&["apply", "-f", "-"], &map("m", "smp.kubectl.dev/wave: soon", "{}")).ended(1);
    assert!(ran.stderr.contains("must be an integer"), "{}", ran.stderr);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_are_selected_by_labels_and_printed() {
    let rig = Rig::new();
    rig.create_namespace();
    let list = "\
apiVersion: v1
kind: ConfigMapList
items:
- metadata: {name: a, namespace: NAME, labels: {tier: web}}
- metadata: {name: b, namespace: NAME}
";
    let apply = |args: &[&str]| rig.smp_with_stdin(&[&["apply", "-f", "-"], args].concat(), list);
    assert_eq!(apply(&["-l", "tier=web", "-o", "name"]).ended(0).stdout, "configmap/a\n");
    assert!(!rig.exists("configmap/b"));
    let none = apply(&["-l", "tier=db"]).ended(1);
    assert!(none.stderr.contains("none of 2 objects matches the selector `tier=db`"), "{}", none.stderr);
    let json: serde_json::Value =
        serde_json::from_str(&apply(&["-o", "json"]).ended(0).stdout).expect("JSON");
    assert_eq!((json["kind"].as_str(), json["items"][1]["kind"].as_str()), (Some("List"), Some("ConfigMap")));
    assert!(
        json["items"][0]["metadata"]["uid"].is_string()
            && json["items"][0]["metadata"]["managedFields"].is_null()
    );
    let yaml = apply(&["-o", "yaml", "--show-managed-fields", "-l", "tier=web"]).ended(0).stdout;
    assert!(yaml.contains("managedFields:") && yaml.contains("resourceVersion:"), "{yaml}");
    let ran = rig.smp(&["apply", "--server-side=false", "-f", "x.yaml"]).ended(2);
    assert!(ran.stderr.contains("kubectl apply -f -"), "{}", ran.stderr);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn client_dry_run_sends_no_requests() {
    let rig = Rig::new();
    rig.file(
        "map.yaml",
        "\
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
",
    );
    let faults = Proxy::witness(&rig);
    let args = [
        "apply",
        "--dry-run=client",
        "-f",
        "map.yaml",
        "-o",
        "yaml",
        "-n",
        "there",
        "--server",
        &faults.url(),
    ];
    let ran = rig.smp(&args).ended(0);
    assert_eq!(
        ran.stdout,
        "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: m
  namespace: there
"
    );
    assert_eq!(faults.take(), Vec::<String>::new());
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn dropped_connections_do_not_stop_a_run() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("many.yaml", &config_maps(60));
    let count = std::sync::atomic::AtomicUsize::new(0);
    // Every fourth connection is closed after its request was forwarded, so the client gets no response.
    let faults = Proxy::start(&rig, move |request| {
        let is_lost =
            request.starts_with("PATCH") && count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) % 4 == 3;
        if is_lost { Answer::Lost } else { Answer::Real }
    });
    let ran = rig.smp(&["apply", "-f", "many.yaml", "--server", &faults.url()]).ended(0);
    assert_eq!(ran.stdout.lines().count(), 60);
    assert_eq!(rig.live("configmaps", "{.items[*].data.i}").split(' ').count(), 60);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn concurrent_status_update_is_not_a_change() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", super::DEPLOYMENT);
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    let (kubeconfig, namespace) = (rig.kubeconfig().to_path_buf(), rig.name.clone());
    let count = std::sync::atomic::AtomicUsize::new(0);
    // A controller writes the status just before each object is applied.
    let proxy = Proxy::start(&rig, move |request| {
        if request.starts_with("PATCH") {
            // Timestamps of field managers are whole seconds.
            std::thread::sleep(std::time::Duration::from_millis(1100));
            let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let status = format!(r#"{{"status": {{"observedGeneration": {number}, "replicas": {number}}}}}"#);
            let mut kubectl = std::process::Command::new("kubectl");
            kubectl.arg("--kubeconfig").arg(&kubeconfig).args([
                "-n",
                &namespace,
                "patch",
                "deployment",
                "web",
            ]);
            let written = kubectl.args(["--subresource=status", "--type=merge", "-p", &status]).output();
            assert!(written.expect("kubectl on the PATH").status.success());
        }
        Answer::Real
    });
    let url = proxy.url();
    let apply =
        |more: &[&str]| rig.smp(&[&["apply", "-f", "web.yaml", "--server", &url], more].concat()).ended(0);
    assert_eq!(apply(&[]).stdout, "deployment.apps/web unchanged\n");
    assert_eq!(apply(&["--dry-run=server"]).stdout, "deployment.apps/web unchanged (server dry run)\n");
    rig.file("web.yaml", &super::DEPLOYMENT.replace("replicas: 2", "replicas: 3"));
    assert_eq!(apply(&["--dry-run=server"]).stdout, "deployment.apps/web configured (server dry run)\n");
    assert_eq!(apply(&[]).stdout, "deployment.apps/web configured\n");
}
