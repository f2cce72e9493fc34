//! Compares and writes JSON values like structured-merge-diff: numbers are compared by value, whether integer or float.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};
use smp_text::gocompat::strconv::format_float;

/// Returns true if two values are equal. Numbers are compared by value: `1` equals `1.0`.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, value)| b.get(name).is_some_and(|other| equal(value, other)))
        }
        _ => a == b,
    }
}

/// Orders values of any type: numbers, strings, booleans, lists, maps, null.
pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let different = a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
            different.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => compare_maps(a, b),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// Compares maps entry by entry, in the order of the names. The first name that only one map has determines the order.
fn compare_maps(a: &Map<String, Value>, b: &Map<String, Value>) -> Ordering {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for (i, name) in names.into_iter().enumerate() {
        let order = match (a.get(name), b.get(name)) {
            _ if i == a.len() => Ordering::Less,
            _ if i == b.len() => Ordering::Greater,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some(a), Some(b)) => compare(a, b),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => compare_with_float(a, float(b)),
        (None, Some(b)) => compare_with_float(b, float(a)).reverse(),
        (None, None) => float(a).total_cmp(&float(b)),
    }
}

/// Go rounds the integer to a float. That would not be a total order for integers above 2^53.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "exact where both are equal"
)]
fn compare_with_float(int: i64, float: f64) -> Ordering {
    (int as f64).total_cmp(&float).then_with(|| i128::from(int).cmp(&(float as i128)))
}

/// Returns a number as a float. JSON has no `NaN`; adding zero turns a negative zero into zero.
fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default() + 0.0
}

/// Returns a value as field sets contain it: a float without a fraction is an integer.
pub(super) fn normalized(value: &Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.as_i64().is_none() && float(number).fract() == 0.0 => {
            #[expect(clippy::cast_possible_truncation, reason = "such floats are exact integers")]
            match float(number) {
                whole if whole.abs() < EXACT => Value::from(whole as i64),
                _ => value.clone(),
            }
        }
        _ => value.clone(),
    }
}

/// Formats a value for messages and paths as `ToString` of structured-merge-diff does.
pub(super) fn write_readable(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        // Stored field sets contain only floats.
        Value::Number(number) => out.push_str(&format_float(float(number))),
        Value::String(text) => write_quoted(text, out),
        Value::Array(list) => {
            out.push('[');
            for (i, entry) in list.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                write_readable(entry, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            for (name, value) in map {
                let _ = write!(out, "{name}=");
                write_readable(value, out);
            }
        }
    }
}

/// Appends a string as Go's `%q` formats it.
pub(super) fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\u{7}' => write!(out, "\\a"),
            '\u{8}' => write!(out, "\\b"),
            '\u{c}' => write!(out, "\\f"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            '\u{b}' => write!(out, "\\v"),
            c if c.is_ascii_control() => write!(out, "\\x{:02x}", u32::from(c)),
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)),
            c => write!(out, "{c}"),
        };
    }
    out.push('"');
}

/// The characters of a JSON string that are escaped in addition to those that JSON requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// None, as in field names.
    Required,
    /// `<`, `>`, `&` and the line separators of JavaScript, as in values.
    Html,
}

/// Appends a JSON string as the JSON library of structured-merge-diff writes it.
pub(super) fn write_json_string(text: &str, escape: Escape, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            '\0'..' ' => write!(out, "\\u{:04x}", u32::from(c)),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if escape == Escape::Html => {
                write!(out, "\\u{:04x}", u32::from(c))
            }
            c => write!(out, "{c}"),
        };
    }
    out.push('"');
}

/// Appends a value as compact JSON with sorted field names.
pub(super) fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => write_json_string(text, Escape::Html, out),
        Value::Array(list) => {
            out.push('[');
            for (i, entry) in list.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                write_json(entry, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (i, (name, value)) in entries.into_iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                write_json_string(name, Escape::Html, out);
                out.push(':');
                write_json(value, out);
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_all_types_have_a_total_order() {
        let sorted = [
            json!(-1),
            json!(0.5),
            json!(1),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(""),
            json!("a"),
            json!("b"),
            json!(false),
            json!(true),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([2]),
            json!({}),
            json!({"a": 1}),
            json!({"a": 2}),
            json!(null),
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a} {b}");
                assert_eq!(equal(a, b), i == j, "{a} {b}");
            }
        }
    }

    #[test]
    fn numbers_are_compared_by_value() {
        assert!(equal(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert!(equal(&json!(0), &json!(-0.0)));
        assert_eq!(normalized(&json!(80.0)), json!(80));
        assert_eq!(normalized(&json!(1e300)), json!(1e300));
        assert_eq!(normalized(&json!(0.5)), json!(0.5));
    }

    #[test]
    fn readable_values_look_as_in_conflicts() {
        let table = [
            (json!("a\"\n\u{1}"), r#""a\"\n\x01""#),
            (json!(80), "80"),
            (json!(1_234_567), "1.234567e+06"),
            (json!([1, "a"]), r#"[1,"a"]"#),
            (json!({"a": true}), "a=true"),
            (json!(null), "null"),
        ];
        for (value, want) in table {
            let mut out = String::new();
            write_readable(&value, &mut out);
            assert_eq!(out, want);
        }
    }
}
