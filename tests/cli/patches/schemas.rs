//! Invalid values, missing required fields, and kinds that are not built in.

use std::fs;

use kubectl_smp_testing::program::temp_dir;

use super::{CRD, CUSTOM, WEB, fail, succeed};

#[test]
fn values_invalid_in_the_schema_are_reported() {
    let files = temp_dir(&[("web.yaml", &WEB.replace("replicas: 1", "replicas: one"))]);
    let patch = |text: &str, kind: &str| {
        succeed(files.path(), &["patch", "-f", "web.yaml", "-p", text, "--type", kind]).1
    };
    let diagnostics = patch(
        "{spec: {paused: 'no', replcas: 3, template: {spec: {containers: [{name: web, env: [{name: A, value: 5}]}]}}}}",
        "strategic",
    );
    for warning in [
        "`paused` must be `true` or `false`, but is a string",
        "unknown field `replcas`\n",
        "did you mean `replicas`?",
        "`value` must be a string, but is an integer",
        "quote the value",
    ] {
        assert!(diagnostics.contains(warning), "{warning}: {diagnostics}");
    }
    assert!(
        !diagnostics.contains("spec.replicas"),
        "what was there before is not the patch's: {diagnostics}"
    );
    assert_eq!(patch("{spec: {paused: true}}", "merge"), "");
    let diagnostics = patch("[{op: add, path: /spec/paused, value: 1}]", "json");
    insta::assert_snapshot!(diagnostics, @r"
    warning[wrong-type]: `paused` must be `true` or `false`, but is an integer
     --> --patch:1:39
      |
    1 | [{op: add, path: /spec/paused, value: 1}]
      |                                       ^
      |
      = resource: Deployment.apps web
      = field: spec.paused
      = help: the API server rejects it
    ");
}

#[test]
fn missing_required_fields_are_reported() {
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
        // An object that already lacked the field loses nothing.
        (WEB, "strategic", "spec: {selector: null}", ""),
    ];
    for (manifest, kind, patch, field) in table {
        let files = temp_dir(&[("web.yaml", manifest)]);
        let (_, diagnostics) =
            succeed(files.path(), &["patch", "-f", "web.yaml", "--type", kind, "-p", patch]);
        if field.is_empty() {
            // Only the missing field is reported.
            assert!(diagnostics.starts_with("warning[unmatched-deletion]"), "{patch}: {diagnostics}");
            assert_eq!(diagnostics.matches("warning[").count(), 1, "{patch}: {diagnostics}");
            continue;
        }
        let name = field.rsplit('.').next().expect("one");
        let message = format!("warning[missing-field]: missing required field `{name}`\n");
        assert!(
            diagnostics.contains(&message) && diagnostics.contains(&format!("field: {field}\n")),
            "{patch}: {diagnostics}"
        );
        assert_eq!(diagnostics.matches("warning[").count(), 1, "{patch}: {diagnostics}");
    }
}

#[test]
fn duplicate_values_in_a_set_are_reported() {
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
        let files = temp_dir(&[("web.yaml", &with(finalizers))]);
        let add = "[{op: add, path: /metadata/finalizers/-, value: a.io/x}]";
        let other = "[{op: add, path: /metadata/finalizers/0, value: a.io/z}]";
        let patch = if want.is_empty() { other } else { add };
        let (_, diagnostics) =
            succeed(files.path(), &["patch", "-f", "web.yaml", "--type", "json", "-p", patch]);
        let is_told = diagnostics.contains("duplicate value in a set") && diagnostics.contains(want);
        assert_eq!(is_told, !want.is_empty(), "{diagnostics}");
    }
}

#[test]
fn delete_directive_in_an_atomic_list_is_reported() {
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
            "replaces the list with that of the patch, including this entry",
            r"      tolerations:
      - key: a
      containers",
        ),
        (WEB, "creates the list without this entry", "tolerations: []"),
    ] {
        let files = temp_dir(&[("web.yaml", manifest)]);
        let patch = "{spec: {template: {spec: {tolerations: [{$patch: delete, key: a}]}}}}";
        let (patched, diagnostics) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", patch]);
        assert!(
            diagnostics.contains("removes nothing from this list") && diagnostics.contains(becomes),
            "{diagnostics}"
        );
        assert!(patched.contains(want), "{patched}");
    }
}

#[test]
fn strategic_patch_of_a_custom_resource_is_rejected_as_by_the_server() {
    let files = temp_dir(&[("d/a.yaml", CUSTOM), ("d/crd.yaml", CRD), ("crd.yaml", CRD)]);
    let args = ["patch", "-f", "d", "-p", "{kind: Thing, spec: {l: [{id: 2, x: 2}]}}"];
    let diagnostics = fail(files.path(), &args);
    insta::assert_snapshot!(diagnostics, @r"
    error[no-schema]: strategic merge patches do not work for example.com/v1 Thing, which is not built in: the API server would answer 415
     --> d/a.yaml:1:1
      |
    1 | apiVersion: example.com/v1
      | ^
      |
      = resource: Thing.example.com a
      = note: target: example.com/v1 Thing a in a.yaml
      = help: use --type=merge, which works for any kind; to patch without a server, use --dialect=schema or --schema FILE, with --schema-type for documents without a kind
    ");
    let with = |more: &[&str]| succeed(files.path(), &[&args, more].concat()).0;
    assert!(with(&["--type", "merge"]).contains("l: [{id: 2, x: 2}]"));
    assert!(with(&["--dialect", "schema"]).contains("l: [{id: 1, x: 1}, {id: 2, x: 2}]"));
    // With the given schema, it is a list without a patch strategy.
    assert!(with(&["--schema", "crd.yaml"]).contains("l: [{id: 2, x: 2}]"));
    let create = ["create-patch", "d/a.yaml", "b.yaml"];
    fs::write(files.path().join("b.yaml"), CUSTOM.replace("{id: 2}", "{id: 2, x: 2}")).expect("written");
    insta::assert_snapshot!(fail(files.path(),&create), @r"
    error[no-schema]: strategic merge patches do not work for example.com/v1 Thing, which is not built in: the API server would answer 415
     --> b.yaml:1:1
      |
    1 | apiVersion: example.com/v1
      | ^
      |
      = help: use --type=merge, which works for any kind; to patch without a server, use --dialect=schema or --schema FILE, with --schema-type for documents without a kind
    ");
    let (patch, diagnostics) = succeed(files.path(), &[&create[..], &["--dialect", "schema"]].concat());
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
    insta::assert_snapshot!(diagnostics, @r"
    warning[no-schema]: this list is replaced: no schema defines how its entries merge
     --> b.yaml:6:6
      |
    6 |   l: [{id: 1, x: 1}, {id: 2, x: 2}]
      |      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = field: spec.l
      = help: provide a schema, or name its merge keys with `$patchMergeKey`
    ");
    let (patch, diagnostics) =
        succeed(files.path(), &[&create[..], &["--dialect", "schema", "--schema", "crd.yaml"]].concat());
    assert_eq!(
        (patch.as_str(), diagnostics.as_str()),
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
