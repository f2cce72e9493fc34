//! Deletes objects in the reverse of the apply order.
//!
//! If the run waits, each step starts after the objects of the previous step are gone. If a wait times out, the objects
//! of later steps are kept, because the remaining objects may need them. Errors do not stop the run, with one
//! exception: a CRD is kept while custom resources of the same run still exist, because deleting it would delete them.

mod also_deleted;
mod blockers;
mod delete_object;
mod events;
mod options;
mod wait;

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt as _;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use tokio::time::Instant;

use super::apply::{ApplyStep, DryRun, UNANSWERED_LIMIT, steps};
use super::client::Cluster;
use super::kubeconfig::ConnectOptions;
use super::plan::{Object, ObjectFailure, ObjectPlan, Phase};
use super::request::in_order;
use also_deleted::also_deleted;
pub(super) use delete_object::uid_of;
use delete_object::{DeleteOutcome, delete_object, not_found};
use events::DeleteReport;
pub use events::{AlsoDeleted, DeleteEvent, DeleteSummary, RemainingObject};
pub use options::{CompleteWhen, DELETE_TIMEOUT, DeleteOptions, MissingObjects};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Result};
pub(super) use wait::{TerminatingObject, WaitLimit, wait_until_gone};

/// Deletes objects.
///
/// Each object is read first, and deleted only if it still has the same UID. Waves and phases are those of
/// [`apply`](super::apply()) in reverse:
///
/// 1. objects that affect admission
/// 2. custom resources whose CRD is also deleted
/// 3. workloads and all other objects
/// 4. their dependencies
/// 5. CRDs
/// 6. namespaces that are among the objects
///
/// # Errors
/// The error that stops the run before anything is sent.
pub fn delete(
    cluster: &Cluster,
    resources: &[Resource],
    options: &DeleteOptions,
    report: DeleteReport<'_>,
) -> Result<DeleteSummary> {
    options.stop.iter().for_each(|stop| cluster.set_interrupt(stop));
    cluster.block_on(async {
        let plan = ObjectPlan::resolve(cluster, resources).await?;
        let steps = deletion_steps(&plan, &options.waves)?;
        let until = match options.complete_when {
            CompleteWhen::Gone(limit) if options.dry_run == DryRun::None => Some(Instant::now() + limit),
            CompleteWhen::Gone(_) | CompleteWhen::Accepted => None,
        };
        let (summary, kept) = (DeleteSummary::default(), FxHashSet::default());
        let mut run = DeleteRun {
            cluster,
            options,
            plan: &plan,
            until,
            unanswered: AtomicUsize::new(0),
            is_late: false,
            summary,
            kept,
        };
        for step in &steps {
            run.step(step, report).await;
        }
        Ok(run.summary)
    })
}

/// Returns the objects in the order of deletion, as far as it is known without a server.
///
/// # Errors
/// The same errors as for an apply: objects without API version or name, in another namespace than the explicit one, or
/// duplicates.
pub fn deletion_order(
    resources: &[Resource],
    options: &ConnectOptions,
    waves: &[String],
) -> Result<Vec<Object>> {
    let plan = ObjectPlan::without_server(resources, options, resources)?;
    let order = deletion_steps(&plan, waves)?.into_iter().flat_map(|step| step.objects);
    Ok(order.map(|index| plan.targets[index].object.clone()).collect())
}

/// Returns the steps of an apply in reverse. Custom resources whose CRD is among the objects come before the other
/// objects of their phase, which may include the controller that removes their finalizers.
fn deletion_steps(plan: &ObjectPlan<'_>, waves: &[String]) -> Result<Vec<ApplyStep>> {
    Ok(steps(plan, waves)?.into_iter().rev().collect())
}

/// A deletion of all objects.
struct DeleteRun<'a> {
    cluster: &'a Cluster,
    options: &'a DeleteOptions,
    plan: &'a ObjectPlan<'a>,
    /// The deadline of the wait, if any.
    until: Option<Instant>,
    /// The number of consecutive requests without a response.
    unanswered: AtomicUsize,
    /// True if a wait timed out.
    is_late: bool,
    summary: DeleteSummary,
    /// The CRDs that are kept because some of their custom resources were not deleted.
    kept: FxHashSet<SmolStr>,
}

