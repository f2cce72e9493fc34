//! Faults of requests, and the log of requests.

use std::fmt::{self, Write as _};
use std::time::Duration;

use crate::resources::Verb;

/// A request that the cluster received.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedRequest {
    /// The verb; `None` for requests that do not refer to objects.
    pub verb: Option<Verb>,
    /// The kind of the objects; empty for other requests.
    pub kind: String,
    /// The path, including the query.
    pub path: String,
    /// The status of the response; 0 if a fault closed the connection.
    pub code: u16,
    /// The field manager: from the query, or the first word of the user agent.
    pub manager: String,
}

impl fmt::Display for LoggedRequest {
    /// Formats a line such as `patch 200 /api/v1/namespaces/default/configmaps/a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<16} {} {}", self.verb.map_or("-", Verb::name), self.code, self.path)
    }
}

/// Returns requests as a table.
pub(crate) fn table(requests: &[LoggedRequest]) -> String {
    let header = ["VERB", "STATUS", "KIND", "MANAGER", "PATH"].map(String::from);
    let row = |one: &LoggedRequest| {
        let code = if one.code == 0 { "dropped".into() } else { one.code.to_string() };
        let or_dash = |text: &str| if text.is_empty() { "-".into() } else { text.to_string() };
        [
            one.verb.map_or("-", Verb::name).into(),
            code,
            or_dash(&one.kind),
            or_dash(&one.manager),
            one.path.clone(),
        ]
    };
    let rows: Vec<[String; 5]> = std::iter::once(header).chain(requests.iter().map(row)).collect();
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    rows.iter().fold(String::new(), |mut text, [verb, code, kind, manager, path]| {
        let [a, b, c, d, _] = widths;
        let _ = writeln!(text, "{verb:<a$}  {code:<b$}  {kind:<c$}  {manager:<d$}  {path}");
        text
    })
}

/// The effect of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Effect {
    /// The request is answered normally.
    #[default]
    None,
    /// The response is a failure with this code. The request has no effect.
    Reply(u16),
    /// The connection is closed before the request arrives. The request has no effect.
    DropRequest,
    /// The connection is closed before the response arrives. The request takes effect.
    DropResponse,
    /// The connection is closed in the middle of the response.
    Cut,
    /// Reads return the objects of a resource version.
    Stale(u64),
    /// A watch ends after this number of events.
    EndWatch(usize),
}

/// The response to matching requests, instead of the normal one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fault {
    pub(crate) verb: Option<Verb>,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) times: usize,
    pub(crate) delay: Duration,
    pub(crate) effect: Effect,
}

/// Returns the fault for a request, and counts its use.
pub(crate) fn take(faults: &mut [Fault], verb: Verb, kind: &str, name: &str) -> Option<Fault> {
    let is_meant = |fault: &&mut Fault| {
        fault.times > 0
            && fault.verb.is_none_or(|wanted| wanted == verb)
            && (fault.kind.is_empty() || fault.kind == kind)
            && (fault.name.is_empty() || fault.name == name)
    };
    let fault = faults.iter_mut().find(is_meant)?;
    fault.times -= 1;
    Some(fault.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_printed_as_a_table() {
        let one = LoggedRequest {
            verb: Some(Verb::Patch),
            kind: "Pod".into(),
            path: "/api/v1/namespaces/a/pods/b".into(),
            code: 200,
            manager: "controller".into(),
        };
        let other = LoggedRequest {
            verb: None,
            kind: String::new(),
            path: "/version".into(),
            code: 0,
            ..one.clone()
        };
        let text = table(&[one, other]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "VERB   STATUS   KIND  MANAGER     PATH");
        assert_eq!(lines[1], "patch  200      Pod   controller  /api/v1/namespaces/a/pods/b");
        assert_eq!(lines[2], "-      dropped  -     controller  /version");
    }
}
