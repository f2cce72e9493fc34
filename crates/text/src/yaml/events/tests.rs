//! Tests of texts that only libyaml accepts, and of texts that only libyaml rejects.

use crate::source::SourceMap;
use crate::yaml::{ParseOptions, parse_documents, to_json};

fn read(text: &str) -> String {
    read_with(text, ParseOptions::default())
}

/// Returns the documents as JSON, or the message and `line:column`.
fn read_with(text: &str, options: ParseOptions) -> String {
    let sources = SourceMap::default();
    match parse_documents(&sources, sources.add("t.yaml", text), options) {
        Ok(documents) => documents.iter().map(|node| to_json(node).expect("finite")).collect(),
        Err(error) => {
            let span = error.labels().first().expect("a location").span;
            let (line, column) = sources.get(span.source).expect("there").line_column(span.start);
            format!("{} {line}:{column}", error.message())
        }
    }
}

#[test]
fn line_breaks_of_yaml_1_1_end_lines() {
    let table = [
        ("a: x\u{2028}b: y\n", r#"{"a":"x","b":"y"}"#),
        ("a: x # c\u{85}b: y\n", r#"{"a":"x","b":"y"}"#),
        ("a: x \u{2029}   y\nb: z\n", "{\"a\":\"x\\u2029y\",\"b\":\"z\"}"),
        ("a: x\u{85}  y\nb: z\u{85}\n", r#"{"a":"x y","b":"z"}"#),
        ("a: x\u{85}\n  y\n", r#"{"a":"x\ny"}"#),
        ("a: \"x \u{2028} y\\u2028 z\"\n", "{\"a\":\"x\\u2028y\\u2028 z\"}"),
        ("a: \"x\u{85}\u{85}y\"\n", r#"{"a":"x\ny"}"#),
        ("a: |\n  x\u{2028}  y\u{85}  z\n", "{\"a\":\"x\\u2028y\\nz\\n\"}"),
        ("a: >-\n  x\u{85}  y\n", r#"{"a":"x y"}"#),
        // An escaped line break does not end a line.
        ("a: \"x\\Ly\\_z\\N\"\n", "{\"a\":\"x\\u2028y\u{a0}z\u{85}\"}"),
    ];
    for (text, want) in table {
        assert_eq!(read(text), want, "{text:?}");
    }
}

#[test]
fn indentation_inside_quotes_and_brackets_is_ignored() {
    let table = [
        ("a:\n  b: 'one\n two\n\nthree'\n  c: d\n", r#"{"a":{"b":"one two\nthree","c":"d"}}"#),
        ("a:\n  - k: \"one \\\nit''s \\\" two\"\n    c: d\n", r#"{"a":[{"c":"d","k":"one it''s \" two"}]}"#),
        ("- - 'it''s\nme' # why\n  - \"\n\"\n", r#"[["it's me"," "]]"#),
        ("a: \"x\n\ty\"\nb: [\n\tc, # d'\n\t{e: 'f\n\tg'},\n\t]\n", r#"{"a":"x y","b":["c",{"e":"f g"}]}"#),
        ("'a key': &x !!str 'b\nc'\n\"d\": *x\n", r#"{"a key":"b c","d":"b c"}"#),
        ("\u{feff}a: 'x\ny'\nb: 'x\ny'\n", r#"{"a":"x y","b":"x y"}"#),
        // Text that only looks like such a value is not rewritten.
        (
            "a: |\n  b: 'x\n  y'\n  c: [\n  d\nb: 'x\ny'\n",
            "{\"a\":\"b: 'x\\ny'\\nc: [\\nd\\n\",\"b\":\"x y\"}",
        ),
        ("a: |\n  [ -f\n  ]\nb: don't\nc: 'x\ny'\n", r#"{"a":"[ -f\n]\n","b":"don't","c":"x y"}"#),
    ];
    for (text, want) in table {
        assert_eq!(read(text), want, "{text}");
    }
}

#[test]
fn positions_refer_to_the_original_text() {
    let text = "a: 'x\ny'\nb: 'x\ny'\nc: d\n";
    let sources = SourceMap::default();
    let id = sources.add("t.yaml", text);
    let documents = parse_documents(&sources, id, ParseOptions::default()).expect("YAML");
    for (name, want) in [("a", "'x\ny'"), ("b", "'x\ny'"), ("c", "d")] {
        let span = documents[0].get(name).expect("there").span();
        assert_eq!(&text[span.start as usize..span.end as usize], want);
    }
    assert_eq!(read("a: 'x\ny'\nb: 'x\n y'\nb: 1\n"), "duplicate key `b` 5:1");
    assert!(read("a: 'x\ny\n---\nz'\n").starts_with("the `'` is not closed"));
    assert_eq!(read("a: 'x\ny'\nb: {\n"), "the `{` is not closed 3:4");
}

#[test]
fn padding_is_limited_by_the_size_of_the_text() {
    let deep = " ".repeat(1000);
    let text = format!("a: |\n{deep}b: 'c\n{}'\n", "d\n".repeat(30_000)).repeat(3);
    let added: usize = super::padding::find_padding(&text, super::padding::SEARCH_LIMITS[0])
        .iter()
        .map(|pad| pad.spaces)
        .sum();
    assert!(added > text.len() && added <= text.len() * super::padding::MAX_WORK_FACTOR, "{added}");
    let open = "- [\n".repeat(100_000);
    assert!(super::padding::find_padding(&open, super::padding::SEARCH_LIMITS[0]).is_empty());
}

#[test]
fn tabs_do_not_indent() {
    let wrong = "found a tab in the indentation, where YAML allows only spaces";
    let table = [
        ("\t\n", Some("1:1")),
        ("a: b\n\t\n", Some("2:1")),
        ("a: b\n  \t\nc: d\n", None),
        ("a: \"b\"\n  \t\nc: d\n", Some("2:3")),
        ("a:\n\t\n  b: c\n", Some("2:1")),
        ("a:\n  -\tb\n", Some("2:4")),
        ("a:\tb\n", None),
        ("a: b # c\n\t# d\n", None),
        ("# c\n\n\t\n\t# d\na: b\n", None),
        ("# c\n\t\n\t\n# d\na: |  # e|9\n  f\n  \tg\n", None),
        ("a: b\n\n\t# d\n", Some("3:1")),
        ("a: |\n  x\n\n  \ty\n   \t\n", None),
        ("a: |\n  x\n\t\nb: y\n", Some("3:1")),
        ("a: |\n  \tx\n", Some("2:3")),
        ("a: |2 # c\n  \tx\n", None),
        ("a: >-\n\n  x\n \t\n", Some("4:2")),
        ("a: b\n  \tc\n", None),
        ("{\n\t\"a\": [\n\t\t1\n\t]\n}\n", None),
    ];
    for (text, location) in table {
        let (got, want) = (read(text), location.map(|location| format!("{wrong} {location}")));
        assert_eq!(got.starts_with(wrong), want.is_some(), "{text:?}: {got}");
        assert_eq!(got, want.unwrap_or(got.clone()), "{text:?}");
    }
}

#[test]
fn document_after_dots_requires_dashes() {
    assert_eq!(read("a: b\n...\n---\nc: d\n...\n"), r#"{"a":"b"}{"c":"d"}"#);
    assert_eq!(
        read("a: b\n...\nc: d\n"),
        "missing `---`: a document after the end of another must begin with it 3:1"
    );
}

#[test]
fn long_values_may_have_any_indentation() {
    let quoted = format!("a:\n  b: \"x\n{}y\"\n  c: d\n", "word word\n".repeat(9000));
    let fields: Vec<String> = (0..6000).map(|i| format!("\t\t\"k{i}\": v,\n")).collect();
    let flow = format!("a: {{\n{}\t\t\"z\": 1\n\t}}\n", fields.concat());
    for (text, want) in [(&quoted, r#"word y","c":"d"}}"#), (&flow, r#""k999":"v","z":1}}"#)] {
        assert!(text.len() > super::padding::SEARCH_LIMITS[0] && read(text).ends_with(want), "{want}");
    }
}

#[test]
fn documents_may_begin_with_a_byte_order_mark() {
    let table = [
        ("a: b\n---\n\u{feff}c: d\n", r#"{"a":"b"}{"c":"d"}"#),
        ("\u{feff}a: b\n--- # e\r\n\u{feff}# f\nc: d\n---\n\u{feff}g: h\n", r#"{"a":"b"}{"c":"d"}{"g":"h"}"#),
        ("a: b\n---\n\u{feff}c: d\nc: e\n", "duplicate key `c` 4:1"),
        ("a: b\n---\n\u{feff}\u{feff}c: d\n", r#"{"a":"b"}{"c":"d"}"#),
    ];
    for (text, want) in table {
        assert_eq!(read(text), want, "{text:?}");
    }
}

#[test]
fn byte_order_marks_inside_documents_are_letters() {
    let table = [
        ("a: b\n\u{feff}c: d\n", "{\"a\":\"b\",\"\u{feff}c\":\"d\"}"),
        ("a: b\n---\n\u{feff}c: d\n\u{feff}e: f\n", "{\"a\":\"b\"}{\"c\":\"d\",\"\u{feff}e\":\"f\"}"),
        (
            "- \u{feff}b # \u{feff}\n- [\u{feff}c, 'd\u{feff}']\n",
            "[\"\u{feff}b\",[\"\u{feff}c\",\"d\u{feff}\"]]",
        ),
        ("a: |\n  \u{feff}b\u{85}  c\n\u{feff}a: d\n", "{\"a\":\"\u{feff}b\\nc\\n\",\"\u{feff}a\":\"d\"}"),
        ("a: b\n\u{feff}c: d\n\u{feff}c: e\n", "duplicate key `\u{feff}c` 3:1"),
    ];
    for (text, want) in table {
        assert_eq!(read(text), want, "{text:?}");
    }
}

#[test]
fn document_end_before_its_start_is_rejected() {
    let lone = "unexpected `...` at the start of a document";
    let table = [
        ("...\n", Some("1:1")),
        ("# c\n\n... # d\na: b\n", Some("3:1")),
        ("\u{feff}...\n---\na: b\n", Some("1:1")),
        ("a: b\n---\n...\n", Some("3:1")),
        ("a: b\n--- # c\n\n# d\n...\n", Some("5:1")),
        ("---\n...\n---\na: b\n", None),
        ("a: b\n...\n...\n# c\n...\n", None),
        ("a: b\n--- ''\n...\n", None),
        ("a: ...\n...b: c\n", None),
    ];
    for (text, location) in table {
        let got = read(text);
        assert_eq!(
            got.strip_prefix(lone),
            location.map(|location| format!(" {location}")).as_deref(),
            "{text:?}: {got}"
        );
    }
}

#[test]
fn unknown_directives_are_rejected() {
    let unknown = "unknown YAML directive: only `%YAML` and `%TAG` are supported";
    let table = [
        ("%FOO bar\n---\na: b\n", Some("1:1")),
        ("# c\n%YAML 1.1\n%yaml\n---\na: b\n", Some("3:1")),
        ("a: b\n...\n%FOO\n---\nc: d\n", Some("3:1")),
        ("%YAML 1.1\n%TAG !x! tag:a,1:\n--- # %FOO\na: !x!y b\n", None),
        ("a: |\n  %b\nc: '\n\n%FOO'\n# %FOO\n---\n# %BAR\nd: e%\n", None),
    ];
    for (text, location) in table {
        let got = read(text);
        assert_eq!(
            got.strip_prefix(unknown),
            location.map(|location| format!(" {location}")).as_deref(),
            "{text:?}: {got}"
        );
    }
}

/// Parses a text like [`read`], but by kubectl's rules, and omits the location.
fn read_as_kubectl(text: &str) -> String {
    let sources = SourceMap::default();
    match parse_documents(&sources, sources.add("t.yaml", text), ParseOptions::kubectl()) {
        Ok(documents) => documents.iter().map(|node| to_json(node).expect("finite")).collect(),
        Err(error) => error.message().to_string(),
    }
}

#[test]
fn tokens_that_libyaml_parses_differently_are_rejected() {
    const KEY: &str = "kubectl and kustomize parse this `:` as part of the string before it: put quotes around the string, or a space after \
         the `:`";
    const QUESTION: &str = "`?` begins a key inside brackets: put quotes around the string";
    const COLON: &str = "a string inside brackets cannot begin with `:`: put quotes around it";
    const ANCHOR: &str = "an anchor name may only contain letters, digits, `-` and `_`";
    const LINE: &str = "`:` must be on the same line as its key";
    const SLASH: &str = r"YAML 1.1 does not have the escape `\/`: use `/`";

    let table = [
        ("x: {a:, b: 1}", KEY, "1:6"),
        ("x: {a:}", KEY, "1:6"),
        ("x: [a:, b]", KEY, "1:6"),
        ("x: {?a: 1}", QUESTION, "1:5"),
        ("x: [what?]", QUESTION, "1:9"),
        ("x: {a: b?c}", QUESTION, "1:9"),
        ("x: {x: :x}", COLON, "1:8"),
        ("x: [::]", COLON, "1:5"),
        ("x: &an:chor v", ANCHOR, "1:4"),
        ("x: &a.b {c: d}", ANCHOR, "1:4"),
        ("x: &a[b]", ANCHOR, "1:4"),
        ("x: &a\"b\"", ANCHOR, "1:4"),
        ("x: &\u{e4} v", ANCHOR, "1:4"),
        ("x: !!str &a/b v", ANCHOR, "1:10"),
        ("x: {\"foo\"\n  : bar}", LINE, "2:3"),
        ("x: {foo # why: not\n  : bar}", LINE, "2:3"),
        ("x: {\"fo\n  o\": bar}", LINE, "2:5"),
        ("x: {a: {b\n  : [c]}}", LINE, "2:3"),
        (r#"x: "a\/b""#, SLASH, "1:6"),
        (r#"{x: "a\\\/b"}"#, SLASH, "1:9"),
    ];
    for (text, message, location) in table {
        assert_eq!(read(text), format!("{message} {location}"), "{text:?}");
        assert_eq!(read_as_kubectl(text), message, "{text:?}");
    }
}

#[test]
fn similar_tokens_are_accepted() {
    let table = [
        ("x: {a: , b: c:d, \"e\":[1], 'f':g}", r#"{"x":{"a":null,"b":"c:d","e":[1],"f":"g"}}"#),
        ("x: {? a : b, ? \"c\"\n  : d, ? e\n  }", r#"{"x":{"a":"b","c":"d","e":null}}"#),
        ("x: {a:\n  b, c\n  , d: 'e\n  ?'}", r#"{"x":{"a":"b","c":null,"d":"e ?"}}"#),
        ("x: a?\nz: :b\nw: ['?', \":\"]", r#"{"w":["?",":"],"x":"a?","z":":b"}"#),
        (
            "x: &a-b_1 c\nz: [*a-b_1, \"&a:b *c.d\"] # &e:f\nw: a &b:c",
            r#"{"w":"a &b:c","x":"c","z":["c","&a:b *c.d"]}"#,
        ),
        (r"x: 'a\/b'", r#"{"x":"a\\/b"}"#),
        (r#"x: "a\\/b""#, r#"{"x":"a\\/b"}"#),
        // JSON syntax.
        (r#"{"x": "a\/b"}"#, r#"{"x":"a/b"}"#),
        ("{\"x\"\n:\n[\"a\\/b\"]}", r#"{"x":["a/b"]}"#),
        (r#"x: "\ud83d\ude00""#, "{\"x\":\"\u{1F600}\"}"),
    ];
    for (text, want) in table {
        let json = |text: &str| text.replace("\\u0026", "&");
        assert_eq!(json(&read(text)), want, "{text}");
        assert_eq!(json(&read_as_kubectl(text)), want, "{text}");
    }
    assert_eq!(read_as_kubectl("{\"a\"\n: 1}{\"b\": \"\\/\"}"), r#"{"a":1}{"b":"/"}"#);
}

#[test]
fn a_second_byte_order_mark_is_rejected() {
    const MESSAGE: &str = "unexpected byte order mark: it is only allowed once, at the start of a text";

    let text = "\u{feff}\u{feff}a: 1";
    assert!(read(text).starts_with(MESSAGE), "{}", read(text));
    assert_eq!(read_as_kubectl(text), MESSAGE);
    assert_eq!(read("\u{feff}a: 1\n---\n\u{feff}b: 2\n"), r#"{"a":1}{"b":2}"#);
}

#[test]
fn kubectl_accepts_only_a_comment_after_a_separator() {
    for text in ["--- !!map\na: 1", "a: 1\n---b\n", "\u{feff}--- {a: 1}", "a: 1\n--- |\n b\n"] {
        assert_eq!(read_as_kubectl(text), "kubectl accepts only a comment after `---`", "{text:?}");
    }
    let text = "--- # c\na: x---y\n---   \nb: |\n  ---z\n";
    assert_eq!(read_as_kubectl(text), "{\"a\":\"x---y\"}{\"b\":\"---z\\n\"}");
}

#[test]
fn block_scalars_at_the_end_keep_the_line_breaks_of_the_text() {
    // Columns: the text, the value for kustomize, the value for kubectl.
    let table = [
        ("|\n    x", "x", "x\\n"),
        ("|+\n    x", "x", "x\\n"),
        (">\n    x", "x", "x\\n"),
        ("|-\n    x", "x", "x"),
        ("|\n    x\n  ", "x\\n", "x\\n"),
        ("|\n    x\n    ", "x\\n", "x\\n"),
        ("|\n    x \n  ", "x \\n", "x \\n"),
        ("|\n    x\n      ", "x\\n  ", "x\\n  \\n"),
        ("|+\n    x\n  ", "x\\n", "x\\n\\n"),
        (">+\n    x\n\n  ", "x\\n\\n", "x\\n\\n\\n"),
        (">\n    x\n  ", "x\\n", "x\\n"),
        ("|2\n    x\n  ", "  x\\n", "  x\\n"),
        ("|2\n    x\n   ", "  x\\n ", "  x\\n \\n"),
        ("|1\n   ", "  ", "  \\n"),
        ("|2\n    \n  ", "  \\n", "  \\n"),
        ("|\n    x\r\n  ", "x\\n", "x\\n"),
        ("|\n    x\r", "x\\n", "x\\n"),
        ("|\n    x\u{85}", "x\\n", "x\\n"),
        ("|+", "", ""),
        ("|+\n  ", "", "\\n"),
        ("|+\n\n  ", "\\n", "\\n\\n"),
        ("|+\n\n", "\\n", "\\n"),
        ("|\n    x\n  # c", "x\\n", "x\\n"),
    ];
    for (value, kustomize, kubectl) in table {
        let text = format!("a: {value}");
        assert_eq!(read(&text), format!("{{\"a\":\"{kustomize}\"}}"), "{text:?}");
        let options = ParseOptions::kubectl();
        assert_eq!(read_with(&text, options), format!("{{\"a\":\"{kubectl}\"}}"), "{text:?}");
        let patch = read_with(&text, options.for_patch());
        assert_eq!(patch, format!("{{\"a\":\"{kustomize}\"}}"), "as a patch: {text:?}");
    }
}

#[test]
fn constructs_that_only_libyaml_accepts() {
    let table = [
        (
            "a: [cat, -]\nb: [-]\nc: {d: -, e: [ -,\n-]}\n",
            r#"{"a":["cat","-"],"b":["-"],"c":{"d":"-","e":["-","-"]}}"#,
        ),
        ("a: [&x -, *x, !!str -,-]\n", r#"{"a":["-","-","-","-"]}"#),
        ("a: \"v\"#c\nb: ['v'#c]\n,#d\n\"w\"]#e\nc: {#f\n}#g\n", r#"{"a":"v","b":["v","w"],"c":{}}"#),
        ("a: |#c\n  x\nb: >-#c\n  x\nc: |2+#c+\n  x\n\n", r#"{"a":"x\n","b":"x","c":"x\n\n"}"#),
        ("a: b\n---#c\nd: e\n", r#"{"a":"b"}{"d":"e"}"#),
        ("a: |\n  \n # c\nb:\n  c: >-\n\n     \n   # d\n  d: e\n", r#"{"a":"","b":{"c":"","d":"e"}}"#),
        (r#"a: "it\'s \\'" # \'"#, r#"{"a":"it's \\'"}"#),
        ("a: !!str, 5\nb: [!!int, x, !y,z, c]\n", r#"{"a":"5","b":["x","c"]}"#),
    ];
    for (text, want) in table {
        assert_eq!(read(text), want, "{text:?}");
    }
}

#[test]
fn similar_text_is_not_rewritten() {
    let table = [
        (
            "a: |\n  \n # c\nb: |\n\n  # c\nd:\n- |\n  |\n      \n   # c\n- |\n",
            r#"{"a":"","b":"\n# c\n","d":["|\n    \n # c\n",""]}"#,
        ),
        (
            "a: it's \"x\"#y\nb: x]#y\nc: x,#y\nd: x |#y\ne: \"v\"#c\n",
            r##"{"a":"it's \"x\"#y","b":"x]#y","c":"x,#y","d":"x |#y","e":"v"}"##,
        ),
        (
            "a: |\n  \"x\"#y [-]\n  \\' !!str, z\nb: ['x\"#y', '[-]', \"v\"#c\n]\n",
            r##"{"a":"\"x\"#y [-]\n\\' !!str, z\n","b":["x\"#y","[-]","v"]}"##,
        ),
        ("a: [x -, --, 'y -', -z, -] # [-]\n", r#"{"a":["x -","--","y -","-z","-"]}"#),
        ("a: 'x\\' # \"\\'\"\nb: \"\\'\"\n", r#"{"a":"x\\","b":"'"}"#),
        ("a: |\n  |\n\n   # x\nb: |\n   \n # c\n", r#"{"a":"|\n\n # x\n","b":""}"#),
        (
            "a: x !!str, y\nb: '!!str, y'\nc: !!str, y # !!str, y\n",
            r#"{"a":"x !!str, y","b":"!!str, y","c":"y"}"#,
        ),
        ("a: \"v\"#c\nb: x \"y\"#\n  z\nc: 'w'#d\n", r##"{"a":"v","b":"x \"y\"# z","c":"w"}"##),
    ];
    for (text, want) in table {
        assert_eq!(read(text), want, "{text:?}");
        let comments = read_with(text, ParseOptions::default().with_comments());
        assert_eq!(comments, want, "{text:?}");
    }
}

#[test]
fn several_constructs_in_one_text_are_rewritten() {
    let text = "a: 'x\ny'#c\nb: [\n-, \"\\'\",\n!z, y]#d\nc: |#e\n\n    \n # f\nd: \"g\"h\n";
    assert!(read(text).ends_with(" 10:7"), "{}", read(text));
    let text = text.replace("\"g\"h", "\"g\"");
    assert_eq!(read(&text), r#"{"a":"x y","b":["-","'","y"],"c":"","d":"g"}"#);
    let sources = SourceMap::default();
    let id = sources.add("t.yaml", text.as_str());
    let documents = parse_documents(&sources, id, ParseOptions::default().with_comments()).expect("YAML");
    for (name, want) in [("a", "'x\ny'"), ("b", "[\n-, \"\\'\",\n!z, y]"), ("d", "\"g\"")] {
        let value = documents[0].get(name).expect("there");
        assert_eq!(&text[value.span().start as usize..value.span().end as usize], want);
    }
    let line =
        |name: &str| documents[0].get(name).and_then(|value| value.meta.comments.as_ref()?.line.clone());
    assert_eq!(
        [line("a").as_deref(), line("b").as_deref(), line("d").as_deref()],
        [Some("#c"), Some("#d"), None]
    );
}
