//! Atomic replacement of a single file.

use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use super::super::cleanup;
use super::super::lock::{self, LockMode};
use super::error::write_error;
use super::journal::recover_directory_and_parents;
use super::permission;
use super::resolve::{self, PREFIX, WriteTarget, parent_directory};
use smp_text::diagnostic::Result;

/// Writes content to a file. Creates the file if it does not exist. Its directory must exist.
///
/// Symlinks are followed. The file is replaced atomically by a file with the same mode, so that no program sees partial
/// content. Pipes, devices and inherited descriptors such as `/dev/stdout` are written to directly.
///
/// # Errors
/// The file cannot be written or is read-only. Its old content is kept, except for streams.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<()> {
    let failed = |error: io::Error| write_error(path, &error);
    // If an interrupted write were completed later, it would overwrite this content.
    recover_directory_and_parents(parent_directory(path))?;
    match resolve::resolve_target(path).map_err(failed)? {
        WriteTarget::Stream(stream) => {
            let mut open = stream.open().map_err(failed)?;
            open.write_all(content).and_then(|()| open.flush()).map_err(failed)
        }
        WriteTarget::New(real) => write_and_rename(&real, content, FileMode::New).map_err(failed),
        WriteTarget::Existing(real, metadata) => {
            permission::check_writable(&real, &metadata).map_err(failed)?;
            write_and_rename(&real, content, FileMode::Of(&metadata)).map_err(failed)
        }
    }
}

/// Writes content to a file that only its owner may read and write, even if the file exists with another mode. Its
/// directory must exist.
///
/// # Errors
/// The file cannot be written, is read-only, or is not a regular file. Its old content is kept.
pub fn replace_private_file(path: &Path, content: &[u8]) -> Result<()> {
    let failed = |error: io::Error| write_error(path, &error);
    recover_directory_and_parents(parent_directory(path))?;
    let real = match resolve::resolve_target(path).map_err(failed)? {
        WriteTarget::Stream(_) => return Err(failed(io::Error::other("it is not a regular file"))),
        WriteTarget::New(real) => real,
        WriteTarget::Existing(real, metadata) => {
            permission::check_writable(&real, &metadata).map_err(failed)?;
            real
        }
    };
    write_and_rename(&real, content, FileMode::Private).map_err(failed)
}

/// Removes a file if it still has this content, so that a file of another program is not removed.
///
/// # Errors
/// The file cannot be read or removed. A file that does not exist is not an error.
pub fn remove_own_file(path: &Path, content: &[u8]) -> Result<()> {
    let failed = |error: io::Error| write_error(path, &error);
    match std::fs::read(path) {
        // The target of a symlink is the file that was written.
        Ok(found) if found == content => path.canonicalize().and_then(std::fs::remove_file).map_err(failed),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Removes a directory and those below it if none of them contains a file. A directory that cannot be removed is kept.
pub fn remove_empty_directories(top: &Path) {
    let entries = walkdir::WalkDir::new(top).contents_first(true).into_iter().flatten();
    for directory in entries.filter(|entry| entry.file_type().is_dir()) {
        // The system does not remove a directory with entries.
        let _ = std::fs::remove_dir(directory.path());
    }
}

/// The mode of a written file.
#[derive(Clone, Copy)]
enum FileMode<'m> {
    /// The mode of new files.
    New,
    /// The mode of the replaced file.
    Of(&'m Metadata),
    /// Only readable and writable by the owner.
    Private,
}

/// Replaces a file by a new one, after the content of the new one is on disk.
fn write_and_rename(real: &Path, content: &[u8], mode: FileMode<'_>) -> io::Result<()> {
    let directory = parent_directory(real);
    sweep(directory);
    let mut builder = Builder::new();
    builder.prefix(PREFIX);
    match mode {
        FileMode::New => permission::as_new(&mut builder, None),
        FileMode::Of(old) => permission::as_new(&mut builder, Some(old)),
        // Temporary files are private.
        FileMode::Private => {}
    }
    let mut file = create_temporary(directory, &builder)?;
    let is_kept = match mode {
        // The owner is kept if possible.
        FileMode::Of(old) => permission::keep(file.as_file(), old).map(drop),
        FileMode::New | FileMode::Private => Ok(()),
    };
    let written = is_kept.and_then(|()| file.write_all(content));
    let synced = written.and_then(|()| file.as_file().sync_all());
    let (path, renamed) = (file.path().to_path_buf(), synced.and_then(|()| persist(file, real)));
    cleanup::lock_registered().remove(&path);
    renamed?;
    permission::sync_directory(directory);
    Ok(())
}

fn persist(file: NamedTempFile, real: &Path) -> io::Result<()> {
    file.persist(real).map(drop).map_err(|error| error.error)
}

/// Creates a locked temporary file. Because of the lock, other programs do not treat it as a leftover.
fn create_temporary(directory: &Path, builder: &Builder<'_, '_>) -> io::Result<NamedTempFile> {
    loop {
        // Errors of the library contain the name of the temporary file.
        let create = || builder.tempfile_in(directory).map_err(|error| io::Error::from(error.kind()));
        let file = cleanup::create(create, NamedTempFile::path)?;
        // Without file locks, other programs cannot detect leftovers, either.
        let is_ours = lock::lock_open(file.as_file(), LockMode::Try).unwrap_or(true);
        if is_ours && lock::is_at(file.as_file(), file.path())? {
            return Ok(file);
        }
        cleanup::lock_registered().remove(file.path());
    }
}

/// Removes temporary files of killed programs from a directory.
fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let is_ours = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.starts_with(PREFIX));
    for entry in entries.flatten().filter(|entry| is_ours(&entry.file_name())) {
        let path = entry.path();
        let open = lock::without_links(fs::OpenOptions::new().read(true)).open(&path);
        if let Ok(file) = open
            && file.metadata().is_ok_and(|metadata| metadata.is_file())
            && lock::lock_open(&file, LockMode::Try).unwrap_or(false)
        {
            // Another program may have removed it at the same time.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Writes content, given in parts, to a file atomically. `prefix` is the prefix of the temporary name.
pub(in super::super) fn replace_file_with(path: &Path, parts: &[&[u8]], prefix: &str) -> io::Result<()> {
    let mut file = create_temporary(parent_directory(path), Builder::new().prefix(prefix))?;
    let written = parts.iter().try_for_each(|part| file.write_all(part));
    let (temporary, renamed) = (file.path().to_path_buf(), written.and_then(|()| persist(file, path)));
    cleanup::lock_registered().remove(&temporary);
    renamed
}
