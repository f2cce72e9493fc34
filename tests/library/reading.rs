//! Scalars and keys as kustomize and kubectl parse them, and as this library parses them.
//!
//! The tables need neither program. If kubectl is installed, its own results and those of its kustomize are
//! compared with the tables.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::{
    Node, ParseOptions, parse_documents, parse_one, to_json, to_yaml, write_documents_in_source_style,
};

/// A YAML text, and the JSON values that kustomize and kubectl parse from it.
type Row = (&'static str, &'static str, &'static str);

/// Marks a text that is an error.
const REFUSED: &str = "refused";

/// Scalars and a list.
const VALUES: &[Row] = &[
    ("y", r#""y""#, "true"),
    ("Y", r#""Y""#, "true"),
    ("yes", r#""yes""#, "true"),
    ("Yes", r#""Yes""#, "true"),
    ("YES", r#""YES""#, "true"),
    ("on", r#""on""#, "true"),
    ("On", r#""On""#, "true"),
    ("ON", r#""ON""#, "true"),
    ("n", r#""n""#, "false"),
    ("N", r#""N""#, "false"),
    ("no", r#""no""#, "false"),
    ("No", r#""No""#, "false"),
    ("NO", r#""NO""#, "false"),
    ("off", r#""off""#, "false"),
    ("Off", r#""Off""#, "false"),
    ("OFF", r#""OFF""#, "false"),
    ("yEs", r#""yEs""#, r#""yEs""#),
    ("oN", r#""oN""#, r#""oN""#),
    ("yes!", r#""yes!""#, r#""yes!""#),
    ("'yes'", r#""yes""#, r#""yes""#),
    ("\"n\"", r#""n""#, r#""n""#),
    ("|-\n  yes", r#""yes""#, r#""yes""#),
    ("!!str yes", r#""yes""#, r#""yes""#),
    ("!other yes", r#""yes""#, r#""yes""#),
    ("! yes", r#""yes""#, r#""yes""#),
    ("! 12", "12", r#""12""#),
    ("! ~", "null", r#""~""#),
    ("! \"12\"", r#""12""#, r#""12""#),
    ("!!bool yes", REFUSED, "true"),
    ("!!bool true", "true", "true"),
    ("!!bool 1", REFUSED, REFUSED),
    ("true", "true", "true"),
    ("True", "true", "true"),
    ("FALSE", "false", "false"),
    ("tRUE", r#""tRUE""#, r#""tRUE""#),
    ("~", "null", "null"),
    ("Null", "null", "null"),
    ("", "null", "null"),
    ("nULL", r#""nULL""#, r#""nULL""#),
    ("2024-01-31", r#""2024-01-31T00:00:00Z""#, r#""2024-01-31""#),
    ("2024-1-3", r#""2024-01-03T00:00:00Z""#, r#""2024-1-3""#),
    ("2024-01-31 10:20:30", r#""2024-01-31T10:20:30Z""#, r#""2024-01-31 10:20:30""#),
    ("2024-01-31T10:20:30+02:00", r#""2024-01-31T10:20:30+02:00""#, r#""2024-01-31T10:20:30+02:00""#),
    ("!!timestamp 2024-01-31", r#""2024-01-31T00:00:00Z""#, r#""2024-01-31""#),
    ("\"2024-01-31\"", r#""2024-01-31""#, r#""2024-01-31""#),
    ("2024-02-31", r#""2024-02-31""#, r#""2024-02-31""#),
    ("0", "0", "0"),
    ("-0", "0", "0"),
    ("+12", "12", "12"),
    ("0777", "511", "511"),
    ("0o17", "15", "15"),
    ("0o8", r#""0o8""#, r#""0o8""#),
    ("08", "8", "8"),
    ("0b101", "5", "5"),
    ("-0b101", "-5", "-5"),
    ("0x1F", "31", "31"),
    ("0x_1F", "31", "31"),
    ("1_000", "1000", "1000"),
    ("1:20", r#""1:20""#, r#""1:20""#),
    ("190:20:30", r#""190:20:30""#, r#""190:20:30""#),
    ("9223372036854775807", "9223372036854775807", "9223372036854775807"),
    ("99999999999999999999", "100000000000000000000", "100000000000000000000"),
    ("1.50", "1.5", "1.5"),
    ("1.", "1", "1"),
    (".5", "0.5", "0.5"),
    ("1e3", "1000", "1000"),
    ("1e400", r#""1e400""#, r#""1e400""#),
    ("1.2.3", r#""1.2.3""#, r#""1.2.3""#),
    ("100m", r#""100m""#, r#""100m""#),
    ("!!int 010", "8", "8"),
    ("!!int x", REFUSED, REFUSED),
    ("!!float 5", "5", "5"),
    ("!!str 1", r#""1""#, r#""1""#),
    (".inf", REFUSED, REFUSED),
    ("-.Inf", REFUSED, REFUSED),
    (".nan", REFUSED, REFUSED),
    ("inf", r#""inf""#, r#""inf""#),
    ("=", r#""=""#, r#""=""#),
    ("<<", r#""\u003c\u003c""#, r#""\u003c\u003c""#),
    ("[no, {y: n}]", r#"["no",{"y":"n"}]"#, r#"[false,{"true":false}]"#),
];

/// Maps with various keys.
const MAPS: &[Row] = &[
    ("{y: 1}", r#"{"y":1}"#, r#"{"true":1}"#),
    ("{n: 1}", r#"{"n":1}"#, r#"{"false":1}"#),
    ("{on: 1, Off: 2}", r#"{"Off":2,"on":1}"#, r#"{"false":2,"true":1}"#),
    ("{'n': 1, \"yes\": 2, nO: 3}", r#"{"n":1,"nO":3,"yes":2}"#, r#"{"n":1,"nO":3,"yes":2}"#),
    ("{!!str n: 1}", r#"{"n":1}"#, r#"{"n":1}"#),
    ("{true: 1}", REFUSED, r#"{"true":1}"#),
    ("{1: 1}", REFUSED, r#"{"1":1}"#),
    ("{-0x10: 1, 0777: 2, 1_0: 3}", REFUSED, r#"{"-16":1,"10":3,"511":2}"#),
    ("{1.50: 1}", REFUSED, r#"{"1.5":1}"#),
    ("{1e6: 1, 1234567.5: 2}", REFUSED, r#"{"1.2345675e+06":2,"1e+06":1}"#),
    ("{.5: 1, .inf: 2}", REFUSED, r#"{".inf":2,"0.5":1}"#),
    ("{2024-01-31: 1}", REFUSED, r#"{"2024-01-31":1}"#),
    ("{1:20: 1}", r#"{"1:20":1}"#, r#"{"1:20":1}"#),
    ("{~: 1}", REFUSED, REFUSED),
    ("{18446744073709551615: 1}", REFUSED, REFUSED),
    ("{? [a] : 1}", REFUSED, REFUSED),
    ("{x: &x yes, y: *x}", r#"{"x":"yes","y":"yes"}"#, r#"{"true":true,"x":true}"#),
    (
        "{x: &x {a: 1, b: 2}, z: {<<: *x, a: 3}}",
        r#"{"x":{"a":1,"b":2},"z":{"a":3,"b":2}}"#,
        r#"{"x":{"a":1,"b":2},"z":{"a":3,"b":2}}"#,
    ),
    (
        "{x: &x {a: 1, b: 2}, z: {a: 3, <<: *x}}",
        r#"{"x":{"a":1,"b":2},"z":{"a":3,"b":2}}"#,
        r#"{"x":{"a":1,"b":2},"z":{"a":1,"b":2}}"#,
    ),
    (
        "{z: {<<: [{a: 1, b: 2}, {b: 3, c: 4}]}}",
        r#"{"z":{"a":1,"b":2,"c":4}}"#,
        r#"{"z":{"a":1,"b":2,"c":4}}"#,
    ),
    ("{z: {<<: {a: 1}, b: 2, <<: {b: 3}}}", REFUSED, r#"{"z":{"a":1,"b":3}}"#),
    ("{z: {<<: 1}}", REFUSED, REFUSED),
    ("{z: {! <<: {a: 1}}}", r#"{"z":{"a":1}}"#, r#"{"z":{"a":1}}"#),
    (
        "{z: {<<: [{<<: {a: 1, b: 2}, c: 3}, {a: 7, c: 8}]}}",
        r#"{"z":{"a":7,"b":2,"c":3}}"#,
        r#"{"z":{"a":1,"b":2,"c":3}}"#,
    ),
    (
        "{x: &x {a: 1}, z: {<<: [{<<: *x, b: 2}, {<<: *x, c: 3}]}}",
        r#"{"x":{"a":1},"z":{"a":1,"b":2,"c":3}}"#,
        r#"{"x":{"a":1},"z":{"a":1,"b":2,"c":3}}"#,
    ),
];

/// Syntax that the YAML library of both programs accepts.
const SYNTAX: &[Row] = &[
    ("[cat, -]", r#"["cat","-"]"#, r#"["cat","-"]"#),
    ("[-]", r#"["-"]"#, r#"["-"]"#),
    ("{a: -, b: [ -,-]}", r#"{"a":"-","b":["-","-"]}"#, r#"{"a":"-","b":["-","-"]}"#),
    ("[- ]", REFUSED, REFUSED),
    ("\"v\"#c", r#""v""#, r#""v""#),
    ("['v'#c\n]#d", r#"["v"]"#, r#"["v"]"#),
    ("[a,#c\n b]", r#"["a","b"]"#, r#"["a","b"]"#),
    ("|#c\n  x", r#""x\n""#, r#""x\n""#),
    (">-#c\n  x", r#""x""#, r#""x""#),
    ("|\n  \n # c", r#""""#, r#""""#),
    ("!!str, x", r#""x""#, r#""x""#),
    ("!!int, 5", r#""5""#, r#""5""#),
    ("[!!str, x, z]", r#"["x","z"]"#, r#"["x","z"]"#),
    ("[!!str,x]", REFUSED, REFUSED),
    (r#""it\'s""#, r#""it's""#, r#""it's""#),
    ("\u{feff}x", "\"\u{feff}x\"", "\"\u{feff}x\""),
    ("!!merge <<", r#""\u003c\u003c""#, r#""\u003c\u003c""#),
    (
        "{x: &x {a: 1, b: 2}, z: {!!merge <<: *x, a: 3}}",
        r#"{"x":{"a":1,"b":2},"z":{"a":3,"b":2}}"#,
        r#"{"x":{"a":1,"b":2},"z":{"a":3,"b":2}}"#,
    ),
    ("{x: &x {a: 1}, z: {!!merge '<<': *x}}", r#"{"x":{"a":1},"z":{"a":1}}"#, r#"{"x":{"a":1},"z":{"a":1}}"#),
    ("{x: &x {a: 1}, z: {! <<: *x}}", r#"{"x":{"a":1},"z":{"a":1}}"#, r#"{"x":{"a":1},"z":{"a":1}}"#),
];

/// Values at the end of a text without a final line break.
const ENDS: &[Row] = &[
    ("|\n    x", r#""x""#, r#""x\n""#),
    ("|+\n    x", r#""x""#, r#""x\n""#),
    (">\n    x", r#""x""#, r#""x\n""#),
    ("|-\n    x", r#""x""#, r#""x""#),
    ("|\n    x\n  ", r#""x\n""#, r#""x\n""#),
    ("|\n    x\n      ", r#""x\n  ""#, r#""x\n  \n""#),
    ("|+\n    x\n  ", r#""x\n""#, r#""x\n\n""#),
    (">\n    x\n  ", r#""x\n""#, r#""x\n""#),
    (">+\n    x\n  ", r#""x\n""#, r#""x\n\n""#),
    ("|+\n    x\n\n  ", r#""x\n\n""#, r#""x\n\n\n""#),
    ("|+\n  ", r#""""#, r#""\n""#),
    ("x  ", r#""x""#, r#""x""#),
];

fn rows() -> impl Iterator<Item = &'static Row> {
    VALUES.iter().chain(MAPS).chain(SYNTAX)
}

/// A manifest without a final line break.
fn without_final_line_break(value: &str) -> String {
    let text = manifest(0, value);
    text.strip_suffix('\n').unwrap_or_default().to_string()
}

/// A manifest of a kind that no schema has.
fn manifest(number: usize, value: &str) -> String {
    format!(
        "\
apiVersion: example.com/v1
kind: Row
metadata:
  name: row-{number}
value: {value}
"
    )
}

fn read(text: &str, reading: Reading) -> Option<Node> {
    let sources = SourceMap::default();
    let options = ParseOptions::default().reading(reading);
    parse_one(&sources, sources.add("row.yaml", text), options).ok()
}

fn json_of(text: &str, reading: Reading) -> String {
    let json = read(text, reading).and_then(|node| to_json(node.get("value").expect("given")).ok());
    json.unwrap_or_else(|| REFUSED.into())
}

#[test]
fn values_parse_as_in_kustomize_and_kubectl() {
    for (number, (value, kustomize, kubectl)) in rows().enumerate() {
        let text = manifest(number, value);
        assert_eq!(json_of(&text, Reading::Kustomize), *kustomize, "{value} by kustomize");
        assert_eq!(json_of(&text, Reading::Kubectl), *kubectl, "{value} by kubectl");
    }
}

#[test]
fn block_scalars_at_the_end_of_a_file_parse_as_in_kustomize_and_kubectl() {
    for (value, kustomize, kubectl) in ENDS {
        let text = without_final_line_break(value);
        assert_eq!(json_of(&text, Reading::Kustomize), *kustomize, "{value:?} by kustomize");
        assert_eq!(json_of(&text, Reading::Kubectl), *kubectl, "{value:?} by kubectl");
    }
}

#[test]
fn printed_values_parse_to_the_same_value() {
    for reading in [Reading::Kustomize, Reading::Kubectl] {
        for (value, ..) in rows() {
            let Some(node) = read(&manifest(0, value), reading) else { continue };
            let as_written = write_documents_in_source_style(std::slice::from_ref(&node));
            for text in to_yaml(&node).into_iter().chain([as_written]) {
                assert_eq!(read(&text, reading).as_ref(), Some(&node), "{value} as {reading:?}: {text}");
            }
            // The output is unambiguous for other parsers, too.
            let Ok(text) = to_yaml(&node) else { continue };
            assert_eq!(
                json_of(&text, Reading::Kustomize),
                json_of(&text, Reading::Kubectl),
                "{value}: {text}"
            );
        }
    }
}

/// Runs kubectl without access to a cluster.
fn kubectl(args: &[&str]) -> Output {
    let mut command = Command::new("kubectl");
    command.args(args).env("KUBECONFIG", "/dev/null").output().expect("kubectl on the PATH")
}

/// Compares two JSON texts. An integer equals the same float.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

/// Checks that a program parses all rows as one column of the table says. `column` selects it. The program gets
/// the texts of some rows and returns their values, or none on an error.
fn check(column: fn(&Row) -> &'static str, program: impl Fn(&[String]) -> Option<Vec<Value>>) {
    let texts = rows().enumerate().map(|(number, row)| (manifest(number, row.0), column(row)));
    let (refused, read): (Vec<_>, Vec<_>) = texts.partition(|(_, json)| *json == REFUSED);
    let (texts, want): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let values = program(&texts).expect("readable");
    assert_eq!(values.len(), want.len());
    for ((text, want), value) in texts.iter().zip(want).zip(values) {
        let want: Value = serde_json::from_str(want).expect("JSON in the table");
        assert!(is_same(&value, &want), "{text}is {value}, not {want}");
    }
    for (text, _) in refused {
        assert_eq!(program(std::slice::from_ref(&text)), None, "{text}");
    }
}

/// Like [`check`], for values at the end of a file.
fn check_ends(column: fn(&Row) -> &'static str, program: impl Fn(&[String]) -> Option<Vec<Value>>) {
    for row in ENDS {
        let want: Value = serde_json::from_str(column(row)).expect("JSON in the table");
        assert_eq!(program(&[without_final_line_break(row.0)]), Some(vec![want]), "{:?}", row.0);
    }
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn kubectl_reads_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = |texts: &[String]| {
        let file = directory.path().join("rows.yaml");
        fs::write(&file, texts.join("---\n")).expect("written");
        let file = file.to_str().expect("a path");
        let output = kubectl(&["annotate", "--local", "-o", "json", "-f", file, "read-by=kubectl"]);
        let objects = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
        let value = |object: Value| object["value"].clone();
        output.status.success().then(|| objects.map(|object| value(object.expect("JSON"))).collect())
    };
    check(|row| row.2, program);
    check_ends(|row| row.2, program);
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn kustomize_reads_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(
        directory.path().join("kustomization.yaml"),
        "\
resources: [rows.yaml]
sortOptions: {order: fifo}
",
    )
    .expect("written");
    let program = |texts: &[String]| {
        fs::write(directory.path().join("rows.yaml"), texts.join("---\n")).expect("written");
        let output = kubectl(&["kustomize", directory.path().to_str().expect("a path")]);
        let (sources, text) = (SourceMap::default(), String::from_utf8(output.stdout).expect("text"));
        let objects = parse_documents(&sources, sources.add("built", text), ParseOptions::kubectl());
        let value = |node: &Node| node.get("value").map_or(Value::Null, Node::to_json_value);
        output.status.success().then(|| objects.expect("YAML").iter().map(value).collect())
    };
    check(|row| row.1, program);
    check_ends(|row| row.1, program);
}

/// Input files as the commands parse them and preserve their text.
#[cfg(feature = "cli")]
mod commands {
    use std::fs;

    use kubectl_smp_testing::program;
    use smp_text::yaml::Node;
    use tempfile::TempDir;

    const HEAD: &str = "\
apiVersion: example.com/v1
kind: Row
metadata: {name: row}
";

    /// A directory with these files, written unchanged: the ends of texts matter here.
    fn directory(files: &[(&str, &str)]) -> TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        }
        directory
    }

    fn run(directory: &TempDir, args: &[&str], stdin: &str) -> String {
        let output = program::run_with_stdin(program::command(directory.path(), args), stdin);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        program::stdout(&output)
    }

    fn row(value: &str) -> String {
        format!("{HEAD}value: {value}\n")
    }

    #[test]
    fn plain_overlays_and_their_plain_bases_parse_as_in_kubectl() {
        let (base, over) = (row("{day: 2024-01-31, on: y}"), row("{n: Off, time: 2024-01-31}"));
        let directory = directory(&[("base/row.yaml", &base), ("o/row.yaml", &over)]);
        let built = run(&directory, &["build", "o"], "");
        let value = r#"value:
  day: "2024-01-31"
  "false": false
  time: "2024-01-31"
  "true": true
"#;
        assert!(built.ends_with(value), "{built}");
        // Parsing the output gives the same values.
        assert_eq!(
            run(&directory, &["patch", "-f", "-", "--type=merge", "-p", "{}", "-o", "yaml"], &built),
            built
        );

        fs::write(directory.path().join("base/kustomization.yaml"), "resources: [row.yaml]\n")
            .expect("written");
        let built = run(&directory, &["build", "o"], "");
        let value = r#"value:
  day: "2024-01-31T00:00:00Z"
  "false": false
  "on": "y"
  time: "2024-01-31"
"#;
        assert!(built.ends_with(value), "what a kustomization loads is read as by kustomize: {built}");
    }

    #[test]
    fn patches_and_their_targets_parse_as_in_kubectl() {
        let text = format!(
            "\
{HEAD}value: yes # on
day: 2024-01-31
n: {{y: 1}}
new: ~
"
        );
        let directory = directory(&[
            ("row.yaml", &text),
            (
                "patch.yaml",
                "\
n: {on: 2}
new: no
",
            ),
        ]);
        let want = text.replace("{y: 1}", "{y: 2}").replace("new: ~", "new: false");
        let patch = ["patch", "-f", "row.yaml", "--type=merge", "--patch-file=patch.yaml"];
        assert_eq!(run(&directory, &patch, ""), want);
        let operations = "[{op: replace, path: /false/true, value: 2}, {op: replace, path: /new, value: no}]";
        assert_eq!(run(&directory, &["patch", "-f", "-", "--type=json", "-p", operations], &text), want);
        run(&directory, &[&patch[..], &["--in-place"]].concat(), "");
        assert_eq!(fs::read_to_string(directory.path().join("row.yaml")).expect("there"), want);

        let objects = "{\"a\": 1}{\"a\": 2}\n";
        let patched = run(&directory, &["patch", "-f", "-", "--all", "--type=merge", "-p", "a: y"], objects);
        assert_eq!(patched, "{\"a\": true}{\"a\": true}\n");
    }

    #[test]
    fn final_block_scalars_have_a_line_break_in_manifests_and_none_in_patches() {
        let text = format!("{HEAD}value: |\n  x");
        let directory =
            directory(&[("base/row.yaml", &text), ("o/row.yaml", HEAD), ("patch.yaml", "more: |\n  y")]);
        assert!(run(&directory, &["build", "o"], "").ends_with("value: |\n  x\n"));
        let patch = ["patch", "-f", "-", "--type=merge", "--patch-file=patch.yaml", "-o", "yaml"];
        let patched = run(&directory, &patch, &text);
        assert!(patched.contains("more: \"y\"\n") && patched.ends_with("value: |\n  x\n"), "{patched}");

        let kustomization = "resources: [row.yaml]\n";
        fs::write(directory.path().join("base/kustomization.yaml"), kustomization).expect("written");
        assert!(run(&directory, &["build", "o"], "").ends_with("value: x\n"));
    }

    #[test]
    fn edits_keep_the_end_of_a_file() {
        for end in ["|\n  x", "|\n  x\n  ", "|+\n  x\n  ", "|+\n\n ", "[cat, -]#c", "|#c\n  x", "\"\\'\""] {
            let text = format!("{HEAD}a: 1\nvalue: {end}");
            let directory = directory(&[("row.yaml", &text)]);
            let patch = ["patch", "-f", "row.yaml", "--type=merge", "--in-place", "-p"];
            let run = |change: &str| run(&directory, &[&patch[..], &[change]].concat(), "");
            let file = || fs::read_to_string(directory.path().join("row.yaml")).expect("there");
            run("{}");
            assert_eq!(file(), text);
            run("a: 2");
            assert_eq!(file(), text.replace("a: 1", "a: 2"));
            let value = |text: &str| text.parse::<Node>().expect("YAML").get("value").cloned();
            run("b: 3");
            assert_eq!(value(&file()), value(&text), "{:?}", file());
        }
    }

    #[test]
    fn created_patches_use_values_as_kubectl_parses_them() {
        let (one, other) = (row("{on: yes, day: \"2024-01-31\"}"), row("{\"true\": true, day: 2024-01-31}"));
        let directory = directory(&[("one.yaml", &one), ("other.yaml", &other)]);
        assert_eq!(run(&directory, &["create-patch", "--type=merge", "one.yaml", "other.yaml"], ""), "{}\n");
    }

    #[test]
    fn merge3_parses_as_kubectl_and_with_kyaml_as_kustomize() {
        let dest = row("{on: yes, day: 2024-01-31} # as it is");
        let directory = directory(&[
            ("texts.yaml", &row("{\"on\": \"yes\"}")),
            ("booleans.yaml", &row("{\"true\": true, day: \"2024-01-31\"}")),
            ("dest.yaml", &dest),
        ]);
        assert_eq!(run(&directory, &["merge", "--dialect", "kyaml", "texts.yaml", "dest.yaml"], ""), dest);
        assert_eq!(run(&directory, &["merge", "booleans.yaml", "dest.yaml"], ""), dest);
    }

    #[test]
    fn merge3_keeps_the_text_of_unchanged_values() {
        let values = "\
a: on # y
b: 0o17
c: 1e3
d: 2024-01-31
e: ~
f: 0x1F
'n': no
g: 1_000
h: 08
";
        let versions = |value: &str| format!("{HEAD}{values}value: {value}\n");
        let directory = directory(&[
            ("original.yaml", &versions("1")),
            ("updated.yaml", &versions("2")),
            ("dest.yaml", &format!("{}mine: y\n", versions("1"))),
        ]);
        let sides = ["--original=original.yaml", "--updated=updated.yaml", "--dest=dest.yaml"];
        let merged = run(&directory, &[&["merge3"], &sides[..]].concat(), "");
        assert_eq!(merged, format!("{}mine: y\n", versions("2")));
    }
}
