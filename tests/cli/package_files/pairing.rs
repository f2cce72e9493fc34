//! Matching of resources across the three directories.

use std::fs;

use super::{WEB, merge3, merged, packages, text, with_new_image};

#[test]
fn resource_renamed_in_dest_is_matched() {
    let named = |metadata: &str| WEB.replace("metadata:\n  name: web\n", metadata);
    for metadata in [
        "\
metadata:
  name: web
  namespace: shop
",
        "\
metadata:
  name: web
  namespace: default
",
        "\
metadata:
  name: prod-web
",
        "\
metadata:
  name: web-v1
  namespace: shop
",
        "\
metadata: # kpt-merge: /web
  name: shopfront
",
        "\
metadata:
  name: shopfront
  annotations:
    internal.kpt.dev/upstream-identifier: 'apps|Deployment|default|web'
",
        "\
metadata:
  name: shopfront
",
    ] {
        let dest = named(metadata).replace("replicas: 1", "replicas: 3");
        let sides = [&[("web.yaml", WEB)][..], &[("web.yaml", &with_new_image(WEB))], &[("web.yaml", &dest)]];
        assert_eq!(merged(sides, "web.yaml"), with_new_image(&dest), "{metadata}");
    }
}

#[test]
fn upstream_identities_match_across_files() {
    let diagnostics = WEB.replace(
        "metadata:\n  name: web\n",
        "\
metadata: # kpt-merge: shop/web
  name: frontend
",
    );
    let original = WEB.replace(
        "  name: web\n",
        r"  name: web
  namespace: shop
",
    );
    let sides = [
        &[("a.yaml", &*original)][..],
        &[("a.yaml", &with_new_image(&original))],
        &[("other/b.yaml", &diagnostics)],
    ];
    assert_eq!(merged(sides, "other/b.yaml"), with_new_image(&diagnostics));
}

#[test]
fn ambiguous_candidates_are_not_matched() {
    let as_name = |name: &str| WEB.replace("  name: web\nspec", &format!("  name: {name}\nspec"));
    let dest = [as_name("a-web"), as_name("b-web")].join("---\n");
    let directory =
        packages([&[("web.yaml", WEB)], &[("web.yaml", &with_new_image(WEB))], &[("web.yaml", &dest)]]);
    let output = merge3(&directory, &["--in-place", "--on-conflict", "dest", "--exit-code"]);
    assert_eq!(output.status.code(), Some(3), "the lost upgrade of a resource removed in dest is reported");
    assert_eq!(fs::read_to_string(directory.path().join("dest/web.yaml")).expect("there"), dest);
    insta::assert_snapshot!(text(&output.stdout), @r"
    warning[conflict]: dest removed this resource, and the updated version changes it: dest's version is kept
     --> updated/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | ^ in the updated version
      |
     ::: original/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - in the original
      |
      = resource: Deployment.apps web
      = note: missing in dest
    nothing changed, 1 conflict
    ");
}

#[test]
fn documents_without_a_kind_are_paired_by_content() {
    let head = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: x}
";
    let docs = |docs: &[&str]| [&[head], docs].concat().join("---\n");
    let original = docs(&[
        "\
first: 1
a: x
",
        "\
second: 1
b: x
",
    ]);
    let updated = docs(&[
        "new: 1\n",
        "\
first: 1
a: x
",
        "\
second: 2
b: x
",
    ]);
    let dest = docs(&["\
second: 1 # mine
b: x
c: y
"]);
    let sides = [&[("x.yaml", &*original)][..], &[("x.yaml", &updated)], &[("x.yaml", &dest)]];
    assert_eq!(
        merged(sides, "x.yaml"),
        docs(&[
            "\
second: 2 # mine
b: x
c: y
",
            "new: 1\n"
        ])
    );
}
