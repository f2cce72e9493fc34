//! Documents in command line arguments, such as an inline patch.
//!
//! Such documents may contain secrets, so error messages must not show them. A document that was
//! passed in place of a path is reported.

use std::any::TypeId;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Failure;
use smp_files::{DiskTree, FileTree as _};
use smp_overlay::schema_chain::SchemaChoice;
use smp_text::diagnostic::escaped;

/// The replacement of a document in messages.
const DOCUMENT: &str = "***";

/// The help for a patch without a flag.
const MISSING_PATCH_FLAG: &str = "did you forget `-p` before the patch?";

/// Returns an argument for messages: documents are masked and control sequences are escaped.
pub(super) fn redact(word: &str) -> String {
    let (flag, value) = match word.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => (&word[..=flag.len()], value),
        _ if word.starts_with('-') && !word.starts_with("--") && word.is_char_boundary(2) => word.split_at(2),
        _ => ("", word),
    };
    if is_document(value) { format!("{}{DOCUMENT}", escaped(flag)) } else { escaped(word).into_owned() }
}

/// Returns true if a text seems to be a document, judged by its first line.
fn is_document(text: &str) -> bool {
    let line = text.trim_start().lines().next().unwrap_or_default();
    // Braces without a colon are those of a template such as `{name}.yaml`.
    (line.starts_with('{') && text.contains(':'))
        || line.starts_with(['[', '#'])
        || line.starts_with("- ")
        || line.contains(": ")
        || line.ends_with(':')
        || line == "---"
}

/// Returns the help for a patch that is passed without a flag.
pub(super) fn missing_patch_flag(error: &clap::Error, all: &str) -> Option<&'static str> {
    let is_document =
        matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(word)) if word == DOCUMENT);
    let is_missing = error.kind() == ErrorKind::UnknownArgument && is_document && all.contains(" patch ");
    is_missing.then_some(MISSING_PATCH_FLAG)
}

/// Returns the error for a document that was passed in place of a path, if no file has that name.
/// The message does not show the document, which may be a Secret.
pub(super) fn document_as_path(command: &clap::Command, matches: &ArgMatches) -> Option<Failure> {
    if let Some((name, below)) = matches.subcommand() {
        return document_as_path(command.find_subcommand(name)?, below);
    }
    let path_types = [TypeId::of::<PathBuf>(), TypeId::of::<SchemaChoice>()];
    let takes_paths =
        |arg: &&clap::Arg| path_types.iter().any(|path| arg.get_value_parser().type_id() == *path);
    let has_document = |arg: &&clap::Arg| {
        let values = matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
        values.map(Path::new).any(|path| is_document(&path.to_string_lossy()) && !DiskTree.contains(path))
    };
    let arg = command.get_arguments().filter(takes_paths).find(has_document)?;
    let takes_patch = command.get_arguments().any(|arg| arg.get_id() == "patch");
    let help = if takes_patch { MISSING_PATCH_FLAG } else { "write it to a file and use its path" };
    let long = arg.get_long().map(|long| format!("--{long}"));
    let name = long.unwrap_or_else(|| arg.get_value_names().unwrap_or_default().join(" "));
    Some(Failure::Usage(format!("{name} takes a path, but got a document: {help}")))
}
