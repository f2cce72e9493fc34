//! Warnings about directives, and errors that name the patch and the file.

use std::fs;

use kubectl_smp_testing::program::temp_dir;

use super::{CUSTOM, WEB, application, fail, succeed};

#[test]
fn misleading_directives_are_reported() {
    let spec = |spec: &str| format!("{{spec: {{template: {{spec: {spec}}}}}}}");
    // The patch, the warning in `apiserver`, whether `overlay` prints it, too, and a text of the result in `overlay`.
    let table = [
        (spec("{containers: [{$patch: replace, name: web, image: 'web:2'}]}"), "this entry is dropped", true),
        (spec("{volumes: [{$patch: replace, name: v}]}"), "this entry is dropped", true),
        ("{spec: {strategy: {$patch: replace, type: Recreate}}}".into(), "drops this map", false),
        (
            spec("{containers: [{name: b, env: [{$patch: delete, name: X}]}]}"),
            "adds the entry without",
            false,
        ),
        (
            spec("{containers: [{name: b, resources: {$patch: delete, limits: {cpu: '1'}}}]}"),
            "adds the other fields of this map",
            false,
        ),
        (
            spec(
                "{containers: [{name: web, env: [{$patch: replace}, {name: Y, valueFrom: {$patch: replace, fieldRef: {}}}]}]}",
            ),
            "drops this map",
            false,
        ),
    ];
    let files = temp_dir(&[("web.yaml", WEB)]);
    for (patch, want, is_common) in table {
        let (_, diagnostics) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", &patch]);
        assert!(diagnostics.contains(want), "{patch}: {diagnostics}");
        let (_, diagnostics) =
            succeed(files.path(), &["patch", "-f", "web.yaml", "-p", &patch, "--dialect", "schema"]);
        assert_eq!(diagnostics.contains(want), is_common, "{patch}: {diagnostics}");
    }
}

#[test]
fn correct_directives_are_not_reported() {
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
        let files = temp_dir(&[("web.yaml", &with)]);
        assert_eq!(succeed(files.path(), &["patch", "-f", "web.yaml", "-p", &patch]).1, "", "{patch}");
    }
}

