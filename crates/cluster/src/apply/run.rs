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
use crate::listing::ListedObject;
use crate::plan::{Object, ObjectPlan, ObjectTarget, Phase};
use crate::protection::ProtectedKind;
use crate::request::unordered;
use crate::unchanged::{Admission, KnownObjects};
use smp_text::diagnostic::{Code, Diagnostic};

/// An apply of all objects.
pub(super) struct ApplyRun<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) options: &'a ServerSideApplyOptions,
    pub(super) plan: &'a ObjectPlan<'a>,
    pub(super) bodies: Vec<Vec<u8>>,
    pub(super) adoption: &'a Adoption,
    pub(super) replaceable: KindFilter,
    /// Kinds whose objects are replaced even if they contain other objects or data.
    pub(super) deletable_kinds: Vec<ProtectedKind>,
    /// The number of consecutive requests without a response.
    pub(super) unanswered_requests: AtomicUsize,
    pub(super) listed: Mutex<KnownObjects>,
    /// The CRDs that a dry run would change.
    pub(super) changed_crds: Mutex<FxHashSet<SmolStr>>,
    /// The CRDs that were sent and may not be established yet.
    pub(super) awaited_crds: Mutex<FxHashSet<SmolStr>>,
    /// The namespaces that this run has created. Other objects in them do not exist yet.
    pub(super) created_namespaces: Mutex<FxHashSet<SmolStr>>,
    /// The objects that were sent, with or without a response.
    pub(super) sent: Mutex<FxHashSet<usize>>,
}

/// The number of consecutive requests without a response, each sent several times, after which the server is treated as
/// unreachable.
pub(crate) const UNANSWERED_LIMIT: usize = 10;

/// Maximum time to wait for pending responses after an interrupt.
const PENDING_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval for polling the interrupt flags.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the first steps whose live objects can be read together: steps of one wave that do not depend on a
/// namespace, a CRD or an admission policy in an earlier one of them. CRDs depend on no namespace.
fn listed_together(steps: &[ApplyStep]) -> &[ApplyStep] {
    let is_joined = |pair: &[ApplyStep]| {
        let [one, next] = pair else { return false };
        let is_independent = match next.phase {
            Phase::Crds => true,
            Phase::Dependencies | Phase::Other => matches!(one.phase, Phase::Dependencies | Phase::Other),
            Phase::Namespaces | Phase::Admission => false,
        };
        one.wave == next.wave && !next.has_new_kinds && is_independent
    };
    let joined = steps.windows(2).take_while(|pair| is_joined(pair)).count();
    &steps[..steps.len().min(joined + 1)]
}

