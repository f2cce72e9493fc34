//! Server-side apply of many objects.
//!
//! Namespaces go first, then CRDs, which are waited for, then the rest side by side. What happens
//! is reported in the order of the objects, whatever order the server answers in.

mod before;
mod migrate;
mod one;
mod report;
mod request;
mod run;
mod steps;

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::client::Cluster;
use super::conflict::ApplyConflict;
use super::plan::{Object, ObjectPlan, PlannedObject, all_or_none};
use crate::diagnostic::{Diagnostic, Result};
use crate::resource::Resource;
use crate::yaml::Node;
pub use before::Change;
use before::Listed;
pub(super) use migrate::{client_side_appliers, left_behind};
pub(super) use one::{immutable_fields, is_being_deleted};
use report::Reporter;
pub(super) use request::ApplyRequest;
use run::ApplyRun;

/// How much of an apply is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DryRun {
    /// All of it.
    #[default]
    None,
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

/// The annotation with an object's wave: a whole number, 0 without it.
pub const WAVE: &str = "smp.kubectl.dev/wave";

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
    /// Kinds whose objects are deleted and made anew when nothing but fields that never change stands in the
    /// way; in any case.
    pub replace_immutable: Vec<String>,
    /// How long to wait until an object that is made anew is gone.
    pub delete_timeout: Duration,
    /// The annotations with the number of the wave in which an object is sent; the first that it has counts.
    pub waves: Vec<String>,
    /// When it is set, what is under way is still waited for, and nothing more is sent.
    pub stop: Option<Arc<AtomicBool>>,
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
            replace_immutable: Vec::new(),
            delete_timeout: Duration::from_secs(60),
            waves: vec![WAVE.into()],
            stop: None,
        }
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Event<'e> {
    /// An object was applied, or would be.
    Applied(&'e AppliedObject),
    /// An object was not applied.
    Failed(&'e ApplyFailure),
    /// The server, or this room, has something to say; each text comes once.
    Warning(&'e str),
}

/// An object that was applied, or would be.
#[derive(Debug, Clone)]
pub struct AppliedObject {
    /// The object.
    pub object: Object,
    /// What that did to it.
    pub change: Change,
    /// As the server has it now, or would have it.
    pub live: Node,
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
    /// Those that were not sent: the server did not answer any more, an earlier wave failed,
    /// or the run was stopped.
    pub skipped: Vec<Object>,
}

impl ApplySummary {
    /// Whether everything was applied.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures.is_empty() && self.skipped.is_empty()
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
        let steps = steps::steps(&plan, &options.waves)?;
        let (unanswered, listed) = (AtomicUsize::new(0), Mutex::new(Listed::default()));
        let run = ApplyRun { cluster, options, plan: &plan, bodies, unanswered, listed };
        let order = steps.iter().flat_map(|step| step.objects.iter().copied()).collect();
        Ok(run.all(&steps, &mut Reporter::new(&plan, order, report)).await)
    })
}
