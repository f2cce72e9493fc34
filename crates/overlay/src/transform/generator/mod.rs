//! Common parts of the ConfigMap and Secret generators: arguments, key-value pairs and the manifest.

mod args;
mod key_values;
mod manifest;

pub use args::{GeneratorArgs, GeneratorMetadata, GeneratorOptions};
pub(super) use key_values::{DataPair, load_sorted};
pub(super) use manifest::{GeneratedManifest, string_node};