#[test]
fn entry_with_a_null_key_is_added_only_in_the_apiserver_dialect() {
    let files = temp_dir(&[("web.yaml", WEB)]);
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
    let diagnostics = fail(files.path(), &["patch", "-f", "web.yaml", "-p", null, "--dialect", "schema"]);
    insta::assert_snapshot!(diagnostics, @r"
    error[missing-merge-key]: this entry lacks its merge key `name`
     --> --patch:1:40
      |
    1 | {spec: {template: {spec: {containers: [{name: null, image: 'b:1'}]}}}}
      |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = resource: Deployment.apps web
      = field: spec.template.spec.containers[0]
      = note: target: apps/v1 Deployment web in web.yaml
      = help: entries of this list are merged by `name`: set a value for each of them
    ");
}

#[test]
fn errors_name_the_patch_and_the_file() {
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
    let diagnostics = fail(files.path(), &["patch", "-f", "app", "--patch-file", "patch.yaml"]);
    insta::assert_snapshot!(diagnostics, @r"
    error[unknown-field]: the schema has no field `nope` here, so it cannot be merged
     --> patch.yaml:2:32
      |
    2 | spec: {replicas: {a: 1}, nope: {}}
      |                                ^^
      |
      = resource: Deployment.apps db
      = field: spec.nope
      = note: target: apps/v1 Deployment db in db.yaml
      = help: check the name, or use a JSON merge patch for free-form fields
    ");
    let diagnostics =
        fail(files.path(), &["patch", "-f", "app", "-p", "{spec: {paused: true}}", "--kind", "deploymet"]);
    insta::assert_snapshot!(diagnostics, @r"
    error[no-match]: selection matches no manifest
     --> --patch:1:1
      |
    1 | {spec: {paused: true}}
      | ^
      |
      = note: the input has these manifests:
      = note: a document without a kind in kustomization.yaml
      = note: a document without a kind in values.yaml
      = note: kustomize.config.k8s.io/v1beta1 Kustomization in overlay/kustomization.yaml
      = note: apps/v1 Deployment db in db.yaml
      = note: apps/v1 Deployment web in web.yaml
      = help: did you mean `Deployment`?
    ");
    let diagnostics =
        fail(files.path(), &["patch", "-f", "app", "-p", "{spec: {paused: true}}", "--name", "wbe"]);
    insta::assert_snapshot!(diagnostics, @r"
    error[no-match]: selection matches no manifest
     --> --patch:1:1
      |
    1 | {spec: {paused: true}}
      | ^
      |
      = note: the input has these manifests:
      = note: a document without a kind in kustomization.yaml
      = note: a document without a kind in values.yaml
      = note: kustomize.config.k8s.io/v1beta1 Kustomization in overlay/kustomization.yaml
      = note: apps/v1 Deployment db in db.yaml
      = note: apps/v1 Deployment web in web.yaml
      = help: did you mean `web`?
    ");
}

#[test]
fn element_order_errors_name_merge_keys() {
    let files = temp_dir(&[("web.yaml", WEB)]);
    let patch = |order: &str| {
        let spec =
            format!("{{$setElementOrder/containers: {order}, containers: [{{name: web, image: 'web:2'}}]}}");
        fail(
            files.path(),
            &["patch", "-f", "web.yaml", "-p", &format!("{{spec: {{template: {{spec: {spec}}}}}}}")],
        )
    };
    let diagnostics = patch("[{name: b}]");
    insta::assert_snapshot!(diagnostics, @r"
    error[directive]: this entry is missing from `$setElementOrder/containers` or has another position there
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
      = note: target: apps/v1 Deployment web in web.yaml
      = help: list all entries of the patch there, in the same order
    ");
    insta::assert_snapshot!(patch("[5]"), @r"
    error[missing-merge-key]: this entry must be a map with its merge key `name`, and is an integer
     --> --patch:1:57
      |
    1 | {spec: {template: {spec: {$setElementOrder/containers: [5], containers: [{name: web, image: 'web:2'}]}}}}
      |                                                         ^
      |
      = resource: Deployment.apps web
      = field: spec.template.spec.$setElementOrder/containers[0]
      = note: target: apps/v1 Deployment web in web.yaml
    ");
    insta::assert_snapshot!(patch("[{image: x}]"), @r"
    error[missing-merge-key]: this entry lacks its merge key `name`
     --> --patch:1:57
      |
    1 | {spec: {template: {spec: {$setElementOrder/containers: [{image: x}], containers: [{name: web, image: 'web:2'}]}}}}
      |                                                         ^^^^^^^^^^
      |
      = resource: Deployment.apps web
      = field: spec.template.spec.$setElementOrder/containers[0]
      = note: target: apps/v1 Deployment web in web.yaml
      = help: entries of this list are merged by `name`: set a value for each of them
    ");
}

#[test]
fn deleted_resources_are_reported() {
    let two = format!("{WEB}---\n{}", WEB.replace("name: web\n  labels", "name: db\n  labels"));
    let delete = "{kind: Deployment, metadata: {name: web}, $patch: delete}";
    for in_place in [&[][..], &["--in-place"]] {
        let files = temp_dir(&[("a.yaml", &two)]);
        let (_, diagnostics) =
            succeed(files.path(), &[&["patch", "-f", "a.yaml", "-p", delete][..], in_place].concat());
        assert!(
            diagnostics.contains("Deployment.apps web: removed") && !diagnostics.contains("the file"),
            "{diagnostics}"
        );
        let files = temp_dir(&[("a.yaml", WEB)]);
        let (_, diagnostics) =
            succeed(files.path(), &[&["patch", "-f", "a.yaml", "-p", delete][..], in_place].concat());
        let file = if in_place.is_empty() { "file would be removed" } else { "file removed" };
        assert!(
            diagnostics.contains("Deployment.apps web: removed") && diagnostics.contains(file),
            "{diagnostics}"
        );
        assert_eq!(files.path().join("a.yaml").exists(), in_place.is_empty());
    }
}

#[test]
fn numbers_keep_their_value_and_type() {
    let files = temp_dir(&[("a.yaml", CUSTOM)]);
    for (patch, of) in [
        (r#"{"spec": {"x": 1e400}}"#, "merge"),
        (r#"[{"op": "add", "path": "/spec/x", "value": 1e400}]"#, "json"),
    ] {
        let diagnostics = fail(files.path(), &["patch", "-f", "a.yaml", "-p", patch, "--type", of]);
        assert!(diagnostics.contains("number `1e400` is too large for an API server"), "{diagnostics}");
    }
    let json = r#"{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"x": 1e400}}"#;
    fs::write(files.path().join("b.json"), json).expect("written");
    for of in ["merge", "json"] {
        let diagnostics = fail(files.path(), &["create-patch", "a.yaml", "b.json", "--type", of]);
        assert!(diagnostics.contains("is too large for an API server"), "{diagnostics}");
    }
    // In a YAML patch, it is a string and stays one.
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
    // kubectl sends `80.0` from YAML as 80.
    let ports = WEB.replace(
        "image: web:1\n",
        "\
image: web:1
        ports:
        - containerPort: 80
",
    );
    let files = temp_dir(&[("web.yaml", &ports)]);
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
