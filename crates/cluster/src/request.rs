//! HTTP requests and responses: retries, redirects, and limits of time and size.
//!
//! Every request here can safely be repeated: it is a read, a server-side apply or a dry run, or it is conditional on
//! the resource version or UID of its object. Other modules determine the content of requests.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::vec::IntoIter;

use futures::StreamExt as _;
use futures::stream::{BufferUnordered, Buffered, Iter, iter};
use http::response::Parts;
use http::{HeaderMap, HeaderName, Method, Version, header};
use http_body::Body as _;
use kube::Client;
use kube::client::Body;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use super::client::{AuthenticatedClient, Cluster};
use super::errors::{
    ApiError, connection_error, invalid_response, is_closed_connection, response_too_large, timeout_error,
};
use super::json;
use super::timeout::RequestTimeout;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Runs futures, at most `parallel` at a time. Yields the results in order.
pub(super) fn in_order<F: Future>(
    work: impl IntoIterator<Item = F>,
    parallel: usize,
) -> Buffered<Iter<IntoIter<F>>> {
    iter(work.into_iter().collect::<Vec<_>>()).buffered(parallel.max(1))
}

/// Runs futures, at most `parallel` at a time. Yields the results as they become ready.
pub(super) fn unordered<F: Future>(
    work: impl IntoIterator<Item = F>,
    parallel: usize,
) -> BufferUnordered<Iter<IntoIter<F>>> {
    iter(work.into_iter().collect::<Vec<_>>()).buffer_unordered(parallel.max(1))
}

/// The maximum size of a response in bytes. The largest real responses, OpenAPI documents with hundreds of custom
/// resources, have some tens of millions of bytes.
pub(super) const MAX_RESPONSE: usize = 256 << 20;

/// The maximum size of a response with one object in bytes. etcd accepts 1.5 MB for an object, and many objects are
/// requested in parallel.
pub(super) const MAX_OBJECT: usize = 16 << 20;

/// Maximum number of retries.
const RETRIES: u32 = 6;

/// Maximum number of retries if the server sends `Retry-After`.
const RETRY_AFTER_RETRIES: u32 = 10;

/// The pause before the first retry. It doubles for each further retry.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Maximum pause that a server may request.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Maximum number of redirects.
const REDIRECTS: u32 = 10;

/// A request.
#[derive(Debug, Clone)]
pub(super) struct ApiRequest {
    pub(super) method: Method,
    /// Path and query.
    pub(super) path: String,
    pub(super) accept: &'static str,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
    /// The maximum size of the response in bytes.
    pub(super) max_bytes: usize,
    /// True if temporary failures are retried.
    pub(super) is_retried: bool,
}

impl ApiRequest {
    /// Returns a GET request for JSON.
    pub(super) fn get(path: impl Into<String>) -> Self {
        let (path, body) = (path.into(), Vec::new());
        let (accept, content_type, max_bytes) = (JSON, JSON, MAX_RESPONSE);
        Self { method: Method::GET, path, accept, content_type, body, max_bytes, is_retried: true }
    }

    /// Returns a GET request for one object.
    pub(super) fn object(path: impl Into<String>) -> Self {
        Self { max_bytes: MAX_OBJECT, ..Self::get(path) }
    }

    /// Returns a GET request for the metadata of one object, since the whole object may be large.
    pub(super) fn metadata(path: impl Into<String>) -> Self {
        Self { accept: METADATA, ..Self::object(path) }
    }

    /// Returns a request that changes one object.
    pub(super) fn change(
        method: Method,
        path: impl Into<String>,
        content_type: &'static str,
        body: &Value,
    ) -> Self {
        Self { method, content_type, body: body.to_string().into_bytes(), ..Self::object(path) }
    }

    /// Returns a request that deletes one object, with the fields of `DeleteOptions`.
    pub(super) fn delete(path: impl Into<String>, mut options: Value) -> Self {
        (options["apiVersion"], options["kind"]) = ("v1".into(), "DeleteOptions".into());
        Self::change(Method::DELETE, path, JSON, &options)
    }
}

pub(super) const JSON: &str = "application/json";
pub(super) const JSON_PATCH: &str = "application/json-patch+json";
pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";

/// The media type for the metadata of an object. Servers that do not support it return the whole object.
pub(super) const METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// The media type for the metadata of the objects in a list.
pub(super) const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// A response, successful or not.
#[derive(Debug)]
pub(super) struct ApiResponse {
    pub(super) status: u16,
    /// The texts of its `Warning` headers.
    pub(super) warnings: Vec<String>,
    pub(super) body: Vec<u8>,
    /// The path of the response: that of the request, or the target of a redirect.
    pub(super) path: String,
}

