//! What a server or the way to it says when it does not work, as diagnostics.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use kube::client::AuthError;
use serde::Deserialize;

use super::json::or_default;
use smp_text::diagnostic::{Code, Diagnostic, without_quoted};

/// The server that is asked, as messages name it.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    /// The URL.
    pub(super) server: String,
    /// The context that names it, if one does.
    pub(super) context: Option<String>,
    /// Host and port of the proxy that leads to it, if one does.
    pub(super) proxy: Option<String>,
}

impl fmt::Display for Endpoint {
    /// `https://10.0.0.1:6443 (context prod)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.server)?;
        match &self.context {
            Some(context) => write!(f, " (context {context})"),
            None => Ok(()),
        }
    }
}

/// How deep errors may be nested: a cycle must not hang a message.
const LONGEST_CHAIN: usize = 16;

fn sources<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source()).take(LONGEST_CHAIN)
}

/// An error and its causes in one line; causes that the error's own text names already are left out.
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

/// No answer came: the server is down, is another one, or no credentials could be had.
pub(super) fn no_answer(endpoint: &Endpoint, error: &kube::Error) -> Diagnostic {
    if let Some(error) = sources(error).find_map(|e| e.downcast_ref::<AuthError>()) {
        return no_credentials(endpoint, error);
    }
    // The layers above the last one say no more than that a client had an error.
    let cause = sources(error).last().map_or_else(String::new, ToString::to_string);
    let help = if cause.contains("certificate") {
        "check the certificate authority of the kubeconfig, --certificate-authority and --tls-server-name"
    } else {
        "check that the cluster runs, and that --kubeconfig, --context or --server name the right one"
    };
    let message = format!("the cluster at {endpoint} cannot be reached: {cause}");
    let error = Diagnostic::error(Code::Remote, message).help(help);
    match &endpoint.proxy {
        Some(proxy) => error.note(format!("it was asked through the proxy {proxy}")),
        None => error,
    }
}

/// Whether a connection that stood was closed before there was an answer, as servers do that end, and what is in
/// front of them.
pub(super) fn broke_off(error: &kube::Error) -> bool {
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
        // Its standard output may hold a token, its environment long certificates.
        AuthError::AuthExecRun { out, .. } => {
            let said = String::from_utf8_lossy(&out.stderr);
            let behind = if said.trim().is_empty() { "" } else { ": " };
            format!("the command for them failed with {}{behind}{}", out.status, said.trim())
        }
        AuthError::AuthExecStart(error) => format!("the command for them cannot be run: {error}"),
        other => chain(other),
    };
    let message = format!("the credentials for the cluster at {endpoint} cannot be had: {cause}");
    Diagnostic::error(Code::Remote, message)
        .help("check the user in the kubeconfig, or give --user or --token")
}

/// The answer took longer than `--request-timeout`.
pub(super) fn too_late(endpoint: &Endpoint, limit: Duration) -> Diagnostic {
    let message = format!("the cluster at {endpoint} did not answer within {limit:?}");
    Diagnostic::error(Code::Remote, message).help("check the network, or allow more with --request-timeout")
}

/// The answer has more bytes than any real one.
pub(super) fn too_long(endpoint: &Endpoint, what: &str, limit: usize) -> Diagnostic {
    let message = format!("the answer of {endpoint} to {what} has more than {limit} bytes");
    Diagnostic::error(Code::LimitExceeded, message).help("check that --server names a Kubernetes API server")
}

/// The answer is not what it should be.
pub(super) fn not_understood(endpoint: &Endpoint, what: &str, error: &dyn fmt::Display) -> Diagnostic {
    // A parser names the value that it stumbles over.
    let error = without_quoted(&error.to_string());
    let message = format!("the answer of {endpoint} to {what} is not understood: {error}");
    Diagnostic::error(Code::Remote, message).help("check that --server names a Kubernetes API server")
}

/// Why a server did not do what it was asked: its `Status`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Refusal {
    /// The HTTP status.
    #[serde(skip)]
    pub(super) http: u16,
    /// Such as `NotFound`; may be empty.
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) details: Option<Box<Details>>,
}

/// What a refusal is about.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Details {
    pub(super) name: String,
    /// For most refusals the resource's plural, such as `namespaces`.
    pub(super) kind: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) causes: Vec<FailureCause>,
}

/// One of several reasons.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct FailureCause {
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) field: String,
}

impl FailureCause {
    /// Whether it says that a field cannot be changed once it is set. Servers have no reason of its own for that;
    /// these are the words of their validations, of CRDs' rules too.
    fn is_immutable(&self) -> bool {
        const WORDS: [&str; 6] = [
            "immutable",
            "may not change",
            "may not be changed",
            "cannot change",
            "cannot be changed",
            "are forbidden",
        ];
        // What stands before the last colon may be the value, in which anything may stand. What is forbidden has none
        // before it; some validations show a difference behind their words.
        let message = match self.message.strip_prefix("Forbidden: ") {
            Some(words) => words.lines().next(),
            None => self.message.rsplit(": ").next(),
        };
        let message = message.unwrap_or_default().to_lowercase();
        let is_update = message.contains("updates to") || !message.contains("are forbidden");
        is_update && WORDS.iter().any(|words| message.contains(words))
    }
}

/// The most of an answer that is no `Status` that a message shows.
const LONGEST_EXCERPT: usize = 200;

impl Refusal {
    /// From an answer whose status is no success.
    pub(super) fn read(http: u16, body: &[u8]) -> Self {
        let status = serde_json::from_slice(body).ok().filter(|status: &Self| !status.message.is_empty());
        let text = || String::from_utf8_lossy(body).trim().chars().take(LONGEST_EXCERPT).collect();
        Self { http, ..status.unwrap_or_else(|| Self { message: text(), ..Self::default() }) }
    }

