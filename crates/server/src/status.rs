//! Failed requests, as the `Status` that API servers return.

use serde_json::{Map, Value, json};
use smp_merge::schema::Gvk;
use smp_text::diagnostic::Diagnostic;

/// The result of a request.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// A failed request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub(crate) code: u16,
    reason: &'static str,
    message: String,
    details: Option<Value>,
}

/// A group with the plural of a resource, or with a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) group: &'a str,
    pub(crate) what: &'a str,
    pub(crate) name: &'a str,
}

impl Named<'_> {
    /// Returns `deployments.apps`.
    fn qualified(self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("{}{dot}{}", self.what, self.group)
    }

    fn details(self) -> Map<String, Value> {
        let parts = [("name", self.name), ("group", self.group), ("kind", self.what)];
        parts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(key, text)| (key.into(), text.into()))
            .collect()
    }
}

/// A reason why an object is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) field: String,
}

impl Cause {
    pub(crate) fn invalid(field: &str, value: &Value, why: &str) -> Self {
        Self::new("FieldValueInvalid", field, format!("Invalid value: {}: {why}", shown(value)))
    }

    pub(crate) fn required(field: &str, why: &str) -> Self {
        let colon = if why.is_empty() { "" } else { ": " };
        Self::new("FieldValueRequired", field, format!("Required value{colon}{why}"))
    }

    pub(crate) fn forbidden(field: &str, why: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {why}"))
    }

    pub(crate) fn new(reason: &'static str, field: &str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), field: field.into() }
    }
}

/// Returns a value in the format of messages.
fn shown(value: &Value) -> String {
    value.to_string()
}

impl Failure {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    fn with(self, details: Map<String, Value>) -> Self {
        Self { details: Some(Value::Object(details)), ..self }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn not_found(named: Named<'_>) -> Self {
        let message = format!("{} {:?} not found", named.qualified(), named.name);
        Self::new(404, "NotFound", message).with(named.details())
    }

    pub(crate) fn already_exists(named: Named<'_>, is_deleted: bool) -> Self {
        let deleted = if is_deleted { "object is being deleted: " } else { "" };
        let message = format!("{deleted}{} {:?} already exists", named.qualified(), named.name);
        Self::new(409, "AlreadyExists", message).with(named.details())
    }

    pub(crate) fn conflict(named: Named<'_>, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {:?}: {why}", named.qualified(), named.name);
        Self::new(409, "Conflict", message).with(named.details())
    }

    pub(crate) fn forbidden(named: Named<'_>, why: &str) -> Self {
        let name = if named.name.is_empty() { String::new() } else { format!(" {:?}", named.name) };
        let message = format!("{}{name} is forbidden: {why}", named.qualified());
        Self::new(403, "Forbidden", message).with(named.details())
    }

    /// Replaces the code and the reason.
    #[cfg(feature = "cel")]
    pub(crate) fn with_reason(self, code: u16, reason: &'static str) -> Self {
        Self { code, reason, ..self }
    }

    /// Adds causes to the details.
    pub(crate) fn causes(mut self, causes: &[Cause]) -> Self {
        let all = causes.iter().map(|cause| {
            let mut fields = Map::new();
            for (key, text) in
                [("reason", cause.reason), ("message", &cause.message), ("field", &cause.field)]
            {
                if !text.is_empty() {
                    fields.insert(key.into(), text.into());
                }
            }
            Value::Object(fields)
        });
        let all: Value = all.collect();
        self.details.get_or_insert_with(|| json!({}))["causes"] = all;
        self
    }

    pub(crate) fn invalid(gvk: &Gvk, name: &str, causes: &[Cause]) -> Self {
        Self::invalid_named(Named { group: &gvk.group, what: &gvk.kind, name }, causes)
    }

    pub(crate) fn invalid_named(named: Named<'_>, causes: &[Cause]) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for cause in causes {
            let colon = if cause.field.is_empty() { "" } else { ": " };
            let text = format!("{}{colon}{}", cause.field, cause.message);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let all = if texts.len() == 1 { texts.remove(0) } else { format!("[{}]", texts.join(", ")) };
        let message = format!("{} {:?} is invalid: {all}", named.qualified(), named.name);
        Self::new(422, "Invalid", message).with(named.details()).causes(causes)
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub(crate) fn gone(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub(crate) fn too_many_requests(message: impl Into<String>, retry_after: u32) -> Self {
        let details = Map::from_iter([("retryAfterSeconds".to_string(), retry_after.into())]);
        Self::new(429, "TooManyRequests", message).with(details)
    }

    /// Creates the failure of a fault that a test injects.
    pub(crate) fn injected(code: u16) -> Self {
        let reason = match code {
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            409 => "Conflict",
            410 => "Expired",
            422 => "Invalid",
            429 => "TooManyRequests",
            500 => "InternalError",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "",
        };
        Self::new(code, reason, "a fault of the test")
    }

    pub(crate) fn not_served() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with(Map::new())
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with(Map::new())
    }

    pub(crate) fn not_implemented(what: &str) -> Self {
        Self::new(501, "NotImplemented", format!("this test server has no {what}"))
    }

    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(crate) fn unroutable_media_type() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").with(Map::new())
    }

    pub(crate) fn too_large(why: &str) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: {why}"))
    }

    pub(crate) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/cbor";
        Self::new(406, "NotAcceptable", message)
    }

    /// Converts an error of a patch, with the server's fixed messages where it has some.
    pub(crate) fn from_patch(error: &Diagnostic) -> Self {
        let status = error.to_status();
        let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
        let message = error.message().to_string();
        match code {
            400 => Self::bad_request(message),
            415 => Self::unsupported_media_type(&[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ]),
            422 => {
                let text = "the server rejected our request due to an error in our request";
                Self::new(422, "Invalid", text).with(Map::new())
            }
            _ => Self::new(500, "", message),
        }
    }

    /// Returns the value of the header `Retry-After`, if the response has one.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.details.as_ref()?["retryAfterSeconds"].as_u64()
    }

    /// Returns the `Status`.
    pub(crate) fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_details_are_those_of_the_server() {
        let web = Named { group: "apps", what: "deployments", name: "web" };
        let status = Failure::not_found(web).to_status();
        assert_eq!(status["message"], r#"deployments.apps "web" not found"#);
        assert_eq!(status["details"], json!({"name": "web", "group": "apps", "kind": "deployments"}));
        let causes = [Cause::required("spec.a", ""), Cause::invalid("spec.b", &json!("x"), "too short")];
        let status =
            Failure::invalid(&Gvk::from_manifest("apps/v1", "Deployment"), "web", &causes).to_status();
        let message = r#"Deployment.apps "web" is invalid: [spec.a: Required value, spec.b: Invalid value: "x": too short]"#;
        assert_eq!(status["message"], message);
        assert_eq!(status["details"]["causes"][1]["reason"], "FieldValueInvalid");
    }
}
