//! Kustomizations and definitions changed on both sides, renamed and moved resources.

use std::fs;

use kubectl_smp_testing::program::run;
use serde_json::Value;

use super::{WEB, merge3, merged, packages, text, with_new_image};

#[test]
fn kustomization_scalars_are_read_as_in_kustomize() {
    let kustomization = |tag: &str| {
        format!(
            "\
kind: Kustomization
namePrefix: a-
images:
- name: web
  newTag: {tag}
"
        )
    };
    let [original, updated, dest] = [kustomization("y"), kustomization("on"), kustomization("y")];
    let name = "kustomization.yaml";
    let sides = [&[(name, &*original)][..], &[(name, &updated)], &[(name, &dest.replace("a-", "b-"))]];
    assert_eq!(merged(sides, name), updated.replace("a-", "b-"));
    let name = "other.yaml";
    let sides = [&[(name, &*original)][..], &[(name, &updated)], &[(name, &dest.replace("a-", "b-"))]];
    assert_eq!(merged(sides, name), dest.replace("a-", "b-"), "both are `true` to kubectl");
}

#[test]
fn files_moved_upstream_are_moved() {
    let kustomization = |path: &str| {
        format!(
            "\
resources:
- {path}
"
        )
    };
    let old = kustomization("web.yaml");
    let new = kustomization("apps/web.yaml");
    let updated = with_new_image(WEB);
    let versions = |dest: &str| {
        let directory = packages([
            &[("kustomization.yaml", &old), ("web.yaml", WEB)],
            &[("kustomization.yaml", &new), ("apps/web.yaml", &updated)],
            &[("kustomization.yaml", &old), ("web.yaml", dest)],
        ]);
        let output = merge3(&directory, &["--in-place", "--exit-code"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(text(&output.stdout).contains("moved from dest/web.yaml"), "{output:?}");
        let dest = directory.path().join("dest");
        assert!(!dest.join("web.yaml").exists());
        assert_eq!(fs::read_to_string(dest.join("kustomization.yaml")).expect("there"), new);
        fs::read_to_string(dest.join("apps/web.yaml")).expect("moved")
    };
    assert_eq!(versions(WEB), updated, "as it came");
    let customised = format!("# ours\n{}", WEB.replace("replicas: 1", "replicas: 3 # more"));
    assert_eq!(versions(&customised), with_new_image(&customised));
}

#[test]
fn resource_renamed_on_one_side_is_matched() {
    let renamed = WEB.replace("name: web\nspec", "name: acme-web\nspec");
    let sides = [&[("web.yaml", WEB)][..], &[("web.yaml", &renamed)], &[("web.yaml", &with_new_image(WEB))]];
    assert_eq!(merged(sides, "web.yaml"), with_new_image(&renamed));
}

#[test]
fn heuristic_matches_never_delete_resources() {
    let config = |name: &str, value: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  a: '{value}'
"
        )
    };
    let (old, own) = (config("config", "1"), config("grafana-config", "2"));
    let sides = [&[("config.yaml", &*old)][..], &[], &[("grafana.yaml", &own)]];
    assert_eq!(merged(sides, "grafana.yaml"), own);
    let (old, own) = (config("web", "1"), config("mine", "7"));
    let sides = [&[("a.yaml", &*old)][..], &[], &[("a.yaml", &own)]];
    assert_eq!(merged(sides, "a.yaml"), own);
}

#[test]
fn resource_moved_to_a_namespace_is_removed_if_upstream_removes_it() {
    let renamed = WEB.replace(
        "name: web\nspec",
        "\
name: web
  namespace: shop
spec",
    );
    let other = WEB.replace("name: web\nspec", "name: other\nspec");
    let (original, updated) = ([("web.yaml", WEB), ("o.yaml", &*other)], [("o.yaml", &*other)]);
    assert_eq!(merged([&original, &updated, &[("web.yaml", &renamed), ("o.yaml", &other)]], "web.yaml"), "");
}

