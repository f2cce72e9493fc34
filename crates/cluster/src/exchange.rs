//! Requests and their answers: sent again while that may help, redirected, bounded in time and bytes.
//!
//! Every request of this room may be sent twice without harm: it reads, it applies server-side, it is a dry run, it
//! names the version that it changes, or the identity of what it deletes. Knows nothing of what is asked; the other
//! modules do.

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

use super::client::{Cluster, LoggedIn};
use super::failure::{Refusal, broke_off, no_answer, not_understood, too_late, too_long};
use super::json;
use super::patience::Patience;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Runs futures, at most `parallel` at a time. The results come in order.
pub(super) fn in_order<F: Future>(
    work: impl IntoIterator<Item = F>,
    parallel: usize,
) -> Buffered<Iter<IntoIter<F>>> {
    iter(work.into_iter().collect::<Vec<_>>()).buffered(parallel.max(1))
}

/// Runs futures, at most `parallel` at a time. The results come as they are ready.
pub(super) fn unordered<F: Future>(
    work: impl IntoIterator<Item = F>,
    parallel: usize,
) -> BufferUnordered<Iter<IntoIter<F>>> {
    iter(work.into_iter().collect::<Vec<_>>()).buffer_unordered(parallel.max(1))
}

/// How many bytes an answer may have. The largest of real servers, the OpenAPI documents of hundreds of custom
/// resources in one, have some tens of millions.
pub(super) const MAX_ANSWER: usize = 256 << 20;

/// How many bytes an answer with one object may have: etcd takes 1.5 MB of it, and many are asked for at a time.
pub(super) const MAX_OBJECT: usize = 16 << 20;

/// How often a request is sent again.
const RETRIES: u32 = 6;

/// How often a server that says when to come back is believed.
const TOLD_RETRIES: u32 = 10;

/// The pause before a request is sent again for the first time; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest that the server may have us wait before that.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often a request may be sent elsewhere.
const REDIRECTS: u32 = 10;

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) method: Method,
    /// Path and query.
    pub(super) path: String,
    pub(super) accept: &'static str,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
    /// How many bytes the answer may have.
    pub(super) most: usize,
}

impl Ask {
    /// Asks for JSON.
    pub(super) fn get(path: impl Into<String>) -> Self {
        let (path, body) = (path.into(), Vec::new());
        Self { method: Method::GET, path, accept: JSON, content_type: JSON, body, most: MAX_ANSWER }
    }

    /// Asks for one object.
    pub(super) fn object(path: impl Into<String>) -> Self {
        Self { most: MAX_OBJECT, ..Self::get(path) }
    }

    /// Requests the metadata of one object, which may be large otherwise.
    pub(super) fn metadata(path: impl Into<String>) -> Self {
        Self { accept: METADATA, ..Self::object(path) }
    }

    /// Requests a change of one object.
    pub(super) fn change(
        method: Method,
        path: impl Into<String>,
        content_type: &'static str,
        body: &Value,
    ) -> Self {
        Self { method, content_type, body: body.to_string().into_bytes(), ..Self::object(path) }
    }

    /// Requests the deletion of one object, with the fields of `DeleteOptions`.
    pub(super) fn delete(path: impl Into<String>, mut options: Value) -> Self {
        (options["apiVersion"], options["kind"]) = ("v1".into(), "DeleteOptions".into());
        Self::change(Method::DELETE, path, JSON, &options)
    }
}

pub(super) const JSON: &str = "application/json";
pub(super) const JSON_PATCH: &str = "application/json-patch+json";
pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";

/// The metadata of an object, if the server can leave out the rest.
pub(super) const METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// The same for each object of a list.
pub(super) const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// One answer, good or bad.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The texts of its `Warning` headers.
    pub(super) warnings: Vec<String>,
    pub(super) body: Vec<u8>,
    /// What was answered to: the path of the request, or where a redirect led.
    pub(super) path: String,
}

impl Answer {
    /// The answer if it is a good one, else why not.
    pub(super) fn accepted(self) -> std::result::Result<Self, Refusal> {
        match self.status {
            200..=299 => Ok(self),
            status => Err(Refusal::read(status, &self.body)),
        }
    }
}

/// What became of one attempt.
enum RequestAttempt {
    Answered {
        answer: Answer,
        retry_after: Option<Duration>,
        location: Option<String>,
    },
    /// No answer came; another attempt may bring one, where somebody was there.
    Lost {
        problem: Diagnostic,
        was_there: bool,
    },
    /// No attempt will bring one.
    Failed(Diagnostic),
}

impl Cluster {
    /// Sends a request: again while the server is busy or a connection breaks, elsewhere where a
    /// read is redirected on the same server.
    ///
    /// # Errors
    /// No answer came, or not in time. A refusal is an answer.
    pub(super) async fn ask(&self, ask: &Ask) -> Result<Answer> {
        let Some(limit) = self.patience.total() else {
            let until = self.patience.again_within().map(|within| Instant::now() + within);
            return self.ask_until(ask, until).await;
        };
        let until = Instant::now() + limit;
        let answer = timeout(limit, self.ask_until(ask, Some(until))).await;
        answer.unwrap_or_else(|_| Err(uncertain(ask, too_late(&self.endpoint, limit))))
    }

