//! Handles of open files on disk, with their real paths.
//!
//! Another process may replace a part of a path after the path was checked and before it is opened. An open file cannot
//! be replaced, so callers check the path of the [`Handle`] to determine if a file may be read.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use cap_std::fs::OpenOptionsExt as _;
#[cfg(not(target_family = "wasm"))]
use cap_std::fs::{Dir, OpenOptions};

/// An open file.
#[derive(Debug)]
pub(super) struct Handle {
    file: File,
    path: OpenedPath,
}

/// The path of an open file.
#[derive(Debug)]
enum OpenedPath {
    /// The real path. No symlink was followed when the file was opened, except within a directory handle below which it
    /// was opened.
    Real(PathBuf),
    /// The path that was opened.
    Unresolved(PathBuf),
}

impl Handle {
    /// Opens a path without blocking. For example, it does not wait for the writer of a pipe.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if let Some(file) = system::open_without_links(path) {
            return Ok(Self { file, path: OpenedPath::Real(path.to_path_buf()) });
        }
        Ok(Self { file: system::open_nonblocking(path)?, path: OpenedPath::Unresolved(path.to_path_buf()) })
    }

    /// Opens a path below a directory if it contains no symlinks. `real` is the real path of the file.
    ///
    /// Returns `None` if the path contains symlinks or the system cannot check it.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn open_real_in(directory: &Dir, name: &Path, real: &Path) -> Option<Self> {
        let file = system::open_in_without_links(directory, name)?;
        Some(Self { file, path: OpenedPath::Real(real.to_path_buf()) })
    }

    /// Opens a path below a directory like [`Handle::open`]. Symlinks that leave the directory are rejected. `real` is
    /// the real path of the file, which was resolved before.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn open_in(directory: &Dir, name: &Path, real: PathBuf) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        options.custom_flags(system::nonblocking_flags());
        let file = directory.open_with(name, &options)?.into_std();
        Ok(Self { file, path: OpenedPath::Real(real) })
    }

    /// Opens a path and waits for the writer of a pipe.
    pub(super) fn open_blocking(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, path: OpenedPath::Unresolved(path.to_path_buf()) })
    }

    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    pub(super) fn into_file(self) -> File {
        self.file
    }

    /// Returns the real path of the open file.
    pub(super) fn path(&self) -> io::Result<Cow<'_, Path>> {
        match &self.path {
            OpenedPath::Real(path) => Ok(Cow::Borrowed(path)),
            OpenedPath::Unresolved(path) => system::path_of(&self.file)
                .unwrap_or_else(|| resolve_and_check(&self.file, path))
                .map(Cow::Owned),
        }
    }
}

/// Resolves a path, and checks that it still refers to the open file.
fn resolve_and_check(file: &File, path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    if system::is_at(file, &real)? {
        return Ok(real);
    }
    Err(io::Error::other("the file was replaced while it was opened"))
}

#[cfg(unix)]
mod system {
    use std::ffi::OsStr;
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
    use std::path::{Component, Path, PathBuf};

    use cap_std::fs::Dir;
    use rustix::fs::{CWD, Mode, OFlags, openat};

    /// Flags to open a file without blocking, and without making a terminal the controlling terminal of this
    /// process.
    const NONBLOCKING: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

    /// Returns the same flags as an integer, as other libraries expect them.
    pub(super) fn nonblocking_flags() -> i32 {
        i32::try_from(NONBLOCKING.bits()).unwrap_or_default()
    }

