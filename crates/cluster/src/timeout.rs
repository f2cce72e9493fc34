//! Request timeouts.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;

/// Maximum time without data from the server if no other limit is set.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The time limit of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestTimeout {
    /// Maximum time without data from the server.
    Idle(Duration),
    /// Maximum total time, including retries.
    Total(Duration),
    Unlimited,
}

impl RequestTimeout {
    /// Converts `--request-timeout`, where zero means no limit.
    pub(super) fn new(limit: Option<Duration>) -> Self {
        match limit {
            None => Self::Idle(IDLE_TIMEOUT),
            Some(Duration::ZERO) => Self::Unlimited,
            Some(limit) => Self::Total(limit),
        }
    }

    /// Returns the limit of the total time, if any.
    pub(super) fn total(self) -> Option<Duration> {
        match self {
            Self::Total(limit) => Some(limit),
            Self::Idle(_) | Self::Unlimited => None,
        }
    }

    /// Returns the time within which a request without a total limit is retried.
    pub(super) fn retry_window(self) -> Option<Duration> {
        match self {
            Self::Idle(limit) => Some(2 * limit),
            Self::Total(_) | Self::Unlimited => None,
        }
    }

    /// Waits for a future, at most for the time in which the server may send nothing.
    pub(super) async fn idle_limited<T>(
        self,
        future: impl Future<Output = T>,
    ) -> std::result::Result<T, Duration> {
        match self {
            Self::Idle(limit) => timeout(limit, future).await.map_err(|_| limit),
            Self::Total(_) | Self::Unlimited => Ok(future.await),
        }
    }
}
