//! Decodes nodes to typed configuration by the rules with which kustomize reads its own files.
//!
//! Decodes a kustomization file into a struct like sigs.k8s.io/yaml and Go's `encoding/json`: YAML 1.1 booleans (`yes`,
//! `on`, `y`), field names in any case, null as "not set". This module does not depend on any particular configuration.
//! The structs describe themselves through serde.

mod deserializer;
mod error;
mod options;
#[cfg(test)]
mod tests;

pub use options::DecodeOptions;

use serde::de::DeserializeOwned;

use self::deserializer::NodeDeserializer;
use super::node::Node;
use crate::diagnostic::Result;

/// Decodes a typed value from a tree as kustomize reads a kustomization file.
///
/// Structs should have `#[serde(default, rename_all = "camelCase")]`; `flatten` is not supported, since it
/// hides the names of the fields. [`Spanned`](super::Spanned) keeps the location of a value.
///
/// # Errors
/// Unknown fields and values of wrong types, with their location and field path.
pub fn from_node<T: DeserializeOwned>(node: &Node) -> Result<T> {
    from_node_with(node, DecodeOptions::default())
}

/// Decodes a typed value from a tree with options.
///
/// # Errors
/// The errors of [`from_node`].
pub fn from_node_with<T: DeserializeOwned>(node: &Node, options: DecodeOptions) -> Result<T> {
    T::deserialize(NodeDeserializer { node, path: None, options }).map_err(|error| error.0)
}
