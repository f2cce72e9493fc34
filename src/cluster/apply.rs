//! Server-side apply of many objects.
//!
//! Namespaces go first, then CRDs, which are waited for, then the rest side by side. What happens
//! is reported in the order of the objects, whatever order the server answers in.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use http::Method;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::client::{Answer, Ask, Cluster};
use super::conflict::ApplyConflict;
use super::failure::{Refusal, not_understood};
use super::json;
use super::mapping::encode;
use super::plan::{Object, ObjectPlan, Phase, PlannedObject, all_or_none, is_crd};
use super::secret::without_values;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::resource::Resource;
use crate::yaml::Node;

/// How much of an apply is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DryRun {
    /// All of it.
    #[default]
    None,
    /// The objects are checked and mapped; the server is only asked what kinds it has.
    Client,
    /// The server does everything but keep the result.
    Server,
}

/// What the server does about fields that its schema does not have, or that stand twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// It refuses the object.
    #[default]
    Strict,
    /// It warns.
    Warn,
    /// It drops them.
    Ignore,
}

impl FieldValidation {
    fn name(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::Warn => "Warn",
            Self::Ignore => "Ignore",
        }
    }
}

/// The field manager that is used when none is named.
pub const FIELD_MANAGER: &str = "kubectl-smp";

/// How many requests are under way at a time when nothing else is said.
pub const PARALLEL: usize = 8;

/// How to apply.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerSideApplyOptions {
    /// Who will own the fields.
    pub field_manager: String,
    /// Whether fields are taken over from other managers.
    pub force_conflicts: bool,
    /// How much is done.
    pub dry_run: DryRun,
    /// What is done about unknown fields.
    pub field_validation: FieldValidation,
    /// The most requests at a time; at least one.
    pub parallel: usize,
    /// How long to wait for CRDs to be established.
    pub crd_timeout: Duration,
}

