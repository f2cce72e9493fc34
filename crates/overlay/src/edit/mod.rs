//! Edits of kustomization files, as text: comments, order and quoting of everything else stay.
//!
//! Owns the meaning of `kustomize edit` and `kustomize create` (v5.8.3), and the replacement of deprecated fields. An
//! edit changes the tree of a file, and `yaml::edit_text` writes only what differs. Must not depend on command lines.

mod create;
mod deprecated;
mod draft;
mod expand;
mod fields;
mod file;
mod generators;
mod images;
mod metadata;
mod normalize;
mod operation;
mod patches;
mod paths;
mod replicas;

pub use create::{Detection, NewKustomization, new_kustomization};
pub use deprecated::{replace_deprecated, replaceable_fields};
pub use draft::EditOptions;
pub use file::{EditedKustomization, edit_kustomization};
pub use generators::{GeneratorChange, GeneratorEntry, GeneratorList};
pub use images::ImageEdit;
pub use metadata::{Label, MetadataField, build_metadata_options, check_annotations, parse_pairs};
pub use operation::{Edit, ScalarField};
pub use patches::PatchEntry;
pub use paths::{FileList, PathList};
pub use replicas::ReplicaEdit;

#[cfg(test)]
mod tests;
