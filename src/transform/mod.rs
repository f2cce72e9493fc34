//! What changes or makes resources: one file for each of kustomize's transformers and generators.
//!
//! Knows resources and the configuration of one transformer; knows nothing of kustomization files,
//! directories or the order of steps.

mod annotations;
mod config;
mod crds;
mod defaults;
mod field_spec;
mod hash;
mod images;
mod labels;
mod name_reference;
mod namespace;
mod prefix_suffix;
mod referral;
mod replicas;
mod sort;
#[cfg(test)]
mod testing;
mod vars;

pub use annotations::annotations;
pub use config::{NameBackReference, NameReferences, TransformerConfig};
pub use crds::config_of_crds;
pub use field_spec::{FieldSpec, FieldSpecs};
pub use hash::{content_hash, name_hashes};
pub use images::{Image, images};
pub use labels::{Label, labels};
pub use name_reference::name_references;
pub use namespace::{Namespace, SubjectMode, namespace};
pub use prefix_suffix::{name_prefix, name_suffix};
pub use replicas::{Replica, replicas};
pub use sort::{LegacySortOptions, SortOptions, SortOrder, sort};
pub use vars::{Var, VarSet, bind_vars, resolve_vars};
