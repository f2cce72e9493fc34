//! The lint rules, one file each.

pub(super) mod ambiguous_scalar;
pub(super) mod changed_selector;
pub(super) mod container_without_image;
pub(super) mod dangling_key;
pub(super) mod dangling_port;
pub(super) mod external_reference;
pub(super) mod ignored_document;
pub(super) mod invalid_image;
pub(super) mod misspelled_directive;
pub(super) mod misspelled_reference;
pub(super) mod no_effect;
pub(super) mod replace_missing_field;
pub(super) mod server_field;
pub(super) mod similar_key;
pub(super) mod unmatched_deletion;
pub(super) mod unmatched_image;
pub(super) mod unmatched_patch;
pub(super) mod unmatched_replacement;
pub(super) mod unmatched_selector;
pub(super) mod unreferenced_file;
pub(super) mod unused_generator;
pub(super) mod unused_suppression;
pub(super) mod unused_variable;
pub(super) mod validation;
