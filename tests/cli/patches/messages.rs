//! Messages about patches: their texts, their locations, and the values that they show.

use super::{fail, succeed, temp_dir, temp_dir_from_text};

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  f: x
";

const SECRET: &str = "\
apiVersion: v1
kind: Secret
metadata:
  name: s
stringData:
  f: x
";

const WORKLOAD: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - {name: web, image: web}
      - {name: log, image: log}
";

/// Returns the messages about a patch of one file.
fn diagnostics(manifests: &str, args: &[&str]) -> String {
    let files = temp_dir(&[("a.yaml", manifests)]);
    succeed(files.path(), &[&["patch", "-f", "a.yaml"], args].concat()).1
}

fn rejected(manifests: &str, args: &[&str]) -> String {
    let files = temp_dir(&[("a.yaml", manifests)]);
    fail(files.path(), &[&["patch", "-f", "a.yaml"], args].concat())
}

#[test]
fn patch_entries_ignored_by_kustomize_are_reported() {
    let service = "\
apiVersion: v1
kind: Service
metadata: {name: s}
spec:
  ports:";
    let two = format!(
        "\
{service}
  - {{port: 53, protocol: UDP}}
  - {{port: 53, protocol: TCP}}
"
    );
    let table = [
        (two.as_str(), "{spec: {ports: [{port: 53, name: b}]}}", Some("--patch:1:17")),
        (&two, "{spec: {ports: [{port: 53, protocol: UDP, name: b}]}}", None),
        (&two, "{spec: {ports: [{port: 53, protocol: UDP, $patch: delete}]}}", None),
        (
            &format!("{service} []\n"),
            "{spec: {ports: [{port: 80, name: b}, {port: 80, protocol: UDP, name: a}]}}",
            Some("--patch:1:17"),
        ),
        (&format!("{service} []\n"), "{spec: {ports: [{port: 80, name: b, nodePort: null}]}}", None),
    ];
    for (manifest, patch, location) in table {
        let reported = diagnostics(manifest, &["--dialect", "kustomize", "-p", patch]);
        assert_eq!(
            reported.contains("kustomize confuses entries of this list and drops this one"),
            location.is_some(),
            "{patch}: {reported}"
        );
        assert!(reported.contains(location.unwrap_or_default()), "{patch}: {reported}");
    }
}

#[test]
fn deletions_without_a_match_are_reported_once() {
    let two = format!("{CONFIG}---\n{}", CONFIG.replace("name: a", "name: b"));
    let other = two.replacen("f: x", "f: x\n  g: y", 1);
    let patch = "{data: {f: null, g: null}}";
    for dialect in ["apiserver", "overlay", "kustomize"] {
        let args = ["--dialect", dialect, "--all", "-p", patch];
        let reported = diagnostics(CONFIG, &args);
        assert_eq!(reported.matches("warning[unmatched-deletion]").count(), 1, "{dialect}: {reported}");
        assert!(reported.contains("--patch:1:18") && reported.contains("data.g"), "{reported}");
        let reported = diagnostics(&two, &args);
        assert_eq!(reported.matches("warning[unmatched-deletion]").count(), 1, "{dialect}: {reported}");
        assert_eq!(diagnostics(&other, &args), "", "one of them had it");
    }
    assert_eq!(diagnostics(CONFIG, &["--type", "merge", "-p", patch]), "", "no strategic merge");
}