    pub(super) fn open_nonblocking(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).custom_flags(nonblocking_flags()).open(path)
    }

    /// Opens an absolute path that contains no symlinks. Returns `None` if it contains one, is relative, or cannot be
    /// opened, and if the system cannot check it.
    #[cfg(target_os = "linux")]
    pub(super) fn open_without_links(path: &Path) -> Option<File> {
        use std::os::unix::ffi::OsStrExt as _;

        use rustix::fs::{ResolveFlags, openat2};

        if path.as_os_str().as_bytes().first() != Some(&b'/') || !is_plain(path) {
            return None;
        }
        let resolve = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
        openat2(CWD, path, NONBLOCKING, Mode::empty(), resolve).ok().map(File::from)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open_without_links(_path: &Path) -> Option<File> {
        None
    }

    /// Opens a path below an open directory like [`open_without_links`].
    #[cfg(target_os = "linux")]
    pub(super) fn open_in_without_links(directory: &Dir, name: &Path) -> Option<File> {
        use std::os::unix::ffi::OsStrExt as _;

        use rustix::fs::{ResolveFlags, openat2};

        if matches!(name.as_os_str().as_bytes().first(), None | Some(b'/' | b'.')) || !is_plain(name) {
            return None;
        }
        let links = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
        openat2(directory, name, NONBLOCKING, Mode::empty(), links.union(ResolveFlags::BENEATH))
            .ok()
            .map(File::from)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open_in_without_links(_directory: &Dir, _name: &Path) -> Option<File> {
        None
    }

    /// Returns true if a path contains no empty parts, `.` or `..`.
    #[cfg(target_os = "linux")]
    fn is_plain(path: &Path) -> bool {
        use std::os::unix::ffi::OsStrExt as _;

        let text = path.as_os_str().as_bytes();
        text.last() != Some(&b'/') && !text.windows(2).any(|pair| pair == b"//" || pair == b"/.")
    }

    /// Returns the real path of an open file, or `None` if the system does not provide it.
    ///
    /// Linux appends ` (deleted)` to the name of a removed file. The directory is still correct.
    #[cfg(target_os = "linux")]
    pub(super) fn path_of(file: &File) -> Option<io::Result<PathBuf>> {
        use std::os::fd::AsRawFd as _;

        let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        // Files that are not in a file system, such as pipes, have a name without a slash.
        path.is_absolute().then_some(Ok(path))
    }

    #[cfg(target_vendor = "apple")]
    pub(super) fn path_of(file: &File) -> Option<io::Result<PathBuf>> {
        use std::os::unix::ffi::OsStringExt as _;

        let path = rustix::fs::getpath(file).map_err(io::Error::from);
        Some(path.map(|path| std::ffi::OsString::from_vec(path.into_bytes()).into()))
    }

    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    pub(super) fn path_of(_file: &File) -> Option<io::Result<PathBuf>> {
        None
    }

    /// Returns true if an open file is the file at a path that contains no symlinks.
    pub(super) fn is_at(file: &File, real: &Path) -> io::Result<bool> {
        let step = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
        let mut above = openat(CWD, "/", step, Mode::empty())?;
        let mut names = real.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        let mut name = names.next().unwrap_or(OsStr::new("."));
        for below in names {
            above = openat(&above, name, step, Mode::empty())?;
            name = below;
        }
        let found = File::from(openat(&above, name, NONBLOCKING.union(OFlags::NOFOLLOW), Mode::empty())?);
        let (found, own) = (found.metadata()?, file.metadata()?);
        Ok((found.dev(), found.ino()) == (own.dev(), own.ino()))
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::{Path, PathBuf};

    pub(super) fn open_nonblocking(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub(super) fn open_without_links(_path: &Path) -> Option<File> {
        None
    }

    #[cfg(not(target_family = "wasm"))]
    pub(super) fn open_in_without_links(_directory: &cap_std::fs::Dir, _name: &Path) -> Option<File> {
        None
    }

    pub(super) fn path_of(_file: &File) -> Option<io::Result<PathBuf>> {
        None
    }

    /// Returns true if an open file is the file at a path. Windows does not allow the directories above an open file to
    /// be replaced.
    pub(super) fn is_at(file: &File, real: &Path) -> io::Result<bool> {
        let own = same_file::Handle::from_file(file.try_clone()?)?;
        Ok(same_file::Handle::from_path(real)? == own)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Creates a directory with a file `real/a` and a symlink `link` to `real`.
    fn fixture() -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().expect("a directory");
        let home = guard.path().canonicalize().expect("its real path");
        fs::create_dir(home.join("real")).expect("made");
        fs::write(home.join("real/a"), "a").expect("written");
        symlink("real", home.join("link")).expect("linked");
        (guard, home)
    }

    #[test]
    fn open_file_has_its_real_path() {
        let (_guard, home) = fixture();
        let real = home.join("real/a");
        for name in ["real/a", "link/a", "real/../link/./a", "link//a"] {
            let handle = Handle::open(&home.join(name)).expect(name);
            assert_eq!(handle.path().expect(name), real, "{name}");
            assert_eq!(resolve_and_check(&handle.file, &home.join(name)).expect(name), real, "{name}");
        }
        assert!(Handle::open(&home.join("link/b")).is_err() && Handle::open(&home.join("b")).is_err());
    }

    #[test]
    fn replaced_path_is_detected_by_the_open_file() {
        let (_guard, home) = fixture();
        fs::create_dir(home.join("other")).expect("made");
        fs::write(home.join("other/a"), "b").expect("written");
        let handle = Handle::open(&home.join("link/a")).expect("there");
        fs::remove_file(home.join("link"))
            .and_then(|()| symlink("other", home.join("link")))
            .expect("linked");
        assert!(resolve_and_check(&handle.file, &home.join("link/a")).is_err(), "another file");
        if cfg!(any(target_os = "linux", target_vendor = "apple")) {
            assert_eq!(handle.path().expect("open"), home.join("real/a"));
        }
        assert!(!system::is_at(&handle.file, &home.join("other/a")).expect("there"));
        assert!(system::is_at(&handle.file, &home.join("real/a")).expect("there"));
        assert!(
            system::is_at(&handle.file, &home.join("link/a")).is_err(),
            "a symlink in the path is rejected"
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn removed_file_keeps_its_directory() {
        let (_guard, home) = fixture();
        let handle = Handle::open(&home.join("link/a")).expect("there");
        fs::remove_file(home.join("real/a")).expect("removed");
        assert!(handle.path().expect("open").starts_with(home.join("real")));
    }
}
