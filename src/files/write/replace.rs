//! One file.

use std::error::Error;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::{Builder, PersistError};

/// The directory that a path's last name stands in.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a directory, and those that it is in, unless they are there.
///
/// # Errors
/// One of them cannot be made, or is a file.
pub fn create_directories(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Gives a file a content; it is made when it is not there, in a directory that must be.
///
/// # Errors
/// It cannot be written; what was there stays.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    replace_file_with(path, &[content], ".tmp")
}

/// As [`replace_file`], with a content in parts and the prefix of the name that the file has until then.
pub(in super::super) fn replace_file_with(
    path: &Path,
    parts: &[&[u8]],
    prefix: &str,
) -> Result<(), ReplaceError> {
    let directory = directory_of(path);
    let new = Builder::new().prefix(prefix).tempfile_in(directory);
    let mut file = new.map_err(|error| ReplaceError::new(Stage::Make, directory, error))?;
    let written = parts.iter().try_for_each(|part| file.write_all(part));
    written.map_err(|error| ReplaceError::new(Stage::Write, path, error))?;
    let placed = file.persist(path);
    placed.map(drop).map_err(|PersistError { error, .. }| ReplaceError::new(Stage::Rename, path, error))
}

/// Why a file was not replaced.
#[derive(Debug)]
pub struct ReplaceError {
    stage: Stage,
    path: PathBuf,
    cause: io::Error,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Make,
    Write,
    Rename,
}

impl ReplaceError {
    fn new(stage: Stage, path: &Path, cause: io::Error) -> Self {
        Self { stage, path: path.to_path_buf(), cause }
    }
}

impl fmt::Display for ReplaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.stage {
            Stage::Make => write!(f, "{path} cannot be written to"),
            Stage::Write => self.cause.fmt(f),
            Stage::Rename => {
                write!(f, "{path} cannot be written: failed to persist temporary file: {}", self.cause)
            }
        }
    }
}

impl Error for ReplaceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.stage {
            Stage::Make | Stage::Rename => Some(&self.cause),
            Stage::Write => self.cause.source(),
        }
    }
}

impl From<ReplaceError> for io::Error {
    fn from(error: ReplaceError) -> Self {
        error.cause
    }
}
