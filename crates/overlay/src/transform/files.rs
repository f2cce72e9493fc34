//! Files of generators and transformers.

use std::path::PathBuf;

use smp_text::diagnostic::Result;
use smp_text::source::{SourceId, SourceMap, Span};
use smp_text::yaml::{DuplicateKeys, Node, ParseOptions, Spanned, decode, parse_documents};

/// Reads the files of generators and transformers.
///
/// Paths are relative to the kustomization. Implementations must reject paths outside of the root.
pub trait Files {
    /// Returns the content of a file. `at` is the location of the path, for messages.
    ///
    /// # Errors
    /// The file does not exist, is not a regular file, or must not be read.
    fn read(&self, path: &str, at: Span) -> Result<Vec<u8>>;

    /// Returns the source of the values that are made from a file, or `None` if locations in it are not
    /// recorded.
    fn source_of(&self, _path: &str, _content: &[u8]) -> Option<SourceId> {
        None
    }

    /// Returns the name of the file in messages.
    fn name(&self, path: &str) -> PathBuf {
        path.into()
    }
}

/// Reads a text file, such as a patch, into the sources.
pub(super) fn read_text(path: &Spanned<String>, files: &dyn Files, sources: &SourceMap) -> Result<SourceId> {
    let text = decode(files.read(path, path.span)?).map_err(|error| error.at(path.span))?;
    Ok(sources.add(files.name(path), text))
}

/// Reads a configuration file: its first document. Of equal keys, the last one is used.
pub(super) fn read_config(path: &Spanned<String>, files: &dyn Files, sources: &SourceMap) -> Result<Node> {
    let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    let documents = parse_documents(sources, read_text(path, files, sources)?, options)?;
    Ok(documents.into_iter().next().unwrap_or_else(Node::null))
}
