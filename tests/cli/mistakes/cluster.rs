//! Errors that are reported before anything is sent to a cluster.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;

#[cfg(feature = "cluster")]
use kubectl_smp_testing::program::temp_dir_with;
use kubectl_smp_testing::program::{command, run, temp_dir};

use super::{assert_contains_all, cm, rejected, reported};

const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
current-context: dev
clusters:
- {name: dev, cluster: {server: 'http://127.0.0.1:1'}}
users: []
contexts:
- {name: dev, context: {cluster: dev}}
";

#[test]
fn unknown_context_cluster_or_user_is_an_error() {
    let home = temp_dir(&[
        ("kubeconfig", KUBECONFIG),
        ("app/kustomization.yaml", "resources: [a.yaml]"),
        ("app/a.yaml", &cm("a")),
        ("base/a.yaml", &cm("a")),
        ("prod/a.yaml", &cm("a")),
    ]);
    for target in ["app", "prod"] {
        for (flag, what) in [("--context", "context"), ("--cluster", "cluster"), ("--user", "user")] {
            let reported =
                rejected(home.path(), &["build", target, "--kubeconfig", "kubeconfig", flag, "nope"]);
            assert_contains_all(
                &reported,
                &["error[no-match]", &format!("the kubeconfig has no {what} `nope`")],
            );
            assert_contains_all(&rejected(home.path(), &["build", target, flag, "nope"]), &["error["]);
        }
        assert_contains_all(
            &rejected(home.path(), &["build", target, "--kubeconfig", "nope"]),
            &["error[io]", "nope"],
        );
        let near =
            rejected(home.path(), &["build", target, "--kubeconfig", "kubeconfig", "--context", "dve"]);
        assert_contains_all(&near, &["did you mean `dev`?"]);
        assert_eq!(
            reported(home.path(), &["build", target, "--kubeconfig", "kubeconfig", "--context", "dev"]),
            ""
        );
        let absent =
            command(home.path(), &["build", target]).env("KUBECONFIG", "nope").output().expect("runs");
        assert!(absent.status.success() && absent.stderr.is_empty(), "absent files count as no cluster");
    }
}

#[cfg(unix)]
#[test]
fn kubeconfig_may_be_a_pipe_but_not_a_directory() {
    let home = temp_dir(&[
        ("kubeconfig", KUBECONFIG),
        ("app/kustomization.yaml", "resources: [a.yaml]"),
        ("app/a.yaml", &cm("a")),
    ]);
    let program = env!("CARGO_BIN_EXE_kubectl-smp");
    let piped = |bytes: &str| {
        let line = format!("printf '{bytes}' | {program} build app --context dev --kubeconfig /dev/stdin");
        Command::new("sh").args(["-c", &line]).current_dir(home.path()).output().expect("runs")
    };
    let output = piped(&KUBECONFIG.replace('\'', ""));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for output in [piped("\\377\\376\\0"), run(home.path(), &["build", "app", "--kubeconfig", "app"])] {
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_contains_all(&reported, &["error[io]: cannot read the kubeconfig"]);
        assert!(!reported.contains("panicked"), "{reported}");
    }
}

/// A server that answers every request with status 503.
fn unavailable() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 503 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    address
}

#[test]
fn resources_merged_without_a_schema_are_not_applied() {
    let widget = |list: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: Widget
metadata: {{name: w}}
spec: {{list: {list}}}
"
        )
    };
    let home = temp_dir(&[
        ("base/w.yaml", &widget("[{name: a}, {name: b}, {name: c}]")),
        ("prod/w.yaml", &widget("[{name: a, x: 1}]")),
    ]);
    let server = unavailable();
    for name in ["apply", "diff"] {
        let reported = rejected(home.path(), &[name, "prod", "-s", &server]);
        assert_contains_all(
            &reported,
            &["error[remote]", "cannot merge example.com/v1 Widget without its schema"],
        );
    }
    let reported = reported(home.path(), &["build", "prod", "-s", &server]);
    assert_contains_all(
        &reported,
        &["warning[remote]: cannot get the schema of example.com/v1 Widget from the cluster"],
    );
}

#[cfg(feature = "cluster")]
#[test]
fn resources_merged_without_a_schema_are_not_shown_in_a_dry_run() {
    let widget = |list: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: Widget
metadata: {{name: w}}
spec: {{list: {list}}}
"
        )
    };
    let crd = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
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
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, properties: {name: {type: string}, x: {type: integer}}}
";
    let patch = widget("[{name: a, x: 1}]");
    let home = temp_dir_with(
        &[
            ("base/w.yaml", &widget("[{name: a}, {name: b}]")),
            ("prod/w.yaml", &patch),
            ("crd.yaml", crd),
            ("app/p.yaml", &patch),
        ],
        r"
-- app/kustomization.yaml --
resources: [../base/w.yaml]
patches: [{path: p.yaml}]
",
    );
    let findings_of = rejected(home.path(), &["apply", "prod", "--dry-run=client"]);
    insta::assert_snapshot!(findings_of, @r"
    error[no-schema]: this list is replaced: no schema defines how its entries merge
     --> prod/w.yaml:4:14
      |
    4 | spec: {list: [{name: a, x: 1}]}
      |              ^^^^^^^^^^^^^^^^^
      |
      = resource: Widget.example.com w
      = field: spec.list
      = help: use a cluster that has the CRD, add the CRD to the base, use `--schema FILE`, or pin the schema with `kubectl smp lock --pin-schemas cluster`
    ");
    let output =
        run(home.path(), &["apply", "prod", "--dry-run=client", "-o", "yaml", "--schema", "crd.yaml"]);
    insta::assert_snapshot!(&String::from_utf8_lossy(&output.stdout), @r"
    apiVersion: example.com/v1
    kind: Widget
    metadata:
      name: w
    spec:
      list:
      - name: a
        x: 1
      - name: b
    ");
    // A kustomization requests the list merge of kustomize explicitly.
    let app = ["apply", "app", "--dry-run=client", "--load-restrictor=LoadRestrictionsNone"];
    insta::assert_snapshot!(&reported(home.path(), &app), @r"
    warning[no-schema]: this list is replaced: no schema defines how its entries merge
     --> app/p.yaml:4:14
      |
    4 | spec: {list: [{name: a, x: 1}]}
      |              ^^^^^^^^^^^^^^^^^
      |
      = resource: Widget.example.com w
      = field: spec.list
      = help: provide a schema, or name its merge keys with `$patchMergeKey`
    note: dry run: 1 object, nothing was sent
    ");
}

#[test]
fn build_rejects_the_namespace_flag() {
    let home = temp_dir(&[("app/kustomization.yaml", "resources: [a.yaml]"), ("app/a.yaml", &cm("a"))]);
    let output = run(home.path(), &["build", "app", "-n", "shop"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    insta::assert_snapshot!(&String::from_utf8_lossy(&output.stderr), @"error[usage]: `--namespace` has no effect on built manifests: set `namespace:` in the kustomization or the manifests");
}
