//! Validates objects, and returns the causes of rejections as the server reports them.

use serde_json::{Map, Value};
use smp_text::diagnostic::Severity;
use smp_text::yaml::Node;
use smp_validate::{Violation, validate};

use crate::causes;
use crate::immutable;
use crate::metadata::meta;
use crate::request::{Target, WriteOptions};
use crate::state::{State, Validation};
use crate::status::{Cause, Failure, Result};

/// The rules whose violations the server finds during decoding, not during validation.
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

    /// Validates a change. Errors of unchanged values are ignored (ratcheting).
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
            let mut changes = immutable::changes(target, object, old);
            changes.extend(status_cause(target, object, old));
            let is_first = target.resource.gvk.kind == "DaemonSet";
            let violations = self.violations(target, object, Some(old));
            let (first, last) = if is_first { (changes, violations) } else { (violations, changes) };
            causes.extend(first.into_iter().chain(last));
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
            let found = validate(&without_managers(object), &self.schema, &self.validate);
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
        let group = causes::scale_target(object, old);
        // A server generates the selectors of Jobs before it validates them.
        let is_generated = |cause: &Cause| {
            target.resource.gvk.kind == "Job"
                && cause.field == "spec.selector"
                && object["spec"]["manualSelector"] != true
        };
        let all = causes::from_violations(&new, object, target.resource.is_custom)
            .into_iter()
            .filter(|cause| !is_generated(cause));
        all.chain(group).chain(size_cause(object)).collect()
    }
}

/// Returns an object without its managed fields, which the server computes.
fn without_managers(object: &Value) -> Node {
    let of_metadata = |metadata: &Map<String, Value>| {
        let fields = metadata.iter().filter(|(name, _)| *name != "managedFields");
        Node::map(fields.map(|(name, value)| (name.as_str(), Node::from(value))).collect())
    };
    let fields = object.as_object().into_iter().flatten().map(|(name, value)| match value {
        Value::Object(metadata) if name == "metadata" => (name.as_str(), of_metadata(metadata)),
        _ => (name.as_str(), Node::from(value)),
    });
    Node::map(fields.collect())
}

/// Returns the cause if the data of a ConfigMap or Secret is too large.
fn size_cause(object: &Value) -> Option<Cause> {
    const LIMIT: usize = 1 << 20;
    let length = |field: &str, of: fn(&str) -> usize| -> usize {
        let values = object[field].as_object().into_iter().flatten();
        values.filter_map(|(_, value)| value.as_str()).map(of).sum()
    };
    let (field, size) = match object["kind"].as_str()? {
        "ConfigMap" => ("[]", length("data", str::len) + length("binaryData", decoded_length)),
        "Secret" => ("data", length("data", decoded_length)),
        _ => return None,
    };
    let message = format!("Too long: may not be more than {LIMIT} bytes");
    (object["apiVersion"] == "v1" && size > LIMIT).then(|| Cause::new("FieldValueTooLong", field, message))
}

/// Returns the number of bytes that a text in base64 encodes.
fn decoded_length(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

fn is_same(one: &Violation, other: &Violation) -> bool {
    one.rule == other.rule && one.path == other.path && one.message == other.message
}

/// Returns the cause if a status contradicts the spec.
fn status_cause(target: &Target, object: &Value, old: &Value) -> Option<Cause> {
    if target.subresource_name() != "status" {
        return None;
    }
    let (spec, status) = (&object["spec"], &object["status"]);
    let nominated = &status["nominatedNodeName"];
    match &*target.resource.collection() {
        "services" if spec["type"] != "LoadBalancer" && status["loadBalancer"]["ingress"].is_array() => {
            let why = "may only be used when `spec.type` is 'LoadBalancer'";
            Some(Cause::forbidden("status.loadBalancer.ingress", why))
        }
        "pods" if !spec["nodeName"].is_null() && !nominated.is_null() => {
            let why = "may not be set on pods that are already bound to a node";
            let is_new = *nominated != old["status"]["nominatedNodeName"];
            is_new.then(|| Cause::forbidden("status.nominatedNodeName", why))
        }
        _ => None,
    }
}

/// Returns the cause if an object has no name.
fn name_cause(object: &Value, _target: &Target) -> Option<Cause> {
    let is_named = !meta(object, "name").is_empty() || !meta(object, "generateName").is_empty();
    (!is_named).then(|| Cause::required("metadata.name", "name or generateName is required"))
}
