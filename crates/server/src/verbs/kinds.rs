//! Checks the API version and kind of objects in requests, with the messages of Kubernetes' decoders.

use serde_json::Value;
use smol_str::SmolStr;
use smp_merge::schema::Gvk;

use crate::metadata::meta;
use crate::request::Target;
use crate::state::State;
use crate::status::{Cause, Failure, Named, Result};

/// Returns the API version and kind of an object. They are empty if absent or null.
///
/// # Errors
/// Fails if one of them is not a string, or if the version has more than one slash.
pub(crate) fn read(object: &Value) -> std::result::Result<(&str, &str), String> {
    let field = |name: &str| match object.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(value) => {
            let error = format!("json: cannot unmarshal {} into Go struct field .{name}", json_type(value));
            Err(format!("couldn't get version/kind; json parse error: {error} of type string"))
        }
    };
    let (api_version, kind) = (field("apiVersion")?, field("kind")?);
    if api_version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {api_version}"));
    }
    Ok((api_version, kind))
}

/// Returns the type of a JSON value as Go's messages name it.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(_) | Value::Null => "number",
    }
}

/// Returns the error of Go for a JSON value that is not an object.
pub(crate) fn not_a_type(value: &Value) -> String {
    let what = json_type(value);
    format!(
        "json: cannot unmarshal {what} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )
}

/// Returns a version and kind as Go prints them.
pub(crate) fn shown(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

impl State {
    /// Returns the reason if an object of this version and kind cannot be decoded as one of a built-in kind. Empty ones
    /// are replaced by those of `wanted`.
    pub(crate) fn mismatch(&self, api_version: &str, kind: &str, wanted: &Gvk) -> Option<String> {
        let (api_version, kind) = with_defaults(api_version, kind, wanted);
        let gvk = Gvk::from_manifest(&api_version, kind);
        // Both versions of evictions are accepted, although neither is a resource.
        let is_old = wanted.kind == "Eviction" && kind == "Eviction" && api_version == "policy/v1beta1";
        if gvk == *wanted || is_old {
            return None;
        }
        if self.base_schema.kind(&gvk).is_none() {
            return Some(format!(
                "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
            ));
        }
        Some(format!(
            "converting ({}.{kind}) to ({}.{}): unknown conversion",
            gvk.version,
            internal_package(wanted),
            wanted.kind
        ))
    }

    /// Returns the reason if the result of a JSON or merge patch cannot be decoded: its version or kind is missing or
    /// wrong.
    pub(crate) fn undecodable(&self, patched: &Value, target: &Target) -> Option<String> {
        let wanted = &target.resource.gvk;
        let (api_version, kind) = match read(patched) {
            Ok(found) => found,
            Err(why) => return Some(why),
        };
        if target.resource.is_custom {
            return kind.is_empty().then(|| format!("Object 'Kind' is missing in '{patched}'"));
        }
        self.mismatch(api_version, kind, wanted)
    }
}

/// Checks that a decoded object has the version and kind of its resource, and sets them. Typed objects have those of
/// their type, and requests for a subresource cannot change them.
pub(crate) fn check(object: &mut Value, target: &Target) -> Result<()> {
    if target.resource.is_custom {
        check_custom(object, target)?;
    }
    set(object, &target.resource.gvk);
    Ok(())
}

fn check_custom(object: &Value, target: &Target) -> Result<()> {
    let wanted = &target.resource.gvk;
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version.is_empty() {
        let missing = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
        let failure = Failure::new(500, "InternalError", format!("Internal error occurred: {missing}"));
        return Err(failure.causes(&[Cause::new("", "", missing)]));
    }
    if target.subresource.is_some() {
        return Ok(());
    }
    let fields = [("kind", kind, &*wanted.kind), ("apiVersion", api_version, &*wanted.api_version())];
    let differing = fields.into_iter().filter(|(_, found, wanted)| found != wanted);
    let causes: Vec<Cause> = differing
        .map(|(field, found, wanted)| Cause::invalid(field, &found.into(), &format!("must be {wanted}")))
        .collect();
    if causes.is_empty() {
        return Ok(());
    }
    let group = Gvk::from_manifest(api_version, kind).group;
    Err(Failure::invalid_named(Named { group: &group, what: kind, name: meta(object, "name") }, &causes))
}

/// Sets the version and kind of an object.
pub(super) fn set(object: &mut Value, gvk: &Gvk) {
    object["apiVersion"] = gvk.api_version().as_str().into();
    object["kind"] = gvk.kind.as_str().into();
}

/// Returns `apiVersion` and `kind`, with empty ones replaced by those of `wanted`.
pub(super) fn with_defaults<'k>(api_version: &str, kind: &'k str, wanted: &'k Gvk) -> (SmolStr, &'k str) {
    let api_version = if api_version.is_empty() { wanted.api_version() } else { api_version.into() };
    (api_version, if kind.is_empty() { &wanted.kind } else { kind })
}

/// Returns the package of a group's internal Go types.
fn internal_package(gvk: &Gvk) -> &str {
    gvk.group.split('.').next().filter(|name| !name.is_empty()).unwrap_or("core")
}
