//! Options of an apply.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::cascade::Cascade;
use crate::conflict::ApplyConflict;

/// Dry run mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DryRun {
    /// No dry run: changes are persisted.
    #[default]
    None,
    /// Server-side dry run: the server processes requests without persisting the result.
    Server,
}

/// The server's handling of unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FieldValidation {
    /// Rejects the object.
    #[default]
    Strict,
    /// Accepts the object, with warnings.
    Warn,
    /// Drops the fields silently.
    Ignore,
}

impl FieldValidation {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::Warn => "Warn",
            Self::Ignore => "Ignore",
        }
    }
}

/// The handling of the annotation with the last-applied configuration of `kubectl apply`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LastApplied {
    /// Removes the annotation, since it would become outdated.
    #[default]
    Remove,
    /// Updates the annotation with the applied configuration if it exists, as servers do for the manager of `kubectl
    /// apply --server-side`. A later client-side apply by kubectl then knows which fields it may remove.
    Update,
}

/// The default field manager.
pub const FIELD_MANAGER: &str = "kubectl-smp";

/// The annotation with an object's wave: an integer, 0 by default.
pub const WAVE: &str = "smp.kubectl.dev/wave";

/// The default number of parallel requests.
///
/// Concurrent requests are cheaper per object, because etcd commits concurrent writes in batches. Requests above the
/// server's concurrency limit wait in the queues of API Priority and Fairness. They are not rejected, since these
/// queues hold several times this number for each user.
pub const PARALLEL: usize = 32;

/// Options of [`apply`](super::apply()).
#[derive(Debug, Clone)]
pub struct ServerSideApplyOptions {
    /// The field manager that will own the fields.
    pub field_manager: String,
    /// True to take ownership of fields that other managers own.
    pub force_conflicts: bool,
    /// Managers from which ownership is taken, if all conflicts of an object are with these managers.
    pub force_conflicts_with: Vec<String>,
    /// Dry run mode.
    pub dry_run: DryRun,
    /// Handling of unknown fields.
    pub field_validation: FieldValidation,
    /// The maximum number of parallel requests; at least one.
    pub parallel: usize,
    /// The maximum time to wait until CRDs are established.
    pub crd_timeout: Duration,
    /// Kinds whose objects are deleted and recreated if only immutable fields prevent the apply. They are given by
    /// kind, plural or short name, with or without `.group`.
    pub replace_immutable: Vec<String>,
    /// Kinds whose objects are recreated even if contained objects or data are lost: Namespace,
    /// CustomResourceDefinition, PersistentVolumeClaim or PersistentVolume, or their plural or short names.
    pub replace_nonempty: Vec<String>,
    /// The deletion propagation to dependents of recreated objects.
    pub cascade: Cascade,
    /// True to create the namespaces of objects and of the ApplySet's parent if they do not exist.
    pub create_namespaces: bool,
    /// Handling of the last-applied annotation.
    pub last_applied: LastApplied,
    /// The maximum time to wait until an object that is recreated is gone.
    pub delete_timeout: Duration,
    /// The annotations with the wave of an object, in order of precedence.
    pub waves: Vec<String>,
    /// The interrupt flag. Once it is true, no more requests are sent. Pending requests may still finish for some
    /// seconds.
    pub stop: Option<Arc<AtomicBool>>,
    /// The flag of a second interrupt. Once it is true, pending requests are abandoned.
    pub stop_now: Option<Arc<AtomicBool>>,
}

impl ServerSideApplyOptions {
    /// Returns true if an apply takes the fields of a conflict.
    #[must_use]
    pub fn takes(&self, conflict: &ApplyConflict) -> bool {
        self.force_conflicts || conflict.is_only_with(&self.force_conflicts_with)
    }
}

impl Default for ServerSideApplyOptions {
    fn default() -> Self {
        Self {
            field_manager: FIELD_MANAGER.into(),
            force_conflicts: false,
            force_conflicts_with: Vec::new(),
            dry_run: DryRun::None,
            field_validation: FieldValidation::Strict,
            parallel: PARALLEL,
            crd_timeout: Duration::from_secs(60),
            replace_immutable: Vec::new(),
            replace_nonempty: Vec::new(),
            cascade: Cascade::default(),
            create_namespaces: false,
            last_applied: LastApplied::Remove,
            delete_timeout: Duration::from_secs(60),
            waves: vec![WAVE.into()],
            stop: None,
            stop_now: None,
        }
    }
}
