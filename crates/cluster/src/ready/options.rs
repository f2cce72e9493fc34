//! Options of a wait.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Default time to wait for objects.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(300);

/// Default grace period for failures that may be temporary.
pub const FAILURE_GRACE: Duration = Duration::from_secs(60);

/// Requirements for ready objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReadinessLevel {
    /// The requirements of kstatus.
    #[default]
    Kstatus,
    /// In addition, the controller of a custom resource must have set its status, if its CRD has a status.
    RequireController,
}

/// Options of [`wait_until_ready`](super::wait_until_ready).
#[derive(Debug, Clone)]
pub struct WaitOptions {
    /// The kinds to wait for: by kind, plural or short name, with or without `.group`. If the list is empty, all kinds
    /// are waited for.
    pub kinds: Vec<String>,
    /// The maximum time to wait. Zero evaluates the objects once.
    pub timeout: Duration,
    /// Grace period for failures that may be temporary: image pull errors, crash loops, unschedulable Pods, and
    /// conditions `Stalled` without observed generation.
    pub failure_grace: Duration,
    /// Requirements for ready objects.
    pub level: ReadinessLevel,
    /// The interrupt flag. When it becomes true, the wait ends.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for WaitOptions {
    fn default() -> Self {
        Self {
            kinds: Vec::new(),
            timeout: WAIT_TIMEOUT,
            failure_grace: FAILURE_GRACE,
            level: ReadinessLevel::Kstatus,
            stop: None,
        }
    }
}
