//! Deleting objects, in the reverse of the order in which they are applied.
//!
//! What one step deletes is gone before the next begins, where that is waited for; what is waited for in vain may need
//! what comes after it, which then stays. What fails stops nothing, but for one thing: a CRD stays while custom resources
//! of the same run do, which would go with it.

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
/// Each is looked for first, and deleted only as the one that was found. Waves and phases are those of
/// [`apply`](super::apply()), in reverse: what changes how others are admitted goes first, then custom resources whose
/// CRD goes, too, workloads and all that is not named here, what these need, CRDs, and last namespaces that are among the
/// objects.
///
/// # Errors
/// What stops the run before anything is sent.
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

/// The objects in the order in which they would be deleted, as far as that is known without a server.
///
/// # Errors
/// As for applying: objects without version or name, of another namespace than the one asked for, or there twice.
pub fn deletion_order(
    resources: &[Resource],
    options: &ConnectOptions,
    waves: &[String],
) -> Result<Vec<Object>> {
    let plan = ObjectPlan::without_server(resources, options)?;
    let order = deletion_steps(&plan, waves)?.into_iter().flat_map(|step| step.objects);
    Ok(order.map(|index| plan.targets[index].object.clone()).collect())
}

/// The steps of an apply in reverse. Custom resources whose CRD is among the objects go before the others of their step:
/// what takes their finalizers away may be among these.
fn deletion_steps(plan: &ObjectPlan<'_>, waves: &[String]) -> Result<Vec<ApplyStep>> {
    let loses_kind = |index: &usize| plan.defined.contains_key(&plan.targets[*index].object.gvk);
    let parted = steps(plan, waves)?.into_iter().rev().flat_map(|step| {
        let (first, then) = step.objects.into_iter().partition(loses_kind);
        [first, then].map(|objects| ApplyStep { objects, wave: step.wave, phase: step.phase })
    });
    Ok(parted.filter(|step| !step.objects.is_empty()).collect())
}

/// A run over all objects.
struct DeleteRun<'a> {
    cluster: &'a Cluster,
    options: &'a DeleteOptions,
    plan: &'a ObjectPlan<'a>,
    /// Until when it is waited, if it is.
    until: Option<Instant>,
    /// How many requests in a row were not answered.
    unanswered: AtomicUsize,
    /// Whether something was waited for in vain.
    is_late: bool,
    summary: DeleteSummary,
    /// The CRDs of which custom resources were not deleted.
    kept: FxHashSet<SmolStr>,
}

impl DeleteRun<'_> {
    async fn step(&mut self, step: &ApplyStep, report: DeleteReport<'_>) {
        if matches!(step.phase, Phase::Definitions | Phase::Namespaces) && !self.is_over() {
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
            self.tell(index, outcome, report);
        }
        let Some(until) = self.until else { return };
        let patient = Patient { until, stop: self.options.stop.as_deref() };
        let remaining = gone(self.cluster, dying, &patient, report).await;
        self.is_late |= !remaining.is_empty();
        self.summary.remaining.extend(remaining);
    }

    fn is_over(&self) -> bool {
        let is_stopped = self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        is_stopped || self.is_late || self.unanswered.load(Ordering::Relaxed) >= GONE
    }

    async fn outcome(&self, step: &ApplyStep, index: usize) -> Deletion {
        let target = &self.plan.targets[index];
        if self.is_over() {
            return Deletion::Skipped;
        }
        if step.phase == Phase::Definitions && self.kept.contains(&target.object.name) {
            let message = "not deleted: custom resources of it are among the objects and still there";
            return Deletion::Failed(
                Diagnostic::error(Code::Remote, message)
                    .help("they would go with it; delete again when they are gone"),
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

    fn tell(&mut self, index: usize, outcome: Deletion, report: DeleteReport<'_>) {
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
