//! Selection of the manifests that a patch applies to.

use std::fs;

use kubectl_smp_testing::program::temp_dir;
use tempfile::TempDir;

use super::{WEB, application, config, fail, succeed};

/// Names of the files in the directory that changed.
fn changed_files(args: &[&str]) -> Vec<String> {
    let (files, untouched) = (application(), application());
    succeed(files.path(), &[&["patch", "-f", "app", "--in-place"], args].concat());
    let read =
        |directory: &TempDir, name: &str| fs::read_to_string(directory.path().join(name)).expect("there");
    let names = ["db.yaml", "kustomization.yaml", "overlay/kustomization.yaml", "values.yaml", "web.yaml"];
    let is_touched = |name: &&str| {
        let path = format!("app/{name}");
        read(&files, &path) != read(&untouched, &path)
    };
    names.into_iter().filter(is_touched).map(String::from).collect()
}

const KUSTOMIZATION: &str = "\
# mine
resources: [a.yaml]
images:
- name: web
  newTag: \"1\" # pinned
- name: db
  newTag: \"2\"
";

#[test]
fn lists_of_a_kustomization_merge_by_name() {
    let kinds = "\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
";
    for head in ["", kinds] {
        let text = format!("{head}{KUSTOMIZATION}");
        let files = temp_dir(&[("kustomization.yaml", &text)]);
        let patch = "{\"images\": [{\"name\": \"web\", \"newTag\": \"9\"}], \"resources\": [\"b.yaml\"]}";
        let (stdout, _) = succeed(files.path(), &["patch", "-f", "kustomization.yaml", "-p", patch]);
        let want = text.replace("\"1\"", "\"9\"").replace("[a.yaml]", "[a.yaml, b.yaml]");
        assert_eq!(stdout, want);
    }
}

#[test]
fn only_fields_that_kustomize_does_not_have_are_unknown() {
    let files = temp_dir(&[("kustomization.yaml", KUSTOMIZATION)]);
    for (patch, is_unknown) in [
        ("{namePrefix: a-, labels: [{pairs: {a: b}}], openapi: {path: a.json}}", false),
        ("{namePrefx: a-}", true),
    ] {
        let (_, stderr) = succeed(files.path(), &["patch", "-f", "kustomization.yaml", "-p", patch]);
        assert_eq!(stderr.contains("unknown field"), is_unknown, "{patch}: {stderr}");
        assert_eq!(stderr.contains("kustomize rejects unknown fields"), is_unknown, "{patch}: {stderr}");
    }
}

#[test]
fn removed_list_entries_are_counted() {
    let files = temp_dir(&[("kustomization.yaml", KUSTOMIZATION)]);
    let patch = "{images: [{name: web, newTag: \"9\"}]}";
    let args = ["patch", "-f", "kustomization.yaml", "--type=merge", "--in-place", "-p", patch];
    let (_, stderr) = succeed(files.path(), &args);
    insta::assert_snapshot!(stderr, @r"
    kustomization.yaml: Kustomization: changed images[name=web].newTag, images[name=db]
    0 added, 1 changed, 0 removed, 1 list entry removed
    ");
}

#[test]
fn patch_selects_manifests_of_a_directory() {
    let both = ["db.yaml", "web.yaml"];
    let table: [(&[&str], &[&str]); 12] = [
        (&["-p", "{apiVersion: apps/v1, kind: Deployment, spec: {paused: true}}"], &both),
        (&["-p", "{kind: Deployment, spec: {paused: true}}"], &both),
        (
            &["-p", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: db}, spec: {paused: true}}"],
            &["db.yaml"],
        ),
        (&["-p", "{spec: {paused: true}}", "--kind", "Deployment"], &both),
        (&["-p", "{spec: {paused: true}}", "--kind", "Deployment.apps", "--name", "web"], &["web.yaml"]),
        (&["-p", "{spec: {paused: true}}", "--name", "web"], &["web.yaml"]),
        (&["-p", "{spec: {paused: true}}", "-l", "tier=back"], &["db.yaml"]),
        (
            &["-p", "[{op: add, path: /spec/paused, value: true}]", "--type=json", "-l", "tier in (front)"],
            &["web.yaml"],
        ),
        (
            &["-p", "{namePrefix: x}", "--type=merge", "--kind", "Kustomization"],
            &["kustomization.yaml", "overlay/kustomization.yaml"],
        ),
        (
            &["-p", "{kind: Kustomization, namePrefix: x}", "--type=merge", "--all"],
            &["overlay/kustomization.yaml"],
        ),
        (
            &["-p", "{x: y}", "--type=merge", "--all"],
            &["db.yaml", "kustomization.yaml", "overlay/kustomization.yaml", "values.yaml", "web.yaml"],
        ),
        (&["-p", "{kind: Deployment, spec: {paused: true}}", "--name", "db"], &["db.yaml"]),
    ];
    for (args, want) in table {
        assert_eq!(changed_files(args), want, "{args:?}");
    }
}

