//! Sending objects, phase by phase, side by side within a phase.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::report::{ApplyOutcome, Reporter};
use super::request::ApplyRequest;
use super::{ApplySummary, DryRun, ServerSideApplyOptions};
use crate::cluster::client::Cluster;
use crate::cluster::conflict::ApplyConflict;
use crate::cluster::exchange::Answer;
use crate::cluster::failure::{Refusal, not_understood};
use crate::cluster::json;
use crate::cluster::plan::{ObjectPlan, Phase, PlannedObject};
use crate::cluster::secret::without_values;
use crate::diagnostic::{Code, Diagnostic};
use crate::yaml::Node;

/// A run over all objects.
pub(super) struct ApplyRun<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) options: &'a ServerSideApplyOptions,
    pub(super) plan: &'a ObjectPlan<'a>,
    pub(super) bodies: Vec<Vec<u8>>,
    /// How many requests in a row were not answered.
    pub(super) unanswered: AtomicUsize,
}

/// After so many requests in a row without an answer, each sent several times, the server is not there.
const GONE: usize = 10;

/// CRDs that custom resources cannot be sent for, and why.
pub(super) type Broken = FxHashMap<SmolStr, Diagnostic>;

impl ApplyRun<'_> {
    pub(super) async fn all(&self, reporter: &mut Reporter<'_>) -> ApplySummary {
        let mut broken = Broken::default();
        for phase in Phase::ALL {
            self.phase(phase, &broken, reporter).await;
            if phase == Phase::Definitions && self.options.dry_run == DryRun::None && !self.is_gone() {
                broken = self.establish().await;
                reporter.broken(self.plan, &broken);
            }
        }
        std::mem::take(&mut reporter.summary)
    }

    /// Sends the objects of one phase; those whose CRD is broken are not sent.
    async fn phase(&self, phase: Phase, broken: &Broken, reporter: &mut Reporter<'_>) {
        let targets = self.plan.targets.iter().enumerate();
        let of_phase = targets.filter(|(_, t)| Phase::of(&t.object.gvk) == phase).map(|(i, _)| i);
        let outcomes = of_phase.collect::<Vec<_>>().into_iter().map(|i| async move {
            if self.is_gone() {
                return (i, ApplyOutcome::Skipped);
            }
            (i, self.one(i, broken).await)
        });
        let mut outcomes = futures::stream::iter(outcomes).buffer_unordered(self.options.parallel.max(1));
        while let Some((i, outcome)) = outcomes.next().await {
            reporter.done(i, outcome);
        }
    }

    fn is_gone(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed) >= GONE
    }

    async fn one(&self, index: usize, broken: &Broken) -> ApplyOutcome {
        let target = &self.plan.targets[index];
        let crd = self.plan.defined.get(&target.object.gvk).map(|(_, crd)| crd);
        if let Some((crd, reason)) = crd.and_then(|crd| broken.get_key_value(crd)) {
            let message = format!("not sent, since its CustomResourceDefinition {crd} cannot be used");
            let problem = Diagnostic::error(Code::Remote, message).note(reason.message());
            return failed(target, problem);
        }
        match self.options.dry_run {
            DryRun::Client => ApplyOutcome::Applied { warnings: Vec::new() },
            DryRun::Server if !target.served => unchecked(target, "CustomResourceDefinition"),
            _ => {
                let attempts = if crd.is_some() { 1 + MORE_ATTEMPTS } else { 1 };
                self.send(target, self.bodies[index].clone(), attempts).await
            }
        }
    }

    /// Sends an object, so many times at most while the server does not have its kind.
    async fn send(&self, target: &PlannedObject<'_>, body: Vec<u8>, attempts: u32) -> ApplyOutcome {
        let request = ApplyRequest {
            field_manager: &self.options.field_manager,
            force: self.options.force_conflicts,
            dry_run: self.options.dry_run == DryRun::Server,
            field_validation: self.options.field_validation,
        };
        let Some(ask) = request.ask(target, body) else {
            return failed(target, self.cluster.unknown_kind(&target.object.gvk));
        };
        let mut more = attempts.saturating_sub(1);
        loop {
            let answer = match self.cluster.ask(&ask).await {
                Ok(answer) => answer,
                Err(problem) => {
                    self.unanswered.fetch_add(1, Ordering::Relaxed);
                    return failed(target, problem);
                }
            };
            self.unanswered.store(0, Ordering::Relaxed);
            match answer.accepted() {
                Ok(answer) => return self.applied(target, &ask.path, answer),
                Err(refusal) if refusal.lacks_kind() && more > 0 => more -= 1,
                Err(refusal) => return self.refused(target, &refusal),
            }
            tokio::time::sleep(BETWEEN_ATTEMPTS).await;
        }
    }

    /// What answers with anything but an object did not apply one.
    fn applied(&self, target: &PlannedObject<'_>, path: &str, answer: Answer) -> ApplyOutcome {
        let object = match json::read_object(&answer.body) {
            Ok(object) => object,
            Err(error) => return failed(target, not_understood(&self.cluster.endpoint, path, &error)),
        };
        let said = answer.warnings.into_iter();
        let mut warnings: Vec<_> = said.map(|text| without_values(&text, target.resource)).collect();
        if is_being_deleted(&object) {
            warnings.push(format!("{} is being deleted, and what was applied with it", target.object));
        }
        ApplyOutcome::Applied { warnings }
    }

    fn refused(&self, target: &PlannedObject<'_>, refusal: &Refusal) -> ApplyOutcome {
        let namespace = &target.object.namespace;
        let coming = self.options.dry_run == DryRun::Server && self.plan.namespaces.contains(namespace);
        if coming && refusal.lacks_namespace(namespace) {
            return unchecked(target, "namespace");
        }
        match ApplyConflict::read(&target.object, refusal) {
            Some(conflict) => ApplyOutcome::Failed { problem: conflict.error(), conflict: Some(conflict) },
            None => failed(target, refusal.diagnostic(&self.cluster.endpoint)),
        }
    }

    /// Waits for the CRDs among the objects. Returns those that did not come up.
    async fn establish(&self) -> Broken {
        let crds: FxHashSet<SmolStr> = self.plan.defined.values().map(|(_, crd)| crd.clone()).collect();
        if crds.is_empty() {
            return Broken::default();
        }
        let limit = self.options.crd_timeout;
        let waits = crds.into_iter().map(|crd| async move {
            let problem = self.cluster.established(&crd, limit).await.err()?;
            Some((crd, problem))
        });
        let waits = futures::stream::iter(waits).buffer_unordered(self.options.parallel.max(1));
        let broken = waits.filter_map(std::future::ready).collect().await;
        self.cluster.discovery.forget();
        broken
    }
}

/// How many more times an object is sent whose CRD is new. Established is said by one server of a
/// cluster; others may serve the kind a little later.
const MORE_ATTEMPTS: u32 = 50;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(200);

fn failed(target: &PlannedObject<'_>, problem: Diagnostic) -> ApplyOutcome {
    let place = target.resource.node().span().at_start();
    let problem = problem.reworded(|text| without_values(text, target.resource));
    ApplyOutcome::Failed { problem: problem.resource(target.resource.id()).at(place), conflict: None }
}

fn unchecked(target: &PlannedObject<'_>, lacking: &str) -> ApplyOutcome {
    let text = format!("{} was not checked by the server: its {lacking} is not there yet", target.object);
    ApplyOutcome::Applied { warnings: vec![text] }
}

/// Whether an object that the server sent has a time of deletion.
pub(in crate::cluster) fn is_being_deleted(object: &Node) -> bool {
    object.get_path(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
}
