//! Applies objects, waits until they are ready, and prunes objects that left their ApplySet, in one call.
//!
//! Defines the order of the steps, and the results that one step passes to the next. `apply`, `ready` and `applyset`
//! contain the steps themselves.

use super::apply::{ApplySummary, Event, ServerSideApplyOptions, apply_members};
use super::applyset::{ApplySetEvent, ApplySetOptions, ApplySetRun, PruneSummary, find_parent_by_id};
use super::client::Cluster;
use super::delete::CompleteWhen;
use super::plan::Object;
use super::ready::{
    WaitEvent, WaitOptions, WaitResult, check_ready_rules, check_wait_kinds, wait_until_ready,
};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Result;

/// Options of [`deploy`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DeployOptions {
    /// Options of the apply. Its `stop` also interrupts the other steps. Its `last_applied` is replaced by that of the
    /// ApplySet's tooling.
    pub apply: ServerSideApplyOptions,
    /// Options of the wait for readiness after the apply; `None` to not wait. With a wait, the run also waits until
    /// pruned objects are gone.
    pub wait: Option<WaitOptions>,
    /// The ApplySet of the objects. Its other members are pruned.
    pub set: Option<ApplySetOptions>,
}

impl DeployOptions {
    /// Returns the options of each step, including those that it gets from another step.
    fn resolved(&self) -> Self {
        let mut options = self.clone();
        let stop = &options.apply.stop;
        if let Some(wait) = &mut options.wait {
            wait.stop = wait.stop.take().or_else(|| stop.clone());
        }
        if let Some(set) = &mut options.set {
            set.prune.stop = set.prune.stop.take().or_else(|| stop.clone());
            options.apply.last_applied = set.tooling.last_applied();
            if let Some(wait) = &options.wait {
                set.prune.done_when = CompleteWhen::Gone(wait.timeout);
            }
        }
        options
    }
}

