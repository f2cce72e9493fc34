//! A live cluster: finding it, asking what it knows, applying to it, comparing with it.
//!
//! The only room that talks to an API server. It prints nothing: what happens is reported as data.

mod apply;
mod applyset;
mod client;
mod conflict;
mod definition;
mod diff;
mod discovery;
mod exchange;
mod exec;
mod external;
mod failure;
#[cfg(test)]
mod fake;
mod field_set;
mod json;
mod kubeconfig;
mod lock;
mod mapping;
mod openapi;
mod patience;
mod plan;
mod proxy;
mod secret;
#[cfg(test)]
mod tests;
mod wait;

pub use apply::{
    AppliedObject, ApplyChange, ApplyFailure, ApplySummary, DryRun, Event, FIELD_MANAGER, FieldValidation,
    PARALLEL, ServerSideApplyOptions, WAVE, apply,
};
pub use applyset::{
    ApplySetEvent, ApplySetListing, ApplySetOptions, ApplySetRun, ApplySetTooling, ApplySetView, GroupKind,
    KeptObject, OrphanedParent, PruneCascade, PruneFailure, PruneMode, PruneOptions, PruneSummary, SetsOf,
    adopt, applysets, orphan, view,
};
pub use client::Cluster;
pub use conflict::{ApplyConflict, FieldConflict};
pub use diff::{DiffOptions, DiffReport, ObjectDiff, diff, removals};
pub use external::external_diff;
pub use kubeconfig::ConnectOptions;
pub use lock::locked_schemas;
pub use mapping::Mapping;
pub use openapi::{FetchedFrom, LiveSchema};
pub use plan::{Object, planned_without_server};