    /// No attempt begins that could not end in time: the last answer says more than that it came late.
    async fn ask_until(&self, ask: &Ask, until: Option<Instant>) -> Result<Answer> {
        let (mut ask, mut redirects, mut replaced, mut pauses) = (ask.clone(), 0, false, Pauses::default());
        loop {
            let LoggedIn { client, times: credentials } = self.logged_in();
            let (pause, outcome) = match self.attempt(&client, &ask).await {
                RequestAttempt::Failed(problem) => return Err(problem),
                RequestAttempt::Lost { problem, was_there } => (pauses.after_loss(was_there), Err(problem)),
                RequestAttempt::Answered { answer, retry_after, location } => {
                    let elsewhere = location.and_then(|location| self.redirected(&ask, &location));
                    if let Some(path) = elsewhere.filter(|_| redirects < REDIRECTS) {
                        redirects += 1;
                        ask.path = path;
                        continue;
                    }
                    if answer.status == 401 && !replaced && self.log_in_again(credentials).await? {
                        replaced = true;
                        continue;
                    }
                    (pauses.after(answer.status, retry_after), Ok(answer))
                }
            };
            let fits = |pause: &Duration| until.is_none_or(|until| Instant::now() + *pause < until);
            match pause.filter(|pause| fits(pause) && !self.is_stopped()) {
                Some(pause) => sleep(pause).await,
                None => return outcome,
            }
        }
    }

    /// An answer that did not come, or not to its end.
    fn lost(&self, ask: &Ask, error: &kube::Error) -> RequestAttempt {
        let (problem, is_broken) = (no_answer(&self.endpoint, error), broke_off(error));
        let was_there = self.has_answered.load(Ordering::Relaxed) || is_broken;
        let problem = if is_broken { uncertain(ask, problem) } else { problem };
        RequestAttempt::Lost { problem, was_there }
    }

    /// An answer of which the beginning came.
    fn cut(&self, ask: &Ask) -> RequestAttempt {
        let problem = not_understood(&self.endpoint, &ask.path, &"it ends in the middle");
        RequestAttempt::Lost { problem: uncertain(ask, problem), was_there: true }
    }

    async fn attempt(&self, client: &Client, ask: &Ask) -> RequestAttempt {
        let mut request = http::Request::builder()
            .method(ask.method.clone())
            .uri(&ask.path)
            .header(header::ACCEPT, ask.accept);
        if !ask.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, ask.content_type);
        }
        let request = match request.body(Body::from(ask.body.clone())) {
            Ok(request) => request,
            Err(error) => {
                let message = format!("`{}` cannot be asked for: {error}", ask.path);
                return RequestAttempt::Failed(Diagnostic::error(Code::InvalidValue, message));
            }
        };
        let failed = RequestAttempt::Failed;
        let late = |limit| failed(uncertain(ask, too_late(&self.endpoint, limit)));
        let (head, body) = match self.patience.hear(client.send(request)).await {
            Ok(Ok(response)) => response.into_parts(),
            Ok(Err(error)) => return self.lost(ask, &error),
            Err(limit) => return late(limit),
        };
        self.has_answered.store(true, Ordering::Relaxed);
        let body = match collect(body, ask.most, self.patience).await {
            Collected::TooMuch => return failed(too_long(&self.endpoint, &ask.path, ask.most)),
            Collected::Broken(error) => return self.lost(ask, &error),
            Collected::All(body) if head.status.is_success() && is_cut(&head, &body) => return self.cut(ask),
            Collected::All(body) => body,
            Collected::Silent(limit) => return late(limit),
        };
        let texts = |name| texts(&head.headers, name);
        let retry_after = texts(header::RETRY_AFTER).find_map(|text| text.trim().parse().ok());
        let warnings = texts(header::WARNING).filter_map(warning_text).collect();
        let location = texts(header::LOCATION).next().map(str::to_string);
        let location = location.filter(|_| matches!(head.status.as_u16(), 301 | 302 | 307 | 308));
        let answer = Answer { status: head.status.as_u16(), warnings, body, path: ask.path.clone() };
        RequestAttempt::Answered { answer, retry_after: retry_after.map(Duration::from_secs), location }
    }

    /// Where a read is sent on to: a path of the same server, below the path that its URL has. The
    /// credentials are for no other.
    fn redirected(&self, ask: &Ask, location: &str) -> Option<String> {
        let from_root = location.strip_prefix(origin(&self.endpoint.server)).unwrap_or(location);
        let below = &self.endpoint.server[origin(&self.endpoint.server).len()..];
        let path = from_root.strip_prefix(below).filter(|path| path.starts_with('/')).unwrap_or(from_root);
        let is_path = path.starts_with('/') && !path.starts_with("//");
        (ask.method == Method::GET && is_path).then(|| path.to_string())
    }

    /// The answer to a request.
    ///
    /// # Errors
    /// No answer, a refusal.
    pub(super) async fn answer(&self, ask: &Ask) -> Result<Answer> {
        self.ask(ask).await?.accepted().map_err(|refusal| refusal.diagnostic(&self.endpoint))
    }

    /// The answer to a request; none if the server does not have the object.
    ///
    /// # Errors
    /// No answer, any other refusal.
    pub(super) async fn find(&self, ask: &Ask) -> Result<Option<Answer>> {
        match self.ask(ask).await?.accepted() {
            Ok(answer) => Ok(Some(answer)),
            Err(refusal) if refusal.is_not_found() => Ok(None),
            Err(refusal) => Err(refusal.diagnostic(&self.endpoint)),
        }
    }

    /// The JSON that a path answers with.
    ///
    /// # Errors
    /// No answer, a refusal, no JSON of that shape.
    pub(super) async fn get_json<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T> {
        let answer = self.answer(ask).await?;
        self.read_with(json::decode, &answer)
    }

    /// The JSON that a path answers with; none if the server does not have the object.
    ///
    /// # Errors
    /// No answer, any other refusal, no JSON of that shape.
    pub(super) async fn find_json<T: DeserializeOwned>(&self, ask: &Ask) -> Result<Option<T>> {
        let answer = self.find(ask).await?;
        answer.map(|answer| self.read_with(json::decode, &answer)).transpose()
    }

    /// Parses an answer.
    ///
    /// # Errors
    /// It has another form.
    pub(super) fn read_with<T, E: fmt::Display>(
        &self,
        parse: impl FnOnce(&[u8]) -> std::result::Result<T, E>,
        answer: &Answer,
    ) -> Result<T> {
        parse(&answer.body).map_err(|error| not_understood(&self.endpoint, &answer.path, &error))
    }
}

