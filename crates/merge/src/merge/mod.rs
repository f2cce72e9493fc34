//! Merges YAML trees: strategic merge patches into objects, and two or three versions of one object.
//!
//! Each set of [`Rules`] has its own engine, written as one recursive function: `overlay`, `apiserver` and `lossless`.
//! The rules of kustomize and kyaml share the engine `kyaml`, which walks trees in the same order as kyaml because the
//! result depends on it. The entry points are [`apply`], [`merge2`] and [`merge3`]; [`json`] contains those for
//! `serde_json` values.
//!
//! The common parts are: `association` determines how a list merges, `identity` contains merge keys and their values,
//! and `entry_match` finds the entry to which an entry of a patch refers. `keyed_list` contains the list during the
//! merge; `element_order` and `order` compute the final order. `fields` is the loop over the fields of a map, and
//! `align` matches the fields and entries of several versions. This module does not depend on resources or on the
//! creation of patches, but it joins the two parts of a three-way patch.

pub mod align;
pub(crate) mod apiserver;
mod apply;
pub mod association;
pub mod directive;
mod element_order;
pub(crate) mod entry_match;
pub(crate) mod fields;
pub mod identity;
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
mod unmatched_deletions;
mod versions;

pub use apply::apply;
pub use merged::{Conflict, ConflictSide, Merged};
pub use options::{ConflictPolicy, InferKeys, ListOrder, MergeOptions, NullPolicy};
pub use rules::{Exceptions, MergeRules, PatchRules, Rules};
pub(crate) use trail::Trail;
pub use unmatched_deletions::{RemovedRequiredField, UnmatchedDeletions, note_other_targets};
pub use versions::{merge2, merge3};
pub use versions::{merge2_with_kind, merge3_with_kind};
