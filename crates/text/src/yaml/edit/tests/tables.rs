//! Tables of texts, changes and expected results.

use super::{Reading, changed, changed_as, check, edit_text, map, read, read_as, value};
use crate::yaml::{Node, write_documents_in_source_style};

#[test]
fn scalars_change_in_place() {
    check(&[
        ("a: 1 # one\nb: 2\n", "a = 5", "a: 5 # one\nb: 2\n"),
        ("a: 1", "a = 5", "a: 5"),
        ("a:   1   # one\n", "a = 5", "a:   5   # one\n"),
        ("a: 'x'\nb: \"y\"\nc: z\n", "a = w;;b = it's;;c = 'q'", "a: 'w'\nb: \"it's\"\nc: 'q'\n"),
        ("a: 'x'\n", "a = 7", "a: 7\n"),
        ("a: x\n", "a = '7'", "a: '7'\n"),
        ("a:\nb: 1\n", "a = 5", "a: 5\nb: 1\n"),
        ("a: # none\nb: 1\n", "a = 5", "a: 5 # none\nb: 1\n"),
        ("a: 1 # one\n", "a =", "a: # one\n"),
        ("a: 1\n", "a = ~", "a: ~\n"),
        ("a:\n  # here\n  foo # bar\n", "a = baz", "a:\n  # here\n  baz # bar\n"),
        ("a: foo\n  bar\n  baz # c\nb: 1\n", "a = x", "a: x # c\nb: 1\n"),
        ("a: 1\n", "a = 2 # two", "a: 2 # two\n"),
        ("a: 1 # one\n", "a = 2 # two", "a: 2 # two\n"),
        ("a: 1 # one\n", "a = 1 # two", "a: 1 # two\n"),
        ("a: 1\n", "a = 1 # two", "a: 1 # two\n"),
        ("a: {b: 1}\n", "a = {b: 2} # two", "a: {b: 2} # two\n"),
        ("a: [1] # one\n", "a = x # two", "a: x # two\n"),
        ("a: # one\n", "a = x # two", "a: x # two\n"),
        ("a: # one\n  b: 1\n", "a = x # two", "a: x # two\n"),
        ("a: # one\n- 1\nb:\n- 2\n", ". = a: # two\n- 1\nb: # too\n- 2", "a: # two\n- 1\nb: # too\n- 2\n"),
        ("- 1\n- 2 # b\n-\n", "1 = 5;;2 = 6", "- 1\n- 5 # b\n- 6\n"),
        ("a: !!str 1 # x\n", "a = two", "a: two # x\n"),
        ("a: !!int 1\n", "a = two", "a: two\n"),
    ]);
}

#[test]
fn block_scalars() {
    check(&[
        ("a: |\n  x\n  y\nb: 1\n", "a = z", "a: z\nb: 1\n"),
        ("a: | # c\n  x\n  y\n\nb: 1\n", "a = z", "a: z # c\n\nb: 1\n"),
        ("a: >-\n  x\n  y\n# about b\nb: 1\n", "b = 2", "a: >-\n  x\n  y\n# about b\nb: 2\n"),
        ("a: |+\n  x\n\nb: 1\n", "b = 2;;. + c: 3", "a: |+\n  x\n\nb: 2\nc: 3\n"),
        ("a: |+\n  x\n\nb: 1\n\nc: 2\n", "- b", "a: |+\n  x\n\nc: 2\n"),
        ("a: 1\n\nb: 1\n", "a = |+\n\n", "a: |2+\n\nb: 1\n"),
        ("a: |+\n  x\n\nb: 1\n", "a = z", "a: z\nb: 1\n"),
        ("a: |2\n   x\nb: 1\n", "a = z;;. + c: 3", "a: z\nb: 1\nc: 3\n"),
        ("a: 1 # c\nb: 2\n", "a = \"x\\ny\\n\"", "a: \"x\\ny\\n\" # c\nb: 2\n"),
        ("a: 1 # c\nb: 2\n", "a = |\n  x\n  y\n", "a: | # c\n  x\n  y\nb: 2\n"),
        ("a: |\n  x\n  y\n", "a = |-\n  x\n  z", "a: |-\n  x\n  z\n"),
        ("a:\n- |\n  x\n  y\n- b\n", "a/0 = z", "a:\n- z\n- b\n"),
        ("a:\n- x\n- b\n", "a/0 = |\n    x\n    y\n", "a:\n- |\n  x\n  y\n- b\n"),
        ("a:\n    b: x\n", "a/b = |\n    x\n    y\n", "a:\n    b: |\n        x\n        y\n"),
        ("a:\n    b: x\n", "a/b = |2\n   x\n", "a:\n    b: |2\n       x\n"),
        ("b: 1", "b = |\n  x\n  y\n", "b: |\n  x\n  y\n"),
        ("a: |\n  # no comment\n  x\nb: 1\n", "- b", "a: |\n  # no comment\n  x\n"),
    ]);
}

