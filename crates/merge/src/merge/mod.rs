//! Merging trees: patches into objects, and three versions of an object into one.
//!
//! Each set of [`Rules`] has its engine, a recursive function with its rule in plain sight: `overlay`,
//! `apiserver`, `lossless`, and for kustomize's and kyaml's rules `kyaml`, whose outcome follows from how
//! kyaml walks. [`apply`], [`merge2`] and [`merge3`] are the doors to them, [`json`] that for `serde_json` values.
//!
//! What they share is here: `association` says how a list merges, `identity` what names its entries,
//! `entry_match` which of them an entry of a patch is about, `keyed_list` holds them meanwhile, and
//! `element_order` and `order` say how they stand afterwards. `fields` is the loop over the fields of a
//! map, `align` lines trees up of which none is a patch. Must not know resources, nor how patches are made,
//! but joins the two halves of one.

mod absent;
pub mod align;
pub(crate) mod apiserver;
mod apply;
pub mod association;
pub mod directive;
mod element_order;
pub(crate) mod entry_match;
pub(crate) mod fields;
pub mod identity;
mod join;
pub mod json;
mod keyed_list;
mod kyaml;
mod lossless;
mod merged;
mod options;
pub(crate) mod order;
mod overlay;
mod rules;
#[cfg(test)]
pub(crate) mod testing;
mod trail;

pub use absent::{Absences, RemovedRequirement, same_in_others};
pub use apply::apply;
pub use join::{merge2, merge3};
pub use join::{merge2_as, merge3_as};
pub use merged::{Conflict, ConflictSide, Merged};
pub use options::{ConflictPolicy, InferKeys, ListOrder, MergeOptions, NullPolicy};
pub use rules::{Exceptions, MergeRules, PatchRules, Rules};
pub(crate) use trail::Trail;
