//! The rules about dangerous changes, one file each. `diff` runs them to compare two builds of a target.

mod capabilities;
mod image_name;
mod prelude;

mod changed_pruning;
mod deleted_data;
mod exposed_host;
mod exposed_service;
mod host_access;
mod immutable_field;
mod major_version;
mod many_targets;
mod mutable_tag;
mod no_replicas;
mod other_image;
mod plain_secret;
mod privileged_container;
mod reclaim_policy;
mod recreate_strategy;
mod removed_budget;
mod removed_probe;
mod removed_resources;
mod removed_spreading;
mod removed_tls;
mod run_as_root;
mod service_account_token;
mod service_selector;
mod shrunk_volume;
mod suspended_sync;
mod webhook_policy;
mod wider_binding;
mod wider_network_policy;
mod wider_role;

pub use self::image_name::ImageName;
pub use self::many_targets::MANY_TARGETS;
use super::rule::Rule;

/// All rules, in the order in which they are listed.
pub(super) static RULES: &[&Rule] = &[
    &deleted_data::RULE,
    &shrunk_volume::RULE,
    &reclaim_policy::RULE,
    &immutable_field::RULE,
    &service_selector::RULE,
    &no_replicas::RULE,
    &removed_budget::RULE,
    &removed_probe::RULE,
    &recreate_strategy::RULE,
    &removed_resources::RULE,
    &removed_spreading::RULE,
    &wider_role::RULE,
    &wider_binding::RULE,
    &privileged_container::RULE,
    &host_access::RULE,
    &run_as_root::RULE,
    &service_account_token::RULE,
    &exposed_service::RULE,
    &exposed_host::RULE,
    &wider_network_policy::RULE,
    &removed_tls::RULE,
    &webhook_policy::RULE,
    &mutable_tag::RULE,
    &other_image::RULE,
    &major_version::RULE,
    &plain_secret::RULE,
    &suspended_sync::RULE,
    &changed_pruning::RULE,
    &many_targets::RULE,
];
