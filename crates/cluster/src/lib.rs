//! A connection to a live cluster: apply, diff, wait, prune, delete.
//!
//! Part of `kubectl-smp`; this crate promises no stability of its own.
//!
//! Owns everything that talks to an API server: kubeconfig and credentials, discovery, retries, server-side apply,
//! ApplySets and their locks, readiness. It prints nothing: progress is reported by the events of each function.
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
mod definition;
mod delete;
mod deploy;
mod diff;
mod discovery;
mod exchange;
mod exec;
mod external;
mod failure;
#[cfg(test)]
mod fake;
mod field_set;
mod follow;
mod json;
mod kubeconfig;
mod listing;
mod live;
mod lock;
mod mapping;
mod openapi;
mod patience;
mod plan;
mod proxy;
mod ready;
mod secret;
mod status;
#[cfg(test)]
mod tests;
mod wait;

pub use apply::{
    AppliedObject, ApplyChange, ApplyFailure, ApplySummary, DryRun, Event, FIELD_MANAGER, FieldValidation,
    LastApplied, PARALLEL, ServerSideApplyOptions, WAVE, apply,
};
pub use applyset::{
    ApplySetEvent, ApplySetListing, ApplySetOptions, ApplySetRun, ApplySetTooling, ApplySetView, GroupKind,
    KeptObject, OrphanedParent, PruneMode, PruneOptions, PruneSummary, SetsOf, adopt, applysets,
    check_holding_kind, check_parent_name, orphan, view,
};
pub use cascade::Cascade;
pub use client::Cluster;
pub use conflict::{ApplyConflict, FieldConflict};
pub use delete::{
    Absent, DELETE_TIMEOUT, DeleteEvent, DeleteOptions, DeleteSummary, DoneWhen, RemainingObject, TakenAlong,
    delete, deletion_order,
};
pub use deploy::{DeployEvent, DeployOptions, DeploySummary, LeftSet, deploy};
pub use diff::{DiffOptions, DiffReport, ObjectDiff, diff, removals};
pub use external::external_diff;
pub use k8s_openapi::jiff::Timestamp;
pub use kubeconfig::ConnectOptions;
pub use live::live_objects;
pub use lock::locked_schemas;
pub use mapping::Mapping;
pub use openapi::{FetchedFrom, LiveSchema};
pub use plan::{Object, ObjectFailure, planned_without_server};
pub use ready::{
    FAILURE_GRACE, Strictness, WAIT_TIMEOUT, WaitEnd, WaitEvent, WaitOptions, WaitVerdict, WaitedObject,
    WarningEvent, check_awaited_kinds, wait_until_ready,
};
pub use status::{ObjectStatus, READY, Readiness, WithoutStatus, object_status};