#[test]
fn fields_are_added_and_removed() {
    check(&[
        ("a: 1\nb: 2\n", ". + c: 3", "a: 1\nb: 2\nc: 3\n"),
        ("a: 1\nb: 2", ". + c: 3", "a: 1\nb: 2\nc: 3"),
        ("a: 1\nb: 2\n", "- a", "b: 2\n"),
        ("a: 1\nb: 2\n", "- b", "a: 1\n"),
        ("a: 1\n# about b\nb: 2 # b\nc: 3\n", "- b", "a: 1\nc: 3\n"),
        ("a: 1\n\n# about b\nb: 2\n\nc: 3\n", "- b", "a: 1\n\nc: 3\n"),
        ("a: 1\n\nb: 2\n\n# about c\nc: 3\n", "- c", "a: 1\n\nb: 2\n"),
        ("a: 1\n# far\n\nb: 2\n", "- b", "a: 1\n# far\n"),
        ("# of the file\na: 1\nb: 2\n", "- a", "# of the file\nb: 2\n"),
        ("# of the file\na: 1\n", ". < 0 = z: 0", "# of the file\nz: 0\na: 1\n"),
        ("x:\n  # of a\n  a: 1\n", "x < 0 = z: 0", "x:\n  z: 0\n  # of a\n  a: 1\n"),
        ("x:\n  a: 1\n  # deep\ny: 2\n", ". < 1 = z: 0", "x:\n  a: 1\n  # deep\nz: 0\ny: 2\n"),
        ("x:\n  a: 1\n  # deep\ny: 2\n", "x + z: 0", "x:\n  a: 1\n  z: 0\n  # deep\ny: 2\n"),
        ("x:\n  a: 1\n  # deep\ny: 2\n", "- x", "y: 2\n"),
        ("a: 1\nb: 2\nc: 3\nd: 4\n", "- b;;- c;;. < 1 = x: 9", "a: 1\nx: 9\nd: 4\n"),
        ("a: 1\nb: 2\n", "- a;;- b;;. + c: 3", "c: 3\n"),
    ]);
}

#[test]
fn fields_change_the_type_of_their_value() {
    check(&[
        ("x:\n  a: 1 # c\n  # deep\ny: 2\n", "x = 5", "x: 5\ny: 2\n"),
        ("x: # c\n  a: 1\ny: 2\n", "x = 5", "x: 5 # c\ny: 2\n"),
        ("x: 5 # c\ny: 2\n", "x = {a: 1}", "x: {a: 1} # c\ny: 2\n"),
        ("x: 5 # c\ny: 2\n", "x = a: 1", "x: # c\n  a: 1\ny: 2\n"),
        ("x: 5 # c\ny: 2\n", "x = [1]", "x: [1] # c\ny: 2\n"),
        ("x: 5 # c\ny: 2\n", "x = - 1\n- 2", "x: # c\n- 1\n- 2\ny: 2\n"),
        ("x:\n  a: 1\ny: 2\n", "- x/a", "x: {}\ny: 2\n"),
        ("x: {}\ny: 2\n", "x + a: 1\nb: 2", "x:\n  a: 1\n  b: 2\ny: 2\n"),
        ("x: {} # c\ny: 2\n", "x + a: 1", "x: # c\n  a: 1\ny: 2\n"),
        ("x:\n  a: 1\n", "x = {b: 2}", "x: {b: 2}\n"),
        ("x:\n  a: 1\n", "x = b: 2", "x:\n  b: 2\n"),
    ]);
}

#[test]
fn new_fields_have_the_layout_of_the_text() {
    check(&[
        ("a: 1\n", ". + # new\nb: 2 # two", "a: 1\n# new\nb: 2 # two\n"),
        (
            "a: 1\n",
            ". + b:\n  # x\n  c: [1, 2]\n  d:\n  - e: 1\n    f: 2",
            "a: 1\nb:\n  # x\n  c: [1, 2]\n  d:\n  - e: 1\n    f: 2\n",
        ),
        (
            "a:\n    b:\n        c: 1\n",
            "a + d:\n  e:\n    f: 1",
            "a:\n    b:\n        c: 1\n    d:\n        e:\n            f: 1\n",
        ),
        ("a:\n  - b\n", ". + c:\n- d", "a:\n  - b\nc:\n  - d\n"),
    ]);
}

#[test]
fn maps_keep_the_order_of_the_text() {
    let text = "a: 1\nb: 2\n";
    let (before, after) = (read(text), map(&[("b", value("2")), ("c", value("3")), ("a", value("9"))]));
    let edited = edit_text(text, Reading::Kustomize, &before, &[Some(after)]).expect("editable");
    assert_eq!(edited, "a: 9\nb: 2\nc: 3\n");
}

