//! Patches of all types, and server-side apply.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use smp_merge::patch::json::{self, CustomResources as Merging, PatchType, PatchingOptions};
use smp_merge::schema::Cursor;

use super::{body, kinds};
use crate::managers::Outcome;
use crate::metadata::{self, meta};
use crate::request::{FieldValidation, Request, Target, WriteOptions};
use crate::state::{CustomResources, State, in_version};
use crate::status::{Cause, Failure, Named, Result};
use crate::typed::{Touched, go_json, go_map, unconverted};

const APPLY: &str = "application/apply-patch+yaml";

/// The media types of patches.
const ACCEPTED: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    APPLY,
];

/// Maximum number of operations in a JSON patch, as in kube-apiserver.
const MAX_OPERATIONS: usize = 10_000;

/// The response to a patch.
pub(crate) enum Patched {
    /// The object, and true if it was created.
    Object(Value, bool),
    /// The body of the response to an apply with conflicts.
    Conflict(String),
}

impl State {
    /// Patches the object of a request, or applies it.
    pub(crate) fn patch(
        &mut self,
        target: &Target,
        request: &Request,
        options: &mut WriteOptions,
    ) -> Result<Patched> {
        let content_type = request.content_type();
        if content_type == APPLY {
            return self.apply(target, request, options);
        }
        if request.values("force").next().is_some() {
            let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
            return Err(invalid_options(&[cause]));
        }
        let patch_type = PatchType::from_content_type(content_type);
        let is_custom = target.resource.is_custom;
        let patch_type = patch_type.ok_or_else(|| unknown_media_type(is_custom))?;
        let gvk = &target.resource.gvk;
        self.check_strategic(target, patch_type)?;
        let old = in_version(&*self.object(target)?, gvk);
        let patch = body::parse_json(&request.body)?;
        let operations = patch.as_array().map_or(0, Vec::len);
        if operations > MAX_OPERATIONS {
            return Err(Failure::too_large(&format!(
                "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {operations}"
            )));
        }
        let mut patched = self.patched(&old, patch_type, &patch)?;
        if patched.is_null() {
            // `$patch: delete` results in an object without fields.
            patched = Value::Object(Map::new());
        }
        let mut object = self.decode_patched(target, patch_type, &patch, patched, options)?;
        metadata::check_namespace(&mut object, target)?;
        metadata::check_name(&object, target)?;
        kinds::check(&mut object, target)?;
        let object = self.with_managers(target, Some(&old), object, options);
        Ok(Patched::Object(self.replace(target, &old, object, options)?, false))
    }

    /// Decodes the result of a patch. Messages quote the patch or its result.
    fn decode_patched(
        &self,
        target: &Target,
        patch_type: PatchType,
        patch: &Value,
        patched: Value,
        options: &mut WriteOptions,
    ) -> Result<Value> {
        let (gvk, is_custom) = (&target.resource.gvk, target.resource.is_custom);
        let mut patched = patched;
        let is_strategic = patch_type == PatchType::Strategic && !is_custom;
        if !is_strategic && !is_custom && kinds::read(&patched).is_ok_and(|(version, _)| version.is_empty()) {
            // Servers decode such an object like one of a type without fields.
            without_fields(&patched, options)
                .map_err(|why| invalid_patch(&go_json(&patched, self.cursor(gvk), touched(patch)), &why))?;
            patched = json!({"apiVersion": gvk.api_version(), "kind": gvk.kind});
        }
        let undecodable = if is_strategic { None } else { self.undecodable(&patched, target) };
        let decoded = match undecodable {
            Some(why) => Err(why),
            None => self.decode(patched.clone(), is_custom, gvk, options).map_err(|failure| reason(&failure)),
        };
        decoded.map_err(|why| {
            let cursor = if is_custom { Cursor::unknown() } else { self.cursor(gvk) };
            match patch_type {
                PatchType::Strategic => invalid_patch(&go_map(patch), &unconverted(&why)),
                _ => invalid_patch(&go_json(&patched, cursor, touched(patch)), &why),
            }
        })
    }

    /// Rejects strategic merge patches of custom resources, unless the settings allow them.
    fn check_strategic(&self, target: &Target, patch_type: PatchType) -> Result<()> {
        let is_merged = self.settings.custom_resources == CustomResources::Merged;
        if patch_type != PatchType::Strategic || !target.resource.is_custom || is_merged {
            return Ok(());
        }
        let [json, merge, _, apply] = ACCEPTED;
        Err(Failure::unsupported_media_type(&[json, merge, apply]))
    }

    fn patched(&self, old: &Value, patch_type: PatchType, patch: &Value) -> Result<Value> {
        let is_merged = self.settings.custom_resources == CustomResources::Merged;
        let merging = if is_merged { Merging::Merged } else { Merging::Rejected };
        let options = PatchingOptions::default().custom_resources(merging);
        let mut object = old.clone();
        json::apply_with(&mut object, patch, patch_type, &self.schema, &options)
            .map_err(|error| Failure::from_patch(&error))?;
        Ok(object)
    }

