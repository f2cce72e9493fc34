//! Waiting until CRDs are established.

use std::time::Duration;

use tokio::time::Instant;

use super::client::Cluster;
use super::errors::invalid_response;
use super::json;
use super::mapping::crd_path;
use super::request::ApiRequest;
use super::status::{conditions, has_condition};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Node;

/// State of a CRD.
#[derive(Debug, PartialEq, Eq)]
enum CrdState {
    Established,
    Waiting,
    /// Its names conflict with another CRD. Waiting does not help.
    NamesRejected(String),
}

/// Returns the state of a CRD from its conditions.
///
/// # Errors
/// The conditions are malformed.
fn crd_state(definition: &Node) -> std::result::Result<CrdState, String> {
    let conditions = conditions(definition)?;
    if has_condition(&conditions, "Established", "True") {
        return Ok(CrdState::Established);
    }
    let rejected =
        conditions.iter().find(|one| one.condition_type == "NamesAccepted" && one.status == "False");
    Ok(rejected.map_or(CrdState::Waiting, |one| CrdState::NamesRejected(one.message.into())))
}

/// Returns true if the conditions of a CRD say that its custom resources are served.
pub(super) fn is_established(definition: &Node) -> bool {
    crd_state(definition) == Ok(CrdState::Established)
}

/// The first and the longest pause between requests.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

impl Cluster {
    /// Waits until a CRD is established.
    pub(super) async fn wait_until_established(&self, name: &str, limit: Duration) -> Result<()> {
        let request = ApiRequest::get(crd_path(name));
        let (start, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            let definition = self.parse_response(json::parse_object, &self.get(&request).await?)?;
            let crd_state = crd_state(&definition);
            match crd_state.map_err(|error| invalid_response(&self.endpoint, &request.path, &error))? {
                CrdState::Established => return Ok(()),
                CrdState::NamesRejected(reason) => {
                    let message = format!("the server does not accept the names of the CRD: {reason}");
                    return Err(Diagnostic::error(Code::Remote, message));
                }
                CrdState::Waiting if start.elapsed() >= limit => {
                    let message = format!("the CRD was not established within {limit:?}");
                    return Err(Diagnostic::error(Code::Remote, message));
                }
                CrdState::Waiting => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_read_from_conditions() {
        let table = [
            (r#"{"metadata":{}}"#, CrdState::Waiting),
            (r#"{"status":{"conditions":null}}"#, CrdState::Waiting),
            (r#"{"status":{"conditions":[{"type":"Established","status":"False"}]}}"#, CrdState::Waiting),
            (
                r#"{"status":{"conditions":[{"type":"NamesAccepted","status":"True"},
                    {"type":"Established","status":"True","message":"ok"}]}}"#,
                CrdState::Established,
            ),
            (
                r#"{"status":{"conditions":[{"type":"NamesAccepted","status":"False","message":"taken"}]}}"#,
                CrdState::NamesRejected("taken".into()),
            ),
        ];
        for (text, want) in table {
            let definition = json::parse(text.as_bytes()).expect(text);
            assert_eq!(crd_state(&definition), Ok(want), "{text}");
        }
    }
}
