//! Writing files: all of them, or none.

use std::fs;
use std::io::{self, Write as _};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::{NamedTempFile, TempPath};

use super::change::ChangedFile;
use crate::diagnostic::{Code, Diagnostic, Result};

/// Writes the files that changed and removes those that shall go.
///
/// All texts are written beside their places before the first file is replaced, and what was replaced
/// is put back when a later file fails.
///
/// # Errors
/// A file cannot be written or removed; all is then as it was before.
pub fn write_files(files: &[ChangedFile]) -> Result<()> {
    let changed: Vec<_> = files.iter().filter(|file| file.is_changed).collect();
    let staged = stage_all(&changed)?;
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

fn stage_all(changed: &[&ChangedFile]) -> Result<Vec<Staged>> {
    let shares = changed.chunks(changed.len().div_ceil(FLUSHES).max(1));
    thread::scope(|scope| {
        let stage = |share: &[&ChangedFile]| share.iter().copied().map(stage).collect::<Result<Vec<_>>>();
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

fn stage(file: &ChangedFile) -> Result<Staged> {
    // What a link leads to is written, and the link stays.
    let path = fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
    let new = file.text.as_deref().map(|text| write_beside(&path, text)).transpose();
    Ok(Staged { new: new.map_err(|error| failure(&file.path, &error))?, path })
}

fn write_beside(path: &Path, text: &str) -> io::Result<TempPath> {
    let directory = directory_of(path);
    fs::create_dir_all(directory)?;
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    match fs::metadata(path) {
        Ok(metadata) => file.as_file().set_permissions(metadata.permissions())?,
        Err(_) => readable_by_all(file.as_file())?,
    }
    file.as_file().sync_all()?;
    Ok(file.into_temp_path())
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
