//! Results of objects. They are reported in the order in which objects are sent, even if the responses have another
//! order.

use std::pin::{Pin, pin};
use std::time::Duration;

use futures::future::{Either, select};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use tokio::time::{Instant, timeout_at};

use super::events::{
    AppliedObject, ApplyChange, ApplyFailure, ApplyProgress, ApplySummary, Event, EventSink,
};
use crate::client::Cluster;
use crate::conflict::ApplyConflict;
use crate::crd_wait::is_established;
use crate::errors::ApiError;
use crate::plan::{Object, ObjectPlan};
use smp_text::diagnostic::Diagnostic;
use smp_text::yaml::Node;

/// Result for one object.
#[derive(Debug)]
pub(super) enum ApplyOutcome {
    Applied {
        warnings: Vec<String>,
        /// Notes of this program, which are not from the server.
        notes: Vec<String>,
        change: ApplyChange,
        object: Node,
        /// The ID of the ApplySet that the object left.
        left_set: Option<String>,
    },
    Failed {
        problem: Diagnostic,
        conflict: Option<ApplyConflict>,
        /// True if the namespace of the object does not exist.
        lacks_namespace: bool,
    },
    /// The object was not sent.
    Skipped,
    /// The object was sent, but the run ended before the response.
    Unknown,
}

impl ApplyOutcome {
    pub(super) fn is_configured(&self) -> bool {
        matches!(self, Self::Applied { change: ApplyChange::Configured, .. })
    }

    pub(super) fn is_created(&self) -> bool {
        matches!(self, Self::Applied { change: ApplyChange::Created, .. })
    }

    /// Returns true if the object is a CRD that the server has already established.
    pub(super) fn is_established(&self) -> bool {
        matches!(self, Self::Applied { object, .. } if is_established(object))
    }

    /// Returns the outcome of an object that an ApplySet adopted.
    pub(super) fn into_adopted(mut self) -> Self {
        if let Self::Applied { change, .. } = &mut self {
            *change = ApplyChange::Adopted;
        }
        self
    }

    /// Adds a note to an applied object.
    pub(super) fn with_note(mut self, text: Option<String>) -> Self {
        if let Self::Applied { notes, .. } = &mut self {
            notes.extend(text);
        }
        self
    }
}

/// The reason why an object is not applied.
pub(crate) enum ApplyError {
    /// The server did not respond.
    NoResponse(Diagnostic),
    Rejected(ApiError),
    Problem(Diagnostic),
}

impl ApplyError {
    pub(crate) fn into_problem(self, cluster: &Cluster) -> Diagnostic {
        match self {
            Self::NoResponse(problem) | Self::Problem(problem) => problem,
            Self::Rejected(api_error) => api_error.diagnostic(&cluster.endpoint),
        }
    }
}

/// CRDs that failed, and the reasons. Their custom resources cannot be sent.
pub(super) type FailedCrds = FxHashMap<SmolStr, Diagnostic>;

/// Reports results in the order of the objects.
pub(super) struct Reporter<'a> {
    plan: &'a ObjectPlan<'a>,
    report: EventSink<'a>,
    /// The indices of the objects in the order in which they are sent.
    order: Vec<usize>,
    waiting: Vec<Option<(ApplyOutcome, Duration)>>,
    next: usize,
    warned: FxHashSet<String>,
    pub(super) summary: ApplySummary,
    /// CRDs that were not established.
    pub(super) failed_crds: FailedCrds,
    finished: usize,
    start: Instant,
    last_result: Instant,
    last_progress: Instant,
}

/// Interval of progress events.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

impl<'a> Reporter<'a> {
    pub(super) fn new(plan: &'a ObjectPlan<'a>, order: Vec<usize>, report: EventSink<'a>) -> Self {
        let waiting = plan.targets.iter().map(|_| None).collect();
        let (warned, summary) = (FxHashSet::default(), ApplySummary::default());
        let start = Instant::now();
        Self {
            plan,
            report,
            order,
            waiting,
            next: 0,
            warned,
            summary,
            failed_crds: FailedCrds::default(),
            finished: 0,
            start,
            last_result: start,
            last_progress: start,
        }
    }

