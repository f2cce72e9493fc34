//! Objects in Go's JSON format: structs in the order of their fields, maps sorted. The parts that a patch changed are
//! maps.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use smp_merge::schema::Cursor;

use super::go_types;

/// The parts of an object that a patch turned into maps.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Touched<'p> {
    /// The maps that a merge patch contains; this is the part of the patch for the current value.
    Merge(&'p Value),
    /// The maps on the paths of a JSON patch.
    Operations(&'p [Value], usize),
    Nothing,
}

impl<'p> Touched<'p> {
    fn is_map(self) -> bool {
        match self {
            Self::Merge(patch) => patch.is_object(),
            Self::Operations(operations, _) => !operations.is_empty(),
            Self::Nothing => false,
        }
    }

    /// Returns the patch of a field. `left` receives the operations below the field.
    fn below(self, name: &str, left: &'p mut Vec<Value>) -> Self {
        match self {
            Self::Merge(patch) => patch.get(name).map_or(Self::Nothing, Self::Merge),
            Self::Operations(operations, depth) => {
                let leads = |operation: &&Value| {
                    let path = operation["path"].as_str().unwrap_or_default();
                    let mut steps = path.split('/').skip(depth + 1);
                    steps.next() == Some(name) && steps.next().is_some()
                };
                *left = operations.iter().filter(leads).cloned().collect();
                if left.is_empty() { Self::Nothing } else { Self::Operations(left, depth + 1) }
            }
            Self::Nothing => Self::Nothing,
        }
    }
}

/// Returns an object in the format of the server's messages.
pub(crate) fn go_json(value: &Value, cursor: Cursor<'_>, touched: Touched<'_>) -> String {
    let mut text = String::new();
    write_value(&mut text, value, cursor, touched);
    text
}

fn write_value(text: &mut String, value: &Value, cursor: Cursor<'_>, touched: Touched<'_>) {
    match value {
        Value::Object(fields) => write_map(text, fields, cursor, touched),
        Value::Array(list) => {
            text.push('[');
            for (index, entry) in list.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write_value(text, entry, cursor.element(), Touched::Nothing);
            }
            text.push(']');
        }
        scalar => {
            // Writing to a string never fails.
            let _ = write!(text, "{scalar}");
        }
    }
}

fn write_map(text: &mut String, fields: &Map<String, Value>, cursor: Cursor<'_>, touched: Touched<'_>) {
    let known = cursor.type_name().filter(|_| !touched.is_map()).and_then(go_types::find);
    let known = known.map(|known| &*known.order).unwrap_or_default();
    let ordered = known.iter().filter_map(|name| fields.get_key_value(*name));
    let others = fields.iter().filter(|(name, _)| !known.contains(&name.as_str()));
    text.push('{');
    for (index, (name, value)) in ordered.chain(others).enumerate() {
        let mut left = Vec::new();
        let below = touched.below(name, &mut left);
        let _ = write!(text, "{}{}:", if index > 0 { "," } else { "" }, Value::from(name.as_str()));
        let cursor = cursor.declared(name).unwrap_or_else(|| cursor.additional());
        write_value(text, value, cursor, below);
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use smp_merge::schema::{Gvk, Schema};

    use super::*;

    #[test]
    fn untouched_structs_keep_their_order() {
        let schema = Schema::embedded();
        let cursor = schema.kind(&Gvk::from_manifest("apps/v1", "Deployment")).expect("built in");
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"labels": {"b": "", "a": ""}, "name": "a"},
            "spec": {"selector": {}, "replicas": "x", "strategy": {"rollingUpdate": {}, "type": "RollingUpdate"}},
        });
        let patch = json!({"spec": {"replicas": "x"}});
        let expected = concat!(
            r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","labels":{"a":"","b":""}},"#,
            r#""spec":{"replicas":"x","selector":{},"strategy":{"type":"RollingUpdate","rollingUpdate":{}}}}"#
        );
        assert_eq!(go_json(&object, cursor, Touched::Merge(&patch)), expected);
        let operations = [json!({"op": "replace", "path": "/spec/replicas", "value": "x"})];
        assert_eq!(go_json(&object, cursor, Touched::Operations(&operations, 0)), expected);
    }
}
