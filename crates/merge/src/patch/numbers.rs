//! Numbers of JSON texts that are too large for any.

use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Entry, Map, Node, Resolved, Style};

/// Whether each number that a JSON text has can be sent.
///
/// What is not in quotes in a JSON text is a number; read as YAML, one like `1e400` is a text, and would be sent as
/// such.
///
/// # Errors
/// [`Code::InvalidValue`] for a number that is too large.
pub fn check_numbers(node: &Node) -> Result<()> {
    let maps = node.nodes().filter(|node| node.meta.style == Style::Flow).filter_map(Node::as_map);
    let fields = maps.flat_map(Map::entries);
    let of_json = |entry: &&Entry| entry.key.meta.style == Style::DoubleQuoted;
    fields.filter(of_json).try_for_each(|entry| check_number(&entry.value))
}

/// Checks the value of a field with a key in quotes.
fn check_number(node: &Node) -> Result<()> {
    if let Some(list) = node.as_list() {
        return list.iter().try_for_each(check_number);
    }
    let is_plain = node.meta.style == Style::Plain;
    match node.resolve() {
        Some(Resolved::Str(text)) if is_plain && is_infinite(text) => {
            let message = format!("`{text}` is a larger number than any that an API server takes");
            Err(Diagnostic::error(Code::InvalidValue, message)
                .at(node.span())
                .help("put it in quotes if it is a text"))
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
    fn only_numbers_of_json_texts_are_too_large() {
        let table = [
            (r#"{"a": {"b": [1, 1e400]}}"#, false),
            (r#"{"a": -1e999}"#, false),
            (r#"[{"op": "add", "path": "/a", "value": 1e400}]"#, false),
            (r#"{"a": "1e400", "b": 1e300}"#, true),
            // In YAML it is a text, as the number of a commit may be.
            ("{a: 7e12345}", true),
            ("a: 1e400", true),
            (r#"{"a": infinity}"#, true),
        ];
        for (text, is_fine) in table {
            assert_eq!(check_numbers(&text.parse().expect("YAML")).is_ok(), is_fine, "{text}");
        }
    }
}
