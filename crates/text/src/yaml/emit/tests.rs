//! Tests of printed YAML. Unless noted otherwise, kustomize v5.8.3 prints the same bytes.

use proptest::prelude::*;

use super::{apply_round_trip_changes, to_yaml, write_documents, write_yaml};
use crate::diagnostic::Code;
use crate::source::{SourceMap, Span};
use crate::yaml::{Map, Node, ParseOptions, Style, parse_one, to_json};
use smp_random_cases::fixed_cases;

fn parse(text: &str) -> Node {
    let sources = SourceMap::default();
    let id = sources.add("test.yaml", text);
    parse_one(&sources, id, ParseOptions::default()).expect("test input is valid")
}

fn map<const N: usize>(fields: [(&str, Node); N]) -> Node {
    Node::map(fields.into_iter().collect::<Map>())
}

/// Returns the text after `k: ` for a string.
fn printed(text: &str) -> String {
    let yaml = to_yaml(&map([("k", Node::string(text))])).expect("printable");
    yaml.strip_prefix("k: ").and_then(|rest| rest.strip_suffix('\n')).expect("one field").to_string()
}

fn assert_printed(table: &[(&str, &str)]) {
    for (text, want) in table {
        assert_eq!(printed(text), *want, "{text:?}");
    }
}

#[test]
fn blocks_are_indented_as_in_go_yaml() {
    let text = "
z: 1
a:
  list: [1, [2, [3]], {b: x, a: []}, [[]], {}]
  map: {m: {n: {}}, l: []}
";
    let want = "\
a:
  list:
  - 1
  - - 2
    - - 3
  - a: []
    b: x
  - - []
  - {}
  map:
    l: []
    m:
      \"n\": {}
z: 1
";
    assert_eq!(to_yaml(&parse(text)).as_deref(), Ok(want));
}

#[test]
fn roots_can_have_any_type() {
    let table = [
        (map([]), "{}\n"),
        (Node::list(vec![]), "[]\n"),
        (Node::null(), "null\n"),
        (Node::string("a b"), "a b\n"),
        (Node::string("a\nb"), "|-\n  a\n  b\n"),
        (Node::list(vec![map([("b", Node::int(1)), ("a", Node::int(2))])]), "- a: 2\n  b: 1\n"),
    ];
    for (node, want) in table {
        assert_eq!(to_yaml(&node).as_deref(), Ok(want));
    }
}

#[test]
fn scalars_are_printed_by_value() {
    let table = [
        ("~", "null"),
        ("TRUE", "true"),
        ("False", "false"),
        ("yes", "\"yes\""),
        ("0x1F", "31"),
        ("0o17", "15"),
        ("0755", "493"),
        ("1_000", "1000"),
        ("0800", "800"),
        ("+12", "12"),
        ("18446744073709551615", "18446744073709551615"),
        ("1.0", "1"),
        ("1e3", "1000"),
        ("-0.0", "0"),
        ("0.00001", "1e-05"),
        ("12345678.9", "1.23456789e+07"),
        ("99999999999999999999", "1e+20"),
        ("1e400", "1e400"),
        ("2020-01-01", "\"2020-01-01T00:00:00Z\""),
        ("2020-1-2 3:4:5.60", "\"2020-01-02T03:04:05.6Z\""),
        ("!!str 12", "\"12\""),
        ("!!float 3", "3"),
    ];
    for (source, want) in table {
        let yaml = to_yaml(&parse(&format!("k: {source}\n")));
        assert_eq!(yaml, Ok(format!("k: {want}\n")), "{source}");
    }
}

