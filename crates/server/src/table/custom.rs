//! Columns of custom resources, from their definitions.

use serde_json::{Value, json};
use smp_merge::managed_fields::Timestamp;

use super::age;
use super::column::{NAME, scalar, string};
use crate::metadata::meta;

/// Returns the definitions of columns, which follow the column of the name.
pub(super) fn definitions(columns: &[Value]) -> Vec<Value> {
    let definition = |column: &Value| {
        let description = match string(column, "description") {
            "" => format!(
                "Custom resource definition column (in JSONPath format): {}",
                string(column, "jsonPath")
            ),
            own => own.into(),
        };
        json!({
            "name": column["name"], "type": column["type"], "format": string(column, "format"),
            "description": description, "priority": column["priority"].as_i64().unwrap_or_default(),
        })
    };
    NAME.definition().into_iter().chain(columns.iter().map(definition)).collect()
}

/// Returns the cells of an object, which follow the cell of the name.
pub(super) fn cells(columns: &[Value], object: &Value, now: i64) -> Vec<Value> {
    let cell = |column: &Value| {
        let found = find(object, string(column, "jsonPath"));
        found.map_or(Value::Null, |value| cell(value, string(column, "type"), now))
    };
    let name = Value::from(meta(object, "name"));
    std::iter::once(name).chain(columns.iter().map(cell)).collect()
}

/// Returns a value in the type of its column, or null.
fn cell(value: &Value, kind: &str, now: i64) -> Value {
    match (kind, value) {
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => {
            value.clone()
        }
        ("string", Value::Null) => "<no value>".into(),
        ("string", other) => other.to_string().into(),
        #[expect(clippy::cast_possible_truncation, reason = "the server cuts the fraction, too")]
        ("integer", Value::Number(number)) => {
            number.as_i64().or_else(|| number.as_f64().map(|number| number as i64)).into()
        }
        ("date", Value::String(time)) => match Timestamp::parse(time) {
            Ok(_) => age::since(time, now).into(),
            Err(_) => "<invalid>".into(),
        },
        _ => Value::Null,
    }
}

/// Finds the first value of a JSON path: `.status.conditions[?(@.type=="Ready")].status`.
fn find<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    let mut value = object;
    let mut rest = path.trim_start_matches('$');
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let (inside, after) = after.split_once(']')?;
            value = entry(value, inside)?;
            rest = after;
        } else {
            let (name, after) = name(rest.strip_prefix('.').unwrap_or(rest));
            value = match &*name {
                "" => value,
                "*" => any(value)?,
                name => value.get(name)?,
            };
            rest = after;
        }
    }
    Some(value)
}

/// Splits a path after its first name. A backslash escapes a dot.
fn name(path: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = path.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '.' | '[' => return (name, &path[at..]),
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => name.push(character),
        }
    }
    (name, "")
}

/// Returns the first entry of a list or map.
fn any(value: &Value) -> Option<&Value> {
    match value {
        Value::Array(list) => list.first(),
        Value::Object(fields) => fields.values().next(),
        _ => None,
    }
}

fn entry<'v>(list: &'v Value, inside: &str) -> Option<&'v Value> {
    let name = inside.trim_matches(['\'', '"']);
    if inside == "*" {
        return any(list);
    }
    if let Ok(index) = name.parse::<i64>() {
        let list = list.as_array()?;
        let index =
            usize::try_from(index).ok().or_else(|| list.len().checked_sub(usize::try_from(-index).ok()?))?;
        return list.get(index);
    }
    let Some(filter) = inside.strip_prefix("?(@").and_then(|rest| rest.strip_suffix(')')) else {
        return list.get(name);
    };
    let (field, wanted) = filter.split_once("==")?;
    let wanted = wanted.trim().trim_matches(['\'', '"']);
    let is_wanted = |one: &&Value| find(one, field.trim()).is_some_and(|found| scalar(found, "") == wanted);
    list.as_array()?.iter().find(is_wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_json_paths() {
        let object = json!({
            "metadata": {"labels": {"a.b/c": "d"}}, "spec": {"parts": [{"id": 1}, {"id": 2, "at": {"is": true}}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        for (path, want) in [
            (".spec.parts[0].id", json!(1)),
            (".spec.parts[-1].id", json!(2)),
            (".spec.parts[*].id", json!(1)),
            (r#".status.conditions[?(@.type=="Ready")].status"#, json!("True")),
            (".spec.parts[?(@.at.is==true)].id", json!(2)),
            (r".metadata.labels.a\.b/c", json!("d")),
            (".metadata.labels['a.b/c']", json!("d")),
        ] {
            assert_eq!(find(&object, path), Some(&want), "{path}");
        }
        assert_eq!(find(&object, ".spec.none"), None);
        assert_eq!(find(&object, ".spec.parts[-3]"), None);
    }

    #[test]
    fn cells_have_the_type_of_their_column() {
        for (kind, value, want) in [
            ("integer", json!(2.5), json!(2)),
            ("integer", json!("2"), Value::Null),
            ("string", json!({"a": 1}), json!(r#"{"a":1}"#)),
            ("date", json!("x"), json!("<invalid>")),
            ("date", json!("1970-01-01T00:00:00Z"), json!("9s")),
        ] {
            assert_eq!(cell(&value, kind, 9), want);
        }
    }
}
