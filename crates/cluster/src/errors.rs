//! The errors of the API server and of the connection, as diagnostics.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use kube::client::AuthError;
use serde::Deserialize;

use super::json::or_default;
use smp_text::diagnostic::{Code, Diagnostic, mask_quoted};

/// The API server, as shown in messages.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    /// The URL.
    pub(super) server: String,
    /// The context that selected the server, if any.
    pub(super) context: Option<String>,
    /// The host and port of the proxy, if any.
    pub(super) proxy: Option<String>,
}

impl fmt::Display for Endpoint {
    /// Formats the server as `https://10.0.0.1:6443 (context prod)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.server)?;
        match &self.context {
            Some(context) => write!(f, " (context {context})"),
            None => Ok(()),
        }
    }
}

/// Maximum nesting of errors, in case of a cycle.
const MAX_CHAIN: usize = 16;

fn sources<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source()).take(MAX_CHAIN)
}

/// Formats an error and its causes on one line, without causes that the error's own text contains.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    sources(error).fold(String::new(), |text, error| {
        let next = error.to_string();
        match () {
            () if text.is_empty() => next,
            () if next.is_empty() || text.contains(&next) => text,
            () => format!("{text}: {next}"),
        }
    })
}

/// Returns the error for a request without a response: the server is down, the address is wrong, or there are no
/// credentials.
pub(super) fn connection_error(endpoint: &Endpoint, error: &kube::Error) -> Diagnostic {
    if let Some(error) = sources(error).find_map(|e| e.downcast_ref::<AuthError>()) {
        return no_credentials(endpoint, error);
    }
    // The outer errors only report that the client failed.
    let cause = sources(error).last().map_or_else(String::new, ToString::to_string);
    let help = if cause.contains("certificate") {
        "check the certificate authority in the kubeconfig, --certificate-authority and --tls-server-name"
    } else {
        "check that the cluster is running, and check --kubeconfig, --context or --server"
    };
    let message = format!("the cluster at {endpoint} cannot be reached: {cause}");
    let error = Diagnostic::error(Code::Remote, message).help(help);
    match &endpoint.proxy {
        Some(proxy) => error.note(format!("the request was sent through the proxy {proxy}")),
        None => error,
    }
}

/// Returns true if an established connection was closed before the response, as when a server or load balancer shuts
/// down.
pub(super) fn is_closed_connection(error: &kube::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};

    let is_closed = |error: &(dyn Error + 'static)| {
        let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        matches!(kind, Some(BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof))
            || error.to_string() == "connection closed before message completed"
    };
    sources(error).any(is_closed)
}

fn no_credentials(endpoint: &Endpoint, error: &AuthError) -> Diagnostic {
    let cause = match error {
        // The standard output may contain a token, and the environment may contain long certificates.
        AuthError::AuthExecRun { out, .. } => {
            let stderr = String::from_utf8_lossy(&out.stderr);
            let separator = if stderr.trim().is_empty() { "" } else { ": " };
            format!("the credential plugin failed with {}{separator}{}", out.status, stderr.trim())
        }
        AuthError::AuthExecStart(error) => format!("cannot run the credential plugin: {error}"),
        other => chain(other),
    };
    let message = format!("cannot get credentials for the cluster at {endpoint}: {cause}");
    Diagnostic::error(Code::Remote, message)
        .help("check the user in the kubeconfig, or use --user or --token")
}

/// Returns the error for a response that took longer than `--request-timeout`.
pub(super) fn timeout_error(endpoint: &Endpoint, limit: Duration) -> Diagnostic {
    let message = format!("the cluster at {endpoint} did not respond within {limit:?}");
    Diagnostic::error(Code::Remote, message).help("check the network, or increase --request-timeout")
}

/// Returns the error for a response that is larger than the limit.
pub(super) fn response_too_large(endpoint: &Endpoint, what: &str, limit: usize) -> Diagnostic {
    let message = format!("the response of {endpoint} to {what} exceeds the limit of {limit} bytes");
    Diagnostic::error(Code::LimitExceeded, message)
        .help("check that --server is the URL of a Kubernetes API server")
}

/// Returns the error for an invalid response.
pub(super) fn invalid_response(endpoint: &Endpoint, what: &str, error: &dyn fmt::Display) -> Diagnostic {
    // Errors of parsers may quote secret values.
    let error = mask_quoted(&error.to_string());
    let message = format!("invalid response of {endpoint} to {what}: {error}");
    Diagnostic::error(Code::Remote, message).help("check that --server is the URL of a Kubernetes API server")
}

/// An error response of the server: its `Status`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ApiError {
    /// The HTTP status.
    #[serde(skip)]
    pub(super) http: u16,
    /// The reason, such as `NotFound`. May be empty.
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) details: Option<Box<ErrorDetails>>,
}

/// Details of an error response.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorDetails {
    pub(super) name: String,
    /// The resource, such as `namespaces`, in most responses.
    pub(super) kind: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) causes: Vec<ErrorCause>,
}

