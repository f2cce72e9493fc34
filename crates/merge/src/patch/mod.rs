//! Creates patches of all types, and applies all but strategic merge patches.
//!
//! Covers JSON patches (RFC 6902), JSON merge patches (RFC 7386), and the creation of strategic merge patches, which
//! [`merge`](crate::merge) applies. [`json`] is the interface for `serde_json` values. This module must not depend on
//! resources or on the origin of documents.

mod apply;
mod conflict;
mod create;
mod equality;
mod expected;
mod inputs;
pub mod json;
mod json_merge;
mod json_patch;
mod last_applied;
mod null_fields;
mod numbers;
mod patch_type;
mod strategic_support;
mod three_way;
mod verified;

pub use apply::{ApplyOptions, apply};
pub use create::create;
pub use inputs::{CreateOptions, PatchInputs, ThreeWayOptions, share_namespace};
pub use json_merge::{apply_json_merge, create_json_merge};
pub use json_patch::{JsonPatch, JsonPatchOptions, create_json_patch, parse_json_patch};
pub use last_applied::{LAST_APPLIED, last_applied, with_last_applied};
pub use numbers::check_numbers;
pub use patch_type::PatchType;
pub use strategic_support::check_strategic_support;
pub use three_way::create_three_way;
pub use verified::{PatchForm, alternative_forms, create_verified};
