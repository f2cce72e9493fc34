//! Resources: manifests with an identity, sets of resources, and selectors.
//!
//! This module depends on the identity of a manifest and the location of its name, labels and annotations. It does not
//! depend on kustomizations or transformers.

mod absorb;
mod build_annotations;
mod changes;
mod copied;
mod former_ids;
mod generated;
mod held_secrets;
mod id;
mod index;
mod manifest;
mod masked_secret;
mod object_arg;
mod order;
mod origin;
mod selector;
mod server_fields;
mod set;
mod shared;
mod similar;

pub(crate) use build_annotations::INTERNAL_PREFIX;
pub(crate) use copied::Copied;
pub use former_ids::FormerIds;
pub(crate) use generated::{Behavior, Generated, base64_lines};
pub use held_secrets::secret_values;
pub(crate) use held_secrets::{
    add_configuration, hide_data_copied_by, is_secret_data_path, mark_copied_secret, mark_copied_secrets_at,
};
pub use id::ResId;
pub use manifest::Resource;
pub use manifest::flatten_lists;
pub use masked_secret::{PUBLIC_SECRET_FIELDS, is_secret_kind, mask_secret};
pub use object_arg::{ObjectArg, is_kind};
pub(crate) use order::{compare_ids, compare_kinds, kind_rank};
pub(crate) use origin::Origin;
pub use selector::{Pattern, Selector};
pub use server_fields::strip_server_fields;
pub use set::ResourceSet;
pub(crate) use set::{CHUNK_SIZE, is_worth_threads};
pub(crate) use shared::unlink_scalars;
pub use similar::{SimilarNames, SimilarResource, SimilarResources, Suggestions, WrongPart};
pub use smp_validate::LabelSelector;
