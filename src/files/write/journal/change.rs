//! What is to be changed, and what became of it.

use std::fs::{self, Metadata};
use std::path::Path;

use super::super::super::stamp::FileStamp;
use crate::files::tree::may_run;

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

impl Expected<'_> {
    /// Whether it is there.
    pub(super) fn is(&self, there: Option<&Metadata>) -> bool {
        match self {
            Self::Anything => true,
            Self::Nothing => there.is_none(),
            Self::Read(stamp) => there.is_some_and(|there| stamp.is_of(there)),
        }
    }
}

impl FileChange<'_> {
    /// Whether a file is already as it shall be.
    pub(super) fn is_there(&self, path: &Path, there: &Metadata) -> bool {
        let may_run = self.executable.is_none_or(|executable| may_run(there) == executable);
        may_run
            && self.content.is_some_and(|content| {
                there.len() == content.len() as u64 && fs::read(path).is_ok_and(|text| text == content)
            })
    }
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
