//! The data and comments of kustomizations.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use smp_text::source::SourceMap;
use smp_text::yaml::{DuplicateKeys, Node, ParseOptions, comment_positions, parse_documents};

/// Returns the text of the kustomization of a directory.
pub fn text_of(directory: &Path) -> Option<String> {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"]
        .iter()
        .find_map(|name| fs::read_to_string(directory.join(name)).ok())
}

/// Returns the data of the first document. Empty values count as not set, as in kustomize, and names are in lower
/// case. Literals are sorted: kustomize writes them in random order.
pub fn data(text: &str) -> Result<Value, String> {
    let sources = SourceMap::default();
    let id = sources.add("kustomization.yaml", text);
    let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    let documents = parse_documents(&sources, id, options).map_err(|error| format!("{error}: {text}"))?;
    let value = documents.first().map(Node::to_json_value).unwrap_or_default();
    Ok(without_empty(value).unwrap_or_default())
}

fn without_empty(value: Value) -> Option<Value> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::String(text) if text.is_empty() => None,
        Value::Number(number) if number.as_f64() == Some(0.0) => None,
        Value::Array(list) => {
            // An empty entry of a list is an entry.
            let list: Vec<Value> =
                list.into_iter().map(|entry| without_empty(entry).unwrap_or_default()).collect();
            (!list.is_empty()).then_some(list.into())
        }
        Value::Object(map) => {
            let fields = map.into_iter().filter_map(|(name, value)| {
                let mut value = without_empty(value)?;
                if name == "literals"
                    && let Value::Array(list) = &mut value
                {
                    list.sort_by_key(ToString::to_string);
                }
                Some((name.to_lowercase(), value))
            });
            let fields: Map<_, _> = fields.collect();
            (!fields.is_empty()).then_some(fields.into())
        }
        other => Some(other),
    }
}

/// Returns the comments of a text.
pub fn comments(text: &str) -> Vec<&str> {
    let starts = comment_positions(text).unwrap_or_default();
    starts.into_iter().filter_map(|start| text.get(start..)?.lines().next().map(str::trim_end)).collect()
}
