//! The result of one step.

use std::fmt;

use serde_json::Value;
use smp_merge::managed_fields::{Applied, FieldSet};
use smp_text::diagnostic::Result;

#[derive(Debug, Clone)]
pub enum Outcome {
    /// The object, and the texts of its field sets.
    Object(Value, Vec<String>),
    /// The configuration that a manager has applied.
    Extracted(Value),
    /// The body of the response.
    Conflict(String),
    Error(String),
}

impl Outcome {
    pub fn of_apply(result: Result<Applied>) -> Self {
        match result {
            Ok(Applied::Object(object)) => Self::of_object(object),
            Ok(Applied::Conflicts(conflicts)) => Self::Conflict(conflicts.to_status()),
            Err(error) => Self::Error(error.message().into()),
        }
    }

    pub fn of_object(object: Value) -> Self {
        let entries = object["metadata"]["managedFields"].as_array();
        let text = |entry: &Value| FieldSet::from_fields_v1(&entry["fieldsV1"]).expect("valid").to_json();
        let texts = entries.into_iter().flatten().map(text).collect();
        Self::Object(object, texts)
    }

    pub fn of_reference(answer: &Value) -> Self {
        let text = |field: &str| answer[field].as_str().unwrap_or_default().to_string();
        if answer["code"] == 409 {
            return Self::Conflict(text("body"));
        }
        match answer.get("error") {
            Some(error) => Self::Error(error.as_str().unwrap_or_default().into()),
            None if answer["extracted"] == true => {
                Self::Extracted(answer.get("object").cloned().unwrap_or_default())
            }
            None => {
                let fields = answer["fields"].as_array().into_iter().flatten();
                let fields = fields.filter_map(Value::as_str).map(str::to_string).collect();
                Self::Object(answer["object"].clone(), fields)
            }
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Object(..) => "object",
            Self::Extracted(_) => "extracted",
            Self::Conflict(_) => "conflict",
            Self::Error(_) => "error",
        }
    }

    /// Compares with the reference.
    pub fn agrees(&self, theirs: &Self) -> bool {
        match (self, theirs) {
            (Self::Object(ours, our_fields), Self::Object(theirs, their_fields)) => {
                same(ours, theirs) && our_fields == their_fields
            }
            (Self::Extracted(ours), Self::Extracted(theirs)) => same(ours, theirs),
            (Self::Conflict(ours), Self::Conflict(theirs)) => {
                ours == theirs || sorted(ours) == sorted(theirs)
            }
            (Self::Error(ours), Self::Error(theirs)) => ours == theirs || is_random(ours, theirs),
            _ => false,
        }
    }
}

/// Numbers are compared by value: Go writes floats without fraction as integers.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// The body of a response with the managers of its causes in order. Go has them in random order, but each manager's
/// causes together.
fn sorted(body: &str) -> Value {
    let mut status: Value = serde_json::from_str(body).expect("JSON");
    if let Some(causes) = status["details"]["causes"].as_array_mut() {
        causes.sort_by_key(|cause| cause["message"].to_string());
    }
    status
}

/// Go checks maps in random order and stops at the first unknown field, so that it may report another one. The order of
/// several errors is random, too.
fn is_random(ours: &str, theirs: &str) -> bool {
    let is_undeclared = |error: &str| error.ends_with(": field not declared in schema");
    theirs.contains("errors:") || (is_undeclared(ours) && is_undeclared(theirs))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(object, fields) => write!(f, "{object}\n  {}", fields.join("\n  ")),
            Self::Extracted(object) => write!(f, "extracted {object}"),
            Self::Conflict(body) => write!(f, "conflict {body}"),
            Self::Error(error) => write!(f, "error {error}"),
        }
    }
}
