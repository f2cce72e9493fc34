//! Tables of texts that this reader reads, and of texts that it declines.

use super::compare::compare_readers;

/// Texts that are read, with the same events as those of the parser.
const READ: &[&str] = &[
    "",
    "\n  \n",
    "   ",
    "# only a comment",
    "# top\na: 1 # one\n\nb: # list\n# first\n- x # ex\n# map\n- y: 1\n  z:\n  w: # c\n# end\n",
    "a:\n  b:\n    c: d\n  # indented less\ne:\n\n# f\n\nf:\n",
    "a:\n- b\n-\n- # c\n- # d\n  # e\n-\n  f: g\nh:\n  -  i: 1\n     j: 2\n",
    "a:\n- # c\n  b: c\n",
    "a: # c\n  # d\n  b: c\n",
    "- a: b\n  c: d\n-\n  e: f\n- - x\n  - y\n  -\n- - - z\n",
    "a:\n  b\nc:\n  'd'\ne: # f\n  g\n",
    "---\n# c\na: b\n---\n---\n# only\n--- # d\n- e\n---",
    "# c\n---\na: b\n# d\n---   \n",
    "scalar\n",
    "'scalar' # c\n---\n\"x\"",
    // Plain and quoted scalars.
    "a: b:c\nd: e#f\nhttp://g: h\ni : j\nk:   l   \n-m: -n\n?o: ?p\n:q: :r\n",
    "'a b': 'it''s'\n\"c\" : \"d\\n\\\"\\\\ \\u00e9\\x41\\U0001F389\"\ne: ''\nf: \"\"\n",
    "a: \u{e9}\u{a0}\u{4e2d}\n\u{1f389}: \"\u{e9}\" # \u{e9}\n",
    "a: b\n  c\n\n\n  d # e\nf:\n- g\n  h\n",
    "a:\n  b\n  c\nd: e\n",
    "a: \"b  \n  c \\\n   \\ d\n\n  e\"\nf: 'g\n\n\n h '\n",
    // Block scalars.
    "a: |\n  b\n\n  c\n\n\nd: >- # e\n   f\n# g\nh: |+\n  i\n\n# j\nk: |2\n   l\n",
    "a: >\n  b\n  c\n\n  d\n   e\n   f\n\n  g\n\nh: |\ni: >+\n\nj: k\n",
    "- |\n  a\n   \n  # b\n # c\n- b: |-\n    c\n  d: |1-\n   e\n- >2+\n   f\n",
    "a: |\n  b",
    "a: |-\n  b\n  c\n\n",
    "a:\n- |2\n   b\n- |\n c\n",
    // Flow style.
    "a: [b, 'c', \"d\"] # e\nf: {g: h, \"i\":1, j: [k, {l: m}]}\nn: []\no: {}\np: [ ]\nq: [a, ]\n",
    "{\"a\": [1, -2.5e3, true, null, \"x\\n\"], \"b\": {\"c\": {}}}",
    "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"c\"\n    }\n  ],\n  \"d\": []\n}\n",
    "[\n]\n---\n[a, b:c, d#e]\n",
    "a: [\n  b,\nc ]\nd: {e:\n f}\n",
];

/// Texts that are declined, valid or not.
const DECLINED: &[&str] = &[
    "a: &x b\nc: *x\n",
    "a: !!str 1\n",
    "? a\n: b\n",
    "%YAML 1.1\n---\na: b\n",
    "a: b\n...\n",
    "--- a\n",
    "--- |\n a\n",
    "---a: b\n",
    "\u{feff}a: b\n",
    "a:\tb\n",
    "a: b\r\n",
    "a: \u{85}b\n",
    "a: \u{2028}b\n",
    "a: \u{1}\n",
    "a: \u{7f}\n",
    "a: \u{ffff}\n",
    "a: b\n  c: d\n",
    "a: b # c\n  d\n",
    "a: b: c\n",
    "a: - b\n",
    "a: b\n- c\n",
    "- a\nb: c\n",
    "- 'a'\n - b\n",
    " a: b\nc: d\n",
    "a:\n    b: c\n  d: e\n",
    "a\nb: c\n",
    "a: b\nc\n",
    "'a' b: c\n",
    "a: 'b' c\n",
    "a: \"b\"#c\n",
    "a: \"b\n",
    "a: \"b\nc\"\n",
    "a: 'b\n---\n c'\n",
    "a: \"\\/\"\n",
    "a: \"\\q\"\n",
    "a: \"\\ud83d\\ude00\"\n",
    "a: @b\n",
    "a: `b\n",
    "a: |x\n  b\n",
    "a: |0\n  b\n",
    "a: |#b\n  c\n",
    "a: |\n    \n  b\n",
    "a: |\n",
    "a: |\n  b\n  ",
    "a: [b\n",
    "a: [b}\n",
    "a: [b]]\n",
    "a: [b] c\n",
    "a: [b c: d]\n",
    "a: [b: c]\n",
    "a: [,]\n",
    "a: [b,,]\n",
    "a: [b?]\n",
    "a: [-, b]\n",
    "a: [b # c\n ]\n",
    "a: {b}\n",
    "a: {b: }\n",
    "a: {b:1}\n",
    "a: {b: c:}\n",
    "a: {\"b\"\n: c}\n",
    "a: [b\n c]\n",
    "a: [\n---\n]\n",
    "[a]: b\n",
];

#[test]
fn common_texts_are_read_as_by_the_parser() {
    for text in READ {
        assert_eq!(compare_readers(text), Ok(true), "{text:?}");
    }
}

#[test]
fn other_texts_are_left_to_the_parser() {
    for text in DECLINED {
        assert_eq!(compare_readers(text), Ok(false), "{text:?}");
    }
}

#[test]
fn long_keys_and_deep_levels_are_left_to_the_parser() {
    let key = |length: usize| compare_readers(&format!("{}: a\n", "k".repeat(length)));
    assert_eq!((key(900), key(901)), (Ok(true), Ok(false)));
    let dashes = |levels: usize| compare_readers(&format!("{}a\n", "- ".repeat(levels)));
    assert_eq!((dashes(200), dashes(201)), (Ok(true), Ok(false)));
    let brackets = |levels: usize| compare_readers(&format!("{}a{}", "[".repeat(levels), "]".repeat(levels)));
    assert_eq!((brackets(200), brackets(201)), (Ok(true), Ok(false)));
    assert_eq!(compare_readers(&"[".repeat(100_000)), Ok(false));
}
