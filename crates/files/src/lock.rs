//! Exclusive file locks.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use same_file::Handle;

/// The behavior if another process holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// Wait until the lock is released.
    Wait,
    /// Do not wait.
    Try,
}

/// Locks a file. Creates it if it does not exist. Returns `None` if another process holds the lock and `waiting` is
/// `Try`.
///
/// The previous holder may have removed the file before it released the lock. In this case a new file is created and
/// locked.
pub(super) fn lock(path: &Path, waiting: LockMode) -> io::Result<Option<File>> {
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

/// Locks a file against programs that write. Returns `None` if one of them holds the lock or removes the file.
pub(super) fn lock_for_reading(path: &Path) -> Option<File> {
    let file = without_links(&mut OpenOptions::new()).read(true).open(path).ok()?;
    (file.try_lock_shared().is_ok() && is_at(&file, path).is_ok_and(|is_at| is_at)).then_some(file)
}

/// Locks an open file. Returns false if another process holds the lock and `waiting` is `Try`.
pub(super) fn lock_open(file: &File, waiting: LockMode) -> io::Result<bool> {
    match waiting {
        LockMode::Wait => file.lock().map(|()| true),
        LockMode::Try => match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        },
    }
}

/// Returns true if an open file is the file at a path.
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let found = match Handle::from_path(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    Ok(Handle::from_file(file.try_clone()?)? == found)
}

/// Sets flags with which opening a symlink is an error and opening a pipe does not block.
#[cfg(unix)]
pub(super) fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
}

/// Does nothing, since the system has no such flags.
#[cfg(not(unix))]
pub(super) fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}
