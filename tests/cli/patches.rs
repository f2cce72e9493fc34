//! `patch` and `create-patch` as a user meets them: what is touched, what is added, and what a live object keeps.

mod told;
mod traps;
mod versions;

use std::fs;
use std::path::Path;

use kubectl_smp_testing::program::{folder, folder_of, folder_with, run};
use tempfile::TempDir;

/// What it prints, and what it says.
fn succeed(directory: &Path, args: &[&str]) -> (String, String) {
    let output = run(directory, args);
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    assert!(output.status.success(), "{args:?}: {stderr}");
    (stdout, stderr)
}

fn fail(directory: &Path, args: &[&str]) -> String {
    let output = run(directory, args);
    assert!(!output.status.success() && output.stdout.is_empty(), "{args:?} must fail");
    String::from_utf8(output.stderr).expect("text")
}

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {tier: front}
spec:
  replicas: 1 # one
  template:
    spec:
      containers:
      - name: web
        image: web:1
";

/// A directory as people have them: manifests beside what only looks so.
fn application() -> TempDir {
    folder_with(
        &[("app/db.yaml", &WEB.replace("web", "db").replace("front", "back")), ("app/web.yaml", WEB)],
        r"
-- app/kustomization.yaml --
resources: [web.yaml, db.yaml]
-- app/overlay/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
-- app/values.yaml --
replicas: 2
",
    )
}

/// The files of the directory that are not as they were.
fn touched(args: &[&str]) -> Vec<String> {
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
        let files = folder(&[("kustomization.yaml", &text)]);
        let patch = "{\"images\": [{\"name\": \"web\", \"newTag\": \"9\"}], \"resources\": [\"b.yaml\"]}";
        let (stdout, _) = succeed(files.path(), &["patch", "-f", "kustomization.yaml", "-p", patch]);
        let want = text.replace("\"1\"", "\"9\"").replace("[a.yaml]", "[a.yaml, b.yaml]");
        assert_eq!(stdout, want);
    }
}

#[test]
fn removed_list_entries_are_counted() {
    let files = folder(&[("kustomization.yaml", KUSTOMIZATION)]);
    let patch = "{images: [{name: web, newTag: \"9\"}]}";
    let args = ["patch", "-f", "kustomization.yaml", "--type=merge", "--in-place", "-p", patch];
    let (_, stderr) = succeed(files.path(), &args);
    insta::assert_snapshot!(stderr, @r"
    kustomization.yaml: Kustomization: changed images[name=web].newTag, images[name=db]
    0 added, 1 changed, 0 removed, 1 list entry removed
    ");
}

#[test]
fn a_directory_is_patched_where_the_patch_or_the_user_says() {
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
        assert_eq!(touched(args), want, "{args:?}");
    }
}

/// A config map called `c`, in a namespace or in none.
fn config(namespace: &str, value: &str) -> String {
    let namespace = if namespace.is_empty() { String::new() } else { format!("  namespace: {namespace}\n") };
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
{namespace}data:
  a: {value}
"
    )
}

