//! Field specs: the fields that a transformer changes, by kind.
//!
//! This module merges lists of specs, finds fields by their paths and writes values into them. It does not
//! depend on the values that transformers write.

mod back_reference;
mod list;
mod merge;
mod path;
mod set;
mod spec;
mod visit;

pub use back_reference::NameBackReference;
pub use list::{FieldSpecs, NameReferences, SpecList};
pub(super) use list::{ListedSpec, SpecField};
pub(super) use path::Create;
pub(super) use set::{overwrite, set_entries, set_scalar};
pub use spec::FieldSpec;
pub(super) use spec::matches_gvk;
