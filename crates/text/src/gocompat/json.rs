//! Go's `encoding/json`: the format of floats and strings, and indentation.

use std::fmt::Write as _;

use super::decimal::Decimal;

/// The lowest absolute value of floats that are written with an exponent.
const LARGE: f64 = 1e21;

/// The absolute value below which floats, except zero, are written with an exponent.
const SMALL: f64 = 1e-6;

/// Appends a finite float with the shortest digits that parse to the same float.
pub(crate) fn write_float(float: f64, out: &mut String) {
    let size = float.abs();
    let decimal = Decimal::shortest(float);
    if size == 0.0 || (SMALL..LARGE).contains(&size) {
        decimal.write_fixed(out);
    } else {
        decimal.write_scientific(1, out);
    }
}

/// Appends a quoted string. It has the escapes of JSON, of HTML, and of two line breaks that JavaScript did not allow
/// in strings.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(may_need_escape) {
        out.push_str(&rest[..at]);
        let mut chars = rest[at..].chars();
        if let Some(c) = chars.next() {
            write_char(c, out);
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Returns true if a character that starts with this byte may need an escape.
fn may_need_escape(byte: u8) -> bool {
    byte < b' ' || matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&' | 0xE2)
}

fn write_char(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
        _ => out.push(c),
    }
}

/// Indents compact JSON by two spaces per level, like `json.Indent`.
pub fn indent(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            out.push(c);
            continue;
        }
        match c {
            '{' | '[' => {
                out.push(c);
                if let Some(end) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    break_line(depth, &mut out);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(depth, &mut out);
                out.push(c);
            }
            ',' => {
                out.push(c);
                break_line(depth, &mut out);
            }
            ':' => out.push_str(": "),
            _ => {
                quoted = c == '"';
                out.push(c);
            }
        }
    }
    out
}

fn break_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}
