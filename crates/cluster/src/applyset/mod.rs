//! ApplySets (KEP-3659): objects that are applied together. Objects that the next apply does not contain are pruned.
//!
//! A set has a parent, an object whose annotations list the kinds and namespaces of the members. Each member has a
//! label with the ID of the set. Both are written as kubectl writes them, so that both tools can manage a set. A run
//! has four steps:
//!
//! 1. Add the kinds and namespaces of its objects to the parent.
//! 2. Apply the objects.
//! 3. Prune all other members.
//! 4. Remove unused kinds and namespaces from the parent.
//!
//! A run that is killed at any point leaves no member that a later run cannot find.
//!
//! Differences from kubectl:
//!
//! - A lock annotation prevents concurrent runs from pruning each other's objects.
//! - Each deletion is conditional on the UID and resource version that were listed.
//! - Objects that still contain other objects are kept.
//! - Objects that are still terminating remain members.

mod adopt;
mod events;
mod history;
pub(super) mod id;
mod inventory;
mod lock_record;
mod members;
mod orphan;
mod parent;
mod parent_ref;
mod prune;
mod prune_limit;
mod required;
mod run;
mod scope;
mod set_lock;
mod takeover;
#[cfg(test)]
mod tests;
mod tooling;

pub use adopt::adopt;
pub use events::{
    ApplySetEvent, ApplySetOptions, ApplySetSource, KeptObject, PruneLimit, PruneMode, PruneOptions,
    PruneSummary,
};
pub use history::{HistoryOptions, Revision, list_revisions, read_revision};
pub use inventory::{
    ApplySetListing, ApplySetView, NamespaceScope, describe_applyset, find_parent_by_id, list_applysets,
};
pub use orphan::{OrphanedParent, orphan};
pub use parent_ref::check_parent_name;
pub use run::ApplySetRun;
pub use scope::GroupKind;
pub use tooling::ApplySetTooling;