#[test]
fn entries_are_added_and_removed() {
    check(&[
        ("a:\n- x\n- y\nb: 1\n", "a + z", "a:\n- x\n- y\n- z\nb: 1\n"),
        ("a:\n  - x\n  - y\nb: 1\n", "a + z", "a:\n  - x\n  - y\n  - z\nb: 1\n"),
        ("a:\n- x # 1\n# of y\n- y # 2\n- z # 3\n", "- a/1", "a:\n- x # 1\n- z # 3\n"),
        ("a:\n- x\n- x\n- x\n", "- a/1", "a:\n- x\n- x\n"),
        ("a:\n# of x\n- x\n", "a < 0 = w", "a:\n- w\n# of x\n- x\n"),
        ("a:\n- n: 1\n  m: 2\n- n: 3\n", "a/0 + o: 5", "a:\n- n: 1\n  m: 2\n  o: 5\n- n: 3\n"),
        ("a:\n- n: 1\n  m: 2\n- n: 3\n", "- a/0/n", "a:\n- m: 2\n- n: 3\n"),
        ("a:\n- n: 1 # c\n  # of m\n  m: 2\n", "- a/0/n", "a:\n# of m\n- m: 2\n"),
        ("a:\n- n: 1\n  m: 2\n", "a/0 < 0 = l: 0", "a:\n- l: 0\n  n: 1\n  m: 2\n"),
        ("a:\n- n: 1\n  m: 2\n  o: 3\n", "- a/0/n;;- a/0/m;;a/0 < 0 = l: 0", "a:\n- l: 0\n  o: 3\n"),
        ("a:\n- n: 1\n  m: 2\n- 5\n", "- a/0/n;;- a/0/m", "a:\n- {}\n- 5\n"),
        ("a:\n- n: 1\n  m: 2\n- 5\n", "a/0 = 6", "a:\n- 6\n- 5\n"),
        ("a:\n- 6 # c\n- 5\n", "a/0 = n: 1\nm: 2", "a:\n- n: 1 # c\n  m: 2\n- 5\n"),
        ("a:\n- # c\n  n: 1\n", "a/0 = 6", "a:\n- 6 # c\n"),
        ("a:\n- n: 1\n", "a + # new\nn: 2\nm:\n  o: 3\n", "a:\n- n: 1\n# new\n- n: 2\n  m:\n    o: 3\n"),
        ("a:\n- x\n", "- a/0", "a: []\n"),
        ("a: []\n", "a + x", "a:\n- x\n"),
        ("- - a\n  - b\n- c\n", "- 0/0", "- - b\n- c\n"),
        ("- - a\n  - b\n- c\n", "0 < 0 = z;;0 + d", "- - z\n  - a\n  - b\n  - d\n- c\n"),
        ("- - a\n  # of b\n  - b\n", "0/1 > 0", "- # of b\n  - b\n  - a\n"),
        ("a:\n\n- x\n\n- y\n\n- z\n", "- a/1", "a:\n\n- x\n\n- z\n"),
        (
            "- # c\n  a: 1\n-   b: 2\n    c: 3\n",
            "0 + d: 1;;1 + d: 1",
            "- # c\n  a: 1\n  d: 1\n-   b: 2\n    c: 3\n    d: 1\n",
        ),
    ]);
}

#[test]
fn entries_move_with_their_comments() {
    check(&[
        (
            "l:\n# a\n- n: a # x\n  v: 1\n# b\n- n: b # y\n  v: 2\n- n: c\nz: 1\n",
            "l/1 > 0",
            "l:\n# b\n- n: b # y\n  v: 2\n# a\n- n: a # x\n  v: 1\n- n: c\nz: 1\n",
        ),
        (
            "l:\n- n: a\n  v: 1\n- n: b\n  v: 2\n",
            "l/1 > 0;;l/0/v = 3;;l < 0 = n: new",
            "l:\n- n: new\n- n: b\n  v: 3\n- n: a\n  v: 1\n",
        ),
        ("l:\n- a\n\n- b\n\n- c\n", "l/2 > 0", "l:\n- c\n- a\n\n- b\n"),
    ]);
}

#[test]
fn equal_entries_from_another_source_are_kept() {
    check(&[
        ("a:\n- x # 1\n- y # 2\n", "a = [y, z, x]", "a:\n- y # 2\n- z\n- x # 1\n"),
        (
            "a:\n- n: x # 1\n  v: 1 # v\n- n: y # 2\n",
            "a = - n: x\n  v: 2\n- n: z\n- n: y",
            "a:\n- n: x # 1\n  v: 2 # v\n- n: z\n- n: y # 2\n",
        ),
        ("a: [x, y] # c\n", "a = - y\n- z", "a: [y, z] # c\n"),
    ]);
}

