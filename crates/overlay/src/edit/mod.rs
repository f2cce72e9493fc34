//! Edits of kustomization files, as text. Comments, order and quoting of everything else are kept.
//!
//! Implements `kustomize edit` and `kustomize create` (v5.8.3), and the replacement of deprecated fields. An edit
//! changes the tree of a file, and `yaml::edit_text` writes only what differs. This module must not depend on the
//! command line.

mod create;
mod deprecated;
mod draft;
mod expand;
mod fields;
mod file;
mod generators;
mod images;
mod metadata;
mod moves;
mod normalize;
mod operation;
mod patch_field;
mod patch_file;
mod patched_object;
mod patches;
mod paths;
mod replicas;
mod text;
mod vars;

pub use create::{Detection, NewKustomization, check_no_kustomization, new_kustomization};
pub use deprecated::{Replaced, deprecated_fields, replace_deprecated, replaceable_fields};
pub use draft::{EditOptions, EditedText};
pub use file::{EditedKustomization, edit_kustomization};
pub use generators::{GeneratorChange, GeneratorEntry, GeneratorList};
pub use images::{ImageEdit, image_name};
pub use metadata::{
    BUILD_METADATA, Label, MetadataField, build_metadata_options, check_annotations, parse_pairs,
};
pub use moves::{Move, MovedFile, move_path};
pub use operation::{Edit, ScalarField};
pub use patch_field::PatchedField;
pub use patched_object::PatchedObject;
pub use patches::PatchEntry;
pub use paths::{FileList, PathList};
pub use replicas::ReplicaEdit;
pub use text::text_without;
pub use vars::replace_vars;

#[cfg(test)]
mod tests;