/// Whether an answer whose length nobody told ended in the middle: its end is that of the connection, whatever ended it.
fn is_cut(head: &Parts, body: &[u8]) -> bool {
    let is_told = |name| head.headers.contains_key(name);
    let is_counted = is_told(header::CONTENT_LENGTH) || is_told(header::TRANSFER_ENCODING);
    let is_open = head.version <= Version::HTTP_11 && !is_counted;
    is_open && serde_json::from_slice::<IgnoredAny>(body).is_err_and(|error| error.is_eof())
}

/// Says that what was asked for may have been done, where no answer tells.
fn uncertain(ask: &Ask, problem: Diagnostic) -> Diagnostic {
    match ask.method {
        Method::PATCH if !ask.path.contains("dryRun=All") => {
            problem.note("it may have been applied all the same")
        }
        Method::DELETE => problem.note("it may have been deleted all the same"),
        _ => problem,
    }
}

/// Scheme and authority of a URL.
fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    &url[..end]
}

/// How long to wait before a request is sent again.
#[derive(Debug, Default)]
struct Pauses {
    sent_again: u32,
}

impl Pauses {
    /// After an answer: none when it is final.
    fn after(&mut self, status: u16, told: Option<Duration>) -> Option<Duration> {
        match (status, told) {
            (429 | 500.., Some(told)) => {
                self.sent_again += 1;
                (self.sent_again <= TOLD_RETRIES).then(|| told.min(LONGEST_PAUSE))
            }
            (429 | 502..=504, None) => self.next(),
            _ => None,
        }
    }

    /// After a broken connection. One that never stood is as likely a wrong address.
    fn after_loss(&mut self, was_there: bool) -> Option<Duration> {
        if was_there { self.next() } else { None }
    }

    fn next(&mut self) -> Option<Duration> {
        let pause = FIRST_PAUSE * 2_u32.pow(self.sent_again.min(RETRIES));
        self.sent_again += 1;
        (self.sent_again <= RETRIES).then_some(pause)
    }
}

enum Collected {
    All(Vec<u8>),
    TooMuch,
    Broken(kube::Error),
    /// Nothing came for so long.
    Silent(Duration),
}

/// All bytes of an answer.
async fn collect(mut body: Body, most: usize, patience: Patience) -> Collected {
    let mut bytes = Vec::new();
    loop {
        let frame = patience.hear(poll_fn(|context| Pin::new(&mut body).poll_frame(context))).await;
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

/// The text of a `Warning` header: `299 - "text"`, in which quotes and backslashes are escaped.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_read_from_their_header() {
        assert_eq!(warning_text(r#"299 - "a \"b\" \\ c" "date""#).as_deref(), Some(r#"a "b" \ c"#));
        assert_eq!(warning_text("299 - none"), None);
        assert_eq!(warning_text("299 - \"open"), None);
    }

    #[test]
    fn pauses_grow_and_end() {
        let mut pauses = Pauses::default();
        let busy = std::iter::from_fn(|| pauses.after(503, None)).map(|pause| pause.as_millis());
        assert_eq!(busy.collect::<Vec<_>>(), [100, 200, 400, 800, 1600, 3200]);
        let mut pauses = Pauses::default();
        assert_eq!(pauses.after(429, Some(Duration::from_secs(3600))), Some(LONGEST_PAUSE));
        let told = std::iter::from_fn(|| pauses.after(500, Some(Duration::ZERO))).count();
        assert_eq!(told, 9);
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
