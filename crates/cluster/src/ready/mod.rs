//! Waits until objects are ready, with one list and one watch request for each kind and namespace.
//!
//! `status` computes the readiness of a single object. This module collects the required state. Progress is reported
//! through a callback.

mod collections;
mod events;
mod logs;
mod options;
mod pod_problem;
mod related;
mod tracker;

use std::time::Duration;

use rustc_hash::FxHashMap;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout_at};

use super::apply::{KindFilter, check_kind_exists};
use super::client::Cluster;
use super::json;
use super::mapping::ResourceMapping;
use super::plan::{ObjectPlan, ObjectTarget, fail_before_sending};
use super::request::ApiRequest;
use super::status::{MissingStatus, READY, ReadyRule};
use super::watch::{WatchEvent, watch_collections};
use collections::WatchedCollections;
use events::WaitReport;
pub use events::{WaitEnd, WaitEvent, WaitResult, WaitedObject};
pub use options::{FAILURE_GRACE, ReadinessLevel, WAIT_TIMEOUT, WaitOptions};
pub use pod_problem::{ContainerExit, PodProblem, WarningEvent};
use smp_merge::schema::{Gvk, Schema};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::yaml::Node;
use tracker::{FIRST_EVALUATION, ReadinessTracker, TrackerOptions};

/// Waits until all objects are ready, an object has failed, or the wait times out.
///
/// The objects are read from the server by kind, namespace and name. The other fields of the resources are ignored.
/// Continue with further steps only if [`WaitResult::is_ready`] returns true.
///
/// # Errors
/// The server cannot be queried, an object cannot be mapped to an API resource, or its annotation
/// [`READY`](crate::READY) is invalid. Later errors are part of the result.
pub fn wait_until_ready(
    cluster: &Cluster,
    resources: &[Resource],
    options: &WaitOptions,
    report: WaitReport<'_>,
) -> Result<WaitResult> {
    options.stop.iter().for_each(|stop| cluster.set_interrupt(stop));
    cluster.block_on(async {
        let limit = if options.timeout.is_zero() { FIRST_EVALUATION } else { options.timeout };
        let until = Instant::now() + limit;
        let plan = before(until, ObjectPlan::resolve(cluster, resources)).await??;
        plan.require_mappings(cluster)?;
        check_ready_rules(resources)?;
        let kinds = KindFilter::new(&options.kinds, &plan);
        for word in &kinds.unmatched {
            report(WaitEvent::Warning(&format!("none of the objects is of the kind `{word}`")));
        }
        let is_selected =
            |target: &&ObjectTarget<'_>| options.kinds.is_empty() || kinds.contains(&target.object.gvk);
        let targets: Vec<&ObjectTarget<'_>> = plan.targets.iter().filter(is_selected).collect();
        if targets.is_empty() && !kinds.unmatched.is_empty() {
            // Otherwise a misspelled kind would be treated as ready, and a later prune would run.
            return Err(nothing_to_wait_for());
        }
        let without = before(until, without_status(cluster, &targets, options.level)).await?;
        let outlook = WatchedCollections::new(&targets);
        let judge = ReadinessTracker::new(&targets, &outlook, &without, TrackerOptions::new(options), report);
        let mut result = watch_collections(cluster, &outlook.collections, |seen| judged(judge, seen)).await;
        if result.end != WaitEnd::Interrupted {
            logs::read_logs(cluster, resources, &mut result).await;
        }
        Ok(result)
    })
}

/// Awaits requests that are sent before the first evaluation.
///
/// # Errors
/// The requests take too long.
async fn before<T>(until: Instant, requests: impl Future<Output = T>) -> Result<T> {
    timeout_at(until, requests).await.map_err(|_| {
        let message = "the wait timed out while reading kinds and CRDs from the server";
        Diagnostic::error(Code::NotReady, message)
            .help("check the connection to the server, or use a longer --timeout")
    })
}

fn nothing_to_wait_for() -> Diagnostic {
    let message = "nothing to wait for: none of the objects is of the given kinds";
    Diagnostic::error(Code::NoMatch, message).help("specify kinds of the applied objects")
}

