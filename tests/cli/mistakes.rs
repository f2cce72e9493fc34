//! Mistakes that would reach production if nobody spoke up: each is told, where it was made, with what was meant.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use kubectl_smp_testing::program;
use kubectl_smp_testing::program::{command, folder, folder_with, run};
use serde_json::Value;

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: 'web:1'}
";

fn cm(name: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  a: b
"
    )
}

/// What a command says that fails, and prints nothing.
fn refused(home: &Path, args: &[&str]) -> String {
    let output = run(home, args);
    let told = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.stdout.len(), output.status.success()), (0, false), "{args:?}: {told}");
    told
}

/// What a command says that succeeds.
fn told(home: &Path, args: &[&str]) -> String {
    let output = run(home, args);
    let told = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success() && !output.stdout.is_empty(), "{args:?}: {told}");
    told
}

fn messages(told: &str) -> Vec<Value> {
    told.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
}

#[track_caller]
fn says(told: &str, parts: &[&str]) {
    for part in parts {
        assert!(told.contains(part), "no `{part}` in:\n{told}");
    }
}

#[test]
fn a_plain_overlay_without_manifests_is_an_error() {
    let home = folder_with(
        &[("base/web.yaml", DEPLOYMENT)],
        r"
-- empty/README.md --
soon
-- comments/web.yaml --
# nothing yet
-- misnamed/kustomization.yml.txt --
resources: [../base]
-- spelled/kustomisation.yaml --
resources: [../base]
-- typed/all.yaml --
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: []
-- good/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
",
    );
    for name in ["empty", "comments"] {
        let told = refused(home.path(), &["build", name]);
        says(&told, &["error[missing-field]", &format!("{name} has no kustomization file and no manifests")]);
        says(&refused(home.path(), &["build", name, "--base", "base"]), &["no manifests"]);
    }
    insta::assert_snapshot!(&refused(home.path(), &["build", "misnamed"]), @r"
    error[missing-field]: misnamed has no kustomization file and no manifests
     |
     = help: rename `kustomization.yml.txt` to `kustomization.yml`, the name of kustomizations
    ");
    for name in ["spelled", "typed"] {
        let told = refused(home.path(), &["build", name]);
        says(&told, &["is no name of a kustomization", "rename it to `kustomization.yaml`"]);
    }
    assert_eq!(told(home.path(), &["build", "good"]), "");
}

/// A base, and overlays whose documents match nothing in it.
fn base_and_strangers() -> tempfile::TempDir {
    let config = |name: &str, namespace: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: {namespace}}}
"
        )
    };
    folder_with(
        &[
            ("base/web.yaml", DEPLOYMENT),
            ("base/settings.yaml", &config("settings", "shop")),
            ("name/a.yaml", &config("setings", "shop")),
            ("namespace/a.yaml", &config("settings", "shopp")),
            ("new/a.yaml", &config("something-else", "shop")),
            ("both/a.yaml", &format!("{}---\n{}", config("settings", "shop"), config("settings-2", "shop"))),
            ("whole/a.yaml", &DEPLOYMENT.replace("name: web\n  namespace", "name: wep\n  namespace")),
        ],
        r"
-- base/w.yaml --
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: shop}
-- kind/a.yaml --
apiVersion: example.com/v1
kind: Wigdet
metadata: {name: w, namespace: shop}
-- group/a.yaml --
apiVersion: example.org/v1
kind: Widget
metadata: {name: w, namespace: shop}
-- half/a.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: wep, namespace: shop}
spec: {replicas: 3}
-- bare/a.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
",
    )
}

