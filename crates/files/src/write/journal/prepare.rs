//! Getting all texts onto the disk before the first file is changed.

use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::super::stamp;
use super::super::permission::{self, Ownership, sync_directory};
use super::super::place::{self, WritePlace, directory_of};
use super::super::problem::{not_written, unchanged};
use super::change::{Expected, FileChange};
use super::commit::{new_text, old_text};
use super::list::{Changes, ListedChange, Way};
use crate::tree::may_run;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// How many files are flushed to the disk at a time. Each waits milliseconds for the disk, which writes
/// what waits together in one go.
const FLUSHES: usize = 32;

/// A change whose place is known.
pub(super) struct Placed<'c> {
    change: &'c FileChange<'c>,
    /// Its real path.
    path: PathBuf,
    /// The same below the directory that is changed.
    below: PathBuf,
    /// What is there now.
    old: Option<Metadata>,
}

/// What no other file has.
#[derive(PartialEq, Eq, Hash)]
enum FileIdentity<'p> {
    /// The device and the number there, which all names of a file share.
    #[cfg(unix)]
    Inode(u64, u64),
    /// The real path, which a file with one name has.
    Path(&'p Path),
}

impl Expected<'_> {
    /// Whether it is there.
    fn is(&self, there: Option<&Metadata>) -> bool {
        match self {
            Self::Anything => true,
            Self::Nothing => there.is_none(),
            Self::Read(stamp) => there.is_some_and(|there| stamp.is_of(there)),
        }
    }
}

impl FileChange<'_> {
    /// Whether a file is already as it shall be.
    fn is_there(&self, path: &Path, there: &Metadata) -> bool {
        let may_run = self.executable.is_none_or(|executable| may_run(there) == executable);
        may_run
            && self.content.is_some_and(|content| {
                there.len() == content.len() as u64 && fs::read(path).is_ok_and(|text| text == content)
            })
    }
}

/// A change whose texts are in the journal.
struct PreparedChange {
    way: Way,
    old: Option<String>,
    new: Option<String>,
}

/// All changes with their places.
pub(super) struct Plan<'c> {
    placed: Vec<Placed<'c>>,
    /// The real paths of directories that are not there yet, the outer ones first.
    directories: Vec<PathBuf>,
}

/// Looks where all changes go, before anything is written.
///
/// # Errors
/// A file is read-only, leads out of the directory, is none, or stands for two changes.
pub(super) fn plan<'c>(changes: &'c [FileChange<'c>], root: &Path) -> Result<Plan<'c>> {
    let mut plan = Plan { placed: Vec::with_capacity(changes.len()), directories: Vec::new() };
    let mut made = FxHashSet::default();
    for change in changes {
        let missing = missing_directories(change.path).map_err(|error| not_changed(change.path, &error))?;
        let placed = match missing.first() {
            None => place_one(change)?,
            Some(_) if change.content.is_none() => None,
            Some(_) => change
                .path
                .file_name()
                .and_then(|name| Some((missing.last()?, name)))
                .map(|(directory, name)| (directory.join(name), None)),
        };
        let there = placed.as_ref().and_then(|(_, old)| old.as_ref());
        if !change.expected.is(there) {
            return Err(changed_meanwhile(change.path));
        }
        let Some((path, old)) = placed else { continue };
        let placed = Placed { change, below: below(root, &path)?, path, old };
        plan.directories.extend(missing.into_iter().filter(|directory| made.insert(directory.clone())));
        plan.placed.push(placed);
    }
    each_once(&plan.placed)?;
    plan.placed.retain(|placed| !placed.is_done());
    Ok(plan)
}

/// The real paths of the directories above a file that are not there yet, the outer ones first.
fn missing_directories(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    let mut directory = directory_of(path);
    let real = loop {
        match directory.canonicalize() {
            Ok(real) => break real,
            // A link that leads to nothing is no directory that could be made.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(directory).is_err() =>
            {
                names.push(directory.file_name().ok_or(error)?);
                directory = directory_of(directory);
            }
            Err(error) => return Err(error),
        }
    };
    let mut path = real;
    let below = names.into_iter().rev().map(|name| {
        path.push(name);
        path.clone()
    });
    Ok(below.collect())
}

/// Where a change goes; none when there is nothing to remove.
fn place_one(change: &FileChange<'_>) -> Result<Option<(PathBuf, Option<Metadata>)>> {
    let failed = |error: io::Error| not_changed(change.path, &error);
    match place::place(change.path).map_err(failed)? {
        WritePlace::Stream(_) => {
            let message = format!("{} is no file, and cannot be changed in place", change.path.display());
            Err(unchanged(Diagnostic::error(Code::Io, message).help("take it out of the directory")))
        }
        WritePlace::Free(_) if change.content.is_none() => Ok(None),
        WritePlace::Free(path) => Ok(Some((path, None))),
        WritePlace::Taken(path, metadata) => {
            permission::check_writable(&path, &metadata).map_err(failed)?;
            Ok(Some((path, Some(metadata))))
        }
    }
}

/// Fails when two changes are about one file.
fn each_once(placed: &[Placed<'_>]) -> Result<()> {
    let mut files: FxHashMap<FileIdentity<'_>, &Path> = FxHashMap::default();
    for one in placed {
        if let Some(first) = files.insert(one.identity(), one.change.path) {
            let (first, second) = (first.display(), one.change.path.display());
            let message = format!("{first} and {second} are one file, which would be written twice");
            return Err(unchanged(Diagnostic::error(Code::Io, message).help("remove one of the two names")));
        }
    }
    Ok(())
}

impl Placed<'_> {
    fn identity(&self) -> FileIdentity<'_> {
        #[cfg(unix)]
        if let Some(old) = self.old.as_ref().filter(|old| permission::names(old) > 1) {
            use std::os::unix::fs::MetadataExt as _;
            return FileIdentity::Inode(old.dev(), old.ino());
        }
        FileIdentity::Path(&self.path)
    }

    /// Puts the new text into the journal, and keeps the old one there.
    fn prepare(&self, n: usize, at: &JournalDirectories) -> io::Result<PreparedChange> {
        let old = self.old.as_ref().map(stamp::of_content);
        let Some(content) = self.change.content else {
            at.keep_old(&self.below, n)?;
            return Ok(PreparedChange { way: Way::Remove, old, new: None });
        };
        let mut new =
            at.journal.open_with(new_text(n), OpenOptions::new().write(true).create_new(true))?.into_std();
        let way = match &self.old {
            None => Way::Create,
            Some(old) => match permission::keep(&new, old)? {
                Ownership::Kept if permission::names(old) == 1 => Way::Replace,
                // Its other names shall have the new text, too; another file cannot have its owner.
                Ownership::Kept | Ownership::Changed => Way::Write,
            },
        };
        if let Some(executable) = self.change.executable {
            // A file of several names, or of somebody else, is written over and keeps its mode.
            permission::set_executable(&new, executable)?;
        }
        new.write_all(content)?;
        new.sync_all()?;
        match way {
            Way::Replace => at.keep_old(&self.below, n)?,
            Way::Write => at.copy_old(&self.below, n)?,
            Way::Create | Way::Remove => {}
        }
        Ok(PreparedChange { way, old, new: Some(stamp::of_content(&new.metadata()?)) })
    }

    /// Whether the file is already as it shall be.
    fn is_done(&self) -> bool {
        self.old.as_ref().is_some_and(|old| self.change.is_there(&self.path, old))
    }
}

