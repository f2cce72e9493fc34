//! The last log lines of containers that ended with an error.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::events::WaitResult;
use super::pod_problem::PodProblem;
use crate::client::Cluster;
use crate::mapping::encode_segment;
use crate::request::ApiRequest;
use smp_overlay::resource::{Resource, secret_values};
use smp_text::source::SecretValues;

/// Maximum number of logs that are read.
const MAX_LOGS: usize = 10;

/// The maximum number of lines of a log.
const MAX_LOG_LINES: usize = 10;
const MAX_LOG_BYTES: usize = 8 << 10;

/// The maximum time for all logs. A kubelet may be unreachable.
const LOG_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the logs of the first problems. Values of the Secrets among the resources are masked. Logs that cannot be read
/// are skipped, since they are optional.
pub(super) async fn read_logs(cluster: &Cluster, resources: &[Resource], result: &mut WaitResult) {
    let secrets = secret_values(resources.iter().map(Resource::node));
    let objects = result.failed.iter_mut().chain(&mut result.unready);
    let problems = objects.filter_map(|one| {
        let namespace = one.object.namespace.clone();
        let problem = one.problems.iter_mut().find(|problem| problem.exit.is_some())?;
        Some((namespace, problem))
    });
    let until = Instant::now() + LOG_TIMEOUT;
    for (namespace, problem) in problems.take(MAX_LOGS) {
        let read = timeout_at(until, log_lines(cluster, &namespace, problem, &secrets)).await;
        problem.log = read.ok().flatten().unwrap_or_default();
    }
}

async fn log_lines(
    cluster: &Cluster,
    namespace: &str,
    problem: &PodProblem,
    secrets: &SecretValues,
) -> Option<Vec<String>> {
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}/log?container={}&tailLines={MAX_LOG_LINES}&limitBytes={MAX_LOG_BYTES}&previous={}",
        encode_segment(namespace),
        encode_segment(&problem.pod),
        encode_segment(problem.container.as_deref()?),
        // A container that is about to be restarted has no log of its own yet.
        problem.reason.ends_with("BackOff"),
    );
    let response = cluster.send(&ApiRequest::get(path)).await.ok()?.into_result().ok()?;
    let text = String::from_utf8_lossy(&response.body);
    let masked = secrets.mask(&text);
    Some(masked.lines().take(MAX_LOG_LINES).map(str::to_string).collect())
}
