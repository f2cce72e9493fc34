//! State shared by all requests of a server.

use std::sync::Arc;

use tokio::sync::broadcast;

use super::super::{Event, Session};
use super::access::Access;

/// State shared by all requests.
pub(super) struct Shared {
    pub(super) session: Arc<Session>,
    pub(super) access: Access,
    pub(super) events: broadcast::Sender<Event>,
    pub(super) port: u16,
}
