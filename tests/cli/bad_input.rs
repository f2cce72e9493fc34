//! Bad input of every sort: each case fails with a message that says what, where and what to do,
//! prints nothing on stdout, and its whole message is kept as a snapshot.

use std::fs;

use kubectl_smp_testing::program::{folder, run};

/// What is wrong, the files, the arguments.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n      - {name: a, image: x}\n      - {name: b, image: y}\n";

const CASES: &[Case] = &[
    // YAML
    ("yaml-tab", &[K, ("a.yaml", "a:\n\tb: 1\n")], BUILD),
    ("yaml-indentation", &[K, ("a.yaml", "kind: A\n b: 1\n")], BUILD),
    ("yaml-unclosed-list", &[K, ("a.yaml", "kind: [A\nb: 1\n")], BUILD),
    ("yaml-unclosed-quote", &[K, ("a.yaml", "kind: \"A\nb: 1\n")], BUILD),
    ("yaml-duplicate-key", &[K, ("a.yaml", "kind: A\nmetadata: {name: a}\nkind: B\n")], BUILD),
    ("yaml-unknown-alias", &[K, ("a.yaml", "kind: *nope\n")], BUILD),
    ("yaml-alias-of-itself", &[K, ("a.yaml", "kind: A\nb: &x [*x]\n")], BUILD),
    ("yaml-key-is-a-number", &[K, ("a.yaml", "kind: A\nmetadata: {name: a}\n1: b\n")], BUILD),
    ("yaml-key-is-a-list", &[K, ("a.yaml", "? [a]\n: b\n")], BUILD),
    ("yaml-merge-of-a-scalar", &[K, ("a.yaml", "kind: A\n<<: 1\n")], BUILD),
    ("yaml-bad-tag", &[K, ("a.yaml", "kind: !!int A\n")], BUILD),
    ("yaml-infinity", &[K, ("a.yaml", "kind: A\nmetadata: {name: a}\nx: .inf\n")], BUILD),
    ("yaml-control-character", &[K, ("a.yaml", "kind: A\nmetadata: {name: a}\nx: \"\\x7f\"\n")], BUILD),
    // Resources
    ("resource-no-kind", &[K, ("a.yaml", "apiVersion: v1\nmetadata: {name: a}\n")], BUILD),
    (
        "resource-no-name",
        &[K, ("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n")],
        BUILD,
    ),
    ("resource-is-a-scalar", &[K, ("a.yaml", "just text\n")], BUILD),
    ("resource-list-of-scalars", &[K, ("a.yaml", "kind: List\nitems: [1]\n")], BUILD),
    ("resource-items-no-list", &[K, ("a.yaml", "kind: List\nitems: {a: 1}\n")], BUILD),
    (
        "resource-twice",
        &[("kustomization.yaml", "resources: [a.yaml, b.yaml]\n"), ("a.yaml", CM), ("b.yaml", CM)],
        BUILD,
    ),
    // Kustomization files
    ("kustomization-unknown-field", &[("kustomization.yaml", "resource: [a.yaml]\n")], BUILD),
    ("kustomization-wrong-type", &[("kustomization.yaml", "resources: a.yaml\n")], BUILD),
    (
        "kustomization-number-for-string",
        &[("kustomization.yaml", "resources: [a.yaml]\nimages: [{name: a, newTag: 1.10}]\n"), ("a.yaml", CM)],
        BUILD,
    ),
    ("kustomization-empty", &[("kustomization.yaml", "")], BUILD),
    ("kustomization-is-a-list", &[("kustomization.yaml", "- a.yaml\n")], BUILD),
    ("kustomization-wrong-kind", &[("kustomization.yaml", "kind: Deployment\nresources: []\n")], BUILD),
    (
        "kustomization-wrong-version",
        &[("kustomization.yaml", "apiVersion: v1\nkind: Kustomization\nresources: []\n")],
        BUILD,
    ),
    (
        "kustomization-two-files",
        &[("kustomization.yaml", "resources: []\n"), ("kustomization.yml", "resources: []\n")],
        BUILD,
    ),
    (
        "component-as-resource",
        &[
            ("kustomization.yaml", "resources: [c]\n"),
            ("c/kustomization.yaml", "kind: Component\nnamePrefix: a-\n"),
        ],
        BUILD,
    ),
    (
        "kustomization-as-component",
        &[("kustomization.yaml", "components: [c]\n"), ("c/kustomization.yaml", "namePrefix: a-\n")],
        BUILD,
    ),
    (
        "generator-missing-file",
        &[("kustomization.yaml", "configMapGenerator: [{name: a, files: [nope.txt]}]\n")],
        BUILD,
    ),
    (
        "generator-bad-literal",
        &[("kustomization.yaml", "configMapGenerator: [{name: a, literals: [novalue]}]\n")],
        BUILD,
    ),
    (
        "generator-merge-of-nothing",
        &[("kustomization.yaml", "configMapGenerator: [{name: a, behavior: merge, literals: [x=1]}]\n")],
        BUILD,
    ),
    (
        "replicas-of-nothing",
        &[
            ("kustomization.yaml", "resources: [a.yaml]\nreplicas: [{name: nope, count: 2}]\n"),
            ("a.yaml", CM),
        ],
        BUILD,
    ),
    (
        "openapi-version",
        &[("kustomization.yaml", "resources: [a.yaml]\nopenapi: {version: v1.99.0}\n"), ("a.yaml", CM)],
        BUILD,
    ),
    (
        "helm-not-enabled",
        &[("kustomization.yaml", "helmCharts: [{name: a, repo: https://example.com}]\n")],
        BUILD,
    ),
    (
        "plugin-not-enabled",
        &[
            ("kustomization.yaml", "generators: [g.yaml]\n"),
            ("g.yaml", "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n"),
        ],
        BUILD,
    ),
    (
        "plugin-unknown-builtin",
        &[
            ("kustomization.yaml", "transformers: [t.yaml]\n"),
            ("t.yaml", "apiVersion: builtin\nkind: Nope\nmetadata: {name: a}\n"),
        ],
        BUILD,
    ),
    // Patches
    (
        "patch-missing-file",
        &[("kustomization.yaml", "resources: [a.yaml]\npatches: [{path: nope.yaml}]\n"), ("a.yaml", WEB)],
        BUILD,
    ),
    (
        "patch-no-target",
        &[
            ("kustomization.yaml", "resources: [a.yaml]\npatches: [{path: p.yaml}]\n"),
            ("a.yaml", CM),
            ("p.yaml", WEB),
        ],
        BUILD,
    ),
    (
        "patch-path-and-patch",
        &[
            ("kustomization.yaml", "resources: [a.yaml]\npatches: [{path: p.yaml, patch: x}]\n"),
            ("a.yaml", CM),
            ("p.yaml", CM),
        ],
        BUILD,
    ),
    (
        "patch-bad-pattern",
        &[
            ("kustomization.yaml", "resources: [a.yaml]\npatches: [{path: a.yaml, target: {name: \"(\"}}]\n"),
            ("a.yaml", CM),
        ],
        BUILD,
    ),
    (
        "patch-json-without-target",
        &[
            (
                "kustomization.yaml",
                "resources: [a.yaml]\npatches: [{patch: \"- {op: remove, path: /data}\"}]\n",
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
                "resources: [a.yaml]\npatches: [{patch: \"- {op: remove, path: /nope}\", target: {kind: ConfigMap}}]\n",
            ),
            ("a.yaml", CM),
        ],
        BUILD,
    ),
    (
        "patch-unknown-directive",
        &[
            ("kustomization.yaml", "resources: [a.yaml]\npatches: [{path: p.yaml}]\n"),
            ("a.yaml", WEB),
            (
                "p.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {$patch: remove}\n",
            ),
        ],
        BUILD,
    ),
    (
        "patch-entry-without-key",
        &[
            ("kustomization.yaml", "resources: [a.yaml]\npatches: [{path: p.yaml}]\n"),
            ("a.yaml", WEB),
            (
                "p.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{image: z}]}}}\n",
            ),
        ],
        BUILD,
    ),
    (
        "patch-list-for-map",
        &[
            ("kustomization.yaml", "resources: [a.yaml]\npatches: [{path: p.yaml}]\n"),
            ("a.yaml", WEB),
            ("p.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: [1]\n"),
        ],
        BUILD,
    ),
    (
        "replacement-no-source",
        &[
            (
                "kustomization.yaml",
                "resources: [a.yaml]\nreplacements: [{source: {kind: Secret, name: s}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.a]}]}]\n",
            ),
            ("a.yaml", CM),
        ],
        BUILD,
    ),
    // Paths
    ("path-missing-resource", &[("kustomization.yaml", "resources: [nope.yaml]\n")], BUILD),
    (
        "path-outside-root",
        &[("k/kustomization.yaml", "resources: [../a.yaml]\n"), ("a.yaml", CM)],
        &["build", "k"],
    ),
    (
        "path-cycle",
        &[
            ("kustomization.yaml", "resources: [b]\n"),
            ("b/kustomization.yaml", "resources: [../c]\n"),
            ("c/kustomization.yaml", "resources: [../b]\n"),
        ],
        &["build", "b"],
    ),
    (
        "path-base-contains-overlay",
        &[("o/kustomization.yaml", "resources: [..]\n"), ("kustomization.yaml", "resources: []\n")],
        &["build", "o"],
    ),
    ("path-two-entries-in-one", &[("kustomization.yaml", "resources:\n- a\n - ../b\n")], BUILD),
    ("path-no-kustomization", &[("kustomization.yaml", "resources: [b]\n"), ("b/a.yaml", CM)], BUILD),
    ("target-missing", &[], &["build", "nope"]),
    ("target-beside-a-kustomization", &[K, ("a.yaml", CM)], &["build", "a.yaml"]),
    // Plain directories
    ("plain-no-base", &[("o/a.yaml", CM)], &["build", "o"]),
    ("plain-empty", &[("o/readme.txt", "")], &["build", "o"]),
    (
        "plain-delete-of-nothing",
        &[
            ("base/a.yaml", CM),
            ("o/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n$patch: delete\n"),
        ],
        &["build", "o"],
    ),
    ("plain-twice-in-base", &[("base/a.yaml", CM), ("base/b.yaml", CM), ("o/a.yaml", CM)], &["build", "o"]),
    (
        "plain-kustomization-below",
        &[("base/a.yaml", CM), ("o/x/kustomization.yaml", "resources: []\n")],
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
    ("arguments-overlay-rules-for-a-kustomization", &[K, ("a.yaml", CM)], &["build", "--dialect", "overlay"]),
    (
        "arguments-dialect-of-a-merge-patch",
        &[("a.yaml", CM)],
        &["patch", "-f", "a.yaml", "-p", "{}", "--type", "merge", "--dialect", "overlay"],
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
            ("d/b.yaml", "kind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1\n"),
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
        &[("a.yaml", CM), ("b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: z}\n")],
        &["create-patch", "a.yaml", "a.yaml", "--current", "b.yaml", "--type", "merge"],
    ),
    ("schema-recommended-keys", &[("s.yaml", WRONG_KEYS)], &["schema", "compile", "s.yaml", "-o", "s"]),
];

const K: (&str, &str) = ("kustomization.yaml", "resources: [a.yaml]\n");
const CM: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: y}\n";
const CM_B: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-config}\n";
const NAMED: &str = "kind: ConfigMap\nmetadata: {name: web-confg}\n";
const CUSTOM: &str = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n";
const PORTS: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: dns}\nspec:\n  ports:\n  \
                     - {port: 53, protocol: TCP, name: a}\n  - {port: 53, protocol: UDP, name: b}\n";