/// One cause of an error response.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorCause {
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) field: String,
}

impl ErrorCause {
    /// Returns true if the cause is a change of an immutable field. Servers have no reason code for that, so this
    /// function compares the phrases of their validations and of CRD validation rules.
    fn is_immutable(&self) -> bool {
        const WORDS: [&str; 6] = [
            "immutable",
            "may not change",
            "may not be changed",
            "cannot change",
            "cannot be changed",
            "are forbidden",
        ];
        // The text before the last colon may contain the value, so it is skipped. "Forbidden" messages contain no
        // value, but may end with a diff on additional lines.
        let message = match self.message.strip_prefix("Forbidden: ") {
            Some(words) => words.lines().next(),
            None => self.message.rsplit(": ").next(),
        };
        let message = message.unwrap_or_default().to_lowercase();
        let is_update = message.contains("updates to") || !message.contains("are forbidden");
        is_update && WORDS.iter().any(|words| message.contains(words))
    }
}

/// The maximum number of characters that are shown of a response that is not a `Status`.
const MAX_EXCERPT: usize = 200;

impl ApiError {
    /// Parses an error response.
    pub(super) fn parse(http: u16, body: &[u8]) -> Self {
        let status = serde_json::from_slice(body).ok().filter(|status: &Self| !status.message.is_empty());
        let text = || String::from_utf8_lossy(body).trim().chars().take(MAX_EXCERPT).collect();
        Self { http, ..status.unwrap_or_else(|| Self { message: text(), ..Self::default() }) }
    }

    /// Returns true if the server may have rejected an object because its schema of the kind is outdated. Servers
    /// return status 500 for a field that is not in their schema.
    pub(super) fn may_lack_schema(&self) -> bool {
        matches!(self.http, 400 | 422 | 500)
    }

    /// Returns true if the server does not have the object, its namespace, or its kind.
    ///
    /// A 404 without the reason `NotFound` may come from a proxy, so the object may exist nevertheless.
    pub(super) fn is_not_found(&self) -> bool {
        self.http == 404 && self.reason == "NotFound"
    }

    /// Returns true if the namespace is missing.
    pub(super) fn lacks_namespace(&self, namespace: &str) -> bool {
        let about = |d: &ErrorDetails| d.kind == "namespaces" && d.name == namespace;
        self.is_not_found() && self.details.as_deref().is_some_and(about)
    }

    /// Returns true if the server has no such resource. In this case the response contains no object name.
    pub(super) fn lacks_kind(&self) -> bool {
        self.http == 404 && self.details.as_ref().is_none_or(|details| details.name.is_empty())
    }

    /// Returns the immutable fields that would change.
    pub(super) fn immutable_fields(&self) -> Vec<&str> {
        self.causes().filter(|cause| cause.is_immutable()).map(|cause| cause.field.as_str()).collect()
    }

    /// Returns true if changes of immutable fields are the only cause.
    pub(super) fn is_only_immutable_fields(&self) -> bool {
        self.http == 422 && self.causes().next().is_some() && self.causes().all(ErrorCause::is_immutable)
    }

    fn causes(&self) -> impl Iterator<Item = &ErrorCause> {
        self.details.iter().flat_map(|details| &details.causes)
    }

    /// Converts the response to an error, without the object.
    pub(super) fn diagnostic(&self, endpoint: &Endpoint) -> Diagnostic {
        if self.http == 401 {
            let message = format!("the cluster at {endpoint} rejected the credentials (401 Unauthorized)");
            return Diagnostic::error(Code::Remote, message)
                .help("log in again, or use other credentials with --context, --user or --token");
        }
        let reason = match (self.reason.as_str(), self.http) {
            ("", http) => format!("HTTP {http}"),
            (reason, _) => reason.to_string(),
        };
        // After the first line, some validations print a diff in Go syntax.
        let message = match self.message.lines().next() {
            None => format!("the server rejected the request without a message ({reason})"),
            Some(message) => format!("{message} ({reason})"),
        };
        let error = Diagnostic::error(Code::Remote, message).note(format!("reported by {endpoint}"));
        let is_cut = self.message.lines().count() > 1 && self.causes().count() > 1;
        let causes = self.causes().filter(|_| is_cut);
        let words = |cause: &ErrorCause| cause.message.lines().next().unwrap_or_default().to_string();
        let error =
            causes.fold(error, |error, cause| error.note(format!("{}: {}", cause.field, words(cause))));
        match forbidden_help(&self.message).filter(|_| self.http == 403) {
            Some(help) => error.help(help),
            None => error,
        }
    }
}

