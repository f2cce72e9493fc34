//! Invalid input of every kind. Each case fails with a message that names the error, its location and a fix, prints
//! nothing on stdout, and has its whole message in a snapshot.

use std::fs;

use kubectl_smp_testing::program::{run, temp_dir};

/// Name of the case, its files, and the arguments.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - {name: a, image: x}
      - {name: b, image: y}
";

const CASES: &[Case] = &[
    // YAML
    ("yaml-tab", &[K, ("a.yaml", "a:\n\tb: 1\n")], BUILD),
    ("yaml-indentation", &[K, ("a.yaml", "\
kind: A
 b: 1
")], BUILD),
    ("yaml-unclosed-list", &[K, ("a.yaml", "\
kind: [A
b: 1
")], BUILD),
    ("yaml-unclosed-quote", &[K, ("a.yaml", r#"kind: "A
b: 1
"#)], BUILD),
    ("yaml-duplicate-key", &[K, ("a.yaml", "\
kind: A
metadata: {name: a}
kind: B
")], BUILD),
    ("yaml-unknown-alias", &[K, ("a.yaml", "kind: *nope")], BUILD),
    ("yaml-alias-of-itself", &[K, ("a.yaml", "\
kind: A
b: &x [*x]
")], BUILD),
    ("yaml-key-is-a-number", &[K, ("a.yaml", "\
kind: A
metadata: {name: a}
1: b
")], BUILD),
    ("yaml-key-is-a-list", &[K, ("a.yaml", "\
? [a]
: b
")], BUILD),
    ("yaml-merge-of-a-scalar", &[K, ("a.yaml", "\
kind: A
<<: 1
")], BUILD),
    ("yaml-bad-tag", &[K, ("a.yaml", "kind: !!int A")], BUILD),
    ("yaml-infinity", &[K, ("a.yaml", "\
kind: A
metadata: {name: a}
x: .inf
")], BUILD),
    ("yaml-control-character", &[K, ("a.yaml", r#"kind: A
metadata: {name: a}
x: "\x7f"
"#)], BUILD),
    // Resources
    ("resource-no-kind", &[K, ("a.yaml", "\
apiVersion: v1
metadata: {name: a}
")], BUILD),
    (
        "resource-no-name",
        &[K, ("a.yaml", "\
apiVersion: v1
kind: ConfigMap
metadata: {generateName: a-}
")],
        BUILD,
    ),
    ("resource-is-a-scalar", &[K, ("a.yaml", "just text")], BUILD),
    ("resource-list-of-scalars", &[K, ("a.yaml", "\
kind: List
items: [1]
")], BUILD),
    ("resource-items-no-list", &[K, ("a.yaml", "\
kind: List
items: {a: 1}
")], BUILD),
    (
        "resource-twice",
        &[("kustomization.yaml", "resources: [a.yaml, b.yaml]"), ("a.yaml", CM), ("b.yaml", CM)],
        BUILD,
    ),
    // Kustomization files
    ("kustomization-unknown-field", &[("kustomization.yaml", "resource: [a.yaml]")], BUILD),
    ("kustomization-wrong-type", &[("kustomization.yaml", "resources: a.yaml")], BUILD),
    (
        "kustomization-number-for-string",
        &[("kustomization.yaml", "\
resources: [a.yaml]
images: [{name: a, newTag: 1.10}]
"), ("a.yaml", CM)],
        BUILD,
    ),
    ("kustomization-empty", &[("kustomization.yaml", "")], BUILD),
    ("kustomization-is-a-list", &[("kustomization.yaml", "- a.yaml")], BUILD),
    ("kustomization-wrong-kind", &[("kustomization.yaml", "\
kind: Deployment
resources: []
")], BUILD),
    (
        "kustomization-wrong-version",
        &[("kustomization.yaml", "\
apiVersion: v1
kind: Kustomization
resources: []
")],
        BUILD,
    ),
    (
        "kustomization-two-files",
        &[("kustomization.yaml", "resources: []"), ("kustomization.yml", "resources: []")],
        BUILD,
    ),
    (
        "component-as-resource",
        &[
            ("kustomization.yaml", "resources: [c]"),
            ("c/kustomization.yaml", "\
kind: Component
namePrefix: a-
"),
        ],
        BUILD,
    ),
    (
        "kustomization-as-component",
        &[("kustomization.yaml", "components: [c]"), ("c/kustomization.yaml", "namePrefix: a-")],
        BUILD,
    ),
    (
        "generator-missing-file",
        &[("kustomization.yaml", "configMapGenerator: [{name: a, files: [nope.txt]}]")],
        BUILD,
    ),
    (
        "generator-bad-literal",
        &[("kustomization.yaml", "configMapGenerator: [{name: a, literals: [novalue]}]")],
        BUILD,
    ),
    (
        "generator-merge-of-nothing",
        &[("kustomization.yaml", "configMapGenerator: [{name: a, behavior: merge, literals: [x=1]}]")],
        BUILD,
    ),
    (
        "replicas-of-nothing",
        &[
            ("kustomization.yaml", "\
resources: [a.yaml]
replicas: [{name: nope, count: 2}]
"),
            ("a.yaml", CM),
        ],
        BUILD,
    ),
    (
        "openapi-version",
        &[("kustomization.yaml", "\
resources: [a.yaml]
openapi: {version: v1.99.0}
"), ("a.yaml", CM)],
        BUILD,
    ),
    (
        "helm-not-enabled",
        &[("kustomization.yaml", "helmCharts: [{name: a, repo: https://example.com}]")],
        BUILD,
    ),
    (
        "plugin-not-enabled",
        &[
            ("kustomization.yaml", "generators: [g.yaml]"),
            ("g.yaml", "\
apiVersion: example.com/v1
kind: Thing
metadata: {name: a}
"),
        ],
        BUILD,
    ),
    (
        "plugin-unknown-builtin",
        &[
            ("kustomization.yaml", "transformers: [t.yaml]"),
            ("t.yaml", "\
apiVersion: builtin
kind: Nope
metadata: {name: a}
"),
        ],
        BUILD,
    ),
    // Patches
    (
        "patch-missing-file",
        &[("kustomization.yaml", "\
resources: [a.yaml]
patches: [{path: nope.yaml}]
"), ("a.yaml", WEB)],
        BUILD,
    ),
    (
        "patch-no-target",
        &[
            ("kustomization.yaml", "\
resources: [a.yaml]
patches: [{path: p.yaml}]
"),
            ("a.yaml", CM),
            ("p.yaml", WEB),
        ],
        BUILD,
    ),
    (
        "patch-path-and-patch",
        &[
            ("kustomization.yaml", "\
resources: [a.yaml]
patches: [{path: p.yaml, patch: x}]
"),
            ("a.yaml", CM),
            ("p.yaml", CM),
        ],
        BUILD,
    ),
    (
        "patch-bad-pattern",
        &[
            ("kustomization.yaml", r#"resources: [a.yaml]
patches: [{path: a.yaml, target: {name: "("}}]
"#),
            ("a.yaml", CM),
        ],
        BUILD,
    ),
    (
        "patch-json-without-target",
        &[
            (
                "kustomization.yaml",
                r#"resources: [a.yaml]
patches: [{patch: "- {op: remove, path: /data}"}]
"#,
            ),
            ("a.yaml", CM),
        ],
        BUILD,
    ),
    (
        "patch-json-missing-field",
        &[
            (
                "kustomization.yaml",
                r#"resources: [a.yaml]
patches: [{patch: "- {op: remove, path: /nope}", target: {kind: ConfigMap}}]
"#,
            ),
            ("a.yaml", CM),
        ],
        BUILD,
    ),
    (
        "patch-unknown-directive",
        &[
            ("kustomization.yaml", "\
resources: [a.yaml]
patches: [{path: p.yaml}]
"),
            ("a.yaml", WEB),
            (
                "p.yaml",
                "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {$patch: remove}
",
            ),
        ],
        BUILD,
    ),
    (
        "patch-entry-without-key",
        &[
            ("kustomization.yaml", "\
resources: [a.yaml]
patches: [{path: p.yaml}]
"),
            ("a.yaml", WEB),
            (
                "p.yaml",
                "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{image: z}]}}}
",
            ),
        ],
        BUILD,
    ),
    (
        "patch-list-for-map",
        &[
            ("kustomization.yaml", "\
resources: [a.yaml]
patches: [{path: p.yaml}]
"),
            ("a.yaml", WEB),
            ("p.yaml", "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: [1]
"),
        ],
        BUILD,
    ),
    (
        "replacement-no-source",
        &[
            (
                "kustomization.yaml",
                "\
resources: [a.yaml]
replacements: [{source: {kind: Secret, name: s}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.a]}]}]
",
            ),
            ("a.yaml", CM),
        ],
        BUILD,
    ),
    // Paths
    ("path-missing-resource", &[("kustomization.yaml", "resources: [nope.yaml]")], BUILD),
    (
        "path-outside-root",
        &[("k/kustomization.yaml", "resources: [../a.yaml]"), ("a.yaml", CM)],
        &["build", "k"],
    ),
    (
        "path-cycle",
        &[
            ("kustomization.yaml", "resources: [b]"),
            ("b/kustomization.yaml", "resources: [../c]"),
            ("c/kustomization.yaml", "resources: [../b]"),
        ],
        &["build", "b"],
    ),
    (
        "path-base-contains-overlay",
        &[("o/kustomization.yaml", "resources: [..]"), ("kustomization.yaml", "resources: []")],
        &["build", "o"],
    ),
    ("path-two-entries-in-one", &[("kustomization.yaml", "\
resources:
- a
 - ../b
")], BUILD),
    ("path-no-kustomization", &[("kustomization.yaml", "resources: [b]"), ("b/a.yaml", CM)], BUILD),
    ("target-missing", &[], &["build", "nope"]),
    ("target-beside-a-kustomization", &[K, ("a.yaml", CM)], &["build", "a.yaml"]),
    // Plain directories
    ("plain-no-base", &[("o/a.yaml", CM)], &["build", "o"]),
    ("plain-empty", &[("o/readme.txt", "")], &["build", "o"]),
    (
        "plain-delete-of-nothing",
        &[
            ("base/a.yaml", CM),
            ("o/a.yaml", "\
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
$patch: delete
"),
        ],
        &["build", "o"],
    ),
    ("plain-twice-in-base", &[("base/a.yaml", CM), ("base/b.yaml", CM), ("o/a.yaml", CM)], &["build", "o"]),
    (
        "plain-kustomization-below",
        &[("base/a.yaml", CM), ("o/x/kustomization.yaml", "resources: []")],
        &["build", "o"],
    ),
    // Schemas
    ("schema-missing", &[K, ("a.yaml", CM)], &["build", "--schema", "nope.json"]),
    ("schema-is-no-schema", &[K, ("a.yaml", CM), ("s.json", "[1, 2]")], &["build", "--schema", "s.json"]),
    (
        "schema-malformed",
        &[K, ("a.yaml", CM), ("s.json", "{\"definitions\": {")],
        &["build", "--schema", "s.json"],
    ),
    ("schema-unknown-kind", &[], &["schema", "show", "deploymnt"]),
    ("schema-unknown-field", &[], &["schema", "show", "service.spec.prots"]),
    // Arguments
    ("arguments-unknown-flag", &[], &["build", "--nope"]),
    ("arguments-bad-dialect", &[], &["build", "--dialect", "nope"]),
    ("arguments-overlay-rules-for-a-kustomization", &[K, ("a.yaml", CM)], &["build", "--dialect", "schema"]),
    (
        "arguments-dialect-of-a-merge-patch",
        &[("a.yaml", CM)],
        &["patch", "-f", "a.yaml", "-p", "{}", "--type", "merge", "--dialect", "schema"],
    ),
    (
        "arguments-overwrite-of-a-two-way-patch",
        &[("a.yaml", CM)],
        &["create-patch", "a.yaml", "a.yaml", "--overwrite"],
    ),
    // Patches
    ("patch-for-another-name", &[("d/a.yaml", CM), ("d/b.yaml", CM_B)], &["patch", "-f", "d", "-p", NAMED]),
    ("patch-that-names-nothing", &[("d/a.yaml", CM), ("d/b.yaml", CM_B)], &["patch", "-f", "d", "-p", "{}"]),
    (
        "patch-for-a-kustomization",
        &[
            ("d/a.yaml", CM),
            ("d/b.yaml", "\
kind: Kustomization
apiVersion: kustomize.config.k8s.io/v1beta1
"),
        ],
        &["patch", "-f", "d", "-p", "kind: Kustomization", "--type", "merge"],
    ),
    ("patch-for-a-custom-resource", &[("a.yaml", CUSTOM)], &["patch", "-f", "a.yaml", "-p", "{}"]),
    ("patch-selects-nothing", &[("a.yaml", CM)], &["patch", "-f", "a.yaml", "-p", "{}", "--kind", "Secret"]),
    ("create-patch-of-a-custom-resource", &[("a.yaml", CUSTOM)], &["create-patch", "a.yaml", "a.yaml"]),
    (
        "create-patch-that-cannot-be",
        &[("a.yaml", PORTS), ("b.yaml", OTHER_PORTS)],
        &["create-patch", "a.yaml", "b.yaml"],
    ),
    (
        "create-patch-of-what-was-not-applied",
        &[("a.yaml", CM)],
        &["create-patch", "--from-last-applied", "a.yaml", "a.yaml"],
    ),
    (
        "create-patch-would-undo-what-others-did",
        &[("a.yaml", CM), ("b.yaml", "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {x: z}
")],
        &["create-patch", "a.yaml", "a.yaml", "--current", "b.yaml", "--type", "merge"],
    ),
    ("schema-recommended-keys", &[("s.yaml", WRONG_KEYS)], &["schema", "compile", "s.yaml", "-o", "s"]),
];

const K: (&str, &str) = ("kustomization.yaml", "resources: [a.yaml]");
const CM: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {x: y}
";
const CM_B: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
";
const NAMED: &str = "\
kind: ConfigMap
metadata: {name: web-confg}
";
const CUSTOM: &str = "\
apiVersion: example.com/v1
kind: Thing
metadata: {name: a}
";
const PORTS: &str = "\
apiVersion: v1
kind: Service
metadata: {name: dns}
spec:
  ports:
  - {port: 53, protocol: TCP, name: a}
  - {port: 53, protocol: UDP, name: b}
";
const OTHER_PORTS: &str = "\
apiVersion: v1
kind: Service
metadata: {name: dns}
spec:
  ports:
  - {port: 53, protocol: TCP, name: a}
  - {port: 53, protocol: UDP, name: c}
";
const WRONG_KEYS: &str = "\
definitions:
  A:
    properties:
      l:
        type: array
        x-kubernetes-patch-merge-key: a
        x-kubernetes-recommended-patch-merge-key: b,a
";
const BUILD: &[&str] = &["build"];

#[test]
fn invalid_input_fails_with_an_explanation() {
    assert!(CASES.len() >= 40);
    for (name, files, args) in CASES {
        let directory = temp_dir(files);
        let output = run(directory.path(), args);
        let stderr = String::from_utf8(output.stderr).expect("text");
        assert!(!output.status.success(), "{name} must fail:\n{stderr}");
        assert!(output.stdout.is_empty(), "{name} must print nothing on stdout");
        assert!(!stderr.contains("panicked"), "{name}: {stderr}");
        insta::assert_snapshot!(*name, stderr, &args.join(" "));
    }
}

#[test]
fn invalid_utf8_is_explained() {
    let directory = temp_dir(&[K]);
    fs::write(directory.path().join("a.yaml"), b"kind: A\nx: \xff\n").expect("a file");
    let output = run(directory.path(), &["build"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    insta::assert_snapshot!("bytes-no-utf8", String::from_utf8_lossy(&output.stderr));
}
