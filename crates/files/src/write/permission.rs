//! Modes and owners of replaced files.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// The owner of a new file, compared with the file that it replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ownership {
    /// The same owner.
    Kept,
    /// Another owner, since only root may change owners.
    Changed,
}

/// Checks that a file is writable, even if it could be replaced because its directory is writable.
pub(super) fn check_writable(path: &Path, metadata: &Metadata) -> io::Result<()> {
    if metadata.permissions().readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    OpenOptions::new().write(true).open(path).map(drop)
}

/// Sets the mode and owner of a new file to those of an old one.
#[cfg(unix)]
pub(super) fn keep(new: &File, old: &Metadata) -> io::Result<Ownership> {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    let own = new.metadata()?;
    let is_kept = (own.uid(), own.gid()) == (old.uid(), old.gid())
        || fchown(new, Some(old.uid()), Some(old.gid())).is_ok()
        // If the user is a member of the group, the group can be set without the owner.
        || (own.uid() == old.uid() && fchown(new, None, Some(old.gid())).is_ok());
    // A change of the owner clears mode bits, so the mode is set after it.
    new.set_permissions(old.permissions())?;
    Ok(if is_kept { Ownership::Kept } else { Ownership::Changed })
}

/// Sets the mode of a new file to that of an old one.
#[cfg(not(unix))]
pub(super) fn keep(new: &File, old: &Metadata) -> io::Result<Ownership> {
    new.set_permissions(old.permissions())?;
    Ok(Ownership::Kept)
}

/// Sets the executable bits for everyone who can read the file, or clears all of them.
#[cfg(unix)]
pub(super) fn set_executable(file: &File, executable: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let old = file.metadata()?.permissions().mode();
    let new = if executable { old | (old & 0o444) >> 2 } else { old & !0o111 };
    // A file of another owner may be writable, but its mode cannot be set. In most cases the mode need not change.
    if new == old { Ok(()) } else { file.set_permissions(fs::Permissions::from_mode(new)) }
}

/// Does nothing, since this system has no executable bits.
#[cfg(not(unix))]
pub(super) fn set_executable(_: &File, _: bool) -> io::Result<()> {
    Ok(())
}

/// Returns the number of hard links of a file.
#[cfg(unix)]
pub(super) fn names(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// Returns 1, since the number of hard links is not available on this system.
#[cfg(not(unix))]
pub(super) fn names(_: &Metadata) -> u64 {
    1
}

/// Creates temporary files with the mode of new files, which the system restricts by the umask. A file that will
/// replace another one is only accessible to its owner until it gets the mode of that file.
#[cfg(unix)]
pub(super) fn as_new(builder: &mut tempfile::Builder<'_, '_>, old: Option<&Metadata>) {
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
}

/// Does nothing, since the system sets its default permissions.
#[cfg(not(unix))]
pub(super) fn as_new(_: &mut tempfile::Builder<'_, '_>, _: Option<&Metadata>) {}

/// Creates a directory that only its owner can access. An existing directory must belong to the current user.
#[cfg(unix)]
pub(super) fn make_private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};

    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    Ok(())
}

/// Creates a directory, unless it exists.
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

/// Flushes the entries of a directory to disk, if the system supports it.
pub(super) fn sync_directory(path: &Path) {
    // Some file systems do not support this, and there is no alternative.
    if cfg!(unix) {
        let _ = File::open(path).and_then(|directory| directory.sync_all());
    }
}

/// Returns true if a path is a regular file and not a symlink.
pub(super) fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}
