//! Validation of objects, with the causes of rejections as the server names them.

use serde_json::Value;
use smp_text::diagnostic::Severity;
use smp_text::yaml::Node;
use smp_validate::{Violation, validate};

use crate::immutable;
use crate::metadata::meta;
use crate::request::{Target, WriteOptions};
use crate::state::{State, Validation};
use crate::status::{Cause, Failure, Result};

/// The rules whose findings are not those of the validation of a decoded object.
const DECODING: [&str; 5] =
    ["unknown-field", "unknown-kind", "deprecated-api", "removed-api", "duplicate-key"];

impl State {
    /// Validates a new object.
    pub(crate) fn validate_create(
        &self,
        target: &Target,
        object: &Value,
        options: &mut WriteOptions,
    ) -> Result<()> {
        let causes = self.violations(target, object, None);
        self.reject(target, object, &causes, options)
    }

    /// Validates a change. What was invalid before and is unchanged stays.
    pub(crate) fn validate_update(
        &self,
        target: &Target,
        object: &Value,
        old: &Value,
        causes: Vec<Cause>,
        options: &mut WriteOptions,
    ) -> Result<()> {
        let mut causes = causes;
        if object != old {
            causes.extend(immutable::changes(target, object, old));
            causes.extend(self.violations(target, object, Some(old)));
        }
        self.reject(target, object, &causes, options)
    }

    fn reject(
        &self,
        target: &Target,
        object: &Value,
        causes: &[Cause],
        options: &mut WriteOptions,
    ) -> Result<()> {
        if causes.is_empty() {
            return Ok(());
        }
        let about_metadata = |cause: &Cause| cause.field.starts_with("metadata");
        if self.settings.validation == Validation::Warn && !causes.iter().any(about_metadata) {
            let texts = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message));
            options.warnings.extend(texts);
            return Ok(());
        }
        Err(Failure::invalid(&target.resource.gvk, meta(object, "name"), causes))
    }

    fn violations(&self, target: &Target, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        let name = name_cause(object, target);
        if self.settings.validation == Validation::Off || name.is_some() {
            return name.into_iter().collect();
        }
        let found = |object: &Value| {
            let found = validate(&Node::from(object), &self.schema, &self.validate);
            let is_error =
                |one: &Violation| one.severity == Severity::Error && !DECODING.contains(&one.rule.code());
            found.into_iter().filter(is_error).collect::<Vec<_>>()
        };
        let mut new = found(object);
        if !new.is_empty()
            && let Some(old) = old
        {
            let before = found(old);
            new.retain(|one| !before.iter().any(|old| is_same(one, old)));
        }
        let group = scale_target_cause(target, object, old);
        // A server generates the selectors of Jobs before it validates them.
        let is_generated = |cause: &Cause| {
            target.resource.gvk.kind == "Job"
                && cause.field == "spec.selector"
                && object["spec"]["manualSelector"] != true
        };
        new.iter().map(|one| cause(one, object)).filter(|cause| !is_generated(cause)).chain(group).collect()
    }
}

fn is_same(one: &Violation, other: &Violation) -> bool {
    one.rule == other.rule && one.path == other.path && one.message == other.message
}

/// Returns the cause if an object has no name.
fn name_cause(object: &Value, _target: &Target) -> Option<Cause> {
    let is_named = !meta(object, "name").is_empty() || !meta(object, "generateName").is_empty();
    (!is_named).then(|| Cause::required("metadata.name", "name or generateName is required"))
}

/// Returns the cause if an autoscaler names its target without an API group.
fn scale_target_cause(target: &Target, object: &Value, old: Option<&Value>) -> Option<Cause> {
    const FIELD: &str = "/spec/scaleTargetRef/apiVersion";
    let has_group = |object: &Value| crate::state::text(object, FIELD).contains('/');
    let is_new = target.resource.collection() == "horizontalpodautoscalers.autoscaling"
        && !has_group(object)
        && old.is_none_or(has_group);
    let value = crate::state::text(object, FIELD).into();
    is_new.then(|| {
        Cause::invalid("spec.scaleTargetRef.apiVersion", &value, "apiVersion must specify API group")
    })
}

/// Returns a field as the server names it, where that is not its path.
fn server_field(field: String) -> String {
    if field.starts_with("spec.accessModes[") {
        return "spec.accessModes".into();
    }
    if field == "spec.resources.requests.storage" { "spec.resources[storage]".into() } else { field }
}

/// The server's text about label values.
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Returns the cause of a violation.
fn cause(violation: &Violation, object: &Value) -> Cause {
    let field = violation.path.to_string();
    let pointer = format!("/{}", field.replace(['.', '['], "/").replace(']', ""));
    let found = object.pointer(&pointer);
    let code = violation.rule.code();
    if code == "label-value"
        && let (Some(value), Some((parent, _))) = (found, field.rsplit_once('.'))
    {
        return Cause::invalid(parent, value, LABEL_VALUE);
    }
    if code == "selector-mismatch" {
        let labels = &object["spec"]["template"]["metadata"]["labels"];
        return Cause::invalid(
            "spec.template.metadata.labels",
            labels,
            "`selector` does not match template `labels`",
        );
    }
    let field = server_field(field);
    let value = found.map_or_else(String::new, |value| format!("{value}: "));
    match code {
        "missing-required" => Cause::required(&field, ""),
        "enum" => Cause::new(
            "FieldValueNotSupported",
            &field,
            format!("Unsupported value: {value}{}", violation.message),
        ),
        "container-name" => Cause::new(
            "FieldValueDuplicate",
            &field,
            format!("Duplicate value: {value}{}", violation.message),
        ),
        "wrong-type" => Cause::new(
            "FieldValueTypeInvalid",
            &field,
            format!("Invalid value: {value}{}", violation.message),
        ),
        _ => Cause::new("FieldValueInvalid", &field, format!("Invalid value: {value}{}", violation.message)),
    }
}
