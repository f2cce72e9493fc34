//! Prepares a journal: writes all content to disk before the first file is changed.

use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::super::stamp;
use super::super::error::{with_unchanged_note, write_error};
use super::super::permission::{self, Ownership, sync_directory};
use super::super::resolve::{self, WriteTarget, parent_directory};
use super::change::{Expected, FileChange};
use super::commit::{new_content_name, old_content_name};
use super::list::{ChangeMode, Changes, ListedChange};
use crate::tree::may_run;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::yaml::decode;

/// The number of files that are flushed to disk in parallel. Each flush takes milliseconds, and the disk combines
/// concurrent ones.
const FLUSHES: usize = 32;

/// A change whose path is resolved.
pub(super) struct ResolvedChange<'c> {
    change: &'c FileChange<'c>,
    /// The real path.
    path: PathBuf,
    /// The path relative to the changed directory.
    relative_path: PathBuf,
    /// The current file.
    old: Option<Metadata>,
}

/// A unique identity of a file.
#[derive(PartialEq, Eq, Hash)]
enum FileIdentity<'p> {
    /// The device and inode number, which all hard links share.
    #[cfg(unix)]
    Inode(u64, u64),
    /// The real path, for a file with a single link.
    Path(&'p Path),
}

impl Expected<'_> {
    /// Returns true if the current file is in the expected state.
    fn is(&self, path: &Path, current: Option<&Metadata>) -> bool {
        match self {
            Self::Anything => true,
            Self::Missing => current.is_none(),
            Self::Read(stamp) => current.is_some_and(|current| stamp.matches(current)),
            Self::Text(text) if current.is_none() => text.is_empty(),
            Self::Text(text) => {
                let current = fs::read(path).ok().and_then(|bytes| decode(bytes).ok());
                current.is_some_and(|current| current == *text)
            }
        }
    }
}

impl FileChange<'_> {
    /// Returns true if the current file already has the state that the change requests.
    fn is_there(&self, path: &Path, current: &Metadata) -> bool {
        let may_run = self.executable.is_none_or(|executable| may_run(current) == executable);
        may_run
            && self.content.is_some_and(|content| {
                current.len() == content.len() as u64 && fs::read(path).is_ok_and(|text| text == content)
            })
    }
}

/// A change whose content is in the journal.
struct PreparedChange {
    way: ChangeMode,
    old: Option<String>,
    new: Option<String>,
}

/// All changes with their resolved paths.
pub(super) struct Plan<'c> {
    changes: Vec<ResolvedChange<'c>>,
    /// The real paths of the directories to create, parents first.
    directories: Vec<PathBuf>,
}

