//! What changes or makes resources: one file for each of kustomize's transformers and generators.
//!
//! Knows resources and the configuration of one transformer; knows nothing of kustomization files,
//! directories or the order of steps. The little that has to be read from files comes through
//! [`Files`].

mod annotations;
mod config;
mod config_map;
mod crds;
mod defaults;
mod expand;
mod field_path;
mod field_spec;
mod generator;
mod hash;
mod iam_policy;
mod images;
mod labels;
mod lookup;
mod name_reference;
mod namespace;
mod patches;
mod prefix_suffix;
mod referral;
mod replacements;
mod replicas;
mod secret;
mod selector_args;
mod sort;
mod structured;
#[cfg(test)]
mod testing;
mod value_add;
mod vars;

pub use annotations::annotations;
pub use config::{NameBackReference, NameReferences, TransformerConfig};
pub use config_map::config_map;
pub use crds::config_of_crds;
pub use field_spec::{FieldSpec, FieldSpecs};
pub use generator::{GeneratorArgs, GeneratorMetadata, GeneratorOptions};
pub use hash::{content_hash, name_hashes};
pub use iam_policy::{CloudAccount, IamPolicy, KubernetesAccount, iam_policy};
pub use images::{Image, images};
pub use labels::{Label, labels};
pub use name_reference::name_references;
pub use namespace::{Namespace, SubjectMode, namespace};
pub use patches::{Patch, PatchContext, PatchOptions, patches, patches_json6902, patches_strategic_merge};
pub use prefix_suffix::{name_prefix, name_suffix};
pub use replacements::{
    FieldOptions, Replacement, ReplacementSource, ReplacementTarget, load_replacements, replacements,
};
pub use replicas::{Replica, replicas};
pub use secret::secret;
pub use selector_args::SelectorArgs;
pub use sort::{LegacySortOptions, SortOptions, SortOrder, sort};
pub use value_add::{ValueAdd, ValueAddTarget, value_add};
pub use vars::{Var, VarSet, bind_vars, resolve_vars};

use std::path::PathBuf;

use crate::diagnostic::Result;
use crate::source::Span;

/// Reads the files that generators and transformers name.
///
/// Paths are relative to the kustomization that names them; who implements this keeps them from
/// leading out of the root.
pub trait Files {
    /// The content of a file; `at` is where the path stands, for messages.
    ///
    /// # Errors
    /// A file that is not there, is none, or must not be read.
    fn read(&self, path: &str, at: Span) -> Result<Vec<u8>>;

    /// What messages call the file.
    fn name(&self, path: &str) -> PathBuf {
        path.into()
    }
}