    /// Whether the server does not have it: the object, its namespace, or its kind.
    ///
    /// Anything may answer 404 that stands in front of a server; that says nothing of what the server has.
    pub(super) fn is_not_found(&self) -> bool {
        self.http == 404 && self.reason == "NotFound"
    }

    /// Whether the namespace is what is missing.
    pub(super) fn lacks_namespace(&self, namespace: &str) -> bool {
        let about = |d: &Details| d.kind == "namespaces" && d.name == namespace;
        self.is_not_found() && self.details.as_deref().is_some_and(about)
    }

    /// Whether the server has no such resource at all, in which case it names no object.
    pub(super) fn lacks_kind(&self) -> bool {
        self.http == 404 && self.details.as_ref().is_none_or(|details| details.name.is_empty())
    }

    /// The fields that the server refuses to change.
    pub(super) fn immutable_fields(&self) -> Vec<&str> {
        self.causes().filter(|cause| cause.is_immutable()).map(|cause| cause.field.as_str()).collect()
    }

    /// Whether nothing else is wrong than that fields would change which never do.
    pub(super) fn is_immutable_alone(&self) -> bool {
        self.http == 422 && self.causes().next().is_some() && self.causes().all(FailureCause::is_immutable)
    }

    fn causes(&self) -> impl Iterator<Item = &FailureCause> {
        self.details.iter().flat_map(|details| &details.causes)
    }

    /// As an error, without the object.
    pub(super) fn diagnostic(&self, endpoint: &Endpoint) -> Diagnostic {
        if self.http == 401 {
            let message =
                format!("the cluster at {endpoint} does not accept the credentials (401 Unauthorized)");
            return Diagnostic::error(Code::Remote, message)
                .help("log in again, or choose other credentials with --context, --user or --token");
        }
        let reason = match (self.reason.as_str(), self.http) {
            ("", http) => format!("HTTP {http}"),
            (reason, _) => reason.to_string(),
        };
        // Below the first line some validations show a difference, in Go's words.
        let message = match self.message.lines().next() {
            None => format!("the server refused without a reason ({reason})"),
            Some(message) => format!("{message} ({reason})"),
        };
        let error = Diagnostic::error(Code::Remote, message).note(format!("said by {endpoint}"));
        let is_cut = self.message.lines().count() > 1 && self.causes().count() > 1;
        let causes = self.causes().filter(|_| is_cut);
        let words = |cause: &FailureCause| cause.message.lines().next().unwrap_or_default().to_string();
        let error =
            causes.fold(error, |error, cause| error.note(format!("{}: {}", cause.field, words(cause))));
        match self.http {
            403 => {
                error.help("choose other credentials with --context, --user or --as, or ask for the right")
            }
            _ => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint { server: "https://k8s.example:6443".into(), context: Some("prod".into()), proxy: None }
    }

    #[test]
    fn a_status_is_read() {
        let body = br#"{"kind":"Status","status":"Failure","message":"namespaces \"a\" not found",
            "reason":"NotFound","details":{"name":"a","kind":"namespaces"},"code":404}"#;
        let refusal = Refusal::read(404, body);
        assert!(refusal.lacks_namespace("a") && !refusal.lacks_namespace("b"));
        assert_eq!(refusal.diagnostic(&endpoint()).message(), r#"namespaces "a" not found (NotFound)"#);
    }

    #[test]
    fn fields_that_never_change_are_known_by_the_servers_words() {
        let refusal = |field: &str, message: &str| {
            let causes =
                serde_json::json!([{"reason": "FieldValueForbidden", "field": field, "message": message}]);
            let text = format!("Pod \"a\" is invalid: {field}: {message}");
            let status =
                serde_json::json!({"message": text, "reason": "Invalid", "details": {"causes": causes}});
            Refusal::read(422, status.to_string().as_bytes())
        };
        let difference = "\n@@ -10,7 +10,7 @@\n  core.Spec{\n-  Name: \"a: b\",\n}\n";
        let table = [
            ("spec", "pod updates may not change fields other than `spec.containers[*].image`"),
            ("spec", "spec is immutable after creation except resources.requests for bound claims"),
            ("spec", "updates to statefulset spec for fields other than 'replicas' are forbidden"),
        ];
        for (field, words) in table {
            let refusal = refusal(field, &format!("Forbidden: {words}{difference}"));
            assert!(refusal.is_immutable_alone(), "{words}");
            assert_eq!(refusal.immutable_fields(), [field]);
            let error = refusal.diagnostic(&endpoint());
            assert_eq!(
                error.message(),
                format!("Pod \"a\" is invalid: {field}: Forbidden: {words} (Invalid)")
            );
        }
        let value = refusal("spec.x", "Invalid value: \"Forbidden: it is immutable: a\": must be a number");
        assert!(!value.is_immutable_alone());
    }

    #[test]
    fn a_page_that_is_not_found_is_no_answer_of_the_server() {
        assert!(!Refusal::read(404, b"<html>404</html>").is_not_found());
        assert!(Refusal::read(404, br#"{"message":"no","reason":"NotFound"}"#).is_not_found());
    }

    #[test]
    fn answers_that_are_no_status_are_shown_in_part() {
        let refusal = Refusal::read(502, "x".repeat(5000).as_bytes());
        assert_eq!(refusal.message.len(), LONGEST_EXCERPT);
        assert!(Refusal::read(500, b"").diagnostic(&endpoint()).message().contains("HTTP 500"));
        let error = Refusal::read(401, b"{}").diagnostic(&endpoint());
        assert!(error.message().contains("https://k8s.example:6443 (context prod)"), "{error}");
    }
}
