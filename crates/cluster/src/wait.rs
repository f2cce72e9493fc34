//! Waiting until CRDs can be used.

use std::time::Duration;

use tokio::time::Instant;

use super::client::Cluster;
use super::exchange::Ask;
use super::failure::not_understood;
use super::json;
use super::mapping::definition_path;
use super::status::{conditions, says};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Node;

/// How far a CRD is.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Established,
    Waiting,
    /// Its names are taken; this does not pass by waiting.
    Refused(String),
}

/// The progress of a CRD by its conditions.
///
/// # Errors
/// The conditions are malformed.
fn progress(definition: &Node) -> std::result::Result<Progress, String> {
    let conditions = conditions(definition)?;
    if says(&conditions, "Established", "True") {
        return Ok(Progress::Established);
    }
    let refused = conditions.iter().find(|one| one.kind == "NamesAccepted" && one.status == "False");
    Ok(refused.map_or(Progress::Waiting, |one| Progress::Refused(one.message.into())))
}

/// The first and the longest pause between two looks.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

impl Cluster {
    /// Waits until a CRD is established.
    pub(super) async fn established(&self, name: &str, limit: Duration) -> Result<()> {
        let ask = Ask::get(definition_path(name));
        let (start, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            let definition = self.read_with(json::read_object, &self.answer(&ask).await?)?;
            let progress = progress(&definition);
            match progress.map_err(|error| not_understood(&self.endpoint, &ask.path, &error))? {
                Progress::Established => return Ok(()),
                Progress::Refused(reason) => {
                    let message = format!("the server does not accept its names: {reason}");
                    return Err(Diagnostic::error(Code::Remote, message));
                }
                Progress::Waiting if start.elapsed() >= limit => {
                    let message = format!("it was not established within {limit:?}");
                    return Err(Diagnostic::error(Code::Remote, message));
                }
                Progress::Waiting => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_say_how_far_it_is() {
        let table = [
            (r#"{"metadata":{}}"#, Progress::Waiting),
            (r#"{"status":{"conditions":null}}"#, Progress::Waiting),
            (r#"{"status":{"conditions":[{"type":"Established","status":"False"}]}}"#, Progress::Waiting),
            (
                r#"{"status":{"conditions":[{"type":"NamesAccepted","status":"True"},
                    {"type":"Established","status":"True","message":"ok"}]}}"#,
                Progress::Established,
            ),
            (
                r#"{"status":{"conditions":[{"type":"NamesAccepted","status":"False","message":"taken"}]}}"#,
                Progress::Refused("taken".into()),
            ),
        ];
        for (text, want) in table {
            let definition = json::read(text.as_bytes()).expect(text);
            assert_eq!(progress(&definition), Ok(want), "{text}");
        }
    }
}
