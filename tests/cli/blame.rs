//! `blame` reports where each value was written, and editing that location changes the value.

mod external;

use std::fs;
use std::path::Path;

use kubectl_smp_testing::program::{run, run_ok, temp_dir};
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
        args: [a, b]
        env:
        - name: A
          value: $(HOST)
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
data: {x: y}
";

const BASE: &str = "\
resources: [web.yaml]
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
components: [../component]
namePrefix: p-
namespace: shop
labels:
- pairs: {team: x}
commonAnnotations: {note: n1}
patches:
- path: patch.yaml
- target: {kind: Deployment}
  patch: |-
    - op: replace
      path: /spec/template/spec/containers/0/args/0
      value: zz
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
replacements:
- source: {kind: Service, fieldPath: 'spec.ports.0.port'}
  targets:
  - select: {kind: Deployment}
    fieldPaths: [spec.template.spec.containers.0.env.2.value]
    options: {create: true}
";

const PATCH: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  paused: null
  template:
    spec:
      containers:
      - name: app
        env:
        - name: PORT
          value: none
        - name: A
        - name: CM
";

const COMPONENT: &str = "\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patchesStrategicMerge:
- |-
  apiVersion: v1
  kind: Service
  metadata: {name: svc}
  spec: {type: NodePort}
";

fn home() -> TempDir {
    temp_dir(&[
        ("base/web.yaml", WEB),
        ("base/kustomization.yaml", BASE),
        ("component/kustomization.yaml", COMPONENT),
        ("prod/kustomization.yaml", PROD),
        ("prod/patch.yaml", PATCH),
    ])
}

fn blamed(home: &Path) -> Vec<Value> {
    let text = run_ok(home, &["blame", "prod", "-o", "json"]);
    serde_json::from_str::<Value>(&text).expect("JSON").as_array().expect("an array").clone()
}

