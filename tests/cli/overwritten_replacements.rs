//! Replacements that overwrite the result of an earlier replacement.

use kubectl_smp_testing::program::{run, temp_dir};

const MAPS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {x: one, same: two, path: in/the/middle}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
data: {x: two}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {x: was, y: was, list: '[{\"v\": 1}]'}
";

/// A replacement that copies a field of one ConfigMap to a field of another one.
fn copied(from: (&str, &str), to: (&str, &str), options: &str) -> String {
    format!(
        "\
- source: {{kind: ConfigMap, name: {}, fieldPath: {}}}
  targets:
  - select: {{kind: ConfigMap, name: {}}}
    fieldPaths: [{}]
    options: {{{options}}}
",
        from.0, from.1, to.0, to.1
    )
}

/// Returns whether a command succeeded for a kustomization with these replacements, and its messages.
fn reported(command: &str, replacements: &[String]) -> (bool, String) {
    let kustomization = format!(
        "\
resources: [maps.yaml]
replacements:
{}",
        replacements.concat()
    );
    let home = temp_dir(&[("app/maps.yaml", MAPS), ("app/kustomization.yaml", &kustomization)]);
    let output = run(home.path(), &[command, "app"]);
    (output.status.success(), String::from_utf8(output.stderr).expect("a text"))
}

#[test]
fn both_locations_are_reported() {
    let first = copied(("a", "data.x"), ("c", "data.x"), "");
    let second = copied(("b", "data.x"), ("c", "data.x"), "");
    for command in ["build", "blame"] {
        let (built, reported) = reported(command, &[first.clone(), second.clone()]);
        assert!(built, "{reported}");
        assert!(reported.contains("warning[overwritten-replacement]"), "{command}: {reported}");
        assert_eq!(reported.matches("warning[").count(), 1, "{command}: {reported}");
        for location in ["app/kustomization.yaml:11:18", "kustomization.yaml:6:18", "ConfigMap c", "data.x"] {
            assert!(reported.contains(location), "{command}, {location}: {reported}");
        }
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn only_lost_values_are_reported() {
    let to_c = |name, field, options| copied((name, field), ("c", "data.x"), options);
    let whole = to_c("a", "data.x", "");
    let table = [
        ("the same value", vec![whole.clone(), to_c("a", "data.x", "")], false),
        ("an equal value", vec![to_c("a", "data.same", ""), to_c("b", "data.x", "")], false),
        ("a part", vec![to_c("a", "data.path", ""), to_c("b", "data.x", "delimiter: /, index: 1")], false),
        ("another field", vec![whole.clone(), copied(("b", "data.x"), ("c", "data.y"), "")], false),
        (
            "taken in between",
            vec![whole.clone(), copied(("c", "data.x"), ("c", "data.y"), ""), to_c("b", "data.x", "")],
            false,
        ),
        (
            "taken before",
            vec![copied(("c", "data.x"), ("c", "data.y"), ""), whole.clone(), to_c("b", "data.x", "")],
            true,
        ),
        (
            "taken with the map around it",
            vec![whole.clone(), copied(("c", "data"), ("b", "data"), ""), to_c("a", "data.path", "")],
            false,
        ),
        (
            "an exception to what was written to all",
            vec![copied(("a", "data.x"), ("b|c", "data.x"), ""), to_c("a", "data.same", "")],
            false,
        ),
        (
            "resources are selected by labels in between",
            vec![
                whole.clone(),
                copied(("a", "data.x"), ("b", "data.x"), "")
                    .replace("{kind: ConfigMap, name: b}", "{labelSelector: a=b}"),
                to_c("b", "data.x", ""),
            ],
            false,
        ),
        ("a value of the manifest", vec![whole.clone()], false),
        (
            "two targets of one",
            vec![format!(
                "\
{whole}  - select: {{name: c}}
    fieldPaths: [data.x]
"
            )],
            false,
        ),
        (
            "a source, not written",
            vec![copied(("c", "data.y"), ("c", "data.x"), ""), copied(("b", "data.x"), ("c", "data.y"), "")],
            false,
        ),
        (
            "a new field",
            vec![
                copied(("a", "data.x"), ("c", "data.new"), "create: true"),
                copied(("b", "data.x"), ("c", "data.new"), "create: true"),
            ],
            true,
        ),
        (
            "in a text",
            vec![
                copied(("a", "data.x"), ("c", "data.list.0.v"), ""),
                copied(("b", "data.x"), ("c", "data.list.0.v"), ""),
            ],
            false,
        ),
    ];
    for (name, replacements, want) in table {
        for command in ["build", "blame"] {
            let (built, reported) = reported(command, &replacements);
            assert!(built, "{name}: {reported}");
            assert_eq!(reported.contains("overwritten-replacement"), want, "{command}, {name}: {reported}");
        }
    }
}

#[test]
fn overwriting_a_replacement_of_a_base_is_not_reported() {
    let kustomization = |resources: &str, replacement: String| {
        format!(
            "\
resources: [{resources}]
replacements:
{replacement}"
        )
    };
    let base = kustomization("maps.yaml", copied(("a", "data.x"), ("c", "data.x"), ""));
    let over = kustomization("../base", copied(("b", "data.x"), ("c", "data.x"), ""));
    let home = temp_dir(&[
        ("base/maps.yaml", MAPS),
        ("base/kustomization.yaml", &base),
        ("app/kustomization.yaml", &over),
    ]);
    let output = run(home.path(), &["build", "app"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
