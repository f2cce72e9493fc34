//! Files that somebody has for himself.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use same_file::Handle;

/// What is done when somebody else has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Wait for the end.
    UntilFree,
    /// Leave it alone.
    Never,
}

/// Locks a file, which is made unless it is there; none when somebody else has it and nobody waits.
///
/// Who had it before may have removed it when he was done: then another one is made.
pub(super) fn lock(path: &Path, waiting: Waiting) -> io::Result<Option<File>> {
    loop {
        let file =
            without_links(&mut OpenOptions::new()).create(true).truncate(false).write(true).open(path)?;
        if !lock_open(&file, waiting)? {
            return Ok(None);
        }
        if is_at(&file, path)? {
            return Ok(Some(file));
        }
    }
}

/// Locks an open file; whether it did.
pub(super) fn lock_open(file: &File, waiting: Waiting) -> io::Result<bool> {
    match waiting {
        Waiting::UntilFree => file.lock().map(|()| true),
        Waiting::Never => match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        },
    }
}

/// Whether an open file is the one that a path names.
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let there = match Handle::from_path(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    Ok(Handle::from_file(file.try_clone()?)? == there)
}

/// Opens options for what a name stands for itself: a link is an error, and nobody is waited for.
#[cfg(unix)]
pub(super) fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
}

/// The system has no such flags.
#[cfg(not(unix))]
pub(super) fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}