/// Resolves the paths of all changes, before anything is written.
///
/// # Errors
/// A file is read-only, is outside of the directory, is not a regular file, has two changes, or is not in the expected
/// state.
pub(super) fn plan<'c>(changes: &'c [FileChange<'c>], root: &Path) -> Result<Plan<'c>> {
    let mut plan = Plan { changes: Vec::with_capacity(changes.len()), directories: Vec::new() };
    let mut created = FxHashSet::default();
    let mut problems = Problems::default();
    for change in changes {
        let missing = missing_directories(change.path).map_err(|error| not_changed(change.path, &error))?;
        let resolved = match missing.first() {
            None => match resolve_path(change) {
                Ok(resolved) => resolved,
                Err(problem) => {
                    problems.add(problem);
                    continue;
                }
            },
            Some(_) if change.content.is_none() => None,
            Some(_) => change
                .path
                .file_name()
                .and_then(|name| Some((missing.last()?, name)))
                .map(|(directory, name)| (directory.join(name), None)),
        };
        let current = resolved.as_ref().and_then(|(_, old)| old.as_ref());
        if !change.expected.is(change.path, current) {
            return Err(changed_in_between(change.path));
        }
        let Some((path, old)) = resolved else { continue };
        let resolved = ResolvedChange { change, relative_path: below(root, &path)?, path, old };
        plan.directories.extend(missing.into_iter().filter(|directory| created.insert(directory.clone())));
        plan.changes.push(resolved);
    }
    problems.into_result(())?;
    check_distinct(&plan.changes)?;
    plan.changes.retain(|resolved| !resolved.is_done());
    Ok(plan)
}

/// Returns the real paths of the missing parent directories of a file, the outermost first.
fn missing_directories(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    let mut directory = parent_directory(path);
    let real = loop {
        match directory.canonicalize() {
            Ok(real) => break real,
            // A dangling symlink cannot be created as a directory.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(directory).is_err() =>
            {
                names.push(directory.file_name().ok_or(error)?);
                directory = parent_directory(directory);
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

/// Resolves the path of a change. Returns `None` if there is nothing to remove.
fn resolve_path(change: &FileChange<'_>) -> Result<Option<(PathBuf, Option<Metadata>)>> {
    let failed = |error: io::Error| not_changed(change.path, &error);
    match resolve::resolve_target(change.path).map_err(failed)? {
        WriteTarget::Stream(_) => {
            let message = format!("{} is not a regular file", change.path.display());
            Err(with_unchanged_note(
                Diagnostic::error(Code::Io, message).help("remove it from the directory"),
            ))
        }
        WriteTarget::New(_) if change.content.is_none() => Ok(None),
        WriteTarget::New(path) => Ok(Some((path, None))),
        WriteTarget::Existing(path, metadata) => {
            permission::check_writable(&path, &metadata).map_err(failed)?;
            Ok(Some((path, Some(metadata))))
        }
    }
}

/// Checks that no file has two changes.
fn check_distinct(resolved: &[ResolvedChange<'_>]) -> Result<()> {
    let mut files: FxHashMap<FileIdentity<'_>, &Path> = FxHashMap::default();
    for one in resolved {
        if let Some(first) = files.insert(one.identity(), one.change.path) {
            let (first, second) = (first.display(), one.change.path.display());
            let message = format!("{first} and {second} are the same file");
            return Err(with_unchanged_note(
                Diagnostic::error(Code::Io, message).help("remove one of the two changes"),
            ));
        }
    }
    Ok(())
}

impl ResolvedChange<'_> {
    fn identity(&self) -> FileIdentity<'_> {
        #[cfg(unix)]
        if let Some(old) = self.old.as_ref().filter(|old| permission::names(old) > 1) {
            use std::os::unix::fs::MetadataExt as _;
            return FileIdentity::Inode(old.dev(), old.ino());
        }
        FileIdentity::Path(&self.path)
    }

    /// Writes the new content to the journal, and keeps the old file in it.
    fn prepare(&self, n: usize, at: &JournalDirectories) -> io::Result<PreparedChange> {
        let old = self.old.as_ref().map(stamp::stamp_of);
        let Some(content) = self.change.content else {
            at.keep_old(&self.relative_path, n)?;
            return Ok(PreparedChange { way: ChangeMode::Remove, old, new: None });
        };
        let mut new = at
            .journal
            .open_with(new_content_name(n), OpenOptions::new().write(true).create_new(true))?
            .into_std();
        let way = match &self.old {
            None => ChangeMode::Create,
            Some(old) => match permission::keep(&new, old)? {
                Ownership::Kept if permission::names(old) == 1 => ChangeMode::Replace,
                // The other hard links must also get the new content, or a new file cannot get this owner.
                Ownership::Kept | Ownership::Changed => ChangeMode::Write,
            },
        };
        if let Some(executable) = self.change.executable {
            // The file is written in place because of its hard links or its owner, and keeps its mode.
            permission::set_executable(&new, executable)?;
        }
        new.write_all(content)?;
        new.sync_all()?;
        match way {
            ChangeMode::Replace => at.keep_old(&self.relative_path, n)?,
            ChangeMode::Write => at.copy_old(&self.relative_path, n)?,
            ChangeMode::Create | ChangeMode::Remove => {}
        }
        Ok(PreparedChange { way, old, new: Some(stamp::stamp_of(&new.metadata()?)) })
    }

    /// Returns true if the file is already in the requested state.
    fn is_done(&self) -> bool {
        self.old.as_ref().is_some_and(|old| self.change.is_there(&self.path, old))
    }
}

/// The changed directory and the directory of the journal.
struct JournalDirectories {
    root: Dir,
    journal: Dir,
}

impl JournalDirectories {
    /// Keeps the old file as a hard link, or as a copy if hard links are not supported.
    fn keep_old(&self, path: &Path, n: usize) -> io::Result<()> {
        self.root.hard_link(path, &self.journal, old_content_name(n)).or_else(|_| self.copy_old(path, n))
    }

    fn copy_old(&self, path: &Path, n: usize) -> io::Result<()> {
        self.root.copy(path, &self.journal, old_content_name(n))?;
        self.journal.open(old_content_name(n))?.sync_all()
    }
}

impl Plan<'_> {
    /// Returns true if there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Writes all content to a journal and returns the list of changes.
    ///
    /// # Errors
    /// The content cannot be written.
    pub(super) fn prepare(&self, journal: &Path, root: &Path) -> Result<Changes> {
        let open = |path| Dir::open_ambient_dir(path, ambient_authority());
        let opened = open(root).and_then(|root| Ok(JournalDirectories { root, journal: open(journal)? }));
        let prepared = self.prepare_all(&opened.map_err(|error| not_changed(journal, &error))?)?;
        sync_directory(journal);
        let files = self.changes.iter().zip(prepared).map(|(one, PreparedChange { way, old, new })| {
            ListedChange { path: one.relative_path.clone(), way, old, new }
        });
        let directories = self.directories.iter().map(|directory| below(root, directory));
        let (directories, files) = (directories.collect::<Result<_>>()?, files.collect());
        Changes::new(journal, directories, files).map_err(|error| not_changed(journal, &error))
    }

    fn prepare_all(&self, at: &JournalDirectories) -> Result<Vec<PreparedChange>> {
        let size = self.changes.len().div_ceil(FLUSHES).max(1);
        let prepare = |(chunk, resolved): (usize, &[ResolvedChange<'_>])| {
            let each = resolved.iter().enumerate().map(|(i, one)| {
                let prepared = one.prepare(chunk * size + i, at);
                prepared.map_err(|error| not_changed(one.change.path, &error))
            });
            each.collect::<Result<Vec<_>>>()
        };
        let prepared = thread::scope(|scope| {
            let chunks: Vec<_> = self.changes.chunks(size).enumerate().collect();
            let threads = chunks.iter().map(|&chunk| {
                let thread = thread::Builder::new().spawn_scoped(scope, move || prepare(chunk));
                // If no more threads can be started, this thread does the work.
                thread.map_err(|_| chunk)
            });
            let threads: Vec<_> = threads.collect();
            let joined = threads.into_iter().map(|thread| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(chunk) => prepare(chunk),
            });
            joined.collect::<Result<Vec<_>>>()
        });
        Ok(prepared?.into_iter().flatten().collect())
    }
}

/// Returns the path relative to the directory that contains the journal, as in the list.
fn below(root: &Path, path: &Path) -> Result<PathBuf> {
    let below = path.strip_prefix(root).map_err(|_| outside_error(path, root))?;
    if below.to_str().is_none() {
        let message = format!("cannot write {}: its name is not valid UTF-8", path.display());
        return Err(with_unchanged_note(Diagnostic::error(Code::Io, message).help("rename the file")));
    }
    Ok(below.to_path_buf())
}

fn changed_in_between(path: &Path) -> Diagnostic {
    let message = format!("cannot write {}: another program changed it after it was read", path.display());
    with_unchanged_note(Diagnostic::error(Code::Io, message).help("run the command again"))
}

fn outside_error(path: &Path, root: &Path) -> Diagnostic {
    let message = format!("{} is outside of {}", path.display(), root.display());
    with_unchanged_note(
        Diagnostic::error(Code::OutsideRoot, message)
            .help("change the target of the symlink directly, or replace the symlink with a file"),
    )
}

fn not_changed(path: &Path, error: &io::Error) -> Diagnostic {
    with_unchanged_note(write_error(path, error))
}