impl ApiResponse {
    /// Returns an object that is already known, as if it had been requested.
    pub(super) fn ok(path: &str, body: Vec<u8>) -> Self {
        Self { status: 200, warnings: Vec::new(), body, path: path.into() }
    }

    /// Returns the response if it is successful, otherwise the error in it.
    pub(super) fn into_result(self) -> std::result::Result<Self, ApiError> {
        match self.status {
            200..=299 => Ok(self),
            status => Err(ApiError::parse(status, &self.body)),
        }
    }
}

/// Result of one attempt.
enum RequestAttempt {
    Answered {
        response: ApiResponse,
        retry_after: Option<Duration>,
        location: Option<String>,
    },
    /// No response arrived. A retry may help if the server was reachable.
    Lost {
        problem: Diagnostic,
        was_reachable: bool,
    },
    /// A retry cannot help.
    Failed(Diagnostic),
}

impl Cluster {
    /// Sends a request. Retries if the server is busy or a connection breaks, and follows redirects of reads on the
    /// same server.
    ///
    /// # Errors
    /// There is no response, or it did not arrive in time. An HTTP error is a response.
    pub(super) async fn send(&self, request: &ApiRequest) -> Result<ApiResponse> {
        let Some(limit) = self.timeouts.total() else {
            let until = self.timeouts.retry_window().map(|within| Instant::now() + within);
            return self.send_until(request, until).await;
        };
        let until = Instant::now() + limit;
        let response = timeout(limit, self.send_until(request, Some(until))).await;
        response.unwrap_or_else(|_| Err(uncertain(request, timeout_error(&self.endpoint, limit))))
    }

    /// Sends a request until a deadline. Does not start a retry that could not finish in time, since the last response
    /// is more useful than a timeout.
    async fn send_until(&self, request: &ApiRequest, until: Option<Instant>) -> Result<ApiResponse> {
        let (mut request, mut redirects, mut replaced, mut pauses) =
            (request.clone(), 0, false, Pauses::default());
        loop {
            let AuthenticatedClient { client, generation: credentials } = self.authenticated();
            let (pause, outcome) = match self.attempt(&client, &request).await {
                RequestAttempt::Failed(problem) => return Err(problem),
                RequestAttempt::Lost { problem, was_reachable } => {
                    (pauses.after_loss(was_reachable), Err(problem))
                }
                RequestAttempt::Answered { response, retry_after, location } => {
                    let redirect = location.and_then(|location| self.redirected(&request, &location));
                    if let Some(path) = redirect.filter(|_| redirects < REDIRECTS) {
                        redirects += 1;
                        request.path = path;
                        continue;
                    }
                    if response.status == 401 && !replaced && self.refresh_credentials(credentials).await? {
                        replaced = true;
                        continue;
                    }
                    (pauses.after(response.status, retry_after), Ok(response))
                }
            };
            let fits = |pause: &Duration| until.is_none_or(|until| Instant::now() + *pause < until);
            match pause.filter(|pause| request.is_retried && fits(pause) && !self.is_interrupted()) {
                Some(pause) => sleep(pause).await,
                None => return outcome,
            }
        }
    }

    /// Returns the result for a response that did not arrive, or arrived only in part.
    fn lost(&self, request: &ApiRequest, error: &kube::Error) -> RequestAttempt {
        let (problem, is_closed) = (connection_error(&self.endpoint, error), is_closed_connection(error));
        let was_reachable = self.has_answered.load(Ordering::Relaxed) || is_closed;
        let problem = if is_closed { uncertain(request, problem) } else { problem };
        RequestAttempt::Lost { problem, was_reachable }
    }

    /// Returns the result for a truncated response.
    fn truncated(&self, request: &ApiRequest) -> RequestAttempt {
        let problem = invalid_response(&self.endpoint, &request.path, &"the response is truncated");
        RequestAttempt::Lost { problem: uncertain(request, problem), was_reachable: true }
    }

