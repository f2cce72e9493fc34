//! Replacements in files of their own.

use super::args::Replacement;
use crate::transform::files::{Files, read_config};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::SourceMap;
use smp_text::yaml::{DecodeOptions, Spanned, Value, from_node_with};

/// Loads the replacements that are in files of their own, and returns all replacements.
///
/// # Errors
/// A file cannot be read, a replacement is malformed, or an entry has a path and other fields.
pub fn load_replacements(
    replacements: &[Replacement],
    files: &dyn Files,
    sources: &SourceMap,
) -> Result<Vec<Replacement>> {
    let mut loaded = Vec::with_capacity(replacements.len());
    for replacement in replacements {
        if replacement.path.is_empty() {
            loaded.push(replacement.clone());
        } else if replacement.is_empty() {
            loaded.extend(read_file(&replacement.path, files, sources)?);
        } else {
            let message = "a replacement with a `path` cannot have other fields";
            return Err(Diagnostic::error(Code::InvalidValue, message)
                .at(replacement.path.span)
                .help("move the other fields into the file or into a separate entry"));
        }
    }
    Ok(loaded)
}

fn read_file(path: &Spanned<String>, files: &dyn Files, sources: &SourceMap) -> Result<Vec<Replacement>> {
    let document = read_config(path, files, sources)?;
    match &document.value {
        Value::Map(_) => Ok(vec![from_node_with(&document, DecodeOptions::lenient())?]),
        Value::List(_) => from_node_with(&document, DecodeOptions::lenient()),
        Value::Scalar(_) => {
            let message = format!("expected a replacement or a list of them, found {}", document.type_name());
            Err(Diagnostic::error(Code::WrongType, message)
                .at(if document.span().is_none() { path.span } else { document.span() })
                .note(format!("in the file {}", **path)))
        }
    }
}