/// The directory that is changed, and the one of the journal.
struct JournalDirectories {
    root: Dir,
    journal: Dir,
}

impl JournalDirectories {
    /// A further name for the old file; where there are none, a copy.
    fn keep_old(&self, path: &Path, n: usize) -> io::Result<()> {
        self.root.hard_link(path, &self.journal, old_text(n)).or_else(|_| self.copy_old(path, n))
    }

    fn copy_old(&self, path: &Path, n: usize) -> io::Result<()> {
        self.root.copy(path, &self.journal, old_text(n))?;
        self.journal.open(old_text(n))?.sync_all()
    }
}

impl Plan<'_> {
    /// Whether nothing is to be done.
    pub(super) fn is_empty(&self) -> bool {
        self.placed.is_empty()
    }

    /// Puts all texts into a journal; returns what is to be done then.
    ///
    /// # Errors
    /// A text cannot be written.
    pub(super) fn prepare(&self, journal: &Path, root: &Path) -> Result<Changes> {
        let open = |path| Dir::open_ambient_dir(path, ambient_authority());
        let opened = open(root).and_then(|root| Ok(JournalDirectories { root, journal: open(journal)? }));
        let prepared = self.prepare_all(&opened.map_err(|error| not_changed(journal, &error))?)?;
        sync_directory(journal);
        let files = self.placed.iter().zip(prepared).map(|(one, PreparedChange { way, old, new })| {
            ListedChange { path: one.below.clone(), way, old, new }
        });
        let directories = self.directories.iter().map(|directory| below(root, directory));
        let (directories, files) = (directories.collect::<Result<_>>()?, files.collect());
        Changes::new(journal, directories, files).map_err(|error| not_changed(journal, &error))
    }

    fn prepare_all(&self, at: &JournalDirectories) -> Result<Vec<PreparedChange>> {
        let size = self.placed.len().div_ceil(FLUSHES).max(1);
        let prepare = |(share, placed): (usize, &[Placed<'_>])| {
            let each = placed.iter().enumerate().map(|(i, one)| {
                let prepared = one.prepare(share * size + i, at);
                prepared.map_err(|error| not_changed(one.change.path, &error))
            });
            each.collect::<Result<Vec<_>>>()
        };
        let prepared = thread::scope(|scope| {
            let shares: Vec<_> = self.placed.chunks(size).enumerate().collect();
            let threads = shares.iter().map(|&share| {
                let thread = thread::Builder::new().spawn_scoped(scope, move || prepare(share));
                // A system that has no thread left still has this one.
                thread.map_err(|_| share)
            });
            let threads: Vec<_> = threads.collect();
            let joined = threads.into_iter().map(|thread| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(share) => prepare(share),
            });
            joined.collect::<Result<Vec<_>>>()
        });
        Ok(prepared?.into_iter().flatten().collect())
    }
}

/// The path below the directory that the journal is in, as the list has it.
fn below(root: &Path, path: &Path) -> Result<PathBuf> {
    let below = path.strip_prefix(root).map_err(|_| leads_out(path, root))?;
    if below.to_str().is_none() {
        let message = format!("{} cannot be changed: its name is no UTF-8", path.display());
        return Err(unchanged(Diagnostic::error(Code::Io, message).help("rename it")));
    }
    Ok(below.to_path_buf())
}

fn changed_meanwhile(path: &Path) -> Diagnostic {
    let message = format!("{} cannot be written: somebody else changed it meanwhile", path.display());
    unchanged(Diagnostic::error(Code::Io, message).help("run the command again"))
}

fn leads_out(path: &Path, root: &Path) -> Diagnostic {
    let message = format!("{} leads out of {}, where nothing is changed", path.display(), root.display());
    unchanged(
        Diagnostic::error(Code::OutsideRoot, message)
            .help("change what it leads to itself, or put a file in its place"),
    )
}

fn not_changed(path: &Path, error: &io::Error) -> Diagnostic {
    unchanged(not_written(path, error))
}
