//! The time of the cluster: the system time, or a fixed time that tests advance.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use smp_merge::managed_fields::Timestamp;

/// The source of times such as `creationTimestamp`.
///
/// ```
/// use kubernetes_test_server::Clock;
/// use std::time::Duration;
///
/// let clock = Clock::fixed("2026-01-01T00:00:00Z");
/// clock.advance(Duration::from_secs(90));
/// assert_eq!(clock.now(), "2026-01-01T00:01:30Z");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// The seconds of a fixed time, shared by all clones.
    fixed: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// Returns the clock of the system.
    #[must_use]
    pub fn system() -> Self {
        Self::default()
    }

    /// Returns a clock with a fixed time in RFC 3339, which tests can advance. Text that is not an RFC 3339 time is
    /// treated as 1970-01-01.
    #[must_use]
    pub fn fixed(time: &str) -> Self {
        let seconds = Timestamp::parse(time).map_or(0, Timestamp::seconds);
        Self { fixed: Some(Arc::new(AtomicI64::new(seconds))) }
    }

    /// Advances a fixed time. Does nothing to the system clock.
    pub fn advance(&self, by: Duration) {
        if let Some(fixed) = &self.fixed {
            fixed.fetch_add(i64::try_from(by.as_secs()).unwrap_or(i64::MAX), Ordering::SeqCst);
        }
    }

    /// Returns the time in RFC 3339.
    #[must_use]
    pub fn now(&self) -> String {
        self.after(0)
    }

    /// Returns the time some seconds from now.
    pub(crate) fn after(&self, seconds: i64) -> String {
        Timestamp::from_seconds(self.seconds().saturating_add(seconds)).to_string()
    }

    pub(crate) fn seconds(&self) -> i64 {
        match &self.fixed {
            Some(fixed) => fixed.load(Ordering::SeqCst),
            None => SystemTime::UNIX_EPOCH
                .elapsed()
                .map_or(0, |elapsed| i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX)),
        }
    }
}
