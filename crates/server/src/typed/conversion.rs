//! Formats the API server's message for a strategic merge patch whose result cannot be converted to the Go type.

use std::fmt::Write as _;

use serde_json::Value;

/// Returns a map in the format in which Go prints it: `map[spec:map[replicas:x]]`.
pub(crate) fn go_map(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("<nil>"),
        Value::String(own) => text.push_str(own),
        Value::Object(fields) => {
            text.push_str("map[");
            for (index, (name, value)) in fields.iter().enumerate() {
                let _ = write!(text, "{}{name}:", if index > 0 { " " } else { "" });
                write_value(text, value);
            }
            text.push(']');
        }
        Value::Array(list) => {
            text.push('[');
            for (index, entry) in list.iter().enumerate() {
                text.push_str(if index > 0 { " " } else { "" });
                write_value(text, entry);
            }
            text.push(']');
        }
        scalar => {
            // Writing to a string never fails.
            let _ = write!(text, "{scalar}");
        }
    }
}

/// Converts a message about JSON of the wrong type to the one about a value of the wrong type.
pub(crate) fn unconverted(message: &str) -> String {
    if message.starts_with("illegal base64 data") {
        return format!("error decoding from json: {message}");
    }
    let parts = message.strip_prefix("json: cannot unmarshal ").and_then(|rest| rest.split_once(" into Go "));
    let wanted = message.rsplit_once(" of type ").map(|(_, wanted)| wanted);
    let (Some((found, _)), Some(wanted)) = (parts, wanted) else { return message.into() };
    if message.contains(".minAvailable ") || message.contains(".maxUnavailable ") || message.contains("Port ")
    {
        return format!("json: cannot unmarshal {found} into Go value of type {wanted}");
    }
    let kind = match found {
        "number" => "int64",
        "array" => "slice",
        "object" => "map",
        found if found.starts_with("number ") => "float64",
        found => found,
    };
    let is_text = wanted == "string" || wanted.contains('.');
    match wanted {
        list if list.starts_with("[]") => format!("cannot restore slice from {kind}"),
        map if map.starts_with("map[") => format!("cannot restore map from {kind}"),
        _ if kind == "int64" && is_text => format!("cannot convert {kind} to {wanted}"),
        _ if is_text => "unrecognized type: string".into(),
        scalar => format!("unrecognized type: {scalar}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patches_are_printed_as_by_go() {
        assert_eq!(go_map(&json!({"b": [1, {"c": null}], "a": "x y"})), "map[a:x y b:[1 map[c:<nil>]]]");
    }

    #[test]
    fn messages_about_values_are_those_of_go() {
        let json = |found: &str, wanted: &str| {
            unconverted(&format!("json: cannot unmarshal {found} into Go struct field A.b of type {wanted}"))
        };
        assert_eq!(json("number", "string"), "cannot convert int64 to string");
        assert_eq!(json("bool", "v1.RestartPolicy"), "unrecognized type: string");
        assert_eq!(json("number", "v1.RestartPolicy"), "cannot convert int64 to v1.RestartPolicy");
        assert_eq!(json("string", "int32"), "unrecognized type: int32");
        assert_eq!(json("string", "[]v1.Container"), "cannot restore slice from string");
        let text = "illegal base64 data at input byte 4";
        assert_eq!(unconverted(text), format!("error decoding from json: {text}"));
    }
}
