//! Input that is rejected or has a surprising effect is reported with its location, and nothing else is printed.

use std::fs;
use std::process::Output;

use kubectl_smp_testing::program::{run, temp_dir, temp_dir_with};

const CONFIG_MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
";

fn texts(output: Output) -> [String; 2] {
    [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"))
}

#[track_caller]
fn assert_contains_all(reported: &str, parts: &[&str]) {
    for part in parts {
        assert!(reported.contains(part), "no `{part}` in:\n{reported}");
    }
}

#[test]
fn variable_of_a_missing_resource_gets_a_suggestion() {
    let kustomization = "\
namePrefix: p-
resources: [a.yaml]
vars:
- name: X
  objref:
    apiVersion: v1
    kind: ConfigMap
    name: setings
";
    let home = temp_dir(&[("kustomization.yaml", kustomization), ("a.yaml", CONFIG_MAP)]);
    let [stdout, reported] = texts(run(home.path(), &["build"]));
    assert_eq!(stdout, "");
    insta::assert_snapshot!(reported, @r"
    error[no-match]: variable `X` matches no resource: ConfigMap setings
     --> kustomization.yaml:8:11
      |
    8 |     name: setings
      |           ^^^^^^^
      |
      = field: vars
      = help: did you mean ConfigMap `settings`?
    ");
}

#[test]
fn replace_of_a_missing_field_is_reported() {
    let deployment = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 1}
";
    let patch = |path: &str| {
        format!(
            "\
resources: [a.yaml]
patches:
- target: {{kind: Deployment}}
  patch: |
    - op: test
      path: /spec/replicas
      value: 1
    - op: replace
      path: {path}
      value: 3
"
        )
    };
    let (typo, known) = (patch("/spec/replica"), patch("/spec/replicas"));
    let home = temp_dir(&[
        ("typo/kustomization.yaml", typo.as_str()),
        ("typo/a.yaml", deployment),
        ("known/kustomization.yaml", known.as_str()),
        ("known/a.yaml", deployment),
    ]);
    let output = run(home.path(), &["build", "typo"]);
    assert!(output.status.success(), "as kustomize");
    let [stdout, reported] = texts(output);
    insta::assert_snapshot!(stdout, @r"
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
    spec:
      replica: 3
      replicas: 1
    ");
    insta::assert_snapshot!(reported, @r"
    warning[replace-missing-field]: `/spec/replica` does not exist, so `replace` adds it
     --> typo/kustomization.yaml:9:13
      |
    9 |       path: /spec/replica
      |             ^^^^^^^^^^^^^
      |
      = resource: Deployment.apps web
      = help: did you mean `/spec/replicas`?
    ");
    assert_eq!(texts(run(home.path(), &["build", "known"]))[1], "");
}

#[test]
fn strict_prints_no_output_on_warnings() {
    let widget = "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec: {list: [a]}
";
    let changed = widget.replace("[a]", "[b]");
    let wrong = "\
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {ports: text}
";
    let service = wrong.replace("text", "[]");
    let home = temp_dir(&[("w.yaml", widget), ("v.yaml", &changed), ("s.yaml", &service), ("t.yaml", wrong)]);
    for args in [
        &["create-patch", "--dialect", "schema", "w.yaml", "v.yaml"][..],
        &["create-patch", "--type", "merge", "s.yaml", "t.yaml"],
    ] {
        let output = run(home.path(), args);
        assert!(output.status.success(), "{args:?}");
        let [stdout, reported] = texts(output);
        assert!(!stdout.is_empty() && reported.contains("warning"), "{args:?}: {reported}");
        let strict = run(home.path(), &[args, &["--strict"]].concat());
        assert!(!strict.status.success(), "{args:?}");
        assert_eq!(texts(strict)[0], "", "{args:?}");
    }
}

#[cfg(feature = "cluster")]
mod with_a_cluster {
    use super::*;

    #[test]
    fn namespace_flag_is_used_or_rejected() {
        let home = temp_dir(&[("kustomization.yaml", "resources: [a.yaml]"), ("a.yaml", CONFIG_MAP)]);
        let refusing: [&[&str]; 9] = [
            &["build", "."],
            &["lock", "."],
            &["merge", "a.yaml", "a.yaml"],
            &["merge3", "--original", "a.yaml", "--updated", "a.yaml", "--dest", "a.yaml"],
            &["create-patch", "a.yaml", "a.yaml"],
            &["schema", "list", "pods"],
            &["schema", "show", "pod"],
            &["schema", "fetch", "pods"],
            &["merge3", "--git-driver", "a.yaml", "a.yaml", "a.yaml", "a.yaml"],
        ];
        for args in refusing {
            let output = run(home.path(), &[args, &["-n", "shop"]].concat());
            // git takes lower statuses of a merge driver as the number of conflicts.
            let status = if args.contains(&"--git-driver") { 129 } else { 2 };
            assert_eq!(output.status.code(), Some(status), "{args:?}");
            let [stdout, reported] = texts(output);
            assert_eq!(stdout, "", "{args:?}");
            let message = if matches!(args[0], "build" | "lock") {
                "`--namespace` has no effect on built manifests: set `namespace:` in the kustomization or the manifests"
            } else {
                "`--namespace` has no effect on this command, which sends no objects to a cluster"
            };
            assert_contains_all(&reported, &[message]);
        }
        // Commands that use the namespace: objects are applied to it, and only its objects are patched.
        let sent = ["apply", "--dry-run=client", "-o", "yaml", ".", "-n", "shop"];
        insta::assert_snapshot!(&texts(run(home.path(), &sent))[0], @r"
        apiVersion: v1
        data:
          a: b
        kind: ConfigMap
        metadata:
          name: settings
          namespace: shop
        ");
        fs::write(home.path().join("p.yaml"), "data: {a: c}\n").expect("written");
        let patch = ["patch", "-f", "a.yaml", "--patch-file", "p.yaml", "--kind", "ConfigMap", "-n", "shop"];
        assert!(run(home.path(), &patch).status.success(), "it is in no other namespace");
        let other = CONFIG_MAP.replace("settings", "settings, namespace: other");
        fs::write(home.path().join("a.yaml"), other).expect("written");
        assert!(!run(home.path(), &patch).status.success(), "it is in another one");
        assert!(run(home.path(), &patch[..7]).status.success());
    }

    #[test]
    fn invalid_kubeconfig_is_an_error_with_its_location() {
        let kubeconfig = |cluster: &str, user: &str| {
            format!(
                "\
apiVersion: v1
kind: Config
current-context: c
contexts:
- {{name: c, context: {{cluster: one, user: ann}}}}
clusters:
- name: one
  cluster:
    server: https://127.0.0.1:1
{cluster}users:
- name: ann
  user:
{user}"
            )
        };
        let table = [
            (kubeconfig("", "    token: s3cr3t: x\n"), "error[syntax]", "config:13:", ""),
            (kubeconfig("", "    token: [s3cr3t]\n"), "error[syntax]", "config:1", ""),
            (
                kubeconfig("    certificate-authority-data: s3cr3t!\n", "    token: t\n"),
                "error[invalid-value]: `certificate-authority-data` of the cluster `one` is not valid base64",
                "config:10:33",
                "`certificate-authority`",
            ),
            (
                kubeconfig(
                    "",
                    r"    client-certificate-data: YQ==
    client-key-data: s3cr3t!
",
                ),
                "error[invalid-value]: `client-key-data` of the user `ann` is not valid base64",
                "config:14:22",
                "`client-key`",
            ),
        ];
        for (text, error, location, help) in table {
            let home = temp_dir(&[("config", &text), ("a.yaml", CONFIG_MAP)]);
            let output = run(home.path(), &["diff", "-f", "a.yaml", "--kubeconfig", "config"]);
            let [stdout, reported] = texts(output);
            assert_eq!(stdout, "");
            assert_contains_all(&reported, &[error, location, help]);
            assert!(!reported.contains("s3cr3t"), "{reported}");
        }
    }

    #[test]
    fn failed_schema_lookup_has_the_location_of_the_resource() {
        let widget = "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec: {list: [a]}
";
        let home = temp_dir(&[("base/w.yaml", widget), ("over/w.yaml", &format!("# mine\n{widget}"))]);
        let args = ["build", "over", "--base", "base", "--server", "http://127.0.0.1:1"];
        let [_, reported] = texts(run(home.path(), &args));
        assert_contains_all(
            &reported,
            &[
                "cannot get the schema of example.com/v1 Widget from the cluster",
                "over/w.yaml:2:1",
                "Widget.example.com w",
            ],
        );
    }
}

#[test]
fn non_string_label_and_annotation_keys_are_rejected() {
    let kustomization = "\
resources: [a.yaml]
commonAnnotations: {n: a, y: b, on: c, fine: d, 1: e}
commonLabels: {yes: a}
labels:
- pairs: {Off: a, 1.5: b}
generatorOptions:
  labels: {.inf: a}
configMapGenerator:
- name: made
  options: {annotations: {true: a}}
";
    let home = temp_dir(&[("kustomization.yaml", kustomization), ("a.yaml", CONFIG_MAP)]);
    let output = run(home.path(), &["build"]);
    assert_eq!(output.status.code(), Some(1));
    let [stdout, reported] = texts(output);
    assert_eq!(stdout, "");
    assert_contains_all(
        &reported,
        &[
            "the key `n` is a boolean (`false`) in YAML 1.1, not a string\n --> kustomization.yaml:2:21",
            "= field: commonAnnotations.n",
            "= help: put quotes around it: `\"n\"`",
            "kustomization.yaml:2:27",
            "kustomization.yaml:2:33",
            "commonLabels.yes",
            "the key `Off` is a boolean (`false`)",
            "the key `1.5` is a number, not a string",
            "generatorOptions.labels[.inf]",
            "configMapGenerator[0].options.annotations.true",
        ],
    );
    assert!(
        !reported.contains("commonAnnotations.fine") && !reported.contains("commonAnnotations[1]"),
        "{reported}"
    );
}

#[test]
fn empty_strategic_merge_patches_are_accepted_by_all_commands() {
    let kustomization = "\
resources: [a.yaml]
patchesStrategicMerge: [empty.yaml, p.yaml, empty.yaml]
";
    let patch = CONFIG_MAP.replace("a: b", "a: c");
    let home = temp_dir(&[
        ("k/kustomization.yaml", kustomization),
        ("k/a.yaml", CONFIG_MAP),
        ("k/p.yaml", patch.as_str()),
        ("k/empty.yaml", "# nothing yet"),
    ]);
    for command in [&["build"][..], &["build", "--validate"], &["blame"], &["tree"], &["check"]] {
        let output = run(home.path(), &[command, &["k"]].concat());
        assert_eq!(output.status.code(), Some(0), "{command:?}: {:?}", texts(output));
    }
    fs::write(home.path().join("k/p.yaml"), "---\n").expect("written");
    for command in [&["build"][..], &["build", "--validate"], &["blame"], &["tree"], &["check"]] {
        let output = run(home.path(), &[command, &["k"]].concat());
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert_contains_all(&texts(output).concat(), &["all patches are empty", "k/kustomization.yaml:2:25"]);
    }
}

#[test]
fn unprintable_values_are_rejected_by_all_commands() {
    let manifest = |value: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: Row
metadata: {{name: a}}
spec: [{{x: {value}}}]
"
        )
    };
    let commands = [
        &["build"][..],
        &["build", "-o", "name"],
        &["build", "-o", "json"],
        &["build", "--validate"],
        &["blame"],
        &["tree"],
        &["check"],
        &["apply", "--dry-run=client"],
        &["apply", "--dry-run=client", "-o", "name"],
    ];
    let table = [
        (".inf", "infinity and NaN cannot be represented in JSON"),
        ("-.Inf", "infinity and NaN cannot be represented in JSON"),
        (".nan", "infinity and NaN cannot be represented in JSON"),
        ("\"\\x7f\"", "character U+007F cannot be represented in YAML"),
        ("\"\\u0080\"", "character U+0080 cannot be represented in YAML"),
        ("\"\\uffff\"", "character U+FFFF cannot be represented in YAML"),
    ];
    for (value, message) in table {
        let home = temp_dir(&[
            ("k/kustomization.yaml", "resources: [r.yaml]"),
            ("k/r.yaml", manifest(value).as_str()),
            ("plain/of/objects/r.yaml", manifest(value).as_str()),
        ]);
        for command in commands {
            let output = run(home.path(), &[command, &["k"]].concat());
            assert_eq!(output.status.code(), Some(1), "{command:?} {value}");
            let diagnostics = texts(output).concat();
            assert_contains_all(&diagnostics, &[message, "k/r.yaml:4:12", "spec[0].x", "Row.example.com a"]);
        }
        // kubectl sends such characters to the server, but not infinity.
        let output = run(home.path(), &["apply", "--dry-run=client", "-f", "plain/of/objects/r.yaml"]);
        assert_eq!(output.status.success(), value.starts_with('"'), "{value}");
        let output = run(home.path(), &["check", "plain/of/objects"]);
        assert_eq!(output.status.success(), value.starts_with('"'), "{value}: {:?}", texts(output));
    }
}

#[test]
fn fields_that_kustomize_would_lose_are_rejected() {
    let table = [
        ("\"<<\": {c: d}\n", "kustomize drops a field named `<<`", "a.yaml:5:1"),
        ("!!str <<: {c: d}\n", "kustomize drops a field named `<<`", "a.yaml:5:7"),
        (
            "\
x:
  <<: [{<<: {e: f}}, {<<: {g: h}}]
",
            "kustomize would lose the field `g` of this merge",
            "a.yaml:6:7",
        ),
    ];
    for (field, message, location) in table {
        let manifest = format!("{CONFIG_MAP}{field}");
        let home = temp_dir_with(
            &[("k/a.yaml", manifest.as_str()), ("p/a.yaml", manifest.as_str()), ("p/c.yaml", CONFIG_MAP)],
            r"
-- k/kustomization.yaml --
resources: [a.yaml]
-- p/kustomization.yaml --
resources: [c.yaml]
patches: [{path: a.yaml}]
",
        );
        for target in ["k", "p"] {
            let output = run(home.path(), &["build", target]);
            assert_eq!(output.status.code(), Some(1), "{target} {field}");
            assert_contains_all(&texts(output).concat(), &[message, &format!("{target}/{location}")]);
        }
        let output = run(home.path(), &["apply", "--dry-run=client", "-f", "k/a.yaml"]);
        assert!(output.status.success(), "kubectl keeps it: {:?}", texts(output));
    }
}
