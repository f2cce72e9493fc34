//! The connection to a live cluster: apply, diff, wait, prune, delete.
//!
//! Part of `kubectl-smp`; this crate promises no stability of its own.
//!
//! Owns all communication with an API server: kubeconfig and credentials, discovery, retries, server-side apply,
//! ApplySets and their locks, readiness. It prints nothing: each function reports its progress as events.
//!
//! Must not depend on the command line. Reads only the kubeconfig and the files that it references.
//!
//! Start with [`Cluster`] and [`deploy`], which applies, waits and prunes in that order.

// Test tables are long.
#![cfg_attr(test, allow(clippy::too_many_lines))]

mod apply;
mod applyset;
mod cascade;
mod client;
mod conflict;
mod contents;
mod crd_schema;
mod crd_wait;
mod delete;
mod dependents;
mod deploy;
mod diff;
mod discovery;
mod drift;
mod errors;
mod exec;
mod external;
#[cfg(test)]
mod fake;
mod json;
mod kubeconfig;
mod listing;
mod live_objects;
mod locked_schemas;
mod mapping;
mod openapi;
mod owners;
mod plan;
mod protection;
mod proxy;
mod ready;
mod request;
mod secret;
mod server_fields;
mod status;
#[cfg(test)]
mod tests;
mod timeout;
mod unchanged;
mod watch;

pub use apply::{
    AppliedObject, ApplyChange, ApplyFailure, ApplyProgress, ApplySummary, DryRun, Event, FIELD_MANAGER,
    FieldValidation, LastApplied, PARALLEL, ServerSideApplyOptions, WAVE, apply,
};
pub use applyset::{
    ApplySetEvent, ApplySetListing, ApplySetOptions, ApplySetRun, ApplySetSource, ApplySetTooling,
    ApplySetView, GroupKind, HistoryOptions, KeptObject, NamespaceScope, OrphanedParent, PruneLimit,
    PruneMode, PruneOptions, PruneSummary, Revision, adopt, check_parent_name, describe_applyset,
    list_applysets, list_revisions, orphan, read_revision,
};
pub use cascade::Cascade;
pub use client::Cluster;
pub use conflict::{ApplyConflict, FieldConflict};
pub use delete::{
    AlsoDeleted, CompleteWhen, DELETE_TIMEOUT, DeleteEvent, DeleteOptions, DeleteSummary, MissingObjects,
    RemainingObject, delete, deletion_order,
};
pub use deploy::{DeployEvent, DeployOptions, DeploySummary, LeftSet, deploy};
pub use diff::{
    DiffOptions, DiffReport, LiveVersion, ObjectDiff, OfflineApply, OfflineReport, PlannedChange, Risk,
    apply_offline, diff, diff_offline, preview,
};
pub use drift::{DriftState, FieldDrift, FieldWriter, ObjectDrift, drift};
pub use external::run_external_diff;
pub use k8s_openapi::jiff::Timestamp;
pub use kubeconfig::{ConnectOptions, KubeconfigNames};
pub use live_objects::{cluster_uid, live_objects};
pub use locked_schemas::locked_schemas;
pub use mapping::ResourceMapping;
pub use openapi::{FetchSource, LiveSchema};
pub use owners::{read_object, send_steps};
pub use plan::{Object, ObjectFailure, manifests_without_server};
pub use protection::check_protected_kind;
pub use ready::{
    ContainerExit, FAILURE_GRACE, PodProblem, ReadinessLevel, WAIT_TIMEOUT, WaitEnd, WaitEvent, WaitOptions,
    WaitResult, WaitedObject, WarningEvent, check_wait_kinds, wait_until_ready,
};
pub use status::{MissingStatus, ObjectStatus, READY, Readiness, object_status};
