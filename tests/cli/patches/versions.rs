//! Versions of an object whose list entries lack keys or that lack a namespace are matched.

use std::fs;

use serde_json::{Value, json};

use super::{fail, run, succeed, temp_dir, temp_dir_from_text};

/// A kind with a list whose recommended merge keys are optional, and a list with several merge keys.
const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.ex.io}
spec:
  group: ex.io
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
              list:
                type: array
                x-kubernetes-patch-strategy: merge
                x-kubernetes-patch-merge-key: foo
                x-kubernetes-recommended-patch-merge-key: foo,bar,baz
                items: &entry
                  type: object
                  required: [foo]
                  properties: {foo: {type: string}, bar: {type: string}, baz: {type: string}, other: {}, q: {}}
              comma:
                type: array
                x-kubernetes-patch-strategy: merge
                x-kubernetes-patch-merge-key: foo,bar
                items: *entry
";

const PATCH_TYPES: [&[&str]; 4] = [&[], &["--dialect", "schema"], &["--type", "merge"], &["--type", "json"]];

fn thing(list: &str) -> String {
    format!(
        "\
apiVersion: ex.io/v1
kind: Thing
metadata: {{name: t}}
spec:
  list: {list}
"
    )
}

fn things([original, modified, current]: [&str; 3]) -> tempfile::TempDir {
    let [o, m, c] = [original, modified, current].map(thing);
    temp_dir(&[("crd.yaml", CRD), ("o.yaml", &o), ("m.yaml", &m), ("c.yaml", &c)])
}

const CREATE: [&str; 7] = ["create-patch", "o.yaml", "m.yaml", "--current", "c.yaml", "--schema", "crd.yaml"];

/// Returns the sorted live list after the patch.
fn list_after(sides: [&str; 3], patch_type: &[&str], flags: &[&str]) -> Vec<String> {
    let files = things(sides);
    let (patch, _) = succeed(files.path(), &[&CREATE[..], patch_type, flags].concat());
    fs::write(files.path().join("p.yaml"), &patch).expect("written");
    let apply = ["patch", "-f", "c.yaml", "--patch-file", "p.yaml", "--schema", "crd.yaml", "-o", "json"];
    let (patched, _) = succeed(files.path(), &[&apply[..], patch_type].concat());
    let patched: Value = serde_json::from_str(&patched).expect("JSON");
    let mut list: Vec<String> =
        patched["spec"]["list"].as_array().expect("a list").iter().map(ToString::to_string).collect();
    list.sort();
    list
}

#[test]
fn entries_with_and_without_an_optional_key_are_distinct() {
    let added = ["[]", "[{foo: a, other: mine}]", "[{foo: a, bar: x, other: theirs}]"];
    let moved =
        ["[{foo: q, baz: v, other: 1}]", "[{foo: q, baz: v, other: 9}]", "[{foo: q, bar: v, other: 5}]"];
    for patch_type in PATCH_TYPES {
        let want = [
            json!({"bar": "x", "foo": "a", "other": "theirs"}).to_string(),
            json!({"foo": "a", "other": "mine"}).to_string(),
        ];
        assert_eq!(list_after(added, patch_type, &["--overwrite"]), want, "{patch_type:?}");
        assert_eq!(list_after(added, patch_type, &[]), want, "adding one undoes nothing: {patch_type:?}");
        let want = [
            json!({"bar": "v", "foo": "q", "other": 5}).to_string(),
            json!({"baz": "v", "foo": "q", "other": 9}).to_string(),
        ];
        assert_eq!(list_after(moved, patch_type, &["--overwrite"]), want, "{patch_type:?}");
    }
}

#[test]
fn entries_with_patch_merge_key_are_checked_for_conflicts() {
    let sides = [
        "[{foo: a, bar: x, other: 1}]",
        "[{foo: a, bar: x, other: 2}]",
        "[{foo: a, bar: x, other: 1, q: 1}]",
    ];
    for patch_type in PATCH_TYPES {
        let want = [json!({"bar": "x", "foo": "a", "other": 2, "q": 1}).to_string()];
        assert_eq!(list_after(sides, patch_type, &[]), want, "{patch_type:?}");
        let files = things([sides[0], sides[1], "[{foo: a, bar: x, other: 3}]"]);
        let diagnostics = fail(files.path(), &[&CREATE[..], patch_type].concat());
        assert!(
            diagnostics.contains("error[conflict]") && diagnostics.contains("value in the manifest"),
            "{patch_type:?}: {diagnostics}"
        );
    }
}