#[test]
fn a_document_that_matches_nothing_names_what_was_meant() {
    let home = base_and_strangers();
    let table = [
        ("name", "did you mean ConfigMap `settings`?"),
        ("namespace", "did you mean ConfigMap `settings` in namespace `shop`?"),
        ("kind", "did you mean Widget `w`?"),
        ("group", "did you mean Widget `w` of apiVersion `example.com/v1`?"),
        ("whole", "did you mean Deployment `web`?"),
    ];
    for (name, want) in table {
        let told = told(home.path(), &["build", name]);
        says(&told, &["warning[added-document]: the base has no such resource, so this one is added", want]);
        says(&told, &[&format!("--> {name}/a.yaml:1:1"), "::: base/"]);
    }
    for name in ["new", "both"] {
        assert_eq!(told(home.path(), &["build", name]), "", "{name} is nothing to speak of");
    }
    let told = refused(home.path(), &["build", "half"]);
    insta::assert_snapshot!(told, @r"
    error[added-document]: the base has no such resource, and this one cannot be added: it lacks `spec.selector`, `spec.template`
     --> half/a.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | ^
      |
     ::: base/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - perhaps this one is meant
      |
      = resource: Deployment.apps wep in namespace shop
      = help: did you mean Deployment `web`?
    ");
    insta::assert_snapshot!(&refused(home.path(), &["build", "bare"]), @r"
    error[added-document]: the base has no such resource, and this one cannot be added: it lacks `spec`
     --> bare/a.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | ^
      |
     ::: base/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - perhaps this one is meant
      |
      = resource: Deployment.apps web
      = help: did you mean Deployment `web` in namespace `shop`?
    ");
}

#[test]
fn half_an_object_is_an_error_whatever_its_name() {
    let half = |version: &str, name: &str| {
        format!(
            "\
apiVersion: {version}
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec: {{replicas: 3}}
"
        )
    };
    let home = folder(&[
        ("base/web.yaml", DEPLOYMENT),
        ("longer/x.yaml", &half("apps/v1", "web-prod")),
        ("other/x.yaml", &half("apps/v1", "api")),
        ("version/x.yaml", &half("app/v1", "web")),
        ("core/x.yaml", &half("v1", "web")),
        ("custom/x.yaml", &half("fleet.example.com/v1", "web")),
        ("whole/x.yaml", &DEPLOYMENT.replace("name: web\n  namespace", "name: web-canary\n  namespace")),
    ]);
    let lacks = "this one cannot be added: it lacks `spec.selector`, `spec.template`";
    let table = [
        ("longer", "did you mean Deployment `web`?"),
        ("other", "complete it, or name the resource of the base that it changes"),
        ("version", "did you mean Deployment `web` of apiVersion `apps/v1`?"),
        ("core", "did you mean Deployment `web` of apiVersion `apps/v1`?"),
    ];
    for (name, want) in table {
        let told = refused(home.path(), &["build", name]);
        says(&told, &["error[added-document]", lacks, want, &format!("--> {name}/x.yaml:1:1")]);
    }
    insta::assert_snapshot!(&told(home.path(), &["build", "custom"]), @r"
    warning[added-document]: the base has no such resource, so this one is added
     --> custom/x.yaml:1:1
      |
    1 | apiVersion: fleet.example.com/v1
      | ^
      |
     ::: base/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - perhaps this one is meant
      |
      = resource: Deployment.fleet.example.com web in namespace shop
      = help: did you mean Deployment `web` of apiVersion `apps/v1`?
    ");
    assert_eq!(told(home.path(), &["build", "whole"]), "", "it stands beside the other");
}

#[test]
fn a_document_of_a_kindred_kind_or_of_none_is_told() {
    let stateful = DEPLOYMENT.replace("kind: Deployment", "kind: StatefulSet");
    let role = |kind: &str| {
        format!(
            "\
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata: {{name: r}}
rules: []
"
        )
    };
    let secret = cm("a").replace("ConfigMap", "Secret");
    let half = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: shop}
spec: {replicas: 3}
";
    let home = folder_with(
        &[
            ("base/web.yaml", DEPLOYMENT),
            ("base/a.yaml", &cm("a")),
            ("base/r.yaml", &role("ClusterRole")),
            (
                "whole/a.yaml",
                &stateful.replace(
                    "shop\nspec:\n",
                    "\
shop
spec:
  serviceName: web
",
                ),
            ),
            ("half/a.yaml", half),
            ("secret/a.yaml", &secret),
            ("role/a.yaml", &role("Role")),
            ("mistyped/a.yaml", &DEPLOYMENT.replace("Deployment", "Deploymnet")),
            ("small/a.yaml", &DEPLOYMENT.replace("Deployment", "deployment")),
        ],
        r"
-- custom/a.yaml --
apiVersion: example.com/v1
kind: Deploymnet
metadata: {name: x}
",
    );
    for (name, want) in [
        ("whole", "did you mean Deployment `web`?"),
        ("secret", "did you mean ConfigMap `a`?"),
        ("role", "did you mean ClusterRole `r`?"),
    ] {
        says(&told(home.path(), &["build", name]), &["warning[added-document]", want]);
    }
    let told_half = refused(home.path(), &["build", "half"]);
    insta::assert_snapshot!(told_half, @r"
    error[added-document]: the base has no such resource, and this one cannot be added: it lacks `spec.selector`, `spec.template`
     --> half/a.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | ^
      |
     ::: base/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - perhaps this one is meant
      |
      = resource: StatefulSet.apps web in namespace shop
      = help: did you mean Deployment `web`?
    ");
    for (name, kind) in [("mistyped", "Deploymnet"), ("small", "deployment")] {
        let told = refused(home.path(), &["build", name]);
        let line = format!("--> {name}/a.yaml:2:7");
        says(&told, &[&format!("apps/v1 has no kind `{kind}`"), "did you mean `Deployment`?", &line]);
    }
    assert_eq!(told(home.path(), &["build", "custom"]), "");
}

#[test]
fn ten_thousand_documents_that_match_nothing_are_no_flood_of_work() {
    let all = |prefix: &str| -> String {
        let manifest = |i| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {prefix}-{i}}}}}\n");
        (0..10_000).map(manifest).collect::<Vec<_>>().join("---\n")
    };
    let home = folder(&[("base/a.yaml", &all("some-service")), ("prod/a.yaml", &all("other-things"))]);
    let begun = std::time::Instant::now();
    assert_eq!(told(home.path(), &["build", "prod"]), "");
    // Each compared with each took minutes.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

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
fn a_cluster_that_is_named_must_exist() {
    let home = folder(&[
        ("kubeconfig", KUBECONFIG),
        ("app/kustomization.yaml", "resources: [a.yaml]"),
        ("app/a.yaml", &cm("a")),
        ("base/a.yaml", &cm("a")),
        ("prod/a.yaml", &cm("a")),
    ]);
    for target in ["app", "prod"] {
        for (flag, what) in [("--context", "context"), ("--cluster", "cluster"), ("--user", "user")] {
            let told = refused(home.path(), &["build", target, "--kubeconfig", "kubeconfig", flag, "nope"]);
            says(&told, &["error[no-match]", &format!("the kubeconfig has no {what} `nope`")]);
            says(&refused(home.path(), &["build", target, flag, "nope"]), &["error["]);
        }
        says(&refused(home.path(), &["build", target, "--kubeconfig", "nope"]), &["error[io]", "nope"]);
        let near = refused(home.path(), &["build", target, "--kubeconfig", "kubeconfig", "--context", "dve"]);
        says(&near, &["did you mean `dev`?"]);
        assert_eq!(
            told(home.path(), &["build", target, "--kubeconfig", "kubeconfig", "--context", "dev"]),
            ""
        );
        let absent =
            command(home.path(), &["build", target]).env("KUBECONFIG", "nope").output().expect("runs");
        assert!(absent.status.success() && absent.stderr.is_empty(), "absent files count as no cluster");
    }
}