/// Validates the kinds to wait for, before anything is applied. `flag` is the flag with the kinds. If there are none,
/// all kinds are waited for.
///
/// # Errors
/// Neither the objects nor the server have a kind, or no object is of these kinds.
pub fn check_wait_kinds(
    cluster: &Cluster,
    resources: &[Resource],
    flag: &str,
    kinds: &[String],
) -> Result<()> {
    if kinds.is_empty() {
        return Ok(());
    }
    cluster.block_on(async {
        let plan = ObjectPlan::resolve(cluster, resources).await?;
        let (words, mut problems) = (KindFilter::new(kinds, &plan), Problems::default());
        for word in &words.unmatched {
            check_kind_exists(cluster, flag, word)
                .await?
                .into_iter()
                .for_each(|problem| problems.add(problem));
        }
        fail_before_sending(problems)?;
        let is_awaited = plan.targets.iter().any(|target| words.contains(&target.object.gvk));
        if is_awaited { Ok(()) } else { Err(nothing_to_wait_for().note("nothing was sent to the cluster")) }
    })
}

/// Validates the annotations [`READY`](crate::READY) of resources, before anything is applied or waited for.
///
/// # Errors
/// All errors of invalid annotations.
pub(crate) fn check_ready_rules(resources: &[Resource]) -> Result<()> {
    let mut problems = Problems::default();
    for resource in resources {
        let Some(Err(why)) = ReadyRule::from_annotation(resource.node()) else { continue };
        let span = resource.node().get_path(&["metadata", "annotations", READY]).map(Node::span);
        let message = format!("invalid annotation {READY}: {why}");
        let problem = Diagnostic::error(Code::InvalidValue, message).resource(resource.id());
        problems.add(problem.at(span.unwrap_or_default()));
    }
    problems.into_result(())
}

/// Interval of evaluations.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

async fn judged(
    mut judge: ReadinessTracker<'_>,
    mut seen: UnboundedReceiver<(usize, WatchEvent)>,
) -> WaitResult {
    let mut tick = Instant::now();
    loop {
        if let Ok(Some((collection, sight))) = timeout_at(tick, seen.recv()).await {
            judge.handle(collection, sight);
            // All events that have arrived are processed before the evaluation.
            while let Ok((collection, sight)) = seen.try_recv() {
                judge.handle(collection, sight);
            }
        }
        if Instant::now() >= tick {
            tick = Instant::now() + POLL_INTERVAL;
            judge.evaluate();
        }
        if let Some(end) = judge.end_reason() {
            return judge.into_result(end);
        }
    }
}

/// Returns how to treat objects without a status, for each kind.
async fn without_status(
    cluster: &Cluster,
    targets: &[&ObjectTarget<'_>],
    strictness: ReadinessLevel,
) -> FxHashMap<Gvk, MissingStatus> {
    let mut found = FxHashMap::default();
    if strictness == ReadinessLevel::Kstatus {
        return found;
    }
    let built_in = Schema::embedded();
    for mapping in targets.iter().filter_map(|target| target.mapping.as_ref()) {
        if !found.contains_key(&mapping.gvk) && built_in.kind(&mapping.gvk).is_none() {
            let without = if has_status(cluster, mapping).await {
                MissingStatus::Unknown
            } else {
                MissingStatus::Current
            };
            found.insert(mapping.gvk.clone(), without);
        }
    }
    found
}

/// Returns true if the CRD of a kind has a status subresource or cannot be read.
async fn has_status(cluster: &Cluster, mapping: &ResourceMapping) -> bool {
    let Ok(answer) = cluster.get(&ApiRequest::object(mapping.crd_path())).await else { return true };
    let Ok(crd) = json::parse_object(&answer.body) else { return true };
    let versions = crd.get_path(&["spec", "versions"]).and_then(Node::as_list).into_iter().flatten();
    let mut same_version = versions
        .filter(|version| version.get("name").and_then(Node::as_str) == Some(mapping.gvk.version.as_str()));
    same_version.next().is_none_or(|version| version.get_path(&["subresources", "status"]).is_some())
}
