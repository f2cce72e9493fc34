//! `blame` of one resource or field: selection, suggestions, and values that are hidden.

use std::path::Path;

use kubectl_smp_testing::program::{run, run_ok, temp_dir};
use serde_json::Value;
use tempfile::TempDir;

const ALL: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  paused: true
  template:
    spec:
      containers:
      - {name: app, image: nginx, args: [a]}
      - {name: side, image: busy}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: other}
spec: {replicas: 2}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: 'system:web'}
rules: []
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {now: present-word, was: former-word, gone: removed-word}
---
apiVersion: v1
kind: Secret
metadata: {name: whole}
stringData: {all: deleted-word}
";

const PROD: &str = "\
resources: [all.yaml]
nameSuffix: -s
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, namespace: shop}
    spec:
      paused: null
      template:
        spec:
          containers:
          - {name: app, args: null}
          - {name: side, $patch: delete}
- patch: |-
    apiVersion: v1
    kind: Secret
    metadata: {name: token}
    stringData: {was: later-word, gone: null}
- patch: |-
    {apiVersion: v1, kind: Secret, metadata: {name: whole}, $patch: delete}
configMapGenerator:
- {name: cfg, literals: [a.b.conf=1]}
secretGenerator:
- {name: made, literals: [k=made-word]}
";

const OUTER: &str = "\
resources: [../prod]
secretGenerator:
- {name: made, behavior: replace, literals: [other=last-word]}
";

fn home() -> TempDir {
    temp_dir(&[
        ("prod/all.yaml", ALL),
        ("prod/kustomization.yaml", PROD),
        ("outer/kustomization.yaml", OUTER),
    ])
}

