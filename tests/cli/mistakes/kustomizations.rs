//! Mistakes in kustomizations, and resources with colliding ids.

use kubectl_smp_testing::program::{run, temp_dir, temp_dir_with};

use super::{assert_contains_all, cm, messages, rejected, reported};

#[test]
fn many_missing_files_are_one_message() {
    let entries = (0..50).map(|i| format!("- m{i}.yaml")).collect::<Vec<_>>().join("\n");
    let kustomization = format!("resources:\n{entries}\nvars: []\nbases: []\nimageTags: []\n");
    let home = temp_dir(&[("kustomization.yaml", &kustomization)]);
    let reported = rejected(home.path(), &["build"]);
    assert!(reported.contains("and 49 more: kustomization.yaml:3:3, "), "{reported}");
    assert!(reported.lines().count() < 60, "{reported}");
}

#[test]
fn errors_are_part_of_the_summary() {
    let text = "resources: [m.yaml]\ncommonLabels: {a: b}\nimageTags: [{name: a, newTag: b}]\n";
    let home = temp_dir(&[("kustomization.yaml", text)]);
    let reported = rejected(home.path(), &["build"]);
    assert!(reported.ends_with("error: 1 error, 2 warnings\n"), "{reported}");
}

#[test]
fn repeated_entry_is_shown_with_the_first_one() {
    let resource = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let home = temp_dir(&[
        ("file/kustomization.yaml", "resources: [a.yaml, ./a.yaml]\n"),
        ("file/a.yaml", resource),
        ("bases/kustomization.yaml", "resources: [../one, ../one/]\n"),
        ("one/kustomization.yaml", "resources: [a.yaml]\n"),
        ("one/a.yaml", resource),
    ]);
    insta::assert_snapshot!(rejected(home.path(), &["build", "file"]), @r"
    error[duplicate-resource]: `./a.yaml` is listed twice under `resources`
     --> file/kustomization.yaml:1:21
      |
    1 | resources: [a.yaml, ./a.yaml]
      |                     ^^^^^^^^ second entry
      |
     ::: file/kustomization.yaml:1:13
      |
    1 | resources: [a.yaml, ./a.yaml]
      |             ------ first entry
      |
      = help: remove one of the entries
    ");
    let reported = rejected(home.path(), &["build", "bases"]);
    assert!(reported.contains("`../one/` is listed twice under `resources`"), "{reported}");
}

/// Behaviour of kustomize v5.8.3: it splits manifests and patches at `---` before it parses them.
#[test]
fn yaml_directives_are_read_as_in_kustomize() {
    let table = [
        (
            "\
%YAML 1.1
---
",
            true,
            false,
        ),
        (
            "\
%YAML 01.1 # c
---
",
            true,
            false,
        ),
        (
            "\
# c
%TAG !e! tag:e,1:
---
",
            true,
            false,
        ),
        (
            "\
%YAML 1.2
---
",
            false,
            false,
        ),
        (
            "\
%YAML 2.0
---
",
            false,
            false,
        ),
        (
            "\
%FOO
---
",
            false,
            false,
        ),
        (
            "\
---
# %YAML 1.2
",
            true,
            true,
        ),
    ];
    for (directive, kustomization, manifest) in table {
        let files = |k: &str, a: &str, p: &str| {
            temp_dir(&[
                (
                    "app/kustomization.yaml",
                    &format!(
                        "\
{k}resources: [a.yaml]
patches: [{{path: p.yaml}}]
"
                    ),
                ),
                ("app/a.yaml", &format!("{a}{}", cm("a"))),
                ("app/p.yaml", &format!("{p}{}", cm("a"))),
            ])
        };
        let table = [
            (files(directive, "", ""), kustomization),
            (files("", directive, ""), manifest),
            (files("", "", directive), manifest),
        ];
        for (i, (home, want)) in table.iter().enumerate() {
            let output = run(home.path(), &["build", "app"]);
            assert_eq!(
                output.status.success(),
                *want,
                "{directive:?} {i}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
}

/// Behaviour of kustomize v5.8.3: only a comment may follow the `---` that ends a document.
#[test]
fn document_separators_are_recognised_as_in_kustomize() {
    let table = [
        ("---\n{}", true),
        ("--- # c\n{}", true),
        ("--- \r\n{}", true),
        ("--- {}", false),
        ("---{}", false),
        ("---\n--- {}", true),
    ];
    for (marker, want) in table {
        let second = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n";
        let home = temp_dir(&[
            ("app/kustomization.yaml", "resources: [a.yaml]"),
            ("app/a.yaml", &format!("{}{}", cm("a"), marker.replace("{}", second))),
        ]);
        let output = run(home.path(), &["build", "app"]);
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), want, "{marker:?}: {reported}");
        assert_eq!(
            reported.contains("accepts only a comment after the `---`"),
            !want,
            "{marker:?}: {reported}"
        );
    }
}

#[test]
fn json_messages_identify_resources_completely() {
    let home = temp_dir(&[("a.yaml", &format!("{}---\n{}", cm("a"), cm("a"))), ("b.yaml", &cm("a"))]);
    let output = run(home.path(), &["merge", "a.yaml", "b.yaml", "--message-format", "json"]);
    let reported = messages(&String::from_utf8(output.stderr).expect("text"));
    let want = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "", "name": "a"});
    assert!(reported.iter().any(|message| message["resource"] == want), "{reported:#?}");
}

