//! What is to be changed, and what became of it.

use std::path::Path;

use crate::stamp::FileStamp;

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileChange<'c> {
    /// Where it is or shall be; its directory is made.
    pub path: &'c Path,
    /// Its content; none when it shall go.
    pub content: Option<&'c [u8]>,
    /// Whether it may be run as a program; none: as the file that is there, and not when it is new.
    pub executable: Option<bool>,
    /// What has to be there: what somebody else wrote meanwhile is not written over.
    pub expected: Expected<'c>,
}

impl<'c> FileChange<'c> {
    /// Another content, or none, whatever is there now, for a file that may be run or not as before.
    #[must_use]
    pub fn new(path: &'c Path, content: Option<&'c [u8]>) -> Self {
        Self { path, content, executable: None, expected: Expected::Anything }
    }
}

/// What is where a file is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected<'c> {
    /// Whatever it is, it goes.
    Anything,
    /// Nothing.
    Nothing,
    /// The file that was read.
    Read(&'c FileStamp),
}

/// What became of changes that somebody began and did not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// There are none.
    Nothing,
    /// None is made in part, and what was left of the journal is gone.
    Dropped,
    /// All of them are made; their number.
    Finished(usize),
    /// All of them are taken back; their number.
    TakenBack(usize),
}
