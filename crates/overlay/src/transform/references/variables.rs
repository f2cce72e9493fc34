//! Gets values of variables, and replaces variables in text.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use crate::resource::{Copied, is_secret_data_path};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::strconv::format_float;
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, Resolved, Style, Tag, Value, resolve_plain};

/// The value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::transform) enum Content {
    Text(SmolStr),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A map or list, which cannot be part of text. The variable is not replaced.
    Tree,
}

/// The value of a variable, and the location of its source.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::transform) struct VarValue {
    pub(in crate::transform) content: Content,
    pub(in crate::transform) location: Span,
    /// True if the value is read from the data of a Secret.
    pub(in crate::transform) of_secret: bool,
}

/// Returns the value at a path, or `None` if there is no value or kustomize cannot read it.
pub(in crate::transform) fn value_at(node: &Node, path: &str) -> Option<VarValue> {
    let path = split_path(path);
    let found = path.iter().try_fold(node, |node, step| child(node, step))?;
    Some(VarValue {
        content: content(found)?,
        location: found.span(),
        of_secret: is_secret_data_path(node, &path),
    })
}

fn content(found: &Node) -> Option<Content> {
    let Value::Scalar(text) = &found.value else { return Some(Content::Tree) };
    let resolved = match found.meta.tag {
        Tag::Undecided => Resolved::Str(text),
        Tag::Quoted => resolve_plain(text),
        _ => found.resolve()?,
    };
    match resolved {
        // Only decimal digits are parsed, even with leading zeros: `0755` is 755 here.
        Resolved::Int(_) | Resolved::UInt(_) => text.parse().ok().map(Content::Int),
        Resolved::Float(_) => text.parse().ok().map(Content::Float),
        Resolved::Bool(value) => Some(Content::Bool(value)),
        Resolved::Null | Resolved::Timestamp(_) | Resolved::Str(_) => Some(Content::Text(text.clone())),
    }
}

/// Returns the child for a step of a path. In a list, a step is a position, `-` (the last entry) or
/// `[name=value]`.
fn child<'n>(node: &'n Node, step: &str) -> Option<&'n Node> {
    let Some(list) = node.as_list() else { return node.get(step) };
    if step == "-" {
        return list.last();
    }
    let selector = step.strip_prefix('[').and_then(|s| s.strip_suffix(']'));
    match selector.and_then(|s| s.split_once('=')) {
        Some(("", value)) => list.iter().find(|e| e.scalar_text().is_some_and(|t| t == value)),
        Some((key, value)) => {
            list.iter().find(|e| e.get(key).and_then(Node::scalar_text).is_some_and(|t| t == value))
        }
        None => list.get(step.parse::<usize>().ok()?),
    }
}

/// Splits a path at dots without a preceding backslash and outside of brackets. `a[0]` becomes two steps.
fn split_path(path: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut step = String::new();
    let mut bracketed = false;
    let mut chars = path.strip_prefix('.').unwrap_or(path).chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'.') => step.extend(chars.next()),
            '.' if !bracketed => steps.push(std::mem::take(&mut step)),
            '[' if step.is_empty() => {
                bracketed = true;
                step.push(c);
            }
            ']' => {
                bracketed = false;
                step.push(c);
            }
            c => step.push(c),
        }
    }
    steps.push(step);
    steps.iter().flat_map(|s| step_parts(s)).filter(|s| !s.is_empty()).collect()
}

fn step_parts(step: &str) -> Vec<String> {
    let Some((name, position)) = step.strip_suffix(']').and_then(|s| s.rsplit_once('[')) else {
        return vec![step.trim().to_string()];
    };
    if !position.is_empty() && position.bytes().all(|b| b.is_ascii_digit()) {
        return vec![name.trim().to_string(), position.to_string()];
    }
    // `[a.b/c]` is the name of one field, `[name=x]` selects an entry.
    if name.is_empty() && !position.contains('=') {
        return vec![position.trim().to_string()];
    }
    vec![step.trim().to_string()]
}

/// The values of all variables.
pub(in crate::transform) type VarValues = BTreeMap<SmolStr, VarValue>;

/// The replacements so far.
#[derive(Debug, Default)]
pub(in crate::transform) struct UsedVars {
    /// The variables that were used.
    pub(in crate::transform) names: FxHashSet<SmolStr>,
    /// The number of bytes of their values that were written.
    pub(in crate::transform) copied: Copied,
}

/// Replaces variables in a string, in the strings of a list, or in the values of a map.
pub(in crate::transform) fn replace_variables(
    field: &mut Node,
    contents: &VarValues,
    uses: &mut UsedVars,
) -> Result<()> {
    match &mut field.value {
        Value::Scalar(_) => replace_scalar(field, contents, uses)?,
        Value::Map(map) => {
            for (_, value) in map.iter_mut() {
                replace_scalar(value, contents, uses)?;
            }
        }
        Value::List(list) => {
            list.iter_mut().for_each(decide_type);
            if let Some(other) =
                list.iter().find(|entry| entry.as_str().is_none() || entry.meta.tag == Tag::Quoted)
            {
                let message = format!("expected a string, found {}", other.type_name());
                return Err(Diagnostic::error(Code::WrongType, message).at(other.span()).help(
                    "variables are replaced in this list, for which kustomize requires strings: add quotes",
                ));
            }
            for entry in list {
                replace_scalar(entry, contents, uses)?;
            }
        }
    }
    Ok(())
}

