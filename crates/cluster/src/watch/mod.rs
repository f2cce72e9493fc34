//! Watches collections of objects: sends a list request and then a watch request, until the caller ends the watch.
//!
//! A watch that ends is resumed from its last resource version. If the server no longer has that version, the
//! collection is listed again.

mod collection;
mod stream;

use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt as _;
use futures::future::{Either, join_all, select};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep};

pub(super) use collection::{Collection, ObjectContent};
use stream::{WatchEnd, WatchStream, WatchedChange};

use super::client::Cluster;
use super::errors::{ApiError, invalid_response};
use super::json;
use super::request::{ApiRequest, ApiResponse, in_order};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::yaml::Node;

/// An event of a watched collection.
#[derive(Debug)]
pub(super) enum WatchEvent {
    /// All objects of the collection.
    Listed(Vec<Node>),
    /// The current state of an object.
    Updated(Node),
    /// The last state of a deleted object.
    Deleted(Node),
    /// The kind is currently not served.
    NotServed,
    /// A temporary error. The request is repeated.
    TemporaryError(Diagnostic),
    /// The collection cannot be read. No more events follow.
    Failed(Diagnostic),
}

/// The reason why a collection was not listed.
enum ListError {
    Event(WatchEvent),
    /// The user may not list the collection.
    Forbidden(Diagnostic),
}

impl From<WatchEvent> for ListError {
    fn from(sight: WatchEvent) -> Self {
        Self::Event(sight)
    }
}

/// The channel for events. Each event has the index of its collection.
type EventSender = UnboundedSender<(usize, WatchEvent)>;

/// Maximum number of collections that are listed in parallel.
const LISTS: usize = 8;

/// The maximum number of objects that are read in parallel if the user may not list a collection, and the pause between
/// reads.
const OBJECTS: usize = 8;
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest and the longest pause between retries.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// The minimum duration of a watch that did not fail immediately.
const STABLE_AFTER: Duration = Duration::from_secs(1);

/// Watches collections until the future that receives the events completes.
pub(super) async fn watch_collections<F: Future>(
    cluster: &Cluster,
    collections: &[Collection],
    until: impl FnOnce(UnboundedReceiver<(usize, WatchEvent)>) -> F,
) -> F::Output {
    let (sights, seen) = unbounded_channel();
    let list_permits = Semaphore::new(LISTS);
    let watchers = collections.iter().enumerate().map(|(number, collection)| {
        let sights = sights.clone();
        Watcher { cluster, number, collection, sights, list_permits: &list_permits }.run()
    });
    let watchers = pin!(join_all(watchers.collect::<Vec<_>>()));
    // This sender keeps the channel open after all watches have failed.
    let output = match select(pin!(until(seen)), watchers).await {
        Either::Left((output, _)) => output,
        Either::Right((_, until)) => until.await,
    };
    drop(sights);
    output
}

/// The watch of one collection.
struct Watcher<'a> {
    cluster: &'a Cluster,
    number: usize,
    collection: &'a Collection,
    sights: EventSender,
    /// Limits the number of parallel list requests.
    list_permits: &'a Semaphore,
}

