//! Answers requests: finds the target, calls the verb, and writes the response.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER, WARNING};
use http::{Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;

use crate::accept::Form;
use crate::body::{Body, closed};
use crate::discovery;
use crate::faults::{self, Effect, Fault, LoggedRequest};
use crate::openapi::Document;
use crate::request::{Request, Target, WriteOptions};
use crate::resources::Verb;
use crate::state::{Shared, State, in_version};
use crate::status::{Failure, Result};
use crate::table::{table, table_of_one};
use crate::verbs::patch::Patched;

/// The cluster as a service for HTTP requests.
#[derive(Debug, Clone)]
pub struct ClusterService {
    pub(crate) shared: Arc<Mutex<Shared>>,
}

/// A response before it is written.
enum Reply {
    Object(u16, Value),
    /// An object as it is stored.
    Stored(u16, Arc<Value>),
    Raw(u16, String),
    /// JSON with another media type.
    Typed(Value, &'static str),
    Text(&'static str),
    Moved(String),
    Watch(Box<crate::verbs::watch::Watch>),
}

impl<B> tower::Service<http::Request<B>> for ClusterService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = std::result::Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::result::Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let request = read_body(body).await.and_then(|body| Request::new(head, body));
            let mut request = match request {
                Ok(request) => request,
                Err(failure) => return Ok(failed(&failure)),
            };
            let (response, fault) = answer(&shared, &mut request);
            if !fault.delay.is_zero() {
                tokio::time::sleep(fault.delay).await;
            }
            match fault.effect {
                Effect::DropRequest | Effect::DropResponse => Err(closed()),
                Effect::Cut => Ok(response.map(Body::cut)),
                _ => Ok(response),
            }
        })
    }
}

/// Maximum number of requests in the log, about 20 MB. Older ones are dropped.
const MAX_LOG: usize = 100_000;

/// Maximum size of the body of a request in bytes, as in kube-apiserver.
const MAX_BODY: usize = 3 << 20;

/// Reads the body of a request.
///
/// # Errors
/// The body is too large, or is cut off. The request then has no effect.
async fn read_body<B: http_body::Body>(body: B) -> Result<Bytes> {
    let mut body = pin!(body);
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Failure::new(500, "", "unexpected EOF"))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.remaining() > MAX_BODY {
            return Err(Failure::too_large(&format!("limit is {MAX_BODY}")));
        }
        bytes.put(data);
    }
    Ok(bytes.freeze())
}

/// Answers a request. Returns the response, and the fault that applies to it.
fn answer(shared: &Arc<Mutex<Shared>>, request: &mut Request) -> (Response<Body>, Fault) {
    let mut locked = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let mut warnings = Vec::new();
    let target = Target::find(&locked.state.resources, request);
    let fault = match &target {
        Some(Ok(target)) => {
            faults::take(&mut locked.faults, target.verb, &target.resource.gvk.kind, &target.name)
        }
        _ => None,
    };
    let fault = fault.unwrap_or_default();
    let reply = match fault.effect {
        Effect::Reply(code) => Some(Err(Failure::injected(code))),
        Effect::DropRequest => Some(Err(Failure::injected(0))),
        effect => {
            request.effect = effect;
            respond(&mut locked, shared, request, target.as_ref(), &mut warnings)
        }
    };
    locked.state.run_controllers();
    if request.method != Method::GET {
        locked.state.finish_definitions();
    }
    let is_dropped = matches!(fault.effect, Effect::DropRequest | Effect::DropResponse);
    let code = if is_dropped { 0 } else { code_of(reply.as_ref()) };
    log(&mut locked, request, target.and_then(Result::ok).as_ref(), code);
    drop(locked);
    (with_warnings(written(reply), &warnings), fault)
}

/// Returns the response for a reply.
fn written(reply: Option<Result<Reply>>) -> Response<Body> {
    match reply {
        None => text_response(404, "404 page not found\n"),
        Some(Ok(Reply::Object(code, object))) => {
            json_response(code, serde_json::to_vec(&object).unwrap_or_default())
        }
        Some(Ok(Reply::Stored(code, object))) => {
            json_response(code, serde_json::to_vec(&*object).unwrap_or_default())
        }
        Some(Ok(Reply::Raw(code, text))) => json_response(code, text.into_bytes()),
        Some(Ok(Reply::Typed(object, media_type))) => {
            response(200, media_type, Body::bytes(serde_json::to_vec(&object).unwrap_or_default()))
        }
        Some(Ok(Reply::Text(text))) => text_response(200, text),
        Some(Ok(Reply::Moved(to))) => moved(&to),
        Some(Ok(Reply::Watch(watch))) => response(200, "application/json", Body::watch(*watch)),
        Some(Err(failure)) => failed(&failure),
    }
}