#[test]
fn strings_that_look_like_something_else_are_double_quoted() {
    let quoted = "
        y Y n N yes Yes YES no on ON off Off true False null Null ~ .nan .NaN .inf +.Inf -.INF
        0 -1 +1 1. 1.5 .5 .5e3 1e3 0x1f 0o7 0b1 0b-1 012 08 1_0 1__ 12e03 1e5 .2_5
        1:20 -1:59 1:2:3 +1_0:30.5 190:20:30.15 1:20.
        2020-01-01 2020-1-1 2020-01-01T1:2:3Z 2020-01-01t10:20:30.5+02:00
        18446744073709551615 18446744073709551616";
    for text in quoted.split_whitespace().chain(["", "2020-01-01 10:20:30"]) {
        assert_eq!(printed(text), format!("\"{text}\""));
    }
    let plain = "
        yEs oN nULL tRue .Nan inf nan + -- .. = << 0o8 0b2 0x 1e400 1.2.3 100m 1e .e5 .2__5 _1
        1:60 1:20.5.5 :1 1:234 a1:20 2020-13-01 2020-02-30 2020-01-01T10:20:30 20-01-01 -a .a";
    for text in plain.split_whitespace().chain(["2020-01-01 10:20:30Z", "1 2"]) {
        assert_eq!(printed(text), text);
    }
}

#[test]
fn indicators_are_single_quoted() {
    let quoted = "
        #a ,a [a ]a {a }a &a *a !a |a >a \"a %a @a `a ? - : a: ---a ... {} [] #";
    for text in quoted.split_whitespace() {
        assert_eq!(printed(text), format!("'{text}'"));
    }
    let more =
        ["? a", "- a", ": a", "a: b", "a #b", " a", "a ", " ", "-  x", "a :", "--- x", "x y: ", "é: é"];
    for text in more {
        assert_eq!(printed(text), format!("'{text}'"));
    }
    let plain = "?a -a :a a:b a#b a,b a[b] {b a{b} --a ..a a'b a\"b a\\b a|b $a (a /a ;a <a =a ^a _a é ☃ é#"
        .replace("{b ", "");
    for text in plain.split_whitespace().chain(["a - b", "a ? b", "a, b", "a 'b'", "a\u{a0}b"]) {
        assert_eq!(printed(text), text);
    }
    assert_printed(&[("'", "''''"), ("'a' b", "'''a'' b'"), ("it's: x", "'it''s: x'")]);
}