#[test]
fn version_without_a_namespace_matches_the_same_object() {
    let config = |namespace: &str, value: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: c{namespace}}}
data: {{a: '{value}'}}
"
        )
    };
    let last = "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"1\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\
                \"namespace\":\"d\"}}";
    let annotated = format!(
        ", namespace: d, annotations: {{kubectl.kubernetes.io/last-applied-configuration: '{last}'}}"
    );
    let files = temp_dir(&[
        ("live.yaml", &config(&annotated, "1")),
        ("applied.yaml", &config(", namespace: d", "1")),
        ("new.yaml", &config("", "2")),
    ]);
    for patch_type in PATCH_TYPES {
        for create in [
            &["create-patch", "--from-last-applied", "live.yaml", "new.yaml"][..],
            &["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml"],
            &["create-patch", "live.yaml", "new.yaml"],
        ] {
            let (patch, _) = succeed(files.path(), &[create, patch_type].concat());
            fs::write(files.path().join("p.yaml"), &patch).expect("written");
            let apply = ["patch", "-f", "live.yaml", "--patch-file", "p.yaml", "-o", "json"];
            let (patched, _) = succeed(files.path(), &[&apply[..], patch_type].concat());
            let patched: Value = serde_json::from_str(&patched).expect("JSON");
            assert_eq!(
                (&patched["metadata"]["namespace"], &patched["data"]["a"]),
                (&"d".into(), &"2".into()),
                "{create:?} {patch_type:?}"
            );
        }
    }
}

#[test]
fn entries_of_a_replaced_list_require_all_merge_keys() {
    let files = temp_dir(&[
        ("crd.yaml", CRD),
        ("t.yaml", &thing("[]").replace("list: []", "comma: [{foo: b, bar: x}]")),
    ]);
    for dialect in ["overlay", "apiserver"] {
        for entry in ["{foo: a, bar: null}", "{foo: a}"] {
            let patch = format!("{{spec: {{comma: [{{$patch: replace}}, {entry}]}}}}");
            let patch = ["patch", "-f", "t.yaml", "--schema", "crd.yaml", "--dialect", dialect, "-p", &patch];
            let diagnostics = fail(files.path(), &patch);
            assert!(diagnostics.contains("error[missing-merge-key]"), "{dialect} {entry}: {diagnostics}");
            assert!(diagnostics.contains("merged by `foo`, `bar`"), "{dialect} {entry}: {diagnostics}");
        }
    }
}

