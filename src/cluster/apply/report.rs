//! What became of each object, told in the order of the objects.

use rustc_hash::FxHashSet;

use super::run::Broken;
use super::{ApplyFailure, ApplySummary, Event};
use crate::cluster::conflict::ApplyConflict;
use crate::cluster::plan::{Object, ObjectPlan, is_crd};
use crate::diagnostic::Diagnostic;

/// What came of one object.
#[derive(Debug)]
pub(super) enum ApplyOutcome {
    Applied {
        warnings: Vec<String>,
    },
    Failed {
        problem: Diagnostic,
        conflict: Option<ApplyConflict>,
    },
    /// The server is not there any more: it was not sent.
    Skipped,
}

/// Reports outcomes in the order of the objects.
pub(super) struct Reporter<'a> {
    plan: &'a ObjectPlan<'a>,
    report: &'a mut (dyn FnMut(Event<'_>) + Send),
    waiting: Vec<Option<ApplyOutcome>>,
    next: usize,
    warned: FxHashSet<String>,
    pub(super) summary: ApplySummary,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(plan: &'a ObjectPlan<'a>, report: &'a mut (dyn FnMut(Event<'_>) + Send)) -> Self {
        let waiting = plan.targets.iter().map(|_| None).collect();
        let (warned, summary) = (FxHashSet::default(), ApplySummary::default());
        Self { plan, report, waiting, next: 0, warned, summary }
    }

    pub(super) fn done(&mut self, index: usize, outcome: ApplyOutcome) {
        self.waiting[index] = Some(outcome);
        while let Some(outcome) = self.waiting.get_mut(self.next).and_then(Option::take) {
            let plan = self.plan;
            self.tell(&plan.targets[self.next].object, outcome);
            self.next += 1;
        }
    }

    fn tell(&mut self, object: &Object, outcome: ApplyOutcome) {
        match outcome {
            ApplyOutcome::Applied { warnings } => {
                for text in &warnings {
                    self.warn(text);
                }
                self.summary.applied += 1;
                (self.report)(Event::Applied(object));
            }
            ApplyOutcome::Failed { problem, conflict } => self.fail(object, problem, conflict),
            ApplyOutcome::Skipped => self.summary.skipped.push(object.clone()),
        }
    }

    fn warn(&mut self, text: &str) {
        if self.warned.insert(text.into()) {
            (self.report)(Event::Warning(text));
        }
    }

    fn fail(&mut self, object: &Object, problem: Diagnostic, conflict: Option<ApplyConflict>) {
        let failure = ApplyFailure { object: object.clone(), problem, conflict };
        (self.report)(Event::Failed(&failure));
        self.summary.failures.push(failure);
    }

    /// CRDs that were accepted and cannot be used count as failed.
    pub(super) fn broken(&mut self, plan: &ObjectPlan<'_>, broken: &Broken) {
        for target in plan.targets.iter().filter(|t| is_crd(&t.object.gvk)) {
            let Some(reason) = broken.get(&target.object.name) else { continue };
            if !self.summary.failures.iter().any(|f| f.object == target.object) {
                self.fail(&target.object, reason.clone().resource(target.resource.id()), None);
            }
        }
    }
}
