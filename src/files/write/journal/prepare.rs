//! Getting all texts onto the disk before the first file is changed.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::permission::{self, Ownership, sync_directory};
use super::super::place::{self, WritePlace, directory_of};
use super::super::replace::not_written;
use super::change::FileChange;
use super::commit::{new_text, old_text};
use super::list::{Changes, ListedChange, Way};
use crate::diagnostic::{Code, Diagnostic, Result};

/// How many files are flushed to the disk at a time. Each waits milliseconds for the disk, which writes
/// what waits together in one go.
const FLUSHES: usize = 32;

/// A change whose place is known.
pub(super) struct Placed<'c> {
    change: &'c FileChange<'c>,
    /// Its real path.
    path: PathBuf,
    /// What is there now.
    old: Option<Metadata>,
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
                .map(|(directory, name)| Placed { change, path: directory.join(name), old: None }),
        };
        let Some(placed) = placed else { continue };
        if !placed.path.starts_with(root) {
            return Err(leads_out(change.path, root));
        }
        plan.directories.extend(missing.into_iter().filter(|directory| made.insert(directory.clone())));
        plan.placed.push(placed);
    }
    each_once(&plan.placed)?;
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
fn place_one<'c>(change: &'c FileChange<'c>) -> Result<Option<Placed<'c>>> {
    let failed = |error: io::Error| not_changed(change.path, &error);
    match place::place(change.path).map_err(failed)? {
        WritePlace::Stream(_) => {
            let message = format!("{} is no file, and cannot be changed in place", change.path.display());
            Err(unchanged(Diagnostic::error(Code::Io, message).help("take it out of the directory")))
        }
        WritePlace::Free(_) if change.content.is_none() => Ok(None),
        WritePlace::Free(path) => Ok(Some(Placed { change, path, old: None })),
        WritePlace::Taken(path, metadata) => {
            permission::check_writable(&path, &metadata).map_err(failed)?;
            Ok(Some(Placed { change, path, old: Some(metadata) }))
        }
    }
}

/// Fails when two changes are about one file.
fn each_once(placed: &[Placed<'_>]) -> Result<()> {
    let mut files: FxHashMap<(u64, PathBuf), &Path> = FxHashMap::default();
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
    /// What no other file has; for one with several names, the same for all of them.
    fn identity(&self) -> (u64, PathBuf) {
        #[cfg(unix)]
        if let Some(old) = self.old.as_ref().filter(|old| permission::names(old) > 1) {
            use std::os::unix::fs::MetadataExt as _;
            return (old.ino(), old.dev().to_string().into());
        }
        (0, self.path.clone())
    }

    /// Puts the new text into the journal, and keeps the old one there.
    fn prepare(&self, n: usize, journal: &Path) -> io::Result<Way> {
        let Some(content) = self.change.content else {
            self.keep_old(&old_text(journal, n))?;
            return Ok(Way::Remove);
        };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut new = options.open(new_text(journal, n))?;
        new.write_all(content)?;
        let way = match &self.old {
            None => Way::Create,
            // Their other names shall have the new text, too.
            Some(old) if permission::names(old) > 1 => Way::Write,
            Some(old) => match permission::keep(&new, old)? {
                Ownership::Kept => Way::Replace,
                Ownership::Changed => Way::Write,
            },
        };
        if let Some(executable) = self.change.executable {
            permission::set_executable(&new, executable)?;
            if way == Way::Write {
                // The file stays, and only its content is another.
                permission::set_executable(&File::open(&self.path)?, executable)?;
            }
        }
        new.sync_all()?;
        match way {
            Way::Replace => self.keep_old(&old_text(journal, n))?,
            Way::Write => copy(&self.path, &old_text(journal, n))?,
            Way::Create | Way::Remove => {}
        }
        Ok(way)
    }

    /// A further name for the old file; where there are none, a copy.
    fn keep_old(&self, name: &Path) -> io::Result<()> {
        fs::hard_link(&self.path, name).or_else(|_| copy(&self.path, name))
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    File::open(to)?.sync_all()
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
        let size = self.placed.len().div_ceil(FLUSHES).max(1);
        let ways = thread::scope(|scope| {
            let prepare = |(share, placed): (usize, &[Placed<'_>])| {
                let each = placed.iter().enumerate().map(|(i, one)| {
                    let way = one.prepare(share * size + i, journal);
                    way.map_err(|error| not_changed(one.change.path, &error))
                });
                each.collect::<Result<Vec<_>>>()
            };
            let shares = self.placed.chunks(size).enumerate();
            let threads: Vec<_> = shares.map(|share| scope.spawn(move || prepare(share))).collect();
            let ways = threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| resume_unwind(panic)));
            Ok(ways.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect::<Vec<_>>())
        })?;
        sync_directory(journal);
        let files = self.placed.iter().zip(ways);
        let files = files.map(|(one, way)| Ok(ListedChange { path: below(root, &one.path)?, way }));
        let directories = self.directories.iter().map(|directory| below(root, directory));
        let (directories, files) = (directories.collect::<Result<_>>()?, files.collect::<Result<_>>()?);
        Changes::new(journal, directories, files).map_err(|error| not_changed(journal, &error))
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

fn unchanged(problem: Diagnostic) -> Diagnostic {
    problem.note("no file was changed")
}
