//! How generators and transformers read the files that they name.

use std::path::PathBuf;

use smp_text::diagnostic::Result;
use smp_text::source::{SourceId, SourceMap, Span};
use smp_text::yaml::{DuplicateKeys, Node, ParseOptions, Spanned, decode, parse_documents};

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

/// Reads a file that is a text, such as a patch, into the sources.
pub(super) fn read_text(path: &Spanned<String>, files: &dyn Files, sources: &SourceMap) -> Result<SourceId> {
    let text = decode(files.read(path, path.span)?).map_err(|error| error.at(path.span))?;
    Ok(sources.add(files.name(path), text))
}

/// Reads the configuration in a file: its first document, where the last of equal keys counts.
pub(super) fn read_config(path: &Spanned<String>, files: &dyn Files, sources: &SourceMap) -> Result<Node> {
    let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    let documents = parse_documents(sources, read_text(path, files, sources)?, options)?;
    Ok(documents.into_iter().next().unwrap_or_else(Node::null))
}
