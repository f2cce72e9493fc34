//! What the generators of ConfigMaps and Secrets share: their arguments, keys and values, the manifest.

mod args;
mod key_values;
mod manifest;

pub use args::{GeneratorArgs, GeneratorMetadata, GeneratorOptions};
pub(super) use key_values::{DataPair, sorted};
pub(super) use manifest::{GeneratedManifest, string};