/// Returns the location and the writer of a field, followed by the chain of its previous writers.
fn origin(all: &[Value], kind: &str, pointer: &str) -> String {
    let reported = |write: &Value| {
        let at = match &write["at"] {
            Value::Null => "-".to_string(),
            at => format!("{}:{}:{}", at["file"].as_str().expect("a path"), at["line"], at["column"]),
        };
        format!("{} {at} {}", write["value"], write["by"].as_str().expect("a name"))
    };
    let object = all.iter().find(|object| object["kind"] == kind).expect("the object");
    let fields = object["fields"].as_array().expect("fields");
    let field = fields.iter().find(|field| field["pointer"] == pointer).expect(pointer);
    let chain = field["history"].as_array().expect("a history").iter().map(reported);
    std::iter::once(reported(field)).chain(chain).collect::<Vec<_>>().join(" < ")
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn every_transformation_step_is_reported() {
    let home = home();
    let all = blamed(home.path());
    let container = "/spec/template/spec/containers/0";
    let table = [
        (
            "Deployment",
            "/spec/replicas".to_string(),
            "3 prod/kustomization.yaml:27:10 replicas[0] < 1 base/web.yaml:6:13 resources[0]",
        ),
        (
            "Deployment",
            format!("{container}/image"),
            "\"nginx:1.29\" prod/kustomization.yaml:24:11 images[1] < \"nginx:1.25\" base/web.yaml:12:16 resources[0]",
        ),
        (
            "Deployment",
            format!("{container}/args/0"),
            "\"zz\" prod/kustomization.yaml:14:14 patches[1] < \"a\" base/web.yaml:13:16 resources[0]",
        ),
        ("Deployment", format!("{container}/args/1"), "\"b\" base/web.yaml:13:19 resources[0]"),
        ("Deployment", "/metadata/namespace".to_string(), "\"shop\" prod/kustomization.yaml:4:12 namespace"),
        ("Deployment", "/metadata/labels/team".to_string(), "\"x\" prod/kustomization.yaml:6:17 labels[0]"),
        (
            "Deployment",
            "/metadata/annotations/note".to_string(),
            "\"n1\" prod/kustomization.yaml:7:27 commonAnnotations",
        ),
        (
            "Service",
            "/metadata/name".to_string(),
            "\"p-svc\" prod/kustomization.yaml:3:13 namePrefix < \"svc\" base/web.yaml:22:18 resources[0]",
        ),
        (
            "Service",
            "/spec/type".to_string(),
            "\"NodePort\" component/kustomization.yaml:8:16 patchesStrategicMerge[0]",
        ),
        ("ConfigMap", "/data/a".to_string(), "\"b\" base/kustomization.yaml:4:14 configMapGenerator[0]"),
        ("ConfigMap", "/kind".to_string(), "\"ConfigMap\" - configMapGenerator[0]"),
    ];
    for (kind, pointer, want) in table {
        assert_eq!(origin(&all, kind, &pointer), want, "{kind} {pointer}");
    }
    let env = |name: &str| {
        let deployment = all.iter().find(|object| object["kind"] == "Deployment").expect("there");
        let fields = deployment["fields"].as_array().expect("fields");
        let named = fields.iter().find(|field| field["value"] == name).expect("the entry");
        named["pointer"].as_str().expect("a pointer").replace("/name", "")
    };
    let value = origin(&all, "Deployment", &format!("{}/value", env("A")));
    assert_eq!(
        value,
        "\"example.org\" base/web.yaml:22:43 vars[0] < \"$(HOST)\" base/web.yaml:16:18 resources[0]"
    );
    let reference = origin(&all, "Deployment", &format!("{}/valueFrom/configMapKeyRef/name", env("CM")));
    assert_eq!(reference, "\"p-cfg-4h2mbtbbt6\" - nameReference < \"cfg\" base/web.yaml:18:47 resources[0]");
    let name = origin(&all, "ConfigMap", "/metadata/name");
    insta::assert_snapshot!(name, @r#""p-cfg-4h2mbtbbt6" - nameHash < "p-cfg" prod/kustomization.yaml:3:13 namePrefix < "cfg" base/kustomization.yaml:3:9 configMapGenerator[0]"#);
}

#[test]
fn removed_values_are_reported() {
    let home = home();
    let all = blamed(home.path());
    let removed = |object: &Value, pointer: &str| {
        let all = object["removed"].as_array().expect("a list");
        all.iter().find(|one| one["pointer"] == pointer).map(|one| (one["value"].clone(), one["by"].clone()))
    };
    let deployment = all.iter().find(|object| object["kind"] == "Deployment").expect("there");
    assert_eq!(removed(deployment, "/spec/paused"), Some((true.into(), "patches[0]".into())));
    let gone = all.iter().find(|object| object["name"] == "gone").expect("the deleted one");
    assert_eq!(gone["fields"], Value::Array(Vec::new()));
    assert_eq!(removed(gone, "/data/x"), Some(("y".into(), "patches[2]".into())));
    let text = run_ok(home.path(), &["blame", "prod", "--removed"]);
    let line =
        "# removed by patches[0] prod/kustomization.yaml:9:9: /spec/paused was true base/web.yaml:7:11";
    assert!(text.lines().any(|one| one == line), "{text}");
    assert!(text.contains("# deleted: ConfigMap gone"), "{text}");
}

#[test]
fn text_output_matches_build() {
    let home = home();
    let built = run_ok(home.path(), &["build", "prod"]);
    let blamed = run_ok(home.path(), &["blame", "prod", "--removed"]);
    let mut without = String::new();
    for line in blamed.lines().filter(|line| !line.starts_with('#')) {
        without.push_str(line.split("  # ").next().expect("a part").trim_end());
        without.push('\n');
    }
    assert_eq!(without, built);
    let output = run(home.path(), &["blame", "prod", "deploy/web"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{stderr}");
    insta::assert_snapshot!(stderr, @r"
    warning[unmatched-image]: no image matches `other`
      --> prod/kustomization.yaml:21:9
       |
    21 | - name: other
       |         ^^^^^
       |
       = help: use the image name of the manifests, without the tag
    error[no-match]: the build has no resource `deploy/web`
     |
     = help: did you mean `deployment.apps/p-web`?
    ");
    let story = run_ok(
        home.path(),
        &["why", "prod", "deployment/p-web:spec.template.spec.containers[name=app].image"],
    );
    insta::assert_snapshot!(story, @r#"
    /spec/template/spec/containers/0/image
      is nginx:1.29
         at prod/kustomization.yaml:24:11
            24 |   newTag: "1.29"
         by images[1] prod/kustomization.yaml:24:11
      was nginx:1.25
         at base/web.yaml:12:16
            12 |         image: nginx:1.25
         by resources[0] base/kustomization.yaml:1:13
    "#);
    let output = run(home.path(), &["blame", "prod", "deployment/p-web:spec.replicsa"]);
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    warning[unmatched-image]: no image matches `other`
      --> prod/kustomization.yaml:21:9
       |
    21 | - name: other
       |         ^^^^^
       |
       = help: use the image name of the manifests, without the tag
    error[no-match]: `deployment/p-web` has no field `spec.replicsa`
     |
     = help: did you mean `spec.replicas`?
    ");
}

#[test]
fn locations_of_patched_labels_point_into_the_patch() {
    let labelled = |value: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  labels: {{same: x, other: {value}}}
"
        )
    };
    for entry in ["patchesStrategicMerge: [p.yaml]", "patches: [{path: p.yaml, target: {kind: ConfigMap}}]"] {
        let home = temp_dir(&[
            ("prod/a.yaml", &labelled("y")),
            ("prod/p.yaml", &labelled("z")),
            (
                "prod/kustomization.yaml",
                &format!(
                    "\
resources: [a.yaml]
{entry}
"
                ),
            ),
        ]);
        let all = blamed(home.path());
        let by = entry.split_once(':').expect("a field").0;
        for (label, column, values) in [("same", 18, ["x", "x"]), ("other", 28, ["z", "y"])] {
            let [now, before] = values;
            let want = format!(
                "\"{now}\" prod/p.yaml:5:{column} {by}[0] < \"{before}\" prod/a.yaml:5:{column} resources[0]"
            );
            assert_eq!(origin(&all, "ConfigMap", &format!("/metadata/labels/{label}")), want, "{entry}");
        }
    }
}

/// Block scalars and scalars that look like comments.
const TEXTS: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: texts, annotations: {empty: "", list: "[]", hash: "a  # b"}}
data:
  literal: |
    # no comment
    two  # lines
  kept: |+
    one

  stripped: "no break\nat the end"
  long: "a text of words that is so long that it is folded when it is printed, since it has far more than eighty columns # of words"
  quoted: "a text of words: that is so long that it is folded when it is printed, since it has 'far' more than eighty columns"
  escaped: "\u0001 a text with a character that must be escaped, which is so long that it is folded when it is printed"
  seen: "\u2028 breaks \u2029\n  and more"
"#;

#[test]
fn comments_are_not_inserted_into_block_scalars() {
    let home = temp_dir(&[("app/texts.yaml", TEXTS), ("app/kustomization.yaml", "resources: [texts.yaml]")]);
    let (built, blamed) = (run_ok(home.path(), &["build", "app"]), run_ok(home.path(), &["blame", "app"]));
    let line = blamed.lines().find(|line| line.starts_with("  literal: ")).expect("the text");
    insta::assert_snapshot!(line, @"  literal: |                                         # app/texts.yaml:7:5");
    assert_eq!(blamed.matches("  # app/texts.yaml:").count(), 13, "{blamed}");
    fs::write(home.path().join("app/texts.yaml"), &blamed).expect("written");
    assert_eq!(run_ok(home.path(), &["build", "app"]), built, "{blamed}");
}

/// Editing a reported location changes the value, and no other edit does.
#[test]
fn editing_the_reported_location_changes_the_value() {
    let home = home();
    let all = blamed(home.path());
    let mut tried = 0;
    for object in &all {
        for field in object["fields"].as_array().expect("fields") {
            let pointer = field["pointer"].as_str().expect("a pointer");
            let last = pointer.rsplit('/').next().expect("a part");
            if field["at"].is_null() || ["apiVersion", "kind", "name", "namespace"].contains(&last) {
                continue;
            }
            let file = home.path().join(field["at"]["file"].as_str().expect("a path"));
            let text = fs::read_to_string(&file).expect("readable");
            let number =
                |name: &str| usize::try_from(field["at"][name].as_u64().expect("a number")).expect("small");
            let start = text.lines().take(number("line") - 1).map(|line| line.len() + 1).sum::<usize>();
            let (before, scalar) = text.split_at(start + number("column") - 1);
            let length = scalar.find([',', '}', ']', '\n']).expect("an end");
            let changed = match scalar[..length].trim_matches(['"', '\'']) {
                "true" => "false".to_string(),
                digits if digits.parse::<u32>().is_ok() => {
                    format!("1{}", &scalar[..length].trim_matches('"'))
                }
                other => format!("{other}x"),
            };
            fs::write(&file, format!("{before}{changed}{}", &scalar[length..])).expect("written");
            let output = run(home.path(), &["blame", "prod", "-o", "json"]);
            fs::write(&file, &text).expect("written");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{pointer}: {stderr}");
            let built: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
            let same = built.iter().find(|one| one["kind"] == object["kind"]).expect("the object");
            let now = same["fields"].as_array().expect("fields").iter().find(|one| one["pointer"] == pointer);
            assert_ne!(now.map(|one| &one["value"]), Some(&field["value"]), "{pointer}");
            tried += 1;
        }
    }
    assert!(tried > 15, "{tried} were tried");
}
