//! Making the changes of a journal, and taking them back.
//!
//! Both can be done again from any point where a program was stopped.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::super::permission::{is_file, sync_directory};
use super::super::place::directory_of;
use super::list::{Changes, ListedChange, Way};

/// What a change could not be made of, and why.
#[derive(Debug)]
pub(super) struct NotMade {
    pub path: PathBuf,
    pub cause: io::Error,
}

/// The new text of the nth change.
pub(super) fn new_text(journal: &Path, n: usize) -> PathBuf {
    journal.join(format!("{n}.new"))
}

/// The old text of the nth change.
pub(super) fn old_text(journal: &Path, n: usize) -> PathBuf {
    journal.join(format!("{n}.old"))
}

/// Makes all changes that are not made yet.
pub(super) fn make(changes: &Changes, journal: &Path, root: &Path) -> Result<(), NotMade> {
    make_directories(changes, root)?;
    for (n, change) in changes.files.iter().enumerate() {
        let path = root.join(&change.path);
        let made = check_inside(root, &path).and_then(|()| make_one(change, n, journal, &path));
        made.map_err(|cause| NotMade { path, cause })?;
    }
    sync_directories(changes, root);
    Ok(())
}

pub(super) fn make_directories(changes: &Changes, root: &Path) -> Result<(), NotMade> {
    for directory in &changes.directories {
        let path = root.join(directory);
        let made = check_inside(root, &path).and_then(|()| match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        });
        made.map_err(|cause| NotMade { path, cause })?;
    }
    Ok(())
}

/// Takes all changes back that were made.
pub(super) fn take_back(changes: &Changes, journal: &Path, root: &Path) -> Result<(), NotMade> {
    // The latest first, so that each finds the place as it left it.
    for (n, change) in changes.files.iter().enumerate().rev() {
        let path = root.join(&change.path);
        let taken = check_inside(root, &path).and_then(|()| take_one_back(change, n, journal, &path));
        match taken {
            // Its directory was not even made.
            Err(error) if change.way == Way::Create && error.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(NotMade { path, cause }),
            Ok(()) => {}
        }
    }
    sync_directories(changes, root);
    for directory in changes.directories.iter().rev() {
        // What others put there meanwhile stays.
        let _ = fs::remove_dir(root.join(directory));
    }
    Ok(())
}

/// Fails when a directory on the way is a link to elsewhere.
fn check_inside(root: &Path, path: &Path) -> io::Result<()> {
    if directory_of(path).canonicalize()?.starts_with(root) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("it leads out of {}", root.display())))
}

pub(super) fn make_one(change: &ListedChange, n: usize, journal: &Path, path: &Path) -> io::Result<()> {
    let new = new_text(journal, n);
    match change.way {
        Way::Create | Way::Replace if is_file(&new) => put(&new, path),
        Way::Create | Way::Replace => Ok(()),
        Way::Write => copy_into(&new, path),
        Way::Remove => remove(path),
    }
}

pub(super) fn take_one_back(change: &ListedChange, n: usize, journal: &Path, path: &Path) -> io::Result<()> {
    let (new, old) = (new_text(journal, n), old_text(journal, n));
    match change.way {
        // What is not in the journal any more was put in its place.
        Way::Create if !is_file(&new) => remove(path),
        Way::Replace if !is_file(&new) && is_file(&old) => put(&old, path),
        Way::Remove if is_file(&old) && fs::symlink_metadata(path).is_err() => put(&old, path),
        Way::Write if is_file(&old) => copy_into(&old, path),
        _ => Ok(()),
    }
}

/// Puts a file of the journal in its place.
fn put(text: &Path, path: &Path) -> io::Result<()> {
    match fs::rename(text, path) {
        // Something else is mounted there.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            fs::copy(text, path)?;
            File::open(path)?.sync_all()?;
            fs::remove_file(text)
        }
        other => other,
    }
}

/// Writes a text into a file, which stays the same file.
fn copy_into(text: &Path, path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    io::copy(&mut File::open(text)?, &mut file)?;
    file.sync_all()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Writes the names of what was changed to the disk.
fn sync_directories(changes: &Changes, root: &Path) {
    let mut directories: Vec<&Path> =
        changes.files.iter().filter_map(|change| change.path.parent()).collect();
    directories.extend(changes.directories.iter().filter_map(|directory| directory.parent()));
    directories.sort_unstable();
    directories.dedup();
    for directory in directories {
        sync_directory(&root.join(directory));
    }
}