#[test]
fn flow_style_is_kept() {
    check(&[
        ("a: {b: 1, c: 2}\n", "a/b = 3", "a: {b: 3, c: 2}\n"),
        ("a: {b: 1, c: 2}\n", "- a/b", "a: {c: 2}\n"),
        ("a: {b: 1, c: 2}\n", "- a/c", "a: {b: 1}\n"),
        ("a: {b: 1, c: 2, d: 3}\n", "- a/c;;- a/d;;a + e: {f: g}", "a: {b: 1, e: {f: g}}\n"),
        ("a: {b: 1, c: 2}\n", "a + d: \"x, y\"", "a: {b: 1, c: 2, d: \"x, y\"}\n"),
        ("a: {b: 1}\n", "a < 0 = z: 0", "a: {z: 0, b: 1}\n"),
        ("a: {b: 1}\n", "- a/b", "a: {}\n"),
        ("a: {b, c: , d: 1}\n", "a/b = 1;;a/c = 2", "a: {b: 1, c: 2, d: 1}\n"),
        ("a: [x, y] # c\n", "a + z", "a: [x, y, z] # c\n"),
        ("a: [x, y, ] # c\n", "a + z;;- a/0", "a: [y, z, ] # c\n"),
        ("a: ['x']\n", "a + \"1\"", "a: ['x', \"1\"]\n"),
        ("a: [\"x\", \"y\"]\n", "a + z;;a/0 = w", "a: [\"w\", \"y\", \"z\"]\n"),
        ("a: [x: 1, y]\n", "a/0/x = 2", "a: [{x: 2}, y]\n"),
        ("a: [[1, 2], [3]]\n", "a/0 + 5;;- a/1/0", "a: [[1, 2, 5], []]\n"),
        ("a: [\n  x, # 1\n  y  # 2\n]\n", "a + z", "a: [\n  x, # 1\n  y,  # 2\n  z\n]\n"),
        ("a: [\n  x, # 1\n  y  # 2\n]\n", "- a/1", "a: [\n  x # 1\n]\n"),
        (
            "a: [\n  x, # 1\n  # of y\n  y, # 2\n  z, # 3\n]\n",
            "- a/1;;a + w",
            "a: [\n  x, # 1\n  z, # 3\n  w,\n]\n",
        ),
        ("a: [x, {n: 1}]\n", "a = [{n: 2}]", "a: [{n: 2}]\n"),
        ("a: [x, y]\n", "a = 5", "a: 5\n"),
    ]);
}