/// Returns the suggestion printed when nothing matches.
fn help(home: &Path, args: &[&str]) -> String {
    let output = run(home, args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{args:?} {stderr}");
    let line = stderr.lines().find_map(|line| line.split_once("help: "));
    line.map_or_else(|| panic!("{args:?} {stderr}"), |(_, help)| help.to_string())
}

#[test]
fn resources_are_selected_as_with_kubectl() {
    let home = home();
    let table = [
        ("deployment/web-s", &["other", "shop"] as &[&str]),
        ("deploy/web-s", &["other", "shop"]),
        ("Deployments/web-s", &["other", "shop"]),
        ("deployment.apps/web-s", &["other", "shop"]),
        ("deployment.v1.apps/web-s", &["other", "shop"]),
        ("deploy/shop/web-s", &["shop"]),
        ("svc/web-s", &["shop"]),
        ("clusterrole/system:web-s", &[""]),
        ("clusterrole/system:web-s:kind", &[""]),
    ];
    for (words, want) in table {
        let text = run_ok(home.path(), &["blame", "prod", words, "-o", "json"]);
        let all: Vec<Value> = serde_json::from_str(&text).expect("JSON");
        let mut found: Vec<_> = all.iter().map(|one| one["namespace"].as_str().unwrap_or_default()).collect();
        found.sort_unstable();
        assert_eq!(found, want, "{words}");
    }
    let story = run_ok(home.path(), &["blame", "prod", "deploy/web-s:spec.replicas"]);
    insta::assert_snapshot!(story, @r"
    Deployment.apps web-s in namespace other
    /spec/replicas
      is 2
         at prod/all.yaml:16:18
            16 | spec: {replicas: 2}
         by resources[0] prod/kustomization.yaml:1:13
    Deployment.apps web-s in namespace shop
    /spec/replicas
      is 1
         at prod/all.yaml:5:13
            5 |   replicas: 1
         by resources[0] prod/kustomization.yaml:1:13
    ");
    let as_kubectl = run_ok(home.path(), &["blame", "-k", "prod", "deploy/web-s:spec.replicas"]);
    assert_eq!(as_kubectl, story);
    assert_eq!(run_ok(home.path(), &["blame", "-k", "prod"]), run_ok(home.path(), &["blame", "prod"]));
    assert_eq!(run(home.path(), &["blame", "-k", "prod", "prod", "svc/web-s"]).status.code(), Some(2));
    assert_eq!(run(home.path(), &["blame"]).status.code(), Some(2));
    #[cfg(feature = "cluster")]
    {
        let output = run(home.path(), &["blame", "prod", "svc/web-s", "-n", "shop"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains("KIND/NAMESPACE/NAME"), "{stderr}");
    }
}

#[test]
fn similar_names_are_suggested() {
    let home = home();
    let table = [
        ("svc/web", "did you mean `service/web-s`?"),
        ("svc/wbe-s", "did you mean `service/web-s`?"),
        ("deploy/other/web", "did you mean `deployment.apps/other/web-s`?"),
        ("deploy/none/web-s", "did you mean `deployment.apps/other/web-s`?"),
        ("sevice/web-s", "did you mean `service/web-s`?"),
        ("sts/system:web", "did you mean `clusterrole.rbac.authorization.k8s.io/system:web-s`?"),
        ("web-s", "did you mean `service/web-s`?"),
        ("nothing/like-it", "`kubectl smp build -o name` lists the resources"),
    ];
    for (words, want) in table {
        let found = help(home.path(), &["blame", "prod", words]);
        assert!(found == want || (words == "web-s" && found.contains("/web-s`?")), "{words}: {found}");
    }
    let hashed = help(home.path(), &["blame", "prod", "configmap/cfg:data.a"]);
    insta::assert_snapshot!(hashed, @"did you mean `configmap/cfg-s-2k564h24bc`?");
    let fields = [
        ("spec.template.spec.contaners", "did you mean `spec.template.spec.containers`?"),
        (
            "spec.template.spec.containers[name=ap].image",
            "did you mean `spec.template.spec.containers[name=app].image`?",
        ),
        ("spec.replica", "did you mean `spec.replicas`?"),
        ("/spec/replica", "did you mean `/spec/replicas`?"),
        ("spec.paused", "`patches[0]` removed it: use `--removed` to show its last value"),
        (
            "nonsense",
            "if the path is correct, the build does not set this field. Paths look like metadata.name, \
             ports[0].port or containers[name=NAME].image",
        ),
    ];
    for (path, want) in fields {
        assert_eq!(
            help(home.path(), &["blame", "prod", &format!("deploy/shop/web-s:{path}")]),
            want,
            "{path}"
        );
    }
}

#[test]
fn dots_in_keys_need_no_backslash() {
    let home = home();
    let all: Value =
        serde_json::from_str(&run_ok(home.path(), &["blame", "prod", "-o", "json"])).expect("JSON");
    let is_it = |one: &&Value| one["kind"] == "ConfigMap";
    let name = all.as_array().expect("all").iter().find(is_it).expect("there")["name"].clone();
    for path in ["data.a.b.conf", "data.a\\.b\\.conf", "/data/a.b.conf"] {
        let words = format!("cm/{}:{path}", name.as_str().expect("a name"));
        let story = run_ok(home.path(), &["blame", "prod", &words]);
        assert!(story.starts_with("/data/a.b.conf\n  is 1\n"), "{story}");
    }
}

#[test]
fn paths_that_diff_prints_are_found() {
    let service = "\
apiVersion: v1
kind: Service
metadata: {name: web, finalizers: [a.b/c]}
spec:
  ports:
  - {port: 80, targetPort: 8080}
  - {port: 80, protocol: UDP, targetPort: 8081, name: \"a,b\"}
";
    let home = temp_dir(&[("p/kustomization.yaml", "resources: [s.yaml]"), ("p/s.yaml", service)]);
    for (path, pointer) in [
        ("spec.ports[port=80,protocol=TCP].targetPort", "/spec/ports/0/targetPort"),
        ("spec.ports[port=80,protocol=UDP].targetPort", "/spec/ports/1/targetPort"),
        ("spec.ports[name=\"a,b\"].targetPort", "/spec/ports/1/targetPort"),
        ("metadata.finalizers[=a.b/c]", "/metadata/finalizers/0"),
        ("[\"spec\"].ports[1].name", "/spec/ports/1/name"),
    ] {
        let story = run_ok(home.path(), &["blame", "p", &format!("svc/web:{path}")]);
        assert_eq!(story.lines().next(), Some(pointer), "{path}");
        assert_eq!(story.matches("  is ").count(), 1, "{story}");
    }
}

#[test]
fn removed_fields_are_found() {
    let home = home();
    let story = run_ok(home.path(), &["blame", "prod", "deploy/shop/web-s:spec.paused", "--removed"]);
    assert_eq!(
        story,
        "\
/spec/paused
  removed by patches[0] prod/kustomization.yaml:5:5
  was true
     at prod/all.yaml:6:11
        6 |   paused: true
     by resources[0] prod/kustomization.yaml:1:13
"
    );
    let entry = "deploy/shop/web-s:spec.template.spec.containers[name=side]";
    let story = run_ok(home.path(), &["blame", "prod", entry, "--removed"]);
    insta::assert_snapshot!(story, @r"
    /spec/template/spec/containers/1/name
      removed by patches[0] prod/kustomization.yaml:5:5
      was side
         at prod/all.yaml:11:16
            11 |       - {name: side, image: busy}
         by resources[0] prod/kustomization.yaml:1:13
    /spec/template/spec/containers/1/image
      removed by patches[0] prod/kustomization.yaml:5:5
      was busy
         at prod/all.yaml:11:29
            11 |       - {name: side, image: busy}
         by resources[0] prod/kustomization.yaml:1:13
    ");
    assert!(!story.contains("paused"), "{story}");
    let narrowed = |path: &str| -> Vec<Value> {
        let words = format!("deploy/shop/web-s:{path}");
        let text = run_ok(home.path(), &["blame", "prod", &words, "--removed", "-o", "json"]);
        let all: Value = serde_json::from_str(&text).expect("JSON");
        all[0]["removed"].as_array().expect("a list").clone()
    };
    assert_eq!(narrowed("spec.replicas").len(), 0);
    let removed = narrowed("spec.paused");
    assert_eq!((removed.len(), &removed[0]["in"]), (1, &"prod/kustomization.yaml".into()));
    assert_eq!(narrowed("spec").len(), 4);
}

#[test]
fn chains_include_the_file_of_each_step() {
    let home = home();
    let text = run_ok(home.path(), &["blame", "prod", "svc/web-s:metadata.name", "-o", "json"]);
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let older = &all[0]["fields"][0]["history"][0];
    assert_eq!((&older["value"], &older["in"]), (&"web".into(), &"prod/kustomization.yaml".into()));
}

#[test]
fn previous_values_of_secrets_are_not_shown() {
    let home = home();
    for target in ["prod", "outer"] {
        let built = run_ok(home.path(), &["build", target]);
        for args in [&["--removed"] as &[&str], &["-o", "json"], &["--removed", "-o", "json"]] {
            let all = [&["blame", target], args].concat();
            let text = run_ok(home.path(), &all);
            let again =
                run_ok(home.path(), &[&["blame", target, "secret/token-s:stringData"], args].concat());
            for text in [text, again] {
                for word in ["former-word", "removed-word", "deleted-word", "bWFkZS13b3Jk", "made-word"] {
                    assert!(built.contains(word) || !text.contains(word), "{all:?} {word}\n{text}");
                }
                assert!(text.contains("later-word") && text.contains("***"), "{text}");
            }
        }
    }
    let whole = run_ok(home.path(), &["blame", "outer", "--removed"]);
    assert!(whole.contains("/data/k was ***"), "{whole}");
}

#[test]
fn removed_copies_of_secret_values_are_not_shown() {
    let base = "\
secretGenerator: [{name: s, literals: [p=leak-me], options: {disableNameSuffixHash: true}}]
configMapGenerator: [{name: c, literals: [u=u0, d=a-b-c], options: {disableNameSuffixHash: true}}]
replacements:
- source: {kind: Secret, fieldPath: data.p}
  targets:
  - {select: {kind: ConfigMap}, fieldPaths: [data.u, data.n], options: {create: true}}
  - {select: {kind: ConfigMap}, fieldPaths: [data.d], options: {delimiter: '-', index: 1}}
";
    let replaced = "\
resources: [../base]
secretGenerator: [{name: s, behavior: replace, literals: [p=new], options: {disableNameSuffixHash: true}}]
configMapGenerator: [{name: c, behavior: replace, literals: [u=u1, d=d1], options: {disableNameSuffixHash: true}}]
";
    let deleted = "\
resources: [../base]
patches:
- patch: '{apiVersion: v1, kind: Secret, metadata: {name: s}, $patch: delete}'
- patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, $patch: delete}'
";
    let home = temp_dir(&[
        ("base/kustomization.yaml", base),
        ("replaced/kustomization.yaml", replaced),
        ("deleted/kustomization.yaml", &format!("{deleted}configMapGenerator: [{{name: x}}]")),
    ]);
    let home = home.path();
    for target in ["replaced", "deleted"] {
        for args in
            [&["--removed"] as &[&str], &["-o", "json", "--removed"], &["configmap/c:data", "--removed"]]
        {
            let text = run_ok(home, &[&["blame", target], args].concat());
            assert!(!text.contains("bGVhay1tZQ") && !text.contains("leak-me"), "{target} {args:?}\n{text}");
            assert!(text.contains("***"), "{target} {args:?}\n{text}");
        }
    }
    let output = run(home, &["blame", "deleted", "configmap/c"]);
    let diagnostics = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{diagnostics}");
    insta::assert_snapshot!(diagnostics, @r"
    error[no-match]: `configmap/c` is deleted by the build
     |
     = help: `patches[1]` deleted it: use `--removed` to show its last value
    ");
}