fn replace_scalar(node: &mut Node, contents: &VarValues, uses: &mut UsedVars) -> Result<()> {
    decide_type(node);
    let Some(text) = node.as_str().filter(|text| text.contains('$')) else { return Ok(()) };
    let (text, tag, location) = match single_variable(text).and_then(|name| Some((name, contents.get(name)?)))
    {
        Some((_, VarValue { content: Content::Tree, .. })) => return Ok(()),
        Some((name, VarValue { content, location, .. })) => {
            uses.names.insert(name.into());
            let text = content.to_string();
            uses.copied.add(text.len())?;
            (text, content.tag(), *location)
        }
        None => {
            let (text, location) = expand(text, contents, uses)?;
            (text, Tag::Str, location)
        }
    };
    if !location.is_none() {
        node.meta.span = location;
    }
    node.value = Value::Scalar(text.into());
    node.meta.tag = tag;
    node.meta.style = Style::Plain;
    node.meta.is_aliased = false;
    Ok(())
}

/// Turns a scalar without a type, which a transformer has set, into a string.
fn decide_type(node: &mut Node) {
    if node.meta.tag == Tag::Undecided {
        node.meta.tag = Tag::Str;
    }
}

/// Returns the name if the text consists of a single variable. Only in this case its value keeps its type.
fn single_variable(text: &str) -> Option<&str> {
    text.strip_prefix("$(")?.strip_suffix(')').filter(|name| !name.contains(')'))
}

impl VarValue {
    /// Hides the value in reports if it is from a Secret or a copy of a Secret's value.
    pub(in crate::transform) fn hide_if_secret(&self, sources: &SourceMap) {
        if self.of_secret || sources.is_secret(self.location) {
            sources.hide_value(&self.content.to_string());
            sources.hide_value(&self.content.within_text());
        }
    }
}

impl Content {
    fn tag(&self) -> Tag {
        match self {
            Self::Text(_) | Self::Tree => Tag::Str,
            Self::Int(_) => Tag::Int,
            Self::Float(_) => Tag::Float,
            Self::Bool(_) => Tag::Bool,
        }
    }

    /// Formats the value as Go does within text.
    fn within_text(&self) -> String {
        match self {
            Self::Float(float) if float.is_finite() => format_float(*float),
            _ => self.to_string(),
        }
    }
}

impl std::fmt::Display for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Int(int) => write!(f, "{int}"),
            Self::Float(float) => write!(f, "{float}"),
            Self::Bool(bool) => write!(f, "{bool}"),
            Self::Tree => Ok(()),
        }
    }
}

/// Replaces all variables in text: `$(NAME)` with its value, and `$$` with `$`. Unknown variables are kept.
///
/// Also returns the location of the value of the first replaced variable.
fn expand(text: &str, contents: &VarValues, uses: &mut UsedVars) -> Result<(String, Span)> {
    let mut location = Span::default();
    let mut out = String::with_capacity(text.len());
    // No variable ends after the last parenthesis. Without this bound, the search could take quadratic time.
    let last_end = text.rfind(')').unwrap_or_default();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        rest = after;
        if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if text.len() - after.len() <= last_end
            && let Some((name, after)) = after.strip_prefix('(').and_then(|a| a.split_once(')'))
        {
            rest = after;
            match contents.get(name).filter(|value| value.content != Content::Tree) {
                Some(value) => {
                    uses.names.insert(name.into());
                    if location.is_none() {
                        location = value.location;
                    }
                    let value = value.content.within_text();
                    uses.copied.add(value.len())?;
                    out.push_str(&value);
                }
                None => out.extend(["$(", name, ")"]),
            }
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    Ok((out, location))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::testing::nodes;

    #[test]
    fn values_are_found_by_path() {
        let node = &nodes(
            r#"
metadata: {annotations: {a.b/c: x, "8080": y}}
list: [{name: a, v: 1}, {name: b.c, v: 2}]
words: [one, two]
big: 18446744073709551615
nothing: null
text: "07"
date: 2020-01-01
"#,
        )[0];
        let text = |t: &str| Some(Content::Text(t.into()));
        let table = [
            ("metadata.annotations.[a.b/c]", text("x")),
            (r"metadata.annotations.a\.b/c", text("x")),
            ("list[1].v", Some(Content::Int(2))),
            ("list.0.v", Some(Content::Int(1))),
            ("list.-.name", text("b.c")),
            ("list.[name=b.c].v", Some(Content::Int(2))),
            ("list[2].v", None),
            ("words.[=two]", text("two")),
            ("words", Some(Content::Tree)),
            ("big", None),
            ("nothing", text("null")),
            ("nothing.more", None),
            ("text", text("07")),
            ("date", text("2020-01-01")),
            ("none", None),
        ];
        for (path, want) in table {
            assert_eq!(value_at(node, path).map(|value| value.content), want, "{path}");
        }
    }

    #[test]
    fn variables_are_expanded_in_text() {
        let value =
            VarValue { content: Content::Text("x".into()), location: Span::default(), of_secret: false };
        let contents: VarValues = [("A".into(), value)].into_iter().collect();
        let table = [
            ("$(A)$(A)", "xx"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$x"),
            ("$(B) $(A", "$(B) $(A"),
            ("$($(A)", "$($(A)"),
            ("é$é$", "é$é$"),
            ("$()", "$()"),
        ];
        for (text, want) in table {
            let got = expand(text, &contents, &mut UsedVars::default()).expect("short");
            assert_eq!(got.0, want, "{text}");
        }
    }

    #[test]
    fn floats_in_text_are_formatted_as_in_go() {
        let table = [
            (1_000_000.5, "1.0000005e+06"),
            (1_000_000.0, "1e+06"),
            (123_456.75, "123456.75"),
            (1e21, "1e+21"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
        ];
        for (float, want) in table {
            assert_eq!(Content::Float(float).within_text(), want);
        }
    }
}
