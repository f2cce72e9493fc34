//! JSON patches (RFC 6902): lists of operations that are applied in turn, all or none.
//!
//! By default with the leniencies that Kubernetes' own tools have; strictly on demand. Knows neither
//! schemas nor resources.

mod create;
mod operation;
mod pointer;

use smol_str::SmolStr;

use self::operation::Document;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::Span;
use crate::yaml::{Entry, Map, Node, Resolved, Style, Tag, Value};

/// By whose rules operations are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Rules {
    #[default]
    Kubernetes,
    Rfc6902,
}

/// How a JSON patch is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct JsonPatchOptions {
    rules: Rules,
    round_trip: bool,
}

impl JsonPatchOptions {
    /// As the API server and kubectl do (evanphx/json-patch 4.13), which forgives more than the RFC:
    ///
    /// - `replace` adds a field that is not there, `copy` of one gives null, and so does a missing `value`;
    /// - indices count from the end when they are negative (`-1` adds at the end, else it is the last);
    /// - `test` takes a field that is not there for null;
    /// - a path without a leading `/` loses its first step;
    /// - `add`, `remove`, `test` with a missing parent, `move` and `copy` cannot name the root.
    #[must_use]
    pub fn kubernetes() -> Self {
        Self::default()
    }

    /// As `kustomize build` does: by the rules of [`JsonPatchOptions::kubernetes`], and what is patched
    /// comes back from JSON: numbers as floats, dates as strings.
    #[must_use]
    pub fn kustomize() -> Self {
        Self { round_trip: true, ..Self::default() }
    }

    /// As RFC 6902 demands, without any leniency.
    #[must_use]
    pub fn rfc6902() -> Self {
        Self { rules: Rules::Rfc6902, round_trip: false }
    }
}

/// A list of operations.
#[derive(Debug, Clone, Default)]
pub struct JsonPatch {
    operations: Vec<Operation>,
}

/// One operation as it was read; what is wrong with it, applying it says.
#[derive(Debug, Clone)]
struct Operation {
    op: Option<SmolStr>,
    path: Option<SmolStr>,
    from: Option<SmolStr>,
    value: Option<Node>,
    span: Span,
}

/// Reads a JSON patch from a list of operations; null is a patch without any.
///
/// Unless it is written as JSON, its scalars have the types that `kubectl` and kustomize give them here:
/// those of YAML 1.1, where `yes`, `on` and `y` are true, and dates are strings.
///
/// # Errors
/// A value that is no list of maps. What else can be wrong with an operation is an error when it is
/// applied.
pub fn parse_json_patch(node: &Node) -> Result<JsonPatch> {
    let wrong = |node: &Node, what: &str| {
        Diagnostic::error(Code::WrongType, format!("{what}, and this is {}", node.type_name()))
            .at(node.span())
            .help("write a list of operations such as `- {op: replace, path: /spec/replicas, value: 3}`")
    };
    if node.is_null() {
        return Ok(JsonPatch::default());
    }
    let list = node.as_list().ok_or_else(|| wrong(node, "a JSON patch must be a list"))?;
    let as_json = node.meta.style == Style::Flow;
    let operation = |entry: &Node| {
        let nothing = Map::new();
        let map = match &entry.value {
            Value::Map(map) => map,
            _ if entry.is_null() => &nothing,
            _ => return Err(wrong(entry, "an operation of a JSON patch must be a map")),
        };
        let text = |key: &str| map.get(key).and_then(Node::as_str).map(SmolStr::from);
        let value = map.get("value").map(|value| if as_json { value.clone() } else { typed(value) });
        let (op, path, from) = (text("op"), text("path"), text("from"));
        Ok(Operation { op, path, from, value, span: entry.span() })
    };
    Ok(JsonPatch { operations: list.iter().map(operation).collect::<Result<_>>()? })
}

impl JsonPatch {
    /// Whether there is no operation.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Applies all operations as the API server does, or none of them.
    ///
    /// # Errors
    /// As [`JsonPatch::apply_with`].
    pub fn apply(&self, dest: &mut Node) -> Result<()> {
        self.apply_with(dest, &JsonPatchOptions::default())
    }

    /// Applies all operations, or none of them.
    ///
    /// # Errors
    /// The first operation that cannot be applied, with its place: an unknown or malformed one, a path
    /// that leads nowhere, a test that fails.
    pub fn apply_with(&self, dest: &mut Node, options: &JsonPatchOptions) -> Result<()> {
        let mut document = Document::new(dest.clone(), options.rules);
        for (position, operation) in self.operations.iter().enumerate() {
            document.apply(operation).map_err(|error| error.note(format!("operation {}", position + 1)))?;
        }
        let mut patched = document.into_root();
        if options.round_trip {
            if patched.as_map().is_none() {
                let message = format!("the patch leaves {} where an object must be", patched.type_name());
                return Err(Diagnostic::error(Code::WrongType, message).at(patched.span()));
            }
            patched.round_trip()?;
        }
        *dest = patched;
        Ok(())
    }
}

/// The value with the types of YAML 1.1, as go-yaml v2 reads it.
fn typed(node: &Node) -> Node {
    let value = match &node.value {
        Value::Map(map) => {
            let mut out = Map::new();
            for Entry { key, value } in map.entries() {
                let mut key = key.clone();
                if let Some(word) = word(&key.text, key.meta.style, key.meta.tag) {
                    key.text = if word { "true" } else { "false" }.into();
                }
                out.insert(key, typed(value));
            }
            Value::Map(out)
        }
        Value::List(list) => Value::List(list.iter().map(typed).collect()),
        Value::Scalar(text) => {
            let mut typed = match (word(text, node.meta.style, node.meta.tag), node.resolve()) {
                (Some(word), _) => Node::bool(word),
                (None, Some(Resolved::Timestamp(text))) => Node::string(text),
                _ => return node.clone(),
            };
            typed.meta.span = node.span();
            return typed;
        }
    };
    Node { value, meta: node.meta.clone() }
}

/// What `yes` and its kin mean in YAML 1.1.
fn word(text: &str, style: Style, tag: Tag) -> Option<bool> {
    if style != Style::Plain || !matches!(tag, Tag::None | Tag::Bool) {
        return None;
    }
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

pub use create::create_json_patch;
