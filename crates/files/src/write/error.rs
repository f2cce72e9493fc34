//! Errors of writing files.

use std::io;
use std::path::Path;

use smp_text::diagnostic::{Code, Diagnostic};

/// Creates the error for a file that cannot be written.
pub(super) fn write_error(path: &Path, error: &io::Error) -> Diagnostic {
    let shown = path.display();
    let (why, help) = match error.kind() {
        io::ErrorKind::NotFound => ("the directory does not exist".into(), "create the directory first"),
        io::ErrorKind::IsADirectory => ("it is a directory".into(), "use a file in the directory"),
        io::ErrorKind::PermissionDenied => {
            (error.to_string(), "change the permissions of the file or its directory, or use another file")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (error.to_string(), "free disk space, or use a file on another disk")
        }
        io::ErrorKind::FileTooLarge => {
            ("the file would exceed the size limit of the process".into(), "raise the limit (`ulimit -f`)")
        }
        _ => (error.to_string(), "use another file"),
    };
    Diagnostic::error(Code::Io, format!("cannot write {shown}: {why}")).help(help)
}

/// Adds the note that none of the files was changed.
pub(super) fn with_unchanged_note(problem: Diagnostic) -> Diagnostic {
    problem.note("no file was changed")
}
