//! A review as JSON.

use serde_json::{Value, json};

use super::lines::change_json;
use crate::review::{ChangeDanger, FieldChange, ObjectChange, Review, TargetOutcome, TargetReview};
use smp_overlay::resource::ResId;
use smp_text::diagnostic::{Diagnostic, MessageRenderer};
use smp_text::source::Span;

/// The version of the JSON format. It increases if a field changes its meaning or disappears.
const VERSION: u32 = 1;

/// Returns a review as JSON.
#[must_use]
pub fn review_to_json(review: &Review, renderer: &MessageRenderer<'_>) -> Value {
    let targets: Vec<Value> = review.targets.iter().map(|target| target_json(target, renderer)).collect();
    json!({
        "version": VERSION, "targets": targets, "unaffected": review.unaffected, "suppressed": review.suppressed,
        "routine": review.is_routine(),
    })
}

fn target_json(target: &TargetReview, renderer: &MessageRenderer<'_>) -> Value {
    let mut found =
        json!({"target": target.target.display().to_string(), "presence": target.presence.as_str()});
    match &target.outcome {
        TargetOutcome::Compared(changes) => {
            found["objects"] = changes.objects.iter().map(|object| object_json(object, renderer)).collect();
            found["reordered"] = changes.is_reordered.into();
            found["unchanged"] = changes.unchanged.into();
            found["ignored"] = changes.ignored.into();
        }
        TargetOutcome::Failed(problems) => {
            let message = |problem: &Option<Diagnostic>| {
                problem.as_ref().map(|problem| renderer.clean_text(problem.message()))
            };
            found["failure"] = target.failure().into();
            found["oldError"] = message(&problems[0]).into();
            found["newError"] = message(&problems[1]).into();
        }
    }
    found
}

/// Returns the fields that identify an object.
fn id_json(id: &ResId) -> Value {
    json!({
        "apiVersion": id.gvk.api_version().as_str(), "kind": id.gvk.kind.as_str(),
        "namespace": id.namespace.as_str(), "name": id.name.as_str(),
    })
}

fn object_json(object: &ObjectChange, renderer: &MessageRenderer<'_>) -> Value {
    let mut found = id_json(&object.id);
    found["change"] = object.action.as_str().into();
    if let Some(former) = &object.former {
        found["former"] = id_json(former);
    }
    found["dangers"] = object.dangers.iter().map(|danger| danger_json(danger, renderer)).collect();
    found["fields"] = object.fields.iter().map(|field| field_json(field, renderer)).collect();
    found
}

fn danger_json(danger: &ChangeDanger, renderer: &MessageRenderer<'_>) -> Value {
    let finding = &danger.finding;
    let at = finding.labels().first().and_then(|label| location_json(label.span, renderer));
    json!({
        "code": finding.code().name(), "severity": finding.severity().name(), "message": finding.message(),
        "field": finding.field_path(), "location": at,
    })
}

fn field_json(field: &FieldChange, renderer: &MessageRenderer<'_>) -> Value {
    let mut found = change_json(&field.change());
    for (name, at) in [("oldLocation", field.at[0]), ("newLocation", field.at[1])] {
        if let Some(location) = at.and_then(|at| location_json(at, renderer)) {
            found[name] = location;
        }
    }
    found
}

fn location_json(at: Span, renderer: &MessageRenderer<'_>) -> Option<Value> {
    let at = renderer.location(at)?;
    Some(json!({"file": at.file, "line": at.line, "column": at.column}))
}
