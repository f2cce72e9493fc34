//! A problem as an API server answers it: a `Status` of `meta/v1`.

use serde_json::{Value, json};

use super::{Code, Diagnostic, Severity};

impl Diagnostic {
    /// The problem as the `metav1.Status` that an API server would answer, in JSON; of a warning one of success,
    /// with its message.
    ///
    /// `code` and `reason` are those of Kubernetes 1.36 where the server knows the problem: a conflict is its 409
    /// `Conflict`, a strategic merge patch for a custom resource its 415 `UnsupportedMediaType`, a failed JSON patch
    /// its 422 `Invalid`. A strategic merge patch that cannot be applied is its 500, for which it has no reason. The
    /// messages are ours.
    ///
    /// ```
    /// use kubectl_smp::patch::json::{self, PatchType};
    /// use kubectl_smp::schema::Schema;
    /// use serde_json::json;
    ///
    /// let mut gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget"});
    /// let error = json::apply(&mut gadget, &json!({"a": 1}), PatchType::Strategic, &Schema::embedded());
    /// let status = error.expect_err("as the server refuses it").to_status();
    /// assert_eq!((&status["code"], &status["reason"]), (&json!(415), &json!("UnsupportedMediaType")));
    /// ```
    #[must_use]
    pub fn to_status(&self) -> Value {
        let status =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "message": self.to_string()});
        let Value::Object(mut status) = status else { return Value::Null };
        if self.severity() == Severity::Warning {
            status.insert("status".into(), "Success".into());
            return Value::Object(status);
        }
        let (code, reason) = answer(self.code());
        status.insert("status".into(), "Failure".into());
        if !reason.is_empty() {
            status.insert("reason".into(), reason.into());
        }
        status.insert("code".into(), code.into());
        if let Some(field) = self.field_path() {
            let cause = json!({"reason": cause(self.code()), "message": self.message(), "field": field});
            status.insert("details".into(), json!({"causes": [cause]}));
        }
        Value::Object(status)
    }
}

/// The status of HTTP, and Kubernetes' word for it.
fn answer(code: Code) -> (u16, &'static str) {
    match code {
        Code::Syntax | Code::DuplicateKey | Code::UnknownField | Code::Usage => (400, "BadRequest"),
        Code::OutsideRoot => (403, "Forbidden"),
        Code::NoMatch | Code::AddedDocument | Code::UnmatchedPatch | Code::UnmatchedReplacement => {
            (404, "NotFound")
        }
        Code::DuplicateResource => (409, "AlreadyExists"),
        Code::Conflict => (409, "Conflict"),
        Code::LimitExceeded => (413, "RequestEntityTooLarge"),
        Code::NoSchema | Code::Unsupported => (415, "UnsupportedMediaType"),
        Code::WrongType
        | Code::MissingField
        | Code::InvalidValue
        | Code::Cycle
        | Code::Ambiguous
        | Code::TestFailed
        // Warnings only.
        | Code::DeprecatedField
        | Code::UnusedVariable
        | Code::ComponentAlone
        | Code::ServerWarning
        | Code::SchemaSource
        | Code::Summary => (422, "Invalid"),
        Code::MissingMergeKey | Code::DuplicateMergeKey | Code::Directive => (500, ""),
        Code::Io | Code::Locked | Code::NotFetched | Code::Command | Code::Failed => (500, "InternalError"),
        Code::Remote => (503, "ServiceUnavailable"),
    }
}

/// Kubernetes' word for what is wrong with a field.
fn cause(code: Code) -> &'static str {
    match code {
        Code::WrongType => "FieldValueTypeInvalid",
        Code::MissingField | Code::MissingMergeKey => "FieldValueRequired",
        Code::DuplicateKey | Code::DuplicateMergeKey | Code::DuplicateResource => "FieldValueDuplicate",
        Code::NoMatch => "FieldValueNotFound",
        Code::Conflict => "FieldManagerConflict",
        Code::LimitExceeded => "FieldValueTooLong",
        _ => "FieldValueInvalid",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_a_server_says() {
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
        assert!(missing.get("details").is_none());
    }

    #[test]
    fn what_the_server_has_no_reason_for_has_none() {
        let status =
            Diagnostic::error(Code::MissingMergeKey, "no `name`").field("spec.containers[0]").to_status();
        assert_eq!((&status["code"], status.get("reason")), (&json!(500), None));
        assert_eq!(status["details"]["causes"][0]["reason"], json!("FieldValueRequired"));
    }

    #[test]
    fn warnings_are_no_failures() {
        let status = Diagnostic::warning(Code::NoSchema, "a list was replaced").to_status();
        let want = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "message": "a list was replaced",
        });
        assert_eq!(status, want);
    }
}
