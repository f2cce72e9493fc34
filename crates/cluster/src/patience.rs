//! How long an answer is waited for.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;

/// How long a server may be silent when no other limit is given.
const SILENCE: Duration = Duration::from_secs(30);

/// How long an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Until nothing was heard for so long.
    Silence(Duration),
    /// So long in all, with all that is sent again.
    Total(Duration),
    Endless,
}

impl Patience {
    /// From `--request-timeout`, of which zero is no limit.
    pub(super) fn new(limit: Option<Duration>) -> Self {
        match limit {
            None => Self::Silence(SILENCE),
            Some(Duration::ZERO) => Self::Endless,
            Some(limit) => Self::Total(limit),
        }
    }

    /// The most that a request may take in all, if there is such a limit.
    pub(super) fn total(self) -> Option<Duration> {
        match self {
            Self::Total(limit) => Some(limit),
            Self::Silence(_) | Self::Endless => None,
        }
    }

    /// How long a request without a limit in all is sent again.
    pub(super) fn again_within(self) -> Option<Duration> {
        match self {
            Self::Silence(limit) => Some(2 * limit),
            Self::Total(_) | Self::Endless => None,
        }
    }

    /// Waits for the next sign of life.
    pub(super) async fn hear<T>(self, future: impl Future<Output = T>) -> std::result::Result<T, Duration> {
        match self {
            Self::Silence(limit) => timeout(limit, future).await.map_err(|_| limit),
            Self::Total(_) | Self::Endless => Ok(future.await),
        }
    }
}