    fn apply(&mut self, target: &Target, request: &Request, options: &mut WriteOptions) -> Result<Patched> {
        if request.parameter("fieldManager").is_empty() {
            let cause = Cause::required("fieldManager", "is required for apply patch");
            return Err(invalid_options(&[cause]));
        }
        let gvk = &target.resource.gvk;
        let applied = body::parse_yaml(&request.body)?;
        check_applied(&applied, gvk)?;
        let old = self.object(target).ok().map(|old| in_version(&old, gvk));
        if old.is_none() && target.subresource.is_some() {
            return Err(Failure::not_found(target.named()));
        }
        let object = match self.applied(target, old.as_ref(), &applied, options)? {
            Outcome::Object(object) => object,
            Outcome::Conflict(body) => return Ok(Patched::Conflict(body)),
        };
        let decoded = self.decode(object, target.resource.is_custom, gvk, options);
        let mut object =
            decoded.map_err(|failure| not_converted(target, meta(&applied, "namespace"), &failure))?;
        super::update::check_number(&object)?;
        if old.is_none() && !meta(&object, "uid").is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                meta(&object, "uid")
            );
            return Err(Failure::conflict(target.named(), &why));
        }
        metadata::check_namespace(&mut object, target)?;
        metadata::check_name(&object, target)?;
        let Some(old) = old else {
            metadata::remove(&mut object, "resourceVersion");
            self.set_system_fields(&mut object);
            let created = self.create_object(target, object, options)?;
            return Ok(Patched::Object(Arc::unwrap_or_clone(created), true));
        };
        Ok(Patched::Object(self.replace(target, &old, object, options)?, false))
    }
}

/// Returns the error for a media type that is not one of a patch. For built-in resources, servers select the handler by
/// the media type.
fn unknown_media_type(is_custom: bool) -> Failure {
    if is_custom { Failure::unsupported_media_type(&ACCEPTED) } else { Failure::unroutable_media_type() }
}

/// Returns the error for an apply whose result cannot be decoded.
fn not_converted(target: &Target, namespace: &str, failure: &Failure) -> Failure {
    let gvk = &target.resource.gvk;
    let why = unconverted(&reason(failure));
    let kind = kinds::shown(&gvk.api_version(), &gvk.kind);
    let name = format!("{namespace}/{}; {kind}", target.name);
    Failure::new(
        500,
        "",
        format!(
            "failed to convert new object ({name}) to proper version: unable to convert unstructured object to {kind}: {why}"
        ),
    )
}

/// Reports all fields of an object whose type has no fields.
fn without_fields(object: &Value, options: &mut WriteOptions) -> std::result::Result<(), String> {
    let fields = object.as_object().into_iter().flatten().map(|(name, _)| name);
    let unknown = fields.filter(|name| !matches!(name.as_str(), "apiVersion" | "kind"));
    let unknown: Vec<String> = unknown.map(|name| format!("unknown field {name:?}")).collect();
    match options.field_validation {
        FieldValidation::Strict => return Err(format!("strict decoding error: {}", unknown.join(", "))),
        FieldValidation::Warn => options.warnings.extend(unknown),
        FieldValidation::Ignore => {}
    }
    Ok(())
}

/// Returns the error for a patch whose result cannot be decoded.
fn invalid_patch(shown: &str, why: &str) -> Failure {
    let named = Named { group: "", what: "", name: "" };
    Failure::invalid_named(named, &[Cause::invalid("patch", &shown.into(), why)])
}

/// Returns the message of a failure to decode an object, without its kind.
fn reason(failure: &Failure) -> String {
    let status = failure.to_status();
    let message = status["message"].as_str().unwrap_or_default();
    message.split_once(": ").map_or(message, |(_, why)| why).to_string()
}

/// Returns the parts of an object that a patch touches.
fn touched(patch: &Value) -> Touched<'_> {
    patch.as_array().map_or(Touched::Merge(patch), |operations| Touched::Operations(operations, 0))
}

/// Checks that an applied object has the kind of the path.
fn check_applied(applied: &Value, gvk: &smp_merge::schema::Gvk) -> Result<()> {
    if !applied.is_object() {
        let message = "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}";
        return Err(Failure::bad_request(message));
    }
    let text = |field: &str| applied.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version == gvk.api_version() && kind == gvk.kind {
        return Ok(());
    }
    let is_readable = api_version.matches('/').count() < 2;
    let shown = if is_readable { kinds::shown(api_version, kind) } else { kinds::shown("", "") };
    Err(Failure::bad_request(format!("invalid object type: {shown}")))
}

fn invalid_options(causes: &[Cause]) -> Failure {
    let named = Named { group: "meta.k8s.io", what: "PatchOptions", name: "" };
    Failure::invalid_named(named, causes)
}
