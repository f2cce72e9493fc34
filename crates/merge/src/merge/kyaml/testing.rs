//! Test helpers for kyaml's merges.

use crate::merge::Merged;
use smp_text::diagnostic::Result;
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, ParseOptions, Resolved, Value, parse_one, resolve_plain};

fn read(text: &str, options: ParseOptions) -> Node {
    let sources = SourceMap::default();
    let id = sources.add("test.yaml", text);
    parse_one(&sources, id, options).expect("valid YAML")
}

/// Parses a single document.
pub(crate) fn node(text: &str) -> Node {
    read(text, ParseOptions::default())
}

/// Parses a single document with its comments.
pub(crate) fn commented(text: &str) -> Node {
    read(text, ParseOptions { keep_comments: true, ..ParseOptions::default() })
}

/// Formats the data in one line. Fields keep their order, and ambiguous strings are quoted.
pub(crate) fn format_data(node: &Node) -> String {
    match &node.value {
        Value::Map(map) => {
            let fields: Vec<_> =
                map.iter().map(|(key, value)| format!("{key}: {}", format_data(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::List(list) => {
            let entries: Vec<_> = list.iter().map(format_data).collect();
            format!("[{}]", entries.join(", "))
        }
        Value::Scalar(text) => match (node.resolve(), resolve_plain(text)) {
            (Some(Resolved::Str(text)), Resolved::Str(_)) => text.to_string(),
            (Some(Resolved::Str(text)), _) => format!("{text:?}"),
            (Some(Resolved::Null), _) => "null".to_string(),
            _ => text.to_string(),
        },
    }
}

/// Formats a result for comparison: the data, `none`, or the code of the error.
pub(crate) fn outcome(result: Result<Merged>) -> String {
    match result.map(|merged| merged.node) {
        Ok(Some(node)) => format_data(&node),
        Ok(None) => "none".to_string(),
        Err(error) => format!("{:?}", error.code()),
    }
}

/// Formats an expected result like [`outcome`].
pub(crate) fn expected(text: &str) -> String {
    if text.starts_with(['{', '[']) { format_data(&node(text)) } else { text.to_string() }
}
