//! The JSON format: one object per line.

use serde::Serialize;

use super::layout::{MessageLayout, ShownLocation, without_secrets};
use crate::diagnostic::escape::escaped_json;
use crate::diagnostic::{Diagnostic, Fix, ObjectName};
use crate::source::mask_url_secrets;

#[derive(Serialize)]
struct JsonMessage {
    code: &'static str,
    severity: &'static str,
    message: String,
    target: Option<String>,
    locations: Vec<JsonLocation>,
    resource: Option<JsonResource>,
    field: Option<String>,
    help: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// The suggested fix.
    fix: Option<JsonFix>,
}

#[derive(Serialize)]
struct JsonFix {
    file: String,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    replacement: String,
}

#[derive(Serialize)]
struct JsonLocation {
    file: String,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    label: String,
    primary: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonResource {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

impl JsonLocation {
    fn new(location: &ShownLocation<'_>) -> Self {
        let (end_line, end_column) = location.text.end();
        Self {
            file: location.text.file.clone(),
            line: location.line,
            column: location.column,
            end_line,
            end_column,
            label: without_secrets(&location.label.text),
            primary: location.is_primary,
        }
    }
}

impl JsonFix {
    fn new(fix: &Fix, layout: &MessageLayout<'_>) -> Option<Self> {
        let location = layout.location(fix.span).filter(|_| layout.sources.may_show(fix.span))?;
        let ((line, column), (end_line, end_column)) = (location.start(), location.end());
        let replacement = mask_url_secrets(&fix.replacement).into_owned();
        Some(Self { file: location.file, line, column, end_line, end_column, replacement })
    }
}

impl JsonResource {
    /// Returns the object. For a resource that is not an object, such as a chart, returns a name without a kind.
    fn new(object: Option<&ObjectName>, shown: &str) -> Self {
        let nameless = ObjectName { name: shown.to_string(), ..ObjectName::default() };
        let ObjectName { api_version, kind, namespace, name } = object.cloned().unwrap_or(nameless);
        Self { api_version, kind, namespace, name }
    }
}

pub(super) fn render(problem: &Diagnostic, layout: &MessageLayout<'_>) -> String {
    let message = JsonMessage {
        code: problem.code().name(),
        severity: problem.severity().name(),
        message: without_secrets(problem.message()),
        target: problem.target_path().map(|target| layout.path(target)),
        locations: layout.locations(problem).map(|location| JsonLocation::new(&location)).collect(),
        resource: problem.resource_name().map(|shown| JsonResource::new(problem.object(), shown)),
        field: problem.field_path().map(without_secrets),
        help: problem.help_text().map(without_secrets),
        notes: problem.shown_notes().map(|note| without_secrets(&note)).collect(),
        fix: problem.suggested_fix().and_then(|fix| JsonFix::new(fix, layout)),
    };
    // Serializing strings and numbers cannot fail.
    escaped_json(&serde_json::to_string(&message).unwrap_or_default())
}