#[test]
fn patch_of_a_secret_is_not_shown() {
    let secret = "\
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {a: b}
";
    let config = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
";
    let files = temp_dir(&[("d/s.yaml", secret), ("d/c.yaml", config), ("s.yaml", secret)]);
    let operations = r#"[{"op":"add","path":"/stringdata/password","value":"hunter2"}]"#;
    let table: [&[&str]; 6] = [
        &["-f", "s.yaml", "-p", "{stringdata: {tls.pem: hunter2}}"],
        &["-f", "s.yaml", "-p", "{Data: {tls.pem: hunter2}}"],
        &["-f", "s.yaml", "--type", "json", "-p", operations],
        &["-f", "s.yaml", "-p", "{pw: hunter2"],
        &["-f", "s.yaml", "-p", "{pw: hunter2, pw: hunter2}"],
        &["-f", "d", "-p", "{stringData: {pw: hunter2}}"],
    ];
    for args in table {
        let output = run(files.path(), &[&["patch"], args].concat());
        let diagnostics = String::from_utf8(output.stderr).expect("text");
        assert!(!diagnostics.is_empty() && !diagnostics.contains("hunter2"), "{args:?}: {diagnostics}");
    }
    // Patches of other kinds are shown.
    let patch = ["patch", "-f", "d", "-p", "{kind: ConfigMap, dta: {x: shown}}"];
    let (_, diagnostics) = succeed(files.path(), &patch);
    insta::assert_snapshot!(diagnostics, @r"
    warning[unknown-field]: unknown field `dta`
     --> --patch:1:19
      |
    1 | {kind: ConfigMap, dta: {x: shown}}
      |                   ^^^
      |
      = resource: ConfigMap c
      = field: dta
      = help: did you mean `data`?
    ");
}

#[test]
fn manifests_of_another_namespace_are_reported() {
    let web = |namespace: &str| {
        format!(
            "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web{namespace}}}
"
        )
    };
    let files = temp_dir(&[
        ("d/a.yaml", &web(", namespace: a")),
        ("d/b.yaml", &web(", namespace: b")),
        ("d/none.yaml", &web("")),
    ]);
    let patch = "{kind: Deployment, metadata: {name: web, namespace: aa}, spec: {paused: true}}";
    let diagnostics = fail(files.path(), &["patch", "-f", "d", "-p", patch]);
    for file in ["a.yaml", "b.yaml", "none.yaml", "did you mean `a`?"] {
        assert!(diagnostics.contains(file), "{file}: {diagnostics}");
    }
    let diagnostics = fail(files.path(), &["patch", "-f", "d", "-p", "{metadata: {name: other}}"]);
    insta::assert_snapshot!(diagnostics, @r"
    error[no-match]: patch target matches no manifest: `other`
     --> --patch:1:1
      |
    1 | {metadata: {name: other}}
      | ^
      |
      = note: the input has these manifests:
      = note: apps/v1 Deployment web in a.yaml
      = note: apps/v1 Deployment web in b.yaml
      = note: apps/v1 Deployment web in none.yaml
      = help: set apiVersion, kind and name in the patch to those of one of the manifests
    ");
}

#[test]
fn document_without_an_api_version_is_rejected_with_a_suggestion() {
    let files = temp_dir_from_text(
        r"
-- c.yaml --
kind: ConfigMap
-- d.yaml --
kind: ConfigMap
data: {a: '1'}
",
    );
    for args in
        [&["patch", "-f", "c.yaml", "-p", "{data: {a: '2'}}"][..], &["create-patch", "c.yaml", "d.yaml"]]
    {
        let diagnostics = fail(files.path(), args);
        assert!(diagnostics.contains("add the apiVersion") && !diagnostics.contains("415"), "{diagnostics}");
    }
}

/// Location of the conflict in a three-way patch of these versions: `file:line:column`, one for each patch type.
fn conflict_of(modified: &str, live: &str) -> Vec<String> {
    let files = temp_dir(&[("applied.yaml", APPLIED), ("new.yaml", modified), ("live.yaml", live)]);
    let types: [&[&str]; 4] =
        [&["--type=strategic"], &["--type=merge"], &["--type=json"], &["--dialect=schema"]];
    let location = |of: &[&str]| {
        let create =
            ["create-patch", "applied.yaml", "new.yaml", "--current=live.yaml", "--message-format=short"];
        let diagnostics = fail(files.path(), &[&create[..], of].concat());
        let location = diagnostics
            .split(": error[conflict]")
            .next()
            .filter(|location| location.len() < diagnostics.len());
        location.unwrap_or_else(|| panic!("no place: {diagnostics}")).to_string()
    };
    types.into_iter().map(location).collect()
}

const APPLIED: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  strategy: {type: Recreate}
  template:
    spec:
      containers:
      - name: web
        env:
        - {name: A, value: x}
      - name: side
        image: s:1
";

#[test]
fn conflicts_have_locations_even_if_the_live_entry_is_gone() {
    let with = |from: &str, to: &str| {
        assert!(APPLIED.contains(from), "{from}");
        APPLIED.replace(from, to)
    };
    let (env, side) = (
        r"        env:
        - {name: A, value: x}
",
        r"      - name: side
        image: s:1
",
    );
    let other = with("value: x", "valueFrom: {fieldRef: {fieldPath: p}}");
    let table = [
        // The entry, its list, or an ancestor is absent.
        (other.clone(), with(env, "        env: []\n"), "new.yaml:11:11"),
        (other.clone(), with(env, ""), "new.yaml:11:"),
        (other, with(&APPLIED[APPLIED.find("  template").expect("there")..], ""), "new.yaml:"),
        (with("s:1", "s:2"), with(side, ""), "new.yaml:12:9"),
        (with("        image: s:1\n", "        args: [a]\n"), with(side, ""), "new.yaml:12:9"),
        // One side has a map, and the other side has no value or one of another type.
        (with("{type: Recreate}", "{}"), with("{type: Recreate}", "null"), "new.yaml:5:13"),
        (with(side, ""), with("s:1", "s:2"), "applied.yaml:12:9"),
    ];
    for (modified, live, want) in table {
        for location in conflict_of(&modified, &live) {
            let has_line = location.rsplit(':').take(2).all(|number| number.parse::<usize>().is_ok());
            assert!(
                has_line && location.starts_with(want.split(':').next().expect("a file")),
                "{location}: {want}"
            );
        }
        let strategic = &conflict_of(&modified, &live)[0];
        assert!(strategic.starts_with(want), "{strategic}: {want}\n{modified}{live}");
    }
}
