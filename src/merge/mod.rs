//! What merging is made of: which values belong together, which directives a patch may hold, and in
//! which order entries stand afterwards.
//!
//! Shares alignment, not control flow: the algorithms are recursive functions elsewhere, each with its
//! rule in plain sight. Must not know patches' formats beyond their directives, nor resources.
//! kustomize's merges, whose outcome follows from how kyaml walks, have a room of their own in `kyaml`.

pub mod align;
pub mod association;
pub mod directive;
mod kyaml;
mod merged;
pub mod order;
mod rules;
mod trail;

pub use kyaml::{ConflictPolicy, InferKeys, ListOrder, MergeOptions, merge2, merge3};
pub use merged::{Conflict, Merged};
pub use rules::{Exceptions, Rules};
pub use trail::Trail;