    async fn attempt(&self, client: &Client, request: &ApiRequest) -> RequestAttempt {
        let failed = RequestAttempt::Failed;
        let http_request = match http_request(request) {
            Ok(http_request) => http_request,
            Err(problem) => return failed(problem),
        };
        let late = |limit| failed(uncertain(request, timeout_error(&self.endpoint, limit)));
        let (head, body) = match self.timeouts.idle_limited(client.send(http_request)).await {
            Ok(Ok(response)) => response.into_parts(),
            Ok(Err(error)) => return self.lost(request, &error),
            Err(limit) => return late(limit),
        };
        self.has_answered.store(true, Ordering::Relaxed);
        let body = match collect(body, request.max_bytes, self.timeouts).await {
            Collected::TooMuch => {
                return failed(response_too_large(&self.endpoint, &request.path, request.max_bytes));
            }
            Collected::Broken(error) => return self.lost(request, &error),
            Collected::All(body) if head.status.is_success() && is_truncated(&head, &body) => {
                return self.truncated(request);
            }
            Collected::All(body) => body,
            Collected::Silent(limit) => return late(limit),
        };
        let texts = |name| texts(&head.headers, name);
        let retry_after = texts(header::RETRY_AFTER).find_map(|text| text.trim().parse().ok());
        let warnings = texts(header::WARNING).filter_map(warning_text).collect();
        let location = texts(header::LOCATION).next().map(str::to_string);
        let location = location.filter(|_| matches!(head.status.as_u16(), 301 | 302 | 307 | 308));
        let response =
            ApiResponse { status: head.status.as_u16(), warnings, body, path: request.path.clone() };
        RequestAttempt::Answered { response, retry_after: retry_after.map(Duration::from_secs), location }
    }

    /// Returns the path to which a read is redirected, relative to the path of the server's URL. Only redirects on the
    /// same server are followed, since the credentials must not be sent to another one.
    fn redirected(&self, request: &ApiRequest, location: &str) -> Option<String> {
        let from_root = location.strip_prefix(origin(&self.endpoint.server)).unwrap_or(location);
        let below = &self.endpoint.server[origin(&self.endpoint.server).len()..];
        let path = from_root.strip_prefix(below).filter(|path| path.starts_with('/')).unwrap_or(from_root);
        let is_path = path.starts_with('/') && !path.starts_with("//");
        (request.method == Method::GET && is_path).then(|| path.to_string())
    }

    /// Returns the response to a request.
    ///
    /// # Errors
    /// There is no response, or it is an HTTP error.
    pub(super) async fn get(&self, request: &ApiRequest) -> Result<ApiResponse> {
        self.send(request).await?.into_result().map_err(|api_error| api_error.diagnostic(&self.endpoint))
    }

    /// Returns the response to a request, or `None` if the server does not have the object.
    ///
    /// # Errors
    /// There is no response, or it is another HTTP error.
    pub(super) async fn find(&self, request: &ApiRequest) -> Result<Option<ApiResponse>> {
        match self.send(request).await?.into_result() {
            Ok(response) => Ok(Some(response)),
            Err(api_error) if api_error.is_not_found() => Ok(None),
            Err(api_error) => Err(api_error.diagnostic(&self.endpoint)),
        }
    }

    /// Returns the JSON response to a request.
    ///
    /// # Errors
    /// There is no response, or it is an HTTP error or other JSON than expected.
    pub(super) async fn get_json<T: DeserializeOwned>(&self, request: &ApiRequest) -> Result<T> {
        let response = self.get(request).await?;
        self.parse_response(json::decode, &response)
    }

    /// Returns the JSON response to a request, or `None` if the server does not have the object.
    ///
    /// # Errors
    /// There is no response, or it is another HTTP error or other JSON than expected.
    pub(super) async fn find_json<T: DeserializeOwned>(&self, request: &ApiRequest) -> Result<Option<T>> {
        let response = self.find(request).await?;
        response.map(|response| self.parse_response(json::decode, &response)).transpose()
    }

    /// Parses a response.
    ///
    /// # Errors
    /// The response is invalid.
    pub(super) fn parse_response<T, E: fmt::Display>(
        &self,
        parse: impl FnOnce(&[u8]) -> std::result::Result<T, E>,
        response: &ApiResponse,
    ) -> Result<T> {
        parse(&response.body).map_err(|error| invalid_response(&self.endpoint, &response.path, &error))
    }
}

/// Returns true if a response without a known length is truncated. The end of such a response is the end of the
/// connection, whatever the reason for closing it was.
fn is_truncated(head: &Parts, body: &[u8]) -> bool {
    let has_header = |name| head.headers.contains_key(name);
    let has_length = has_header(header::CONTENT_LENGTH) || has_header(header::TRANSFER_ENCODING);
    let is_unbounded = head.version <= Version::HTTP_11 && !has_length;
    is_unbounded && serde_json::from_slice::<IgnoredAny>(body).is_err_and(|error| error.is_eof())
}

