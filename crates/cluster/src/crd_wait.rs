//! Waits until CRDs are established.

use std::time::Duration;

use futures::StreamExt as _;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;
use tokio::time::Instant;

use super::client::Cluster;
use super::errors::invalid_response;
use super::json;
use super::mapping::{ResourceMapping, crd_path};
use super::request::{ApiRequest, unordered};
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

/// Returns true if the conditions of a CRD show that its custom resources are served.
pub(super) fn is_established(definition: &Node) -> bool {
    crd_state(definition) == Ok(CrdState::Established)
}

/// The shortest and the longest pause between requests.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// The pause is the time since the start, divided by this number: a longer wait needs few requests, and a kind is noticed
/// soon after it is served.
const PAUSE_DIVISOR: u32 = 6;

/// The time after which the conditions of a CRD are first read if its kind is not served yet. Each following interval
/// is four times as long, since a server that is slow to serve kinds is also slow to send large CRDs.
const CONDITIONS_INTERVAL: Duration = Duration::from_secs(1);

/// The CRDs to wait for by name, with the versions of their kinds.
pub(super) type AwaitedCrds = FxHashMap<SmolStr, Vec<ResourceMapping>>;

impl Cluster {
    /// Waits until CRDs are established. Returns the CRDs that are not, with the reasons.
    ///
    /// Reads the discovery document of each group version, which is small and includes many CRDs. The CRDs themselves
    /// may be large. They are only read if the wait takes long.
    pub(super) async fn wait_until_established(
        &self,
        mut awaited: AwaitedCrds,
        limit: Duration,
    ) -> FxHashMap<SmolStr, Diagnostic> {
        let (start, mut failed) = (Instant::now(), FxHashMap::default());
        let (mut last_read, mut interval) = (start, CONDITIONS_INTERVAL);
        loop {
            self.remove_served(&mut awaited).await;
            let is_late = start.elapsed() >= limit;
            if is_late || last_read.elapsed() >= interval {
                let late = is_late.then_some(limit);
                failed.extend(self.failed_crds(&mut awaited, late).await);
                (last_read, interval) = (Instant::now(), interval * 4);
            }
            if awaited.is_empty() {
                return failed;
            }
            let pause = start.elapsed() / PAUSE_DIVISOR;
            tokio::time::sleep(pause.clamp(PAUSES.0, PAUSES.1)).await;
        }
    }

    /// Reads the conditions of CRDs. Removes the CRDs that are established or have failed, and returns the failed ones.
    /// `late` is the time limit if it has been exceeded.
    async fn failed_crds(
        &self,
        awaited: &mut AwaitedCrds,
        late: Option<Duration>,
    ) -> Vec<(SmolStr, Diagnostic)> {
        let states = awaited.keys().cloned().map(|name| async move {
            let state = self.crd_state(&name).await;
            (name, state)
        });
        let states: Vec<_> = unordered(states, PARALLEL_READS).collect().await;
        let mut failed = Vec::new();
        for (name, state) in states {
            let reason = match (state, late) {
                (Ok(CrdState::Waiting), None) => continue,
                (Ok(CrdState::Established), _) => None,
                (Ok(CrdState::Waiting), Some(limit)) => {
                    Some(remote(format!("the CRD was not established within {limit:?}")))
                }
                (Ok(CrdState::NamesRejected(reason)), _) => {
                    Some(remote(format!("the server does not accept the names of the CRD: {reason}")))
                }
                (Err(problem), _) => Some(problem),
            };
            awaited.remove(&name);
            failed.extend(reason.map(|reason| (name, reason)));
        }
        failed
    }

    /// Removes the CRDs of which any version is served, since they are established.
    async fn remove_served(&self, awaited: &mut AwaitedCrds) {
        let paths: FxHashSet<String> = awaited.values().flatten().map(discovery_path).collect();
        let documents = paths.into_iter().map(|path| async move {
            let document: Option<Value> =
                self.find_json(&ApiRequest::object(path.as_str())).await.ok().flatten();
            (path, document.unwrap_or_default())
        });
        let documents: FxHashMap<String, Value> = unordered(documents, PARALLEL_READS).collect().await;
        let is_served = |mapping: &ResourceMapping| {
            let document = documents.get(&discovery_path(mapping));
            let resources = document.and_then(|document| document["resources"].as_array());
            resources.into_iter().flatten().any(|one| one["name"] == mapping.plural.as_str())
        };
        awaited.retain(|_, versions| !versions.iter().any(is_served));
    }

    async fn crd_state(&self, name: &str) -> Result<CrdState> {
        let request = ApiRequest::get(crd_path(name));
        let definition = self.parse_response(json::parse_object, &self.get(&request).await?)?;
        crd_state(&definition).map_err(|error| invalid_response(&self.endpoint, &request.path, &error))
    }
}

fn remote(message: String) -> Diagnostic {
    Diagnostic::error(Code::Remote, message)
}

/// Maximum number of parallel requests.
const PARALLEL_READS: usize = 8;

/// Returns the path of the discovery document of a kind's group version.
fn discovery_path(mapping: &ResourceMapping) -> String {
    format!("/apis/{}/{}", mapping.gvk.group, mapping.gvk.version)
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
