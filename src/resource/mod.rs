//! Resources: manifests with an identity, sets of them, and what selects among them.
//!
//! Knows what identifies a manifest and where names, labels and annotations stand in it; knows
//! nothing of kustomizations or of how resources are changed.

mod id;
mod manifest;
mod notes;
mod selector;
mod set;
mod shared;

pub use id::ResId;
pub use manifest::{Behavior, Generated, Origin, Resource, flatten_lists};
pub(crate) use notes::INTERNAL;
pub use selector::{LabelSelector, Pattern, Selector};
pub use set::ResourceSet;
pub use shared::part_scalars;
