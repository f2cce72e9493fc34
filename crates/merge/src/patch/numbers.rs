//! Detects numbers in JSON that overflow a 64-bit float.

use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Entry, Map, Node, Resolved, Style};

/// Checks that each number of a JSON text can be represented.
///
/// Unquoted text in JSON is a number. A YAML parser reads a number such as `1e400` as a string, and it would be sent as
/// a string.
///
/// # Errors
/// A number is too large ([`Code::InvalidValue`]).
pub fn check_numbers(node: &Node) -> Result<()> {
    let maps = node.nodes().filter(|node| node.meta.style == Style::Flow).filter_map(Node::as_map);
    let fields = maps.flat_map(Map::entries);
    let has_json_key = |entry: &&Entry| entry.key.meta.style == Style::DoubleQuoted;
    fields.filter(has_json_key).try_for_each(|entry| check_number(&entry.value))
}

/// Checks the value of a field whose key is quoted.
fn check_number(node: &Node) -> Result<()> {
    if let Some(list) = node.as_list() {
        return list.iter().try_for_each(check_number);
    }
    let is_plain = node.meta.style == Style::Plain;
    match node.resolve() {
        Some(Resolved::Str(text)) if is_plain && is_infinite(text) => {
            let message = format!("number `{text}` is too large for an API server");
            Err(Diagnostic::error(Code::InvalidValue, message)
                .at(node.span())
                .help("put it in quotes if it is a string"))
        }
        _ => Ok(()),
    }
}

fn is_infinite(text: &str) -> bool {
    let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    is_number && text.parse::<f64>().is_ok_and(f64::is_infinite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_in_json_are_checked() {
        let table = [
            (r#"{"a": {"b": [1, 1e400]}}"#, false),
            (r#"{"a": -1e999}"#, false),
            (r#"[{"op": "add", "path": "/a", "value": 1e400}]"#, false),
            (r#"{"a": "1e400", "b": 1e300}"#, true),
            // In YAML this value is a string, such as an abbreviated commit hash.
            ("{a: 7e12345}", true),
            ("a: 1e400", true),
            (r#"{"a": infinity}"#, true),
        ];
        for (text, is_fine) in table {
            assert_eq!(check_numbers(&text.parse().expect("YAML")).is_ok(), is_fine, "{text}");
        }
    }
}
