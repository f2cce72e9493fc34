use super::*;
use smp_text::source::SourceMap;
use smp_text::yaml::{DuplicateKeys, ParseOptions, parse_one, to_json};

fn node(text: &str) -> Node {
    let sources = SourceMap::default();
    let id = sources.add("t.yaml", text);
    let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    parse_one(&sources, id, options).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the patched document as JSON, or the code of the error.
fn patched(document: &str, patch: &str, options: JsonPatchOptions) -> String {
    let patch = parse_json_patch(&node(patch)).expect("a list of maps");
    let mut dest = node(document);
    let before = dest.clone();
    match patch.apply_with(&mut dest, &options) {
        Ok(()) => to_json(&dest).expect("finite"),
        Err(error) => {
            assert_eq!(dest, before, "nothing is changed on an error: {patch:?}");
            format!("{:?}", error.code())
        }
    }
}

/// Columns: document, patch, result by the RFC, result by Kubernetes' tools.
fn check(table: &[(&str, &str, &str, &str)]) {
    for (document, patch, strict, lenient) in table {
        let want = |text: &str| {
            if text.starts_with(['{', '[', '"']) {
                to_json(&node(text)).expect("finite")
            } else {
                text.to_string()
            }
        };
        let options = [JsonPatchOptions::rfc6902(), JsonPatchOptions::kubernetes()];
        let [by_rfc, by_kubernetes] = options.map(|options| patched(document, patch, options));
        assert_eq!(by_rfc, want(strict), "RFC 6902\n{document}\n{patch}");
        let lenient = if *lenient == "same" { strict } else { lenient };
        assert_eq!(by_kubernetes, want(lenient), "Kubernetes\n{document}\n{patch}");
    }
}

#[test]
fn add() {
    check(&[
        ("{}", "- {op: add, path: /a, value: 1}", "{a: 1}", "same"),
        ("{a: 1}", "- {op: add, path: /a, value: {b: 2}}", "{a: {b: 2}}", "same"),
        ("{a: [1, 2]}", "- {op: add, path: /a/1, value: x}", "{a: [1, x, 2]}", "same"),
        ("{a: [1, 2]}", "- {op: add, path: /a/2, value: x}", "{a: [1, 2, x]}", "same"),
        ("{a: [1, 2]}", "- {op: add, path: /a/-, value: x}", "{a: [1, 2, x]}", "same"),
        ("{a: [1, 2]}", "- {op: add, path: /a/3, value: x}", "MissingField", "same"),
        ("{a: [1, 2]}", "- {op: add, path: /a/-1, value: x}", "MissingField", "{a: [1, 2, x]}"),
        ("{a: [1, 2]}", "- {op: add, path: /a/-3, value: x}", "MissingField", "{a: [x, 1, 2]}"),
        ("{a: [1, 2]}", "- {op: add, path: /a/-4, value: x}", "MissingField", "same"),
        ("{a: [1, 2]}", "- {op: add, path: /a/x, value: x}", "MissingField", "same"),
        ("{}", "- {op: add, path: /a/b, value: 1}", "MissingField", "same"),
        ("{a: null}", "- {op: add, path: /a/b, value: 1}", "MissingField", "same"),
        ("{a: x}", "- {op: add, path: /a/b, value: 1}", "MissingField", "same"),
        ("{}", "- {op: add, path: /a}", "MissingField", "{a: null}"),
        ("{}", "- {op: add, path: /a~1b~0c, value: 1}", "{a/b~c: 1}", "same"),
        ("{}", "- {op: add, path: /, value: 1}", "{'': 1}", "same"),
        ("{}", "- {op: add, path: '', value: [1]}", "[1]", "InvalidValue"),
        ("{a: {}}", "- {op: add, path: x/a/b, value: 1}", "InvalidValue", "{a: {b: 1}}"),
        ("{a: {}}", "- {op: add, path: a, value: 1}", "InvalidValue", "same"),
        ("{}", "- {op: add, path: /a~2, value: 1}", "InvalidValue", "{a~2: 1}"),
    ]);
}

#[test]
fn remove_and_replace() {
    check(&[
        ("{a: 1, b: 2}", "- {op: remove, path: /a}", "{b: 2}", "same"),
        ("{a: [1, 2, 3]}", "- {op: remove, path: /a/1}", "{a: [1, 3]}", "same"),
        ("{a: [1, 2, 3]}", "- {op: remove, path: /a/-1}", "MissingField", "{a: [1, 2]}"),
        ("{a: [1]}", "- {op: remove, path: /a/-}", "MissingField", "same"),
        ("{a: 1}", "- {op: remove, path: /b}", "MissingField", "same"),
        ("{a: 1}", "- {op: remove, path: ''}", "InvalidValue", "same"),
        ("{a: 1}", "- {op: replace, path: /a, value: {b: 1}}", "{a: {b: 1}}", "same"),
        ("{a: 1}", "- {op: replace, path: /a}", "MissingField", "{a: null}"),
        ("{a: [1, 2]}", "- {op: replace, path: /a/1, value: x}", "{a: [1, x]}", "same"),
        ("{a: [1, 2]}", "- {op: replace, path: /a/2, value: x}", "MissingField", "same"),
        ("{a: [1, 2]}", "- {op: replace, path: /a/-2, value: x}", "MissingField", "{a: [x, 2]}"),
        ("{}", "- {op: replace, path: /a, value: 1}", "MissingField", "{a: 1}"),
        ("{a: 1}", "- {op: replace, path: '', value: {b: 1}}", "{b: 1}", "same"),
        ("{a: 1}", "- {op: replace, path: '', value: x}", "\"x\"", "WrongType"),
    ]);
}

#[test]
fn move_and_copy() {
    check(&[
        ("{a: 1}", "- {op: move, from: /a, path: /b}", "{b: 1}", "same"),
        ("{a: [1, 2, 3]}", "- {op: move, from: /a/0, path: /a/2}", "{a: [2, 3, 1]}", "same"),
        ("{a: [1, 2, 3]}", "- {op: move, from: /a/-1, path: /a/0}", "MissingField", "{a: [3, 1, 2]}"),
        ("{a: {b: 1}}", "- {op: move, from: /a, path: /a/c}", "InvalidValue", "same"),
        ("{a: 1}", "- {op: move, from: /a, path: /a}", "{a: 1}", "same"),
        ("{a: 1}", "- {op: move, from: /b, path: /c}", "MissingField", "same"),
        ("{a: 1}", "- {op: move, path: /c}", "MissingField", "same"),
        ("{a: {b: 1}}", "- {op: copy, from: /a, path: /a/c}", "{a: {b: 1, c: {b: 1}}}", "same"),
        ("{a: [1]}", "- {op: copy, from: /a/0, path: /a/-}", "{a: [1, 1]}", "same"),
        ("{}", "- {op: copy, from: /a, path: /b}", "MissingField", "{b: null}"),
        ("{a: []}", "- {op: copy, from: /a/0, path: /b}", "MissingField", "same"),
        ("{a: 1}", "- {op: copy, from: '', path: /b}", "{a: 1, b: {a: 1}}", "InvalidValue"),
    ]);
}

#[test]
fn tests() {
    let pass = "{a: [1, {b: x}], z: null}";
    check(&[
        (pass, "- {op: test, path: /a/0, value: 1}", pass, "same"),
        (pass, "- {op: test, path: /a/0, value: 1.0}", pass, "same"),
        (pass, "- {op: test, path: /a/0, value: '1'}", "TestFailed", "same"),
        (pass, "- {op: test, path: /a, value: [1, {b: x}]}", pass, "same"),
        (pass, "- {op: test, path: /a, value: [{b: x}, 1]}", "TestFailed", "same"),
        (pass, "- {op: test, path: /z, value: null}", pass, "same"),
        (pass, "- {op: test, path: /z}", "MissingField", pass),
        (pass, "- {op: test, path: /x, value: null}", "TestFailed", pass),
        (pass, "- {op: test, path: /x, value: 1}", "TestFailed", "same"),
        (pass, "- {op: test, path: /x/y, value: 1}", "MissingField", "same"),
        (pass, "- {op: test, path: /a/2, value: 1}", "MissingField", "same"),
        (pass, "- {op: test, path: '', value: {z: null, a: [1, {b: x}]}}", pass, "same"),
        (pass, "- {op: test, path: '', value: {}}", "TestFailed", "same"),
        ("{z: 9007199254740993}", "- {op: test, path: /z, value: 9007199254740992.0}", "TestFailed", "same"),
    ]);
}

#[test]
fn all_or_nothing() {
    let patch = "[{op: remove, path: /a}, {op: add, path: /b/c, value: 1}, {op: test, path: /x, value: 1}]";
    check(&[("{a: 1, b: {}}", patch, "TestFailed", "same")]);
    let error = parse_json_patch(&node(patch)).expect("well-formed").apply(&mut node("{a: 1, b: {}}"));
    let error = error.expect_err("the test fails");
    assert_eq!(error.notes(), ["operation 3"]);
    assert_eq!(error.field_path(), Some("/x"));
    assert_eq!(error.labels().len(), 1, "the location of the operation");
}

#[test]
fn malformed_patches() {
    for (patch, code) in [("{}", Code::WrongType), ("x", Code::WrongType), ("[x]", Code::WrongType)] {
        assert_eq!(parse_json_patch(&node(patch)).expect_err(patch).code(), code);
    }
    assert!(parse_json_patch(&node("")).expect("nothing to do").is_empty());
    check(&[
        ("{}", "[null]", "MissingField", "same"),
        ("{}", "- {op: nope, path: /a}", "InvalidValue", "same"),
        ("{}", "- {op: 5, path: /a}", "MissingField", "same"),
        ("{}", "- {path: /a}", "MissingField", "same"),
        ("{}", "- {op: add, value: 1}", "MissingField", "same"),
        ("{}", "- {op: add, path: [a], value: 1}", "MissingField", "same"),
    ]);
}

#[test]
fn scalars_of_a_yaml_patch_have_the_types_of_yaml_1_1() {
    let values = "- {op: add, path: /v, value: [yes, off, 'no', 2020-01-01, 0755, {y: 1, 'n': 2}]}";
    check(&[("{}", values, r#"{v: [true, false, "no", "2020-01-01", 493, {"true": 1, n: 2}]}"#, "same")]);
    let json = r#"[{"op": "add", "path": "/v", "value": {"y": "yes"}}]"#;
    check(&[("{}", json, r#"{v: {y: "yes"}}"#, "same")]);
}

#[test]
fn copies_are_bounded() {
    let mut patch = String::from("- {op: add, path: /a, value: [x]}\n");
    for _ in 0..40 {
        patch.push_str("- {op: copy, from: /a, path: /a/-}\n");
    }
    assert_eq!(patched("{}", &patch, JsonPatchOptions::kubernetes()), "LimitExceeded");
}