fn code_of(reply: Option<&Result<Reply>>) -> u16 {
    match reply {
        None => 404,
        Some(Ok(Reply::Object(code, _) | Reply::Stored(code, _) | Reply::Raw(code, _))) => *code,
        Some(Ok(Reply::Moved(_))) => 301,
        Some(Ok(_)) => 200,
        Some(Err(failure)) => failure.code,
    }
}

/// Records a request.
fn log(locked: &mut Shared, request: &Request, target: Option<&Target>, code: u16) {
    let verb = target.map(|target| target.verb);
    let kind = target.map_or_else(String::new, |target| target.resource.gvk.kind.to_string());
    let (path, manager) = (request.uri.clone(), request.manager());
    if locked.log.len() == MAX_LOG {
        locked.log.pop_front();
    }
    locked.log.push_back(LoggedRequest { verb, kind, path, code, manager });
}

fn respond(
    locked: &mut Shared,
    shared: &Arc<Mutex<Shared>>,
    request: &Request,
    target: Option<&Result<Target>>,
    warnings: &mut Vec<String>,
) -> Option<Result<Reply>> {
    // Some clients request the health or the version with any media type.
    let needs_json = request.path.starts_with("/openapi/v2") || request.path.starts_with("/api");
    if needs_json && !is_acceptable(request.accept()) {
        return Some(Err(Failure::not_acceptable()));
    }
    if let Some(reply) = about_server(locked, request) {
        return Some(reply);
    }
    let is_below_api = request.path.starts_with("/api/") || request.path.starts_with("/apis/");
    let not_served = || is_below_api.then(|| Err(Failure::not_served()));
    let Some(target) = target else { return not_served() };
    match target {
        Ok(target) => Some(call_verb(locked, shared, request, target, warnings)),
        Err(failure) => Some(Err(failure.clone())),
    }
}

/// Returns true if a client accepts JSON.
fn is_acceptable(accept: &str) -> bool {
    let accept = accept.to_ascii_lowercase();
    let kinds = accept.split(',').map(|kind| kind.split(';').next().unwrap_or_default().trim());
    accept.is_empty()
        || kinds.into_iter().any(|kind| matches!(kind, "*/*" | "application/*" | "application/json"))
}

/// Answers a request about the server instead of objects.
fn about_server(locked: &Shared, request: &Request) -> Option<Result<Reply>> {
    if discovery::is_health_path(&request.path) {
        return Some(Ok(Reply::Text("ok")));
    }
    let reply = about_kinds(locked, request)?;
    Some(if request.method == Method::GET { Ok(reply) } else { Err(Failure::method_not_allowed()) })
}

/// Answers a request for the documents about the served kinds, or for the version.
fn about_kinds(locked: &Shared, request: &Request) -> Option<Reply> {
    if request.path.starts_with("/openapi/") {
        return Some(match locked.state.openapi(request)? {
            Document::Json(document) => Reply::Object(200, document),
            Document::Moved(to) => Reply::Moved(to),
        });
    }
    let (found, is_aggregated) = discovery::respond(&locked.state.resources, request)?;
    Some(if is_aggregated { Reply::Typed(found, discovery::AGGREGATED) } else { Reply::Object(200, found) })
}

/// Returns the kind of the options of a request, for messages.
fn options_kind(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "CreateOptions",
        Verb::Update => "UpdateOptions",
        Verb::Patch => "PatchOptions",
        _ => "DeleteOptions",
    }
}

