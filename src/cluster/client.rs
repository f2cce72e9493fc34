//! The connection: one client, one small runtime, requests with retries and a time limit.
//!
//! Knows nothing of what is asked; the other modules of this room do.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::time::Duration;

use http::{Method, header};
use http_body::Body as _;
use kube::Client;
use kube::client::{Body, ClientBuilder};
use kube::config::ExecConfig;
use tokio::runtime::{Builder, Handle, Runtime};

use super::failure::{Endpoint, Refusal, no_answer, not_understood, too_late, too_long};
use super::json;
use super::kubeconfig::ConnectOptions;
use super::mapping::Discovery;
use crate::diagnostic::{Code, Diagnostic, Result};

/// A handle to a cluster.
///
/// ```no_run
/// use kubectl_smp::cluster::{Cluster, ConnectOptions, DiffOptions, diff};
/// use kubectl_smp::resource::Resource;
/// use kubectl_smp::schema::Schema;
///
/// // As kubectl finds it: by `KUBECONFIG`, `~/.kube/config`, or from within a pod.
/// let cluster = Cluster::connect(&ConnectOptions::default())?;
/// let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: prod}}".parse()?;
/// let report = diff(&cluster, &[Resource::new(map, &Schema::embedded())?], &DiffOptions::default())?;
/// println!("{} of {}", report.objects.iter().filter(|one| one.is_changed()).count(), cluster.server());
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
///
/// Its methods wait for the server; they may be called from any thread, from within another
/// asynchronous runtime too. Nothing is asked before the first of them is called.
pub struct Cluster {
    /// None only while it is being dropped.
    runtime: Option<Runtime>,
    client: Client,
    pub(super) endpoint: Endpoint,
    namespace: String,
    /// Whether the namespace was asked for, so that objects may name no other.
    enforced: bool,
    timeout: Option<Duration>,
    pub(super) discovery: Discovery,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A runtime that is dropped in another one's task would wait there, which tokio forbids.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// How often a request is sent again when the server says that it may be.
const RETRIES: u32 = 10;

/// How many bytes an answer may have. The largest of real servers, the OpenAPI documents of hundreds of custom
/// resources in one, have some tens of millions.
pub(super) const MAX_ANSWER: usize = 256 << 20;

/// The longest that the server may have us wait before that.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(30);

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) method: Method,
    /// Path and query.
    pub(super) path: String,
    pub(super) accept: &'static str,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
}

impl Ask {
    /// Asks for JSON.
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), accept: JSON, content_type: JSON, body: Vec::new() }
    }
}

const JSON: &str = "application/json";

/// One answer, good or bad.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The texts of its `Warning` headers.
    pub(super) warnings: Vec<String>,
    pub(super) body: Vec<u8>,
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