/// The help for a request that a server or its admission forbids, by the phrases of Kubernetes 1.36. Most of these
/// phrases are not about permissions.
const FORBIDDEN: [(&str, &str); 7] = [
    ("exceeded quota:", "request less, delete objects that are not needed, or raise the ResourceQuota"),
    ("failed quota:", "set the requests and limits that the ResourceQuota requires"),
    (
        "status unknown for quota:",
        "try again once the controller has computed the usage of the ResourceQuota",
    ),
    ("because it is being terminated", "wait until the namespace is gone, then create it and apply again"),
    (
        "pvc can be resized",
        "keep the requested storage: the StorageClass of the claim does not allow expansion",
    ),
    (
        "violates PodSecurity",
        "change the security contexts of the Pod, or the Pod Security labels of the namespace",
    ),
    (" cannot ", "use other credentials with --context, --user or --as, or request the permission"),
];

fn forbidden_help(message: &str) -> Option<&'static str> {
    FORBIDDEN.iter().find(|(phrase, _)| message.contains(phrase)).map(|(_, help)| *help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint { server: "https://k8s.example:6443".into(), context: Some("prod".into()), proxy: None }
    }

    #[test]
    fn status_is_parsed() {
        let body = br#"{"kind":"Status","status":"Failure","message":"namespaces \"a\" not found",
            "reason":"NotFound","details":{"name":"a","kind":"namespaces"},"code":404}"#;
        let api_error = ApiError::parse(404, body);
        assert!(api_error.lacks_namespace("a") && !api_error.lacks_namespace("b"));
        assert_eq!(api_error.diagnostic(&endpoint()).message(), r#"namespaces "a" not found (NotFound)"#);
    }

    #[test]
    fn only_missing_permissions_are_explained_by_permissions() {
        let table = [
            (
                r#"pods is forbidden: User "x" cannot list resource "pods" in API group "" (RBAC)"#,
                Some("credentials"),
            ),
            (
                r#"pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"#,
                Some("raise"),
            ),
            (r#"pods "a" is forbidden: failed quota: q: must specify limits.cpu for: web"#, Some("limits")),
            (
                r#"configmaps "a" is forbidden: status unknown for quota: q, resources: configmaps"#,
                Some("usage"),
            ),
            (
                r#"configmaps "a" is forbidden: unable to create new content in namespace x because it is being terminated"#,
                Some("until the namespace is gone"),
            ),
            (
                r#"persistentvolumeclaims "a" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"#,
                Some("expansion"),
            ),
            (
                r#"pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true"#,
                Some("Pod Security"),
            ),
            (r#"admission webhook "a.example.com" denied the request: no"#, None),
        ];
        for (message, part) in table {
            let status = serde_json::json!({"message": message, "reason": "Forbidden"}).to_string();
            let problem = ApiError::parse(403, status.as_bytes()).diagnostic(&endpoint());
            let help = problem.help_text();
            assert_eq!(help.is_some(), part.is_some(), "{message}");
            assert!(
                help.is_none_or(|help| part.is_some_and(|part| help.contains(part))),
                "{message}: {help:?}"
            );
        }
    }

    #[test]
    fn immutable_fields_are_recognized_by_the_servers_phrases() {
        let api_error = |field: &str, message: &str| {
            let causes =
                serde_json::json!([{"reason": "FieldValueForbidden", "field": field, "message": message}]);
            let text = format!("Pod \"a\" is invalid: {field}: {message}");
            let status =
                serde_json::json!({"message": text, "reason": "Invalid", "details": {"causes": causes}});
            ApiError::parse(422, status.to_string().as_bytes())
        };
        let difference = "\n@@ -10,7 +10,7 @@\n  core.Spec{\n-  Name: \"a: b\",\n}\n";
        let table = [
            ("spec", "pod updates may not change fields other than `spec.containers[*].image`"),
            ("spec", "spec is immutable after creation except resources.requests for bound claims"),
            ("spec", "updates to statefulset spec for fields other than 'replicas' are forbidden"),
        ];
        for (field, words) in table {
            let api_error = api_error(field, &format!("Forbidden: {words}{difference}"));
            assert!(api_error.is_only_immutable_fields(), "{words}");
            assert_eq!(api_error.immutable_fields(), [field]);
            let error = api_error.diagnostic(&endpoint());
            assert_eq!(
                error.message(),
                format!("Pod \"a\" is invalid: {field}: Forbidden: {words} (Invalid)")
            );
        }
        let value = api_error("spec.x", "Invalid value: \"Forbidden: it is immutable: a\": must be a number");
        assert!(!value.is_only_immutable_fields());
    }

    #[test]
    fn not_found_page_of_a_proxy_is_not_a_missing_object() {
        assert!(!ApiError::parse(404, b"<html>404</html>").is_not_found());
        assert!(ApiError::parse(404, br#"{"message":"no","reason":"NotFound"}"#).is_not_found());
    }

    #[test]
    fn responses_other_than_a_status_are_truncated() {
        let api_error = ApiError::parse(502, "x".repeat(5000).as_bytes());
        assert_eq!(api_error.message.len(), MAX_EXCERPT);
        assert!(ApiError::parse(500, b"").diagnostic(&endpoint()).message().contains("HTTP 500"));
        let error = ApiError::parse(401, b"{}").diagnostic(&endpoint());
        assert!(error.message().contains("https://k8s.example:6443 (context prod)"), "{error}");
    }
}
