//! Phrases that are used in messages of several crates.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Display;
use std::io;

use super::{Code, Diagnostic};

/// Returns a count with its noun: `1 object`, `2 objects`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", plural(count, "", "s"))
}

/// Returns the singular or plural form for a count, such as `is` or `are`.
pub fn plural<'t>(count: usize, one: &'t str, more: &'t str) -> &'t str {
    if count == 1 { one } else { more }
}

/// Returns the error for something that cannot be read. `what` is the name that the user knows.
pub fn read_error(what: impl Display, error: &(dyn Error + 'static)) -> Diagnostic {
    let io = error.downcast_ref::<io::Error>();
    let is_large = io.is_some_and(|error| error.kind() == io::ErrorKind::FileTooLarge);
    let code = if is_large { Code::LimitExceeded } else { Code::Io };
    let why = io.map_or_else(|| error.to_string().into(), io_reason);
    Diagnostic::error(code, format!("{what} cannot be read: {why}"))
}

/// Returns the reason of an I/O error. Common reasons have the same text on all systems.
pub fn io_reason(error: &io::Error) -> Cow<'static, str> {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string().into(),
    }
}
