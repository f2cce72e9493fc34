//! Deletes objects in the reverse of the apply order.
//!
//! When waiting, each step starts after the objects of the step before are gone. If a wait times out, the objects
//! of later steps are kept, because the remaining objects may need them. Errors do not stop the run, with one
//! exception: a CRD is kept while custom resources of the same run still exist, because deleting it would delete
//! them.

mod events;
mod gone;
mod holders;
mod one;
mod options;
mod taken_along;

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt as _;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use tokio::time::Instant;

use super::apply::{ApplyStep, DryRun, GONE, steps};
use super::client::Cluster;
use super::exchange::in_order;
use super::kubeconfig::ConnectOptions;
use super::plan::{Object, ObjectFailure, ObjectPlan, Phase};
use events::DeleteReport;
pub use events::{DeleteEvent, DeleteSummary, RemainingObject, TakenAlong};
pub(super) use gone::{DyingObject, Patient, gone};
pub(super) use one::identity;
use one::{Deletion, absent, delete_one};
pub use options::{Absent, DELETE_TIMEOUT, DeleteOptions, DoneWhen};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use taken_along::taken_along;

/// Deletes objects.
///
/// Each object is read first, and deleted only if it still has the same UID. Waves and phases are those of
/// [`apply`](super::apply()) in reverse:
///
/// 1. objects that affect admission
/// 2. custom resources whose CRD is deleted as well
/// 3. workloads and everything else
/// 4. their dependencies
/// 5. CRDs
/// 6. namespaces that are among the objects
///
/// # Errors
/// Returns the error that stops the run before anything is sent.
pub fn delete(
    cluster: &Cluster,
    resources: &[Resource],
    options: &DeleteOptions,
    report: DeleteReport<'_>,
) -> Result<DeleteSummary> {
    options.stop.iter().for_each(|stop| cluster.stop_when(stop));
    cluster.wait(async {
        let plan = ObjectPlan::make(cluster, resources).await?;
        let steps = deletion_steps(&plan, &options.waves)?;
        let until = match options.done_when {
            DoneWhen::Gone(limit) if options.dry_run == DryRun::None => Some(Instant::now() + limit),
            DoneWhen::Gone(_) | DoneWhen::Accepted => None,
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
/// As for an apply: objects without API version or name, in another namespace than the explicit one, or
/// duplicates.
pub fn deletion_order(
    resources: &[Resource],
    options: &ConnectOptions,
    waves: &[String],
) -> Result<Vec<Object>> {
    let plan = ObjectPlan::without_server(resources, options)?;
    let order = deletion_steps(&plan, waves)?.into_iter().flat_map(|step| step.objects);
    Ok(order.map(|index| plan.targets[index].object.clone()).collect())
}

/// Returns the steps of an apply in reverse. Custom resources whose CRD is among the objects go before the others
/// of their step, which may include the controller that removes their finalizers.
fn deletion_steps(plan: &ObjectPlan<'_>, waves: &[String]) -> Result<Vec<ApplyStep>> {
    let loses_kind = |index: &usize| plan.defined.contains_key(&plan.targets[*index].object.gvk);
    let split = steps(plan, waves)?.into_iter().rev().flat_map(|step| {
        let (first, then) = step.objects.into_iter().partition(loses_kind);
        [first, then].map(|objects| ApplyStep { objects, wave: step.wave, phase: step.phase })
    });
    Ok(split.filter(|step| !step.objects.is_empty()).collect())
}

/// A deletion of all objects.
struct DeleteRun<'a> {
    cluster: &'a Cluster,
    options: &'a DeleteOptions,
    plan: &'a ObjectPlan<'a>,
    /// Deadline of the wait, if any.
    until: Option<Instant>,
    /// Number of consecutive requests without response.
    unanswered: AtomicUsize,
    /// True if a wait timed out.
    is_late: bool,
    summary: DeleteSummary,
    /// CRDs that are kept because some of their custom resources were not deleted.
    kept: FxHashSet<SmolStr>,
}

impl DeleteRun<'_> {
    async fn step(&mut self, step: &ApplyStep, report: DeleteReport<'_>) {
        if matches!(step.phase, Phase::Definitions | Phase::Namespaces) && !self.is_finished() {
            let targets = step.objects.iter().map(|&index| &self.plan.targets[index]);
            for taken in taken_along(self.cluster, self.plan, targets).await {
                report(DeleteEvent::TakesAlong(&taken));
            }
        }
        let this = &*self;
        let outcomes =
            step.objects.iter().map(|&index| async move { (index, this.outcome(step, index).await) });
        let outcomes: Vec<(usize, Deletion)> = in_order(outcomes, this.options.parallel).collect().await;
        let mut dying = Vec::new();
        for (index, outcome) in outcomes {
            let target = &self.plan.targets[index];
            if let (Deletion::Taken(uid), Some(mapping)) = (&outcome, &target.mapping) {
                let (object, mapping) = (target.object.clone(), mapping.clone());
                dying.push(DyingObject { object, mapping, uid: uid.clone() });
            }
            self.report_outcome(index, outcome, report);
        }
        let Some(until) = self.until else { return };
        let patient = Patient { until, stop: self.options.stop.as_deref() };
        let remaining = gone(self.cluster, dying, &patient, report).await;
        self.is_late |= !remaining.is_empty();
        self.summary.remaining.extend(remaining);
    }

    fn is_finished(&self) -> bool {
        let is_stopped = self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        is_stopped || self.is_late || self.unanswered.load(Ordering::Relaxed) >= GONE
    }

    async fn outcome(&self, step: &ApplyStep, index: usize) -> Deletion {
        let target = &self.plan.targets[index];
        if self.is_finished() {
            return Deletion::Skipped;
        }
        if step.phase == Phase::Definitions && self.kept.contains(&target.object.name) {
            let message = "not deleted: some of its custom resources still exist";
            return Deletion::Failed(
                Diagnostic::error(Code::Remote, message)
                    .help("they would be deleted with it: delete it again when they are gone"),
            );
        }
        let outcome = delete_one(self.cluster, target, self.options).await;
        if matches!(outcome, Deletion::Unanswered(_)) {
            self.unanswered.fetch_add(1, Ordering::Relaxed);
        } else {
            self.unanswered.store(0, Ordering::Relaxed);
        }
        outcome
    }

    fn report_outcome(&mut self, index: usize, outcome: Deletion, report: DeleteReport<'_>) {
        let target = &self.plan.targets[index];
        let object = &target.object;
        match outcome {
            Deletion::Gone | Deletion::Taken(_) => {
                self.summary.deleted += 1;
                report(DeleteEvent::Deleted(object));
            }
            Deletion::Absent if self.options.absent == Absent::Ignored => {
                self.summary.absent.push(object.clone());
            }
            Deletion::Absent => self.fail(index, absent(target), report),
            Deletion::Failed(problem) | Deletion::Unanswered(problem) => {
                self.keep_definition(object);
                self.fail(index, problem, report);
            }
            Deletion::Skipped => {
                self.keep_definition(object);
                self.summary.skipped.push(object.clone());
            }
        }
    }

    fn keep_definition(&mut self, object: &Object) {
        if let Some((_, crd)) = self.plan.defined.get(&object.gvk) {
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
