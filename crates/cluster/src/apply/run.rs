//! Sends objects wave by wave and phase by phase, in parallel within a phase.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use tokio::time::{Instant, sleep};

use super::adoption::Adoption;
use super::apply_object::ObjectApply;
use super::events::ApplySummary;
use super::kind_filter::KindFilter;
use super::options::{DryRun, ServerSideApplyOptions};
use super::report::{ApplyOutcome, FailedCrds, Reporter};
use super::steps::ApplyStep;
use crate::client::Cluster;
use crate::crd_wait::AwaitedCrds;
use crate::plan::{ObjectPlan, Phase};
use crate::protection::ProtectedKind;
use crate::request::unordered;
use crate::unchanged::KnownObjects;
use smp_text::diagnostic::{Code, Diagnostic};

/// An apply of all objects.
pub(super) struct ApplyRun<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) options: &'a ServerSideApplyOptions,
    pub(super) plan: &'a ObjectPlan<'a>,
    pub(super) bodies: Vec<Vec<u8>>,
    pub(super) adoption: &'a Adoption,
    pub(super) replaceable: KindFilter,
    /// Kinds that are replaced although their objects contain others or data.
    pub(super) unprotected: Vec<ProtectedKind>,
    /// Number of consecutive requests without response.
    pub(super) unanswered_requests: AtomicUsize,
    pub(super) listed: Mutex<KnownObjects>,
    /// The CRDs that a dry run would change.
    pub(super) changed_crds: Mutex<FxHashSet<SmolStr>>,
    /// The CRDs that were established when the server answered.
    pub(super) established_crds: Mutex<FxHashSet<SmolStr>>,
    /// The objects that were sent, whether or not the server responded.
    pub(super) sent: Mutex<FxHashSet<usize>>,
}

/// After this many consecutive requests without response, each sent several times, the server counts as
/// unreachable.
pub(crate) const UNANSWERED_LIMIT: usize = 10;

