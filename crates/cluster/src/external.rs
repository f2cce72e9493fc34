//! An external program that shows differences: `KUBECTL_EXTERNAL_DIFF`.

use std::process::Command;

use super::diff::ObjectDiff;
use smp_files::TemporaryDirectory;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Lets a program show the differences and returns whether there are any.
///
/// As with `kubectl diff`: the program gets two directories, `LIVE-...` and `MERGED-...`, with one
/// file per object in each. It is split at spaces; words behind the first are passed behind the
/// directories when they have only letters, digits, `-` and `=`. It exits with 0 when there is no
/// difference and with 1 when there is one. Its output goes where this program's does.
///
/// # Errors
/// The files cannot be written; the program cannot be run or exits with another status.
pub fn external_diff(program: &str, objects: &[ObjectDiff]) -> Result<bool> {
    let (live, merged) = (directory("LIVE-")?, directory("MERGED-")?);
    for diff in objects {
        let name = diff.object.file_name().replace(['/', '\\'], "_");
        let (before, after) = diff.texts()?;
        write(&live, &name, &before)?;
        write(&merged, &name, &after)?;
    }
    let mut words = program.split(' ');
    let command = words.next().unwrap_or_default();
    let may_pass = |word: &&str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'='))
    };
    let status = Command::new(command)
        .args([live.path(), merged.path()])
        .args(words.filter(may_pass))
        .status()
        .map_err(|error| failed(command, &error))?;
    match status.code() {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        _ => Err(failed(command, &status)),
    }
}

fn directory(prefix: &str) -> Result<TemporaryDirectory> {
    TemporaryDirectory::new(prefix).map_err(|error| {
        Diagnostic::error(Code::Io, format!("no directory can be made for the differences: {error}"))
    })
}

fn write(directory: &TemporaryDirectory, name: &str, text: &str) -> Result<()> {
    directory.write(name, text.as_bytes()).map_err(|error| {
        let path = directory.path().join(name);
        Diagnostic::error(Code::Io, format!("{} cannot be written: {error}", path.display()))
    })
}

fn failed(command: &str, how: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Code::Command, format!("`{command}` failed: {how}"))
        .help("check the environment variable KUBECTL_EXTERNAL_DIFF")
}
