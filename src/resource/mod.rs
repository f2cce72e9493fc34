//! Resources: manifests with an identity, sets of them, and what selects among them.
//!
//! Knows what identifies a manifest and where names, labels and annotations stand in it; knows
//! nothing of kustomizations or of how resources are changed.

mod id;
mod manifest;
mod notes;
mod regex;
mod selector;
mod set;
mod shared;

pub use id::ResId;
pub use manifest::{Behavior, Generated, Origin, Resource, flatten_lists};
pub(crate) use regex::go_regex;
pub use selector::{LabelSelector, Pattern, Selector};
pub use set::ResourceSet;
pub use shared::part_scalars;
