//! Prints a document in kyaml's style: order, quotes and comments are kept.
//!
//! kustomize uses this format for YAML inside a field, such as a file in a ConfigMap, when it changes a value in it.
//! Lists are not indented below their field, no text is folded, and blank lines are dropped.

use super::text::{StringContext, format_unfolded};
use crate::yaml::meta::{Meta, Style, Tag};
use crate::yaml::node::{Key, Map, Node, Value};
use crate::yaml::scalar::{Resolved, resolve_plain};

/// Prints a document without a line break at the end.
pub fn to_kyaml_style(node: &Node) -> String {
    let mut out = String::new();
    head(&node.meta, 0, &mut out);
    match &node.value {
        Value::Map(map) if is_block(node) => fields(map, 0, &mut out),
        Value::List(list) if is_block(node) => entries(list, 0, &mut out),
        _ => inline(node, 0, &mut out),
    }
    for comment in node.meta.comments.iter().flat_map(|comments| &comments.foot) {
        out.push('\n');
        out.push_str(comment);
    }
    out
}

fn is_block(node: &Node) -> bool {
    !node.is_leaf() && node.meta.style != Style::Flow
}

/// Writes the fields of a map. The output ends at the position of the first name.
fn fields(map: &Map, column: usize, out: &mut String) {
    for (i, entry) in map.entries().iter().enumerate() {
        if i > 0 {
            line(column, out);
        }
        head(&entry.key.meta, column, out);
        out.push_str(&key_text(&entry.key, StringContext::Block { column: 0 }));
        out.push(':');
        match &entry.value.value {
            Value::Map(map) if is_block(&entry.value) => {
                write_line_comment(&entry.key.meta, out);
                line(column + 2, out);
                fields(map, column + 2, out);
            }
            Value::List(list) if is_block(&entry.value) => {
                write_line_comment(&entry.key.meta, out);
                line(column, out);
                entries(list, column, out);
            }
            _ => {
                inline(&entry.value, column + 2, out);
                if line_comment(&entry.value.meta).is_none() {
                    write_line_comment(&entry.key.meta, out);
                }
            }
        }
    }
}

/// Writes the entries of a list. The output ends at the position of the first dash.
fn entries(list: &[Node], column: usize, out: &mut String) {
    for (i, node) in list.iter().enumerate() {
        if i > 0 {
            line(column, out);
        }
        head(&node.meta, column, out);
        out.push('-');
        match &node.value {
            Value::Map(map) if is_block(node) => {
                out.push(' ');
                fields(map, column + 2, out);
            }
            Value::List(list) if is_block(node) => {
                out.push(' ');
                entries(list, column + 2, out);
            }
            _ => inline(node, column + 2, out),
        }
    }
}

/// Writes a scalar, or a map or list in brackets, with a space before it and its comment after it.
fn inline(node: &Node, column: usize, out: &mut String) {
    let text = leaf_or_flow(node, StringContext::Block { column });
    if !text.is_empty() {
        if out.ends_with([':', '-']) {
            out.push(' ');
        }
        out.push_str(&text);
    }
    if !text.contains('\n') {
        write_line_comment(&node.meta, out);
    }
}