#[test]
fn a_patch_that_names_a_namespace_moves_no_manifest_into_it() {
    let patch = |namespace: &str| {
        format!("{{kind: ConfigMap, metadata: {{name: c, namespace: {namespace}}}, data: {{a: new}}}}")
    };
    let of = |name: &str, files: &TempDir| fs::read_to_string(files.path().join(name)).expect("there");
    let both = || folder(&[("app/none.yaml", &config("", "old")), ("app/prod.yaml", &config("prod", "old"))]);

    let files = both();
    succeed(files.path(), &["patch", "-f", "app", "--in-place", "-p", &patch("prod")]);
    assert_eq!(of("app/none.yaml", &files), config("", "old"));
    assert_eq!(of("app/prod.yaml", &files), config("prod", "new"));

    let files = both();
    let said = fail(files.path(), &["patch", "-f", "app", "-p", &patch("test")]);
    insta::assert_snapshot!(said, @r"
    error[no-match]: this patch is for `ConfigMap c` in namespace `test`, and no such manifest names one
     --> --patch:1:50
      |
    1 | {kind: ConfigMap, metadata: {name: c, namespace: test}, data: {a: new}}
      |                                                  ^^^^
      |
      = note: v1 ConfigMap c in none.yaml
      = note: v1 ConfigMap c in prod.yaml
      = help: leave the namespace out of the patch, or select the manifest by kind or name, to write `namespace: test` into it
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
fn a_patch_leaves_an_object_what_it_is() {
    let whole = "{$patch: replace, metadata: {name: web}, spec: {replicas: 2}}";
    let json = |operation: &str| format!("[{{{operation}}}]");
    let renamed = json("op: replace, path: /metadata/name, value: x");
    let table: [(&str, &str, &str); 6] = [
        (
            "strategic",
            whole,
            "apiVersion: this patch would take away what says which object it is, `apps/v1`",
        ),
        ("json", &json("op: remove, path: /kind"), "kind: this patch would take away"),
        ("json", &renamed, "metadata.name: this patch would make another object of it: `x` instead of `web`"),
        ("merge", "{kind: null}", "kind: this patch would take away"),
        ("merge", "{metadata: null}", "metadata.name: this patch would take away"),
        ("json", &json("op: add, path: /metadata/namespace, value: x"), "`x` instead of `shop`"),
    ];
    let shop = WEB.replace(
        "  name: web\n  labels",
        r"  name: web
  namespace: shop
  labels",
    );
    let files = folder(&[("web.yaml", &shop), ("bare.yaml", "a: b")]);
    for (patch_type, patch, want) in table {
        let stderr = fail(files.path(), &["patch", "-f", "web.yaml", "--type", patch_type, "-p", patch]);
        let place = want.split_once(": this").map_or(want, |(field, _)| field);
        let message = want.split_once(": ").map_or(want, |(_, message)| message);
        assert!(stderr.contains(place) && stderr.contains(message), "{patch}: {stderr}");
        assert!(stderr.contains("edit the file"), "{patch}: {stderr}");
    }
    let named = "[{op: add, path: /kind, value: A}, {op: add, path: /metadata, value: {name: x}}]";
    succeed(files.path(), &["patch", "-f", "bare.yaml", "--type", "json", "-p", named]);
}

#[test]
fn operations_that_the_server_forgives_are_warned_of() {
    let files = folder(&[("web.yaml", WEB)]);
    let patch =
        |patch: &str| succeed(files.path(), &["patch", "-f", "web.yaml", "--type", "json", "-p", patch]);
    for (text, want, wrong) in [
        (
            "[{op: add, path: spec/paused, value: true}]",
            "`spec/paused` begins without `/`, so that it is taken for `/paused`",
            "spec/paused",
        ),
        (
            "[{op: copy, from: /spec/odd, path: /spec/x}]",
            "`/spec/odd` is not there, so that null is copied",
            "/spec/odd",
        ),
        ("[{op: add, path: /spec/paused}]", "this `add` has no `value`, so that it writes null", "{op"),
    ] {
        let (_, stderr) = patch(text);
        assert!(stderr.contains("warning[invalid-value]") && stderr.contains(want), "{text}: {stderr}");
        let place = format!("--patch:1:{}\n", text.find(wrong).expect("it has it") + 1);
        assert!(stderr.contains(&place), "{text}: {stderr}");
    }
    assert_eq!(
        patch("[{op: replace, path: /spec/replicas, value: 3}, {op: test, path: /spec/replicas, value: 3}]")
            .1,
        ""
    );
}

#[test]
fn what_is_for_nobody_is_told_with_what_there_is() {
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
        let said = patch(text, &[]);
        assert!(said.contains(help), "{text}: {said}");
        for candidate in ["apps/v1 Deployment web in web.yaml", "apps/v1 Deployment db in db.yaml"] {
            assert!(said.contains(candidate), "{text}: {said}");
        }
    }
    let said = patch("{kind: Kustomization}", &["--type", "merge"]);
    insta::assert_snapshot!(said, @r"
    error[no-match]: this patch is for `Kustomization`, and there is no such manifest
     --> --patch:1:1
      |
    1 | {kind: Kustomization}
      | ^
      |
      = note: kustomizations, and documents without a kind, are patched only when asked for: by kind, name, labels, or with all others
      = note: apps/v1 Deployment db in db.yaml
      = note: apps/v1 Deployment web in web.yaml
      = help: a patch is for the manifests that have its apiVersion, kind and name, as far as it names them
    ");
    insta::assert_snapshot!(patch("{}", &["-l", "tier=none"]), @r"
    error[no-match]: no manifest is what was asked for
     --> --patch:1:1
      |
    1 | {}
      | ^
      |
      = note: a document without a kind in kustomization.yaml
      = note: a document without a kind in values.yaml
      = note: kustomize.config.k8s.io/v1beta1 Kustomization in overlay/kustomization.yaml
      = note: apps/v1 Deployment db in db.yaml
      = note: apps/v1 Deployment web in web.yaml
      = help: kind, name and labels must be those of a manifest
    ");
}

#[test]
fn what_is_added_looks_like_what_stands_beside_it() {
    let files = folder(&[("web.yaml", WEB)]);
    let patch = r#"{"spec": {"paused": true, "minReadySeconds": 5, "template": {"spec": {"nodeName": "on", "containers":
        [{"name": "web", "args": ["-v", "1"], "env": [{"name": "A", "value": "a\nb\n"}]}]}}}}"#;
    let (patched, said) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", patch]);
    let want = WEB.replace(
        "        image: web:1\n",
        r#"        image: web:1
        args:
        - -v
        - "1"
        env:
        - name: A
          value: |
            a
            b
      nodeName: "on"
  paused: true
  minReadySeconds: 5
"#,
    );
    assert_eq!((patched, said), (want, String::new()));
    let operations = r#"[{"op": "add", "path": "/spec/strategy", "value": {"type": "Recreate"}}]"#;
    let (patched, _) = succeed(files.path(), &["patch", "-f", "web.yaml", "--type=json", "-p", operations]);
    assert_eq!(patched, format!("{WEB}  strategy:\n    type: Recreate\n"));
    // In JSON it is JSON.
    let json = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"data\": {\"a\": \"b\"}}\n";
    let files = folder(&[("a.json", json)]);
    let (patched, _) = succeed(
        files.path(),
        &[
            "patch",
            "-f",
            "a.json",
            "-p",
            "\
data:
  c: d
",
        ],
    );
    assert_eq!(patched, json.replace("\"b\"}", "\"b\", \"c\": \"d\"}"));
    // Who writes a patch in YAML has chosen a style.
    let files = folder(&[("web.yaml", WEB)]);
    let (patched, _) = succeed(
        files.path(),
        &[
            "patch",
            "-f",
            "web.yaml",
            "-p",
            "\
spec:
  strategy: {type: 'Recreate'}
",
        ],
    );
    assert_eq!(patched, format!("{WEB}  strategy: {{type: 'Recreate'}}\n"));
}

#[test]
fn what_is_added_stands_in_brackets_where_its_neighbours_do() {
    let manifest = WEB.replace(
        "    spec:\n",
        r"    spec:
      tolerations: [{key: a}] # some
      volumes:
      - {name: A, emptyDir: {}}
",
    );
    let files = folder(&[("web.yaml", &manifest)]);
    let patch = |patch: &str, kind: &str| {
        succeed(files.path(), &["patch", "-f", "web.yaml", "--type", kind, "-p", patch]).0
    };
    let volume = "      - {name: A, emptyDir: {}}\n";
    let block = "\
spec:
  template:
    spec:
      tolerations:
      - key: b
      - key: c
      volumes:
      - name: B
        emptyDir: {}
";
    let want = manifest
        .replace("[{key: a}]", "[{key: b}, {key: c}]")
        .replace(volume, &format!("      - {{name: B, emptyDir: {{}}}}\n{volume}"));
    assert_eq!(patch(block, "strategic"), want);
    let operations = "[{op: replace, path: /spec/template/spec/tolerations, value: [{key: b}]}, \
                      {op: add, path: /spec/template/spec/volumes/-, value: {name: B, emptyDir: {}}}]";
    let want = manifest
        .replace("[{key: a}]", "[{key: b}]")
        .replace(volume, &format!("{volume}      - {{name: B, emptyDir: {{}}}}\n"));
    assert_eq!(patch(operations, "json"), want);
    // What is long stands on lines of its own.
    let long = format!("{{spec: {{template: {{spec: {{tolerations: [{{key: {}}}]}}}}}}}}", "k".repeat(120));
    let want = manifest.replace(" [{key: a}] # some", &format!(" # some\n      - key: {}", "k".repeat(120)));
    assert_eq!(patch(&long, "strategic"), want);
}

const ANCHORED: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - &web
        name: web
        image: a
        env: &env
        - {name: A, value: x}
      - <<: *web
        name: second
      - <<: *web
        name: third
        image: own
      - name: fourth
        env: *env
";