#[test]
fn variables_replicas_targets_and_conflicts_have_locations() {
    let vars = "\
vars:
- name: A
  objref: {kind: ConfigMap, name: a, apiVersion: v1}
- name: B
  objref: {kind: ConfigMap, name: a, apiVersion: v1}
";
    let table = [
        (vars.to_string(), "warning[unused-variable]", "3:9"),
        (vars.replace("name: a,", "name: b,"), "error[no-match]", "4:35"),
        (vars.replace("name: B", "name: A"), "error[invalid-value]", "5:9"),
        ("replicas: [{name: x, count: 1}]\n".into(), "error[no-match]", "2:19"),
        (
            r#"patches:
- target: {name: x}
  patch: '[{"op": "remove", "path": "/x"}]'
"#
            .into(),
            "warning[unmatched-patch]",
            "3:",
        ),
        (
            "\
replacements:
- source: {kind: ConfigMap}
  targets:
  - select: {name: x}
"
            .into(),
            "warning[unmatched-replacement]",
            "5:20",
        ),
        (
            "\
configMapGenerator:
- {name: a, options: {disableNameSuffixHash: true}}
"
            .into(),
            "error[duplicate-resource]",
            "",
        ),
    ];
    for (rest, code, want) in table {
        let home = temp_dir(&[
            ("app/kustomization.yaml", &format!("resources: [a.yaml]\n{rest}")),
            ("app/a.yaml", &cm("a")),
        ]);
        let output = run(home.path(), &["build", "app", "--message-format", "short"]);
        let reported = String::from_utf8(output.stderr).expect("text");
        let line = reported
            .lines()
            .find(|line| line.contains(code))
            .unwrap_or_else(|| panic!("no {code}: {reported}"));
        assert!(line.starts_with(&format!("app/kustomization.yaml:{want}")), "{want}: {reported}");
    }
}

