//! Tests of parsing: trees, their locations and comments, and rejected texts.

#![allow(clippy::format_push_string, clippy::format_collect)] // Clearer for generated texts.

use smol_str::SmolStr;

use super::*;
use crate::yaml::meta::Meta;

fn read(text: &str) -> Result<Vec<Node>> {
    read_with(text, ParseOptions::default())
}

fn read_with(text: &str, options: ParseOptions) -> Result<Vec<Node>> {
    let sources = SourceMap::default();
    let id = sources.add("t.yaml", text);
    parse_documents(&sources, id, options).map_err(|e| {
        let locations: Vec<_> = e.labels().iter().filter_map(|l| sources.describe(l.span)).collect();
        Diagnostic::error(e.code(), format!("{} @ {}", e.message(), locations.join(" ")))
    })
}

fn one(text: &str) -> Node {
    let mut documents = read(text).expect("valid");
    assert_eq!(documents.len(), 1, "{text}");
    documents.remove(0)
}

#[test]
fn empty_documents_are_null() {
    assert_eq!(read("").expect("valid").len(), 0);
    assert_eq!(read("# only a comment\n").expect("valid").len(), 0);
    let documents = read("---\na: 1\n---\n# nothing\n---\n- b\n").expect("valid");
    assert_eq!(documents.len(), 3);
    assert!(documents[1].is_null());
    assert_eq!(one("a:\nb: ~\n").get("a").and_then(Node::scalar_text).map(SmolStr::as_str), Some(""));
    assert!(one("\u{feff}a: 1\n").get("a").is_some());
    assert_eq!(one("a: |\n  x").get("a").and_then(Node::as_str), Some("x"));
    assert_eq!(one("a: |\n  x\n").get("a").and_then(Node::as_str), Some("x\n"));
    assert_eq!(one("a: |\r\n  x\r\n  y\r\n").get("a").and_then(Node::as_str), Some("x\ny\n"));
}

#[test]
fn json_is_yaml() {
    let node = one("{\"a\": [1, \"x\\n\u{e9}\", null, true], \"b\": {}}");
    let list = node.get("a").and_then(Node::as_list).expect("a list");
    assert_eq!(list[1].as_str(), Some("x\n\u{e9}"));
    assert!(list[2].is_null());
}

#[test]
fn spans_cover_values() {
    let text = "a:\n- b: cc\n  d: [1, 2]\n";
    let node = one(text);
    let item = &node.get("a").and_then(Node::as_list).expect("list")[0];
    let cut = |n: &Node| &text[n.span().start as usize..n.span().end as usize];
    assert_eq!(cut(item), "b: cc\n  d: [1, 2]");
    assert_eq!(cut(item.get("b").expect("b")), "cc");
    assert_eq!(cut(item.get("d").expect("d")), "[1, 2]");
}

#[test]
fn aliases_are_expanded_and_merge_keys_merged() {
    let node = one("base: &b {x: 1, y: 2}\nother: &o {x: 5, z: 6}\na:\n  <<: [*b, *o]\n  y: 3\nc: *b\n");
    let a = node.get("a").expect("a");
    let fields: Vec<_> = a
        .as_map()
        .expect("map")
        .iter()
        .map(|(k, v)| format!("{k}={}", v.scalar_text().expect("scalar")))
        .collect();
    assert_eq!(fields, ["y=3", "x=1", "z=6"]);
    assert_eq!(node.get("c"), node.get("base"));
    assert_eq!(one("'<<': 1").get("<<").and_then(Node::scalar_text).map(SmolStr::as_str), Some("1"));
}

#[test]
fn errors_have_locations() {
    let table = [
        ("a: 1\nb: 2\na: 3\n", Code::DuplicateKey, "@ t.yaml:3:1 t.yaml:1:1"),
        ("1: x\n", Code::WrongType, "the key is an integer, but keys must be strings"),
        ("? [a]\n: x\n", Code::WrongType, "a key must be a string, not a list"),
        ("a:\n\tb: 1\n", Code::Syntax, "@ t.yaml:2"),
        ("a: [1, 2\nb: 1\n", Code::Syntax, "@ t.yaml:"),
        ("a: *nope\n", Code::Syntax, "@ t.yaml:1"),
        ("a: &x [*x]\n", Code::Syntax, "@ t.yaml:1"),
        ("a: !!int foo\n", Code::WrongType, "the value does not match its tag `!!int` @ t.yaml:1:10"),
        ("a: {<<: 1}\n", Code::WrongType, "`<<` must be a map"),
        ("a: \"b\n", Code::Syntax, "@ t.yaml:"),
    ];
    for (text, code, part) in table {
        let error = read(text).expect_err(text);
        assert_eq!(error.code(), code, "{text:?}: {error}");
        assert!(error.message().contains(part), "{text:?}: {error}");
    }
}

