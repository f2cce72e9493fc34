//! `tree` shows the inputs of a target, and the objects that each of them created or changed.

mod output;

use std::fs;
use std::path::Path;

use kubectl_smp_testing::program::{command, run, run_with_stdin, temp_dir, temp_dir_with};
use serde_json::Value;
use tempfile::TempDir;

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  paused: true
  template:
    spec:
      containers:
      - name: app
        image: nginx:1.25
        env:
        - name: CM
          valueFrom: {configMapKeyRef: {name: cfg, key: a}}
---
apiVersion: v1
kind: Service
metadata: {name: svc, annotations: {host: example.org}}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone}
data: {x: $(HOST)}
";

const BASE: &str = "\
resources: [web.yaml]
configurations: [fields.yaml]
crds: [crd.json]
configMapGenerator:
- name: cfg
  literals: [a=b]
vars:
- name: HOST
  objref: {apiVersion: v1, kind: Service, name: svc}
  fieldref: {fieldpath: 'metadata.annotations.host'}
";

const PROD: &str = "\
resources: [../base]
components: [../outer]
namePrefix: p-
namespace: shop
commonAnnotations: {note: n1}
patches:
- path: patch.yaml
- target: {kind: Deployment}
  patch: |-
    - op: test
      path: /kind
      value: Deployment
- target: {kind: Job}
  patch: |-
    - op: remove
      path: /x
- patch: |-
    $patch: delete
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: gone}
images:
- name: other
  newName: never
- name: nginx
  newTag: \"1.29\"
replicas:
- name: web
  count: 3
transformers:
- |-
  apiVersion: builtin
  kind: PrefixTransformer
  metadata: {name: more}
  prefix: q-
  fieldSpecs: [{kind: Service, path: metadata/name}]
";

const PATCH: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  paused: null
  minReadySeconds: 5
  replicas: 1
";

const OUTER: &str = "\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
components: [../inner]
resources: [extra.yaml]
";

const INNER: &str = "\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patchesStrategicMerge:
- |-
  apiVersion: v1
  kind: Service
  metadata: {name: svc}
  spec: {type: NodePort}
";

fn config_map(name: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{a: b}}
"
    )
}

fn shop() -> TempDir {
    temp_dir(&[
        ("base/web.yaml", WEB),
        ("base/kustomization.yaml", BASE),
        ("base/fields.yaml", "nameReference: []"),
        ("base/crd.json", "{}"),
        ("prod/kustomization.yaml", PROD),
        ("prod/patch.yaml", PATCH),
        ("outer/kustomization.yaml", OUTER),
        ("outer/extra.yaml", &config_map("extra")),
        ("inner/kustomization.yaml", INNER),
    ])
}

