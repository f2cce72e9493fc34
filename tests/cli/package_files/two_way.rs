//! Arguments, and two-way merges.

use std::fs;

use kubectl_smp_testing::program::{self, run};

use super::{WEB, merge3, merged, packages, text, with_new_image};

#[test]
fn in_place_conflicts_exit_with_status_3() {
    let dest = WEB.replace("replicas: 1", "replicas: 5");
    let updated = WEB.replace("replicas: 1", "replicas: 2");
    for policy in ["updated", "dest", "markers"] {
        let directory = packages([&[("w.yaml", WEB)], &[("w.yaml", &updated)], &[("w.yaml", &dest)]]);
        let output = merge3(&directory, &["--in-place", "--on-conflict", policy]);
        assert_eq!(output.status.code(), Some(3), "{policy}: {output:?}");
    }
    let help = text(&run(std::path::Path::new("."), &["merge3", "--help"]).stdout);
    let start: String = help.lines().take(8).collect();
    insta::assert_snapshot!(start, @"Merge upstream changes into customized manifests (three-way merge)The exit status is 3 if files were changed in place and there were conflicts.Usage: kubectl smp merge3 [OPTIONS] <ORIGINAL> <UPDATED> <DEST>       kubectl smp merge3 [OPTIONS] --original <PATH> --updated <PATH> --dest <PATH>       kubectl smp merge3 [OPTIONS] --git-driver <ORIGINAL> <CURRENT> <OTHER> <PATH>");
}

#[test]
fn merge3_accepts_positional_arguments() {
    let updated = with_new_image(WEB);
    let directory = packages([&[("w.yaml", WEB)], &[("w.yaml", &updated)], &[("w.yaml", WEB)]]);
    let merge3 = |args: &[&str]| run(directory.path(), &[&["merge3"], args].concat());
    let output = merge3(&["original", "updated", "dest"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), updated.clone()), "{output:?}");
    assert_eq!(merge3(&["original", "updated", "dest", "--in-place"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(directory.path().join("dest/w.yaml")).expect("there"), updated);
    for wrong in [
        &[][..],
        &["--original", "original", "--dest", "dest"],
        &["original", "updated"],
        &["original", "updated", "dest", "--dest", "dest"],
        &["-", "-", "dest"],
    ] {
        assert_eq!(merge3(wrong).status.code(), Some(2), "{wrong:?}");
    }
    let help = text(&merge3(&["-h"]).stdout);
    let four = text(&merge3(&["original", "updated", "dest", "more"]).stderr);
    insta::assert_snapshot!(four, @r"
    error[usage]: 3 values required for '[ORIGINAL] [UPDATED] [DEST]' but 4 were provided
     |
     = help: Usage: kubectl smp merge3 [OPTIONS] <ORIGINAL> <UPDATED> <DEST>
             kubectl smp merge3 [OPTIONS] --original <PATH> --updated <PATH> --dest <PATH>
             kubectl smp merge3 [OPTIONS] --git-driver <ORIGINAL> <CURRENT> <OTHER> <PATH>
             For more information, try '--help'.
    ");
    for usage in [
        "\n  [ORIGINAL] [UPDATED] [DEST]  Files or directories, instead of --original",
        "merge3 [OPTIONS] <ORIGINAL> <UPDATED> <DEST>",
        "merge3 [OPTIONS] --original <PATH> --updated <PATH> --dest <PATH>",
    ] {
        assert!(help.contains(usage), "{help}");
    }
}

#[test]
fn merge_source_can_be_standard_input() {
    let directory = packages([&[], &[], &[("w.yaml", WEB)]]);
    let output = program::run_with_stdin(
        program::command(directory.path(), &["merge", "-", "dest/w.yaml"]),
        &with_new_image(WEB),
    );
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), with_new_image(WEB)), "{output:?}");
}

#[test]
fn two_way_merge_keeps_comments_after_keys_and_replaces_scalars_silently() {
    let manifest = |spec: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: Thing
metadata:
  name: a
spec:
{spec}"
        )
    };
    let source = manifest(
        r"  map: # why
    a: 1
  list: # which
  - x
  value: 2 # new
  same:
    a: 1
",
    );
    let dest = manifest(
        r"  map:
    a: 2
  list:
  - y
  value: 1 # old
  same: # mine
    a: 1
",
    );
    let want = manifest(
        r"  map: # why
    a: 1
  list: # which
  - x
  value: 2 # new
  same: # mine
    a: 1
",
    );
    let directory = packages([&[("t.yaml", &source)], &[], &[("t.yaml", &dest)]]);
    let output = run(directory.path(), &["merge", "original/t.yaml", "dest/t.yaml", "--strict"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), want), "{output:?}");
}

#[test]
fn null_removes_fields_if_enabled() {
    let map = |data: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
{data}"
        )
    };
    let (old, new, cleared) = (
        map(r"  a: x
  b: y
"),
        map(r"  a: null
  b: y
"),
        map("  b: y\n"),
    );
    let directory = packages([&[("m.yaml", &old)], &[("m.yaml", &new)], &[("m.yaml", &old)]]);
    for (args, want) in [(&[][..], &new), (&["--nulls=clear"], &cleared), (&["--dialect=kyaml"], &cleared)] {
        let output = merge3(&directory, args);
        assert_eq!((output.status.code(), &text(&output.stdout)), (Some(0), want), "{args:?} {output:?}");
    }
}

const PAIRS: &str = r"
definitions:
  com.example.v1.Thing:
    type: object
    x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Thing}]
    properties:
      apiVersion: {type: string}
      kind: {type: string}
      metadata: {type: object, properties: {name: {type: string}}}
      list:
        type: array
        items: {type: object, properties: {foo: {type: string}, bar: {type: string}, baz: {type: string}, other: {type: string}}}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo
        x-kubernetes-recommended-patch-merge-key: foo,bar,baz
