//! How objects are waited for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long objects are waited for when nothing else is said.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(300);

/// How long what may still pass is not taken for a failure when nothing else is said.
pub const FAILURE_GRACE: Duration = Duration::from_secs(60);

/// What an object must say of itself to be ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Strictness {
    /// What kstatus asks for.
    #[default]
    Kstatus,
    /// Also that the controller of a custom resource was seen, where its CRD has a status.
    ControllerSeen,
}

/// How to wait.
#[derive(Debug, Clone)]
pub struct WaitOptions {
    /// The kinds that are waited for, as people name them: by kind, plural or short name, with or without `.group`;
    /// none is all.
    pub kinds: Vec<String>,
    /// How long to wait in all; zero looks once.
    pub timeout: Duration,
    /// How long images that cannot be pulled, containers that crash, Pods without a node and a condition Stalled of
    /// nobody knows which generation are not taken for failures.
    pub failure_grace: Duration,
    /// What is ready.
    pub strictness: Strictness,
    /// When it is set, nothing is waited for any more.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for WaitOptions {
    fn default() -> Self {
        Self {
            kinds: Vec::new(),
            timeout: WAIT_TIMEOUT,
            failure_grace: FAILURE_GRACE,
            strictness: Strictness::Kstatus,
            stop: None,
        }
    }
}
