//! One file.

use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use super::super::cleanup;
use super::super::lock::{self, Waiting};
use super::journal::end_unfinished;
use super::permission;
use super::place::{self, PREFIX, WritePlace, directory_of};
use super::problem::not_written;
use smp_text::diagnostic::Result;

/// Gives a file a content; it is made when it is not there, in a directory that must be.
///
/// What a path leads to is written, links followed. The file is replaced at once by one of the same mode,
/// so that nobody sees a part of it. Pipes, devices and what this program was started with, such as
/// `/dev/stdout`, are written to instead.
///
/// # Errors
/// It cannot be written, or is read-only; what was there stays, but for what is written to a stream.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<()> {
    let failed = |error: io::Error| not_written(path, &error);
    // What a stopped program still has to write would be written over this.
    end_unfinished(directory_of(path))?;
    match place::place(path).map_err(failed)? {
        WritePlace::Stream(stream) => {
            let mut open = stream.open().map_err(failed)?;
            open.write_all(content).and_then(|()| open.flush()).map_err(failed)
        }
        WritePlace::Free(real) => put(&real, content, None).map_err(failed),
        WritePlace::Taken(real, metadata) => {
            permission::check_writable(&real, &metadata).map_err(failed)?;
            put(&real, content, Some(&metadata)).map_err(failed)
        }
    }
}

/// Replaces a file by one that is on the disk.
fn put(real: &Path, content: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    let directory = directory_of(real);
    sweep(directory);
    let mut builder = Builder::new();
    builder.prefix(PREFIX);
    permission::as_new(&mut builder, old);
    let mut file = temporary(directory, &builder)?;
    let is_kept = match old {
        // The owner is kept where that is possible: the file is the user's, who named it.
        Some(old) => permission::keep(file.as_file(), old).map(drop),
        None => Ok(()),
    };
    let written = is_kept.and_then(|()| file.write_all(content));
    let placed = written.and_then(|()| file.as_file().sync_all());
    let (path, placed) = (file.path().to_path_buf(), placed.and_then(|()| persist(file, real)));
    cleanup::notes().remove(&path);
    placed?;
    permission::sync_directory(directory);
    Ok(())
}

fn persist(file: NamedTempFile, real: &Path) -> io::Result<()> {
    file.persist(real).map(drop).map_err(|error| error.error)
}

/// A file that nobody else takes for a remainder.
fn temporary(directory: &Path, builder: &Builder<'_, '_>) -> io::Result<NamedTempFile> {
    loop {
        let file = cleanup::make(|| builder.tempfile_in(directory), NamedTempFile::path)?;
        // Some file systems have no locks; then nobody else can tell that it is a remainder, either.
        let is_ours = lock::lock_open(file.as_file(), Waiting::Never).unwrap_or(true);
        if is_ours && lock::is_at(file.as_file(), file.path())? {
            return Ok(file);
        }
        cleanup::notes().remove(file.path());
    }
}

/// Removes what programs left behind that were killed while they wrote into a directory.
fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let is_ours = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.starts_with(PREFIX));
    for entry in entries.flatten().filter(|entry| is_ours(&entry.file_name())) {
        let path = entry.path();
        let open = lock::without_links(fs::OpenOptions::new().read(true)).open(&path);
        if let Ok(file) = open
            && file.metadata().is_ok_and(|metadata| metadata.is_file())
            && lock::lock_open(&file, Waiting::Never).unwrap_or(false)
        {
            // Another program may have been faster.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Keeps a content, given in parts, under a name; `prefix` begins the name that it has until it is whole.
pub(in super::super) fn replace_file_with(path: &Path, parts: &[&[u8]], prefix: &str) -> io::Result<()> {
    let mut file = temporary(directory_of(path), Builder::new().prefix(prefix))?;
    let written = parts.iter().try_for_each(|part| file.write_all(part));
    let (temporary, placed) = (file.path().to_path_buf(), written.and_then(|()| persist(file, path)));
    cleanup::notes().remove(&temporary);
    placed
}
