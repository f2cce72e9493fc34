//! What is said when files cannot be written.

use std::io;
use std::path::Path;

use smp_text::diagnostic::{Code, Diagnostic};

/// A file that cannot be written, with what can be done about it.
pub(super) fn not_written(path: &Path, error: &io::Error) -> Diagnostic {
    let shown = path.display();
    let (why, help) = match error.kind() {
        io::ErrorKind::NotFound => ("there is no such directory".into(), "make the directory first"),
        io::ErrorKind::IsADirectory => ("it is a directory".into(), "name a file in it"),
        io::ErrorKind::PermissionDenied => {
            (error.to_string(), "allow it to be written, or name another file")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (error.to_string(), "make room, or name a file on another disk")
        }
        _ => (error.to_string(), "name another file"),
    };
    Diagnostic::error(Code::Io, format!("{shown} cannot be written: {why}")).help(help)
}

/// The same, where several files were to be written.
pub(super) fn unchanged(problem: Diagnostic) -> Diagnostic {
    problem.note("no file was changed")
}
