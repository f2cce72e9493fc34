//! Patches must not silently lose entries or leave nulls, and warn only about their own values.

use std::fs;

use super::{CRD, TYPES, WEB, apply_patch_type, config, fail, run, succeed, temp_dir, temp_dir_from_text};

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata:
  name: dns
spec:
  ports:
  - {name: a, port: 53, protocol: TCP}
  - {name: b, port: 53, protocol: UDP}
";

#[test]
fn entries_lost_by_kustomize_are_reported() {
    let files = temp_dir(&[("dns.yaml", SERVICE)]);
    let patch = |patch: &str| {
        succeed(files.path(), &["patch", "-f", "dns.yaml", "--dialect", "kustomize", "-p", patch]).1
    };
    let diagnostics = patch("{spec: {ports: [{port: 53, protocol: UDP, nodePort: 30053}]}}");
    assert_eq!(diagnostics, "", "all keys tell them apart");
    let diagnostics = patch("{spec: {ports: [{port: 53, nodePort: 30053}]}}");
    insta::assert_snapshot!(diagnostics, @r"
    warning[ambiguous]: kustomize confuses entries of this list and does not apply the patch to this one
     --> dns.yaml:7:5
      |
    7 |   - {name: a, port: 53, protocol: TCP}
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = resource: Service dns
      = field: spec.ports[port=53,protocol=TCP]
      = help: kustomize identifies entries by fewer merge keys if an entry lacks one: set all merge keys on each entry of the list and the patch, each combination once, or use --dialect schema or apiserver
    ");
    let twice = SERVICE.replace("UDP", "TCP");
    fs::write(files.path().join("dns.yaml"), twice).expect("written");
    let diagnostics = patch("{spec: {ports: [{port: 53, protocol: TCP, nodePort: 30053}]}}");
    insta::assert_snapshot!(diagnostics, @r"
    warning[duplicate-merge-key]: two entries of this list have the same merge key
     --> dns.yaml:8:5
      |
    8 |   - {name: b, port: 53, protocol: TCP}
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ second entry
      |
     ::: dns.yaml:7:5
      |
    7 |   - {name: a, port: 53, protocol: TCP}
      |     ---------------------------------- first entry
      |
      = resource: Service dns
      = field: spec.ports[port=53,protocol=TCP]
      = note: kustomize merges this list anyway and may drop entries
      = help: remove one of them, or change its key
    warning[ambiguous]: kustomize confuses entries of this list and drops this one
     --> dns.yaml:7:5
      |
    7 |   - {name: a, port: 53, protocol: TCP}
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = resource: Service dns
      = field: spec.ports[port=53,protocol=TCP]
      = help: kustomize identifies entries by fewer merge keys if an entry lacks one: set all merge keys on each entry of the list and the patch, each combination once, or use --dialect schema or apiserver
    warning: 2 warnings
    ");
    let diagnostics = patch("{spec: {ports: [{$patchMergeKey: [port, protocol], port: 54, protocol: TCP}]}}");
    insta::assert_snapshot!(diagnostics, @r"
    warning[ambiguous]: kustomize confuses entries of this list and drops this one
     --> dns.yaml:7:5
      |
    7 |   - {name: a, port: 53, protocol: TCP}
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = resource: Service dns
      = field: spec.ports[port=53,protocol=TCP]
      = help: kustomize identifies entries by fewer merge keys if an entry lacks one: set all merge keys on each entry of the list and the patch, each combination once, or use --dialect schema or apiserver
    warning[directive]: kustomize does not support `$patchMergeKey` and treats it as an ordinary field
     --> --patch:1:34
      |
    1 | {spec: {ports: [{$patchMergeKey: [port, protocol], port: 54, protocol: TCP}]}}
      |                                  ^^^^^^^^^^^^^^^^
      |
      = resource: Service dns
      = help: use --dialect schema or apiserver, which support it
    warning[unknown-field]: unknown field `$patchMergeKey`
     --> --patch:1:18
      |
    1 | {spec: {ports: [{$patchMergeKey: [port, protocol], port: 54, protocol: TCP}]}}
      |                  ^^^^^^^^^^^^^^
      |
      = resource: Service dns
      = field: spec.ports[0].$patchMergeKey
      = help: known fields: appProtocol, name, nodePort, port, protocol, targetPort
    warning: 3 warnings
    ");
}

#[test]
fn every_entry_lost_by_kustomize_is_named() {
    let thing = "\
apiVersion: example.com/v1
kind: Thing
metadata: {name: a}
spec:
  l:
";
    let types = CRD
        .replace("list-type: map", "patch-strategy: merge")
        .replace("x-kubernetes-list-map-keys: [id]", "x-kubernetes-patch-merge-key: id,x");
    let two = r"  - {id: 1, x: 1, note: one}
  - {id: 1, x: 2, note: two}
";
    let table: [(&str, &str, &[&str]); 5] = [
        (two, "{id: 1, x: 3}", &[]),
        (two, "{id: 2, x: 1}", &[]),
        (two, "{id: 1, x: 2, note: new}", &[]),
        // kustomize treats entries without a merge key as one entry.
        (
            r"  - {id: 1, note: one}
  - {id: 1, note: two}
",
            "{id: 2, x: 1}",
            &["thing.yaml:6:5"],
        ),
        (
            r"  - {id: 1, note: one}
  - {id: 1, note: two}
  - {id: 1, note: three}
",
            "{id: 2, x: 1}",
            &["thing.yaml:6:5", "thing.yaml:7:5"],
        ),
    ];
    for (list, entry, lost) in table {
        let manifest = format!("{thing}{list}");
        let files = temp_dir(&[("thing.yaml", &manifest), ("types.yaml", &types)]);
        let patch = format!("{{spec: {{l: [{entry}]}}}}");
        let (_, diagnostics) = succeed(
            files.path(),
            &["patch", "-f", "thing.yaml", "--schema=types.yaml", "--dialect", "kustomize", "-p", &patch],
        );
        let reported =
            diagnostics.matches("kustomize confuses entries of this list and drops this one").count();
        assert_eq!(reported, lost.len(), "{list}{entry}: {diagnostics}");
        for location in lost {
            assert!(diagnostics.contains(location), "{location}: {diagnostics}");
        }
    }
}

/// Operations on `WEB` that fail, and parts of their messages.
const REFUSED_OPERATIONS: [(&str, &[&str]); 8] = [
    (
        "[{op: add, path: /spec/replicas/x, value: 1}]",
        &["`/spec/replicas` is an integer and has no fields", "did you mean `/spec/replicas`?"],
    ),
    (
        "[{op: add, path: /metadata/name/labels/tier, value: a}]",
        &["`/metadata/name` is a string and has no fields", "did you mean `/metadata/labels/tier`?"],
    ),
    (
        "[{op: copy, from: /spec/replica, path: /spec/minReadySeconds}, {op: test, path: /x, value: 1}]",
        &["test failed: `/x` does not exist", "operation 2"],
    ),
    (
        "[{op: move, from: /spec/replica, path: /spec/minReadySeconds}]",
        &["field: /spec/replica\n", "did you mean `/spec/replicas`?"],
    ),
    (
        "[{op: move, from: /spec/template, path: /spec/template/spec/x}]",
        &["`/spec/template` cannot be moved into itself"],
    ),
    (
        "[{op: move, from: /spec/template, path: /spec/t}, {op: remove, path: /spec/template/spec/containers}]",
        &[
            "field: /spec/template/spec/containers\n",
            "operation 1 moved `/spec/template` to `/spec/t`",
            "operation 2",
            "did you mean `/spec/t/spec/containers`?",
        ],
    ),
    (
        "[{op: remove, path: /metadata/labels}, {op: add, path: /metadata/labels/a, value: b}]",
        &["operation 1 removed `/metadata/labels`", "operation 2"],
    ),
    (
        "[{op: copy, from: /metadata, path: /spec/m}, {op: test, path: /spec/m/name, value: x}]",
        &["web.yaml:4:9", "field: /spec/m/name\n"],
    ),
];

#[test]
fn failed_operations_get_suggestions() {
    let files = temp_dir(&[("web.yaml", WEB)]);
    for (patch, want) in REFUSED_OPERATIONS {
        let diagnostics = fail(files.path(), &["patch", "-f", "web.yaml", "--type", "json", "-p", patch]);
        for words in want {
            assert!(diagnostics.contains(words), "{words}: {diagnostics}");
        }
    }
}

#[test]
fn move_into_the_moved_entry_resolves_to_the_next_entry() {
    let two = WEB.replace(
        "      - name: web\n",
        r"      - name: first
      - name: web
",
    );
    let files = temp_dir(&[("web.yaml", &two)]);
    let containers = "/spec/template/spec/containers";
    let patch = format!("[{{op: move, from: {containers}/0, path: {containers}/0/x}}]");
    let (patched, diagnostics) =
        succeed(files.path(), &["patch", "-f", "web.yaml", "--type", "json", "-p", &patch]);
    assert!(patched.contains("name: first") && diagnostics.contains("unknown field `x`"), "{diagnostics}");
    insta::assert_snapshot!(diagnostics, @r"
    warning[unknown-field]: unknown field `x`
      --> web.yaml:11:9
       |
    11 |       - name: first
       |         ^
       |
       = resource: Deployment.apps web
       = field: spec.template.spec.containers[0].x
       = help: `kubectl smp schema show deployment.spec.template.spec.containers` lists the known fields
    ");
}

#[test]
fn kind_with_the_wrong_group_gets_a_suggestion() {
    let files = temp_dir(&[("web.yaml", WEB), ("service.yaml", SERVICE)]);
    for (kind, meant) in [("Deployment.extensions", "Deployment.apps"), ("Service.apps", "Service")] {
        let diagnostics =
            fail(files.path(), &["patch", "-f", ".", "--kind", kind, "-p", "{spec: {paused: true}}"]);
        assert!(diagnostics.contains(&format!("did you mean `{meant}`?")), "{diagnostics}");
    }
}

#[test]
fn every_kind_rejected_by_the_server_is_reported_with_a_fix() {
    let two = "\
apiVersion: e.io/v1
kind: A
metadata: {name: a}
---
apiVersion: e.io/v1
kind: B
metadata: {name: b}
";
    let files = temp_dir(&[("two.yaml", two)]);
    let diagnostics =
        fail(files.path(), &["patch", "-f", "two.yaml", "--all", "-p", "{spec: {paused: true}}"]);
    for (kind, location) in [("A", "two.yaml:1:1"), ("B", "two.yaml:5:1")] {
        let rejected =
            format!("strategic merge patches do not work for e.io/v1 {kind}, which is not built in");
        assert!(diagnostics.contains(&rejected) && diagnostics.contains(location), "{diagnostics}");
    }
    assert_eq!(diagnostics.matches("help: use --type=merge").count(), 2, "{diagnostics}");
}

#[test]
fn null_merge_key_is_reported() {
    let files = temp_dir(&[("web.yaml", WEB)]);
    let null = "{spec: {template: {spec: {containers: [{name: null, image: 'b:1'}]}}}}";
    let (_, diagnostics) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", null]);
    insta::assert_snapshot!(diagnostics, @r"
    warning[missing-merge-key]: the merge key `name` is null: the API server treats null as a value and adds an entry
     --> --patch:1:47
      |
    1 | {spec: {template: {spec: {containers: [{name: null, image: 'b:1'}]}}}}
      |                                               ^^^^
      |
      = resource: Deployment.apps web
      = field: spec.template.spec.containers[0].name
      = help: set `name` to the value of the entry to change
    warning[missing-field]: missing required field `name`
     --> --patch:1:40
      |
    1 | {spec: {template: {spec: {containers: [{name: null, image: 'b:1'}]}}}}
      |                                        ^
      |
      = resource: Deployment.apps web
      = field: spec.template.spec.containers[0].name
      = help: the API server rejects an object without it
    warning: 2 warnings
    ");
}

#[test]
fn entry_deleted_and_added_again_has_no_nulls() {
    let container =
        |fields: &str| WEB.replace("        image: web:1\n", &format!("        image: web:1\n{fields}"));
    let other = WEB.replace("- name: web\n", "- name: other\n");
    let files = temp_dir(&[
        ("original.yaml", &container("        tty: true\n")),
        ("modified.yaml", WEB),
        ("current.yaml", &other),
    ]);
    let create =
        ["create-patch", "original.yaml", "modified.yaml", "--current", "current.yaml", "--overwrite"];
    let (patch, _) = succeed(files.path(), &create);
    assert!(!patch.contains("null"), "{patch}");
    fs::write(files.path().join("patch.yaml"), patch).expect("written");
    let (patched, _) = succeed(files.path(), &["patch", "-f", "current.yaml", "--patch-file", "patch.yaml"]);
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
          - image: web:1
            name: web
          - name: other
            image: web:1
    ");
    assert!(!patched.contains("null"), "{patched}");
}

#[test]
fn ambiguous_entries_suggest_more_merge_keys() {
    let files = temp_dir(&[("dns.yaml", SERVICE)]);
    let patch = "{spec: {ports: [{$patchMergeKey: [port], port: 53, name: x}]}}";
    for dialect in ["apiserver", "overlay"] {
        let diagnostics = fail(files.path(), &["patch", "-f", "dns.yaml", "-p", patch, "--dialect", dialect]);
        assert!(
            diagnostics.contains("name more keys under `$patchMergeKey`, such as `[port, protocol]`"),
            "{diagnostics}"
        );
        assert!(!diagnostics.contains("--kind"), "{diagnostics}");
    }
}

#[test]
fn null_in_the_live_object_is_not_a_conflict() {
    let null = config("", "null");
    let files =
        temp_dir(&[("original.yaml", &null), ("current.yaml", &null), ("modified.yaml", &config("", "'1'"))]);
    let create = ["create-patch", "original.yaml", "modified.yaml", "--current", "current.yaml"];
    for of in TYPES {
        assert_eq!(apply_patch_type(&files, "current.yaml", &create, of)["data"]["a"], "1", "{of:?}");
    }
    fs::write(files.path().join("current.yaml"), config("", "'2'")).expect("written");
    fs::write(files.path().join("original.yaml"), config("", "'0'")).expect("written");
    fs::write(
        files.path().join("modified.yaml"),
        config("", "'0'").replace("data:\n  a: '0'\n", "data: {b: x}\n"),
    )
    .expect("written");
    let diagnostics = fail(files.path(), &create);
    for location in ["original.yaml:6:6", "last applied here, now removed", "current.yaml:6:6"] {
        assert!(diagnostics.contains(location), "{diagnostics}");
    }
}

#[test]
fn scalars_not_parsed_as_strings_are_reported() {
    let files = temp_dir(&[("a.yaml", WEB), ("b.yaml", &WEB.replace("- name: web", "- name: Y"))]);
    let (patch, diagnostics) = succeed(files.path(), &["create-patch", "a.yaml", "b.yaml"]);
    insta::assert_snapshot!(patch, @r"
    spec:
      template:
        spec:
          $setElementOrder/containers:
          - name: true
          containers:
          - image: web:1
            name: true
          - $patch: delete
            name: web
    ");
    insta::assert_snapshot!(diagnostics, @r"
    warning[wrong-type]: `name` must be a string, but is a boolean
      --> b.yaml:11:15
       |
    11 |       - name: Y
       |               ^
       |
       = field: spec.template.spec.containers[0].name
       = help: quote the value
    ");
}

#[test]
fn suggestions_are_never_empty() {
    let files = temp_dir(&[("app/a.yaml", WEB), ("app/b.yaml", "a: b\n")]);
    let diagnostics = fail(files.path(), &["patch", "-f", "app", "-p", "{}", "--kind", "X"]);
    assert!(!diagnostics.contains("did you mean ``"), "{diagnostics}");
    let diagnostics = fail(files.path(), &["patch", "-f", "app", "-p", "{kind: X, a: b}", "--all"]);
    assert!(!diagnostics.contains("did you mean ``"), "{diagnostics}");
}

#[test]
fn element_order_includes_all_merge_keys() {
    let crd = CRD.replace(
        "x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [id]",
        "x-kubernetes-patch-strategy: merge\n                x-kubernetes-patch-merge-key: 'id,x'",
    );
    let object = "\
apiVersion: example.com/v1
kind: Thing
metadata: {name: t}
spec: {l: [{id: 1, x: 1}, {id: 2, x: 1}]}
";
    let files = temp_dir(&[("crd.yaml", &crd), ("a.yaml", object)]);
    let patch = "{spec: {$setElementOrder/l: [{id: 2}, {id: 1}]}}";
    for dialect in ["overlay", "apiserver"] {
        let args = ["patch", "-f", "a.yaml", "--schema", "crd.yaml", "--dialect", dialect, "-p", patch];
        let diagnostics = fail(files.path(), &args);
        assert!(diagnostics.contains("lacks its merge key `x`"), "{dialect}: {diagnostics}");
    }
}

#[test]
fn standard_input_is_read_once() {
    let files = temp_dir(&[("a.yaml", WEB)]);
    for args in [
        &["patch", "-f", "-", "--patch-file", "-"] as &[&str],
        &["create-patch", "-", "-"],
        &["create-patch", "a.yaml", "-", "--current", "-"],
    ] {
        let output = run(files.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            String::from_utf8(output.stderr).expect("text").contains("can be read only once"),
            "{args:?}"
        );
    }
}

#[test]
fn last_applied_configuration_must_be_of_the_same_object() {
    let live = |last: &str| {
        WEB.replace(
            "  labels: {tier: front}\n",
            &format!(
                r"  labels: {{tier: front}}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{last}'
"
            ),
        )
    };
    let files = temp_dir(&[("new.yaml", WEB)]);
    for (last, why) in [
        (
            r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"}}"#,
            "its metadata.name is `x`, not `web`",
        ),
        (r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}"#, "its kind is `Service`"),
        (
            r#"{"kind":"Deployment","metadata":{"name":"web"},"spec":{},"spec":{"replicas":1}}"#,
            "duplicate key `spec`",
        ),
    ] {
        fs::write(files.path().join("live.yaml"), live(last)).expect("written");
        let diagnostics =
            fail(files.path(), &["create-patch", "--from-last-applied", "live.yaml", "new.yaml"]);
        assert!(diagnostics.contains(why) && diagnostics.contains("as a file"), "{last}: {diagnostics}");
    }
    let own = r#"{"apiVersion":"apps/v1beta1","kind":"Deployment","metadata":{"name":"web"}}"#;
    fs::write(files.path().join("live.yaml"), live(own)).expect("written");
    succeed(files.path(), &["create-patch", "--from-last-applied", "live.yaml", "new.yaml"]);
}

#[test]
fn warnings_cover_only_changes_of_the_patch() {
    let files = temp_dir(&[(
        "web.yaml",
        &format!(
            "\
{WEB}      - name: odd
        tty: 'yes'
"
        ),
    )]);
    let remove = "[{op: remove, path: /spec/template/spec/containers/0}]";
    let (_, diagnostics) =
        succeed(files.path(), &["patch", "-f", "web.yaml", "--type", "json", "-p", remove]);
    assert_eq!(diagnostics, "");
    let large = "{spec: {replicas: 9223372036854775808}}";
    let (_, diagnostics) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", large]);
    insta::assert_snapshot!(diagnostics, @r"
    warning[wrong-type]: `replicas` must be a 64-bit integer: the integer is out of range
     --> --patch:1:19
      |
    1 | {spec: {replicas: 9223372036854775808}}
      |                   ^^^^^^^^^^^^^^^^^^^
      |
      = resource: Deployment.apps web
      = field: spec.replicas
      = help: the API server rejects it
    ");
}

#[test]
fn entry_distinguished_only_by_a_default_is_reported() {
    const ONE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: a}
spec:
  ports:
  - {port: 53, name: a}
";
    let files =
        temp_dir(&[("a.yaml", ONE), ("tcp.yaml", &ONE.replace("name: a}\n", "name: a, protocol: TCP}\n"))]);
    let keys = "$patchMergeKey: [port, protocol], port: 53";
    for (file, entry, warned) in [
        ("a.yaml", "protocol: TCP, name: b", true),
        ("tcp.yaml", "name: b", true),
        ("tcp.yaml", "protocol: TCP, name: b", false),
        ("a.yaml", "protocol: UDP, name: b", false),
    ] {
        let patch = format!("{{spec: {{ports: [{{{keys}, {entry}}}]}}}}");
        let (_, diagnostics) = succeed(files.path(), &["patch", "-f", file, "-p", &patch]);
        let reported = diagnostics.contains("warning[duplicate-merge-key]")
            && diagnostics.contains("one of them sets `protocol` to its default");
        assert_eq!(reported, warned, "{file} {entry}: {diagnostics}");
    }
}

#[test]
fn directive_values_in_secrets_are_not_printed() {
    let files = temp_dir_from_text(
        r"
-- a.yaml --
apiVersion: v1
kind: Secret
metadata: {name: a}
",
    );
    let (_, diagnostics) =
        succeed(files.path(), &["patch", "-f", "a.yaml", "-p", "{stringData: {$patch: hunter2}}"]);
    insta::assert_snapshot!(diagnostics, @r"
    warning[directive]: the live object has nothing here for `$patch` to change: the API server drops this map
     --> --patch:1:14
      |
    1 |              ***
      |              ^^^
      |
      = resource: Secret a
      = field: stringData
      = help: remove the directive if the value is new
    ");
    assert!(!diagnostics.contains("hunter2"), "{diagnostics}");
}

#[test]
fn values_not_representable_in_yaml_require_json_output() {
    let files = temp_dir(&[("a.yaml", "a: x\n"), ("b.yaml", "a: \"x\\x7f\"\n")]);
    let args = ["create-patch", "a.yaml", "b.yaml", "--type", "merge"];
    let diagnostics = fail(files.path(), &args);
    insta::assert_snapshot!(diagnostics, @r#"
    error[invalid-value]: character U+007F cannot be represented in YAML
     --> b.yaml:1:4
      |
    1 | a: "x\x7f"
      |    ^^^^^^^
      |
      = field: a
      = help: remove the character, or print JSON (`-o json`), which can hold it
    "#);
    let (printed, _) = succeed(files.path(), &[&args[..], &["-o", "json"]].concat());
    assert_eq!(printed, "{\n    \"a\": \"x\u{7f}\"\n}\n");
}

/// A kind with a list that has recommended merge keys.
const RECOMMENDED: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          list:
            type: array
            x-kubernetes-patch-strategy: merge
            x-kubernetes-patch-merge-key: foo
            x-kubernetes-recommended-patch-merge-key: foo,bar
            items:
              type: object
              properties: {foo: {type: string}, bar: {type: string}, other: {type: string}}
";

fn thing(list: &str) -> String {
    format!(
        "\
apiVersion: example.com/v1
kind: Thing
metadata: {{name: a}}
list: {list}
"
    )
}

#[test]
fn patch_merge_key_is_reported_only_for_mistakes() {
    let two = "[{foo: a}, {foo: a, bar: b}]";
    let table = [
        (two, "{$patchMergeKey: [foo, bar], foo: a, other: val}", None),
        (two, "{$patchMergeKey: [foo, bar], foo: a, bar: b, other: val}", None),
        (two, "{$patchMergeKey: [foo, bar], foo: a, bar: c}", None),
        (two, "{$patchMergeKey: [foo, bar], foo: a, bar: null}", None),
        (two, "{$patchMergeKey: [foo, bar], foo: a, bar: b, $patch: delete}", None),
        ("[{foo: a}]", "{$patchMergeKey: [foo, bar], foo: a, bar: b}", None),
        ("[{foo: a}]", "{$patchMergeKey: [foo, bar], foo: a, bar: null}", Some("bar`, which does not exist")),
        (
            two,
            "{$patchMergeKey: [foo, bar], foo: a, bar: b, other: null}",
            Some("other`, which does not exist"),
        ),
        (
            two,
            "{$patchMergeKey: [foo, bar], foo: a, bar: c, $patch: delete}",
            Some("deletes a list entry that does not exist"),
        ),
    ];
    for (list, entry, warned) in table {
        let files = temp_dir(&[("a.yaml", &thing(list)), ("types.yaml", RECOMMENDED)]);
        for dialect in ["apiserver", "overlay"] {
            let patch = format!("{{list: [{entry}]}}");
            let args = ["patch", "-f", "a.yaml", "--schema=types.yaml", "--dialect", dialect, "-p", &patch];
            let (_, diagnostics) = succeed(files.path(), &args);
            match warned {
                None => {
                    assert_eq!(diagnostics, "", "{dialect} {list} {entry}");
                    succeed(files.path(), &[&args[..], &["--strict"]].concat());
                }
                Some(what) => assert!(diagnostics.contains(what), "{dialect} {list} {entry}: {diagnostics}"),
            }
        }
    }
}

#[test]
fn created_patches_with_recommended_keys_apply_without_a_warning() {
    let versions = [
        "[{foo: a}]",
        "[{foo: a, bar: b}]",
        "[{foo: a}, {foo: a, bar: b}]",
        "[{foo: a, bar: b}, {foo: a, bar: c, other: val}]",
        "[{foo: a, bar: c}, {foo: b}]",
    ];
    for old in versions {
        for new in versions.iter().filter(|new| **new != old) {
            let files = temp_dir(&[
                ("old.yaml", &thing(old)),
                ("new.yaml", &thing(new)),
                ("types.yaml", RECOMMENDED),
            ]);
            for dialect in ["apiserver", "overlay"] {
                let create = ["create-patch", "old.yaml", "new.yaml", "--strict", "--schema=types.yaml"];
                let (patch, _) = succeed(files.path(), &[&create[..], &["--dialect", dialect]].concat());
                fs::write(files.path().join("patch.yaml"), patch).expect("written");
                let apply = ["patch", "-f", "old.yaml", "--patch-file", "patch.yaml", "--schema=types.yaml"];
                let (_, diagnostics) =
                    succeed(files.path(), &[&apply[..], &["--strict", "--dialect", dialect]].concat());
                assert_eq!(diagnostics, "", "{dialect} {old} {new}");
            }
        }
    }
}

#[test]
fn patch_merge_key_in_an_atomic_list_is_reported() {
    let tolerations = r"      tolerations:
      - {key: a}
";
    for live in [WEB.to_string(), format!("{WEB}{tolerations}")] {
        let files = temp_dir(&[("web.yaml", &live)]);
        let patch = "{spec: {template: {spec: {tolerations: [{$patchMergeKey: [key], key: b}]}}}}";
        let (patched, diagnostics) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", patch]);
        assert!(
            diagnostics.contains("warning[directive]: `$patchMergeKey` has no effect in this list"),
            "{diagnostics}"
        );
        assert!(patched.contains("key: b") && !patched.contains('$'), "{patched}");
    }
}