/// Output in a UTF-8 locale.
fn tree(home: &Path, args: &[&str]) -> String {
    let mut all = vec!["tree"];
    all.extend(args);
    let output = command(home, &all).env("LC_ALL", "C.UTF-8").env_remove("TERM").output().expect("it runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(home: &Path, args: &[&str]) -> Value {
    let text = tree(home, &[args, &["-o", "json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

#[track_caller]
fn assert_text(got: &str, want: &str) {
    assert_eq!(
        got, want,
        r"
got:
{got}
want:
{want}"
    );
}

#[test]
fn tree_lists_created_and_changed_objects_of_each_node() {
    let home = shop();
    assert_text(
        &tree(home.path(), &["prod"]),
        "\
target prod                                              4 objects
├─ base ../base                                          4 objects
│  ├─ resource web.yaml                                  Service/q-p-svc, Deployment/p-web, ConfigMap/gone (deleted by patches[3])
│  ├─ configuration fields.yaml
│  ├─ crd crd.json
│  ├─ generator cfg (configMapGenerator[0])              ConfigMap/p-cfg-4h2mbtbbt6
│  └─ var HOST
├─ component ../outer                                    adds 1 object, changes 1 value of 1 object
│  ├─ resource extra.yaml                                ConfigMap/p-extra
│  └─ component ../inner                                 changes 1 value of 1 object
│     └─ patch patchesStrategicMerge[0]                  Service/q-p-svc: 1 value
├─ patch patch.yaml (patches[0])                         Deployment/p-web: 2 values
├─ patch patches[1]                                      Deployment/p-web
├─ patch patches[2]                                      matches nothing
├─ patch patches[3]                                      ConfigMap/gone (deleted)
├─ transformer namespace shop                            4 values of 4 objects
├─ transformer namePrefix p-                             4 values of 4 objects
├─ transformer commonAnnotations                         5 values of 4 objects
├─ transformer web 3 (replicas[0])                       1 value of 1 object
├─ transformer other (images[0])                         changes nothing
├─ transformer nginx (images[1])                         1 value of 1 object
├─ transformer PrefixTransformer/more (transformers[0])  1 value of 1 object
├─ transformer nameHash                                  1 value of 1 object
└─ transformer nameReference                             1 value of 1 object

total: 4 objects, 1 deleted during the build
",
    );
}

#[test]
fn json_has_a_node_for_each_input() {
    let home = shop();
    let all = json(home.path(), &["prod"]);
    assert_eq!((&all["kind"], &all["name"]), (&"target".into(), &"prod".into()));
    let built = run(home.path(), &["build", "prod", "-o", "json"]);
    let built: Value = serde_json::from_slice(&built.stdout).expect("JSON");
    let names = |list: &Value, name: fn(&Value) -> &Value| {
        list.as_array().expect("a list").iter().map(|one| name(one).to_string()).collect::<Vec<_>>()
    };
    let want = names(&built["items"], |item| &item["metadata"]["name"]);
    assert_eq!(names(&all["objects"], |object| &object["name"]), want, "as they are printed");

    let base = &all["children"][0];
    let generator = &base["children"][3];
    assert_eq!(generator["kind"], "generator");
    assert_eq!(
        (&generator["file"], &generator["line"], &generator["column"]),
        (&"base/kustomization.yaml".into(), &5.into(), &9.into())
    );
    let made = serde_json::json!([{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "p-cfg-4h2mbtbbt6"}]);
    assert_eq!(generator["objects"], made);
    let patch = &all["children"][2];
    assert_eq!(
        (&patch["name"], &patch["by"], &patch["changed"]),
        (&"patch.yaml".into(), &"patches[0]".into(), &2.into())
    );
    let missed = &all["children"][4];
    assert_eq!((&missed["objects"], &missed["changed"]), (&serde_json::json!([]), &0.into()));
    assert!(missed.get("children").is_none() && missed.get("commit").is_none(), "{missed}");
    let deleted = &all["children"][5]["objects"][0];
    assert_eq!((&deleted["name"], &deleted["deletedBy"]), (&"gone".into(), &"patches[3]".into()));
}

#[test]
fn plain_overlays_list_their_files() {
    let (a, b) = (config_map("a"), config_map("b"));
    let home = temp_dir_with(
        &[("app/base/all.yaml", &format!("{a}---\n{b}")), ("app/over/c.yaml", &config_map("c"))],
        r"
-- app/over/sub/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {a: c, d: e}
-- app/over/b.yaml --
$patch: delete
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
-- app/over/same.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
",
    );
    assert_text(
        &tree(home.path(), &["app/over"]),
        "\
target app/over                   2 objects
├─ base app/base                  2 objects
│  └─ resource app/base/all.yaml  ConfigMap/a, ConfigMap/b (deleted by overlay)
├─ patch app/over/b.yaml          ConfigMap/b (deleted)
├─ resource app/over/c.yaml       ConfigMap/c
├─ patch app/over/same.yaml       ConfigMap/a
└─ patch app/over/sub/a.yaml      ConfigMap/a: 2 values

total: 2 objects, 1 deleted during the build
",
    );
    let within = tree(&home.path().join("app/over"), &[]);
    insta::assert_snapshot!(within, @r"
    target .                         2 objects
    ├─ base ../base                  2 objects
    │  └─ resource ../base/all.yaml  ConfigMap/a, ConfigMap/b (deleted by overlay)
    ├─ patch b.yaml                  ConfigMap/b (deleted)
    ├─ resource c.yaml               ConfigMap/c
    ├─ patch same.yaml               ConfigMap/a
    └─ patch sub/a.yaml              ConfigMap/a: 2 values

    total: 2 objects, 1 deleted during the build
    ");
    let file = tree(home.path(), &["app/over/sub/a.yaml"]);
    insta::assert_snapshot!(file, @r"
    target app/over/sub/a.yaml        2 objects
    ├─ base app/base                  2 objects
    │  └─ resource app/base/all.yaml  ConfigMap/a, ConfigMap/b
    └─ patch app/over/sub/a.yaml      ConfigMap/a: 2 values

    total: 2 objects
    ");
    let stream = command(home.path(), &["tree", "-", "--base", "app/base"]);
    let stream = run_with_stdin(stream, &config_map("d"));
    let stream = String::from_utf8(stream.stdout).expect("UTF-8");
    insta::assert_snapshot!(stream, @r"
    target <stdin>                    3 objects
    ├─ base app/base                  2 objects
    │  └─ resource app/base/all.yaml  ConfigMap/a, ConfigMap/b
    └─ resource <stdin>               ConfigMap/d

    total: 3 objects
    ");
}

#[test]
fn plain_overlay_includes_the_nodes_of_its_kustomization() {
    let home = temp_dir_with(
        &[("base/a.yaml", &config_map("a"))],
        r"
-- base/kustomization.yaml --
resources: [a.yaml]
nameSuffix: -x
-- over/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a-x}
data: {d: e}
",
    );
    assert_text(
        &tree(home.path(), &["over"]),
        "\
target over                      1 object
├─ base base                     1 object
│  ├─ resource a.yaml            ConfigMap/a-x
│  └─ transformer nameSuffix -x  1 value of 1 object
└─ patch over/a.yaml             ConfigMap/a-x: 1 value

total: 1 object
",
    );
}

#[test]
fn base_used_twice_is_shown_once() {
    let home = temp_dir_with(
        &[("leaf/c.yaml", &config_map("leaf"))],
        r"
-- leaf/kustomization.yaml --
resources: [c.yaml]
labels: [{pairs: {a: b}}]
-- l/kustomization.yaml --
resources: [../leaf]
namePrefix: l-
-- r/kustomization.yaml --
resources: [../leaf]
namePrefix: r-
-- top/kustomization.yaml --
resources: [../l, ../r]
",
    );
    assert_text(
        &tree(home.path(), &["top"]),
        "\
target top                       2 objects
├─ base ../l                     1 object
│  ├─ base ../leaf               1 object
│  │  ├─ resource c.yaml         ConfigMap/l-leaf
│  │  └─ transformer labels[0]   1 value of 1 object
│  └─ transformer namePrefix l-  1 value of 1 object
└─ base ../r                     1 object
   ├─ base ../leaf               1 object (see above)
   └─ transformer namePrefix r-  1 value of 1 object

total: 2 objects
",
    );
    let again = &json(home.path(), &["top"])["children"][1]["children"][0];
    assert_eq!((&again["repeated"], &again["objects"][0]["name"]), (&true.into(), &"r-leaf".into()));
    assert!(again.get("children").is_none(), "{again}");
}

#[test]
fn shared_bases_are_not_duplicated_and_deep_trees_terminate() {
    let home = temp_dir(&[("0/kustomization.yaml", "resources: [c.yaml]"), ("0/c.yaml", &config_map("c"))]);
    let write = |name: &str, text: String| {
        fs::create_dir(home.path().join(name)).expect("made");
        fs::write(home.path().join(name).join("kustomization.yaml"), text).expect("written");
    };
    write(
        "d0",
        "\
resources: []
configMapGenerator: []
"
        .into(),
    );
    for i in 1..=13 {
        write(&format!("d{i}"), format!("resources: [../d{0}, ../d{0}]\n", i - 1));
    }
    assert_eq!(tree(home.path(), &["d13"]).lines().count(), 2 * 13 + 1 + 2);
    for i in 1..=500 {
        write(&i.to_string(), format!("resources: [../{}]\n", i - 1));
    }
    assert!(tree(home.path(), &["500"]).ends_with("total: 1 object\n"));
    let text = tree(home.path(), &["500", "-o", "json"]);
    assert_eq!(text.matches("\"children\":[").count(), 501);
    assert!(text.ends_with(&format!("{}\n", "]}".repeat(501))));
    for form in ["dot", "mermaid"] {
        let edges = tree(home.path(), &["500", "-o", form]);
        assert_eq!(edges.lines().filter(|line| line.contains(" n500 -")).count(), 1, "{form}");
    }
}