/// Callback that receives the events of a run.
pub(crate) type DeployReport<'r> = &'r mut (dyn FnMut(DeployEvent<'_>) + Send);

/// Progress of [`deploy`].
#[derive(Debug)]
pub enum DeployEvent<'e> {
    /// Progress of the apply.
    Apply(Event<'e>),
    /// Progress of the wait.
    Wait(WaitEvent<'e>),
    /// The wait has ended.
    Waited(&'e WaitResult),
    /// Objects were members of another ApplySet and no longer are.
    LeftSet(&'e LeftSet),
    /// Progress of the ApplySet, such as pruned objects.
    Set(ApplySetEvent<'e>),
}

/// Objects that were applied without the ApplySet to which they belonged.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LeftSet {
    /// The ID of the ApplySet.
    pub id: String,
    /// Its parent, if it can be read.
    pub parent: Option<Object>,
    /// The objects.
    pub objects: Vec<Object>,
}

/// Result of [`deploy`]. Each step reports its own errors: the objects were applied even if a later step failed.
#[derive(Debug)]
#[non_exhaustive]
pub struct DeploySummary {
    /// Result of the apply.
    pub applied: ApplySummary,
    /// Result of the wait; `None` if it was not requested or not all objects were applied.
    pub waited: Option<Result<WaitResult>>,
    /// Result of the prune; `None` if there is no ApplySet, or not all objects were applied and are ready.
    pub pruned: Option<Result<PruneSummary>>,
}

impl DeploySummary {
    /// Returns true if all requested steps were completed.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.is_ready()
            && self.pruned.as_ref().is_none_or(|end| end.as_ref().is_ok_and(PruneSummary::is_success))
    }

    /// Returns true if all objects were applied and, if the run waited, are ready.
    fn is_ready(&self) -> bool {
        self.applied.is_success()
            && self.waited.as_ref().is_none_or(|end| end.as_ref().is_ok_and(WaitResult::is_ready))
    }
}

/// Applies objects, waits until they are ready, and prunes objects that left their ApplySet.
///
/// Nothing is pruned unless all objects were applied and became ready. Objects that failed must not be treated as
/// removed from the set, and objects that are not ready may still need objects that would be pruned. The resources get
/// the label of the ApplySet.
///
/// ```no_run
/// use smp_cluster::{
///     ApplySetOptions, Cluster, ConnectOptions, DeployEvent, DeployOptions, WaitOptions, deploy,
/// };
/// use smp_overlay::resource::Resource;
/// use smp_merge::schema::Schema;
///
/// let cluster = Cluster::connect(&ConnectOptions::default())?;
/// let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: prod}}".parse()?;
/// let mut resources = [Resource::new(map, &Schema::embedded())?];
/// let mut options = DeployOptions::default();
/// options.wait = Some(WaitOptions::default());
/// options.set = Some(ApplySetOptions::new("shop"));
/// let summary = deploy(&cluster, &mut resources, &options, &mut |event| {
///     if let DeployEvent::Wait(event) = event {
///         eprintln!("{event:?}");
///     }
/// })?;
/// assert!(summary.is_success());
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The options, the objects or the ApplySet are invalid, or the server cannot be reached. No object was applied.
pub fn deploy(
    cluster: &Cluster,
    resources: &mut [Resource],
    options: &DeployOptions,
    report: DeployReport<'_>,
) -> Result<DeploySummary> {
    let DeployOptions { apply: apply_options, wait, set } = options.resolved();
    if let Some(wait) = &wait {
        check_ready_rules(resources)?;
        check_wait_kinds(cluster, resources, "--wait", &wait.kinds)?;
    }
    let mut begin = |set| {
        ApplySetRun::begin(cluster, set, resources, &apply_options, &mut |event| {
            report(DeployEvent::Set(event));
        })
    };
    let mut set = set.map(&mut begin).transpose()?;
    for created in set.iter().flat_map(|set| &set.created_namespaces) {
        report(DeployEvent::Apply(Event::Applied(created)));
    }
    let adoption = set.as_ref().map(ApplySetRun::adoption).unwrap_or_default();
    let mut applying = |event: Event<'_>| {
        if let Some(set) = &mut set {
            set.record(&event);
        }
        report(DeployEvent::Apply(event));
    };
    let applied = apply_members(cluster, resources, &apply_options, &adoption, &mut applying);
    let waited = wait
        .filter(|_| applied.as_ref().is_ok_and(ApplySummary::is_success))
        .map(|wait| waited(cluster, resources, &wait, report));
    let summary = applied.map(|applied| DeploySummary { applied, waited, pruned: None });
    if !summary.as_ref().is_ok_and(DeploySummary::is_ready) {
        set.take().into_iter().for_each(ApplySetRun::abandon);
    }
    let mut summary = summary?;
    if !matches!(summary.waited, Some(Err(_))) {
        report_left_sets(cluster, &summary.applied, report);
    }
    if let Some(set) = &set {
        set.record_revision(resources, &mut |event| report(DeployEvent::Set(event)));
    }
    summary.pruned = set.map(|set| set.prune(&mut |event| report(DeployEvent::Set(event))));
    Ok(summary)
}

fn waited(
    cluster: &Cluster,
    resources: &[Resource],
    options: &WaitOptions,
    report: DeployReport<'_>,
) -> Result<WaitResult> {
    let verdict =
        wait_until_ready(cluster, resources, options, &mut |event| report(DeployEvent::Wait(event)));
    verdict.inspect(|verdict| report(DeployEvent::Waited(verdict)))
}

fn report_left_sets(cluster: &Cluster, applied: &ApplySummary, report: DeployReport<'_>) {
    for (id, objects) in &applied.left_sets {
        let parent = objects.first().and_then(|first| find_parent_by_id(cluster, id, &first.namespace));
        report(DeployEvent::LeftSet(&LeftSet { id: id.clone(), parent, objects: objects.clone() }));
    }
}
