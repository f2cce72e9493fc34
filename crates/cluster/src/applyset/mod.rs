//! ApplySets (KEP-3659): objects that were applied together, so that what is left out the next time is deleted.
//!
//! A set has a parent, an object that says where its members are; each member has a label that names the set. All is
//! written as kubectl writes it, so that either tool can work on a set: the parent names the kinds and namespaces that
//! are about to come, then objects are applied, then what left is deleted, then the parent names what is left. So a run
//! that ends anywhere leaves nothing that is not found again. What kubectl has not: a mark keeps runs apart (`claim`),
//! each deletion names the object that was seen, what still holds others stays (`holding`), and what is not gone yet
//! stays a member.

mod adopt;
mod catalogue;
mod claim;
mod events;
mod hold;
mod holding;
pub(super) mod id;
mod members;
mod orphan;
mod parent;
mod parent_ref;
mod prune;
mod run;
mod scope;
#[cfg(test)]
mod tests;
mod tooling;

pub use adopt::adopt;
pub use catalogue::{ApplySetListing, ApplySetView, SetsOf, applysets, parent_of, view};
pub use events::{ApplySetEvent, ApplySetOptions, KeptObject, PruneMode, PruneOptions, PruneSummary};
pub use holding::check_holding_kind;
pub use orphan::{OrphanedParent, orphan};
pub use parent_ref::check_parent_name;
pub use run::ApplySetRun;
pub use scope::GroupKind;
pub use tooling::ApplySetTooling;
