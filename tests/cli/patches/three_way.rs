//! Three-way patches, linted and compiled schemas.

use std::fs;

use kubectl_smp_testing::program::{run, temp_dir, temp_dir_from_text};
use tempfile::TempDir;

use super::{APPLIED, CRD, CUSTOM, LIVE, NEW, TYPES, fail, succeed};

/// Applies a patch of the given type to the live object and returns the result as JSON.
fn applied(files: &TempDir, create: &[&str], of: &[&str]) -> serde_json::Value {
    let (patch, _) = succeed(files.path(), &[create, of].concat());
    fs::write(files.path().join("patch.yaml"), patch).expect("written");
    let apply = ["patch", "-f", "live.yaml", "--patch-file", "patch.yaml", "-o", "json"];
    let (patched, _) = succeed(files.path(), &[&apply[..], of].concat());
    serde_json::from_str(&patched).expect("JSON")
}

#[test]
fn three_way_patches_of_all_types_keep_fields_of_other_managers() {
    let files = temp_dir(&[("live.yaml", LIVE), ("applied.yaml", APPLIED), ("new.yaml", NEW)]);
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
fn concurrent_changes_are_overwritten_only_with_the_flag() {
    let changed = LIVE.replace("paused: true\n  template", "paused: false\n  template");
    let files = temp_dir(&[("live.yaml", &changed), ("applied.yaml", APPLIED), ("new.yaml", NEW)]);
    for of in TYPES {
        let create = ["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml"];
        let diagnostics = fail(files.path(), &[&create[..], of].concat());
        assert!(
            diagnostics.contains("both changed this field since the last apply")
                && diagnostics.contains("field: spec.paused"),
            "{of:?}: {diagnostics}"
        );
        let overwritten = applied(&files, &[&create[..], &["--overwrite"]].concat(), of);
        assert_eq!(overwritten["spec"].get("paused"), None, "{of:?}");
    }
}

#[test]
fn change_a_patch_type_cannot_express_suggests_an_alternative() {
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
    let files = temp_dir(&[("live.yaml", &ports("b")), ("new.yaml", &ports("c"))]);
    for create in [
        &["create-patch", "live.yaml", "new.yaml"][..],
        &["create-patch", "live.yaml", "new.yaml", "--current", "live.yaml"],
    ] {
        let diagnostics = fail(files.path(), create);
        assert!(
            diagnostics.contains("--dialect schema") && diagnostics.contains("--type merge"),
            "{diagnostics}"
        );
        assert!(diagnostics.contains("same merge key"), "{diagnostics}");
        for of in &TYPES[1..] {
            let ports = &applied(&files, create, of)["spec"]["ports"];
            assert_eq!((&ports[0]["name"], &ports[1]["name"]), (&"a".into(), &"c".into()), "{of:?}");
        }
    }
    // Two equal entries that no key distinguishes.
    let twice = ports("b").replace("UDP", "TCP");
    let files = temp_dir(&[("live.yaml", &twice), ("new.yaml", &twice.replace("name: a", "name: x"))]);
    for of in &TYPES[1..] {
        let ports = &applied(&files, &["create-patch", "live.yaml", "new.yaml"], of)["spec"]["ports"];
        assert_eq!((&ports[0]["name"], &ports[1]["name"]), (&"x".into(), &"b".into()), "{of:?}");
    }
}

#[test]
fn schema_lint_reports_errors() {
    let wrong = "\
definitions:
  A:
    properties:
      l:
        type: array
        x-kubernetes-patch-merge-key: a
        x-kubernetes-recommended-patch-merge-key: b,a
";
    let files = temp_dir(&[("crd.yaml", CRD), ("wrong.yaml", wrong), ("a.yaml", CUSTOM)]);
    let (stdout, stderr) = succeed(files.path(), &["schema", "lint", "crd.yaml"]);
    assert_eq!((stdout.as_str(), stderr.as_str()), ("crd.yaml: 0 errors, 0 warnings\n", ""));
    let output = run(files.path(), &["schema", "lint", "wrong.yaml", "crd.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stderr).expect("text"), @r"
    error[invalid-value]: the default merge key `a` must come first in the recommended merge keys `b`, `a`
     --> wrong.yaml:7:51
      |
    7 |         x-kubernetes-recommended-patch-merge-key: b,a
      |                                                   ^^^
      |
      = field: x-kubernetes-recommended-patch-merge-key
      = help: list the default merge key first, then the others: `<default>,<additional>`
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
    error[invalid-value]: the default merge key `a` must come first in the recommended merge keys `b`, `a`
     --> wrong.yaml:7:51
      |
    7 |         x-kubernetes-recommended-patch-merge-key: b,a
      |                                                   ^^^
      |
      = field: x-kubernetes-recommended-patch-merge-key
      = help: list the default merge key first, then the others: `<default>,<additional>`
    ");
    insta::assert_snapshot!(fail(files.path(), &["patch", "-f", "a.yaml", "-p", "{}", "--schema", "wrong.yaml"]), @r"
    error[invalid-value]: the default merge key `a` must come first in the recommended merge keys `b`, `a`
     --> wrong.yaml:7:51
      |
    7 |         x-kubernetes-recommended-patch-merge-key: b,a
      |                                                   ^^^
      |
      = field: x-kubernetes-recommended-patch-merge-key
      = help: list the default merge key first, then the others: `<default>,<additional>`
    ");
}

/// A definition with one list that has these schema extensions.
fn definition_with_list(words: &str) -> String {
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
fn schema_compile_overwrites_only_compiled_schemas() {
    let files = temp_dir(&[("w.yaml", CRD), ("notes.txt", "mine"), ("empty", "")]);
    for (output, why) in [
        ("w.yaml", "w.yaml is a source"),
        ("./w.yaml", "w.yaml is a source"),
        ("notes.txt", "is not a compiled schema"),
    ] {
        let stderr = fail(files.path(), &["schema", "compile", "w.yaml", "-o", output]);
        assert!(stderr.contains(why) && stderr.contains("use another file"), "{stderr}");
    }
    assert_eq!(fs::read_to_string(files.path().join("w.yaml")).expect("kept"), CRD);
    assert_eq!(fs::read_to_string(files.path().join("notes.txt")).expect("kept"), "mine\n");
    for output in ["out", "out", "empty"] {
        succeed(files.path(), &["schema", "compile", "w.yaml", "-o", output]);
    }
}

#[test]
fn compiled_schemas_are_accepted_as_sources() {
    let files = temp_dir(&[("w.yaml", CRD)]);
    succeed(files.path(), &["schema", "compile", "w.yaml", "-o", "one"]);
    for sources in [&["one"] as &[&str], &["one", "w.yaml"], &["w.yaml", "one"]] {
        succeed(files.path(), &[&["schema", "compile", "-o", "two"], sources].concat());
        let [one, two] = ["one", "two"].map(|name| fs::read(files.path().join(name)).expect("written"));
        assert_eq!(one, two, "{sources:?}");
    }
    let output = run(files.path(), &["schema", "lint", "one"]);
    assert!(!output.status.success());
    insta::assert_snapshot!(String::from_utf8(output.stderr).expect("text"), @r"
    error[invalid-value]: cannot lint `one`: it is a compiled schema
     |
     = help: lint the documents that it was compiled from
    ");
}

#[test]
fn schemas_with_lint_errors_are_not_compiled() {
    let merge = "        x-kubernetes-patch-strategy: merge\n        x-kubernetes-patch-merge-key: ";
    for (words, why) in [
        (
            format!("{merge}''\n"),
            "a list of objects with patch strategy merge requires x-kubernetes-patch-merge-key",
        ),
        (format!("{merge}o\n"), "key `o` has type object"),
        ("        x-kubernetes-list-type: map\n".into(), "a list of type map requires"),
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
        let files = temp_dir(&[("s.yaml", &definition_with_list(&words))]);
        let stderr = fail(files.path(), &["schema", "compile", "s.yaml", "-o", "out"]);
        assert!(stderr.contains(why), "{words}: {stderr}");
        assert!(!files.path().join("out").exists());
        let lint = run(files.path(), &["schema", "lint", "s.yaml"]);
        assert!(String::from_utf8(lint.stderr).expect("text").contains(why), "{words}");
    }
}

#[test]
fn empty_selectors_are_rejected() {
    let files = temp_dir_from_text(
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
        let diagnostics =
            fail(files.path(), &["patch", "-f", ".", "--in-place", flag, "", "--type=merge", "-p", "{a: 1}"]);
        assert!(diagnostics.contains("is empty"), "{flag}: {diagnostics}");
    }
}

#[test]
fn patch_with_a_namespace_leaves_other_namespaces_unchanged() {
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
    let files = temp_dir(&[("a.yaml", &both)]);
    let patch = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: new}}";
    let (got, _) = succeed(files.path(), &["patch", "-f", "a.yaml", "-n", "staging", "-p", patch]);
    assert_eq!(got, format!("{}---\n{}", config("prod"), config("staging").replace("old", "new")));
}
