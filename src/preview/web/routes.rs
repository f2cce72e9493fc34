//! The requests of a page.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{Query, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response, sse};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures::stream::{self, Stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use super::super::{Event, Session};
use super::access::is_same_origin;
use super::assets;
use super::shared::{REQUEST_TIME, Shared};

type Access = State<Arc<Shared>>;

/// The headers of every response. The page loads nothing from other servers, and inserts values only as text.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Returns the routes. Every request passes the checks of [`guard`] first.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    let api = Router::new()
        .route("/events", get(events))
        .route("/target", get(target))
        .route("/field", get(field))
        .route("/diff", get(diff))
        .route("/source", get(source))
        .route("/search", get(search))
        .route("/export", get(export))
        .route("/reveal", post(reveal))
        .fallback(unknown)
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), require_token));
    Router::new()
        .route("/api/token", post(token))
        .nest("/api", api)
        .fallback_service(get(asset))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guard))
        .with_state(shared)
}

/// Rejects requests from other sites, and adds the headers of all responses.
async fn guard(State(shared): Access, request: Request, next: Next) -> Response {
    let mut response = if is_same_origin(request.headers(), shared.port) {
        match with_body(request).await {
            Ok(request) => as_json(next.run(request).await).await,
            Err(status) => failure(status, status.canonical_reason().unwrap_or_default()),
        }
    } else {
        failure(StatusCode::FORBIDDEN, "only requests from the preview page are allowed")
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The maximum number of bytes of the body of a request.
const MAX_BODY: usize = 1 << 16;

/// Reads the body of a request, which must arrive in time.
async fn with_body(request: Request) -> Result<Request, StatusCode> {
    let (parts, body) = request.into_parts();
    let body =
        timeout(REQUEST_TIME, to_bytes(body, MAX_BODY)).await.map_err(|_| StatusCode::REQUEST_TIMEOUT)?;
    Ok(Request::from_parts(parts, body.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?.into()))
}

/// The maximum number of bytes of the message of an invalid request.
const MAX_MESSAGE: usize = 4096;

/// Returns the error of an invalid request as JSON, like every other error.
async fn as_json(response: Response) -> Response {
    let is_text =
        response.headers().get(CONTENT_TYPE).is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    let status = response.status();
    if !status.is_client_error() || !is_text {
        return response;
    }
    let text = to_bytes(response.into_body(), MAX_MESSAGE).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let reason = status.canonical_reason().unwrap_or_default();
    failure(status, if text.is_empty() { reason } else { &text })
}

async fn require_token(State(shared): Access, request: Request, next: Next) -> Response {
    if shared.access.has_token(request.headers()) {
        return next.run(request).await;
    }
    failure(StatusCode::UNAUTHORIZED, "this request needs the token of a page")
}

fn failure(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({"error": message}))).into_response()
}

async fn unknown() -> Response {
    failure(StatusCode::NOT_FOUND, "unknown path")
}

async fn asset(uri: Uri) -> Response {
    match assets::find(uri.path()) {
        Some((kind, text)) => ([(CONTENT_TYPE, kind)], text).into_response(),
        None => failure(StatusCode::NOT_FOUND, "there is no such file"),
    }
}

#[derive(Deserialize)]
struct Key {
    key: String,
}

async fn token(State(shared): Access, Json(Key { key }): Json<Key>) -> Response {
    match shared.access.exchange(&key) {
        Some(token) => Json(json!({"token": token})).into_response(),
        None => failure(StatusCode::UNAUTHORIZED, "the key is invalid, or was used before"),
    }
}

/// Computes a view on another thread than the one that serves requests.
async fn view<T: Serialize + Send + 'static>(
    shared: Arc<Shared>,
    view: impl FnOnce(&Session) -> Option<T> + Send + 'static,
) -> Response {
    let view = tokio::task::spawn_blocking(move || view(&shared.session)).await;
    match view {
        Ok(Some(view)) => Json(view).into_response(),
        Ok(None) => failure(StatusCode::NOT_FOUND, "there is no such target, value or file"),
        Err(_) => failure(StatusCode::INTERNAL_SERVER_ERROR, "the view could not be computed"),
    }
}

#[derive(Deserialize)]
struct Name {
    #[serde(alias = "name")]
    target: String,
}

async fn target(State(shared): Access, Query(Name { target }): Query<Name>) -> Response {
    view(shared, move |session| session.view(&target)).await
}

async fn diff(State(shared): Access, Query(Name { target }): Query<Name>) -> Response {
    view(shared, move |session| session.diff(&target)).await
}

async fn export(State(shared): Access, Query(Name { target }): Query<Name>) -> Response {
    let page = tokio::task::spawn_blocking(move || shared.session.export(&target)).await;
    match page {
        Ok(Some(page)) => {
            let headers = [
                (CONTENT_TYPE, "text/html; charset=utf-8"),
                (CONTENT_DISPOSITION, "attachment; filename=\"review.html\""),
            ];
            (headers, page).into_response()
        }
        _ => failure(StatusCode::NOT_FOUND, "there is no such target, or it is not compared"),
    }
}

/// The address of a value.
#[derive(Deserialize)]
struct ValueAddress {
    target: String,
    resource: usize,
    pointer: String,
    /// The generation that the page displays.
    generation: u64,
}

impl ValueAddress {
    /// Returns true if the index is one in the last build. In another build, it may be that of another resource.
    fn is_current(&self, session: &Session) -> bool {
        session.generation(&self.target) == Some(self.generation)
    }
}

async fn field(State(shared): Access, Query(at): Query<ValueAddress>) -> Response {
    let field = move |session: &Session| {
        at.is_current(session).then(|| session.field(&at.target, at.resource, &at.pointer)).flatten()
    };
    view(shared, field).await
}

async fn reveal(State(shared): Access, Json(at): Json<ValueAddress>) -> Response {
    let text = move |session: &Session| {
        at.is_current(session).then(|| session.reveal(&at.target, at.resource, &at.pointer)).flatten()
    };
    view(shared, move |session| text(session).map(|text| json!({"text": text}))).await
}

#[derive(Deserialize)]
struct FileAddress {
    target: String,
    file: String,
}

async fn source(State(shared): Access, Query(at): Query<FileAddress>) -> Response {
    view(shared, move |session| session.source(&at.target, &at.file)).await
}

#[derive(Deserialize)]
struct SearchQuery {
    q: String,
}

async fn search(State(shared): Access, Query(SearchQuery { q }): Query<SearchQuery>) -> Response {
    view(shared, move |session| Some(session.search(&q))).await
}

async fn events(State(shared): Access) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>>> {
    // The receiver is created before the state is read, so that no event is lost in between.
    let receiver = shared.events.subscribe();
    let events = stream::unfold((shared, receiver, true), |(shared, mut receiver, is_first)| async move {
        let event =
            if is_first { shared.session.state() } else { next_event(&shared, &mut receiver).await? };
        let event = sse::Event::default().json_data(&event).unwrap_or_default();
        Some((Ok(event), (shared, receiver, false)))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// Waits for the next event. A page that missed events gets all targets again.
async fn next_event(shared: &Shared, receiver: &mut Receiver<Event>) -> Option<Event> {
    match receiver.recv().await {
        Ok(event) => Some(event),
        Err(RecvError::Lagged(_)) => Some(shared.session.state()),
        Err(RecvError::Closed) => None,
    }
}
