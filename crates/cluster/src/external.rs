//! External diff programs: `KUBECTL_EXTERNAL_DIFF`.

use std::process::Command;

use super::diff::ObjectDiff;
use smp_files::TemporaryDirectory;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Runs a diff program and returns true if it reports differences.
///
/// As in `kubectl diff`, the program gets two directories, `LIVE-...` and `MERGED-...`, with one file per object in
/// each. The value is split at spaces. Words after the first one are passed after the directories if they consist only
/// of letters, digits, `-` and `=`. The program must exit with 0 if there are no differences, and with 1 if there are.
/// Its output is not captured.
///
/// # Errors
/// The files cannot be written, or the program cannot be run or exits with another status.
pub fn run_external_diff(program: &str, objects: &[ObjectDiff]) -> Result<bool> {
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
        Diagnostic::error(Code::Io, format!("cannot create a temporary directory for the diff: {error}"))
    })
}

fn write(directory: &TemporaryDirectory, name: &str, text: &str) -> Result<()> {
    directory.write(name, text.as_bytes()).map_err(|error| {
        let path = directory.path().join(name);
        Diagnostic::error(Code::Io, format!("cannot write {}: {error}", path.display()))
    })
}

fn failed(command: &str, how: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Code::Command, format!("`{command}` failed: {how}"))
        .help("check the environment variable KUBECTL_EXTERNAL_DIFF")
}
