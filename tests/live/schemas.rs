//! Schemas are current, and those of the selected server.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::proxy::{Answer, Proxy};
use super::rig::{Rig, eventually};
use super::{CRD, GADGET, GADGET_OVERLAY, install_crd};

const KEYED: &str = "\
x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, protocol]
";
const ATOMIC: &str = "x-kubernetes-list-type: atomic\n";

/// The current address of the schema on the server.
fn address(rig: &Rig) -> String {
    let index: Value = serde_json::from_str(&rig.kubectl(&["get", "--raw", "/openapi/v3"])).expect("JSON");
    let document = &index["paths"][format!("apis/{}.example.com/v1", rig.name)];
    document["serverRelativeURL"].as_str().unwrap_or_default().to_string()
}

fn write_overlay(rig: &Rig) {
    rig.file("base/gadget.yaml", GADGET);
    rig.file("over/gadget.yaml", GADGET_OVERLAY);
}

const BUILD: [&str; 4] = ["build", "over", "--base", "base"];

/// The number of ports if both layers are merged, and if the second replaces the list.
const MERGED: usize = 3;
const REPLACED: usize = 2;

fn ports(text: &str) -> usize {
    text.matches("port: ").count()
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn changed_crd_is_never_merged_by_its_old_schema() {
    let rig = Rig::new();
    assert!(CRD.contains(KEYED), "the definition has the list");
    rig.create_namespace();
    install_crd(&rig);
    write_overlay(&rig);
    assert_eq!(ports(&rig.smp(&BUILD).ended(0).stdout), MERGED);
    for (list_type, count) in [(ATOMIC, REPLACED), (KEYED, MERGED)].into_iter().cycle().take(10) {
        let before = address(&rig);
        rig.file("crd.yaml", &CRD.replace(KEYED, list_type));
        rig.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "crd.yaml"]);
        eventually("the new schema is published", || address(&rig) != before);
        let built = rig.smp(&BUILD).ended(0);
        assert_eq!(ports(&built.stdout), count, "{list_type}: {built:?}");
        let chosen = rig.smp(&[&BUILD[..], &["--schema", "cluster"]].concat()).ended(0);
        assert_eq!(chosen.stdout, built.stdout, "{list_type}");
        rig.smp(&["apply", "over", "--base", "base"]).ended(0);
        let live = rig.live(&format!("gadgets.{}.example.com/g", rig.name), "{.spec.ports[*].port}");
        assert_eq!(live.split(' ').count(), count, "{list_type}");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn without_permission_to_read_crds_the_current_schema_is_used() {
    let rig = Rig::new();
    rig.create_namespace();
    install_crd(&rig);
    write_overlay(&rig);
    let editor = format!("--user=editor-{}", rig.name);
    let group = format!("--resource=gadgets.{}.example.com", rig.name);
    rig.kubectl(&["-n", &rig.name, "create", "role", "editor", "--verb=*", &group]);
    rig.kubectl(&["-n", &rig.name, "create", "rolebinding", "editor", "--role=editor", &editor]);
    let object = format!("gadgets.{}.example.com/g", rig.name);
    let user = format!("--as=editor-{}", rig.name);
    rig.smp(&["build", "over", "--base", "base"]).ended(0);
    for (list_type, count) in [(ATOMIC, REPLACED), (KEYED, MERGED)].into_iter().cycle().take(4) {
        rig.file("crd.yaml", &CRD.replace(KEYED, list_type));
        rig.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "crd.yaml"]);
        rig.kubectl(&["-n", &rig.name, "delete", &object, "--ignore-not-found"]);
        rig.smp(&["apply", "over", "--base", "base", &user]).ended(0);
        let live = rig.live(&object, "{.spec.ports[*].port}");
        assert_eq!(live.split(' ').count(), count, "{list_type}");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn outdated_schema_address_leads_to_the_new_schema() {
    let rig = Rig::new();
    install_crd(&rig);
    write_overlay(&rig);
    // One of several servers behind an address may lag.
    let former: &'static str = rig.kubectl(&["get", "--raw", "/openapi/v3"]).leak();
    let before = address(&rig);
    rig.file("crd.yaml", &CRD.replace(KEYED, ATOMIC));
    rig.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "crd.yaml"]);
    eventually("the new schema is published", || address(&rig) != before);
    let asked = AtomicUsize::new(0);
    let proxy = Proxy::start(&rig, move |request| {
        let is_late = request == "GET /openapi/v3" && asked.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
        if is_late {
            Answer::Instead("200 OK", &["Content-Type: application/json"], former)
        } else {
            Answer::Real
        }
    });
    for _ in 0..4 {
        let built =
            rig.smp(&[&BUILD[..], &["--schema", "cluster", "--server", &proxy.url()]].concat()).ended(0);
        assert_eq!(ports(&built.stdout), REPLACED, "{built:?}");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn custom_resources_are_sent_right_after_their_crd_update() {
    let rig = Rig::new();
    rig.create_namespace();
    install_crd(&rig);
    for i in 0..10 {
        let field = format!("{{type: object, properties: {{new{i}: {{type: string}}}}}}");
        let crd = CRD.replace(
            "size: {type: integer}",
            &format!("size: {{type: integer}}\n              more: {field}"),
        );
        let gadget = GADGET.replace("size: 1", &format!("size: {i}\n  more: {{new{i}: x}}"));
        rig.smp_with_stdin(&["apply", "-f", "-"], &super::documents(&[&crd, &gadget])).ended(0);
        let live =
            rig.live(&format!("gadgets.{}.example.com/g", rig.name), &format!("{{.spec.more.new{i}}}"));
        assert_eq!(live, "x", "{i}");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn servers_without_openapi_v3_use_the_v2_document() {
    let rig = Rig::new();
    install_crd(&rig);
    write_overlay(&rig);
    let proxy = Proxy::start(&rig, |request| {
        let is_newer = request.starts_with("GET /openapi/v3");
        if is_newer { Answer::Instead("404 Not Found", &[], "404 page not found") } else { Answer::Real }
    });
    // The v2 document is published later than those of v3.
    let build = || rig.smp(&[&BUILD[..], &["--schema", "cluster", "--server", &proxy.url()]].concat());
    eventually("the old document is published", || ports(&build().stdout) == MERGED);
    assert!(proxy.take().contains(&"GET /openapi/v2".to_string()));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn crd_applied_by_the_program_takes_effect_at_once() {
    let rig = Rig::new();
    rig.create_namespace();
    install_crd(&rig);
    write_overlay(&rig);
    let offline = [&BUILD[..], &["--schema", "cache", "--offline"]].concat();
    rig.smp(&BUILD).ended(0);
    assert_eq!(ports(&rig.smp(&offline).ended(0).stdout), MERGED, "the cache has it");
    rig.file("crd.yaml", &CRD.replace(KEYED, ATOMIC));
    rig.smp(&["apply", "-f", "crd.yaml"]).ended(0);
    let ran = rig.smp(&offline).ended(0);
    assert!(
        ran.stderr.contains("no schema") || ran.stderr.contains("no-schema"),
        "what it was is forgotten: {ran:?}"
    );
}

/// A kubeconfig with a second context for the same URL, whose cluster has an additional certificate authority.
fn two_contexts(rig: &Rig) -> std::path::PathBuf {
    let key = rig.path("key.pem");
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=other",
            "-days",
            "2",
            "-keyout",
        ])
        .arg(&key)
        .args(["-out"])
        .arg(rig.path("other.pem"))
        .output()
        .expect("openssl");
    assert!(made.status.success(), "{made:?}");
    let text = fs::read_to_string(rig.kubeconfig()).expect("a kubeconfig");
    let mut config: Value = serde_yaml::from_str(&text).expect("YAML");
    let mut cluster = config["clusters"][0].clone();
    cluster["name"] = "other".into();
    let fields = cluster["cluster"].as_object_mut().expect("fields");
    fields.remove("certificate-authority-data");
    fields.insert("certificate-authority".into(), rig.path("other.pem").display().to_string().into());
    config["clusters"].as_array_mut().expect("a list").push(cluster);
    let mut context = config["contexts"][0].clone();
    context["name"] = "other".into();
    context["context"]["cluster"] = "other".into();
    config["contexts"].as_array_mut().expect("a list").push(context);
    rig.file("two", &config.to_string())
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn two_clusters_at_one_address_do_not_share_a_cache() {
    let rig = Rig::new();
    install_crd(&rig);
    write_overlay(&rig);
    let kubeconfig = two_contexts(&rig);
    let kubeconfig = kubeconfig.to_str().expect("a path");
    let build = |context: &str, schema: &str| {
        let more = ["--schema", schema, "--kubeconfig", kubeconfig, "--context", context];
        rig.smp(&[&BUILD[..], &more].concat())
    };
    let right = build("admin", "cluster").ended(0).stdout;
    assert_eq!(ports(&right), MERGED);
    assert_eq!(build("admin", "cache").ended(0).stdout, right);
    let other = build("other", "cache").ended(0);
    assert_eq!(ports(&other.stdout), REPLACED, "{other:?}");
    assert!(other.stderr.starts_with("warning[no-schema]"), "{other:?}");
    let refused = build("other", "cluster").ended(1);
    assert!(refused.stderr.contains("certificate"), "{refused:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn lock_file_with_schemas_replaces_the_cluster() {
    let rig = Rig::new();
    install_crd(&rig);
    rig.file("app/base.yaml", GADGET);
    rig.file("app/patch.yaml", GADGET_OVERLAY);
    rig.file(
        "app/kustomization.yaml",
        "\
resources: [base.yaml]
patches: [{path: patch.yaml}]
",
    );
    let right = rig.smp(&["build", "app", "--schema", "cluster"]).ended(0).stdout;
    assert_eq!(ports(&right), MERGED);
    let elsewhere = |folder: &str| {
        let mut command = rig.command(&["build", folder, "--offline", "--locked"]);
        command.env("KUBECONFIG", rig.path("none")).env("XDG_CACHE_HOME", rig.path("empty"));
        super::rig::Ran::new(command.output().expect("the program"))
    };
    let unlocked = elsewhere("app").ended(1);
    assert!(unlocked.stderr.contains("no-schema"), "{unlocked:?}");
    rig.smp(&["lock", "app", "--pin-schemas", "cluster"]).ended(0);
    copy(&rig.path("app"), &rig.path("elsewhere/app"));
    let locked = elsewhere("elsewhere/app").ended(0);
    assert_eq!((locked.stdout, locked.stderr), (right, String::new()));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn crd_kinds_are_found_by_every_name() {
    let rig = Rig::new();
    rig.file("crd.yaml", &CRD.replace("singular: gadget}", "singular: gadget, shortNames: [gdt]}"));
    rig.smp(&["apply", "-f", "crd.yaml"]).ended(0);
    eventually("the schema is published", || !address(&rig).is_empty());
    let group = format!("{}.example.com", rig.name);
    let line = format!("{group}/v1 Gadget namespaced cluster\n");
    // Other tests have CRDs of that name, too.
    let version = format!("--api-version={group}/v1");
    for word in ["gadget", "Gadget", "GADGET", "gadgets", "Gadgets", "gdt", "GDT"] {
        let listed = rig.smp(&["schema", "list", word]).ended(0);
        assert!(listed.stdout.contains(&line), "{word}: {listed:?}");
        let shown = rig.smp(&["schema", "show", &format!("{word}.spec.ports"), &version]).ended(0);
        assert!(shown.stdout.contains("port") && shown.stdout.contains("protocol"), "{word}: {shown:?}");
        let fetched = rig.smp(&["schema", "fetch", &format!("{word}.{group}")]).ended(0);
        assert!(fetched.stdout.starts_with(&format!("{group}/v1: ")), "{word}: {fetched:?}");
    }
    // Also offline, by the names that the server reported.
    for word in ["gdt", "Gadgets", "gadget"] {
        for source in [&["--schema=cache"][..], &["--offline"]] {
            let path = format!("{word}.spec.ports");
            let shown = rig.smp(&[&["schema", "show", &path, &version], source].concat()).ended(0);
            assert!(shown.stdout.contains("protocol"), "{word}: {shown:?}");
            let listed = rig.smp(&[&["schema", "list", word], source].concat()).ended(0);
            assert!(listed.stdout.contains(&format!("{group}/v1 Gadget")), "{word}: {listed:?}");
        }
    }
    let ran = rig.smp(&["schema", "fetch", "gadgetz"]).ended(1);
    assert!(ran.stderr.contains("gadgetz"), "{ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn schema_source_of_each_kind_is_printed() {
    let rig = Rig::new();
    install_crd(&rig);
    write_overlay(&rig);
    let kind = format!("{}.example.com/v1 Gadget", rig.name);
    let told = |more: &[&str], source: &str| {
        let ran = rig.smp(&[&BUILD[..], more].concat()).ended(0);
        let text = format!("schema of {kind}: {source}");
        assert!(ran.stderr.contains(&text), "{more:?}: {ran:?}");
        ran
    };
    assert_eq!(rig.smp(&BUILD).ended(0).stderr, "", "unless asked");
    told(&["-v"], "cluster");
    told(&["-v", "--offline"], "cache");
    let ran = told(&["--message-format", "json"], "cluster");
    let line = ran.stderr.lines().find(|line| line.contains(&kind)).expect("a line");
    let message: Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(message["code"], "schema-source", "{message}");
}