const OTHER_PORTS: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: dns}\nspec:\n  ports:\n  \
                           - {port: 53, protocol: TCP, name: a}\n  - {port: 53, protocol: UDP, name: c}\n";
const WRONG_KEYS: &str = "definitions:\n  A:\n    properties:\n      l:\n        type: array\n        \
                          x-kubernetes-patch-merge-key: a\n        \
                          x-kubernetes-recommended-patch-merge-key: b,a\n";
const BUILD: &[&str] = &["build"];

#[test]
fn every_bad_input_is_explained() {
    assert!(CASES.len() >= 40);
    for (name, files, args) in CASES {
        let directory = folder(files);
        let output = run(directory.path(), args);
        let stderr = String::from_utf8(output.stderr).expect("text");
        assert!(!output.status.success(), "{name} must fail:\n{stderr}");
        assert!(output.stdout.is_empty(), "{name} must print nothing on stdout");
        assert!(!stderr.contains("panicked"), "{name}: {stderr}");
        insta::assert_snapshot!(*name, stderr, &args.join(" "));
    }
}

#[test]
fn bytes_that_are_no_text_are_explained() {
    let directory = folder(&[K]);
    fs::write(directory.path().join("a.yaml"), b"kind: A\nx: \xff\n").expect("a file");
    let output = run(directory.path(), &["build"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    insta::assert_snapshot!("bytes-no-utf8", String::from_utf8_lossy(&output.stderr));
}
