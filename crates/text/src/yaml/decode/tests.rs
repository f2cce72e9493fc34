//! Tests of decoding: values of all types, wrong types, and their locations.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;
use crate::source::SourceMap;
use crate::yaml::{DuplicateKeys, ParseOptions, Spanned, parse_one};

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Config {
    name_prefix: String,
    resources: Vec<Spanned<String>>,
    labels: BTreeMap<String, String>,
    count: i64,
    small: u8,
    on: bool,
    inner: Option<Inner>,
    values: serde_yaml::Value,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Inner {
    kind: String,
    list: Vec<Inner>,
}

fn read(text: &str, options: DecodeOptions) -> (SourceMap, Result<Config>) {
    let sources = SourceMap::default();
    let id = sources.add("k.yaml", text);
    let parse = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    let node = parse_one(&sources, id, parse).expect("valid YAML");
    let config = from_node_with(&node, options);
    (sources, config)
}

fn config(text: &str) -> Config {
    read(text, DecodeOptions::default()).1.unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Formats location, message and help of the error.
fn error(text: &str) -> String {
    let (sources, result) = read(text, DecodeOptions::default());
    let error = result.expect_err(text);
    let location = error.labels().first().and_then(|l| sources.describe(l.span)).unwrap_or_default();
    format!("{location} {error} [{}]", error.help_text().unwrap_or_default())
}

#[test]
fn values_are_typed_as_go_does() {
    assert_eq!(config(""), Config::default());
    assert_eq!(config("namePrefix: a").name_prefix, "a");
    assert_eq!(config("NAMEPREFIX: a").name_prefix, "a");
    assert_eq!(config("namePrefix: 2020-01-01").name_prefix, "2020-01-01");
    assert_eq!(config("namePrefix: null\ninner: ~\nlabels:\nresources:\n"), Config::default());
    assert_eq!(
        config("resources: [a, null]").resources,
        [Spanned::from("a".to_string()), Spanned::default()]
    );
    for (text, want) in [("1", 1), ("1e3", 1000), ("0x10", 16), ("010", 8), ("-4.0", -4), ("1_000", 1000)] {
        assert_eq!(config(&format!("count: {text}")).count, want, "{text}");
    }
    for (text, want) in [("yes", true), ("on", true), ("Y", true), ("off", false), ("true", true)] {
        assert_eq!(config(&format!("\"on\": {text}")).on, want, "{text}");
    }
    let inner = config("inner: {kind: x, list: [{kind: z}, null]}").inner.expect("given");
    assert_eq!(inner.list, [Inner { kind: "z".into(), ..Inner::default() }, Inner::default()]);
    assert_eq!(config("values: {a: [1, yes, x, 1.5]}").values["a"][1], serde_yaml::Value::Bool(true));
}

#[test]
fn last_spelling_of_a_field_wins() {
    for text in ["namePrefix: a\nnameprefix: b", "nameprefix: b\nnamePrefix: a"] {
        assert_eq!(config(text).name_prefix, "b", "the last in sorted order: {text}");
    }
    assert_eq!(config("namePrefix: a\nnamePrefix: b").name_prefix, "b");
}

#[test]
fn integer_keys_of_maps_become_strings() {
    let table = [
        ("1", "1"),
        ("0x10", "16"),
        ("\"yes\"", "yes"),
        ("\"true\"", "true"),
        ("123456.0", "123456"),
        ("1e3", "1000"),
        ("2020-01-01", "2020-01-01"),
    ];
    for (key, want) in table {
        let labels = config(&format!("labels: {{{key}: null}}")).labels;
        assert_eq!(labels, BTreeMap::from([(want.to_string(), String::new())]), "{key}");
    }
}

#[test]
fn non_string_keys_of_string_maps_are_all_reported() {
    let (sources, result) =
        read("labels:\n  n: a\n  ok: b\n  1.50: c\n  .inf: d\n  y: e\n", DecodeOptions::default());
    let error = result.expect_err("no strings");
    let all = std::iter::once(&error).chain(error.attached());
    let messages: Vec<_> = all
        .map(|error| format!("{} {error}", sources.describe(error.labels()[0].span).unwrap_or_default()))
        .collect();
    assert_eq!(
        messages,
        [
            "k.yaml:2:3 labels.n: the key `n` is a boolean (`false`) in YAML 1.1, not a string",
            "k.yaml:4:3 labels[1.50]: the key `1.50` is a number, not a string",
            "k.yaml:5:3 labels[.inf]: the key `.inf` is a number, not a string",
            "k.yaml:6:3 labels.y: the key `y` is a boolean (`true`) in YAML 1.1, not a string",
        ]
    );
    assert_eq!(error.help_text(), Some("put quotes around it: `\"n\"`"));
    assert_eq!(
        config("values: {n: 1}").values["false"],
        serde_yaml::Value::from(1),
        "the value passed to helm"
    );
}

#[test]
fn errors_have_a_location_and_a_help() {
    let table = [
        (
            "a: 1\nnamePrefx: x",
            "k.yaml:1:1 a: unknown field `a` [expected one of: `namePrefix`, `resources`, `labels`, `count`, `small`, `on`, `inner`, `values`]",
        ),
        ("namePrefx: x", "k.yaml:1:1 namePrefx: unknown field `namePrefx` [did you mean `namePrefix`?]"),
        (
            "inner:\n  list:\n  - kind: a\n  - knid: b",
            "k.yaml:4:5 inner.list[1].knid: unknown field `knid` [did you mean `kind`?]",
        ),
        (
            "namePrefix: 1",
            "k.yaml:1:13 namePrefix: expected a string, found an integer [put quotes around it]",
        ),
        (
            "resources:\n- a\n- on",
            "k.yaml:3:3 resources[1]: expected a string, found a boolean [put quotes around it]",
        ),
        (
            "resources: a",
            "k.yaml:1:12 resources: expected a list, found a string [begin each entry with `- `]",
        ),
        (
            "labels:\n  a/b: 1",
            "k.yaml:2:8 labels[a/b]: expected a string, found an integer [put quotes around it]",
        ),
        ("count: \"1\"", "k.yaml:1:8 count: expected an integer, found a string [remove the quotes]"),
        ("\"on\": \"true\"", "k.yaml:1:7 on: expected a boolean, found a string [remove the quotes]"),
        ("inner: [a]", "k.yaml:1:8 inner: expected a map, found a list []"),
        ("labels: {~: a}", "k.yaml:1:10 labels: a key cannot be null [put quotes around it]"),
    ];
    for (text, want) in table {
        assert_eq!(error(text), want, "{text}");
    }
    assert!(error("small: 300").starts_with("k.yaml:1:8 small: "), "{}", error("small: 300"));
    assert!(error("count: 1.5").starts_with("k.yaml:1:8 count: "), "{}", error("count: 1.5"));
}

#[test]
fn lenient_options_ignore_unknown_fields() {
    let text = "namePrefix: 1.0\nlabels: {a: yes}\nresources: [5]\nunknown: 1";
    let config = read(text, DecodeOptions::lenient()).1.expect("lenient");
    assert_eq!(config.name_prefix, "1");
    assert_eq!(config.labels["a"], "true");
    assert_eq!(config.resources[0].value, "5");
    assert!(read(text, DecodeOptions::transformer_config()).1.is_err());
}

#[test]
fn plugin_configuration_is_typed_as_a_resource() {
    let text = "namePrefix: on\nlabels: {n: yes, y: 2020-01-01}\nresources: [1.0, true]\nunknown: 1";
    let config = read(text, DecodeOptions::plugin()).1.expect("lenient");
    assert_eq!(config.name_prefix, "on");
    assert_eq!(config.labels["n"], "yes");
    assert_eq!(config.labels["y"], "2020-01-01T00:00:00Z");
    assert_eq!([&config.resources[0].value, &config.resources[1].value], ["1", "true"]);
    for text in ["\"on\": yes", "namePrefix: .inf"] {
        assert!(read(text, DecodeOptions::plugin()).1.is_err(), "{text}");
    }
}

#[test]
fn locations_are_kept() {
    let (sources, config) = read("resources:\n- a\n- \"b\"\n", DecodeOptions::default());
    let locations: Vec<_> = config
        .expect("valid")
        .resources
        .iter()
        .map(|r| sources.describe(r.span).expect("a location"))
        .collect();
    assert_eq!(locations, ["k.yaml:2:3", "k.yaml:3:3"]);
}
