//! File changes, and the results of recovering a journal.

use std::path::Path;

use crate::stamp::FileStamp;

/// A change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileChange<'c> {
    /// The path of the file. Its directory is created if necessary.
    pub path: &'c Path,
    /// The new content, or `None` to remove the file.
    pub content: Option<&'c [u8]>,
    /// The executable bit, or `None` to keep that of the existing file. In that case, a new file is not executable.
    pub executable: Option<bool>,
    /// The expected current file. A file that was changed in the meantime is not overwritten.
    pub expected: Expected<'c>,
}

impl<'c> FileChange<'c> {
    /// Creates a change that sets the content or removes the file, whatever the current file is. The executable bit is
    /// kept.
    #[must_use]
    pub fn new(path: &'c Path, content: Option<&'c [u8]>) -> Self {
        Self { path, content, executable: None, expected: Expected::Anything }
    }
}

/// The expected state of a file before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected<'c> {
    /// Any state. An existing file is overwritten.
    Anything,
    /// The file does not exist.
    Missing,
    /// The file is unchanged since it was read.
    Read(&'c FileStamp),
    /// The file has this text, in any encoding. A missing file has the empty one.
    Text(&'c str),
}

/// The result of recovering an interrupted write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// There was no interrupted write.
    Nothing,
    /// No file had been changed. The rest of the journal was removed.
    Discarded,
    /// All changes were completed. Contains their number.
    Finished(usize),
    /// All changes were rolled back. Contains their number.
    RolledBack(usize),
}