fn call_verb(
    locked: &mut Shared,
    shared: &Arc<Mutex<Shared>>,
    request: &Request,
    target: &Target,
    warnings: &mut Vec<String>,
) -> Result<Reply> {
    warnings.extend(deprecation(target));
    let form = request.form().ok_or_else(Failure::not_acceptable)?;
    if target.verb == Verb::Watch {
        locked.watches += 1;
        let watch = locked.state.watch(target, request, shared, locked.watches)?;
        return Ok(Reply::Watch(Box::new(watch)));
    }
    let state = &mut locked.state;
    let mut options = WriteOptions::parse(request, options_kind(target.verb))?;
    if !state.policies.is_empty() {
        options.sent = request.sent_options();
    }
    if let Some(reply) = state.subresource(target, request, &mut options) {
        warnings.append(&mut options.warnings);
        return reply
            .and_then(|(code, body)| in_form(form, state, target, request, Reply::Object(code, body)));
    }
    let reply = match target.verb {
        Verb::Get | Verb::List | Verb::Watch => read(form, state, target, request),
        Verb::Create => state.create(target, request, &mut options).map(|object| match form {
            Form::Object => Reply::Stored(201, object),
            _ => Reply::Object(201, Arc::unwrap_or_clone(object)),
        }),
        Verb::Update => {
            let updated = state.update(target, request, &mut options);
            updated.map(|(object, is_new)| Reply::Object(if is_new { 201 } else { 200 }, object))
        }
        Verb::Patch => state.patch(target, request, &mut options).map(|patched| match patched {
            Patched::Object(object, is_new) => Reply::Object(if is_new { 201 } else { 200 }, object),
            Patched::Conflict(body) => Reply::Raw(409, body),
        }),
        Verb::Delete => state.delete(target, request, &mut options).map(|body| Reply::Object(200, body)),
        Verb::DeleteCollection => {
            state.delete_collection(target, request, &mut options).map(|list| Reply::Object(200, list))
        }
    };
    warnings.append(&mut options.warnings);
    reply.and_then(|reply| in_form(form, state, target, request, reply))
}

/// Returns the warning about a deprecated kind.
fn deprecation(target: &Target) -> Option<String> {
    if target.resource.is_custom {
        return target.resource.deprecation.as_ref().map(ToString::to_string);
    }
    let text = match (&*target.resource.gvk.api_version(), &*target.resource.plural) {
        ("v1", "endpoints") => "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        ("v1", "componentstatuses") => "v1 ComponentStatus is deprecated in v1.19+",
        _ => return None,
    };
    Some(text.into())
}

/// Returns an object or a list, as a table if the client prefers that.
fn read(form: Form, state: &State, target: &Target, request: &Request) -> Result<Reply> {
    let resource = &target.resource;
    if target.verb == Verb::Get {
        let object = state.read_object_of(target, request)?;
        return Ok(Reply::Object(200, in_version(&object, &resource.gvk)));
    }
    if form != Form::Table {
        return Ok(Reply::Object(200, state.list(target, request)?));
    }
    let (objects, metadata) = state.page(target, request)?;
    let objects: Vec<Value> = objects.iter().map(|object| Value::clone(object)).collect();
    let include = request.parameter("includeObject");
    Ok(Reply::Object(200, table(resource, &objects, &metadata, include, state.settings.clock.seconds())))
}

/// Returns the object of a reply in the form that the client prefers.
fn in_form(form: Form, state: &State, target: &Target, request: &Request, reply: Reply) -> Result<Reply> {
    let Reply::Object(code, object) = reply else { return Ok(reply) };
    let has_columns = object["kind"] == *target.resource.gvk.kind || object["kind"] == "Scale";
    if form != Form::Table || !has_columns {
        return Ok(Reply::Object(code, form.converted(object)?));
    }
    let now = state.settings.clock.seconds();
    let table = table_of_one(&target.resource, object, request.parameter("includeObject"), now);
    Ok(Reply::Object(code, table))
}

fn response(code: u16, content_type: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = content_type.parse() {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    response
}

fn json_response(code: u16, bytes: Vec<u8>) -> Response<Body> {
    response(code, "application/json", Body::bytes(bytes))
}

fn text_response(code: u16, text: &'static str) -> Response<Body> {
    response(code, "text/plain; charset=utf-8", Body::bytes(text))
}

fn moved(to: &str) -> Response<Body> {
    let mut response = response(301, "text/plain", Body::bytes(Bytes::new()));
    if let Ok(value) = to.parse() {
        response.headers_mut().insert(LOCATION, value);
    }
    response
}

/// Returns the response to a failed request.
pub(crate) fn failed(failure: &Failure) -> Response<Body> {
    let mut response = json_response(failure.code, failure.to_status().to_string().into_bytes());
    if let Some(seconds) = failure.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Adds the warnings as headers.
fn with_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    for warning in warnings {
        let text = warning.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
        if let Ok(value) = format!("299 - \"{text}\"").parse() {
            response.headers_mut().append(WARNING, value);
        }
    }
    response
}
