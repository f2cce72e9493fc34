//! Many files: all of them, or none.

use std::fs;
use std::io::{self, Write as _};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::{NamedTempFile, TempPath};

use super::replace::{create_directories, directory_of};
use crate::diagnostic::{Code, Diagnostic, Result};

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileChange<'c> {
    /// Where it is or shall be; its directory is made.
    pub path: &'c Path,
    /// Its content; none when it shall go.
    pub content: Option<&'c [u8]>,
    /// Whether it may be run as a program; none: as the file that is there, and not when it is new.
    pub executable: Option<bool>,
}

/// Changes files.
///
/// All texts are written beside their places before the first file is replaced, and what was replaced
/// is put back when a later file fails.
///
/// # Errors
/// A file cannot be written or removed; all is then as it was before.
pub fn change_files(changes: &[FileChange<'_>]) -> Result<()> {
    let staged = stage_all(changes)?;
    let mut done = Vec::with_capacity(staged.len());
    for file in staged {
        match file.replace() {
            Ok(undo) => done.push(undo),
            Err(error) => {
                // The latest first, so that each finds the place as it left it.
                done.into_iter().rev().for_each(Undo::run);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// How many files are flushed to the disk at a time. Each waits milliseconds for the disk, which writes
/// what waits together in one go.
const FLUSHES: usize = 32;

fn stage_all(changes: &[FileChange<'_>]) -> Result<Vec<Staged>> {
    let shares = changes.chunks(changes.len().div_ceil(FLUSHES).max(1));
    thread::scope(|scope| {
        let stage = |share: &[FileChange<'_>]| share.iter().map(stage).collect::<Result<Vec<_>>>();
        let threads: Vec<_> = shares.map(|share| scope.spawn(move || stage(share))).collect();
        let staged =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok(staged.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    })
}

/// A file whose new text is on the disk, beside its place.
struct Staged {
    path: PathBuf,
    /// None: the file goes.
    new: Option<TempPath>,
}

/// How to take a replacement back.
struct Undo {
    path: PathBuf,
    /// What was there before.
    old: Option<TempPath>,
}

fn failure(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(Code::Io, format!("{} cannot be written: {error}", path.display()))
        .note("no file was changed")
}

fn stage(change: &FileChange<'_>) -> Result<Staged> {
    // What a link leads to is written, and the link stays.
    let path = fs::canonicalize(change.path).unwrap_or_else(|_| change.path.to_path_buf());
    let new = change.content.map(|content| write_beside(&path, content, change.executable)).transpose();
    Ok(Staged { new: new.map_err(|error| failure(change.path, &error))?, path })
}

fn write_beside(path: &Path, content: &[u8], executable: Option<bool>) -> io::Result<TempPath> {
    let directory = directory_of(path);
    create_directories(directory)?;
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    match fs::metadata(path) {
        Ok(metadata) => file.as_file().set_permissions(metadata.permissions())?,
        Err(_) => readable_by_all(file.as_file())?,
    }
    if let Some(executable) = executable {
        set_executable(file.as_file(), executable)?;
    }
    file.as_file().sync_all()?;
    Ok(file.into_temp_path())
}

/// Temporary files are for their owner alone, and manifests are not.
#[cfg(unix)]
fn readable_by_all(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_all(_: &fs::File) -> io::Result<()> {
    Ok(())
}

/// Who may read a program may run it.
#[cfg(unix)]
fn set_executable(file: &fs::File, executable: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata()?.permissions().mode();
    let mode = if executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_executable(_: &fs::File, _: bool) -> io::Result<()> {
    Ok(())
}

impl Staged {
    fn replace(self) -> Result<Undo> {
        let failed = |error: &io::Error| failure(&self.path, error);
        let old = self.put_aside().map_err(|error| failed(&error))?;
        let path = self.path.clone();
        let undo = Undo { path, old };
        if let Some(new) = self.new
            && let Err(error) = new.persist(&self.path)
        {
            undo.run();
            return Err(failure(&self.path, &error.error));
        }
        Ok(undo)
    }

    /// Keeps the file that is there under another name, which vanishes with the returned path. Its own
    /// name is free afterwards only when no new file takes it.
    fn put_aside(&self) -> io::Result<Option<TempPath>> {
        if !self.path.exists() {
            return Ok(None);
        }
        let directory = directory_of(&self.path);
        if self.new.is_none() {
            let aside = NamedTempFile::new_in(directory)?.into_temp_path();
            fs::rename(&self.path, &aside)?;
            return Ok(Some(aside));
        }
        let link = |name: &Path| fs::hard_link(&self.path, name);
        if let Ok(aside) = tempfile::Builder::new().make_in(directory, link) {
            return Ok(Some(aside.into_temp_path()));
        }
        // Some file systems know no links.
        let aside = NamedTempFile::new_in(directory)?.into_temp_path();
        fs::copy(&self.path, &aside)?;
        Ok(Some(aside))
    }
}

impl Undo {
    fn run(self) {
        // What cannot be put back has already been reported as what failed.
        let _ = match self.old {
            Some(old) => old.persist(&self.path).map_err(|error| error.error),
            None => fs::remove_file(&self.path),
        };
    }
}