#[test]
fn special_characters_are_escaped() {
    assert_printed(&[
        ("a\tb", r#""a\tb""#),
        ("a\rb", r#""a\rb""#),
        ("\0\x07\x08\x0b\x0c\x1b\x01", r#""\0\a\b\v\f\e\x01""#),
        ("\"\\\t", r#""\"\\\t""#),
        ("😀", r#""\U0001F600""#),
        // kustomize converts the character to a space before it prints the text: see `round_trip`.
        ("x\u{85}y", r#""x\Ny""#),
        ("x\u{feff}", r#""x\uFEFF""#),
        ("\u{feff}x \u{a0}", r#""\uFEFF\x78\x20\_""#),
        ("x\u{2028}y", "'x\u{2028}  y'"),
        ("x \u{2028}y", r#""x \Ly""#),
        ("x\u{2029} y", r#""x\P y""#),
        ("\u{fffd}\u{e000}", "\u{fffd}\u{e000}"),
    ]);
}

#[test]
fn multiline_text_is_a_literal_block_if_possible() {
    assert_printed(&[
        ("a\nb", "|-\n  a\n  b"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\n", "|+\n  a\n"),
        ("\n", "|2+\n"),
        ("\na", "|2-\n\n  a"),
        (" a\nb", "|2-\n   a\n  b"),
        ("a\n  b\n\nc", "|-\n  a\n    b\n\n  c"),
        ("# a: 'b'\n\"c\"", "|-\n  # a: 'b'\n  \"c\""),
        ("é\nb", "|-\n  é\n  b"),
        ("a \nb", r#""a \nb""#),
        ("a\nb ", r#""a\nb ""#),
        ("a\t\nb", r#""a\t\nb""#),
        ("a\r\nb", r#""a\r\nb""#),
        ("a\n😀", r#""a\n\U0001F600""#),
        ("a\nb\u{2028}c", "|-\n  a\n  b\u{2028}  c"),
    ]);
    let list = map([("k", Node::list(vec![Node::string("a\n"), Node::string("b")]))]);
    assert_eq!(to_yaml(&list).as_deref(), Ok("k:\n- |\n  a\n- b\n"));
    // A block that ends with a YAML 1.1 line break gets no other line break.
    let node = map([("a", Node::string("x\ny\u{2028}")), ("b", Node::int(1))]);
    assert_eq!(to_yaml(&node).as_deref(), Ok("a: |\n  x\n  y\u{2028}b: 1\n"));
}

#[test]
fn long_lines_are_folded_after_column_80() {
    let word = "w".repeat(77);
    let table = [
        // The space in column 80 is kept, and the one in column 81 becomes a line break.
        (format!("{word} b"), format!("{word} b")),
        (format!("{word}w b"), format!("{word}w\n  b")),
        (format!("{word}w  b c"), format!("{word}w  b\n  c")),
        (format!("{} b", "é".repeat(77)), format!("{} b", "é".repeat(77))),
        (format!("{} b", "é".repeat(78)), format!("{}\n  b", "é".repeat(78))),
        ("x".repeat(200), "x".repeat(200)),
        (format!("#{word} b"), format!("'#{word}\n  b'")),
        (format!("#''{} b c", &word[4..]), format!("'#''''{}\n  b c'", &word[4..])),
        (format!("#{word} "), format!("'#{word} '")),
        (format!("\t{word} b"), format!("\"\\t{word}\n  b\"")),
        (format!("\t{word}   b"), format!("\"\\t{word}\n  \\  b\"")),
        (format!("\t{word} "), format!("\"\\t{word} \"")),
    ];
    for (text, want) in table {
        assert_eq!(printed(&text), want, "{text:?}");
    }
    let text = "four ".repeat(40);
    let lines = printed(text.trim_end());
    let lengths: Vec<usize> = lines.lines().map(str::len).collect();
    assert_eq!(lengths, [79, 81, 41], "each line counts from its own start:\n{lines}");
}

#[test]
fn deeply_indented_text_is_folded_at_every_space() {
    let mut node = Node::string("a b c");
    for _ in 0..41 {
        node = map([("k", node)]);
    }
    let yaml = to_yaml(&node).expect("printable");
    let deep = " ".repeat(82);
    assert!(yaml.ends_with(&format!("{}k: a\n{deep}b\n{deep}c\n", " ".repeat(80))), "{yaml}");
}

#[test]
fn names_are_quoted_like_values_and_never_folded() {
    let long = format!("{} b", "k".repeat(100));
    let table = [
        ("a b", "a b: 1\n".to_string()),
        ("", "\"\": 1\n".into()),
        ("y", "\"y\": 1\n".into()),
        ("1", "\"1\": 1\n".into()),
        ("a: b", "'a: b': 1\n".into()),
        ("it's #1 #", "'it''s #1 #': 1\n".into()),
        ("a\tb", "\"a\\tb\": 1\n".into()),
        ("<<", "\"<<\": 1\n".into()),
        (&long, format!("{long}: 1\n")),
    ];
    for (name, want) in table {
        assert_eq!(to_yaml(&map([(name, Node::int(1))])), Ok(want), "{name:?}");
    }
}

#[test]
fn long_and_multiline_names_follow_a_question_mark() {
    let name = |n: usize| "k".repeat(n);
    let one = |name: &str, value: Node| to_yaml(&map([(name, value)])).expect("printable");
    assert_eq!(one(&name(128), Node::int(1)), format!("{}: 1\n", name(128)));
    assert_eq!(one(&name(129), Node::int(1)), format!("? {}\n: 1\n", name(129)));
    assert_eq!(one(&"é".repeat(65), Node::int(1)), format!("? {}\n: 1\n", "é".repeat(65)));
    let folded = format!("? {}\n  {}\n: 1\n", name(90), name(90));
    assert_eq!(one(&format!("{} {}", name(90), name(90)), Node::int(1)), folded);
    assert_eq!(one("a\nb", Node::int(1)), "? |-\n  a\n  b\n: 1\n");
    assert_eq!(one("a\rb", Node::int(1)), "? \"a\\rb\"\n: 1\n");
    let fields = map([("x", Node::int(1)), ("z", Node::int(2))]);
    assert_eq!(one("a\nb", fields), "? |-\n  a\n  b\n: x: 1\n  z: 2\n");
    let list = Node::list(vec![Node::int(1), Node::string("a\nb\n")]);
    assert_eq!(one("a\nb", list), "? |-\n  a\n  b\n: - 1\n  - |\n    a\n    b\n");
    assert_eq!(one("a\nb", Node::list(vec![])), "? |-\n  a\n  b\n: []\n");
}

#[test]
fn documents_are_joined_by_separators() {
    let mut out = "# kept\n".to_string();
    write_documents([&Node::int(1), &map([]), &Node::string("a\n")], &mut out).expect("printable");
    assert_eq!(out, "# kept\n1\n---\n{}\n---\n|\n  a\n");
    let mut none = String::new();
    write_documents([], &mut none).expect("nothing to print");
    assert_eq!(none, "");
}

#[test]
fn unprintable_values_are_reported_and_append_nothing() {
    let sources = SourceMap::default();
    let text = "spec:\n  a.b/c:\n  - x\n  - k: .inf\n";
    let id = sources.add("x.yaml", text);
    let node = parse_one(&sources, id, ParseOptions::default()).expect("valid");
    let mut out = "before".to_string();
    let error = write_yaml(&node, &mut out).expect_err("infinity");
    assert_eq!(out, "before");
    assert_eq!((error.code(), error.field_path()), (Code::InvalidValue, Some("spec[\"a.b/c\"][1].k")));
    assert_eq!(error.labels()[0].span, Span::new(id, text.len() - 5, text.len() - 1));

    let good = Node::int(1);
    let bad = map([("k", Node::string("a\u{7f}"))]);
    let error = write_documents([&good, &bad], &mut out).expect_err("DEL");
    assert_eq!((out.as_str(), error.field_path()), ("before1\n", Some("k")));
    for text in ["\u{80}", "\u{9f}", "\u{ffff}"] {
        assert!(to_yaml(&map([("k", Node::string(text))])).is_err(), "{text:?}");
        assert!(to_yaml(&map([(text, Node::null())])).is_err(), "{text:?}");
    }
    assert!(to_yaml(&parse("k: .NaN\n")).is_err());
}

#[test]
fn depth_is_limited() {
    let nested = |n: usize| (0..n).fold(Node::null(), |node, _| Node::list(vec![node]));
    assert!(to_yaml(&nested(500)).is_ok());
    assert_eq!(to_yaml(&nested(600)).map_err(|e| e.code()), Err(Code::LimitExceeded));
    assert!(to_json(&nested(500)).is_ok());
    assert_eq!(to_json(&nested(600)).map_err(|e| e.code()), Err(Code::LimitExceeded));
}

#[test]
fn folded_text_changes_as_it_does_in_kustomize() {
    let table = [
        ("a\nb\n", "a\nb\n"),
        ("a b\n", "a b\n"),
        ("sum(\n  rate(x)\n) by (a)\n", "sum(\n\n  rate(x)\n) by (a)\n"),
        ("a\n\n  b\n\nc", "a\n\n\n  b\n\nc"),
        ("a\n\n", "a\n\n\n"),
        ("a\n b\n\n", "a\n\n b\n\n"),
        (" a\nb\nc\n\nd\n", " a\nb c\nd\n"),
        ("\n\na\n b", "\n\na\n\n b"),
        ("a\n\tb", "a\n\n\tb"),
        ("\n\n", "\n\n"),
        // kustomize quotes the text, so it is unchanged.
        ("a \n b", "a \n b"),
        ("😀\n b", "😀\n b"),
    ];
    for (text, want) in table {
        let mut node = Node::string(text);
        node.meta.style = Style::Folded;
        let mut list = Node::list(vec![node, Node::string(text)]);
        for _ in 0..2 {
            apply_round_trip_changes(&mut list);
            assert_eq!(list, Node::list(vec![Node::string(want), Node::string(text)]), "{text:?}");
        }
    }
}

#[test]
fn next_lines_are_folded_as_in_kustomize() {
    let table = [
        ("a\u{85}b", "a b"),
        ("a \u{85} \u{85}  b", "a\nb"),
        ("\u{85}\u{85}\u{85}", "\n\n"),
        (" \u{85}b ", " b "),
        ("a\t\u{85}\tb\u{85}", "a\t \tb "),
    ];
    for (text, want) in table {
        let mut node = Node::string(text);
        apply_round_trip_changes(&mut node);
        assert_eq!(node, Node::string(want), "{text:?}");
    }
}

#[test]
fn comments_after_the_last_blank_line_add_a_line_break_as_in_kustomize() {
    let table = [
        ("a: |+\n  x\n\n# c\n", "x\n\n\n"),
        ("a: |+ # b\n  x\n  \n\n # c\n# d", "x\n\n\n\n"),
        ("a: >+\n  x\n\n# c\n", "x\n\n\n\n"),
        ("a: |+\n\n# c\n...\n", "\n\n"),
        ("a: |+\n  x\n# c\n", "x\n"),
        ("a: |\n  x\n\n# c\n", "x\n"),
        ("a: |+\n  x\n\n", "x\n\n"),
        ("a: |+\n  x\n\n# c\nb: 1\n", "x\n\n"),
    ];
    for (text, want) in table {
        for text in [text.to_string(), format!("k: [1]\n{text}")] {
            let mut node = parse(&text);
            for _ in 0..2 {
                apply_round_trip_changes(&mut node);
                assert_eq!(node.get("a").and_then(Node::as_str), Some(want), "{text:?}");
            }
        }
    }
}

#[test]
fn empty_values_in_flow_style_become_strings_as_in_kustomize() {
    let mut node = parse("a: {b: , c: [{d}], e: ~, f: ''}\ng:\nh:\n-\n- {}\n");
    apply_round_trip_changes(&mut node);
    let want = "a: {b: '', c: [{d: ''}], e: null, f: ''}\ng: null\nh: [null, {}]\n";
    assert_eq!(node, parse(want));
}

/// Generates strings from pieces that have a special meaning in YAML. U+2028 and U+2029 are excluded, because go-yaml
/// prints them as YAML 1.1 line breaks, which YAML 1.2 does not have.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,9}",
        2 => Just(" ".to_string()),
        1 => proptest::sample::select(vec![
            "\n", "\n\n", "  ", "\t", "\r", ": ", " #", "- ", "---", "'", "\"", "\\", "%", "&", "*", "1", "0x1",
            "1:20", "true", "null", "~", "2020-01-01", "é", "☃", "😀", "\u{85}", "\u{a0}", "\u{feff}", "\0",
            "\u{1b}", "[", "}", "|", ">", "?", "!",
        ])
        .prop_map(str::to_string),
        1 => any::<char>()
            .prop_filter("a break of YAML 1.1", |c| !matches!(c, '\u{2028}' | '\u{2029}'))
            .prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn node() -> impl Strategy<Value = Node> {
    let plain =
        "[-+0-9a-fxobTZ:._]{1,8}".prop_filter("not finite", |t: &String| !t.to_lowercase().contains("inf"));
    let leaf = prop_oneof![
        5 => text().prop_map(Node::string),
        1 => plain.prop_map(Node::plain),
        1 => any::<i64>().prop_map(Node::int),
        1 => any::<f64>().prop_map(|f| Node::plain(format!("{f:e}"))),
        1 => Just(Node::null()),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Node::list),
            proptest::collection::btree_map(text(), inner, 0..5).prop_map(|fields| {
                Node::map(fields.into_iter().map(|(k, v)| (smol_str::SmolStr::from(k), v)).collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(fixed_cases())]

    #[test]
    fn printed_values_round_trip(tree in node()) {
        let root = map([("root", tree)]);
        let Ok(yaml) = to_yaml(&root) else { return Ok(()) };
        prop_assert_eq!(parse(&yaml), root, "{}", yaml);
    }

    #[test]
    fn any_string_is_printed_without_panic(text in any::<String>(), columns in 0_usize..60) {
        let node = (0..columns).fold(Node::string(text.as_str()), |node, _| Node::list(vec![node]));
        let _ = to_yaml(&map([(text.as_str(), node)]));
    }

    #[test]
    fn json_is_valid_for_serde_json(tree in node()) {
        let Ok(json) = to_json(&tree) else { return Ok(()) };
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{}", json);
        let pretty = crate::yaml::to_json_pretty(&tree).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(
            serde_json::from_str::<serde_json::Value>(&pretty).ok(),
            serde_json::from_str::<serde_json::Value>(&json).ok()
        );
    }
}
