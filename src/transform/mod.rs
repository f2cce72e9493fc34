//! What changes or makes resources: one file for each of kustomize's transformers and generators.
//!
//! Knows resources and the configuration of one transformer; knows nothing of kustomization files,
//! directories or the order of steps. The little that has to be read from files comes through
//! [`Files`].

mod generators;
mod key_values;
mod lookup;
mod replacements;
mod selector_args;
mod structured;

pub use generators::{GeneratorArgs, GeneratorMetadata, GeneratorOptions, config_map, secret};
pub use replacements::{
    FieldOptions, Replacement, ReplacementSource, ReplacementTarget, load_replacements, replacements,
};
pub use selector_args::SelectorArgs;

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
