//! Faults of requests, and the log of requests.

use std::fmt;
use std::time::Duration;

use crate::resources::Verb;

/// A request that the cluster answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedRequest {
    /// The verb; `None` for requests that are not about objects.
    pub verb: Option<Verb>,
    /// The kind of the objects; empty for other requests.
    pub kind: String,
    /// The path with its query.
    pub path: String,
    /// The status of the response.
    pub code: u16,
}

impl fmt::Display for LoggedRequest {
    /// Formats a line such as `patch 200 /api/v1/namespaces/default/configmaps/a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<16} {} {}", self.verb.map_or("-", Verb::name), self.code, self.path)
    }
}

/// The response to requests that match, instead of the usual one.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) verb: Verb,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) times: usize,
    pub(crate) delay: Duration,
    pub(crate) code: Option<u16>,
}

/// Returns the fault for a request, and counts it.
pub(crate) fn take(faults: &mut [Fault], verb: Verb, kind: &str, name: &str) -> Option<Fault> {
    let is_meant = |fault: &&mut Fault| {
        fault.times > 0
            && fault.verb == verb
            && (fault.kind.is_empty() || fault.kind == kind)
            && (fault.name.is_empty() || fault.name == name)
    };
    let fault = faults.iter_mut().find(is_meant)?;
    fault.times -= 1;
    Some(fault.clone())
}
