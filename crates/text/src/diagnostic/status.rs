//! Diagnostics as the `metav1.Status` that an API server returns.

use serde_json::{Map, Value, json};

use super::patch_rejection::PatchRejection;
use super::{Code, Diagnostic, ObjectName, Severity};

impl Diagnostic {
    /// Returns the `metav1.Status` that an API server would return, as JSON. A warning or note becomes a success with a
    /// message.
    ///
    /// If the server has the same problem, `code`, `reason` and the causes in `details` are those of Kubernetes 1.36:
    ///
    /// | Problem                                                        | Code | Reason                 | Causes |
    /// |----------------------------------------------------------------|------|------------------------|--------|
    /// | the body is not a patch of its type, or `$retainKeys` is invalid | 400 | `BadRequest`          | none   |
    /// | the object does not exist                                      | 404  | `NotFound`             | none   |
    /// | conflict                                                       | 409  | `Conflict`             | none   |
    /// | strategic merge patch of a custom resource                     | 415  | `UnsupportedMediaType` | none   |
    /// | an operation of a JSON patch failed, including `test`          | 422  | `Invalid`              | none   |
    /// | invalid value of a field                                       | 422  | `Invalid`              | one    |
    /// | strategic merge patch with a missing merge key or another invalid directive | 500 | none       | none   |
    ///
    /// The messages have the server's structure but this program's text, which is more specific. For example, for a
    /// failed JSON patch the server does not name the operation.
    ///
    /// ```
    /// use serde_json::json;
    /// use smp_text::diagnostic::{Code, Diagnostic};
    ///
    /// let status = Diagnostic::error(Code::Conflict, "the object has been modified").to_status();
    /// assert_eq!((&status["code"], &status["reason"]), (&json!(409), &json!("Conflict")));
    /// ```
    #[must_use]
    pub fn to_status(&self) -> Value {
        if self.severity() != Severity::Error {
            return json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                "message": self.to_string(), "code": 200,
            });
        }
        let (code, reason) = self.0.refusal.map_or_else(|| code_status(self.code()), rejection_status);
        let mut status = Map::new();
        let fields = [("kind", "Status".into()), ("apiVersion", "v1".into()), ("metadata", json!({}))];
        let failure = [("status", "Failure".into()), ("message", self.status_message(reason).into())];
        let reason_field = (!reason.is_empty()).then(|| ("reason", reason.into()));
        let details = self.status_details(reason).map(|details| ("details", details));
        let all = fields.into_iter().chain(failure).chain(reason_field).chain(details);
        status.extend(all.chain([("code", code.into())]).map(|(name, value)| (name.to_string(), value)));
        Value::Object(status)
    }

    /// Returns the message in the server's format for this reason.
    fn status_message(&self, reason: &str) -> String {
        let Some(object) = self.object().filter(|_| self.0.refusal.is_none()) else {
            return self.to_string();
        };
        let what = format!("{} \"{}\"", with_group(object), object.name);
        let own = self.field_path().map_or_else(String::new, |field| format!("{field}: ")) + self.message();
        match reason {
            "Invalid" => format!("{what} is invalid: {own}"),
            "NotFound" | "AlreadyExists" => format!("{what} {own}"),
            "Conflict" => format!("Operation cannot be fulfilled on {what}: {own}"),
            _ => self.to_string(),
        }
    }

    /// Returns the `details`. The server sends none for bad requests and internal errors.
    fn status_details(&self, reason: &str) -> Option<Value> {
        let mut details = Map::new();
        match self.0.refusal {
            Some(PatchRejection::Operation) => return Some(Value::Object(details)),
            Some(PatchRejection::UnsupportedType) => return None,
            _ => {}
        }
        if !matches!(reason, "Invalid" | "NotFound" | "AlreadyExists" | "Conflict" | "UnsupportedMediaType") {
            return None;
        }
        if let Some(object) = self.object().filter(|_| reason != "UnsupportedMediaType") {
            let group = object.api_version.rsplit_once('/').map_or("", |(group, _)| group);
            let parts = [("name", object.name.as_str()), ("group", group), ("kind", &object.kind)];
            let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
            details.extend(parts.map(|(name, text)| (name.to_string(), text.into())));
        }
        if let Some(field) = self.field_path().filter(|_| reason == "Invalid") {
            let cause = json!({"reason": cause(self.code()), "message": self.message(), "field": field});
            details.insert("causes".into(), json!([cause]));
        }
        Some(Value::Object(details))
    }
}

/// Returns a kind with its group in the server's format: `Deployment.apps`.
fn with_group(object: &ObjectName) -> String {
    match object.api_version.rsplit_once('/') {
        Some((group, _)) => format!("{}.{group}", object.kind),
        None => object.kind.clone(),
    }
}

/// Returns the HTTP status and the reason for a rejected patch.
fn rejection_status(refusal: PatchRejection) -> (u16, &'static str) {
    match refusal {
        PatchRejection::Malformed => (400, "BadRequest"),
        PatchRejection::UnsupportedType => (415, "UnsupportedMediaType"),
        PatchRejection::Operation => (422, "Invalid"),
        PatchRejection::Merge => (500, ""),
    }
}

