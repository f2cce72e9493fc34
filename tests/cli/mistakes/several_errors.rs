//! Several errors are reported in one run, each of them once.

use kubectl_smp_testing::program::{temp_dir, temp_dir_with};

use super::{cm, messages, rejected, reported};

#[test]
fn all_errors_of_a_kustomization_are_reported() {
    let home = temp_dir_with(
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
    let reported = rejected(home.path(), &["build", "app"]);
    for name in ["one.yaml", "two.yaml", "../three", "four.yaml", "five.yaml"] {
        assert_eq!(reported.matches(&format!("error[io]: `{name}`")).count(), 1, "{name}: {reported}");
    }
    let reported = rejected(home.path(), &["build", "patched"]);
    insta::assert_snapshot!(reported, @r"
    error[io]: `x.yaml` cannot be read: no such file or directory
     --> patched/kustomization.yaml:2:18
      |
    2 | patches: [{path: x.yaml}, {path: y.yaml}, {path: z.yaml}]
      |                  ^^^^^^
      |
      = note: the path leads to patched/x.yaml
      = help: did you mean `a.yaml`?
    error[no-match]: the patch names a resource that does not exist: ConfigMap nobody
     --> patched/y.yaml:4:9
      |
    4 |   name: nobody
      |         ^^^^^^
      |
      = help: no resource of this kustomization and its bases has this kind and name, which are compared before namePrefix, nameSuffix and namespace of this kustomization apply
    error[wrong-type]: a list cannot be merged with a map
     --> patched/z.yaml:4:7
      |
    4 | data: [1]
      |       ^^^
      |
     ::: patched/a.yaml:6:3
      |
    6 |   a: b
      |   ---- the existing value is a map
      |
      = resource: ConfigMap a
      = field: data
      = help: to change its type, set the field to null in an earlier patch
    ");
    assert_eq!(
        reported.matches("error[").count(),
        if reported.contains("z.yaml") { 3 } else { 2 },
        "{reported}"
    );
    let many = rejected(home.path(), &["build", "app", "patched", "--message-format", "json"]);
    for message in messages(&many).iter().filter(|message| message["code"] != "summary") {
        assert!(message["target"].is_string(), "{message}");
    }
}

#[test]
fn error_in_one_field_does_not_hide_others() {
    let home = temp_dir_with(
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
    let reported = rejected(home.path(), &["build", "app"]);
    insta::assert_snapshot!(reported, @r"
    warning[deprecated-field]: `bases` is deprecated
     --> app/kustomization.yaml:2:1
      |
    2 | bases: []
      | ^^^^^
      |
      = help: use `resources` instead
    error[unknown-field]: unknown field `namespce`
     --> app/kustomization.yaml:3:1
      |
    3 | namespce: x
      | ^^^^^^^^
      |
      = field: namespce
      = help: did you mean `namespace`?
    error[wrong-type]: expected a string, found a list
     --> app/kustomization.yaml:4:17
      |
    4 | images: [{name: [y]}, {nam: z}]
      |                 ^^^
      |
      = field: images[0].name
    error[unknown-field]: unknown field `nam`
     --> app/kustomization.yaml:4:24
      |
    4 | images: [{name: [y]}, {nam: z}]
      |                        ^^^
      |
      = field: images[0].nam
      = help: did you mean `name`?
    error[wrong-type]: expected an integer, found a string
     --> app/kustomization.yaml:6:20
      |
    6 | - {name: a, count: many}
      |                    ^^^^
      |
      = field: replicas[0].count
    error[io]: `nope.yaml` cannot be read: no such file or directory
     --> app/kustomization.yaml:1:13
      |
    1 | resources: [nope.yaml, a.yaml]
      |             ^^^^^^^^^
      |
      = note: the path leads to app/nope.yaml
      = help: paths are relative to the directory of the kustomization file
    error[io]: `../nothing` cannot be read: no such file or directory
     --> app/kustomization.yaml:7:14
      |
    7 | components: [../nothing]
      |              ^^^^^^^^^^
      |
      = note: the path leads to nothing
      = help: paths are relative to the directory of the kustomization file
    error[io]: `p.yaml` cannot be read: no such file or directory
     --> app/kustomization.yaml:9:9
      |
    9 | - path: p.yaml
      |         ^^^^^^
      |
      = note: the path leads to app/p.yaml
      = help: did you mean `a.yaml`?
    error[io]: `gone.txt` cannot be read: no such file or directory
      --> app/kustomization.yaml:11:21
       |
    11 | - {name: c, files: [gone.txt]}
       |                     ^^^^^^^^
       |
       = note: the path leads to app/gone.txt
       = help: paths are relative to the directory of the kustomization file
    ");
    let reported = rejected(home.path(), &["build", "patched"]);
    insta::assert_snapshot!(reported, @r#"
    warning[deprecated-field]: `bases` is deprecated
     --> patched/kustomization.yaml:2:1
      |
    2 | bases: []
      | ^^^^^
      |
      = help: use `resources` instead
    error[missing-field]: the document has no `x`
     --> patched/kustomization.yaml:4:57
      |
    4 | - {target: {name: a}, patch: '[{"op": "remove", "path": "/x"}]'}
      |                                                         ^^^^
      |
      = resource: ConfigMap a
      = field: /x
      = note: operation 1
      = help: correct the path, or drop the operation
    error[missing-field]: the document has no `y`
     --> patched/kustomization.yaml:5:57
      |
    5 | - {target: {name: a}, patch: '[{"op": "remove", "path": "/y"}]'}
      |                                                         ^^^^
      |
      = resource: ConfigMap a
      = field: /y
      = note: operation 1
      = help: correct the path, or drop the operation
    error[no-match]: no resource with replicas matches `nobody`
     --> patched/kustomization.yaml:7:10
      |
    7 | - {name: nobody, count: 1}
      |          ^^^^^^
      |
      = note: searched kinds: Deployment, StatefulSet, ReplicaSet, ReplicationController
      = help: use the name from the base, without prefix and suffix
    "#);
}

#[test]
fn each_mistake_is_reported_once() {
    let inline = r#"resources: [nope.yaml]
patches:
- target: {kind: Deployment}
  patch: |-
    - {op: remove, path: /x}
- patch: '{"kind": "x"}'
replacements: [{sourceValue: x}]
"#;
    let home = temp_dir_with(
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
        let reported = rejected(home.path(), &["build", name, "--message-format", "json"]);
        let errors = messages(&reported).into_iter().filter(|reported| reported["severity"] == "error");
        let texts: Vec<String> = errors.map(|reported| reported["message"].to_string()).collect();
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
fn invalid_patch_target_is_reported_despite_an_empty_patch() {
    for target in ["{name: \"(\"}", "{labelSelector: \"(\"}"] {
        let kustomization = format!(
            r#"resources: [a.yaml]
patches: [{{target: {target}, patch: "[]"}}]
"#
        );
        let home = temp_dir(&[("app/kustomization.yaml", &kustomization), ("app/a.yaml", &cm("a"))]);
        let reported = reported(home.path(), &["build", "app", "--message-format", "json"]);
        let reported = messages(&reported);
        let warnings: Vec<_> = reported.iter().filter(|reported| reported["severity"] == "warning").collect();
        assert!(warnings.len() >= 2, "{reported:?}");
        assert!(warnings.iter().any(|reported| reported["locations"][0]["line"] == 2), "{reported:?}");
    }
}