/// Adds a note that a change may have been made although there was no response.
fn uncertain(request: &ApiRequest, problem: Diagnostic) -> Diagnostic {
    match request.method {
        Method::PATCH if !request.path.contains("dryRun=All") => {
            problem.note("the object may have been applied nevertheless")
        }
        Method::DELETE => problem.note("the object may have been deleted nevertheless"),
        _ => problem,
    }
}

/// Returns the scheme and authority of a URL.
fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    &url[..end]
}

/// The pauses between retries.
#[derive(Debug, Default)]
struct Pauses {
    retries: u32,
}

impl Pauses {
    /// Returns the pause after a response, or `None` if the response is final.
    fn after(&mut self, status: u16, retry_after: Option<Duration>) -> Option<Duration> {
        match (status, retry_after) {
            (429 | 500.., Some(pause)) => {
                self.retries += 1;
                (self.retries <= RETRY_AFTER_RETRIES).then(|| pause.min(LONGEST_PAUSE))
            }
            (429 | 502..=504, None) => self.next(),
            _ => None,
        }
    }

    /// Returns the pause after a broken connection. If no connection was ever established, the address is probably
    /// wrong and there is no retry.
    fn after_loss(&mut self, was_reachable: bool) -> Option<Duration> {
        if was_reachable { self.next() } else { None }
    }

    fn next(&mut self) -> Option<Duration> {
        let pause = FIRST_PAUSE * 2_u32.pow(self.retries.min(RETRIES));
        self.retries += 1;
        (self.retries <= RETRIES).then_some(pause)
    }
}

enum Collected {
    All(Vec<u8>),
    TooMuch,
    Broken(kube::Error),
    /// No data arrived for the given time.
    Silent(Duration),
}

/// Reads the body of a response.
async fn collect(mut body: Body, most: usize, patience: RequestTimeout) -> Collected {
    let mut bytes = Vec::new();
    loop {
        let frame = patience.idle_limited(poll_fn(|context| Pin::new(&mut body).poll_frame(context))).await;
        let frame = match frame {
            Ok(None) => return Collected::All(bytes),
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) => return Collected::Broken(error),
            Err(limit) => return Collected::Silent(limit),
        };
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Collected::TooMuch;
        }
        bytes.extend_from_slice(&data);
    }
}

fn texts(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
}

/// Parses a `Warning` header, `299 - "text"`. Quotes and backslashes in the text are escaped.
fn warning_text(header: &str) -> Option<String> {
    let quoted = header.split_once('"')?.1;
    let mut text = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Some(text),
            '\\' => text.extend(chars.next()),
            c => text.push(c),
        }
    }
    None
}

/// Creates the HTTP request. Fails if the path is invalid.
fn http_request(request: &ApiRequest) -> Result<http::Request<Body>> {
    let mut builder = http::Request::builder()
        .method(request.method.clone())
        .uri(&request.path)
        .header(header::ACCEPT, request.accept);
    if !request.body.is_empty() {
        builder = builder.header(header::CONTENT_TYPE, request.content_type);
    }
    builder.body(Body::from(request.body.clone())).map_err(|error| {
        let message = format!("invalid request path `{}`: {error}", request.path);
        Diagnostic::error(Code::InvalidValue, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warning_headers_are_parsed() {
        assert_eq!(warning_text(r#"299 - "a \"b\" \\ c" "date""#).as_deref(), Some(r#"a "b" \ c"#));
        assert_eq!(warning_text("299 - none"), None);
        assert_eq!(warning_text("299 - \"open"), None);
    }

    #[test]
    fn retry_pauses_grow_and_end() {
        let mut pauses = Pauses::default();
        let busy = std::iter::from_fn(|| pauses.after(503, None)).map(|pause| pause.as_millis());
        assert_eq!(busy.collect::<Vec<_>>(), [100, 200, 400, 800, 1600, 3200]);
        let mut pauses = Pauses::default();
        assert_eq!(pauses.after(429, Some(Duration::from_secs(3600))), Some(LONGEST_PAUSE));
        let retries = std::iter::from_fn(|| pauses.after(500, Some(Duration::ZERO))).count();
        assert_eq!(retries, 9);
        let finals = [200, 400, 404, 409, 500, 501];
        assert!(finals.iter().all(|status| Pauses::default().after(*status, None).is_none()));
        assert!(Pauses::default().after_loss(false).is_none());
        assert!(Pauses::default().after_loss(true).is_some());
    }

    #[test]
    fn origins_of_urls() {
        assert_eq!(origin("https://a.example:6443"), "https://a.example:6443");
        assert_eq!(origin("https://a.example/k8s/clusters/c"), "https://a.example");
    }
}