impl Watcher<'_> {
    /// Sends events until the collection cannot be read or the watcher is dropped.
    async fn run(self) {
        if let Some(gate) = &self.collection.gate {
            gate.notified().await;
        }
        let mut pause = PAUSES.0;
        loop {
            let start = Instant::now();
            match self.list().await {
                Ok(version) => self.watch(version).await,
                Err(ListError::Forbidden(problem)) => match self.poll_objects().await {
                    WatchEvent::Failed(_) => return self.emit(WatchEvent::Failed(problem)),
                    sight => self.emit(sight),
                },
                Err(ListError::Event(failed @ WatchEvent::Failed(_))) => return self.emit(failed),
                Err(ListError::Event(sight)) => self.emit(sight),
            }
            pause = if start.elapsed() >= STABLE_AFTER { PAUSES.0 } else { (2 * pause).min(PAUSES.1) };
            sleep(pause).await;
        }
    }

    fn emit(&self, sight: WatchEvent) {
        // The receiver may already have completed.
        let _ignored = self.sights.send((self.number, sight));
    }

    /// Reads the objects one by one, again and again, until a request fails.
    async fn poll_objects(&self) -> WatchEvent {
        while !self.collection.names.is_empty() {
            let read = self.collection.names.iter().map(|name| self.object(name));
            match in_order(read, OBJECTS).try_collect::<Vec<_>>().await {
                Ok(objects) => self.emit(WatchEvent::Listed(objects.into_iter().flatten().collect())),
                Err(sight) => return sight,
            }
            sleep(POLL_INTERVAL).await;
        }
        WatchEvent::Failed(Diagnostic::error(Code::Remote, "the names of the objects are not known"))
    }

    /// Reads an object. Returns `None` if it does not exist.
    async fn object(&self, name: &str) -> Result<Option<Node>, WatchEvent> {
        let path = self.collection.mapping.path(&self.collection.namespace, name);
        let request = match self.collection.content {
            ObjectContent::Whole => ApiRequest::object(path),
            ObjectContent::Metadata | ObjectContent::MetadataUnlessAnnotated(_) => ApiRequest::metadata(path),
        };
        let response = self.cluster.send(&request).await.map_err(WatchEvent::TemporaryError)?.into_result();
        if response.as_ref().is_err_and(ApiError::is_not_found) {
            return Ok(None);
        }
        let response = self.read(response, || WatchEvent::NotServed)?;
        let object =
            self.cluster.parse_response(json::parse_object, &response).map_err(WatchEvent::Failed)?;
        match self.completed(object).await {
            Err(WatchEvent::Deleted(_)) => Ok(None),
            object => object.map(Some),
        }
    }

    /// Lists the collection. Returns its resource version.
    async fn list(&self) -> Result<String, ListError> {
        let _permit = self.list_permits.acquire().await;
        let path = self.collection.list_path();
        let request = ApiRequest {
            accept: self.collection.content.list_media_type(),
            ..ApiRequest::get(path.as_str())
        };
        let response =
            match self.cluster.send(&request).await.map_err(WatchEvent::TemporaryError)?.into_result() {
                Err(api_error) if api_error.http == 403 => {
                    return Err(ListError::Forbidden(api_error.diagnostic(&self.cluster.endpoint)));
                }
                response => self.read(response, || WatchEvent::NotServed)?,
            };
        let invalid = |error: &dyn std::fmt::Display| {
            WatchEvent::Failed(invalid_response(&self.cluster.endpoint, &path, error))
        };
        let mut list = json::parse_object(&response.body).map_err(|error| invalid(&error))?;
        let version = list.get_path(&["metadata", "resourceVersion"]).and_then(Node::as_str);
        let version = version.filter(|version| !version.is_empty()).map(str::to_string);
        let version = version.ok_or_else(|| invalid(&"the response is not a list"))?;
        let items = list.get_mut("items").and_then(Node::as_list_mut).map(std::mem::take);
        let mut objects = Vec::new();
        for item in items.unwrap_or_default() {
            match self.completed(item).await {
                Ok(object) => objects.push(object),
                Err(WatchEvent::Deleted(_)) => {}
                Err(sight) => return Err(sight.into()),
            }
        }
        self.emit(WatchEvent::Listed(objects));
        Ok(version)
    }

    /// Reads the whole object if only its metadata was listed and more is needed.
    async fn completed(&self, object: Node) -> Result<Node, WatchEvent> {
        let ObjectContent::MetadataUnlessAnnotated(annotation) = self.collection.content else {
            return Ok(object);
        };
        let name = object.get_path(&["metadata", "name"]).and_then(Node::as_str);
        let Some(name) = name.filter(|_| object.get_path(&["metadata", "annotations", annotation]).is_some())
        else {
            return Ok(object);
        };
        let path = self.collection.mapping.path(&self.collection.namespace, name);
        let response = self.answer(&ApiRequest::object(path), || WatchEvent::Deleted(object)).await?;
        self.cluster.parse_response(json::parse_object, &response).map_err(WatchEvent::Failed)
    }

    async fn answer(
        &self,
        request: &ApiRequest,
        absent: impl FnOnce() -> WatchEvent,
    ) -> Result<ApiResponse, WatchEvent> {
        let response = self.cluster.send(request).await.map_err(WatchEvent::TemporaryError)?;
        self.read(response.into_result(), absent)
    }

    fn read(
        &self,
        response: Result<ApiResponse, ApiError>,
        absent: impl FnOnce() -> WatchEvent,
    ) -> Result<ApiResponse, WatchEvent> {
        response.map_err(|api_error| match api_error.http {
            404 => absent(),
            429 | 500.. => WatchEvent::TemporaryError(api_error.diagnostic(&self.cluster.endpoint)),
            _ => WatchEvent::Failed(api_error.diagnostic(&self.cluster.endpoint)),
        })
    }

    /// Sends changes after a resource version, until the collection must be listed again.
    async fn watch(&self, mut version: String) {
        loop {
            let start = Instant::now();
            let mut changes = match WatchStream::open(self.cluster, self.collection, &version).await {
                Ok(changes) => changes,
                Err(WatchEnd::ListAgain) => return,
                Err(WatchEnd::TemporaryError(problem)) => {
                    return self.emit(WatchEvent::TemporaryError(problem));
                }
            };
            loop {
                match changes.next().await {
                    Ok(Some((change, new_version))) => {
                        version = new_version;
                        match change {
                            WatchedChange::Updated(object) => match self.completed(object).await {
                                Ok(object) => self.emit(WatchEvent::Updated(object)),
                                Err(sight) => self.emit(sight),
                            },
                            WatchedChange::Deleted(object) => self.emit(WatchEvent::Deleted(object)),
                            WatchedChange::None => {}
                        }
                    }
                    Ok(None) => break,
                    Err(WatchEnd::ListAgain) => return,
                    Err(WatchEnd::TemporaryError(problem)) => {
                        return self.emit(WatchEvent::TemporaryError(problem));
                    }
                }
            }
            if start.elapsed() < STABLE_AFTER {
                sleep(PAUSES.0).await;
            }
        }
    }
}