#[test]
fn values_that_are_not_secret_are_shown() {
    let test = r#"[{"op": "test", "path": "/data/f", "value": "marked"}]"#;
    let reported = rejected(CONFIG, &["--type", "json", "-p", test]);
    insta::assert_snapshot!(reported, @r#"
    error[test-failed]: test failed: `/data/f` has a different value
     --> --patch:1:2
      |
    1 | [{"op": "test", "path": "/data/f", "value": "marked"}]
      |  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
     ::: a.yaml:6:6
      |
    6 |   f: x
      |      - actual value
      |
      = resource: ConfigMap a
      = field: /data/f
      = note: operation 1
      = note: target: v1 ConfigMap a in a.yaml
      = help: the patch may be for another version of the object
    "#);
    assert!(!reported.contains("***"), "{reported}");
    let reported = rejected(CONFIG, &["-p", r#"{"data": {"f": "marked", "$patch": "x"}}"#]);
    insta::assert_snapshot!(reported, @r#"
    error[directive]: the value of `$patch` is unknown
     --> --patch:1:36
      |
    1 | {"data": {"f": "marked", "$patch": "x"}}
      |                                    ^^^
      |
      = resource: ConfigMap a
      = field: data
      = note: target: v1 ConfigMap a in a.yaml
      = help: use `delete`, `replace` or `merge`
    "#);
    // A value under a secret key is masked everywhere.
    let reported = rejected(CONFIG, &["-p", r#"{"data": {"password": "marked", "$patch": "x"}}"#]);
    assert!(!reported.contains("marked"), "{reported}");
    let both = format!("{CONFIG}---\n{SECRET}");
    for args in [&["--all", "--type", "json"][..], &["--kind", "Secret", "--type", "json"]] {
        let reported = rejected(&both, &[args, &["-p", &test.replace("/data", "/stringData")]].concat());
        assert!(!reported.contains("marked"), "{reported}");
    }
    let reported = rejected(CONFIG, &["-p", r#"{"kind": "Secret", "stringData": {"f": "marked"}}"#]);
    assert!(!reported.contains("marked"), "it may be for one that is elsewhere: {reported}");
}

#[test]
fn missing_required_field_is_reported_where_it_was_removed() {
    let remove = r#"[{"op": "remove", "path": "/spec/selector"}]"#;
    let of_entry = r#"[{"op": "remove", "path": "/spec/template/spec/containers/1/name"}]"#;
    let table = [
        (&["-p", "{spec: {selector: null}}"][..], "--patch:1:9", "spec.selector"),
        (&["-p", "{spec: {selector: null}}", "--type", "merge"], "--patch:1:9", "spec.selector"),
        (&["-p", remove, "--type", "json"], "--patch:1:27", "spec.selector"),
        (
            &[
                "-p",
                "\
spec:
  selector:
    $patch: delete
",
                "--dialect",
                "overlay",
            ],
            "--patch:2:3",
            "spec.selector",
        ),
        (&["-p", of_entry, "--type", "json"], "--patch:1:27", "spec.template.spec.containers[1].name"),
    ];
    for (args, location, field) in table {
        let reported = diagnostics(WORKLOAD, args);
        assert!(reported.contains(location) && reported.contains(field), "{args:?}: {reported}");
    }
}

#[test]
fn documents_passed_as_paths_are_not_shown() {
    let files = temp_dir(&[("a.yaml", CONFIG)]);
    let document = r#"{"stringData": {"a": "marked"}}"#;
    for args in [["-f", "a.yaml", "--patch-file", document], ["-f", document, "-p", "{}"]] {
        let reported = fail(files.path(), &[&["patch"], &args[..]].concat());
        assert!(reported.contains("did you forget `-p`") && !reported.contains("marked"), "{reported}");
    }
    let reported = fail(files.path(), &["patch", "-f", "a.yaml", "--patch-file", "stringData: marked"]);
    assert!(!reported.contains("marked"), "{reported}");
    let reported = fail(files.path(), &["patch", "-f", "a.yaml", "--patch-file", "none.yaml"]);
    insta::assert_snapshot!(reported, @"error[io]: `none.yaml` cannot be read: no such file or directory");
}

#[test]
fn empty_patch_has_a_location() {
    for patch in ["", "# nothing"] {
        let reported = rejected(CONFIG, &["-p", patch]);
        assert!(reported.contains("error[invalid-value]") && reported.contains("--patch:1:1"), "{reported}");
    }
}

#[test]
fn copied_entries_use_flow_style_in_flow_lists() {
    let files = temp_dir_from_text(
        r"
-- a.yaml --
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: a
    ports:
    - containerPort: 80 # web
  - name: b
    ports:
    - {containerPort: 1}
",
    );
    let copy =
        r#"[{"op": "copy", "from": "/spec/containers/0/ports/0", "path": "/spec/containers/1/ports/-"}]"#;
    let (text, _) = succeed(files.path(), &["patch", "-f", "a.yaml", "--type", "json", "-p", copy]);
    insta::assert_snapshot!(text, @r"
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec:
      containers:
      - name: a
        ports:
        - containerPort: 80 # web
      - name: b
        ports:
        - {containerPort: 1}
        - {containerPort: 80} # web
    ");
}

#[test]
fn text_of_a_file_entry_is_not_shown() {
    let files =
        temp_dir(&[("kustomization.yaml", "secretGenerator: [{name: a, files: [\"a=b=marked\"]}]\n")]);
    let reported = fail(files.path(), &["build", "."]);
    insta::assert_snapshot!(reported, @r"
    error[invalid-value]: the entry has more than one `=`
     --> kustomization.yaml:1:37
      |
    1 | ...                   ***
      |                       ^^^
      |
      = help: use `path` or `key=path`; literal values (`key=value`) belong under `literals`
    ");
    assert!(!reported.contains("marked"), "{reported}");
}

#[test]
fn name_flag_accepts_kind_and_name() {
    let other = WORKLOAD.replace("kind: Deployment", "kind: StatefulSet");
    let home = temp_dir(&[("all.yaml", &format!("{WORKLOAD}---\n{other}"))]);
    for named in [&["--name", "deploy/web"][..], &["--name", "web", "--kind", "deployments.apps"]] {
        let args = [&["patch", "-f", "all.yaml", "-p", "{spec: {replicas: 7}}"], named].concat();
        let (stdout, _) = succeed(home.path(), &args);
        assert_eq!(stdout.matches("replicas: 7").count(), 1, "{named:?}:\n{stdout}");
        let changed = stdout.split("---\n").next().unwrap_or_default();
        assert!(changed.contains("kind: Deployment") && changed.contains("replicas: 7"), "{stdout}");
    }
    let both = ["patch", "-f", "all.yaml", "-p", "{}", "--name", "deploy/web", "--kind", "Deployment"];
    insta::assert_snapshot!(fail(home.path(),&both), @"error[usage]: --name KIND/NAME cannot be used with --kind: keep one of them");
}
