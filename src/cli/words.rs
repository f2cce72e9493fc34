//! Documents among the words of a command line, which may hold anything: what a message may tell of them, and what it
//! says where one stands for something else.

use std::any::TypeId;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Failure;
use smp_files::{DiskTree, FileTree as _};
use smp_overlay::schema_chain::SchemaChoice;
use smp_text::diagnostic::escaped;

/// Stands for a document.
const DOCUMENT: &str = "***";

/// What to do where a patch stands in the wrong place.
const FORGOTTEN: &str = "did you forget `-p` before the patch?";

/// A word as a message may tell it.
pub(super) fn shown(word: &str) -> String {
    let (flag, value) = match word.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => (&word[..=flag.len()], value),
        _ if word.starts_with('-') && !word.starts_with("--") && word.is_char_boundary(2) => word.split_at(2),
        _ => ("", word),
    };
    if is_document(value) { format!("{}{DOCUMENT}", escaped(flag)) } else { escaped(word).into_owned() }
}

/// By its first line: what follows a word may be no part of a document.
fn is_document(text: &str) -> bool {
    let line = text.trim_start().lines().next().unwrap_or_default();
    line.starts_with(['{', '[', '#'])
        || line.starts_with("- ")
        || line.contains(": ")
        || line.ends_with(':')
        || line == "---"
}

/// What to do where a patch stands and no flag says that it is one.
pub(super) fn lack_of_flag(error: &clap::Error, all: &str) -> Option<&'static str> {
    let is_document =
        matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(word)) if word == DOCUMENT);
    let is_forgotten = error.kind() == ErrorKind::UnknownArgument && is_document && all.contains(" patch ");
    is_forgotten.then_some(FORGOTTEN)
}

/// What is wrong with a command line that has a document where the path of a file belongs, and no such file is there.
/// Nothing of it is told, since it may be a Secret.
pub(super) fn document_for_path(command: &clap::Command, matches: &ArgMatches) -> Option<Failure> {
    if let Some((name, below)) = matches.subcommand() {
        return document_for_path(command.find_subcommand(name)?, below);
    }
    let of_paths = [TypeId::of::<PathBuf>(), TypeId::of::<SchemaChoice>()];
    let takes_paths = |arg: &&clap::Arg| of_paths.iter().any(|of| arg.get_value_parser().type_id() == *of);
    let has_document = |arg: &&clap::Arg| {
        let values = matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
        values.map(Path::new).any(|path| is_document(&path.to_string_lossy()) && !DiskTree.has(path))
    };
    let arg = command.get_arguments().filter(takes_paths).find(has_document)?;
    let takes_patch = command.get_arguments().any(|arg| arg.get_id() == "patch");
    let help = if takes_patch { FORGOTTEN } else { "write it to a file, and name that" };
    let long = arg.get_long().map(|long| format!("--{long}"));
    let name = long.unwrap_or_else(|| arg.get_value_names().unwrap_or_default().join(" "));
    Some(Failure::Usage(format!("{name} takes a path, and a document stands there: {help}")))
}