#[test]
fn json_stays_json() {
    let text = "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": [\n            \"x\"\n        ]\n    },\n    \"e\": []\n}\n";
    check(&[
        (
            text,
            "a = two",
            "{\n    \"a\": \"two\",\n    \"b\": {\n        \"c\": [\n            \"x\"\n        ]\n    },\n    \"e\": []\n}\n",
        ),
        (text, "- a;;- e", "{\n    \"b\": {\n        \"c\": [\n            \"x\"\n        ]\n    }\n}\n"),
        (
            text,
            "b/c + y: é\nz: [0x10]",
            "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": [\n            \"x\",\n            {\n                \"y\": \"é\",\n                \"z\": [\n                    16\n                ]\n            }\n        ]\n    },\n    \"e\": []\n}\n",
        ),
        (
            text,
            "e + \"1\"",
            "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": [\n            \"x\"\n        ]\n    },\n    \"e\": [\n        \"1\"\n    ]\n}\n",
        ),
        (text, "- a;;- b;;- e;;. + z: yes", "{\n    \"z\": \"yes\"\n}\n"),
        (
            "{\"a\":1,\"b\":[1,2]}",
            "b + 3;;. + c: [x, {y: ~}]",
            "{\"a\":1,\"b\":[1,2,3],\"c\":[\"x\",{\"y\":null}]}",
        ),
        ("{\"a\": 1}", "a = \"\\x7F\"", "{\"a\": \"\\u007f\"}"),
        ("{\"a\": 1}", "a = 2020-01-01", "{\"a\": \"2020-01-01T00:00:00Z\"}"),
        ("{\n\t\"a\": 1\n}\n", ". + b: [1]", "{\n\t\"a\": 1,\n\t\"b\": [\n\t\t1\n\t]\n}\n"),
        ("[1, 2]\n", "- 0", "[2]\n"),
        ("[1.50, 2, {\"a\":3}]\n", "2 > 0;;0/a = 4;;2 = 5;;. + 6", "[{\"a\":4}, 1.50, 5, 6]\n"),
        ("[\n  1,\n  2,\n  3\n]\n", "2 > 0;;- 1", "[\n  3,\n  2\n]\n"),
    ]);
}

#[test]
fn aliases_are_expanded_if_their_anchor_changes() {
    check(&[
        ("a: &x 1\nb: *x # c\n", "b = 2", "a: &x 1\nb: 2 # c\n"),
        ("a: &x 1\nb: *x # c\n", "a = 2", "a: &x 2\nb: 1 # c\n"),
        ("a: &x 1\nb: *x # c\n", "a = 2;;b = 2", "a: &x 2\nb: *x # c\n"),
        ("a: &x 1\nb: *x\n", "- a", "b: 1\n"),
        (
            "a: &x\n  c: 1 # c\n  d: 2\nb: *x\ne: *x\n",
            "b/c = 3",
            "a: &x\n  c: 1 # c\n  d: 2\nb:\n  c: 3\n  d: 2\ne: *x\n",
        ),
        ("a: &x\n  c: 1\nb: *x\n", "a/c = 2", "a: &x\n  c: 2\nb:\n  c: 1\n"),
        ("a: &x\n  c: 1\nb: *x\n", "a/c = 2;;b/c = 2", "a: &x\n  c: 2\nb: *x\n"),
        ("a: &x [1]\nl:\n- *x\n- y\n", "- a", "l:\n- [1]\n- y\n"),
        (
            "n:\n- a: &x1 # c3\n   image: 1 # c4\n   n: 2 # c5\n  b: 1 # c6\n- *x1 # c7\na: *x1 # c8\n",
            "n/0/a + x y: 1;;a/image = [1]",
            "n:\n- a: &x1 # c3\n   image: 1 # c4\n   n: 2 # c5\n   x y: 1\n  b: 1 # c6\n- image: 1 # c7\n  n: 2\na: # c8\n image: [1]\n n: 2\n",
        ),
        ("a: &x 1\nz: &y 2\nl: [*x, *y]\n", "- a", "z: &y 2\nl: [1, *y]\n"),
        ("a: &x 1\nb: &x 2\nc: *x\n", "- b", "a: &x 1\nc: 2\n"),
        ("a: &x !!str 1\nb: *x\n", "a = w", "a: w\nb: \"1\"\n"),
        ("&k key: 1\nb: *k\n", "key = 2", "&k key: 2\nb: *k\n"),
        ("l:\n- &x a\n- b\n- *x\n", "l/1 > 0;;l/2 > 1", "l:\n- b\n- a\n- &x a\n"),
    ]);
}

#[test]
fn merge_keys() {
    let text = "a: &x\n  c: 1 # c\n  d: 2\nb:\n  <<: *x # m\n  d: 5\n  e: 6\n";
    check(&[
        (text, "b/e = 7", "a: &x\n  c: 1 # c\n  d: 2\nb:\n  <<: *x # m\n  d: 5\n  e: 7\n"),
        (text, "b/c = 7", "a: &x\n  c: 1 # c\n  d: 2\nb:\n  <<: *x # m\n  d: 5\n  e: 6\n  c: 7\n"),
        (text, "- b/e", "a: &x\n  c: 1 # c\n  d: 2\nb:\n  <<: *x # m\n  d: 5\n"),
        (text, "- b/d", "a: &x\n  c: 1 # c\n  d: 2\nb:\n  e: 6\n  c: 1\n"),
        (text, "- b/c", "a: &x\n  c: 1 # c\n  d: 2\nb:\n  d: 5\n  e: 6\n"),
        (text, "a/c = 3", "a: &x\n  c: 3 # c\n  d: 2\nb:\n  d: 5\n  e: 6\n  c: 1\n"),
        (text, "- a", "b:\n  d: 5\n  e: 6\n  c: 1\n"),
        ("a: &x\n  c: 1\nb:\n  <<: *x\n", "b/c = 2", "a: &x\n  c: 1\nb:\n  c: 2\n  <<: *x\n"),
        ("a: &x\n  c: 1\nb:\n  <<: *x\n", "- a", "b:\n  c: 1\n"),
        ("a: &x {c: 1}\nb: {<<: *x, d: 1}\n", "b/d = 2;;b + e: 3", "a: &x {c: 1}\nb: {<<: *x, d: 2, e: 3}\n"),
        ("a: &x {c: 1}\nb: {<<: *x, d: 1}\n", "- b/c", "a: &x {c: 1}\nb: {d: 1}\n"),
    ]);
}

#[test]
fn keys_and_tags_are_kept() {
    check(&[
        (
            "? a\n: 1\n? b # c: d\n: x: 1\n  y: 2\n",
            "a = 2;;b/x = 3;;b + z: 4",
            "? a\n: 2\n? b # c: d\n: x: 3\n  y: 2\n  z: 4\n",
        ),
        ("? a\n? b\n: 1\n", "a = 1", "a: 1\nb: 1\n"),
        ("\"a b\": 1\n'c:d' : 2\ne:f: 3\n", "a b = 9;;c:d = 8;;e:f = 7", "\"a b\": 9\n'c:d' : 8\ne:f: 7\n"),
        ("a: !!map\n  b: !x c\n", "a + d: 1", "a: !!map\n  b: !x c\n  d: 1\n"),
        ("--- !x # c\na: 1\n", "a = 2", "--- !x # c\na: 2\n"),
        ("a: 1\n", ". + \"<<\": 1;;. + \"1\": 2", "a: 1\n\"<<\": 1\n\"1\": 2\n"),
        ("a: !!binary aGk=\nb: 1\n", "b = 2", "a: !!binary aGk=\nb: 2\n"),
        ("a: !!binary aGk=\nb: 1\n", "a = x", "a: x\nb: 1\n"),
    ]);
}

#[test]
fn line_breaks_and_byte_order_marks_are_kept() {
    check(&[
        (
            "a: 1\r\nb: # c\r\n- x\r\n",
            "a = 2;;b + y;;. + c:\n  d: 1",
            "a: 2\r\nb: # c\r\n- x\r\n- y\r\nc:\r\n  d: 1\r\n",
        ),
        ("a:\r\n- x\r\n# y\r\n- y\r\n- z\r\n", "a/1 > 0;;- a/2", "a:\r\n# y\r\n- y\r\n- x\r\n"),
        ("\u{feff}a: 1\nb: 2\n", "- a;;. + c: 3", "\u{feff}b: 2\nc: 3\n"),
        ("\u{feff}- a: 1\n  b: 2\n", "0 + c: 3;;- 0/a", "\u{feff}- b: 2\n  c: 3\n"),
        ("\u{feff}a: 1\n", "- a", "\u{feff}{}\n"),
        ("{\r\n  \"a\": 1\r\n}\r\n", ". + b: 2", "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n"),
    ]);
}

#[test]
fn roots_can_change_their_type() {
    check(&[
        ("# c\na: 1\n", ". = - 1", "- 1\n"),
        ("--- # c\na: 1\n...\n# end\n", ". = [1]", "---\n[1]\n...\n# end\n"),
        ("{}\n", ". + a: 1", "a: 1\n"),
        ("--- {}\n", ". + a: 1", "---\na: 1\n"),
        ("--- {a: 1} # c\n", ". + b: 1", "--- {a: 1, b: 1} # c\n"),
        ("--- |\n  text\n", ". = text", "---\ntext\n"),
    ]);
}

/// Returns the text after some of its documents are replaced.
fn with_documents(text: &str, after: &[Option<&str>]) -> String {
    with_documents_as(Reading::Kustomize, text, after)
}

fn with_documents_as(reading: Reading, text: &str, after: &[Option<&str>]) -> String {
    let before = read_as(reading, text);
    let after: Vec<_> = after
        .iter()
        .enumerate()
        .map(|(i, a)| a.map(|a| if a == "=" { before[i].clone() } else { value(a) }))
        .collect();
    let edited = edit_text(text, reading, &before, &after).expect("editable");
    let after: Vec<_> = after.into_iter().flatten().collect();
    assert_eq!(read_as(reading, &edited), after, "{edited}");
    edited
}

const KEEP: Option<&str> = Some("=");

const THREE: &str = "# file\na: 1\n---\n# two\nb: 2\n--- # three\nc: 3\n";

/// A text, the replacements of its documents, and the resulting text.
const DOCUMENTS: &[(&str, &[Option<&str>], &str)] = &[
    (THREE, &[KEEP, KEEP, KEEP], THREE),
    (THREE, &[None, KEEP, KEEP], "# two\nb: 2\n--- # three\nc: 3\n"),
    (THREE, &[KEEP, None, KEEP], "# file\na: 1\n--- # three\nc: 3\n"),
    (THREE, &[KEEP, KEEP, None], "# file\na: 1\n---\n# two\nb: 2\n"),
    (THREE, &[None, None, KEEP], "--- # three\nc: 3\n"),
    (THREE, &[KEEP, Some("b: 5"), KEEP], "# file\na: 1\n---\n# two\nb: 5\n--- # three\nc: 3\n"),
    (THREE, &[KEEP, Some("- 5"), KEEP], "# file\na: 1\n---\n- 5\n--- # three\nc: 3\n"),
    (
        THREE,
        &[KEEP, KEEP, KEEP, Some("# four\nd: 4")],
        "# file\na: 1\n---\n# two\nb: 2\n--- # three\nc: 3\n---\n# four\nd: 4\n",
    ),
    (THREE, &[None, None, None], ""),
    ("---\na: 1\n---\nb: 2\n", &[None, KEEP], "---\nb: 2\n"),
    ("---\na: 1\n---\nb: 2", &[None, KEEP, Some("c: 3")], "---\nb: 2\n---\nc: 3\n"),
    ("a: 1", &[KEEP, Some("c: 3")], "a: 1\n---\nc: 3\n"),
    ("a: 1\r\n", &[KEEP, Some("c: 3")], "a: 1\r\n---\r\nc: 3\r\n"),
    ("# nothing\n", &[Some("c: 3")], "# nothing\nc: 3\n"),
    ("", &[Some("c: 3"), Some("d: 4")], "c: 3\n---\nd: 4\n"),
    ("%YAML 1.2\n---\na: 1\n...\n%YAML 1.2\n---\nb: 2\n", &[None, Some("b: 3")], "%YAML 1.2\n---\nb: 3\n"),
    (
        "%YAML 1.2\n---\na: 1\n...\n%YAML 1.2\n---\nb: 2\n",
        &[Some("a: 3"), None],
        "%YAML 1.2\n---\na: 3\n...\n",
    ),
    (
        "a: 1\n---\nb: 2\n...\n%YAML 1.2\n---\nc: 3\n",
        &[KEEP, None, KEEP],
        "a: 1\n...\n%YAML 1.2\n---\nc: 3\n",
    ),
    ("a: 1\n---\n---\nb: 2\n", &[KEEP, KEEP, Some("b: 3")], "a: 1\n---\n---\nb: 3\n"),
    ("a: 1\n---\n# none\n---\nb: 2\n", &[KEEP, Some("x: 1"), KEEP], "a: 1\n---\n# none\nx: 1\n---\nb: 2\n"),
    ("a: |+\n  x\n\n---\nb: 2\n", &[Some("a: z"), KEEP], "a: z\n---\nb: 2\n"),
    ("\u{feff}a: 1\n---\nb: 2\n", &[None, KEEP], "\u{feff}b: 2\n"),
    ("a: 1\u{2028}---\nb: 2\n", &[KEEP, KEEP], "a: 1\u{2028}---\nb: 2\n"),
    // A byte order mark before `---` is part of the previous, empty document.
    ("a: 1\n---\n\u{feff}---\nb: 2\n", &[KEEP, KEEP, KEEP], "a: 1\n---\n\u{feff}---\nb: 2\n"),
    ("a: 1\n---\n\u{feff}---\nb: 2\n", &[KEEP, Some("x: 1"), KEEP], "a: 1\n---\nx: 1\n---\nb: 2\n"),
    ("a: 1\n---\n\u{feff}---\nb: 2\n", &[KEEP, KEEP, None], "a: 1\n---\n\u{feff}"),
    ("a: 1\n---\n\u{feff}---\nb: 2\n", &[KEEP, None, KEEP], "a: 1\n---\nb: 2\n"),
];

#[test]
fn documents_are_added_and_removed() {
    for (text, after, want) in DOCUMENTS {
        let edited = with_documents(text, after);
        assert_eq!(edited, *want, "\n{text}\n{after:?}\n--- is\n{edited}");
    }
}

#[test]
fn a_document_that_cannot_be_edited_is_rewritten_alone() {
    // The blanks after `x` belong to the value of `a`.
    let text = "z:   1\n---\na: |\n  x\n     \nb:   1\n---\ny:   1\n";
    let edited = with_documents(text, &[Some("="), Some("a: \"x\\n   \\n\"\nb: 1\nc: 2"), Some("=")]);
    assert!(edited.starts_with("z:   1\n---\n"), "{edited}");
    assert!(edited.ends_with("---\ny:   1\n"), "{edited}");
    // If a line break were added after `x`, it would belong to the value.
    assert_eq!(changed("a: |\n  x", ". + b: 1"), "a: |-\n  x\nb: 1\n");
}

#[test]
fn scalars_that_kubectl_resolves_differently_keep_their_spelling() {
    let table = [
        ("a: yes # on\nn: off\nb: 1\n", "b = 2", "a: yes # on\nn: off\nb: 2\n"),
        ("n: 1 # of n\n.5: [no, y]\n", "false = 2;;0.5/0 = true", "n: 2 # of n\n.5: [true, y]\n"),
        ("n: {y: 1, -0x10: 2}\nb: 1\n", "false/-16 = 3;;- false/true;;- b", "n: {-0x10: 3}\n"),
        ("a: {on: 1}\nday: 2024-01-01\n", "a/true = 2", "a: {on: 2}\nday: 2024-01-01\n"),
        // Values from another source keep their type there.
        ("a: 1\n", ". + b: yes", "a: 1\nb: \"yes\"\n"),
        ("a: 1\n", ". + 'on': [n, y]", "a: 1\n'on': [\"n\", \"y\"]\n"),
        ("a: [1]\n", "a + y", "a: [1, \"y\"]\n"),
        ("a: 1\n", "a = 2024-01-01", "a: \"2024-01-01T00:00:00Z\"\n"),
        ("a: [1]\n", "a + 2024-01-01", "a: [1, \"2024-01-01T00:00:00Z\"]\n"),
        (
            "x: &x {a: 1}\nb:\n  a: 2\n  <<: *x\n  c: 1\n",
            "b/c = 2",
            "x: &x {a: 1}\nb:\n  a: 2\n  <<: *x\n  c: 2\n",
        ),
    ];
    for (text, changes, want) in table {
        assert_eq!(changed_as(Reading::Kubectl, text, changes), want, "\n{text}\n{changes}");
    }
}

#[test]
fn json_streams_stay_json_streams() {
    for text in ["{\"a\": 1}{\"a\": 2}", "{\"a\": 1}\n\n{\"a\": 2}\n", "\u{feff} {\"a\": 1} {\"a\": 2} "] {
        let before = read_as(Reading::Kubectl, text);
        for (i, value) in [(0, "1"), (1, "2")] {
            let mut after = before.clone();
            *after[i].get_mut("a").expect("there") = Node::string("x");
            let after: Vec<_> = after.into_iter().map(Some).collect();
            let edited = edit_text(text, Reading::Kubectl, &before, &after).expect("editable");
            assert_eq!(edited, text.replace(value, "\"x\""));
        }
    }
}

#[test]
fn json_streams_get_separators_for_other_documents() {
    let table: [(&str, &[Option<&str>], &str); 5] = [
        ("{} [1]\n", &[Some("a: b"), KEEP], "a: b\n---\n[1]\n"),
        ("{\"a\": 1} {}", &[KEEP, Some("- b")], "{\"a\": 1} \n---\n- b\n"),
        ("{} {\"a\": 1} {\"b\": 1}\n", &[None, KEEP, KEEP], "{\"a\": 1} {\"b\": 1}\n"),
        ("{\"a\": 1}{\"a\": 2}", &[Some("a: .inf"), KEEP], "{\"a\": .inf}\n---\n{\"a\": 2}"),
        ("{\"a\": 1}{\"a\": 2}", &[KEEP, KEEP, Some("c: 3")], "{\"a\": 1}\n---\n{\"a\": 2}\n---\nc: 3\n"),
    ];
    for (text, after, want) in table {
        assert_eq!(with_documents_as(Reading::Kubectl, text, after), want, "{text}");
    }
}

#[test]
fn trees_of_other_texts_are_rejected() {
    assert!(edit_text("a: 1\n", Reading::Kustomize, &[], &[]).is_err());
    assert!(edit_text("a: [", Reading::Kustomize, &[Node::null()], &[None]).is_err());
}

#[test]
fn long_lists_take_linear_time() {
    let text: String = (0..20_000).map(|i| format!("- name: n{i}\n  value: v # c\n")).collect();
    let text = format!("list:\n{text}");
    let json = format!("[{}]", (0..20_000).map(|i| format!("{{\"n\":{i}}}")).collect::<Vec<_>>().join(","));
    let started = std::time::Instant::now();
    for (text, path) in [(&text, "list/"), (&json, "")] {
        let edited = changed(text, &format!("- {path}7;;{path}19000 > 3;;- {path}15000"));
        assert!(edited.len() < text.len(), "{path}");
    }
    // The limit is far above the expected time, and far below the time of a quadratic algorithm.
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn documents_are_written_as_they_were_parsed() {
    let text = "# head\na: 1 # one\nb: 'x'\n# list\nc: # of c\n- d: |\n    x\n  e: {f: [1, \"2\"]}\n# of g\n- g\n# end\n";
    assert_eq!(write_documents_in_source_style(&read(text)), text);
    let documents = [value("a: 1"), value(""), value("- 1")];
    assert_eq!(write_documents_in_source_style(&documents), "a: 1\n---\nnull\n---\n- 1\n");
}

#[test]
fn comments_in_brackets_stay_with_their_entries() {
    check(&[
        // The comment of a removed entry is also removed, but no other comment.
        ("a: [\n  x, y, # y\n  z]\n", "- a/2", "a: [\n  x, y # y\n  ]\n"),
        ("a: [\n  x, y, # y\n  z]\n", "- a/1", "a: [\n  x, z]\n"),
        ("a: [x, # x\n  y, # y\n  z # z\n  ]\n", "- a/2", "a: [x, # x\n  y # y\n  ]\n"),
        ("a: [x, # x\n  y, # y\n  z # z\n  ]\n", "- a/2;;- a/1", "a: [x # x\n  ]\n"),
        ("a: [x, y,\n  # z\n  z]\n", "- a/1", "a: [x, \n  # z\n  z]\n"),
        ("a: {x: 1, # x\n  y: 2}\n", "- a/y", "a: {x: 1 # x\n  }\n"),
        // The comment of a moved entry is also moved.
        ("a: [\n  x, # x\n  # above y\n  y\n]\n", "a/1 > 0", "a: [\n  # above y\n  y,\n  x # x\n]\n"),
        ("a: [x, # x\n  y] # a\n", "a/1 > 0", "a: [\n  y,\n  x # x\n] # a\n"),
        ("a: [ # a\n  x,\n  y, # y\n  # end\n]\n", "a/1 > 0", "a: [ # a\n  y, # y\n  x,\n  # end\n]\n"),
        ("a: [x, y]\n", "a/1 > 0", "a: [y, x]\n"),
    ]);
}

#[test]
fn emptied_collections_keep_comments_that_belong_to_no_entry() {
    check(&[
        ("a: # a\n  # of b\n  b: 1\n", "- a/b", "a: {} # a\n"),
        ("a:\n  # all\n\n  # of b\n  b: 1 # b\n  # end\nc: 1\n", "- a/b", "# all\n# end\na: {}\nc: 1\n"),
        ("x:\n  a:\n    # all\n\n    - 1\n", "- x/a/0", "x:\n  # all\n  a: []\n"),
    ]);
}

#[test]
fn text_in_brackets_is_valid_for_kubectl() {
    for text in [":|", ":x", "?x", "a?", "a?b"] {
        let before = read_as(Reading::Kubectl, "a: {b: 1}\nc: [1]\n");
        let mut after = before[0].clone();
        after.get_mut("a").and_then(Node::as_map_mut).expect("a map").insert(text, Node::string(text));
        after.get_mut("c").and_then(Node::as_list_mut).expect("a list").push(Node::string(text));
        let edited =
            edit_text("a: {b: 1}\nc: [1]\n", Reading::Kubectl, &before, &[Some(after)]).expect("written");
        assert_eq!(edited, format!("a: {{b: 1, \"{text}\": \"{text}\"}}\nc: [1, \"{text}\"]\n"));
    }
}

#[test]
fn yaml_1_1_line_breaks_in_block_scalars_are_escaped() {
    check(&[("a: x\n", "a = \"b\\n\\Lc\\n\"", "a: \"b\\n\\Lc\\n\"\n")]);
    for other in ["\u{2028}", "\u{2029}", "\u{85}"] {
        for reading in [Reading::Kubectl, Reading::Kustomize] {
            let text = Node::string(format!("b\n{other}c\n"));
            let before = read_as(reading, "a: x\n");
            let after = Node::map([("a", text)].into_iter().collect());
            let edited =
                edit_text("a: x\n", reading, &before, &[Some(after.clone())]).expect("it can be written");
            assert_eq!(read_as(reading, &edited), [after], "{edited}");
        }
    }
}