impl DeleteRun<'_> {
    async fn step(&mut self, step: &ApplyStep, report: DeleteReport<'_>) {
        if matches!(step.phase, Phase::Crds | Phase::Namespaces) && !self.must_stop() {
            let targets = step.objects.iter().map(|&index| &self.plan.targets[index]);
            for taken in also_deleted(self.cluster, self.plan, targets).await {
                report(DeleteEvent::AlsoDeletes(&taken));
            }
        }
        let this = &*self;
        let outcomes =
            step.objects.iter().map(|&index| async move { (index, this.outcome(step, index).await) });
        let outcomes: Vec<(usize, DeleteOutcome)> = in_order(outcomes, this.options.parallel).collect().await;
        let mut dying = Vec::new();
        for (index, outcome) in outcomes {
            let target = &self.plan.targets[index];
            if let (DeleteOutcome::Accepted(uid), Some(mapping)) = (&outcome, &target.mapping) {
                let (object, mapping) = (target.object.clone(), mapping.clone());
                dying.push(TerminatingObject { object, mapping, uid: uid.clone() });
            }
            self.report_outcome(index, outcome, report);
        }
        let Some(until) = self.until else { return };
        let limit = WaitLimit { until, stop: self.options.stop.as_deref() };
        let remaining = wait_until_gone(self.cluster, dying, &limit, report).await;
        self.is_late |= !remaining.is_empty();
        self.summary.timed_out.extend(remaining);
    }

    fn must_stop(&self) -> bool {
        let is_stopped = self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        is_stopped || self.is_late || self.unanswered.load(Ordering::Relaxed) >= UNANSWERED_LIMIT
    }

    async fn outcome(&self, step: &ApplyStep, index: usize) -> DeleteOutcome {
        let target = &self.plan.targets[index];
        if self.must_stop() {
            return DeleteOutcome::Skipped;
        }
        if step.phase == Phase::Crds && self.kept.contains(&target.object.name) {
            let message = "not deleted: some of its custom resources still exist";
            return DeleteOutcome::Failed(
                Diagnostic::error(Code::Remote, message).help(
                    "deleting the CRD would also delete them: run the command again when they are gone",
                ),
            );
        }
        let outcome = delete_object(self.cluster, target, self.options).await;
        if matches!(outcome, DeleteOutcome::NoResponse(_)) {
            self.unanswered.fetch_add(1, Ordering::Relaxed);
        } else {
            self.unanswered.store(0, Ordering::Relaxed);
        }
        outcome
    }

    fn report_outcome(&mut self, index: usize, outcome: DeleteOutcome, report: DeleteReport<'_>) {
        let target = &self.plan.targets[index];
        let object = &target.object;
        match outcome {
            DeleteOutcome::Deleted | DeleteOutcome::Accepted(_) => {
                self.summary.deleted += 1;
                report(DeleteEvent::Deleted(object));
            }
            DeleteOutcome::Absent if self.options.missing == MissingObjects::Ignore => {
                self.summary.absent.push(object.clone());
            }
            DeleteOutcome::Absent => self.fail(index, not_found(target), report),
            DeleteOutcome::Failed(problem) | DeleteOutcome::NoResponse(problem) => {
                self.keep_definition(object);
                self.fail(index, problem, report);
            }
            DeleteOutcome::Skipped => {
                self.keep_definition(object);
                self.summary.skipped.push(object.clone());
            }
        }
    }

    fn keep_definition(&mut self, object: &Object) {
        if let Some((_, crd)) = self.plan.crd_kinds.get(&object.gvk) {
            self.kept.insert(crd.clone());
        }
    }

    fn fail(&mut self, index: usize, problem: Diagnostic, report: DeleteReport<'_>) {
        let target = &self.plan.targets[index];
        let failure = ObjectFailure { object: target.object.clone(), problem: target.located(problem) };
        report(DeleteEvent::Failed(&failure));
        self.summary.failures.push(failure);
    }
}