#[test]
fn upstream_identity_takes_precedence_over_name() {
    let config = |metadata: &str, value: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata:{metadata}
data:
  a: '{value}'
"
        )
    };
    let (old, new) = (config("\n  name: a", "1"), config("\n  name: a", "2"));
    let dest = |value: &str| {
        [config(" # kpt-merge: default/a\n  name: x", value), config("\n  name: a", "mine")].join("---\n")
    };
    let sides = [&[("a.yaml", &*old)][..], &[("a.yaml", &new)], &[("a.yaml", &dest("1"))]];
    assert_eq!(merged(sides, "a.yaml"), dest("2"));
}

#[test]
fn ambiguous_match_is_added_with_a_warning() {
    let own = WEB.replace("replicas: 1", "replicas: 3");
    let directory = packages([
        &[("a.yaml", WEB)],
        &[("b.yaml", &with_new_image(WEB))],
        &[("c.yaml", &own), ("d.yaml", &own)],
    ]);
    let output = merge3(&directory, &[]);
    insta::assert_snapshot!(text(&output.stderr), @r"
    warning[ambiguous]: several resources in the destination may match this resource, so it is added as a new one
     --> updated/b.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | ^ added resource
      |
     ::: dest/c.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - possible match
      |
     ::: dest/d.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - possible match
      |
      = resource: Deployment.apps web
      = help: mark the matching resource with `# kpt-merge: NAMESPACE/NAME` after `metadata:`
    warning[conflict]: dest removed this resource, and the updated version changes it: it is added again
     --> updated/b.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | ^ in the updated version
      |
     ::: original/a.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - in the original
      |
      = resource: Deployment.apps web
      = note: missing in dest
    dest/b.yaml: Deployment.apps web: added
    1 added, 0 changed, 0 removed, 1 conflict
    warning: 2 warnings; 1 duplicate was not shown
    ");
    assert_eq!(text(&output.stdout).matches("kind: Deployment").count(), 3);
}

#[test]
fn resources_added_on_both_sides_are_kept() {
    for head in [
        "",
        "\
kind: Kustomization
apiVersion: kustomize.config.k8s.io/v1beta1
",
    ] {
        let kustomization = |more: &str, tag: &str| {
            format!(
                "\
{head}resources:
- a.yaml
{more}images:
- name: web
  newTag: '{tag}'
- name: log
  newTag: '1'
"
            )
        };
        let original = kustomization("", "1");
        let (updated, dest) = (kustomization("- up.yaml\n", "2"), kustomization("- mine.yaml\n", "1"));
        let dest = dest.replace("log\n  newTag: '1'", "log\n  newTag: '9'");
        let name = "kustomization.yaml";
        let sides = [&[(name, &*original)][..], &[(name, &updated)], &[(name, &dest)]];
        let want = kustomization(
            "\
- mine.yaml
- up.yaml
",
            "2",
        )
        .replace("log\n  newTag: '1'", "log\n  newTag: '9'");
        assert_eq!(merged(sides, name), want);
    }
}

#[test]
fn versions_of_a_definition_changed_on_both_sides_are_merged() {
    let definition = |required: &str, size: &str| {
        format!(
            "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ws.x.io
spec:
  group: x.io
  names:
    kind: W
    plural: ws
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: {required}
        properties:
          size:
            type: {size}
"
        )
    };
    let original = definition("[id]", "integer");
    let (updated, dest) = (definition("[id, qty]", "integer"), definition("[id]", "number"));
    let sides = [&[("crd.yaml", &*original)][..], &[("crd.yaml", &updated)], &[("crd.yaml", &dest)]];
    assert_eq!(merged(sides, "crd.yaml"), definition("[id, qty]", "number"));
}

#[test]
fn lists_merge_by_the_schema_of_the_updated_definition() {
    let definition = |list: &str| {
        format!(
            "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ws.x.io
spec:
  group: x.io
  names:
    kind: W
    plural: ws
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          l:
            type: array
{list}            items:
              type: object
              properties: {{id: {{type: string}}}}
"
        )
    };
    let (old, new) = (
        definition("            x-kubernetes-list-type: atomic\n"),
        definition(
            r"            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [id]
",
        ),
    );
    let custom = |entries: &str| {
        format!(
            "\
apiVersion: x.io/v1
kind: W
metadata:
  name: w
l:
- id: a
{entries}"
        )
    };
    let [original, updated, dest] = ["", "- id: up\n", "- id: mine\n"].map(custom);
    let sides = [
        &[("crd.yaml", &*old), ("w.yaml", &original)][..],
        &[("crd.yaml", &new), ("w.yaml", &updated)],
        &[("crd.yaml", &old), ("w.yaml", &dest)],
    ];
    assert_eq!(
        merged(sides, "w.yaml"),
        custom(
            "\
- id: mine
- id: up
"
        )
    );
}

#[test]
fn scalars_that_kubectl_parses_differently_keep_their_spelling() {
    let custom = |panel: &str| {
        format!(
            "\
apiVersion: x.io/v1
kind: Board
metadata:
  name: b
spec:
  title: a
{panel}"
        )
    };
    let panel = r"  grid: {x: 0, y: 1}
  n:
  - off # as it is
  since: 2024-01-31
  1: on
";
    let (original, updated) = (custom(""), custom(panel));
    let own = |text: String| text.replace("title: a", "title: mine");
    let sides =
        [&[("b.yaml", &*original)][..], &[("b.yaml", &updated)], &[("b.yaml", &own(original.clone()))]];
    assert_eq!(merged(sides, "b.yaml"), own(updated.clone()));
}

#[test]
fn suspicious_output_paths_are_rejected() {
    let sides = || packages([&[("web.yaml", WEB)], &[("web.yaml", WEB)], &[("web.yaml", WEB)]]);
    for (args, why) in [
        (&["--output-dir", "dest/sub"][..], "is inside the input dest: use another directory"),
        (&["--output-dir", "updated"], "is inside the input updated: use another directory"),
        (&["-o", "json"], "use ./json"),
        (&["-o", "dest"], "use --output-dir"),
    ] {
        let directory = sides();
        let output = merge3(&directory, args);
        assert_eq!(output.status.code(), Some(2), "{args:?} {output:?}");
        assert!(text(&output.stderr).contains(why), "{args:?} {output:?}");
        assert_eq!(text(&output.stdout), "");
        assert!(!directory.path().join("dest/sub").exists() && !directory.path().join("json").exists());
    }
    let directory = sides();
    let output = run(directory.path(), &["merge", "updated", "dest/web.yaml"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let marked = WEB.replace(
        "  replicas: 1\n",
        "\
<<<<<<< dest
  replicas: 1
=======
>>>>>>> updated
",
    );
    let directory = packages([&[("web.yaml", WEB)], &[("web.yaml", WEB)], &[("web.yaml", &marked)]]);
    let output = merge3(&directory, &["--in-place"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    insta::assert_snapshot!(text(&output.stderr), @r"
    error[conflict]: dest/web.yaml has unresolved conflict markers
     --> dest/web.yaml:6:1
      |
    6 | ***
      | ^^^ here
      |
      = help: resolve the conflict and remove the markers
    ");
}

#[test]
fn dangling_and_unreferenced_files_are_reported_after_a_merge() {
    let kustomization = |names: &str| format!("resources: [{names}]\n");
    let own = format!("{WEB}---\n{}", WEB.replace("name: web\nspec", "name: mine\nspec"));
    let table = [
        // No kustomization lists a resource that dest added to a file moved upstream.
        (
            [("b.yaml, a.yaml", vec![("a.yaml", WEB)]), ("b.yaml, c.yaml", vec![("c.yaml", WEB)])],
            ("b.yaml, a.yaml", vec![("a.yaml", own.as_str())]),
            "a.yaml is not listed by any kustomization after the merge",
        ),
        // Both sides move the file, and each kustomization lists its own path.
        (
            [("a.yaml", vec![("a.yaml", WEB)]), ("b.yaml", vec![("b.yaml", WEB)])],
            ("c.yaml", vec![("c.yaml", WEB)]),
            "kustomization.yaml lists b.yaml, which does not exist after the merge",
        ),
    ];
    for ([original, updated], dest, reported) in table {
        let texts = [&original, &updated, &dest].map(|(names, _)| kustomization(names));
        let mut files = [original.1, updated.1, dest.1];
        for (files, text) in files.iter_mut().zip(&texts) {
            files.push(("kustomization.yaml", text));
        }
        let directory = packages([&files[0], &files[1], &files[2]]);
        let output = merge3(&directory, &["--in-place"]);
        assert!(output.status.success(), "{output:?}");
        assert!(text(&output.stderr).contains(reported), "{reported}: {output:?}");
    }
}

#[test]
fn patches_of_kustomizations_are_matched_by_path() {
    let kustomization = |paths: &[&str]| {
        let patches: Vec<_> = paths.iter().map(|path| format!("- path: {path}\n")).collect();
        format!("patches:\n{}", patches.concat())
    };
    let name = "kustomization.yaml";
    let [original, updated, dest] =
        [&["p.yaml"][..], &["patches/p.yaml"], &["p.yaml", "own.yaml"]].map(kustomization);
    let sides = [&[(name, &*original)][..], &[(name, &updated)], &[(name, &dest)]];
    let patches = merged(sides, name);
    for path in ["path: patches/p.yaml", "path: own.yaml"] {
        assert!(patches.contains(path), "{patches}");
    }
    assert!(!patches.contains("path: p.yaml"), "{patches}");
}

#[test]
fn files_combined_upstream_are_combined_in_the_same_order() {
    let namespace = "\
apiVersion: v1
kind: Namespace
metadata:
  name: n
";
    let updated = format!("{namespace}---\n{}", with_new_image(WEB));
    let dest = WEB.replace("replicas: 1", "replicas: 5");
    let sides = [
        &[("z.yaml", namespace), ("app.yaml", WEB)][..],
        &[("all.yaml", &updated)],
        &[("z.yaml", namespace), ("app.yaml", &dest)],
    ];
    assert_eq!(merged(sides, "all.yaml"), format!("{namespace}---\n{}", with_new_image(&dest)));
}

#[test]
fn new_items_are_added_to_their_list() {
    let item = |name: &str, value: &str| {
        format!(
            "\
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: {name}
  data:
    a: '{value}'
"
        )
    };
    let list = |items: &[String]| {
        format!(
            "\
apiVersion: v1
kind: List
items:
{}",
            items.concat()
        )
    };
    let original = list(&[item("a", "1")]);
    let (updated, dest) = (list(&[item("a", "1"), item("b", "2")]), list(&[item("a", "mine")]));
    let sides = [&[("l.yaml", &*original)][..], &[("l.yaml", &updated)], &[("l.yaml", &dest)]];
    assert_eq!(merged(sides, "l.yaml"), list(&[item("a", "mine"), item("b", "2")]));
}

#[test]
fn names_changed_on_both_sides_are_a_conflict() {
    let named = |name: &str| WEB.replace("name: web\nspec", &format!("name: {name}\nspec"));
    let (updated, dest) = (named("b"), named("c"));
    let directory = packages([&[("w.yaml", WEB)], &[("w.yaml", &updated)], &[("w.yaml", &dest)]]);
    let output = merge3(&directory, &["--report", "json", "--in-place"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["conflicts"][0]["field"], "metadata.name", "{report}");
    let result = fs::read_to_string(directory.path().join("dest/w.yaml")).expect("there");
    assert_eq!(result, updated, "one resource");
}