/// Returns the HTTP status and the reason for a code.
fn code_status(code: Code) -> (u16, &'static str) {
    match code {
        Code::Syntax | Code::DuplicateKey | Code::UnknownField | Code::Usage => (400, "BadRequest"),
        Code::OutsideRoot => (403, "Forbidden"),
        Code::NoMatch
        | Code::AddedDocument
        | Code::UnmatchedPatch
        | Code::UnmatchedImage
        | Code::AbsentDeletion
        | Code::UnmatchedReplacement => (404, "NotFound"),
        Code::DuplicateResource => (409, "AlreadyExists"),
        Code::Conflict => (409, "Conflict"),
        Code::LimitExceeded => (413, "RequestEntityTooLarge"),
        Code::NoSchema => (415, "UnsupportedMediaType"),
        Code::MissingMergeKey | Code::DuplicateMergeKey | Code::Directive => (500, ""),
        Code::Io
        | Code::Locked
        | Code::NotFetched
        | Code::Command
        | Code::CommandNotFound
        | Code::SystemResource => (500, "InternalError"),
        Code::Unsupported => (501, "NotImplemented"),
        Code::Remote => (503, "ServiceUnavailable"),
        Code::NotReady | Code::CommandTimeout => (504, "Timeout"),
        // Invalid values, and codes that only warnings have, which never become a failure status.
        _ => (422, "Invalid"),
    }
}

/// Returns the `CauseType` of an invalid field.
fn cause(code: Code) -> &'static str {
    match code {
        Code::WrongType => "FieldValueTypeInvalid",
        Code::MissingField => "FieldValueRequired",
        _ => "FieldValueInvalid",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::ResourceName;

    fn web() -> ResourceName {
        let text = str::to_string;
        let object = ObjectName {
            api_version: text("apps/v1"),
            kind: text("Deployment"),
            namespace: text("shop"),
            name: text("web"),
        };
        ResourceName::from_object(text("Deployment web"), object)
    }

    #[test]
    fn errors_have_the_fields_of_the_server() {
        let error =
            Diagnostic::error(Code::WrongType, "expected a list").resource("Pod p").field("spec.ports");
        let want = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Pod p: spec.ports: expected a list", "reason": "Invalid", "code": 422,
            "details": {"causes": [
                {"reason": "FieldValueTypeInvalid", "message": "expected a list", "field": "spec.ports"},
            ]},
        });
        assert_eq!(error.to_status(), want);
        let missing = Diagnostic::error(Code::NoMatch, "no such thing").to_status();
        assert_eq!((&missing["code"], &missing["reason"]), (&json!(404), &json!("NotFound")));
        assert_eq!(missing["details"], json!({}));
    }

    #[test]
    fn messages_about_objects_have_the_format_of_the_server() {
        let invalid =
            Diagnostic::error(Code::MissingField, "Required value").resource(web()).field("spec.selector");
        let status = invalid.to_status();
        assert_eq!(status["message"], "Deployment.apps \"web\" is invalid: spec.selector: Required value");
        let causes =
            [json!({"reason": "FieldValueRequired", "message": "Required value", "field": "spec.selector"})];
        let details = json!({"name": "web", "group": "apps", "kind": "Deployment", "causes": causes});
        assert_eq!(status["details"], details);

        let conflict =
            Diagnostic::error(Code::Conflict, "both changed it").resource(web()).field("spec.replicas");
        let status = conflict.to_status();
        let message =
            "Operation cannot be fulfilled on Deployment.apps \"web\": spec.replicas: both changed it";
        assert_eq!(status["message"], message);
        assert_eq!(status["details"], json!({"name": "web", "group": "apps", "kind": "Deployment"}));
    }

    #[test]
    fn rejected_patches_have_no_causes_or_names() {
        let table = [
            (PatchRejection::Malformed, 400, json!("BadRequest"), Value::Null),
            (PatchRejection::UnsupportedType, 415, json!("UnsupportedMediaType"), Value::Null),
            (PatchRejection::Operation, 422, json!("Invalid"), json!({})),
            (PatchRejection::Merge, 500, Value::Null, Value::Null),
        ];
        for (refusal, code, reason, details) in table {
            let error = Diagnostic::error(Code::WrongType, "a text")
                .resource(web())
                .field("spec")
                .patch_rejection(refusal);
            let status = error.patch_rejection(PatchRejection::Malformed).to_status();
            assert_eq!((&status["code"], &status["reason"]), (&json!(code), &reason));
            assert_eq!(status["details"], details, "{refusal:?}");
            assert_eq!(status["message"], "Deployment web: spec: a text");
        }
    }

    #[test]
    fn missing_merge_key_has_no_reason() {
        let status =
            Diagnostic::error(Code::MissingMergeKey, "no `name`").field("spec.containers[0]").to_status();
        assert_eq!((&status["code"], status.get("reason")), (&json!(500), None));
        assert_eq!(status.get("details"), None);
    }

    #[test]
    fn warnings_and_notes_are_successes() {
        let warning = Diagnostic::warning(Code::NoSchema, "a list was replaced");
        let note = Diagnostic::info(Code::Summary, "a list was replaced");
        let want = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "message": "a list was replaced", "code": 200,
        });
        assert_eq!((warning.to_status(), note.to_status()), (want.clone(), want));
    }
}
