//! Waiting until CRDs can be used.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use super::client::Cluster;
use super::exchange::Ask;
use super::json::or_default;
use super::mapping::definition_path;
use smp_text::diagnostic::{Code, Diagnostic, Result};

#[derive(Debug, Deserialize)]
struct Definition {
    #[serde(default, deserialize_with = "or_default")]
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
struct Status {
    #[serde(default, deserialize_with = "or_default")]
    conditions: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(default)]
    message: String,
}

/// How far a CRD is.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Established,
    Waiting,
    /// Its names are taken; this does not pass by waiting.
    Refused(String),
}

impl Definition {
    fn progress(&self) -> Progress {
        let is = |kind, status| move |c: &&Condition| c.kind == kind && c.status == status;
        let conditions = || self.status.conditions.iter();
        if conditions().any(|c| is("Established", "True")(&c)) {
            return Progress::Established;
        }
        match conditions().find(is("NamesAccepted", "False")) {
            Some(condition) => Progress::Refused(condition.message.clone()),
            None => Progress::Waiting,
        }
    }
}

/// The first and the longest pause between two looks.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

impl Cluster {
    /// Waits until a CRD is established.
    pub(super) async fn established(&self, name: &str, limit: Duration) -> Result<()> {
        let ask = Ask::get(definition_path(name));
        let (start, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            match self.get_json::<Definition>(&ask).await?.progress() {
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
            let definition: Definition = serde_json::from_str(text).expect(text);
            assert_eq!(definition.progress(), want, "{text}");
        }
    }
}
