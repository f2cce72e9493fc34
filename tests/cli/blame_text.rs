//! The text output of `blame` is valid YAML equal to the output of `build`, with one comment for each value.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use kubectl_smp_testing::program::{run, temp_dir};
use smp_text::source::SourceMap;
use smp_text::yaml::{ParseOptions, parse_documents, to_documents};

fn printed(home: &Path, args: &[&str]) -> String {
    let output = run(home, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a text")
}

/// Parses the text and prints it again.
fn reformatted(text: &str) -> String {
    let sources = SourceMap::default();
    let id = sources.add("blamed", text);
    let documents = parse_documents(&sources, id, ParseOptions::default()).expect("YAML");
    to_documents(&documents).expect("printable")
}

/// All strings of up to four pieces, where the pieces are those that decide the scalar style.
fn texts() -> Vec<String> {
    let pieces = ["\n", " ", "a", "#", "\t", ": ", "é\u{85}", "'\"", "\\", "ü"];
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for length in 1..=4 {
        let few = if length > 2 { &pieces[..5] } else { &pieces[..] };
        last = last.iter().flat_map(|text| few.iter().map(move |piece| format!("{text}{piece}"))).collect();
        all.extend(last.clone());
    }
    all
}

fn holds(files: &[(&str, &str)]) {
    let home = temp_dir(files);
    let built = printed(home.path(), &["build", "."]);
    let blamed = printed(home.path(), &["blame", "."]);
    assert_eq!(reformatted(&blamed), built);
    let reported: Value =
        serde_json::from_str(&printed(home.path(), &["blame", ".", "-o", "json"])).expect("JSON");
    let fields = reported.as_array().expect("objects").iter();
    let fields: usize = fields.map(|object| object["fields"].as_array().expect("fields").len()).sum();
    let comments = blamed.lines().filter(|line| line.contains("  # some.yaml:")).count();
    assert_eq!(comments, fields, "each value has a comment on a line of its own");
}

#[test]
fn annotated_scalars_keep_their_values() {
    let mut all = String::new();
    for (i, text) in texts().iter().enumerate() {
        let text = serde_json::to_string(text).expect("a string");
        let _ = writeln!(
            all,
            "\
---
apiVersion: v1
kind: Some
metadata: {{name: n{i}}}
a: {text}
b: [{text}, x, [{text}, {text}], {{k: {text}, l: {text}}}]
c: [[[{text}]]]
d: {{e: {{}}, f: [], g: {text}}}
z: {text}",
        );
    }
    holds(&[("kustomization.yaml", "resources: [some.yaml]"), ("some.yaml", &all)]);
}

#[test]
fn annotated_block_scalars_keep_their_values() {
    let mut all = String::new();
    let bodies = [
        "a\n",
        "a\n\n",
        "\n\na\n",
        r"  a
 b
",
        "\
a

  b

c
",
        "\n",
        "\
# a
---
",
        "",
    ];
    for (i, header) in ["|", "|-", "|+", ">", ">-", ">+", "|1", ">1+"].into_iter().enumerate() {
        for (j, body) in bodies.into_iter().enumerate() {
            let indented: String = body.lines().flat_map(|line| ["  ", line, "\n"]).collect();
            let header = if body.starts_with(' ') && !header.contains('1') {
                format!("{}2{}", &header[..1], &header[1..])
            } else {
                header.replace('1', "2")
            };
            let _ = writeln!(
                all,
                "\
---
apiVersion: v1
kind: Some
metadata: {{name: n{i}-{j}}}
a: {header}
{indented}l:
- {header}
{indented}z: {header}
{indented}"
            );
        }
    }
    holds(&[("kustomization.yaml", "resources: [some.yaml]"), ("some.yaml", &all)]);
}
