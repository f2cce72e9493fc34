//! State shared by all requests of a server.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;

use super::super::{Event, Session};
use super::access::Access;

/// The time limit for the head and for the body of a request, and for the next request on a connection.
pub(super) const REQUEST_TIME: Duration = Duration::from_secs(10);

/// State shared by all requests.
pub(super) struct Shared {
    pub(super) session: Arc<Session>,
    pub(super) access: Access,
    pub(super) events: broadcast::Sender<Event>,
    pub(super) port: u16,
}