#[test]
fn base_flag_with_a_kustomization_is_a_usage_error() {
    let home = temp_dir(&[
        ("app/kustomization.yaml", "resources: [a.yaml]"),
        ("app/a.yaml", &cm("a")),
        ("over/b.yaml", &cm("b")),
        ("base/c.yaml", &cm("c")),
    ]);
    let base = ["--base", "base"];
    for args in [
        &["build", "app"][..],
        &["build", "app/kustomization.yaml"],
        &["build", "-R", "app/kustomization.yaml"],
        &["build", "over", "app"],
        &["build", "-k", "app"],
        &["check", "app"],
        &["tree", "app"],
        &["blame", "app"],
        &["deps", "app"],
        &["lock", "app"],
    ] {
        let output = run(home.path(), &[args, &base].concat());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}");
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_contains_all(
            &reported,
            &[
                "`--base` cannot be used with the kustomization",
                "lists its bases under `resources`: remove the flag",
            ],
        );
    }
    // Targets found with `-R` may include kustomizations: `--base` applies to the plain directories.
    for args in [&["build", "over"][..], &["build", "-R", "."]] {
        let output = run(home.path(), &[args, &base].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A kustomization with two ConfigMaps whose ids `changes` makes equal.
fn colliding(changes: &str) -> tempfile::TempDir {
    temp_dir_with(
        &[
            ("app/kustomization.yaml", &format!("resources: [a.yaml, b.yaml]\n{changes}")),
            ("app/a.yaml", &cm("a")),
            ("app/b.yaml", &cm(if changes.contains("NAME") { "$(NAME)" } else { "b" })),
        ],
        r"
-- app/config.yaml --
varReference: [{kind: ConfigMap, path: metadata/name}]
-- over/kustomization.yaml --
resources: [../app]
sortOptions: {order: fifo}
",
    )
}

#[test]
fn resources_with_colliding_ids_are_rejected_in_every_order() {
    let changes = [
        r#"
patches:
- target: {name: b}
  patch: '[{"op": "replace", "path": "/metadata/name", "value": "a"}]'
"#,
        "
replacements:
- source: {kind: ConfigMap, name: a, fieldPath: metadata.name}
  targets: [{select: {name: b}, fieldPaths: [metadata.name]}]
",
        "
vars: [{name: NAME, objref: {kind: ConfigMap, name: a, apiVersion: v1}}]
configurations: [config.yaml]
",
    ];
    for change in changes {
        for options in ["", "sortOptions: {order: legacy}\n", "sortOptions: {order: fifo}\n"] {
            let home = colliding(&format!("{change}{options}"));
            for args in [&["build", "app"][..], &["build", "app", "--reorder", "none"], &["tree", "app"]] {
                let reported = rejected(home.path(), args);
                assert_contains_all(
                    &reported,
                    &[
                        "two resources have the same group, kind, namespace and name: ConfigMap a",
                        "a.yaml:1:1",
                        "b.yaml:1:1",
                    ],
                );
            }
            rejected(home.path(), &["build", "over"]);
            let checked = run(home.path(), &["check", "app", "-o", "short"]);
            let findings = String::from_utf8_lossy(&checked.stdout).into_owned();
            assert!(!checked.status.success(), "{findings}");
            assert_contains_all(&findings, &["app/b.yaml:1:1: error[duplicate-resource]"]);
        }
    }
}

#[test]
fn resources_that_differ_only_in_namespace_are_built() {
    let patch = r#"
sortOptions: {order: fifo}
patches:
- target: {name: b}
  patch: |-
    [{"op": "replace", "path": "/metadata/name", "value": "a"},
     {"op": "add", "path": "/metadata/namespace", "value": "n"}]
"#;
    let home = colliding(patch);
    for args in [["build", "app"], ["build", "over"]] {
        reported(home.path(), &args);
    }
}

#[test]
fn generator_that_merges_onto_malformed_string_data_is_rejected() {
    let table = [
        (
            "stringData: [a]",
            "a.yaml:4:13: error[wrong-type]: `stringData` of a Secret must be a map, not a list",
        ),
        (
            "stringData: {a: {b: c}}",
            "a.yaml:4:17: error[wrong-type]: `stringData.a` of a Secret must be a string, not",
        ),
        (
            "data: x\nstringData: {a: b}",
            "a.yaml:4:7: error[wrong-type]: `data` of a Secret must be a map, not a string",
        ),
    ];
    for (fields, want) in table {
        let home = temp_dir_with(
            &[(
                "a.yaml",
                &format!(
                    "\
apiVersion: v1
kind: Secret
metadata: {{name: a}}
{fields}
"
                ),
            )],
            r"
-- kustomization.yaml --
resources: [a.yaml]
secretGenerator: [{name: a, behavior: merge, literals: [k=v]}]
",
        );
        let reported = rejected(home.path(), &["build", ".", "--message-format", "short"]);
        assert_contains_all(&reported, &[want]);
    }
}