#[cfg(unix)]
#[test]
fn a_kubeconfig_may_be_a_pipe_and_not_a_directory() {
    let home = folder(&[
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
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        says(&told, &["error[io]: the kubeconfig", "cannot be read"]);
        assert!(!told.contains("panicked"), "{told}");
    }
}

/// A server that is up and answers nothing.
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
fn nothing_is_sent_that_was_merged_by_guess() {
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
    let home = folder(&[
        ("base/w.yaml", &widget("[{name: a}, {name: b}, {name: c}]")),
        ("prod/w.yaml", &widget("[{name: a, x: 1}]")),
    ]);
    let server = unavailable();
    for name in ["apply", "diff"] {
        let told = refused(home.path(), &[name, "prod", "-s", &server]);
        says(&told, &["error[remote]", "cannot be merged without its schema", "Widget"]);
    }
    let told = told(home.path(), &["build", "prod", "-s", &server]);
    says(&told, &["warning[remote]: the cluster could not be asked for the schema of example.com/v1 Widget"]);
}

#[cfg(feature = "cluster")]
#[test]
fn nothing_is_shown_as_sent_that_was_merged_by_guess() {
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
    let home = folder_with(
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
    let told_of = refused(home.path(), &["apply", "prod", "--dry-run=client"]);
    insta::assert_snapshot!(told_of, @r"
    error[no-schema]: this list was replaced: no schema says how its entries are merged
     --> prod/w.yaml:4:14
      |
    4 | spec: {list: [{name: a, x: 1}]}
      |              ^^^^^^^^^^^^^^^^^
      |
      = resource: Widget.example.com w
      = field: spec.list
      = help: name a cluster that has the CRD, add the CRD to the base, give its schema by `--schema FILE`, or write it down with `kubectl smp lock --schemas cluster`
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
    // What kustomize does to a list is what a kustomization asks for.
    let app = ["apply", "app", "--dry-run=client", "--load-restrictor=LoadRestrictionsNone"];
    insta::assert_snapshot!(&told(home.path(), &app), @r"
    warning[no-schema]: this list was replaced: no schema says how its entries are merged
     --> app/p.yaml:4:14
      |
    4 | spec: {list: [{name: a, x: 1}]}
      |              ^^^^^^^^^^^^^^^^^
      |
      = resource: Widget.example.com w
      = field: spec.list
      = help: give a schema, or tell its entries apart by `$patchMergeKey`
    note: 1 object: none was sent
    ");
}

#[test]
fn a_namespace_for_a_build_is_refused() {
    let home = folder(&[("app/kustomization.yaml", "resources: [a.yaml]"), ("app/a.yaml", &cm("a"))]);
    let output = run(home.path(), &["build", "app", "-n", "shop"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    insta::assert_snapshot!(&String::from_utf8_lossy(&output.stderr), @"error[usage]: `--namespace` says where objects go that are sent to a cluster: what is rendered gets its namespace by `namespace:` in a kustomization, or by its manifests");
}

#[test]
fn a_component_that_is_built_alone_says_so() {
    let home = folder_with(
        &[("part/a.yaml", &cm("a"))],
        r"
-- part/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [a.yaml]
-- app/kustomization.yaml --
components: [../part]
-- none/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
",
    );
    let alone = told(home.path(), &["build", "part"]);
    insta::assert_snapshot!(alone, @r"
    warning[component-alone]: this Component is built alone: it changes nothing but what it brings itself
     --> part/kustomization.yaml:2:7
      |
    2 | kind: Component
      |       ^^^^^^^^^
      |
      = help: build a kustomization that names it under `components:`
    ");
    assert_eq!(told(home.path(), &["build", "app"]), "");
    assert_eq!(run(home.path(), &["build", "part"]).stdout, run(home.path(), &["build", "app"]).stdout);
    // One that says nothing is no target, and nothing that fails.
    assert_eq!(told(home.path(), &["build", "-R", "."]), "");
}

#[test]
fn deprecated_labels_are_rewritten_with_their_selectors() {
    let home = folder_with(
        &[("app/a.yaml", &cm("a"))],
        r"
-- app/kustomization.yaml --
resources: [a.yaml]
commonLabels: {a: b}
patchesStrategicMerge: [a.yaml]
",
    );
    let told = told(home.path(), &["build", "app"]);
    insta::assert_snapshot!(told, @r"
    warning[deprecated-field]: `commonLabels` is deprecated
     --> app/kustomization.yaml:2:1
      |
    2 | commonLabels: {a: b}
      | ^^^^^^^^^^^^
      |
      = help: use `labels` instead; what keeps the selectors as they are is `labels: [{pairs: {...}, includeSelectors: true}]`
    warning[deprecated-field]: `patchesStrategicMerge` is deprecated
     --> app/kustomization.yaml:3:1
      |
    3 | patchesStrategicMerge: [a.yaml]
      | ^^^^^^^^^^^^^^^^^^^^^
      |
      = help: use `patches` instead, each file as `path: FILE`
    warning: 2 warnings
    ");
    let quiet = run(home.path(), &["build", "app", "--quiet"]);
    assert!(quiet.status.success() && quiet.stderr.is_empty());
}

/// A kustomization with a mistake, and what is said of it.
const MEANT: [(&str, &str, &[&str]); 11] = [
    ("resources: [setings.yaml]\n", "a", &["app/kustomization.yaml:1:13", "did you mean `settings.yaml`?"]),
    ("resources: [../bse]\n", "a", &["did you mean `../base`?"]),
    (
        "\
resources: [settings.yaml]
patches: [path.yaml]
",
        "path: path.yaml",
        &["app/kustomization.yaml:2:11"],
    ),
    (
        "\
resorces: [settings.yaml]
patchs: []
",
        "a",
        &["did you mean `resources`?", "did you mean `patches`?"],
    ),
    (
        "\
resources: [settings.yaml]
patches:
- patch: |-
    kind: ConfigMap
    apiVersion: v1
    metadata: {name: setings}
",
        "did you mean ConfigMap `settings`?",
        &["app/kustomization.yaml:6:22"],
    ),
    (
        "\
resources: [settings.yaml]
patches:
- patch: |-
    kind: ConfigMapp
    apiVersion: v1
    metadata: {name: settings}
",
        "did you mean ConfigMap `settings`?",
        &["app/kustomization.yaml:4:11"],
    ),
    (
        "\
resources: [settings.yaml]
patches:
- target: {kind: ConfigMap}
  patch: |-
    - op: remove
      path: /metadata/labls/x
",
        "app/kustomization.yaml:6:13",
        &["did you mean `/metadata/labels/x`?"],
    ),
    (
        "\
resources: [web.yaml]
replicas:
- {name: wep, count: 3}
",
        "did you mean `web`?",
        &["app/kustomization.yaml:3:10"],
    ),
    (
        "\
resources: [settings.yaml]
replacements:
- source: {kind: ConfigMap, name: settigs}
  targets: [{select: {kind: ConfigMap}}]
",
        "did you mean ConfigMap `settings`?",
        &["app/kustomization.yaml:3:11"],
    ),
    (
        "\
resources: [settings.yaml]
replacements:
- source: {kind: ConfigMap, fieldPath: data.a}
  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.aa]}]
",
        "did you mean `data.a`?",
        &["app/kustomization.yaml:4:54"],
    ),
    (
        "\
resources: [settings.yaml]
configMapGenerator:
- {name: g, files: [setings.yaml]}
",
        "did you mean `settings.yaml`?",
        &["app/kustomization.yaml:3:21"],
    ),
];

#[test]
fn what_was_meant_is_named() {
    let a = cm("settings");
    for (kustomization, part, parts) in MEANT {
        let a = a.replace(
            "metadata:\n",
            "\
metadata:
  labels: {x: y}
",
        );
        let home = folder(&[
            ("app/kustomization.yaml", kustomization),
            ("app/settings.yaml", &a),
            ("app/web.yaml", DEPLOYMENT),
            ("base/kustomization.yaml", "resources: []"),
        ]);
        let told = refused(home.path(), &["build", "app"]);
        says(&told, &[&[part], parts].concat());
    }
    let home = folder(&[("base/kustomization.yaml", "resources: [a.yaml]"), ("base/a.yaml", &a)]);
    insta::assert_snapshot!(&refused(home.path(), &["build", "bsae"]), @r"
    error[io]: bsae: no such file or directory
     |
     = help: did you mean `base`?
    ");
}

#[test]
fn what_mends_a_mistake_is_data() {
    let home = folder_with(
        &[("fine/a.yaml", &cm("a")), ("new/a.yaml", &cm("a"))],
        r"
-- app/kustomization.yaml --
resorces:
- a.yaml
-- old/kustomization.yaml --
bases: [../fine]
-- fine/kustomization.yaml --
resources: [a.yaml]
-- new/kustomization.yaml --
resources: [b.yaml]
-- paths/kustomization.yaml --
patches: [p.yaml]
",
    );
    let table = [
        ("app", "app/kustomization.yaml", (1, 1, 9), "resources"),
        ("old", "old/kustomization.yaml", (1, 1, 6), "resources"),
        ("new", "new/kustomization.yaml", (1, 13, 19), "a.yaml"),
        ("paths", "paths/kustomization.yaml", (1, 11, 17), "{path: p.yaml}"),
    ];
    for (target, file, (line, column, end), replacement) in table {
        let output = run(home.path(), &["build", target, "--message-format", "json"]);
        let told = messages(&String::from_utf8(output.stderr).expect("text"));
        let want = serde_json::json!({"file": file, "line": line, "column": column, "end_line": line,
            "end_column": end, "replacement": replacement});
        assert!(told.iter().any(|message| message["fix"] == want), "{target}: {told:#?}");
    }
}

#[test]
fn places_can_be_opened_from_where_the_user_stands() {
    let home = folder_with(
        &[("base/a.yaml", &cm("a"))],
        r"
-- base/kustomization.yaml --
resources: [a.yaml]
-- prod/kustomization.yaml --
resources: [../base]
patches:
- path: p.yaml
-- prod/p.yaml --

{apiVersion: v1, kind: ConfigMap, metadata: {name: nope}}
-- else/where/x --
",
    );
    for (here, target, want) in [
        (".", "prod", "prod/p.yaml:2:52"),
        ("prod", ".", "p.yaml:2:52"),
        ("else/where", "../../prod", "../../prod/p.yaml:2:52"),
    ] {
        let here = home.path().join(here);
        let told = refused(&here, &["build", target, "--message-format", "short"]);
        assert!(told.starts_with(&format!("{want}: error[no-match]")), "{told}");
        let json = messages(&refused(&here, &["build", target, "--message-format", "json"]));
        let file = json[0]["places"][0]["file"].as_str().expect("a file");
        assert!(here.join(file).is_file(), "{file}");
    }
}

#[test]
fn inline_patches_have_their_places_in_the_kustomization() {
    let table = [
        (
            "\
- patch: |-
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: a}
    data: }
",
            "7:11",
        ),
        ("- patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}'\n", "3:62"),
        (
            "- patch: \"{apiVersion: v1,\\n kind: ConfigMap,\\n metadata: {name: a},\\n data: {x: 1, x: 2}}\"\n",
            "3:85",
        ),
        (
            "\
- target: {kind: ConfigMap}
  patch: |-
    - op: add
      path: /data/x
      value: y
    - op: remove
      path: /nope
",
            "9:13",
        ),
        (
            "\
- patch: |
    kind: ConfigMap
    apiVersion: v1
    metadata:
      name: a
    data:
      x: 1
      x: 2
",
            "10:7",
        ),
    ];
    for (patch, want) in table {
        let home = folder(&[
            (
                "app/kustomization.yaml",
                &format!(
                    "\
resources: [a.yaml]
patches:
{patch}"
                ),
            ),
            ("app/a.yaml", &cm("a")),
        ]);
        let output = run(home.path(), &["build", "app", "--message-format", "short"]);
        let told = String::from_utf8(output.stderr).expect("text");
        assert!(told.starts_with(&format!("app/kustomization.yaml:{want}: ")), "{want}: {told}");
    }
}

/// What kustomize v5.8.3 makes of directives: it takes manifests and patches apart at `---` before it reads them.
#[test]
fn directives_are_taken_as_kustomize_takes_them() {
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
            folder(&[
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

/// As kustomize v5.8.3: nothing but a comment stands behind the `---` that ends a document.
#[test]
fn markers_end_documents_alone() {
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
        let home = folder(&[
            ("app/kustomization.yaml", "resources: [a.yaml]"),
            ("app/a.yaml", &format!("{}{}", cm("a"), marker.replace("{}", second))),
        ]);
        let output = run(home.path(), &["build", "app"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), want, "{marker:?}: {told}");
        assert_eq!(told.contains("takes nothing behind the `---`"), !want, "{marker:?}: {told}");
    }
}

#[test]
fn resources_in_messages_have_all_their_parts() {
    let home = folder(&[("a.yaml", &format!("{}---\n{}", cm("a"), cm("a"))), ("b.yaml", &cm("a"))]);
    let output = run(home.path(), &["merge", "a.yaml", "b.yaml", "--message-format", "json"]);
    let told = messages(&String::from_utf8(output.stderr).expect("text"));
    let want = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "", "name": "a"});
    assert!(told.iter().any(|message| message["resource"] == want), "{told:#?}");
}

#[test]
fn variables_replicas_targets_and_conflicts_have_places() {
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
        let home = folder(&[
            ("app/kustomization.yaml", &format!("resources: [a.yaml]\n{rest}")),
            ("app/a.yaml", &cm("a")),
        ]);
        let output = run(home.path(), &["build", "app", "--message-format", "short"]);
        let told = String::from_utf8(output.stderr).expect("text");
        let line =
            told.lines().find(|line| line.contains(code)).unwrap_or_else(|| panic!("no {code}: {told}"));
        assert!(line.starts_with(&format!("app/kustomization.yaml:{want}")), "{want}: {told}");
    }
}

#[test]
fn base_of_a_kustomization_is_wrong_use() {
    let home = folder(&[
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
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        says(&told, &["names its bases under `resources`", "leave `--base` out"]);
    }
    // What is found may be both: the base is that of plain directories.
    for args in [&["build", "over"][..], &["build", "-R", "."]] {
        let output = run(home.path(), &[args, &base].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A kustomization with two ConfigMaps, of which `changes` makes one.
fn colliding(changes: &str) -> tempfile::TempDir {
    folder_with(
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
fn resources_whose_ids_become_equal_are_rejected_in_every_order() {
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
                let told = refused(home.path(), args);
                says(&told, &["there are two resources with the id ConfigMap a", "a.yaml:1:1", "b.yaml:1:1"]);
            }
            refused(home.path(), &["build", "over"]);
            let checked = run(home.path(), &["check", "app", "-o", "short"]);
            let findings = String::from_utf8_lossy(&checked.stdout).into_owned();
            assert!(!checked.status.success(), "{findings}");
            says(&findings, &["app/b.yaml:1:1: error[duplicate-resource]"]);
        }
    }
}

#[test]
fn resources_that_only_namespaces_tell_apart_are_built() {
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
        told(home.path(), &args);
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
        let home = folder_with(
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
        let told = refused(home.path(), &["build", ".", "--message-format", "short"]);
        says(&told, &[want]);
    }
}

#[test]
fn all_errors_of_a_kustomization_are_told() {
    let home = folder_with(
        &[("app/a.yaml", &cm("a")), ("patched/a.yaml", &cm("a")), ("patched/y.yaml", &cm("nobody"))],
        r"
-- app/kustomization.yaml --
resources: [one.yaml, a.yaml, two.yaml, ../broken]
components: [../three]
-- broken/kustomization.yaml --
resources: [four.yaml, five.yaml]
-- patched/kustomization.yaml --
resources: [a.yaml]
patches: [{path: x.yaml}, {path: y.yaml}, {path: z.yaml}]
-- patched/z.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: [1]
",
    );
    let told = refused(home.path(), &["build", "app"]);
    for name in ["one.yaml", "two.yaml", "../three", "four.yaml", "five.yaml"] {
        assert_eq!(told.matches(&format!("error[io]: `{name}`")).count(), 1, "{name}: {told}");
    }
    let told = refused(home.path(), &["build", "patched"]);
    insta::assert_snapshot!(told, @r"
    error[io]: `x.yaml` cannot be read: no such file or directory
     --> patched/kustomization.yaml:2:18
      |
    2 | patches: [{path: x.yaml}, {path: y.yaml}, {path: z.yaml}]
      |                  ^^^^^^
      |
      = help: did you mean `a.yaml`? looked for patched/x.yaml
    error[no-match]: no resource matches this patch: ConfigMap nobody
     --> patched/y.yaml:4:9
      |
    4 |   name: nobody
      |         ^^^^^^
      |
      = help: the patch must have kind, name and namespace of a resource, or a `target`
    error[wrong-type]: a list cannot be merged with a map
     --> patched/z.yaml:4:7
      |
    4 | data: [1]
      |       ^^^
      |
     ::: patched/a.yaml:6:3
      |
    6 |   a: b
      |   ---- a map is here
      |
      = resource: ConfigMap a
      = field: data
      = help: set the field to null in an earlier patch to give it another type
    ");
    assert_eq!(told.matches("error[").count(), if told.contains("z.yaml") { 3 } else { 2 }, "{told}");
    let many = refused(home.path(), &["build", "app", "patched", "--message-format", "json"]);
    for message in messages(&many).iter().filter(|message| message["code"] != "summary") {
        assert!(message["target"].is_string(), "{message}");
    }
}

#[test]
fn what_is_wrong_in_one_part_hides_no_other() {
    let home = folder_with(
        &[("app/a.yaml", &cm("a")), ("patched/a.yaml", &cm("a"))],
        r#"
-- app/kustomization.yaml --
resources: [nope.yaml, a.yaml]
bases: []
namespce: x
images: [{name: [y]}, {nam: z}]
replicas:
- {name: a, count: many}
components: [../nothing]
patches:
- path: p.yaml
configMapGenerator:
- {name: c, files: [gone.txt]}
-- patched/kustomization.yaml --
resources: [a.yaml]
bases: []
patches:
- {target: {name: a}, patch: '[{"op": "remove", "path": "/x"}]'}
- {target: {name: a}, patch: '[{"op": "remove", "path": "/y"}]'}
replicas:
- {name: nobody, count: 1}
"#,
    );
    let told = refused(home.path(), &["build", "app"]);
    says(
        &told,
        &["nope.yaml", "namespce", "images[0].name", "`nam`", "replicas[0].count", "../nothing", "p.yaml"],
    );
    says(&told, &["gone.txt", "warning[deprecated-field]: `bases`"]);
    let told = refused(home.path(), &["build", "patched"]);
    says(&told, &["field: /x", "field: /y", "nobody", "warning[deprecated-field]: `bases`"]);
}

#[test]
fn each_mistake_is_told_once() {
    let inline = r#"resources: [nope.yaml]
patches:
- target: {kind: Deployment}
  patch: |-
    - {op: remove, path: /x}
- patch: '{"kind": "x"}'
replacements: [{sourceValue: x}]
"#;
    let home = folder_with(
        &[("inline/kustomization.yaml", inline)],
        r"
-- fields/kustomization.yaml --
resource: []
namePrefix: a
patchs: []
label: []
-- entries/kustomization.yaml --
namePrefix: a
patches:
- {pat: a, pth: b}
- {patj: c}
replicas: [{nme: x, cunt: 1}]
",
    );
    let count = |name: &str| {
        let told = refused(home.path(), &["build", name, "--message-format", "json"]);
        let errors = messages(&told).into_iter().filter(|told| told["severity"] == "error");
        let texts: Vec<String> = errors.map(|told| told["message"].to_string()).collect();
        texts.into_iter().filter(|text| !text.contains("errors")).collect::<Vec<_>>()
    };
    assert_eq!(count("inline").len(), 1, "{:?}", count("inline"));
    assert_eq!(count("fields").len(), 3, "{:?}", count("fields"));
    let entries = count("entries");
    for field in ["pat", "pth", "patj", "nme", "cunt"] {
        let named = entries.iter().filter(|text| text.contains(&format!("`{field}`"))).count();
        assert_eq!(named, 1, "{field}: {entries:?}");
    }
}

#[test]
fn a_target_that_cannot_be_read_is_told_beside_an_empty_patch() {
    for target in ["{name: \"(\"}", "{labelSelector: \"(\"}"] {
        let kustomization = format!(
            r#"resources: [a.yaml]
patches: [{{target: {target}, patch: "[]"}}]
"#
        );
        let home = folder(&[("app/kustomization.yaml", &kustomization), ("app/a.yaml", &cm("a"))]);
        let told = told(home.path(), &["build", "app", "--message-format", "json"]);
        let told = messages(&told);
        let warnings: Vec<_> = told.iter().filter(|told| told["severity"] == "warning").collect();
        assert!(warnings.len() >= 2, "{told:?}");
        assert!(warnings.iter().any(|told| told["places"][0]["line"] == 2), "{told:?}");
    }
}

#[test]
fn entries_that_are_misspelt_in_paths_are_named() {
    let kustomization = r#"resources: [a.yaml]
replacements:
- sourceValue: web:2
  targets:
  - select: {kind: Deployment}
    fieldPaths: ["spec.template.spec.containers.[name=wbe].image"]
"#;
    let home = folder(&[("app/kustomization.yaml", kustomization), ("app/a.yaml", DEPLOYMENT)]);
    let told = refused(home.path(), &["build", "app"]);
    insta::assert_snapshot!(told, @r#"
    error[no-match]: the target has no such field
     --> app/kustomization.yaml:6:18
      |
    6 |     fieldPaths: ["spec.template.spec.containers.[name=wbe].image"]
      |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
     ::: app/a.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - in this resource
      |
      = resource: Deployment.apps web in namespace shop
      = field: spec.template.spec.containers.[name=wbe].image
      = help: did you mean `spec.template.spec.containers.[name=web].image`? `options: {create: true}` adds fields
    "#);
}

#[test]
fn targets_that_are_something_else_are_told() {
    let home = folder(&[
        ("taken/kustomization.yaml/x", ""),
        ("taken/a.yaml", &cm("a")),
        ("named/kustomize.yaml", "resources: [a.yaml]"),
        ("base/a.yaml", &cm("a")),
        ("over/kustomization.yaml", "resources: [../base/a.yaml]"),
    ]);
    let told = refused(home.path(), &["build", "taken"]);
    insta::assert_snapshot!(told, @r"
    error[io]: taken/kustomization.yaml is a directory, and no kustomization file
     |
     = help: put the file there, or rename the directory
    ");
    let told = refused(home.path(), &["build", "named"]);
    insta::assert_snapshot!(told, @r"
    error[invalid-value]: `kustomize.yaml` is no name of a kustomization, and no manifest can be like that
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
    error[missing-field]: there are no resources in what standard input gives
     |
     = help: look at what the command before the `|` prints, and whether it failed
    ");
    let file = run(home.path(), &["build", "base/a.yaml"]);
    assert_eq!(run(home.path(), &["build", "-R", "base/a.yaml"]).stdout, file.stdout);
}

#[test]
fn patches_of_what_is_not_there_name_what_is_meant() {
    let home = folder_with(
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
    let told = told(home.path(), &["build", "."]);
    insta::assert_snapshot!(told, @r"
    warning[invalid-value]: the path `x/spec/paused` does not begin with `/`, and what is before its first `/` is lost
     --> kustomization.yaml:8:23
      |
    8 |     - {op: add, path: x/spec/paused, value: true}
      |                       ^^^^^^^^^^^^^
      |
      = help: write `/x/spec/paused`
    warning[unmatched-patch]: the target kind=Deploymnet selects no resource
     --> kustomization.yaml:3:11
      |
    3 | - target: {kind: Deploymnet}
      |           ^^^^^^^^^^^^^^^^^^
      |
     ::: kustomization.yaml:5:5
      |
    5 |     - {op: add, path: /a, value: b}
      |     ------------------------------- the patch
      |
      = help: did you mean the kind `Deployment`? the patch changes nothing
    warning: 2 warnings
    ");
}

#[test]
fn wrong_command_lines_are_messages_like_others() {
    let home = folder(&[]);
    let told = refused(home.path(), &["a\nerror: forged"]);
    insta::assert_snapshot!(told, @r"
    error[usage]: unrecognized subcommand 'a\nerror: forged'
     |
     = help: Usage: kubectl smp <COMMAND>
             For more information, try '--help'.
    ");
    assert!(!told.contains("\nerror: forged"), "{told}");
    let told = refused(home.path(), &["build", "--nope", "--message-format", "short"]);
    assert!(told.starts_with("error[usage]: ") && told.lines().count() == 1, "{told}");
}

#[test]
fn no_message_is_a_flood() {
    let path = "a/".repeat(100_000) + "a";
    let home = folder_with(
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
            let told = refused(home.path(), &["build", target, "--message-format", form]);
            assert!(told.len() < 6_000, "{target} {form}: {}", told.len());
        }
    }
}

#[test]
fn a_file_that_is_too_large_passes_a_limit() {
    let home = folder(&[("kustomization.yaml", "resources: [a.yaml]")]);
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
        says(&refused(home.path(), command), &["error[limit-exceeded]", "larger than 1 GiB"]);
    }
    // The lock file itself, when all else can be read.
    fs::write(home.path().join("a.yaml"), cm("a")).expect("written");
    for command in [["build", "."], ["lock", "."]] {
        says(&refused(home.path(), &command), &["error[limit-exceeded]", "larger than 1 GiB"]);
    }
}

#[test]
fn a_long_way_is_told_by_its_ends() {
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
    let home = folder(&files);
    let told = refused(home.path(), &["build", "b0"]);
    insta::assert_snapshot!(told, @r"
    error[no-match]: no resource with replicas is named `x`
     --> b300/kustomization.yaml:2:19
      |
    2 | replicas: [{name: x, count: 1}]
      |                   ^
      |
      = note: looked for Deployment, StatefulSet, ReplicaSet, ReplicationController
      = note: reached by `../b300` in b299
      = note: reached by `../b299` in b298
      = note: reached by `../b298` in b297
      = note: ... 294 more
      = note: reached by `../b3` in b2
      = note: reached by `../b2` in b1
      = note: reached by `../b1` in b0
      = help: use the name as the base writes it, without prefix and suffix
    ");
    assert!(told.lines().count() < 20, "{told}");
}

#[test]
fn long_lines_are_shown_around_the_place() {
    let list = "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa', ".repeat(500);
    let home = folder(&[(
        "app/kustomization.yaml",
        &format!(
            "\
commonAnnotations: {{x: z}}
resources: [{list}]
"
        ),
    )]);
    let told = refused(home.path(), &["build", "app"]);
    insta::assert_snapshot!(told, @r"
    error[io]: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaa` cannot be read: no such file or directory
     --> app/kustomization.yaml:2:13
      |
    2 | resources: ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaaaaaaa...
      |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = note: and 499 more: app/kustomization.yaml:2:46, app/kustomization.yaml:2:79, app/kustomization.yaml:2:112, ...
      = help: looked for app/aaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    ");
    assert!(told.lines().all(|line| line.len() < 400), "{}", told.lines().map(str::len).max().unwrap_or(0));
}

#[test]
fn a_target_that_fails_prints_no_list() {
    let home = folder(&[("app/kustomization.yaml", "resources: [a.yaml]")]);
    refused(home.path(), &["build", "app", "-o", "json"]);
    refused(home.path(), &["build", "app", "app", "-o", "json"]);
}

#[test]
fn locks_are_made_of_all_that_builds_take() {
    let home = folder(&[
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
    let home = folder(&[
        ("base/x.yaml", &cm("x")),
        ("conflict/a.yaml", conflict),
        ("expression/a.yaml", &expression),
        ("statement/a.yaml", &statement),
        ("alert/a.yaml", &alert),
    ]);
    let told = refused(home.path(), &["build", "conflict"]);
    insta::assert_snapshot!(told, @r"
    error[syntax]: this file has git conflict markers
     --> conflict/a.yaml:5:1
      |
    5 | <<<<<<< HEAD
      | ^^^^^^^
      |
      = help: resolve the conflict, and remove the lines `<<<<<<<`, `=======` and `>>>>>>>`
    ");
    for target in ["expression", "statement"] {
        says(&refused(home.path(), &["build", target]), &["looks like a Helm template", "`helmCharts`"]);
    }
    let told = refused(home.path(), &["build", "alert"]);
    assert!(!told.contains("Helm"), "templates in texts are not wrong:\n{told}");
}

#[test]
fn a_field_at_the_wrong_depth_is_sent_where_it_belongs() {
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
    let home = folder(&[("k/kustomization.yaml", "resources: [a.yaml]"), ("k/a.yaml", wrong)]);
    let output = run(home.path(), &["check", "k"]);
    let told = String::from_utf8(output.stdout).expect("text");
    says(
        &told,
        &[
            "`replicas` belongs under `spec`",
            "`labels` belongs under `metadata`",
            "`containers` belongs under `spec.template.spec`",
            "`hostNetwork` belongs under `spec.template.spec`",
        ],
    );
    assert_eq!(told.matches("`replicas` belongs under `spec`").count(), 2, "from above and below:\n{told}");
}

#[test]
fn a_wrong_directory_names_the_nearest_ones() {
    let home = folder(&[
        ("apps/base/kustomization.yaml", "resources: [x.yaml]"),
        ("apps/base/x.yaml", &cm("x")),
        ("apps/overlays/dev/kustomization.yaml", "resources: [../../base]"),
        ("apps/overlays/prod/kustomization.yaml", "resources: [../../base]"),
        ("apps/overlays/test/kustomization.yaml", "resources: [../../base]"),
        ("apps/base/docs/README.md", ""),
    ]);
    let told = refused(home.path(), &["build", "apps"]);
    insta::assert_snapshot!(told, @r"
    error[missing-field]: no kustomization.yaml in apps; the nearest are in apps/base, apps/overlays/dev, apps/overlays/prod and 1 more
     |
     = help: name one of them, or search the directory for all targets with --recursive
    ");
    let told = refused(home.path(), &["build", "apps/base/docs"]);
    insta::assert_snapshot!(told, @r"
    error[missing-field]: no kustomization.yaml in apps/base/docs; the nearest are in apps/base
     |
     = help: name one of them, or search the directory for all targets with --recursive
    ");
}

#[test]
fn merge_keys_that_are_named_outside_an_entry_are_told() {
    let patch = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  $patchMergeKey: [name]
  replicas: 2
";
    let home = folder_with(
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
    insta::assert_snapshot!(&refused(home.path(), &["build", "over"]), @r"
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
    insta::assert_snapshot!(&told(home.path(), &["build", "k"]), @r"
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
    refused(home.path(), &["build", "k", "--strict"]);
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
fn an_entry_that_is_replaced_in_a_kustomization_is_told() {
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
    let ignored = "kustomize v5.8 ignores an entry with `$patch: replace`";
    for (containers, is_ignored) in [
        (format!("[{replaced}]"), true),
        (format!("[{replaced}, {{name: side, image: s}}]"), true),
        (format!("[{{name: web, $patch: delete}}, {}]", replaced.replace("web", "new")), false),
        ("[{$patch: replace}, {name: web, image: 'web:2'}]".to_string(), false),
    ] {
        let home = folder_with(
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
            let said =
                String::from_utf8([output.stdout.clone(), output.stderr.clone()].concat()).expect("text");
            assert_eq!(said.contains(ignored), is_ignored, "{args:?} {containers}: {said}");
            assert!(!is_ignored || said.contains("patch.yaml:5:"), "{said}");
            let is_kept = args[0] == "check" || program::stdout(&output).contains("web:1");
            assert!(!is_ignored || is_kept, "{args:?} {said}");
        }
        assert_eq!(
            run(home.path(), &["build", ".", "--strict"]).status.success(),
            !is_ignored,
            "{containers}"
        );
    }
}
