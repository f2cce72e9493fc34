//! How objects are applied.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How much of an apply is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DryRun {
    /// All of it.
    #[default]
    None,
    /// The server does everything but keep the result.
    Server,
}

/// What the server does about fields that its schema does not have, or that stand twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
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
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::Warn => "Warn",
            Self::Ignore => "Ignore",
        }
    }
}

/// What becomes of the annotation in which `kubectl apply` keeps the configuration that it applied last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LastApplied {
    /// It goes: nobody keeps it up to date any more.
    #[default]
    Dropped,
    /// An object that has it keeps it, with what is applied now, as servers do it for the manager of
    /// `kubectl apply --server-side`: so kubectl knows what it may remove when it applies again, client-side.
    Kept,
}

/// The field manager that is used when none is named.
pub const FIELD_MANAGER: &str = "kubectl-smp";

/// The annotation with an object's wave: a whole number, 0 without it.
pub const WAVE: &str = "smp.kubectl.dev/wave";

/// How many requests are under way at a time when nothing else is said.
///
/// A server keeps together what comes together, and has less to do for each then. What it does not take at once waits
/// in the queues of its API Priority and Fairness, which hold several times as many for each user.
pub const PARALLEL: usize = 32;

/// How to apply.
#[derive(Debug, Clone)]
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
    /// way: by kind, plural or short name, with or without `.group`.
    pub replace_immutable: Vec<String>,
    /// What becomes of the annotation of client-side apply.
    pub last_applied: LastApplied,
    /// How long to wait until an object that is made anew is gone.
    pub delete_timeout: Duration,
    /// The annotations with the number of the wave in which an object is sent; the first that it has counts.
    pub waves: Vec<String>,
    /// When it is set, nothing more is sent, and what is under way is still waited for, some seconds.
    pub stop: Option<Arc<AtomicBool>>,
    /// When it is set, too, what is under way is not waited for.
    pub stop_now: Option<Arc<AtomicBool>>,
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
            last_applied: LastApplied::Dropped,
            delete_timeout: Duration::from_secs(60),
            waves: vec![WAVE.into()],
            stop: None,
            stop_now: None,
        }
    }
}