impl Cluster {
    /// Finds the cluster and the credentials; sends no request yet.
    ///
    /// # Errors
    /// No cluster is configured, the kubeconfig cannot be read or lacks what was asked for, the
    /// command that gets the credentials fails.
    pub fn connect(options: &ConnectOptions) -> Result<Self> {
        let access = options.access()?;
        let endpoint = access.endpoint();
        let command = access.config.auth_info.exec.clone();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Diagnostic::error(Code::Io, format!("the network cannot be used: {error}")))?;
        let client = {
            // kube starts a task for each client.
            let _inside = runtime.enter();
            let builder = ClientBuilder::try_from(access.config);
            builder.map_err(|error| command_note(no_answer(&endpoint, &error), command.as_ref()))?.build()
        };
        Ok(Self {
            runtime: Some(runtime),
            client,
            endpoint,
            namespace: access.namespace,
            enforced: options.namespace.is_some(),
            timeout: options.request_timeout.filter(|limit| !limit.is_zero()),
            discovery: Discovery::default(),
        })
    }

    /// The server's URL.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.endpoint.server
    }

    /// The name of the kubeconfig's context, if one was used.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.endpoint.context.as_deref()
    }

    /// The namespace of objects that name none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Whether that namespace was asked for, so that objects may name no other.
    #[must_use]
    pub fn namespace_is_enforced(&self) -> bool {
        self.enforced
    }

    /// Runs a future to its end on this cluster's runtime.
    pub(super) fn wait<T: Send>(&self, future: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let Some(runtime) = &self.runtime else {
            return Err(Diagnostic::error(Code::Remote, "the connection is closed"));
        };
        if Handle::try_current().is_err() {
            return runtime.block_on(future);
        }
        // tokio does not let one runtime wait in another's thread.
        std::thread::scope(|scope| match scope.spawn(|| runtime.block_on(future)).join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }

    /// Sends a request, again while the server says that it is too busy.
    ///
    /// # Errors
    /// No answer came, or not in time. A refusal is an answer.
    pub(super) async fn ask(&self, ask: &Ask) -> Result<Answer> {
        for _ in 0..RETRIES {
            let (answer, retry_after) = self.ask_once(ask).await?;
            let busy = answer.status == 429 || answer.status >= 500;
            let Some(pause) = retry_after.filter(|_| busy) else { return Ok(answer) };
            tokio::time::sleep(pause.min(LONGEST_RETRY_AFTER)).await;
        }
        Ok(self.ask_once(ask).await?.0)
    }

    async fn ask_once(&self, ask: &Ask) -> Result<(Answer, Option<Duration>)> {
        let mut request = http::Request::builder()
            .method(ask.method.clone())
            .uri(&ask.path)
            .header(header::ACCEPT, ask.accept);
        if !ask.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, ask.content_type);
        }
        let request = request.body(Body::from(ask.body.clone())).map_err(|error| {
            Diagnostic::error(Code::InvalidValue, format!("`{}` cannot be asked for: {error}", ask.path))
        })?;
        let exchange = async {
            let (head, body) = self.client.send(request).await?.into_parts();
            Ok((head, collect(body).await?))
        };
        let result = match self.timeout {
            None => exchange.await,
            Some(limit) => {
                tokio::time::timeout(limit, exchange).await.map_err(|_| too_late(&self.endpoint, limit))?
            }
        };
        let (head, body) = result.map_err(|error| no_answer(&self.endpoint, &error))?;
        let body = body.ok_or_else(|| too_long(&self.endpoint, &ask.path, MAX_ANSWER))?;
        let texts = |name| head.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let seconds = texts(header::RETRY_AFTER).find_map(|text| text.trim().parse().ok());
        let warnings = texts(header::WARNING).filter_map(warning_text).collect();
        let answer = Answer { status: head.status.as_u16(), warnings, body };
        Ok((answer, seconds.map(Duration::from_secs)))
    }

    /// The JSON that a path answers with.
    ///
    /// # Errors
    /// No answer, a refusal, no JSON of that shape.
    pub(super) async fn get_json<T: serde::de::DeserializeOwned>(&self, ask: &Ask) -> Result<T> {
        let answer = self.ask(ask).await?.accepted().map_err(|refusal| refusal.diagnostic(&self.endpoint))?;
        json::decode(&answer.body).map_err(|error| not_understood(&self.endpoint, &ask.path, &error))
    }
}

/// All bytes of an answer; none when there are too many.
async fn collect(mut body: Body) -> std::result::Result<Option<Vec<u8>>, kube::Error> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame?.into_data() else { continue };
        if bytes.len() + data.len() > MAX_ANSWER {
            return Ok(None);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Some(bytes))
}

/// Says which command should have given the credentials, and what its makers say of getting it.
fn command_note(error: Diagnostic, exec: Option<&ExecConfig>) -> Diagnostic {
    let command = exec.and_then(|exec| exec.command.as_ref());
    let error = command.into_iter().fold(error, |e, c| e.note(format!("the kubeconfig's command is `{c}`")));
    let hint = exec.and_then(|exec| exec.install_hint.as_ref());
    hint.into_iter().fold(error, |e, hint| e.note(hint.trim()))
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
}