/// Maximum time to wait for pending responses after an interrupt.
const PENDING_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval for polling the interrupt flags.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ApplyRun<'_> {
    /// Sends all objects. If an object fails, the objects of later waves are not sent.
    pub(super) async fn run(&self, steps: &[ApplyStep], reporter: &mut Reporter<'_>) -> ApplySummary {
        let mut wave = None;
        let mut is_blocked = false;
        for step in steps {
            if wave.replace(step.wave) != Some(step.wave) {
                is_blocked = !reporter.summary.failures.is_empty();
            }
            if is_blocked {
                for index in &step.objects {
                    reporter.record(*index, ApplyOutcome::Skipped, Duration::ZERO);
                }
            } else {
                self.step(step, reporter).await;
            }
        }
        std::mem::take(&mut reporter.summary)
    }

    /// Sends the objects of a step, except those whose CRD failed.
    async fn step(&self, step: &ApplyStep, reporter: &mut Reporter<'_>) {
        let mut abandoned = pin!(self.abandoned());
        reporter.observe(self.list(&step.objects), abandoned.as_mut()).await;
        let broken = &reporter.failed_crds.clone();
        let outcomes = step.objects.iter().map(|&index| async move {
            let start = Instant::now();
            (index, self.outcome(index, broken).await, start.elapsed())
        });
        let mut outcomes = unordered(outcomes, self.options.parallel);
        let mut left: FxHashSet<usize> = step.objects.iter().copied().collect();
        while let Some(Some((index, outcome, duration))) =
            reporter.observe(outcomes.next(), abandoned.as_mut()).await
        {
            left.remove(&index);
            reporter.record(index, outcome, duration);
        }
        for index in left {
            let is_sent = lock(&self.sent).contains(&index);
            let outcome = if is_sent { ApplyOutcome::Unknown } else { ApplyOutcome::Skipped };
            reporter.record(index, outcome, Duration::ZERO);
        }
        let defines = step.phase == Phase::Crds && self.options.dry_run == DryRun::None;
        if defines
            && !self.is_finished()
            && let Some(broken) = reporter.observe(self.establish(step), abandoned).await
        {
            reporter.fail_crds(self.plan, broken);
        }
    }

    /// Resolves some time after an interrupt, when pending requests are abandoned.
    async fn abandoned(&self) {
        let is_set =
            |flag: &Option<Arc<AtomicBool>>| flag.as_ref().is_some_and(|f| f.load(Ordering::Relaxed));
        while !is_set(&self.options.stop) {
            sleep(POLL_INTERVAL).await;
        }
        let until = Instant::now() + PENDING_TIMEOUT;
        while Instant::now() < until && !is_set(&self.options.stop_now) {
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Lists the live objects of a step where one list request covers many. All others are read one by one later,
    /// where errors are reported as well.
    async fn list(&self, due: &[usize]) {
        if !self.is_finished() {
            let targets: Vec<_> = due.iter().map(|i| &self.plan.targets[*i]).collect();
            let manager = Some(self.options.field_manager.as_str());
            let listed = KnownObjects::list_known(self.cluster, &targets, manager).await;
            *lock(&self.listed) = listed;
        }
    }

    /// Returns true if no more requests are sent.
    fn is_finished(&self) -> bool {
        let is_stopped = self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        is_stopped || self.unanswered_requests.load(Ordering::Relaxed) >= UNANSWERED_LIMIT
    }

    async fn outcome(&self, index: usize, broken: &FailedCrds) -> ApplyOutcome {
        if self.is_finished() {
            return ApplyOutcome::Skipped;
        }
        let target = &self.plan.targets[index];
        let crd = self.plan.crd_kinds.get(&target.object.gvk).map(|(_, crd)| crd);
        let known = lock(&self.listed).take(target);
        let one = ObjectApply {
            cluster: self.cluster,
            options: self.options,
            namespaces: &self.plan.namespaces,
            target,
            adopting_set: self.adoption.set_of(&target.object),
            has_new_crd: crd.is_some(),
            crd_changes: crd.is_some_and(|crd| lock(&self.changed_crds).contains(crd)),
            is_replaceable: self.replaceable.contains(&target.object.gvk),
            unprotected: &self.unprotected,
        };
        if let Some((crd, reason)) = crd.and_then(|crd| broken.get_key_value(crd)) {
            let message = format!("not sent: its CustomResourceDefinition {crd} is not established");
            return one.failed(Diagnostic::error(Code::Remote, message).note(reason.message()));
        }
        lock(&self.sent).insert(index);
        let (outcome, is_answered) = one.apply(&self.bodies[index], known).await;
        if target.object.gvk.is_crd() {
            self.note_crd(&target.object.name, &outcome);
        }
        if is_answered {
            self.unanswered_requests.store(0, Ordering::Relaxed);
        } else {
            self.unanswered_requests.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    fn note_crd(&self, name: &SmolStr, outcome: &ApplyOutcome) {
        if self.options.dry_run == DryRun::Server && outcome.is_configured() {
            lock(&self.changed_crds).insert(name.clone());
        }
        if outcome.is_established() {
            lock(&self.established_crds).insert(name.clone());
        }
    }

    /// Waits for the CRDs of a step. Returns those that were not established.
    async fn establish(&self, step: &ApplyStep) -> FailedCrds {
        let names: FxHashSet<&SmolStr> =
            step.objects.iter().map(|&index| &self.plan.targets[index].object.name).collect();
        let established = lock(&self.established_crds).clone();
        let kinds = self.plan.crd_kinds.values();
        let awaited = kinds.filter(|(_, crd)| names.contains(crd) && !established.contains(crd));
        let mut crds = AwaitedCrds::default();
        for (mapping, crd) in awaited {
            crds.entry(crd.clone()).or_default().push(mapping.clone());
        }
        if crds.is_empty() {
            return FailedCrds::default();
        }
        let broken = self.cluster.wait_until_established(crds, self.options.crd_timeout).await;
        self.cluster.discovery.clear();
        broken
    }
}
