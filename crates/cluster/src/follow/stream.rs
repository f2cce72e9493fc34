//! One watch: its connection, its lines, and what they say.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use http::header;
use http_body::Body as _;
use kube::client::Body;
use tokio::time::timeout;

use super::collection::Collection;
use crate::client::{Cluster, LoggedIn};
use crate::exchange::MAX_OBJECT;
use crate::failure::{no_answer, not_understood, too_late, too_long};
use crate::json;
use smp_text::diagnostic::Diagnostic;
use smp_text::yaml::Node;

/// How long a watch may live before it is opened anew. A server says nothing while nothing changes: a connection that
/// is dead on one side only would be waited for without end.
const LIFE: Duration = Duration::from_secs(50);

/// How much later than that its end may come.
const LATE: Duration = Duration::from_secs(5);

/// A change of an object.
#[derive(Debug)]
pub(super) enum WatchedChange {
    Now(Node),
    Gone(Node),
    /// Only the version is another one.
    None,
}

/// Why a watch does not go on from where it was.
#[derive(Debug)]
pub(super) enum WatchEnd {
    /// The server does not go on from there; a list tells what is so, or what is wrong.
    Again,
    Lost(Diagnostic),
}

/// The changes after a version.
pub(super) struct WatchStream<'a> {
    cluster: &'a Cluster,
    path: String,
    body: Body,
    /// What came of the next line.
    begun: Vec<u8>,
    /// Up to where that has no end of line.
    looked: usize,
    silence: Duration,
}

impl<'a> WatchStream<'a> {
    pub(super) async fn open(
        cluster: &'a Cluster,
        collection: &Collection,
        version: &str,
    ) -> Result<Self, WatchEnd> {
        let life = cluster.patience.total().map_or(LIFE, |limit| limit.clamp(Duration::from_secs(1), LIFE));
        let path = collection.watch_path(version, life);
        let request = http::Request::get(&path)
            .header(header::ACCEPT, collection.content.of_changes())
            // Compressed, changes would come late, and some servers compress each by itself.
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Body::empty());
        let request =
            request.map_err(|error| WatchEnd::Lost(not_understood(&cluster.endpoint, &path, &error)))?;
        let silence = life + LATE;
        let LoggedIn { client, times } = cluster.logged_in();
        let response = match timeout(silence, client.send(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(WatchEnd::Lost(no_answer(&cluster.endpoint, &error))),
            Err(_) => return Err(WatchEnd::Lost(too_late(&cluster.endpoint, silence))),
        };
        match response.status().as_u16() {
            200 => {}
            401 => {
                cluster.log_in_again(times).await.map_err(WatchEnd::Lost)?;
                return Err(WatchEnd::Again);
            }
            _ => return Err(WatchEnd::Again),
        }
        Ok(Self { cluster, path, body: response.into_body(), begun: Vec::new(), looked: 0, silence })
    }

    /// The next change and its version; none when the server has ended the watch.
    pub(super) async fn next(&mut self) -> Result<Option<(WatchedChange, String)>, WatchEnd> {
        let Some(line) = self.line().await? else { return Ok(None) };
        let strange = |error: &dyn std::fmt::Display| {
            WatchEnd::Lost(not_understood(&self.cluster.endpoint, &self.path, error))
        };
        let mut event = json::read_object(&line).map_err(|error| strange(&error))?;
        let kind = event.get("type").and_then(Node::as_str).unwrap_or_default().to_string();
        let object = event.as_map_mut().and_then(|event| event.remove("object"));
        let object = object.ok_or_else(|| strange(&"it has no object"))?;
        if kind == "ERROR" {
            return Err(WatchEnd::Again);
        }
        let version = object.get_path(&["metadata", "resourceVersion"]).and_then(Node::as_str);
        let version = version.ok_or_else(|| strange(&"it has no version"))?.to_string();
        let change = match kind.as_str() {
            "ADDED" | "MODIFIED" => WatchedChange::Now(object),
            "DELETED" => WatchedChange::Gone(object),
            _ => WatchedChange::None,
        };
        Ok(Some((change, version)))
    }

    /// The next line that is not empty. What has no end when the server ends is none.
    async fn line(&mut self) -> Result<Option<Vec<u8>>, WatchEnd> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.begun[self.looked..]).map(|at| self.looked + at) {
                let rest = self.begun.split_off(end + 1);
                let line = std::mem::replace(&mut self.begun, rest);
                self.looked = 0;
                if line.trim_ascii().is_empty() {
                    continue;
                }
                return Ok(Some(line));
            }
            self.looked = self.begun.len();
            if self.looked > MAX_OBJECT {
                return Err(WatchEnd::Lost(too_long(&self.cluster.endpoint, &self.path, MAX_OBJECT)));
            }
            let body = &mut self.body;
            let frame =
                timeout(self.silence, poll_fn(|context| Pin::new(&mut *body).poll_frame(context))).await;
            match frame {
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.begun.extend_from_slice(&data);
                    }
                }
                // However it ends, what follows is asked for from here on.
                Ok(None | Some(Err(_))) | Err(_) => return Ok(None),
            }
        }
    }
}