fn leaf_or_flow(node: &Node, context: StringContext) -> String {
    match &node.value {
        Value::Scalar(text) => scalar(node, text, context),
        Value::Map(map) => {
            let field = |(key, value): (&Key, &Node)| {
                let value = leaf_or_flow(value, StringContext::Flow);
                let space = if value.is_empty() { "" } else { " " };
                format!("{}:{space}{value}", key_text(key, StringContext::Flow))
            };
            let fields: Vec<_> = map.entries().iter().map(|e| field((&e.key, &e.value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::List(list) => {
            let entries: Vec<_> = list.iter().map(|entry| leaf_or_flow(entry, StringContext::Flow)).collect();
            format!("[{}]", entries.join(", "))
        }
    }
}

fn scalar(node: &Node, text: &str, context: StringContext) -> String {
    match (resolve_plain(text), tag_of(node.meta.tag)) {
        // A value that does not match its tag keeps the tag. The output is then invalid YAML, as in kustomize.
        (plain, Some((tag, fits))) if !fits(&plain) => {
            let text = if text.is_empty() && context == StringContext::Flow { "''" } else { text };
            format!("{tag} {text}").trim_end().into()
        }
        (_, None) if matches!(node.resolve(), Some(Resolved::Str(_))) => {
            string(text, node.meta.style, context)
        }
        _ => text.to_string(),
    }
}

/// The spelling of a tag, and a function that returns true if a plain text has the tag's type without the tag.
type WrittenTag = (&'static str, fn(&Resolved) -> bool);

fn tag_of(tag: Tag) -> Option<WrittenTag> {
    match tag {
        Tag::Int => Some(("!!int", |plain| matches!(plain, Resolved::Int(_) | Resolved::UInt(_)))),
        Tag::Float => Some(("!!float", |plain| matches!(plain, Resolved::Float(_)))),
        Tag::Bool => Some(("!!bool", |plain| matches!(plain, Resolved::Bool(_)))),
        Tag::Null => Some(("!!null", |plain| matches!(plain, Resolved::Null))),
        Tag::Timestamp => Some(("!!timestamp", |plain| matches!(plain, Resolved::Timestamp(_)))),
        Tag::None | Tag::Undecided | Tag::Quoted | Tag::Str | Tag::Binary | Tag::Other => None,
    }
}

/// Formats a string. Words that are booleans only in YAML 1.1 remain unquoted, unlike in new text.
fn string(text: &str, style: Style, context: StringContext) -> String {
    let word = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-:".contains(&b));
    let plain = word && !text.starts_with(['-', ':']) && !text.ends_with(':');
    if style == Style::Plain && plain && matches!(resolve_plain(text), Resolved::Str(_)) {
        return text.to_string();
    }
    format_unfolded(text, style, context)
}

fn key_text(key: &Key, context: StringContext) -> String {
    if key.meta.style == Style::Plain && key.meta.tag == Tag::None && !key.text.is_empty() {
        return key.text.to_string();
    }
    string(&key.text, key.meta.style, context)
}

fn line(column: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', column));
}

/// Writes the comments above a node, each on a line of its own.
fn head(meta: &Meta, column: usize, out: &mut String) {
    for comment in meta.comments.iter().flat_map(|comments| &comments.head) {
        out.push_str(comment);
        line(column, out);
    }
}

fn line_comment(meta: &Meta) -> Option<&str> {
    meta.comments.as_ref().and_then(|comments| comments.line.as_deref())
}

/// Writes the comment on the same line.
fn write_line_comment(meta: &Meta, out: &mut String) {
    if let Some(comment) = line_comment(meta) {
        out.push(' ');
        out.push_str(comment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceMap;
    use crate::yaml::{ParseOptions, parse_one};

    fn printed(text: &str) -> String {
        let sources = SourceMap::default();
        let id = sources.add("t.yaml", text);
        let options = ParseOptions { keep_comments: true, ..ParseOptions::default() };
        to_kyaml_style(&parse_one(&sources, id, options).expect("YAML")) + "\n"
    }

    #[test]
    fn documents_round_trip() {
        let text = "\
# above
b: y # write_line_comment
a:
- x
- name: \"q\" # of the name
  v: 'w'
- - 1
# above c
c: # of c
  {}
d: {e: [f, 'g'], h: null}
i: |
  two
  lines
j:
on: off
\"k l\": ~
# below
";
        let want = text.replace("c: # of c\n  {}", "c: {} # of c");
        assert_eq!(printed(text), want);
    }

    #[test]
    fn layout_matches_kyaml() {
        let text = "a:\n    - b:\n        c\n\n    -   d: 1\n";
        assert_eq!(printed(text), "a:\n- b: c\n- d: 1\n");
        assert_eq!(printed("a: !!str 5\n"), "a: \"5\"\n");
    }

    #[test]
    fn values_that_do_not_match_their_tag_keep_it() {
        let mut node = Node::int(1);
        for (text, want) in [
            ("word", "!!int word"),
            ("true", "!!int true"),
            ("1.7", "!!int 1.7"),
            ("", "!!int"),
            ("0x10", "0x10"),
        ] {
            node.value = Value::Scalar(text.into());
            assert_eq!(to_kyaml_style(&node), want);
        }
        node.value = Value::Scalar("".into());
        assert_eq!(leaf_or_flow(&Node::list(vec![node]), StringContext::Flow), "[!!int '']");
    }
}
