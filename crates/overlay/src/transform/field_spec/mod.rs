//! Field specs: in which kinds which fields a transformer changes.
//!
//! Owns how lists of specs are merged, how fields are found by their paths, and how values are written into
//! them; knows nothing of what the transformers write.

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
pub(super) use spec::selects;