#[test]
fn aliases_that_say_what_is_wanted_stay() {
    let files = folder(&[("web.yaml", ANCHORED)]);
    let patch = "{spec: {template: {spec: {containers: [{name: web, image: c}]}}}}";
    let (patched, _) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", patch]);
    let want = ANCHORED.replace("image: a\n", "image: c\n").replace(
        r"      - <<: *web
        name: second
",
        r"      - name: second
        image: a
        env:
        - {name: A, value: x}
",
    );
    assert_eq!(patched, want);
    // All that are to become what the anchor becomes stay.
    let all = "{spec: {template: {spec: {containers: [{name: web, image: c}, {name: second, image: c}]}}}}";
    let (patched, _) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", all]);
    assert_eq!(patched, ANCHORED.replace("image: a\n", "image: c\n"));
    // An alias does not outlive its anchor, nor stand before it.
    for patch in [
        "{spec: {template: {spec: {containers: [{name: web, $patch: delete}]}}}}",
        "{spec: {template: {spec: {containers: [{name: web, image: c, env: [{name: A, $patch: delete}]}]}}}}",
        "{spec: {template: {spec: {containers: [{name: web, image: c}], $setElementOrder/containers: \
         [{name: third}, {name: fourth}, {name: web}, {name: second}]}}}}",
    ] {
        let as_json = |file: &str| succeed(files.path(), &["patch", "-f", file, "-p", patch, "-o", "json"]).0;
        let plain = as_json("web.yaml");
        let expanded = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", "{}", "-o", "json"]).0;
        fs::write(files.path().join("plain.json"), expanded).expect("written");
        assert_eq!(plain, as_json("plain.json"), "{patch}");
    }
}

#[test]
fn values_that_the_schema_forbids_are_warned_of() {
    let files = folder(&[("web.yaml", &WEB.replace("replicas: 1", "replicas: one"))]);
    let patch = |text: &str, kind: &str| {
        succeed(files.path(), &["patch", "-f", "web.yaml", "-p", text, "--type", kind]).1
    };
    let said = patch(
        "{spec: {paused: 'no', replcas: 3, template: {spec: {containers: [{name: web, env: [{name: A, value: 5}]}]}}}}",
        "strategic",
    );
    for warning in [
        "this must be `true` or `false` and is a string",
        "there is no field `replcas` here",
        "did you mean `replicas`?",
        "this must be a string and is an integer",
        "put it in quotes",
    ] {
        assert!(said.contains(warning), "{warning}: {said}");
    }
    assert!(!said.contains("spec.replicas"), "what was there before is not the patch's: {said}");
    assert_eq!(patch("{spec: {paused: true}}", "merge"), "");
    let said = patch("[{op: add, path: /spec/paused, value: 1}]", "json");
    insta::assert_snapshot!(said, @r"
    warning[wrong-type]: the schema wants true or false here, and this is an integer
     --> --patch:1:39
      |
    1 | [{op: add, path: /spec/paused, value: 1}]
      |                                       ^
      |
      = resource: Deployment.apps web
      = field: spec.paused
      = help: the API server refuses it
    ");
}

#[test]
fn what_the_schema_requires_is_missed() {
    let selected = WEB.replace("  template:", "  selector: {matchLabels: {app: web}}\n  template:");
    let probe = "spec: {template: {spec: {containers: [{name: web, livenessProbe: {httpGet: {path: /}}}]}}}";
    let table: [(&str, &str, &str, &str); 5] = [
        (&selected, "merge", "spec: {selector: null}", "spec.selector"),
        (&selected, "strategic", "spec: {selector: null}", "spec.selector"),
        (
            &selected,
            "json",
            "[{op: remove, path: /spec/template/spec/containers/0/name}]",
            "spec.template.spec.containers[0].name",
        ),
        (&selected, "strategic", probe, "spec.template.spec.containers[0].livenessProbe.httpGet.port"),
        // Who had none before lost none.
        (WEB, "strategic", "spec: {selector: null}", ""),
    ];
    for (manifest, kind, patch, field) in table {
        let files = folder(&[("web.yaml", manifest)]);
        let (_, said) = succeed(files.path(), &["patch", "-f", "web.yaml", "--type", kind, "-p", patch]);
        if field.is_empty() {
            // That there was none is all that is told.
            assert!(said.starts_with("warning[absent-deletion]"), "{patch}: {said}");
            assert_eq!(said.matches("warning[").count(), 1, "{patch}: {said}");
            continue;
        }
        let name = field.rsplit('.').next().expect("one");
        let message = format!("warning[missing-field]: the required field `{name}` is missing");
        assert!(said.contains(&message) && said.contains(&format!("field: {field}\n")), "{patch}: {said}");
        assert_eq!(said.matches("warning[").count(), 1, "{patch}: {said}");
    }
}

#[test]
fn a_value_that_stands_twice_in_a_set_is_warned_of() {
    let with = |finalizers: &str| {
        WEB.replace(
            "  name: web\n  l",
            &format!(
                r"  name: web
  finalizers: [{finalizers}]
  l"
            ),
        )
    };
    for (finalizers, want) in [("a.io/x, a.io/y", "metadata.finalizers[2]"), ("a.io/x, a.io/x", "")] {
        let files = folder(&[("web.yaml", &with(finalizers))]);
        let add = "[{op: add, path: /metadata/finalizers/-, value: a.io/x}]";
        let other = "[{op: add, path: /metadata/finalizers/0, value: a.io/z}]";
        let patch = if want.is_empty() { other } else { add };
        let (_, said) = succeed(files.path(), &["patch", "-f", "web.yaml", "--type", "json", "-p", patch]);
        let is_told = said.contains("this is in the set twice") && said.contains(want);
        assert_eq!(is_told, !want.is_empty(), "{said}");
    }
}

#[test]
fn a_deletion_in_a_list_that_does_not_merge_is_warned_of() {
    let with = WEB.replace(
        "    spec:\n",
        r"    spec:
      tolerations:
      - key: a
      - key: b
",
    );
    for (manifest, becomes, want) in [
        (
            with.as_str(),
            "puts the patch's list in its place, this entry with it",
            r"      tolerations:
      - key: a
      containers",
        ),
        (WEB, "makes a new list, without this entry", "tolerations: []"),
    ] {
        let files = folder(&[("web.yaml", manifest)]);
        let patch = "{spec: {template: {spec: {tolerations: [{$patch: delete, key: a}]}}}}";
        let (patched, said) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", patch]);
        assert!(said.contains("takes nothing out of this list") && said.contains(becomes), "{said}");
        assert!(patched.contains(want), "{patched}");
    }
}

const CUSTOM: &str = "\
apiVersion: example.com/v1
kind: Thing
metadata:
  name: a
spec:
  l: [{id: 1, x: 1}, {id: 2}]
";
const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              l:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [id]
                items: {type: object, properties: {id: {type: integer}, x: {type: integer}}, required: [id]}
";

#[test]
fn kinds_that_are_not_built_in_are_refused_as_the_server_refuses_them() {
    let files = folder(&[("d/a.yaml", CUSTOM), ("d/crd.yaml", CRD), ("crd.yaml", CRD)]);
    let args = ["patch", "-f", "d", "-p", "{kind: Thing, spec: {l: [{id: 2, x: 2}]}}"];
    let said = fail(files.path(), &args);
    insta::assert_snapshot!(said, @r"
    error[no-schema]: the API server takes no strategic merge patch for example.com/v1 Thing, which is not built in: 415 Unsupported Media Type
     --> d/a.yaml:1:1
      |
    1 | apiVersion: example.com/v1
      | ^
      |
      = resource: Thing.example.com a
      = note: it was for example.com/v1 Thing a in a.yaml
      = help: use --type=merge, which the server takes for any kind, or --dialect=overlay; --schema FILE (with --schema-type for documents without a kind) names a schema to merge by
    ");
    let with = |more: &[&str]| succeed(files.path(), &[&args, more].concat()).0;
    assert!(with(&["--type", "merge"]).contains("l: [{id: 2, x: 2}]"));
    assert!(with(&["--dialect", "overlay"]).contains("l: [{id: 1, x: 1}, {id: 2, x: 2}]"));
    // By a schema that somebody names it is a list without a patch strategy.
    assert!(with(&["--schema", "crd.yaml"]).contains("l: [{id: 2, x: 2}]"));
    let create = ["create-patch", "d/a.yaml", "b.yaml"];
    fs::write(files.path().join("b.yaml"), CUSTOM.replace("{id: 2}", "{id: 2, x: 2}")).expect("written");
    insta::assert_snapshot!(fail(files.path(),&create), @r"
    error[no-schema]: the API server takes no strategic merge patch for example.com/v1 Thing, which is not built in: 415 Unsupported Media Type
     --> b.yaml:1:1
      |
    1 | apiVersion: example.com/v1
      | ^
      |
      = help: use --type=merge, which the server takes for any kind, or --dialect=overlay; --schema FILE (with --schema-type for documents without a kind) names a schema to merge by
    ");
    let (patch, said) = succeed(files.path(), &[&create[..], &["--dialect", "overlay"]].concat());
    assert_eq!(
        patch,
        "\
spec:
  l:
  - id: 1
    x: 1
  - id: 2
    x: 2
"
    );
    insta::assert_snapshot!(said, @r"
    warning[no-schema]: this list was replaced: no schema says how its entries are merged
     --> b.yaml:6:6
      |
    6 |   l: [{id: 1, x: 1}, {id: 2, x: 2}]
      |      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = field: spec.l
      = help: give a schema, or tell its entries apart by `$patchMergeKey`
    ");
    let (patch, said) =
        succeed(files.path(), &[&create[..], &["--dialect", "overlay", "--schema", "crd.yaml"]].concat());
    assert_eq!(
        (patch.as_str(), said.as_str()),
        (
            "\
spec:
  l:
  - id: 2
    x: 2
",
            ""
        )
    );
    let (patch, _) = succeed(files.path(), &[&create[..], &["--type", "merge"]].concat());
    assert_eq!(
        patch,
        "\
spec:
  l:
  - id: 1
    x: 1
  - id: 2
    x: 2
"
    );
}

/// A live object: what was applied, what others added, what the server says.
const LIVE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: 6a0c
  finalizers: [others.example.com/keep]
  labels: {app: web, old: x, others: x}
  annotations:
    deployment.kubernetes.io/revision: '1'
    kubectl.kubernetes.io/last-applied-configuration: |
      {\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"annotations\":{},\"labels\":{\"app\":\"web\",\"old\":\"x\"},\"name\":\"web\"},\"spec\":{\"paused\":true,\"template\":{\"spec\":{\"containers\":[{\"image\":\"web:1\",\"name\":\"web\"}]}}}}
spec:
  paused: true
  template:
    spec:
      containers:
      - {name: web, image: 'web:1', imagePullPolicy: Always}
      - {name: injected, image: 'mesh:1'}
status: {replicas: 3}
";
const APPLIED: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web, old: x}}
spec: {paused: true, template: {spec: {containers: [{name: web, image: 'web:1'}]}}}
";
const NEW: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web2}}
spec: {template: {spec: {containers: [{name: web, image: 'web:2'}]}}}
";
const TYPES: [&[&str]; 4] =
    [&["--type", "strategic"], &["--type", "merge"], &["--type", "json"], &["--dialect", "overlay"]];

/// What a patch of some type makes of the live object, as JSON.
fn applied(files: &TempDir, create: &[&str], of: &[&str]) -> serde_json::Value {
    let (patch, _) = succeed(files.path(), &[create, of].concat());
    fs::write(files.path().join("patch.yaml"), patch).expect("written");
    let apply = ["patch", "-f", "live.yaml", "--patch-file", "patch.yaml", "-o", "json"];
    let (patched, _) = succeed(files.path(), &[&apply[..], of].concat());
    serde_json::from_str(&patched).expect("JSON")
}

#[test]
fn three_way_patches_of_all_types_keep_what_others_added() {
    let files = folder(&[("live.yaml", LIVE), ("applied.yaml", APPLIED), ("new.yaml", NEW)]);
    let want = serde_json::json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 3},
        "metadata": {
            "name": "web", "uid": "6a0c", "finalizers": ["others.example.com/keep"],
            "labels": {"app": "web2", "others": "x"},
        },
        "spec": {"template": {"spec": {"containers": [
            {"name": "web", "image": "web:2", "imagePullPolicy": "Always"}, {"name": "injected", "image": "mesh:1"},
        ]}}},
    });
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    for of in TYPES {
        for (create, is_renewed) in [
            (&["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml"][..], false),
            (&["create-patch", "--from-last-applied", "live.yaml", "new.yaml"], true),
        ] {
            let mut got = applied(&files, create, of);
            let mut annotations = got["metadata"]["annotations"].take();
            got["metadata"].as_object_mut().expect("a map").remove("annotations");
            assert_eq!(got, want, "{create:?} {of:?}");
            let last = annotations[annotation].take();
            assert_eq!(last.as_str().expect("there").contains("web:2"), is_renewed, "{of:?}");
            assert_eq!(annotations["deployment.kubernetes.io/revision"], "1", "{of:?}");
        }
    }
}

