//! Modes and owners of files that are replaced.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Whether a new file has the owner of the one that it replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ownership {
    /// It has.
    Kept,
    /// It has another one, since only root may give files away.
    Changed,
}

/// Fails for a file that may not be written, whatever may be done with its directory.
pub(super) fn check_writable(path: &Path, metadata: &Metadata) -> io::Result<()> {
    if metadata.permissions().readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    OpenOptions::new().write(true).open(path).map(drop)
}

/// Gives a new file the mode and owner of an old one.
#[cfg(unix)]
pub(super) fn keep(new: &File, old: &Metadata) -> io::Result<Ownership> {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    let own = new.metadata()?;
    let is_kept = (own.uid(), own.gid()) == (old.uid(), old.gid())
        || fchown(new, Some(old.uid()), Some(old.gid())).is_ok()
        // The group alone may be one of ours.
        || (own.uid() == old.uid() && fchown(new, None, Some(old.gid())).is_ok());
    // A change of the owner takes bits of the mode away, so it comes first.
    new.set_permissions(old.permissions())?;
    Ok(if is_kept { Ownership::Kept } else { Ownership::Changed })
}

/// Gives a new file the mode of an old one.
#[cfg(not(unix))]
pub(super) fn keep(new: &File, old: &Metadata) -> io::Result<Ownership> {
    new.set_permissions(old.permissions())?;
    Ok(Ownership::Kept)
}

/// Lets those who may read a file run it, or nobody.
#[cfg(unix)]
pub(super) fn set_executable(file: &File, executable: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let old = file.metadata()?.permissions().mode();
    let new = if executable { old | (old & 0o444) >> 2 } else { old & !0o111 };
    // Somebody else's file may be written, and its mode may not be changed: most often that is not asked for.
    if new == old { Ok(()) } else { file.set_permissions(fs::Permissions::from_mode(new)) }
}

/// Systems without such a bit need none.
#[cfg(not(unix))]
pub(super) fn set_executable(_: &File, _: bool) -> io::Result<()> {
    Ok(())
}

/// How many names a file has.
#[cfg(unix)]
pub(super) fn names(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// How many names a file has; where that cannot be known, one.
#[cfg(not(unix))]
pub(super) fn names(_: &Metadata) -> u64 {
    1
}

/// Gives temporary files the mode of new ones, of which the system takes what the user does not want others
/// to have. What replaces another file is its owner's alone until it has that one's mode.
#[cfg(unix)]
pub(super) fn as_new(builder: &mut tempfile::Builder<'_, '_>, old: Option<&Metadata>) {
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
}

/// The system has its own.
#[cfg(not(unix))]
pub(super) fn as_new(_: &mut tempfile::Builder<'_, '_>, _: Option<&Metadata>) {}

/// Makes a directory that nobody else looks into. One that is there is ours, or an error.
#[cfg(unix)]
pub(super) fn make_private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};

    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    let there = fs::symlink_metadata(path)?;
    if !there.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    if there.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is somebody else's"));
    }
    Ok(())
}

/// Makes a directory, unless it is there.
#[cfg(not(unix))]
pub(super) fn make_private_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let is_directory = fs::symlink_metadata(path)?.is_dir();
            if is_directory { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
        }
        other => other,
    }
}

/// Writes a directory's names to the disk, where systems can.
pub(super) fn sync_directory(path: &Path) {
    // Some file systems cannot, and then nothing can be done about it.
    if cfg!(unix) {
        let _ = File::open(path).and_then(|directory| directory.sync_all());
    }
}

/// Whether a path names a file of its own: no link, no directory.
pub(super) fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}
