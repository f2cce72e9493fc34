//! What all requests of a server share.

use std::sync::Arc;

use tokio::sync::broadcast;

use super::super::{Event, Session};
use super::access::Access;

/// What all requests share.
pub(super) struct Shared {
    pub(super) session: Arc<Session>,
    pub(super) access: Access,
    pub(super) events: broadcast::Sender<Event>,
    pub(super) port: u16,
}