#[test]
fn what_others_changed_is_undone_only_when_asked() {
    let changed = LIVE.replace("paused: true\n  template", "paused: false\n  template");
    let files = folder(&[("live.yaml", &changed), ("applied.yaml", APPLIED), ("new.yaml", NEW)]);
    for of in TYPES {
        let create = ["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml"];
        let said = fail(files.path(), &[&create[..], of].concat());
        assert!(
            said.contains("others changed this since") && said.contains("field: spec.paused"),
            "{of:?}: {said}"
        );
        let overwritten = applied(&files, &[&create[..], &["--overwrite"]].concat(), of);
        assert_eq!(overwritten["spec"].get("paused"), None, "{of:?}");
    }
}

#[test]
fn a_change_that_a_type_cannot_say_is_said_by_the_way_out() {
    let ports = |b: &str| {
        format!(
            "\
apiVersion: v1
kind: Service
metadata: {{name: dns}}
spec:
  ports:
  - {{port: 53, protocol: TCP, name: a}}
  - {{port: 53, protocol: UDP, name: {b}}}
"
        )
    };
    let files = folder(&[("live.yaml", &ports("b")), ("new.yaml", &ports("c"))]);
    for create in [
        &["create-patch", "live.yaml", "new.yaml"][..],
        &["create-patch", "live.yaml", "new.yaml", "--current", "live.yaml"],
    ] {
        let said = fail(files.path(), create);
        assert!(said.contains("--dialect overlay") && said.contains("--type merge"), "{said}");
        assert!(said.contains("same merge key"), "{said}");
        for of in &TYPES[1..] {
            let ports = &applied(&files, create, of)["spec"]["ports"];
            assert_eq!((&ports[0]["name"], &ports[1]["name"]), (&"a".into(), &"c".into()), "{of:?}");
        }
    }
    // Two equal ones, which no key tells apart.
    let twice = ports("b").replace("UDP", "TCP");
    let files = folder(&[("live.yaml", &twice), ("new.yaml", &twice.replace("name: a", "name: x"))]);
    for of in &TYPES[1..] {
        let ports = &applied(&files, &["create-patch", "live.yaml", "new.yaml"], of)["spec"]["ports"];
        assert_eq!((&ports[0]["name"], &ports[1]["name"]), (&"x".into(), &"b".into()), "{of:?}");
    }
}

