//! Columns of built-in kinds, and the most frequent cells.

use serde_json::{Value, json};

use super::age;
use crate::metadata::meta;
use crate::state::text;
use crate::subresources::selector_text;

/// The texts of cells without a value.
pub(super) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";
pub(super) const UNKNOWN: &str = "<unknown>";

/// The columns of kinds.
pub(super) type Kinds = &'static [(&'static str, &'static [Column])];

/// A column of a kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// The name; empty for a cell without a described column.
    name: &'static str,
    kind: &'static str,
    format: &'static str,
    /// The priority; 1 for columns of `-o wide`.
    priority: u8,
    pub(super) cell: Cell,
}

/// The contents of a column. Texts are JSON pointers into the object.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell {
    /// The time since the object was created.
    Age,
    /// The time at which the object was created.
    Created,
    /// A text, or the default if it is absent.
    Text(&'static str, &'static str),
    /// A number, 0 if it is absent.
    Number(&'static str),
    /// A boolean, or the default if it is absent.
    Flag(&'static str, bool),
    /// The number of entries of a list or map.
    Size(&'static str),
    /// Labels, such as `a=b,c=d`, or a label selector.
    Labels(&'static str),
    /// One field of all entries of a list.
    Each(&'static str, &'static str),
    /// Text from a function.
    Show(fn(&Value) -> String),
    /// Anything else.
    Call(fn(&Value, i64) -> Value),
}

impl Cell {
    /// Returns the cell of an object at a time.
    pub(super) fn value(self, object: &Value, now: i64) -> Value {
        match self {
            Self::Age => age::since(meta(object, "creationTimestamp"), now).into(),
            Self::Created => meta(object, "creationTimestamp").into(),
            Self::Text(at, default) => object.pointer(at).and_then(Value::as_str).unwrap_or(default).into(),
            Self::Number(at) => number(object, at).into(),
            Self::Flag(at, default) => object.pointer(at).and_then(Value::as_bool).unwrap_or(default).into(),
            Self::Size(at) => size(object, at).into(),
            Self::Labels(at) => {
                let shown = object.pointer(at).map(selector_text).unwrap_or_default();
                or_none(shown).into()
            }
            Self::Each(at, field) => {
                joined(entries(object, at).map(|entry| string(entry, field)), ",").into()
            }
            Self::Show(show) => show(object).into(),
            Self::Call(call) => call(object, now),
        }
    }
}

impl Column {
    const fn new(name: &'static str, kind: &'static str, cell: Cell) -> Self {
        Self { name, kind, format: "", priority: 0, cell }
    }

    /// Returns the column for `-o wide`.
    pub(super) const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    /// Returns the column with the format of names.
    pub(super) const fn naming(self) -> Self {
        Self { format: "name", ..self }
    }

    pub(super) const fn of_type(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    /// Returns the definition of the column.
    pub(super) fn definition(&self) -> Option<Value> {
        let Self { name, kind, format, priority, .. } = self;
        let definition =
            || json!({"name": name, "type": kind, "format": format, "description": "", "priority": priority});
        (!name.is_empty()).then(definition)
    }
}

pub(super) const fn text_column(name: &'static str, cell: Cell) -> Column {
    Column::new(name, "string", cell)
}

pub(super) const fn integer(name: &'static str, cell: Cell) -> Column {
    Column::new(name, "integer", cell)
}

pub(super) const fn boolean(name: &'static str, cell: Cell) -> Column {
    Column::new(name, "boolean", cell)
}

pub(super) const NAME: Column = text_column("Name", Cell::Text("/metadata/name", "")).naming();
pub(super) const AGE: Column = text_column("Age", Cell::Age);
/// The age of an object in a cell without a described column.
pub(super) const HIDDEN_AGE: Column = text_column("", Cell::Age);

/// The columns of kinds without specific columns.
pub(super) static DEFAULT: &[Column] = &[NAME, Column::new("Created At", "date", Cell::Created)];

pub(super) fn number(object: &Value, at: &str) -> i64 {
    object.pointer(at).and_then(Value::as_i64).unwrap_or_default()
}

fn size(object: &Value, at: &str) -> usize {
    match object.pointer(at) {
        Some(Value::Object(fields)) => fields.len(),
        Some(Value::Array(list)) => list.len(),
        _ => 0,
    }
}

/// Returns a field as text; an empty text if it is absent.
pub(super) fn string<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// Returns the entries of a list.
pub(super) fn entries<'v>(object: &'v Value, at: &str) -> impl DoubleEndedIterator<Item = &'v Value> {
    object.pointer(at).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the texts of a list.
pub(super) fn texts<'v>(object: &'v Value, at: &str) -> impl Iterator<Item = &'v str> {
    entries(object, at).filter_map(Value::as_str)
}

pub(super) fn joined(texts: impl IntoIterator<Item = impl AsRef<str>>, separator: &str) -> String {
    let mut joined = String::new();
    for (index, text) in texts.into_iter().enumerate() {
        joined.push_str(if index == 0 { "" } else { separator });
        joined.push_str(text.as_ref());
    }
    joined
}

/// Returns the first texts of a list, followed by the number of the rest.
pub(super) fn first(texts: &[String], max: usize, separator: &str) -> String {
    let shown = joined(texts.iter().take(max), separator);
    if texts.len() > max { format!("{shown} + {} more...", texts.len() - max) } else { shown }
}

pub(super) fn or(shown: String, default: &str) -> String {
    if shown.is_empty() { default.into() } else { shown }
}

pub(super) fn or_none(shown: String) -> String {
    or(shown, NONE)
}

/// Returns an integer or a text as text.
pub(super) fn scalar(value: &Value, default: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => default.into(),
        other => other.to_string(),
    }
}

/// Returns the condition of a type.
pub(super) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    entries(object, "/status/conditions").find(|condition| condition["type"] == kind)
}

pub(super) fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Returns the phase of an object, or `Terminating` if it is being deleted.
pub(super) fn phase(object: &Value) -> String {
    if object["metadata"]["deletionTimestamp"].is_null() {
        text(object, "/status/phase").into()
    } else {
        "Terminating".into()
    }
}
