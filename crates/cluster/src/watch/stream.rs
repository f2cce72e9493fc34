//! A single watch request: its connection, its lines, and the changes in them.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use http::header;
use http_body::Body as _;
use kube::client::Body;
use tokio::time::timeout;

use super::collection::Collection;
use crate::client::{AuthenticatedClient, Cluster};
use crate::errors::{connection_error, invalid_response, response_too_large, timeout_error};
use crate::json;
use crate::request::MAX_OBJECT;
use smp_text::diagnostic::Diagnostic;
use smp_text::yaml::Node;

/// The maximum duration of a watch before it is reopened. A server sends nothing while no object changes, so a
/// half-open connection would not be noticed.
const MAX_DURATION: Duration = Duration::from_secs(50);

/// Additional time for the server to end the watch.
const END_GRACE: Duration = Duration::from_secs(5);

/// A change of an object.
#[derive(Debug)]
pub(super) enum WatchedChange {
    Updated(Node),
    Deleted(Node),
    /// Only the resource version changed.
    None,
}

/// The reason why a watch cannot continue.
#[derive(Debug)]
pub(super) enum WatchEnd {
    /// The server cannot resume from the version. Listing the collection again returns the current state or the error.
    ListAgain,
    TemporaryError(Diagnostic),
}

/// The changes after a resource version.
pub(super) struct WatchStream<'a> {
    cluster: &'a Cluster,
    path: String,
    body: Body,
    /// The part of the next line that was received.
    buffer: Vec<u8>,
    /// The length of the part of the buffer that contains no line break.
    searched: usize,
    timeout_after: Duration,
}

impl<'a> WatchStream<'a> {
    pub(super) async fn open(
        cluster: &'a Cluster,
        collection: &Collection,
        version: &str,
    ) -> Result<Self, WatchEnd> {
        let life = cluster
            .timeouts
            .total()
            .map_or(MAX_DURATION, |limit| limit.clamp(Duration::from_secs(1), MAX_DURATION));
        let path = collection.watch_path(version, life);
        let request = http::Request::get(&path)
            .header(header::ACCEPT, collection.content.watch_media_type())
            // Compression would delay changes, and some servers compress each one separately.
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Body::empty());
        let request = request
            .map_err(|error| WatchEnd::TemporaryError(invalid_response(&cluster.endpoint, &path, &error)))?;
        let timeout_after = life + END_GRACE;
        let AuthenticatedClient { client, generation: times } = cluster.authenticated();
        let response = match timeout(timeout_after, client.send(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return Err(WatchEnd::TemporaryError(connection_error(&cluster.endpoint, &error)));
            }
            Err(_) => return Err(WatchEnd::TemporaryError(timeout_error(&cluster.endpoint, timeout_after))),
        };
        match response.status().as_u16() {
            200 => {}
            401 => {
                cluster.refresh_credentials(times).await.map_err(WatchEnd::TemporaryError)?;
                return Err(WatchEnd::ListAgain);
            }
            _ => return Err(WatchEnd::ListAgain),
        }
        Ok(Self { cluster, path, body: response.into_body(), buffer: Vec::new(), searched: 0, timeout_after })
    }

    /// Returns the next change and its resource version, or `None` after the server has ended the watch.
    pub(super) async fn next(&mut self) -> Result<Option<(WatchedChange, String)>, WatchEnd> {
        let Some(line) = self.line().await? else { return Ok(None) };
        let invalid = |error: &dyn std::fmt::Display| {
            WatchEnd::TemporaryError(invalid_response(&self.cluster.endpoint, &self.path, error))
        };
        let mut event = json::parse_object(&line).map_err(|error| invalid(&error))?;
        let kind = event.get("type").and_then(Node::as_str).unwrap_or_default().to_string();
        let object = event.as_map_mut().and_then(|event| event.remove("object"));
        let object = object.ok_or_else(|| invalid(&"the event has no object"))?;
        if kind == "ERROR" {
            return Err(WatchEnd::ListAgain);
        }
        let version = object.get_path(&["metadata", "resourceVersion"]).and_then(Node::as_str);
        let version = version.ok_or_else(|| invalid(&"the object has no resource version"))?.to_string();
        let change = match kind.as_str() {
            "ADDED" | "MODIFIED" => WatchedChange::Updated(object),
            "DELETED" => WatchedChange::Deleted(object),
            _ => WatchedChange::None,
        };
        Ok(Some((change, version)))
    }

    /// Returns the next non-empty line. An incomplete line at the end is ignored.
    async fn line(&mut self) -> Result<Option<Vec<u8>>, WatchEnd> {
        loop {
            if let Some(end) =
                memchr::memchr(b'\n', &self.buffer[self.searched..]).map(|at| self.searched + at)
            {
                let rest = self.buffer.split_off(end + 1);
                let line = std::mem::replace(&mut self.buffer, rest);
                self.searched = 0;
                if line.trim_ascii().is_empty() {
                    continue;
                }
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.searched > MAX_OBJECT {
                return Err(WatchEnd::TemporaryError(response_too_large(
                    &self.cluster.endpoint,
                    &self.path,
                    MAX_OBJECT,
                )));
            }
            let body = &mut self.body;
            let frame =
                timeout(self.timeout_after, poll_fn(|context| Pin::new(&mut *body).poll_frame(context)))
                    .await;
            match frame {
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                // However the connection ended, the next watch continues from the last version.
                Ok(None | Some(Err(_))) | Err(_) => return Ok(None),
            }
        }
    }
}