impl Default for ServerSideApplyOptions {
    fn default() -> Self {
        Self {
            field_manager: FIELD_MANAGER.into(),
            force_conflicts: false,
            dry_run: DryRun::None,
            field_validation: FieldValidation::Strict,
            parallel: PARALLEL,
            crd_timeout: Duration::from_secs(60),
        }
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Event<'e> {
    /// An object was applied, or would be.
    Applied(&'e Object),
    /// An object was not applied.
    Failed(&'e ApplyFailure),
    /// The server, or this room, has something to say; each text comes once.
    Warning(&'e str),
}

/// An object that was not applied.
#[derive(Debug, Clone)]
pub struct ApplyFailure {
    /// The object.
    pub object: Object,
    /// What went wrong.
    pub problem: Diagnostic,
    /// The owners of the fields, when that is what went wrong.
    pub conflict: Option<ApplyConflict>,
}

/// What came of an apply.
#[derive(Debug, Clone, Default)]
pub struct ApplySummary {
    /// How many objects were applied, or would be.
    pub applied: usize,
    /// Those that were not.
    pub failures: Vec<ApplyFailure>,
    /// How many more were not sent, or not answered for, since the connection was lost.
    pub skipped: usize,
}

impl ApplySummary {
    /// Whether everything was applied.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures.is_empty() && self.skipped == 0
    }
}

/// Applies objects server-side.
///
/// All objects are checked first: nothing is sent when the server cannot be reached or one of the
/// objects cannot be mapped to a resource. When the server refuses an object, the others are
/// applied all the same, as kubectl does.
///
/// # Errors
/// What stops the run before anything is sent.
pub fn apply(
    cluster: &Cluster,
    resources: &[Resource],
    options: &ServerSideApplyOptions,
    report: &mut (dyn FnMut(Event<'_>) + Send),
) -> Result<ApplySummary> {
    cluster.wait(async {
        let plan = ObjectPlan::make(cluster, resources).await?;
        plan.require_mappings(cluster)?;
        let (bodies, errors): (Vec<_>, Vec<_>) =
            plan.targets.iter().map(PlannedObject::body).partition(Result::is_ok);
        all_or_none(errors.into_iter().filter_map(Result::err).collect())?;
        let bodies = bodies.into_iter().flatten().collect();
        let run = ApplyRun { cluster, options, plan: &plan, bodies };
        Ok(run.all(&mut Reporter::new(&plan, report)).await)
    })
}

struct ApplyRun<'a> {
    cluster: &'a Cluster,
    options: &'a ServerSideApplyOptions,
    plan: &'a ObjectPlan<'a>,
    bodies: Vec<Vec<u8>>,
}

/// CRDs that custom resources cannot be sent for, and why.
type Broken = FxHashMap<SmolStr, Diagnostic>;

impl ApplyRun<'_> {
    async fn all(&self, reporter: &mut Reporter<'_>) -> ApplySummary {
        let mut broken = Broken::default();
        for phase in Phase::ALL {
            self.phase(phase, &broken, reporter).await;
            if phase == Phase::Definitions && self.options.dry_run == DryRun::None && !reporter.lost {
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
        let lost = &AtomicBool::new(reporter.lost);
        let outcomes = of_phase.collect::<Vec<_>>().into_iter().map(|i| async move {
            if lost.load(Ordering::Relaxed) {
                return (i, ApplyOutcome::Skipped);
            }
            let outcome = self.one(i, broken).await;
            lost.fetch_or(matches!(outcome, ApplyOutcome::Lost(_)), Ordering::Relaxed);
            (i, outcome)
        });
        let mut outcomes = futures::stream::iter(outcomes).buffer_unordered(self.options.parallel.max(1));
        while let Some((i, outcome)) = outcomes.next().await {
            reporter.done(i, outcome);
        }
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
                Err(problem) => return ApplyOutcome::Lost(problem),
            };
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

/// A server-side apply, without its object.
pub(super) struct ApplyRequest<'a> {
    pub(super) field_manager: &'a str,
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) field_validation: FieldValidation,
}

impl ApplyRequest<'_> {
    /// The request for an object; none when its resource is not known.
    pub(super) fn ask(&self, target: &PlannedObject<'_>, body: Vec<u8>) -> Option<Ask> {
        let mapping = target.mapping.as_ref()?;
        let path = format!(
            "{}?fieldManager={}&force={}&fieldValidation={}{}",
            mapping.path(&target.object.namespace, &target.object.name),
            encode(self.field_manager),
            self.force,
            self.field_validation.name(),
            if self.dry_run { "&dryRun=All" } else { "" }
        );
        // The media type says YAML, of which JSON is a part.
        let content_type = "application/apply-patch+yaml";
        Some(Ask { method: Method::PATCH, content_type, body, ..Ask::get(path) })
    }
}

/// What came of one object.
#[derive(Debug)]
enum ApplyOutcome {
    Applied {
        warnings: Vec<String>,
    },
    Failed {
        problem: Diagnostic,
        conflict: Option<ApplyConflict>,
    },
    /// The connection is lost: there is no use in sending more.
    Lost(Diagnostic),
    Skipped,
}

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
pub(super) fn is_being_deleted(object: &Node) -> bool {
    object.get_path(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
}

/// Reports outcomes in the order of the objects.
struct Reporter<'a> {
    plan: &'a ObjectPlan<'a>,
    report: &'a mut (dyn FnMut(Event<'_>) + Send),
    waiting: Vec<Option<ApplyOutcome>>,
    next: usize,
    warned: FxHashSet<String>,
    summary: ApplySummary,
    lost: bool,
    told_loss: bool,
}

impl<'a> Reporter<'a> {
    fn new(plan: &'a ObjectPlan<'a>, report: &'a mut (dyn FnMut(Event<'_>) + Send)) -> Self {
        let waiting = plan.targets.iter().map(|_| None).collect();
        let (warned, summary) = (FxHashSet::default(), ApplySummary::default());
        Self { plan, report, waiting, next: 0, warned, summary, lost: false, told_loss: false }
    }

    fn done(&mut self, index: usize, outcome: ApplyOutcome) {
        self.lost |= matches!(outcome, ApplyOutcome::Lost(_));
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
            // One loss is told; what was under way at the same time is in the same case.
            ApplyOutcome::Lost(problem) if !std::mem::replace(&mut self.told_loss, true) => {
                self.fail(object, problem, None);
            }
            ApplyOutcome::Lost(_) | ApplyOutcome::Skipped => self.summary.skipped += 1,
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
    fn broken(&mut self, plan: &ObjectPlan<'_>, broken: &Broken) {
        for target in plan.targets.iter().filter(|t| is_crd(&t.object.gvk)) {
            let Some(reason) = broken.get(&target.object.name) else { continue };
            if !self.summary.failures.iter().any(|f| f.object == target.object) {
                self.fail(&target.object, reason.clone().resource(target.resource.id()), None);
            }
        }
    }
}
