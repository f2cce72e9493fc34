//! Prints nodes as JSON, byte for byte like Go's `encoding/json`.
//!
//! kustomize hashes this JSON for name suffixes, and `kubectl -o json` prints it. This module does not depend on YAML
//! syntax. `scalar` resolves the types of scalars.

use std::fmt::Write as _;

use super::node::{Map, Node, Value};
use super::order::byte_order;
use super::print_error::{MAX_DEPTH, PrintError, PrintResult};
use super::scalar::{Resolved, timestamp};
use crate::diagnostic::Result;
use crate::gocompat::json::{write_float, write_string};

/// Prints a node as JSON without white space. Fields are sorted by bytes, and `<`, `>` and `&` are escaped.
///
/// Numbers are written by value (`0x1F` is `31`, `1.0` is `1`), and plain dates as RFC 3339 strings.
///
/// # Errors
/// A value is infinity or NaN (the error has its location and field path), or the tree is nested too deeply.
pub fn to_json(node: &Node) -> Result<String> {
    let mut out = String::new();
    write_json(node, &mut out)?;
    Ok(out)
}

/// Appends the JSON that [`to_json`] returns. Appends nothing if there is an error.
///
/// # Errors
/// The errors of [`to_json`].
pub fn write_json(node: &Node, out: &mut String) -> Result<()> {
    write(node, JsonLayout::Compact, out)
}

/// Prints a node as JSON like `kubectl -o json`: indented by four spaces, with a line break at the end.
///
/// # Errors
/// The errors of [`to_json`].
pub fn to_json_pretty(node: &Node) -> Result<String> {
    let mut out = String::new();
    write(node, JsonLayout::Indented, &mut out)?;
    out.push('\n');
    Ok(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonLayout {
    Compact,
    Indented,
}

fn write(node: &Node, layout: JsonLayout, out: &mut String) -> Result<()> {
    let before = out.len();
    JsonWriter { out, layout }.node(node, 0).map_err(|failure| {
        out.truncate(before);
        failure.into_diagnostic()
    })
}

struct JsonWriter<'o> {
    out: &'o mut String,
    layout: JsonLayout,
}

impl JsonWriter<'_> {
    fn node(&mut self, node: &Node, depth: usize) -> PrintResult {
        if depth > MAX_DEPTH {
            return Err(PrintError::too_deep(node.span()));
        }
        match &node.value {
            Value::Scalar(_) => self.scalar(node)?,
            Value::Map(map) if map.is_empty() => self.out.push_str("{}"),
            Value::Map(map) => self.map(map, depth + 1)?,
            Value::List(list) if list.is_empty() => self.out.push_str("[]"),
            Value::List(list) => self.list(list, depth + 1)?,
        }
        Ok(())
    }

    fn map(&mut self, map: &Map, depth: usize) -> PrintResult {
        let mut before = '{';
        for entry in byte_order(map) {
            self.out.push(before);
            self.line(depth);
            write_string(&entry.key.text, self.out);
            self.out.push_str(if self.layout == JsonLayout::Compact { ":" } else { ": " });
            self.node(&entry.value, depth).map_err(|e| e.in_field(&entry.key.text))?;
            before = ',';
        }
        self.line(depth - 1);
        self.out.push('}');
        Ok(())
    }

    fn list(&mut self, list: &[Node], depth: usize) -> PrintResult {
        let mut before = '[';
        for (i, node) in list.iter().enumerate() {
            self.out.push(before);
            self.line(depth);
            self.node(node, depth).map_err(|e| e.in_entry(i))?;
            before = ',';
        }
        self.line(depth - 1);
        self.out.push(']');
        Ok(())
    }

    fn line(&mut self, depth: usize) {
        if self.layout == JsonLayout::Indented {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("    ", depth));
        }
    }

    fn scalar(&mut self, node: &Node) -> PrintResult {
        match node.resolve().unwrap_or(Resolved::Null) {
            Resolved::Null => self.out.push_str("null"),
            Resolved::Bool(bool) => self.out.push_str(if bool { "true" } else { "false" }),
            Resolved::Int(int) => write_number(int, self.out),
            Resolved::UInt(int) => write_number(int, self.out),
            Resolved::Float(float) if float.is_finite() => write_float(float, self.out),
            Resolved::Float(_) => return Err(PrintError::not_finite(node.span())),
            Resolved::Timestamp(text) => {
                write_string(timestamp(text).as_deref().unwrap_or(text), self.out);
            }
            Resolved::Str(text) => write_string(text, self.out),
        }
        Ok(())
    }
}

fn write_number(number: impl std::fmt::Display, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{number}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use crate::source::SourceMap;
    use crate::yaml::{ParseOptions, parse_one};

    fn parse(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("test.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).expect("test input is valid")
    }

    #[test]
    fn values_are_printed_as_in_go() {
        let text = "
b: [~, true, 0x1F, 1.0, 1e21, 0.0000001, -0.0, 18446744073709551615, 2020-01-01]
a10: {}
a2: []
B: '1'
";
        let want = r#"{"B":"1","a10":{},"a2":[],"b":[null,true,31,1,1e+21,1e-7,-0,18446744073709551615,"2020-01-01T00:00:00Z"]}"#;
        assert_eq!(to_json(&parse(text)).as_deref(), Ok(want));
    }

    #[test]
    fn strings_are_escaped_as_in_go() {
        let table = [
            ("a\"b\\c/d", r#""a\"b\\c/d""#),
            ("<a> & b", r#""\u003ca\u003e \u0026 b""#),
            ("\n\r\t\x08\x0c\0\x1f", r#""\n\r\t\b\f\u0000\u001f""#),
            ("\u{2028}\u{2029}\u{2027}☃", "\"\\u2028\\u2029\u{2027}☃\""),
            ("\u{7f}\u{85}\u{feff}😀é", "\"\u{7f}\u{85}\u{feff}😀é\""),
            ("", r#""""#),
        ];
        for (text, want) in table {
            assert_eq!(to_json(&Node::string(text)).as_deref(), Ok(want));
        }
    }

    #[test]
    fn pretty_json_matches_kubectl() {
        let node = parse("{b: [1, {c: []}], a: {}, d: [[2]]}");
        let want = r#"{
    "a": {},
    "b": [
        1,
        {
            "c": []
        }
    ],
    "d": [
        [
            2
        ]
    ]
}
"#;
        assert_eq!(to_json_pretty(&node).as_deref(), Ok(want));
    }

    #[test]
    fn infinity_is_an_error_with_its_path() {
        let mut out = "before".to_string();
        let error = write_json(&parse("a: {b: [1, -.inf]}"), &mut out).expect_err("infinity");
        assert_eq!((error.code(), error.field_path()), (Code::InvalidValue, Some("a.b[1]")));
        assert_eq!(error.labels().len(), 1);
        assert_eq!(out, "before");
    }
}