#[test]
fn patch_with_a_namespace_does_not_move_manifests() {
    let patch = |namespace: &str| {
        format!("{{kind: ConfigMap, metadata: {{name: c, namespace: {namespace}}}, data: {{a: new}}}}")
    };
    let of = |name: &str, files: &TempDir| fs::read_to_string(files.path().join(name)).expect("there");
    let both =
        || temp_dir(&[("app/none.yaml", &config("", "old")), ("app/prod.yaml", &config("prod", "old"))]);

    let files = both();
    succeed(files.path(), &["patch", "-f", "app", "--in-place", "-p", &patch("prod")]);
    assert_eq!(of("app/none.yaml", &files), config("", "old"));
    assert_eq!(of("app/prod.yaml", &files), config("prod", "new"));

    let files = both();
    let diagnostics = fail(files.path(), &["patch", "-f", "app", "-p", &patch("test")]);
    insta::assert_snapshot!(diagnostics, @r"
    error[no-match]: patch target matches no manifest: `ConfigMap c` in namespace `test`
     --> --patch:1:50
      |
    1 | {kind: ConfigMap, metadata: {name: c, namespace: test}, data: {a: new}}
      |                                                  ^^^^
      |
      = note: the input has these manifests:
      = note: v1 ConfigMap c in none.yaml
      = note: v1 ConfigMap c in prod.yaml
      = help: remove the namespace from the patch, or select the manifest by kind or name to set `namespace: test`
    ");
    succeed(files.path(), &["patch", "-f", "app", "--in-place", "-p", &patch("test"), "--name", "c"]);
    insta::assert_snapshot!(of("app/none.yaml", &files), @r"
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: c
      namespace: test
    data:
      a: new
    ");
    assert_eq!(of("app/prod.yaml", &files), config("prod", "old"));
}

#[test]
fn patch_cannot_change_the_identity_of_an_object() {
    let whole = "{$patch: replace, metadata: {name: web}, spec: {replicas: 2}}";
    let json = |operation: &str| format!("[{{{operation}}}]");
    let renamed = json("op: replace, path: /metadata/name, value: x");
    let table: [(&str, &str, &str); 6] = [
        ("strategic", whole, "apiVersion: patch removes the identifying value `apps/v1`"),
        ("json", &json("op: remove, path: /kind"), "kind: patch removes the identifying value `Deployment`"),
        ("json", &renamed, "metadata.name: patch changes the identity of the object from `web` to `x`"),
        ("merge", "{kind: null}", "kind: patch removes the identifying value `Deployment`"),
        ("merge", "{metadata: null}", "metadata.name: patch removes the identifying value `web`"),
        ("json", &json("op: add, path: /metadata/namespace, value: x"), "from `shop` to `x`"),
    ];
    let shop = WEB.replace(
        "  name: web\n  labels",
        r"  name: web
  namespace: shop
  labels",
    );
    let files = temp_dir(&[("web.yaml", &shop), ("bare.yaml", "a: b")]);
    for (patch_type, patch, want) in table {
        let stderr = fail(files.path(), &["patch", "-f", "web.yaml", "--type", patch_type, "-p", patch]);
        let location = want.split_once(": patch").map_or(want, |(field, _)| field);
        let message = want.split_once(": ").map_or(want, |(_, message)| message);
        assert!(stderr.contains(location) && stderr.contains(message), "{patch}: {stderr}");
        assert!(stderr.contains("edit the file"), "{patch}: {stderr}");
    }
    let named = "[{op: add, path: /kind, value: A}, {op: add, path: /metadata, value: {name: x}}]";
    succeed(files.path(), &["patch", "-f", "bare.yaml", "--type", "json", "-p", named]);
}

#[test]
fn operations_tolerated_by_the_server_are_reported() {
    let files = temp_dir(&[("web.yaml", WEB)]);
    let patch =
        |patch: &str| succeed(files.path(), &["patch", "-f", "web.yaml", "--type", "json", "-p", patch]);
    for (text, want, wrong) in [
        (
            "[{op: add, path: spec/paused, value: true}]",
            "`spec/paused` does not start with `/`, so it is read as `/paused`",
            "spec/paused",
        ),
        (
            "[{op: copy, from: /spec/odd, path: /spec/x}]",
            "`/spec/odd` does not exist, so null is copied",
            "/spec/odd",
        ),
        ("[{op: add, path: /spec/paused}]", "this `add` has no `value`, so it writes null", "{op"),
    ] {
        let (_, stderr) = patch(text);
        assert!(stderr.contains("warning[invalid-value]") && stderr.contains(want), "{text}: {stderr}");
        let location = format!("--patch:1:{}\n", text.find(wrong).expect("it has it") + 1);
        assert!(stderr.contains(&location), "{text}: {stderr}");
    }
    assert_eq!(
        patch("[{op: replace, path: /spec/replicas, value: 3}, {op: test, path: /spec/replicas, value: 3}]")
            .1,
        ""
    );
}

#[test]
fn unmatched_patch_suggests_resources() {
    let files = application();
    let patch = |patch: &str, args: &[&str]| {
        fail(files.path(), &[&["patch", "-f", "app", "-p", patch], args].concat())
    };
    let table = [
        ("{kind: Deploymnt}", "did you mean `Deployment`?"),
        ("{kind: Deployment, metadata: {name: wbe}}", "did you mean `web`?"),
        (
            "{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: web}}",
            "its apiVersion is `apps/v1`",
        ),
        ("{spec: {paused: true}}", "--kind, --name, -l or --all"),
        ("{metadata: {namespace: shop}}", "--kind, --name, -l or --all"),
    ];
    for (text, help) in table {
        let diagnostics = patch(text, &[]);
        assert!(diagnostics.contains(help), "{text}: {diagnostics}");
        for candidate in ["apps/v1 Deployment web in web.yaml", "apps/v1 Deployment db in db.yaml"] {
            assert!(diagnostics.contains(candidate), "{text}: {diagnostics}");
        }
    }
    let diagnostics = patch("{kind: Kustomization}", &["--type", "merge"]);
    insta::assert_snapshot!(diagnostics, @r"
    error[no-match]: patch target matches no manifest: `Kustomization`
     --> --patch:1:1
      |
    1 | {kind: Kustomization}
      | ^
      |
      = note: kustomizations and documents without a kind are only patched if --kind, --name, -l or --all selects them
      = note: the input has these manifests:
      = note: apps/v1 Deployment db in db.yaml
      = note: apps/v1 Deployment web in web.yaml
      = help: set apiVersion, kind and name in the patch to those of one of the manifests
    ");
    insta::assert_snapshot!(patch("{}", &["-l", "tier=none"]), @r"
    error[no-match]: selection matches no manifest
     --> --patch:1:1
      |
    1 | {}
      | ^
      |
      = note: the input has these manifests:
      = note: a document without a kind in kustomization.yaml
      = note: a document without a kind in values.yaml
      = note: kustomize.config.k8s.io/v1beta1 Kustomization in overlay/kustomization.yaml
      = note: apps/v1 Deployment db in db.yaml
      = note: apps/v1 Deployment web in web.yaml
      = help: check the kind, name and labels of the selection
    ");
}
