//! Checks that a tree can be printed, before anything is printed or sent.

use super::emit::first_forbidden;
use super::node::{Node, Value};
use super::print_error::{MAX_DEPTH, PrintError, PrintResult};
use super::scalar::Resolved;
use crate::diagnostic::Result;
use crate::source::Span;

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintFormat {
    /// JSON as sent to the API server.
    Json,
    /// YAML as `kustomize build` prints it, which allows fewer characters than JSON.
    Yaml,
}

/// Checks that all values of a tree can be printed in a format.
///
/// # Errors
/// A value is infinity or NaN, the tree is nested too deeply, or, in YAML, there are characters such as U+007F. The
/// error has the location and field path.
pub fn check_printable(node: &Node, form: PrintFormat) -> Result<()> {
    check(node, form, 0).map_err(PrintError::into_diagnostic)
}

fn check(node: &Node, form: PrintFormat, depth: usize) -> PrintResult {
    if depth > MAX_DEPTH {
        return Err(PrintError::too_deep(node.span()));
    }
    match &node.value {
        Value::Map(map) => map.entries().iter().try_for_each(|entry| {
            let name = &entry.key.text;
            check_text(name, entry.key.meta.span, form)
                .and_then(|()| check(&entry.value, form, depth + 1))
                .map_err(|failure| failure.in_field(name))
        }),
        Value::List(list) => list
            .iter()
            .enumerate()
            .try_for_each(|(i, node)| check(node, form, depth + 1).map_err(|failure| failure.in_entry(i))),
        Value::Scalar(text) => {
            let is_candidate = text.len() <= "+.inf".len() && text.starts_with(['.', '+', '-']);
            if is_candidate
                && let Some(Resolved::Float(float)) = node.resolve()
                && !float.is_finite()
            {
                return Err(PrintError::not_finite(node.span()));
            }
            check_text(text, node.span(), form)
        }
    }
}

fn check_text(text: &str, span: Span, form: PrintFormat) -> PrintResult {
    match first_forbidden(text).filter(|_| form == PrintFormat::Yaml) {
        Some(c) => Err(PrintError::forbidden(c, span).help("remove the character")),
        None => Ok(()),
    }
}