#[test]
fn schemas_are_checked_for_those_who_write_them() {
    let wrong = "\
definitions:
  A:
    properties:
      l:
        type: array
        x-kubernetes-patch-merge-key: a
        x-kubernetes-recommended-patch-merge-key: b,a
";
    let files = folder(&[("crd.yaml", CRD), ("wrong.yaml", wrong), ("a.yaml", CUSTOM)]);
    let (stdout, stderr) = succeed(files.path(), &["schema", "lint", "crd.yaml"]);
    assert_eq!((stdout.as_str(), stderr.as_str()), ("crd.yaml: 0 errors, 0 warnings\n", ""));
    let output = run(files.path(), &["schema", "lint", "wrong.yaml", "crd.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stderr).expect("text"), @r"
    error[invalid-value]: the default merge key `a` must be the first of the recommended ones, `b`, `a`
     --> wrong.yaml:7:51
      |
    7 |         x-kubernetes-recommended-patch-merge-key: b,a
      |                                                   ^^^
      |
      = field: x-kubernetes-recommended-patch-merge-key
      = help: name the default merge key first, then the others: `<default>,<additional>`
    ");
    let stdout = String::from_utf8(output.stdout).expect("text");
    assert_eq!(
        stdout,
        "\
wrong.yaml: 1 error, 0 warnings
crd.yaml: 0 errors, 0 warnings
"
    );
    insta::assert_snapshot!(fail(files.path(), &["schema", "compile", "wrong.yaml", "-o", "out"]), @r"
    error[invalid-value]: the default merge key `a` must be the first of the recommended ones, `b`, `a`
     --> wrong.yaml:7:51
      |
    7 |         x-kubernetes-recommended-patch-merge-key: b,a
      |                                                   ^^^
      |
      = field: x-kubernetes-recommended-patch-merge-key
      = help: name the default merge key first, then the others: `<default>,<additional>`
    ");
    insta::assert_snapshot!(fail(files.path(), &["patch", "-f", "a.yaml", "-p", "{}", "--schema", "wrong.yaml"]), @r"
    error[invalid-value]: the default merge key `a` must be the first of the recommended ones, `b`, `a`
     --> wrong.yaml:7:51
      |
    7 |         x-kubernetes-recommended-patch-merge-key: b,a
      |                                                   ^^^
      |
      = field: x-kubernetes-recommended-patch-merge-key
      = help: name the default merge key first, then the others: `<default>,<additional>`
    ");
}

/// A definition with one list, and what is said of it.
fn with_list(words: &str) -> String {
    format!(
        "\
definitions:
  A:
    type: object
    properties:
      l:
        type: array
        items:
          type: object
          required: [name]
          properties: {{name: {{type: string}}, o: {{type: object}}}}
{words}"
    )
}

#[test]
fn compiling_writes_over_nothing_but_compiled_schemas() {
    let files = folder(&[("w.yaml", CRD), ("notes.txt", "mine"), ("empty", "")]);
    for (output, why) in [
        ("w.yaml", "w.yaml is a source"),
        ("./w.yaml", "w.yaml is a source"),
        ("notes.txt", "no compiled schema"),
    ] {
        let stderr = fail(files.path(), &["schema", "compile", "w.yaml", "-o", output]);
        assert!(stderr.contains(why) && stderr.contains("name another file"), "{stderr}");
    }
    assert_eq!(fs::read_to_string(files.path().join("w.yaml")).expect("kept"), CRD);
    assert_eq!(fs::read_to_string(files.path().join("notes.txt")).expect("kept"), "mine\n");
    for output in ["out", "out", "empty"] {
        succeed(files.path(), &["schema", "compile", "w.yaml", "-o", output]);
    }
}

#[test]
fn compiled_schemas_are_sources_as_any_others() {
    let files = folder(&[("w.yaml", CRD)]);
    succeed(files.path(), &["schema", "compile", "w.yaml", "-o", "one"]);
    for sources in [&["one"] as &[&str], &["one", "w.yaml"], &["w.yaml", "one"]] {
        succeed(files.path(), &[&["schema", "compile", "-o", "two"], sources].concat());
        let [one, two] = ["one", "two"].map(|name| fs::read(files.path().join(name)).expect("written"));
        assert_eq!(one, two, "{sources:?}");
    }
    let output = run(files.path(), &["schema", "lint", "one"]);
    assert!(!output.status.success());
    insta::assert_snapshot!(String::from_utf8(output.stderr).expect("text"), @r"
    error[invalid-value]: one is a compiled schema, which cannot be linted
     |
     = help: lint what it was compiled from
    ");
}

#[test]
fn what_lint_calls_an_error_is_not_compiled() {
    let merge = "        x-kubernetes-patch-strategy: merge\n        x-kubernetes-patch-merge-key: ";
    for (words, why) in [
        (format!("{merge}''\n"), "objects merge by a key"),
        (format!("{merge}o\n"), "the key `o` is object"),
        ("        x-kubernetes-list-type: map\n".into(), "a list of type map needs"),
        (
            format!(
                "\
{merge}name
        x-kubernetes-recommended-patch-merge-key: name,odd
"
            ),
            "have no field `odd`",
        ),
    ] {
        let files = folder(&[("s.yaml", &with_list(&words))]);
        let stderr = fail(files.path(), &["schema", "compile", "s.yaml", "-o", "out"]);
        assert!(stderr.contains(why), "{words}: {stderr}");
        assert!(!files.path().join("out").exists());
        let lint = run(files.path(), &["schema", "lint", "s.yaml"]);
        assert!(String::from_utf8(lint.stderr).expect("text").contains(why), "{words}");
    }
}

#[test]
fn selectors_that_say_nothing_are_refused() {
    let files = folder_of(
        r"
-- a.yaml --
kind: ConfigMap
metadata:
  name: a
-- values.yaml --
data: {}
",
    );
    for flag in ["--name", "--kind", "-l"] {
        let said =
            fail(files.path(), &["patch", "-f", ".", "--in-place", flag, "", "--type=merge", "-p", "{a: 1}"]);
        assert!(said.contains("is empty"), "{flag}: {said}");
    }
}

#[test]
fn a_namespace_keeps_the_objects_of_others_as_they_are() {
    let config = |namespace: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
  namespace: {namespace}
data:
  a: old
"
        )
    };
    let both = format!("{}---\n{}", config("prod"), config("staging"));
    let files = folder(&[("a.yaml", &both)]);
    let patch = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: new}}";
    let (got, _) = succeed(files.path(), &["patch", "-f", "a.yaml", "-n", "staging", "-p", patch]);
    assert_eq!(got, format!("{}---\n{}", config("prod"), config("staging").replace("old", "new")));
}

/// What a patch of some type makes of a manifest, as JSON.
fn made_of(files: &TempDir, manifest: &str, create: &[&str], of: &[&str]) -> serde_json::Value {
    let (patch, _) = succeed(files.path(), &[create, of].concat());
    fs::write(files.path().join("patch.yaml"), patch).expect("written");
    let apply = ["patch", "-f", manifest, "--patch-file", "patch.yaml", "-o", "json"];
    serde_json::from_str(&succeed(files.path(), &[&apply[..], of].concat()).0).expect("JSON")
}

#[test]
fn what_a_type_cannot_say_names_only_what_can() {
    let thing = |more: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: Thing
metadata: {{name: a}}
{more}
"
        )
    };
    let files = folder(&[
        ("a.yaml", &thing("")),
        ("map.yaml", &thing("z: {q: null}")),
        ("field.yaml", &thing("z: null")),
        ("list.yaml", &thing("z: [{q: null}]")),
    ]);
    // The modified version, how it cannot be said, the flags that the error names.
    let table: [(&str, &[&str], &[&str]); 5] = [
        ("map.yaml", TYPES[1], &["--type json"]),
        ("field.yaml", TYPES[1], &["--type json"]),
        ("map.yaml", TYPES[3], &["--type json"]),
        ("list.yaml", TYPES[3], &["--type merge", "--type json"]),
        ("field.yaml", TYPES[3], &["--type json"]),
    ];
    for (modified, of, ways) in table {
        let said = fail(files.path(), &[&["create-patch", "a.yaml", modified], of].concat());
        for flag in ["--dialect overlay", "--type merge", "--type json"] {
            assert_eq!(said.contains(flag), ways.contains(&flag), "{modified} {of:?} {flag}: {said}");
        }
        for way in ways {
            let way: Vec<&str> = way.split(' ').collect();
            let got = made_of(&files, "a.yaml", &["create-patch", "a.yaml", modified], &way);
            let want = serde_json::json!({
                "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"},
                "z": match modified { "map.yaml" => serde_json::json!({"q": null}), "list.yaml" => serde_json::json!([{"q": null}]), _ => serde_json::json!(null) },
            });
            assert_eq!(got, want, "{modified} {way:?}");
        }
    }
    // In an entry of a list null is a value to a merge patch.
    let (patch, _) = succeed(files.path(), &["create-patch", "a.yaml", "list.yaml", "--type", "merge"]);
    assert_eq!(
        patch,
        "\
z:
- q: null
"
    );
    // What goes wrong before a patch is made has a way out, too.
    let config = |more: &str| {
        WEB.replace(
            "spec:\n  replicas: 1 # one\n",
            &format!(
                "\
spec:
  nope: {{a: {more}}}
"
            ),
        )
    };
    let files = folder(&[("a.yaml", &config("1")), ("b.yaml", &config("2"))]);
    let said = fail(files.path(), &["create-patch", "a.yaml", "b.yaml"]);
    insta::assert_snapshot!(said, @r"
    error[unknown-field]: the schema has no field `nope` here, so it cannot be merged
     --> b.yaml:7:9
      |
    7 |   nope: {a: 2}
      |         ^^^^^^
      |
      = field: spec.nope
      = note: `--dialect overlay`, `--type merge` or `--type json` makes a patch that says it
      = help: check the name, or use a JSON merge patch for free-form fields
    ");
}

