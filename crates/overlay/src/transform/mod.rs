//! Transformers and generators: one file for each one of kustomize.
//!
//! Shared parts are in folders: `field_spec` (the fields that are changed), `value_path` (values by kyaml's
//! paths), `references` (resolving names and variables), `generator` and `config`. This module depends on
//! resources and on the configuration of one transformer. It does not depend on kustomization files,
//! directories or the order of steps. Files are read through [`Files`].

// Transformers and generators.
mod annotations;
mod config_map;
mod hash;
mod iam_policy;
mod images;
mod labels;
mod name_reference;
mod namespace;
mod patches;
mod prefix_suffix;
mod replacements;
mod replicas;
mod secret;
mod sort;
mod value_add;
mod vars;

// Shared parts.
mod config;
mod entries;
mod field_spec;
mod files;
mod generator;
mod references;
#[cfg(test)]
mod testing;
mod value_path;

pub use annotations::annotations;
pub(crate) use config::{SelectorArgs, TransformerConfig, config_from_crds};
pub use config_map::config_map;
pub(crate) use entries::AfterEntry;
pub use field_spec::{FieldSpec, FieldSpecs, NameBackReference, NameReferences, SpecList};
pub use files::Files;
pub use generator::GeneratorArgs;
pub(crate) use generator::{GeneratorMetadata, GeneratorOptions};
pub(crate) use hash::name_hashes;
pub use hash::{content_hash, name_without_hash};
pub(crate) use iam_policy::{IamPolicy, iam_policy};
pub use images::{Image, images};
pub(crate) use labels::LabelArgs;
pub use labels::labels;
pub(crate) use name_reference::name_references;
pub(crate) use namespace::SubjectMode;
pub use namespace::{Namespace, namespace};
pub use patches::{Patch, patches};
pub use patches::{
    PatchContext, is_path_of_patch, patches_by_entry, patches_json6902, patches_strategic_merge,
};
pub use prefix_suffix::name_prefix;
pub(crate) use prefix_suffix::name_suffix;
pub use replacements::replacements;
pub(crate) use replacements::{Replacement, load_replacements, replacements_by_entry};
pub use replicas::{Replica, replicas};
pub use secret::secret;
pub use sort::{LegacySortOptions, SortOptions, SortOrder, sort};
pub(crate) use value_add::{ValueAdd, value_add};
pub(crate) use vars::{Var, VarSet, bind_vars, resolve_vars, var_locations};