    /// Awaits requests, and reports progress in the meantime. Returns `None` if the requests are abandoned.
    pub(super) async fn observe<T>(
        &mut self,
        requests: impl Future<Output = T>,
        mut abandoned: Pin<&mut impl Future<Output = ()>>,
    ) -> Option<T> {
        let mut requests = pin!(requests);
        loop {
            let next = select(requests.as_mut(), abandoned.as_mut());
            match timeout_at(self.last_progress + PROGRESS_INTERVAL, next).await {
                Ok(Either::Left((done, _))) => return Some(done),
                Ok(Either::Right(_)) => return None,
                Err(_) => self.report_progress(),
            }
        }
    }

    fn report_progress(&mut self) {
        self.last_progress = Instant::now();
        let plan = self.plan;
        let next = self.order.get(self.next).filter(|index| self.waiting[**index].is_none());
        (self.report)(Event::Progress(ApplyProgress {
            finished: self.finished,
            all: self.order.len(),
            elapsed: self.start.elapsed(),
            silence: self.last_result.elapsed(),
            waiting_for: next.map(|index| &plan.targets[*index].object),
        }));
    }

    /// Records the outcome of an object and the time that its requests took.
    pub(super) fn record(&mut self, index: usize, outcome: ApplyOutcome, duration: Duration) {
        self.waiting[index] = Some((outcome, duration));
        self.finished += 1;
        self.last_result = Instant::now();
        while let Some(index) = self.order.get(self.next).copied()
            && let Some((outcome, duration)) = self.waiting[index].take()
        {
            let plan = self.plan;
            self.report_outcome(&plan.targets[index].object, outcome, duration);
            self.next += 1;
        }
    }

    fn report_outcome(&mut self, object: &Object, outcome: ApplyOutcome, duration: Duration) {
        match outcome {
            ApplyOutcome::Applied { warnings, notes, change, object: live, left_set } => {
                if let Some(set) = left_set {
                    self.summary.left_sets.entry(set).or_default().push(object.clone());
                }
                for text in warnings.iter().filter(|text| self.warned.insert((*text).clone())) {
                    (self.report)(Event::Warning(text));
                }
                for text in notes.iter().filter(|text| self.warned.insert((*text).clone())) {
                    (self.report)(Event::StateWarning(text));
                }
                self.summary.applied += 1;
                let applied = AppliedObject { object: object.clone(), change, live, duration };
                (self.report)(Event::Applied(&applied));
            }
            ApplyOutcome::Failed { problem, conflict, lacks_namespace } => {
                let object = object.clone();
                self.fail(ApplyFailure { object, problem, conflict, lacks_namespace, duration });
            }
            ApplyOutcome::Skipped => self.summary.skipped.push(object.clone()),
            ApplyOutcome::Unknown => self.summary.unknown.push(object.clone()),
        }
    }

    fn fail(&mut self, failure: ApplyFailure) {
        (self.report)(Event::Failed(&failure));
        self.summary.failures.push(failure);
    }

    /// Records CRDs as failed that were accepted but not established.
    pub(super) fn fail_crds(&mut self, plan: &ObjectPlan<'_>, broken: FailedCrds) {
        for target in plan.targets.iter().filter(|t| t.object.gvk.is_crd()) {
            let Some(reason) = broken.get(&target.object.name) else { continue };
            if !self.summary.failures.iter().any(|f| f.object == target.object) {
                let (object, problem) =
                    (target.object.clone(), reason.clone().resource(target.resource.id()));
                let (conflict, lacks_namespace, duration) = (None, false, Duration::ZERO);
                self.fail(ApplyFailure { object, problem, conflict, lacks_namespace, duration });
            }
        }
        self.failed_crds.extend(broken);
    }
}