/// As `kubectl create deployment --dry-run=client -o yaml` writes it.
const DRY_RUN: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  creationTimestamp: null
  name: web
spec:
  selector: {matchLabels: {app: web}}
  strategy: {}
  template:
    metadata:
      creationTimestamp: null
      labels: {app: web}
    spec:
      nodeSelector: {disk: ssd}
      containers:
      - image: web:1
        name: web
        resources: {}
status: {}
";
/// What a server makes of it, with what others added.
const CREATED: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  creationTimestamp: '2024-01-01T00:00:00Z'
  name: web
  uid: 6a0c
spec:
  replicas: 1
  selector: {matchLabels: {app: web, others: x}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}
  template:
    metadata:
      labels: {app: web}
    spec:
      nodeSelector: {disk: ssd, zone: a}
      containers:
      - image: web:1
        name: web
        resources: {limits: {cpu: '1'}}
status: {replicas: 1}
";

#[test]
fn what_is_null_or_empty_in_a_manifest_is_no_conflict() {
    let files = folder(&[
        ("applied.yaml", DRY_RUN),
        ("new.yaml", &DRY_RUN.replace("web:1", "web:2")),
        ("live.yaml", CREATED),
        // The server's fields were never there.
        (
            "plain.yaml",
            &DRY_RUN.replace("creationTimestamp: null", "generateName: ''").replace("\nstatus: {}", ""),
        ),
    ]);
    let mut want: serde_json::Value = serde_json::from_str(
        &succeed(files.path(), &["patch", "-f", "live.yaml", "-p", "{}", "-o", "json"]).0,
    )
    .expect("JSON");
    want["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2".into();
    for of in &TYPES[..3] {
        for overwrite in [&[][..], &["--overwrite"]] {
            let create = ["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml"];
            let got = made_of(&files, "live.yaml", &[&create, overwrite].concat(), of);
            assert_eq!(got, want, "{of:?} {overwrite:?}");
        }
    }
    // An overlay takes maps that the schema calls atomic as one value: what others put in is a conflict.
    let create =
        ["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml", "--dialect", "overlay"];
    let said = fail(files.path(), &create);
    insta::assert_snapshot!(said, @r"
    error[conflict]: others changed this since it was applied last, and something else is wanted
     --> new.yaml:7:13
      |
    7 |   selector: {matchLabels: {app: web}}
      |             ^^^^^^^^^^^^^^^^^^^^^^^^^ wanted here
      |
     ::: live.yaml:9:13
      |
    9 |   selector: {matchLabels: {app: web, others: x}}
      |             ------------------------------------ and in the cluster
      |
      = field: spec.selector
      = help: --overwrite undoes the other change; or take it over into the manifest
    ");
    let got = made_of(&files, "live.yaml", &[&create[..5], &["--overwrite"]].concat(), TYPES[3]);
    assert_eq!(got["metadata"], want["metadata"]);
    // Two-way, null is what it is in a JSON patch, and nothing to all others.
    for of in TYPES {
        let got = made_of(&files, "plain.yaml", &["create-patch", "plain.yaml", "new.yaml"], of);
        assert!(got["metadata"]["creationTimestamp"].is_null(), "{of:?}");
        assert_eq!(got["spec"]["template"]["spec"]["containers"][0]["image"], "web:2", "{of:?}");
    }
}

#[test]
fn maps_are_merged_key_by_key_where_a_patch_can_name_keys() {
    let files = folder(&[
        ("applied.yaml", DRY_RUN),
        (
            "new.yaml",
            &DRY_RUN
                .replace("disk: ssd", "disk: hdd")
                .replace("matchLabels: {app: web}", "matchLabels: {app: web2}"),
        ),
        ("live.yaml", CREATED),
    ]);
    for of in &TYPES[1..3] {
        let create = ["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml", "--overwrite"];
        let got = made_of(&files, "live.yaml", &create, of);
        let selector = serde_json::json!({"app": "web2", "others": "x"});
        assert_eq!(got["spec"]["selector"]["matchLabels"], selector, "{of:?}");
        let nodes = serde_json::json!({"disk": "hdd", "zone": "a"});
        assert_eq!(got["spec"]["template"]["spec"]["nodeSelector"], nodes, "{of:?}");
    }
}

#[test]
fn conflicts_name_the_flag_that_undoes_them() {
    let changed = LIVE.replace("paused: true\n  template", "paused: false\n  template");
    let files = folder(&[("live.yaml", &changed), ("applied.yaml", APPLIED), ("new.yaml", NEW)]);
    let create = ["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml"];
    for of in TYPES {
        let said = fail(files.path(), &[&create[..], of].concat());
        assert!(said.contains("--overwrite undoes the other change"), "{of:?}: {said}");
    }
    // Nothing undoes another name.
    fs::write(files.path().join("new.yaml"), NEW.replace("name: web, labels", "name: wob, labels"))
        .expect("written");
    for of in TYPES {
        let said = fail(files.path(), &[&create[..], of].concat());
        assert!(!said.contains("--overwrite"), "{of:?}: {said}");
    }
}

#[test]
fn directives_that_do_something_else_are_warned_of() {
    let spec = |spec: &str| format!("{{spec: {{template: {{spec: {spec}}}}}}}");
    // The patch, what is said in `apiserver`, whether it is said in `overlay`, too, and a text of the outcome there.
    let table = [
        (spec("{containers: [{$patch: replace, name: web, image: 'web:2'}]}"), "this one is left out", true),
        (spec("{volumes: [{$patch: replace, name: v}]}"), "this one is left out", true),
        (
            "{spec: {strategy: {$patch: replace, type: Recreate}}}".into(),
            "leaves out what stands beside it",
            false,
        ),
        (
            spec("{containers: [{name: b, env: [{$patch: delete, name: X}]}]}"),
            "adds the entry without",
            false,
        ),
        (
            spec("{containers: [{name: b, resources: {$patch: delete, limits: {cpu: '1'}}}]}"),
            "adds what stands",
            false,
        ),
        (
            spec(
                "{containers: [{name: web, env: [{$patch: replace}, {name: Y, valueFrom: {$patch: replace, fieldRef: {}}}]}]}",
            ),
            "leaves out what stands beside it",
            false,
        ),
    ];
    let files = folder(&[("web.yaml", WEB)]);
    for (patch, want, is_common) in table {
        let (_, said) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", &patch]);
        assert!(said.contains(want), "{patch}: {said}");
        let (_, said) =
            succeed(files.path(), &["patch", "-f", "web.yaml", "-p", &patch, "--dialect", "overlay"]);
        assert_eq!(said.contains(want), is_common, "{patch}: {said}");
    }
}

#[test]
fn directives_that_do_what_they_look_like_are_not() {
    let spec = |spec: &str| format!("{{spec: {{template: {{spec: {spec}}}}}}}");
    for patch in [
        spec("{containers: [{$patch: replace}, {name: b, image: 'b:1'}]}"),
        spec("{containers: [{name: web, $patch: delete}]}"),
        spec(
            "{containers: [{name: web, resources: {$patch: replace, limits: {cpu: '1'}}}, {name: new, image: x}]}",
        ),
        "{metadata: {labels: {$patch: replace, a: b}}}".into(),
    ] {
        let with = WEB.replace(
            "image: web:1\n",
            "\
image: web:1
        resources: {requests: {cpu: '2'}}
",
        );
        let files = folder(&[("web.yaml", &with)]);
        assert_eq!(succeed(files.path(), &["patch", "-f", "web.yaml", "-p", &patch]).1, "", "{patch}");
    }
}

#[test]
fn an_entry_whose_key_is_null_is_added_by_the_server_alone() {
    let files = folder(&[("web.yaml", WEB)]);
    let null = "{spec: {template: {spec: {containers: [{name: null, image: 'b:1'}]}}}}";
    let (patched, _) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", null]);
    insta::assert_snapshot!(patched, @r"
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
      labels: {tier: front}
    spec:
      replicas: 1 # one
      template:
        spec:
          containers:
          - name: null
            image: b:1
          - name: web
            image: web:1
    ");
    let said = fail(files.path(), &["patch", "-f", "web.yaml", "-p", null, "--dialect", "overlay"]);
    insta::assert_snapshot!(said, @r"
    error[missing-merge-key]: this entry lacks its merge key `name`
     --> --patch:1:40
      |
    1 | {spec: {template: {spec: {containers: [{name: null, image: 'b:1'}]}}}}
      |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = resource: Deployment.apps web
      = field: spec.template.spec.containers[0]
      = note: it was for apps/v1 Deployment web in web.yaml
      = help: entries of this list are told apart by `name`: each entry needs a value there
    ");
}

#[test]
fn errors_say_of_which_patch_and_which_file() {
    let files = application();
    fs::write(
        files.path().join("patch.yaml"),
        "\
kind: Deployment
spec: {replicas: {a: 1}, nope: {}}
",
    )
    .expect("written");
    fs::write(
        files.path().join("app/db.yaml"),
        WEB.replace("name: web\n  labels", "name: db\n  labels")
            .replace("  replicas: 1 # one\n", "  nope: {b: 1}\n"),
    )
    .expect("written");
    let said = fail(files.path(), &["patch", "-f", "app", "--patch-file", "patch.yaml"]);
    insta::assert_snapshot!(said, @r"
    error[unknown-field]: the schema has no field `nope` here, so it cannot be merged
     --> patch.yaml:2:32
      |
    2 | spec: {replicas: {a: 1}, nope: {}}
      |                                ^^
      |
      = resource: Deployment.apps db
      = field: spec.nope
      = note: it was for apps/v1 Deployment db in db.yaml
      = help: check the name, or use a JSON merge patch for free-form fields
    ");
    let said =
        fail(files.path(), &["patch", "-f", "app", "-p", "{spec: {paused: true}}", "--kind", "deploymet"]);
    insta::assert_snapshot!(said, @r"
    error[no-match]: no manifest is what was asked for
     --> --patch:1:1
      |
    1 | {spec: {paused: true}}
      | ^
      |
      = note: a document without a kind in kustomization.yaml
      = note: a document without a kind in values.yaml
      = note: kustomize.config.k8s.io/v1beta1 Kustomization in overlay/kustomization.yaml
      = note: apps/v1 Deployment db in db.yaml
      = note: apps/v1 Deployment web in web.yaml
      = help: did you mean `Deployment`?
    ");
    let said = fail(files.path(), &["patch", "-f", "app", "-p", "{spec: {paused: true}}", "--name", "wbe"]);
    insta::assert_snapshot!(said, @r"
    error[no-match]: no manifest is what was asked for
     --> --patch:1:1
      |
    1 | {spec: {paused: true}}
      | ^
      |
      = note: a document without a kind in kustomization.yaml
      = note: a document without a kind in values.yaml
      = note: kustomize.config.k8s.io/v1beta1 Kustomization in overlay/kustomization.yaml
      = note: apps/v1 Deployment db in db.yaml
      = note: apps/v1 Deployment web in web.yaml
      = help: did you mean `web`?
    ");
}

#[test]
fn errors_of_orders_name_keys() {
    let files = folder(&[("web.yaml", WEB)]);
    let patch = |order: &str| {
        let spec =
            format!("{{$setElementOrder/containers: {order}, containers: [{{name: web, image: 'web:2'}}]}}");
        fail(
            files.path(),
            &["patch", "-f", "web.yaml", "-p", &format!("{{spec: {{template: {{spec: {spec}}}}}}}")],
        )
    };
    let said = patch("[{name: b}]");
    insta::assert_snapshot!(said, @r"
    error[directive]: this entry is not in `$setElementOrder/containers`, or at another place
     --> --patch:1:82
      |
    1 | {spec: {template: {spec: {$setElementOrder/containers: [{name: b}], containers: [{name: web, image: 'web:2'}]}}}}
      |                                                                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
     ::: --patch:1:56
      |
    1 | {spec: {template: {spec: {$setElementOrder/containers: [{name: b}], containers: [{name: web, image: 'web:2'}]}}}}
      |                                                        ----------- the order
      |
      = resource: Deployment.apps web
      = field: spec.template.spec.containers[name=web]
      = note: it was for apps/v1 Deployment web in web.yaml
      = help: name all entries of the patch there, in the same order
    ");
    insta::assert_snapshot!(patch("[5]"), @r"
    error[missing-merge-key]: this entry must be a map with its merge key `name`, and is an integer
     --> --patch:1:57
      |
    1 | {spec: {template: {spec: {$setElementOrder/containers: [5], containers: [{name: web, image: 'web:2'}]}}}}
      |                                                         ^
      |
      = resource: Deployment.apps web
      = field: spec.template.spec.containers[0]
      = note: it was for apps/v1 Deployment web in web.yaml
    ");
    insta::assert_snapshot!(patch("[{image: x}]"), @r"
    error[missing-merge-key]: this entry lacks its merge key `name`
     --> --patch:1:57
      |
    1 | {spec: {template: {spec: {$setElementOrder/containers: [{image: x}], containers: [{name: web, image: 'web:2'}]}}}}
      |                                                         ^^^^^^^^^^
      |
      = resource: Deployment.apps web
      = field: spec.template.spec.containers[0]
      = note: it was for apps/v1 Deployment web in web.yaml
      = help: entries of this list are told apart by `name`: each entry needs a value there
    ");
}

#[test]
fn what_a_patch_deletes_is_told() {
    let two = format!("{WEB}---\n{}", WEB.replace("name: web\n  labels", "name: db\n  labels"));
    let delete = "{kind: Deployment, metadata: {name: web}, $patch: delete}";
    for in_place in [&[][..], &["--in-place"]] {
        let files = folder(&[("a.yaml", &two)]);
        let (_, said) =
            succeed(files.path(), &[&["patch", "-f", "a.yaml", "-p", delete][..], in_place].concat());
        assert!(said.contains("Deployment.apps web: removed") && !said.contains("the file"), "{said}");
        let files = folder(&[("a.yaml", WEB)]);
        let (_, said) =
            succeed(files.path(), &[&["patch", "-f", "a.yaml", "-p", delete][..], in_place].concat());
        let file = if in_place.is_empty() { "the file would be removed" } else { "the file was removed" };
        assert!(said.contains("Deployment.apps web: removed") && said.contains(file), "{said}");
        assert_eq!(files.path().join("a.yaml").exists(), in_place.is_empty());
    }
}

#[test]
fn numbers_stay_what_they_are() {
    let files = folder(&[("a.yaml", CUSTOM)]);
    for (patch, of) in [
        (r#"{"spec": {"x": 1e400}}"#, "merge"),
        (r#"[{"op": "add", "path": "/spec/x", "value": 1e400}]"#, "json"),
    ] {
        let said = fail(files.path(), &["patch", "-f", "a.yaml", "-p", patch, "--type", of]);
        assert!(said.contains("`1e400` is a larger number than any"), "{said}");
    }
    let json = r#"{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"x": 1e400}}"#;
    fs::write(files.path().join("b.json"), json).expect("written");
    for of in ["merge", "json"] {
        let said = fail(files.path(), &["create-patch", "a.yaml", "b.json", "--type", of]);
        assert!(said.contains("larger number than any"), "{said}");
    }
    // As YAML it is a text, and stays one.
    let (patched, _) =
        succeed(files.path(), &["patch", "-f", "a.yaml", "-p", "spec: {x: 7e12345}", "--type", "merge"]);
    insta::assert_snapshot!(patched, @r"
    apiVersion: example.com/v1
    kind: Thing
    metadata:
      name: a
    spec:
      l: [{id: 1, x: 1}, {id: 2}]
      x: 7e12345
    ");
    // kubectl sends `80.0` of YAML as 80.
    let ports = WEB.replace(
        "image: web:1\n",
        "\
image: web:1
        ports:
        - containerPort: 80
",
    );
    let files = folder(&[("web.yaml", &ports)]);
    let patch =
        "{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80.0, name: x}]}]}}}}";
    let (patched, _) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", patch]);
    assert_eq!(
        patched,
        ports.replace(
            "containerPort: 80\n",
            "\
containerPort: 80
          name: x
"
        )
    );
}
