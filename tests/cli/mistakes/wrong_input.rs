//! Invalid paths and command lines, oversized files, and files with conflict markers.

use std::fs;

use kubectl_smp_testing::program::{self, command, run, temp_dir, temp_dir_with};

use super::{DEPLOYMENT, assert_contains_all, cm, rejected, reported};

#[test]
fn misspelled_list_entries_in_field_paths_get_suggestions() {
    let kustomization = r#"resources: [a.yaml]
replacements:
- sourceValue: web:2
  targets:
  - select: {kind: Deployment}
    fieldPaths: ["spec.template.spec.containers.[name=wbe].image"]
"#;
    let home = temp_dir(&[("app/kustomization.yaml", kustomization), ("app/a.yaml", DEPLOYMENT)]);
    let reported = rejected(home.path(), &["build", "app"]);
    insta::assert_snapshot!(reported, @r#"
    error[no-match]: no entry of `spec.template.spec.containers` has `name: wbe`
     --> app/kustomization.yaml:6:18
      |
    6 |     fieldPaths: ["spec.template.spec.containers.[name=wbe].image"]
      |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
     ::: app/a.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - target resource
      |
      = resource: Deployment.apps web in namespace shop
      = field: spec.template.spec.containers.[name=wbe].image
      = help: did you mean `spec.template.spec.containers.[name=web].image`? use `options: {create: true}` to add fields
    "#);
}

#[test]
fn invalid_targets_are_explained() {
    let home = temp_dir(&[
        ("taken/kustomization.yaml/x", ""),
        ("taken/a.yaml", &cm("a")),
        ("named/kustomize.yaml", "resources: [a.yaml]"),
        ("base/a.yaml", &cm("a")),
        ("over/kustomization.yaml", "resources: [../base/a.yaml]"),
    ]);
    let reported = rejected(home.path(), &["build", "taken"]);
    insta::assert_snapshot!(reported, @r"
    error[io]: taken/kustomization.yaml is a directory, expected a kustomization file
     |
     = help: replace the directory by the file, or rename it
    ");
    let reported = rejected(home.path(), &["build", "named"]);
    insta::assert_snapshot!(reported, @r"
    error[invalid-value]: `kustomize.yaml` is a kustomization, but its file name is not recognized
     --> named/kustomize.yaml:1:1
      |
    1 | resources: [a.yaml]
      | ^
      |
      = help: rename it to `kustomization.yaml`
    ");
    let mut empty = command(home.path(), &["build", "-"]);
    let output = empty.stdin(std::process::Stdio::null()).output().expect("the program runs");
    assert!(!output.status.success() && output.stdout.is_empty());
    insta::assert_snapshot!(&String::from_utf8_lossy(&output.stderr), @r"
    error[missing-field]: no resources found on standard input
     |
     = help: check the output and the exit status of the command before the `|`
    ");
    let file = run(home.path(), &["build", "base/a.yaml"]);
    assert_eq!(run(home.path(), &["build", "-R", "base/a.yaml"]).stdout, file.stdout);
}

#[test]
fn patches_without_a_match_suggest_a_target() {
    let home = temp_dir_with(
        &[("a.yaml", DEPLOYMENT)],
        r"
-- kustomization.yaml --
resources: [a.yaml]
patches:
- target: {kind: Deploymnet}
  patch: |-
    - {op: add, path: /a, value: b}
- target: {kind: Deployment}
  patch: |-
    - {op: add, path: x/spec/paused, value: true}
",
    );
    let reported = reported(home.path(), &["build", "."]);
    insta::assert_snapshot!(reported, @r"
    warning[invalid-value]: the path `x/spec/paused` does not begin with `/`; everything before its first `/` is ignored
     --> kustomization.yaml:8:23
      |
    8 |     - {op: add, path: x/spec/paused, value: true}
      |                       ^^^^^^^^^^^^^
      |
      = help: use `/x/spec/paused`
    warning[unmatched-patch]: patch target matches no resource, so the patch has no effect: kind=Deploymnet
     --> kustomization.yaml:3:11
      |
    3 | - target: {kind: Deploymnet}
      |           ^^^^^^^^^^^^^^^^^^
      |
     ::: kustomization.yaml:5:5
      |
    5 |     - {op: add, path: /a, value: b}
      |     ------------------------------- patch
      |
      = help: did you mean the kind `Deployment`?
    warning: 2 warnings
    ");
}

#[test]
fn usage_errors_use_the_message_format() {
    let home = temp_dir(&[]);
    let reported = rejected(home.path(), &["a\nerror: forged"]);
    insta::assert_snapshot!(reported, @r"
    error[usage]: unrecognized subcommand 'a\nerror: forged'
     |
     = help: Usage: kubectl smp <COMMAND>
             For more information, try '--help'.
    ");
    assert!(!reported.contains("\nerror: forged"), "{reported}");
    let reported = rejected(home.path(), &["build", "--nope", "--message-format", "short"]);
    insta::assert_snapshot!(reported, @"error[usage]: unexpected argument '--nope' found");
    assert!(reported.lines().count() == 1, "{reported}");
}

#[test]
fn long_values_are_shortened_in_messages() {
    let path = "a/".repeat(100_000) + "a";
    let home = temp_dir_with(
        &[
            ("c.yaml", &format!("commonLabels: [{{path: {path}, create: true}}]")),
            ("a.yaml", &cm("a")),
            ("long/kustomization.yaml", &format!("resources: [{}]", "x".repeat(100_000))),
        ],
        r"
-- kustomization.yaml --
resources: [a.yaml]
configurations: [c.yaml]
commonLabels: {x: y}
",
    );
    for target in [".", "long"] {
        for form in ["text", "short", "json", "github"] {
            let reported = rejected(home.path(), &["build", target, "--message-format", form]);
            assert!(reported.len() < 6_000, "{target} {form}: {}", reported.len());
        }
    }
}

#[test]
fn oversized_file_reports_limit_exceeded() {
    let home = temp_dir(&[("kustomization.yaml", "resources: [a.yaml]")]);
    let file = fs::File::create(home.path().join("a.yaml")).expect("made");
    file.set_len((1 << 30) + 1).expect("sparse");
    let large = |name: &str| {
        let file = fs::File::create(home.path().join(name)).expect("made");
        file.set_len((1 << 30) + 1).expect("sparse");
    };
    large("smp.lock");
    let commands: [&[&str]; 4] = [
        &["build", "."],
        &["lock", "."],
        &["diff", "--server", "http://localhost:1", "-f", "a.yaml"],
        &["patch", "-f", "a.yaml", "-p", "{a: 1}"],
    ];
    for command in commands {
        assert_contains_all(&rejected(home.path(), command), &["error[limit-exceeded]", "larger than 1 GiB"]);
    }
    // The lock file itself is oversized, while all other files can be read.
    fs::write(home.path().join("a.yaml"), cm("a")).expect("written");
    for command in [["build", "."], ["lock", "."]] {
        assert_contains_all(
            &rejected(home.path(), &command),
            &["error[limit-exceeded]", "larger than 1 GiB"],
        );
    }
}

#[test]
fn long_chains_of_bases_are_abbreviated() {
    let mut files: Vec<(String, String)> = (0..300)
        .map(|i| (format!("b{i}/kustomization.yaml"), format!("resources: [../b{}]\n", i + 1)))
        .collect();
    files.push((
        "b300/kustomization.yaml".into(),
        "\
resources: [a.yaml]
replicas: [{name: x, count: 1}]
"
        .into(),
    ));
    files.push(("b300/a.yaml".into(), cm("a")));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let home = temp_dir(&files);
    let reported = rejected(home.path(), &["build", "b0"]);
    insta::assert_snapshot!(reported, @r"
    error[no-match]: no resource with replicas matches `x`
     --> b300/kustomization.yaml:2:19
      |
    2 | replicas: [{name: x, count: 1}]
      |                   ^
      |
      = note: searched kinds: Deployment, StatefulSet, ReplicaSet, ReplicationController
      = note: included by `../b300` in b299
      = note: included by `../b299` in b298
      = note: included by `../b298` in b297
      = note: ... 294 more
      = note: included by `../b3` in b2
      = note: included by `../b2` in b1
      = note: included by `../b1` in b0
      = help: use the name from the base, without prefix and suffix
    ");
    assert!(reported.lines().count() < 20, "{reported}");
}

#[test]
fn long_lines_are_shown_around_the_location() {
    let list = "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa', ".repeat(500);
    let home = temp_dir(&[(
        "app/kustomization.yaml",
        &format!(
            "\
commonAnnotations: {{x: z}}
resources: [{list}]
"
        ),
    )]);
    let reported = rejected(home.path(), &["build", "app"]);
    insta::assert_snapshot!(reported, @r"
    error[io]: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaa` cannot be read: no such file or directory
     --> app/kustomization.yaml:2:13
      |
    2 | resources: ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaaaaaaa...
      |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = note: the path leads to app/aaaaaaaaaaaaaaaaaaaaaaaaaaaaa
      = note: and 499 more: app/kustomization.yaml:2:46, app/kustomization.yaml:2:79, app/kustomization.yaml:2:112, ...
      = help: paths are relative to the directory of the kustomization file
    ");
    assert!(
        reported.lines().all(|line| line.len() < 400),
        "{}",
        reported.lines().map(str::len).max().unwrap_or(0)
    );
}

#[test]
fn failed_target_prints_no_list() {
    let home = temp_dir(&[("app/kustomization.yaml", "resources: [a.yaml]")]);
    rejected(home.path(), &["build", "app", "-o", "json"]);
    rejected(home.path(), &["build", "app", "app", "-o", "json"]);
}

#[test]
fn lock_accepts_the_same_targets_as_build() {
    let home = temp_dir(&[
        ("a/kustomization.yaml", "resources: [a.yaml]"),
        ("a/a.yaml", &cm("a")),
        ("b/kustomization.yaml", "resources: [../a]"),
    ]);
    for args in [&["lock", "-k", "a"][..], &["lock", "-R", "."], &["lock", "a/kustomization.yaml"]] {
        let output = run(home.path(), args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(home.path().join("a/smp.lock").is_file(), "{args:?}");
        fs::remove_file(home.path().join("a/smp.lock")).expect("there");
    }
}

#[test]
fn conflict_markers_and_templates_are_recognised() {
    let conflict = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
<<<<<<< HEAD
  a: b
=======
  a: c
>>>>>>> branch
";
    let expression = cm("a").replace("a: b", "a: {{ .Values.a }}");
    let statement = cm("a").replace("data:", "{{- if .Values.a }}\ndata:");
    let alert = cm("a").replace(
        "a: b",
        "\
a: |
    {{ $labels.pod }}
  b: [",
    );
    let home = temp_dir(&[
        ("base/x.yaml", &cm("x")),
        ("conflict/a.yaml", conflict),
        ("expression/a.yaml", &expression),
        ("statement/a.yaml", &statement),
        ("alert/a.yaml", &alert),
    ]);
    let reported = rejected(home.path(), &["build", "conflict"]);
    insta::assert_snapshot!(reported, @r"
    error[syntax]: this file has git conflict markers
     --> conflict/a.yaml:5:1
      |
    5 | <<<<<<< HEAD
      | ^^^^^^^
      |
      = help: resolve the conflict, and remove the lines `<<<<<<<`, `=======` and `>>>>>>>`
    ");
    for target in ["expression", "statement"] {
        assert_contains_all(
            &rejected(home.path(), &["build", target]),
            &["looks like a Helm template", "`helmCharts`"],
        );
    }
    let reported = rejected(home.path(), &["build", "alert"]);
    assert!(!reported.contains("Helm"), "templates in texts are not wrong:\n{reported}");
}

#[test]
fn field_at_the_wrong_depth_suggests_the_right_path() {
    let wrong = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
replicas: 2
spec:
  labels: {a: b}
  containers: []
  selector: {matchLabels: {app: web}}
  template:
    replicas: 1
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: 'web:1', hostNetwork: true}]
";
    let home = temp_dir(&[("k/kustomization.yaml", "resources: [a.yaml]"), ("k/a.yaml", wrong)]);
    let output = run(home.path(), &["check", "k"]);
    let reported = String::from_utf8(output.stdout).expect("text");
    insta::assert_snapshot!(reported, @r"
    error[unknown-field]: unknown field `replicas`
     --> k/a.yaml:4:1
      |
    4 | replicas: 2
      | ^^^^^^^^
      |
      = resource: Deployment.apps web
      = field: replicas
      = target: k
      = help: `replicas` belongs under `spec`

    error[unknown-field]: unknown field `labels`
     --> k/a.yaml:6:3
      |
    6 |   labels: {a: b}
      |   ^^^^^^
      |
      = resource: Deployment.apps web
      = field: spec.labels
      = target: k
      = help: `labels` belongs under `metadata`

    error[unknown-field]: unknown field `containers`
     --> k/a.yaml:7:3
      |
    7 |   containers: []
      |   ^^^^^^^^^^
      |
      = resource: Deployment.apps web
      = field: spec.containers
      = target: k
      = help: `containers` belongs under `spec.template.spec`

    error[unknown-field]: unknown field `replicas`
      --> k/a.yaml:10:5
       |
    10 |     replicas: 1
       |     ^^^^^^^^
       |
       = resource: Deployment.apps web
       = field: spec.template.replicas
       = target: k
       = help: `replicas` belongs under `spec`

    error[unknown-field]: unknown field `hostNetwork`
      --> k/a.yaml:13:48
       |
    13 |       containers: [{name: web, image: 'web:1', hostNetwork: true}]
       |                                                ^^^^^^^^^^^
       |
       = resource: Deployment.apps web
       = field: spec.template.spec.containers[name=web].hostNetwork
       = target: k
       = help: `hostNetwork` belongs under `spec.template.spec`
    ");
    assert_eq!(
        reported.matches("`replicas` belongs under `spec`").count(),
        2,
        "from above and below:\n{reported}"
    );
}

#[test]
fn directory_without_target_suggests_nearby_targets() {
    let home = temp_dir(&[
        ("apps/base/kustomization.yaml", "resources: [x.yaml]"),
        ("apps/base/x.yaml", &cm("x")),
        ("apps/overlays/dev/kustomization.yaml", "resources: [../../base]"),
        ("apps/overlays/prod/kustomization.yaml", "resources: [../../base]"),
        ("apps/overlays/test/kustomization.yaml", "resources: [../../base]"),
        ("apps/base/docs/README.md", ""),
    ]);
    let reported = rejected(home.path(), &["build", "apps"]);
    insta::assert_snapshot!(reported, @r"
    error[missing-field]: no kustomization.yaml in apps; nearest kustomizations: apps/base, apps/overlays/dev, apps/overlays/prod and 1 more
     |
     = help: pass one of them, or use --recursive to find all targets in the directory
    ");
    let reported = rejected(home.path(), &["build", "apps/base/docs"]);
    insta::assert_snapshot!(reported, @r"
    error[missing-field]: no kustomization.yaml in apps/base/docs; nearest kustomizations: apps/base
     |
     = help: pass one of them, or use --recursive to find all targets in the directory
    ");
}

#[test]
fn missing_directories_are_named_by_all_commands() {
    let home =
        temp_dir(&[("list/kustomization.yaml", "- a\n"), ("lock/kustomization.yaml", "resources: []\n")]);
    for (args, message) in [
        (&["create", "-k", "nope", "--autodetect"][..], "help: create the directory first"),
        (&["lock", "nope"], "error[io]: `nope` cannot be read: no such file or directory"),
        (&["edit", "set", "image", "a=b", "-k", "list"], "help: put the entries below a field"),
    ] {
        let reported = rejected(home.path(), args);
        assert!(reported.contains(message), "{reported}");
    }
    let resource = "{\"a\": 1}\n{\"b\": 2}\n";
    for (text, message) in
        [(resource, "help: the document ends before this"), ("a: \0", "remove the NUL character")]
    {
        std::fs::write(home.path().join("lock/kustomization.yaml"), "resources: [a.json]").expect("written");
        std::fs::write(home.path().join("lock/a.json"), text).expect("written");
        let reported = rejected(home.path(), &["build", "lock"]);
        assert!(reported.contains(message), "{reported}");
    }
    std::fs::write(home.path().join("lock/smp.lock"), "{").expect("written");
    let reported = rejected(home.path(), &["build", "lock"]);
    assert!(reported.contains("create the lock file again"), "{reported}");
}

#[cfg(unix)]
#[test]
fn dangling_symlink_is_reported_as_one() {
    let home = temp_dir(&[("kustomization.yaml", "resources: [d.yaml]")]);
    std::os::unix::fs::symlink("nope.yaml", home.path().join("d.yaml")).expect("a link");
    let reported = rejected(home.path(), &["build"]);
    insta::assert_snapshot!(reported, @r"
    error[io]: `d.yaml` is a symlink whose target does not exist
     --> kustomization.yaml:1:13
      |
    1 | resources: [d.yaml]
      |             ^^^^^^
      |
      = help: correct or remove the symlink
    ");
}

#[test]
fn plain_directory_over_kustomizations_suggests_them() {
    let home = temp_dir(&[("v.yaml", "a: b"), ("o/p/kustomization.yaml", "resources: []")]);
    let reported = rejected(home.path(), &["build"]);
    insta::assert_snapshot!(reported, @r"
    error[invalid-value]: o/p/kustomization.yaml is a kustomization inside a plain directory
     |
     = note: nearest kustomizations: o/p
     = help: pass one of them, or use --recursive to find all targets in the directory; to build it with the other manifests, list it in a kustomization.yaml
    ");
}

#[test]
fn object_without_a_target_suggests_the_working_directory() {
    let home = temp_dir(&[("kustomization.yaml", "resources: [x.yaml]"), ("x.yaml", &cm("x"))]);
    let reported = rejected(home.path(), &["blame", "cm/x"]);
    insta::assert_snapshot!(reported, @r"
    error[usage]: the target `cm/x` does not exist: did you mean `kubectl smp blame . cm/x`?
    ");
}

#[test]
fn patch_merge_key_outside_a_list_entry_is_reported() {
    let patch = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  $patchMergeKey: [name]
  replicas: 2
";
    let home = temp_dir_with(
        &[
            ("base/web.yaml", DEPLOYMENT),
            ("over/web.yaml", patch),
            ("k/web.yaml", DEPLOYMENT),
            ("k/patch.yaml", patch),
        ],
        r"
-- k/kustomization.yaml --
resources: [web.yaml]
patches: [{path: patch.yaml}]
",
    );
    insta::assert_snapshot!(&rejected(home.path(), &["build", "over"]), @r"
    error[directive]: `$patchMergeKey` has no effect outside an entry of a list
     --> over/web.yaml:5:19
      |
    5 |   $patchMergeKey: [name]
      |                   ^^^^^^
      |
      = resource: Deployment.apps web in namespace shop
      = field: spec
      = help: move it into the entry whose merge keys it names, or remove it
    ");
    insta::assert_snapshot!(&reported(home.path(), &["build", "k"]), @r"
    warning[directive]: `$patchMergeKey` has no effect outside an entry of a list
     --> k/patch.yaml:5:19
      |
    5 |   $patchMergeKey: [name]
      |                   ^^^^^^
      |
      = resource: Deployment.apps web in namespace shop
      = field: spec
      = help: move it into the entry whose merge keys it names, or remove it
    ");
    rejected(home.path(), &["build", "k", "--strict"]);
    assert!(!program::stdout(&run(home.path(), &["build", "k"])).contains('$'));
    let as_kustomize = run(home.path(), &["build", "k", "--dialect", "kustomize"]);
    insta::assert_snapshot!(program::stdout(&as_kustomize), @r"
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
      namespace: shop
    spec:
      $patchMergeKey:
      - name
      replicas: 2
      selector:
        matchLabels:
          app: web
      template:
        metadata:
          labels:
            app: web
        spec:
          containers:
          - image: web:1
            name: web
    ");
}

#[test]
fn replace_directive_ignored_by_kustomize_is_reported() {
    let patch = |containers: &str| {
        format!(
            "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  template: {{spec: {{containers: {containers}}}}}
"
        )
    };
    let replaced = "{name: web, $patch: replace, command: [run]}";
    let ignored = "kustomize v5.8 ignores list entries with `$patch: replace`";
    for (containers, is_ignored) in [
        (format!("[{replaced}]"), true),
        (format!("[{replaced}, {{name: side, image: s}}]"), true),
        (format!("[{{name: web, $patch: delete}}, {}]", replaced.replace("web", "new")), false),
        ("[{$patch: replace}, {name: web, image: 'web:2'}]".to_string(), false),
    ] {
        let home = temp_dir_with(
            &[("web.yaml", DEPLOYMENT), ("patch.yaml", &patch(&containers))],
            r"
-- kustomization.yaml --
resources: [web.yaml]
patches: [{path: patch.yaml}]
",
        );
        for args in [
            &["build", "."][..],
            &["build", ".", "--dialect", "kustomize"],
            &["check", ".", "-o", "short"],
            &["patch", "-f", "web.yaml", "--patch-file", "patch.yaml", "--dialect", "kustomize"],
        ] {
            let output = run(home.path(), args);
            let diagnostics =
                String::from_utf8([output.stdout.clone(), output.stderr.clone()].concat()).expect("text");
            assert_eq!(diagnostics.contains(ignored), is_ignored, "{args:?} {containers}: {diagnostics}");
            assert!(!is_ignored || diagnostics.contains("patch.yaml:5:"), "{diagnostics}");
            let is_kept = args[0] == "check" || program::stdout(&output).contains("web:1");
            assert!(!is_ignored || is_kept, "{args:?} {diagnostics}");
        }
        assert_eq!(
            run(home.path(), &["build", ".", "--strict"]).status.success(),
            !is_ignored,
            "{containers}"
        );
    }
}