#[test]
fn limits_are_enforced() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..10 {
        let aliases = vec![format!("*a{}", i - 1); 10].join(", ");
        bomb.push_str(&format!("a{i}: &a{i} [{aliases}]\n"));
    }
    assert_eq!(read(&bomb).expect_err("bomb").code(), Code::LimitExceeded);
    assert!(read(&"[".repeat(100_000)).is_err());
    let deep: String = (0..300).map(|i| format!("{}a:\n", " ".repeat(i))).collect();
    assert!(read(&deep).is_err());
    let mut chain = String::from("a0: &a0 [x]\n");
    for i in 1..300 {
        chain.push_str(&format!("a{i}: &a{i} [*a{}]\n", i - 1));
    }
    assert_eq!(read(&chain).expect_err("deep aliases").code(), Code::LimitExceeded);
}

#[test]
fn last_duplicate_key_wins_in_configuration() {
    let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    let node = read_with("a: 1\na: 2\n3: x\n", options).expect("valid").remove(0);
    assert_eq!(node.get("a"), Some(&Node::int(2)));
    assert!(node.get("3").is_some());
}

#[test]
fn comments_stay_with_their_nodes() {
    let options = ParseOptions { keep_comments: true, ..ParseOptions::default() };
    let text = "# top\na: 1 # one\nb: # list\n# first\n- x # ex\n# map\n- y: 1\n# second\n- z: 1\n# end\n";
    let node = read_with(text, options).expect("valid").remove(0);
    let map = node.as_map().expect("map");
    let comments = |m: &Meta| m.comments.clone().unwrap_or_default();
    assert_eq!(comments(&map.entries()[0].key.meta).head, ["# top"]);
    assert_eq!(comments(&map.entries()[0].value.meta).line.as_deref(), Some("# one"));
    assert_eq!(comments(&map.entries()[1].key.meta).line.as_deref(), Some("# list"));
    let list = map.entries()[1].value.as_list().expect("list");
    assert_eq!(comments(&list[0].meta).head, ["# first"]);
    assert_eq!(comments(&list[0].meta).line.as_deref(), Some("# ex"));
    assert_eq!(comments(&list[1].meta).head, ["# map"]);
    assert_eq!(comments(&list[2].meta).head, ["# second"]);
    assert_eq!(comments(&node.meta).foot, ["# end"]);
}

#[test]
fn json_objects_may_follow_each_other_for_kubectl() {
    let text = "{\"a\": 1}\n{\"b\":\n2}{\"c\": [3]}\n";
    assert_eq!(read(text).expect_err("for kustomize").code(), Code::Syntax);
    let documents = read_with(text, ParseOptions::kubectl()).expect("valid");
    let fields: Vec<_> = documents.iter().filter_map(|d| d.as_map()?.iter().next()).collect();
    assert_eq!(fields.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["a", "b", "c"]);
    let cut = |n: &Node| &text[n.span().start as usize..n.span().end as usize];
    assert_eq!(fields.iter().map(|(_, value)| cut(value)).collect::<Vec<_>>(), ["1", "2", "[3]"]);
    let error = read_with("{\"a\": 1}\n{\"b\": 1, \"b\": 2}\n", ParseOptions::kubectl()).expect_err("twice");
    assert!(error.message().ends_with("@ t.yaml:2:10 t.yaml:2:2"), "{error}");
}

#[test]
fn bytes_are_decoded() {
    assert_eq!(decode(b"a: 1".to_vec()).expect("utf-8"), "a: 1");
    assert_eq!(decode(vec![0xFF, 0xFE, b'a', 0]).expect("utf-16"), "a");
    for invalid in [&[0xFF, 0xFE, b'a', 0, 0][..], &[0xFE, 0xFF, 0]] {
        let error = decode(invalid.to_vec()).expect_err("odd");
        assert!(error.message().contains("its last character is incomplete"), "{error}");
    }
    let error = decode(b"a\nb\xff".to_vec()).expect_err("not utf-8");
    assert!(error.message().contains("line 2"), "{error}");
}