";

#[test]
fn merges_match_entries_by_recommended_merge_keys() {
    let thing = |entries: &[&str]| {
        let entries = entries.iter().map(|entry| format!("- {{{entry}}}\n")).collect::<Vec<_>>().concat();
        let list = if entries.is_empty() { String::new() } else { format!("list:\n{entries}") };
        format!(
            "\
apiVersion: example.com/v1
kind: Thing
metadata: {{name: a}}
{list}"
        )
    };
    let (x, z) = ("foo: a, bar: x", "foo: a, bar: z");
    let changed = ["foo: a, bar: x, other: \"1\"", "foo: a, bar: z, other: \"2\""];
    let (gained, both) = ("foo: a, bar: x, baz: m", "foo: a, bar: x, baz: m, other: \"1\"");
    let table = [
        [thing(&[]), thing(&[x]), thing(&[z]), thing(&[z, x])],
        [thing(&[x, z]), thing(&[changed[0], z]), thing(&[x, changed[1]]), thing(&changed)],
        // An entry that gains a key is still the same entry, and the change of the other side is kept.
        [thing(&[x]), thing(&[gained]), thing(&[changed[0]]), thing(&[both])],
        [thing(&[x, z]), thing(&[gained, z]), thing(&[changed[0], z]), thing(&[both, z])],
        [thing(&[x]), thing(&[z]), thing(&[changed[0]]), thing(&["foo: a, bar: z, other: \"1\""])],
    ];
    for [original, updated, dest, want] in table {
        let directory = packages([&[("t.yaml", &original)], &[("t.yaml", &updated)], &[("t.yaml", &dest)]]);
        fs::write(directory.path().join("schema.yaml"), PAIRS).expect("written");
        let output = merge3(&directory, &["--schema", "schema.yaml", "--exit-code"]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), want), "{output:?}");
    }
}

#[test]
fn two_way_merge_takes_other_files_from_the_source() {
    let directory = packages([
        &[
            ("web.yaml", &with_new_image(WEB)),
            ("README.md", "src\n"),
            ("new.txt", "n\n"),
            ("values.yaml", "a: 2\n"),
            ("t.yaml", "a: [\n"),
        ],
        &[],
        &[
            ("web.yaml", WEB),
            ("README.md", "dest\n"),
            ("mine.txt", "m\n"),
            (
                "values.yaml",
                "\
a: 1
b: 1
",
            ),
            ("t.yaml", "b: [\n"),
        ],
    ]);
    let output = run(directory.path(), &["merge", "original", "dest", "--in-place"]);
    assert!(output.status.success(), "{output:?}");
    let dest = |name: &str| fs::read_to_string(directory.path().join("dest").join(name)).expect("there");
    assert_eq!(dest("web.yaml"), with_new_image(WEB));
    for (name, want) in [
        ("README.md", "src\n"),
        ("new.txt", "n\n"),
        ("mine.txt", "m\n"),
        (
            "values.yaml",
            "\
a: 2
b: 1
",
        ),
        ("t.yaml", "a: [\n"),
    ] {
        assert_eq!(dest(name), want, "{name}");
    }
    insta::assert_snapshot!(text(&output.stdout), @r"
    dest/README.md: changed
    dest/new.txt: added
    dest/t.yaml: changed
    dest/values.yaml: document 1: changed a
    dest/web.yaml: Deployment.apps web: changed spec.template.spec.containers[name=web].image
    1 added, 4 changed, 0 removed
    ");
    assert!(text(&output.stderr).contains("so the source's file replaces it"), "{output:?}");
}

#[test]
fn two_way_merge_prints_warnings() {
    let thing = |list: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: Thing
metadata: {{name: x}}
spec: {list}
"
        )
    };
    let directory = packages([&[("x.yaml", &thing("[{a: 1}]"))], &[], &[("x.yaml", &thing("[{a: 2}]"))]]);
    let output = run(directory.path(), &["merge", "original", "dest"]);
    insta::assert_snapshot!(text(&output.stderr), @r"
    warning[no-schema]: this list is replaced: no schema defines how its entries merge
     --> original/x.yaml:4:7
      |
    4 | spec: [{a: 1}]
      |       ^^^^^^^^
      |
      = resource: Thing.example.com x
      = field: spec
      = help: provide a schema, or name its merge keys with `$patchMergeKey`
    dest/x.yaml: Thing.example.com x: changed spec
    0 added, 1 changed, 0 removed
    ");
}

#[test]
fn unchanged_files_become_the_updated_version_byte_for_byte() {
    let updated =
        format!("# new words\n{}", with_new_image(WEB).replace("image: web:2", "image:   web:2 # why"));
    let sides =
        [&[("web.yaml", WEB), ("b.yaml", "# x\n")][..], &[("web.yaml", &updated)], &[("web.yaml", WEB)]];
    assert_eq!(merged(sides, "web.yaml"), updated);
}