impl ApplyRun<'_> {
    /// Sends all objects. If an object fails, the objects of later waves are not sent.
    pub(super) async fn run(&self, steps: &[ApplyStep], reporter: &mut Reporter<'_>) -> ApplySummary {
        let mut wave = None;
        let mut is_blocked = false;
        let (mut admission, mut listed) = (None, 0);
        for (index, step) in steps.iter().enumerate() {
            let is_new_wave = wave.replace(step.wave) != Some(step.wave);
            if is_new_wave || step.has_new_kinds {
                self.establish(reporter).await;
            }
            if is_new_wave {
                is_blocked = !reporter.summary.failures.is_empty();
                admission = None;
            }
            if !is_blocked && index >= listed {
                let group = listed_together(&steps[index..]);
                listed = index + group.len();
                let listing = self.list(group, &mut admission);
                reporter.observe(listing, pin!(self.abandoned())).await;
            }
            if is_blocked {
                for index in &step.objects {
                    reporter.record(*index, ApplyOutcome::Skipped, Duration::ZERO);
                }
            } else {
                self.step(step, reporter).await;
            }
        }
        self.establish(reporter).await;
        std::mem::take(&mut reporter.summary)
    }

    /// Sends the objects of a step, except custom resources whose CRD failed.
    async fn step(&self, step: &ApplyStep, reporter: &mut Reporter<'_>) {
        let mut abandoned = pin!(self.abandoned());
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
    }

    /// Waits until some time after an interrupt, when pending requests are abandoned.
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

    /// Reads the live objects of some steps if a few list requests return them. The other objects are read one by one
    /// later, which also reports errors.
    async fn list(&self, steps: &[ApplyStep], admission: &mut Option<Admission>) {
        if !self.must_stop() {
            let targets = steps.iter().flat_map(|step| &step.objects).map(|i| &self.plan.targets[*i]);
            let targets: Vec<_> = targets.filter(|target| !self.is_known_absent(target)).collect();
            let manager = Some(self.options.field_manager.as_str());
            let listed = KnownObjects::list_known(self.cluster, &targets, manager, admission).await;
            *lock(&self.listed) = listed;
        }
    }

    /// Returns true if no more requests may be sent.
    fn must_stop(&self) -> bool {
        let is_stopped = self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        is_stopped || self.unanswered_requests.load(Ordering::Relaxed) >= UNANSWERED_LIMIT
    }

    async fn outcome(&self, index: usize, broken: &FailedCrds) -> ApplyOutcome {
        if self.must_stop() {
            return ApplyOutcome::Skipped;
        }
        let target = &self.plan.targets[index];
        let crd = self.plan.crd_kinds.get(&target.object.gvk).map(|(_, crd)| crd);
        let is_absent = self.is_known_absent(target);
        let known = if is_absent { Some(ListedObject::Absent) } else { lock(&self.listed).take(target) };
        let one = ObjectApply {
            cluster: self.cluster,
            options: self.options,
            namespaces: &self.plan.namespaces,
            target,
            adopting_set: self.adoption.set_of(&target.object),
            has_new_crd: crd.is_some(),
            would_change_crd: crd.is_some_and(|crd| lock(&self.changed_crds).contains(crd)),
            is_replaceable: self.replaceable.contains(&target.object.gvk),
            deletable_kinds: &self.deletable_kinds,
        };
        if let Some((crd, reason)) = crd.and_then(|crd| broken.get_key_value(crd)) {
            let message = format!("not sent: its CustomResourceDefinition {crd} is not established");
            return one.failed(Diagnostic::error(Code::Remote, message).note(reason.message()));
        }
        lock(&self.sent).insert(index);
        let (outcome, is_answered) = one.apply(&self.bodies[index], known).await;
        self.note(&target.object, &outcome);
        if is_answered {
            self.unanswered_requests.store(0, Ordering::Relaxed);
        } else {
            self.unanswered_requests.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    /// Records the consequences of an outcome for later objects.
    fn note(&self, object: &Object, outcome: &ApplyOutcome) {
        let is_real = self.options.dry_run == DryRun::None;
        if object.gvk.is_crd() {
            if is_real && !outcome.is_established() {
                lock(&self.awaited_crds).insert(object.name.clone());
            } else if !is_real && outcome.is_configured() {
                lock(&self.changed_crds).insert(object.name.clone());
            }
        } else if is_real && object.gvk.is_namespace() && outcome.is_created() {
            lock(&self.created_namespaces).insert(object.name.clone());
        }
    }

    /// Returns true if the object cannot exist because its namespace is new. Objects that controllers create in each
    /// namespace may already exist.
    fn is_known_absent(&self, target: &ObjectTarget<'_>) -> bool {
        let Object { gvk, namespace, .. } = &target.object;
        let is_created_by_controllers =
            gvk.group.is_empty() && ["ConfigMap", "Secret", "ServiceAccount"].contains(&gvk.kind.as_str());
        !is_created_by_controllers && lock(&self.created_namespaces).contains(namespace)
    }

    /// Waits until the CRDs that were sent are established. Reports those that are not established in time.
    async fn establish(&self, reporter: &mut Reporter<'_>) {
        let names = std::mem::take(&mut *lock(&self.awaited_crds));
        if names.is_empty() || self.must_stop() {
            return;
        }
        let mut crds = AwaitedCrds::default();
        for (mapping, crd) in self.plan.crd_kinds.values().filter(|(_, crd)| names.contains(crd)) {
            crds.entry(crd.clone()).or_default().push(mapping.clone());
        }
        let waiting = self.cluster.wait_until_established(crds, self.options.crd_timeout);
        let broken = reporter.observe(waiting, pin!(self.abandoned())).await;
        self.cluster.discovery.clear();
        reporter.fail_crds(self.plan, broken.unwrap_or_default());
    }
}
