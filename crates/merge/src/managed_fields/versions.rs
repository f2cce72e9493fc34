//! The versions of an object's kind: types, and conversion between them.

use std::borrow::Cow;

use serde_json::Value;

use super::options::Options;
use super::types::Type;
use super::validation::{Duplicates, Mismatch, describe, mismatches, unidentified_entries};
use crate::schema::{Cursor, Gvk};
use smp_text::diagnostic::{Code, Diagnostic, PatchRejection, Result};

/// The versions of one kind.
pub(super) struct Versions<'o, 's> {
    options: &'o Options<'s>,
    gvk: &'o Gvk,
    /// The type of objects in the version of the request; `None` for a kind without a schema, whose types are deduced
    /// from the values.
    own: Option<Cursor<'s>>,
}

impl<'o, 's> Versions<'o, 's> {
    pub(super) fn new(options: &'o Options<'s>, gvk: &'o Gvk) -> Self {
        Self { options, gvk, own: options.schema.kind(gvk) }
    }

    /// Returns the type of objects in a version, or `None` if the version does not exist.
    pub(super) fn type_in(&self, api_version: &str) -> Option<Type<'s>> {
        if self.own.is_none() {
            return Some(Type::Deduced);
        }
        let gvk = Gvk::from_manifest(api_version, &self.gvk.kind);
        self.options.schema.kind(&gvk).map(|cursor| Type::known(cursor, false))
    }

    /// Returns the type of objects in the version of the request.
    pub(super) fn own_type(&self) -> Type<'s> {
        self.own.map_or(Type::Deduced, |cursor| Type::known(cursor, false))
    }

    /// Converts an object. Returns `None` if the version does not exist.
    pub(super) fn convert<'v>(&self, object: &'v Value, api_version: &str) -> Option<Cow<'v, Value>> {
        if object.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
            return Some(Cow::Borrowed(object));
        }
        if let Some(converter) = self.options.converter {
            return converter(object, api_version).map(Cow::Owned);
        }
        self.type_in(api_version)?;
        let mut converted = object.clone();
        if let Value::Object(fields) = &mut converted {
            fields.insert("apiVersion".into(), api_version.into());
        }
        Some(Cow::Owned(converted))
    }

    /// Converts an object to the version of a manager. Returns `None` if the version does not exist. `action` names the
    /// server's operation in errors.
    ///
    /// # Errors
    /// The converted object does not match its type, or a list has duplicate entries.
    pub(super) fn convert_or_fail<'v>(
        &self,
        object: &'v Value,
        api_version: &str,
        action: &str,
    ) -> Result<Option<(Cow<'v, Value>, Type<'s>)>> {
        self.convert_for_manager(object, api_version).map_err(|error| failed(action, &error))
    }

    /// Converts like [`Versions::convert_or_fail`]. The error does not name an operation.
    pub(super) fn convert_for_manager<'v>(
        &self,
        object: &'v Value,
        api_version: &str,
    ) -> Result<Option<(Cow<'v, Value>, Type<'s>)>> {
        let Some(ty) = self.type_in(api_version) else { return Ok(None) };
        let Some(converted) = self.convert(object, api_version) else { return Ok(None) };
        if let Cow::Owned(converted) = &converted {
            let found = mismatches(converted, ty, Duplicates::Rejected);
            if !found.is_empty() {
                return Err(mismatch(&found, &describe(&found)));
            }
        }
        Ok(Some((converted, ty)))
    }
}

/// Returns an object's name and type as the messages of API servers name them.
pub(super) fn described(object: &Value) -> String {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let gvk = Gvk::from_manifest(text("/apiVersion"), text("/kind"));
    format!("{}/{}; {}", text("/metadata/namespace"), text("/metadata/name"), go_gvk(&gvk))
}

/// Returns a group, version and kind as Go formats it: `apps/v1, Kind=Deployment`.
pub(super) fn go_gvk(gvk: &Gvk) -> String {
    format!("{}/{}, Kind={}", gvk.group, gvk.version, gvk.kind)
}

/// Returns the error of a failed operation of the server. `action` names the operation.
pub(super) fn failed(action: &str, error: &Diagnostic) -> Diagnostic {
    let found = Diagnostic::error(error.code(), format!("{action}: {}", error.message()));
    let found = found.patch_rejection(PatchRejection::Merge);
    match error.field_path() {
        Some(path) => found.field(path),
        None => found,
    }
}

/// Returns the error for an object that does not match its type, with the field of the first mismatch.
fn mismatch(found: &[Mismatch], message: &str) -> Diagnostic {
    let first = found.first();
    let is_undeclared = first.is_some_and(|found| found.message == "field not declared in schema");
    let code = if is_undeclared { Code::UnknownField } else { Code::WrongType };
    let error = Diagnostic::error(code, message).patch_rejection(PatchRejection::Merge);
    match first.map(|found| found.path.trim_start_matches('.')).filter(|path| !path.is_empty()) {
        Some(path) => error.field(path),
        None => error,
    }
}

/// Checks that an object matches its type. `action` names the operation of the server in the error, such as `create
/// typed patch object`.
pub(super) fn check(
    object: &Value,
    ty: Type<'_>,
    duplicates: Duplicates,
    [action, to]: [&str; 2],
) -> Result<()> {
    check_with(object, ty, duplicates, || format!("failed to {action} ({}){to}", described(object)))
}

/// Checks an object like [`check`]. The error message begins with another text.
pub(super) fn check_with(
    object: &Value,
    ty: Type<'_>,
    duplicates: Duplicates,
    failure: impl Fn() -> String,
) -> Result<()> {
    let found = mismatches(object, ty, duplicates);
    if found.is_empty() {
        return Ok(());
    }
    Err(mismatch(&found, &format!("{}: {}", failure(), describe(&found))))
}

/// Checks that all list entries of an object can be identified. Otherwise it cannot be compared.
pub(super) fn check_entries(object: &Value, ty: Type<'_>) -> Result<()> {
    let found = unidentified_entries(object, ty);
    if found.is_empty() {
        return Ok(());
    }
    Err(mismatch(&found, &format!("failed to compare objects: {}", describe(&found))))
}
