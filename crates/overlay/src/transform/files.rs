//! How generators and transformers read the files that they name.

use std::path::PathBuf;

use smp_text::diagnostic::Result;
use smp_text::source::{SourceId, Span};

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

    /// The text that values made of a file stand in; none where nobody asks for it.
    fn text_of(&self, _path: &str, _content: &[u8]) -> Option<SourceId> {
        None
    }

    /// What messages call the file.
    fn name(&self, path: &str) -> PathBuf {
        path.into()
    }
}
