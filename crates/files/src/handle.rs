//! Files of this machine that are open, and where they are.
//!
//! Between the time when a path is looked at and the time when it is opened, others may exchange what is on the
//! way. What was opened stays what it is: who wants to know whether it may be read asks the [`Handle`].

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use cap_std::fs::OpenOptionsExt as _;
#[cfg(not(target_family = "wasm"))]
use cap_std::fs::{Dir, OpenOptions};

/// A file that is open.
#[derive(Debug)]
pub(super) struct Handle {
    file: File,
    place: Place,
}

/// What is known of where a file is.
#[derive(Debug)]
enum Place {
    /// Its real path: no link was followed on the way when it was opened, or none that leads out of the directory
    /// whose handle it was opened by, and that is as much as is asked of it there.
    Real(PathBuf),
    /// The path that it was opened by.
    By(PathBuf),
}

impl Handle {
    /// Opens a path without waiting for anyone, such as those who would write to a pipe.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if let Some(file) = system::open_without_links(path) {
            return Ok(Self { file, place: Place::Real(path.to_path_buf()) });
        }
        Ok(Self { file: system::open_at_once(path)?, place: Place::By(path.to_path_buf()) })
    }

    /// Opens a path below a directory that is real as it stands, where the system can tell; `real` is the real
    /// path of both together.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn open_real_in(directory: &Dir, name: &Path, real: &Path) -> Option<Self> {
        let file = system::open_in_without_links(directory, name)?;
        Some(Self { file, place: Place::Real(real.to_path_buf()) })
    }

    /// Opens a path below a directory, which no link leads out of, as [`Handle::open`] does. `real` is the real
    /// path of both together, as it was looked up before.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn open_in(directory: &Dir, name: &Path, real: PathBuf) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        options.custom_flags(system::flags_at_once());
        let file = directory.open_with(name, &options)?.into_std();
        Ok(Self { file, place: Place::Real(real) })
    }

    /// Opens a path, and waits for those who write to it.
    pub(super) fn wait_for(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, place: Place::By(path.to_path_buf()) })
    }

    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    pub(super) fn into_file(self) -> File {
        self.file
    }

    /// The real path of what is open.
    pub(super) fn path(&self) -> io::Result<Cow<'_, Path>> {
        match &self.place {
            Place::Real(path) => Ok(Cow::Borrowed(path)),
            Place::By(path) => {
                system::path_of(&self.file).unwrap_or_else(|| confirmed(&self.file, path)).map(Cow::Owned)
            }
        }
    }
}

/// Where a path leads now, if that is the same file.
fn confirmed(file: &File, path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    if system::is_at(file, &real)? {
        return Ok(real);
    }
    Err(io::Error::other("it was exchanged while it was opened"))
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

    /// To open without waiting, and without getting a terminal that governs this process.
    const AT_ONCE: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

    /// The same, as options of other libraries take it.
    pub(super) fn flags_at_once() -> i32 {
        i32::try_from(AT_ONCE.bits()).unwrap_or_default()
    }

    pub(super) fn open_at_once(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).custom_flags(flags_at_once()).open(path)
    }

    /// Opens a path that is real as it stands; none when it is not, or when the system cannot tell.
    #[cfg(target_os = "linux")]
    pub(super) fn open_without_links(path: &Path) -> Option<File> {
        use std::os::unix::ffi::OsStrExt as _;

        use rustix::fs::{ResolveFlags, openat2};

        if path.as_os_str().as_bytes().first() != Some(&b'/') || !is_plain(path) {
            return None;
        }
        let resolve = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
        openat2(CWD, path, AT_ONCE, Mode::empty(), resolve).ok().map(File::from)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open_without_links(_path: &Path) -> Option<File> {
        None
    }

    /// The same for a path below a directory, by its handle.
    #[cfg(target_os = "linux")]
    pub(super) fn open_in_without_links(directory: &Dir, name: &Path) -> Option<File> {
        use std::os::unix::ffi::OsStrExt as _;

        use rustix::fs::{ResolveFlags, openat2};

        if matches!(name.as_os_str().as_bytes().first(), None | Some(b'/' | b'.')) || !is_plain(name) {
            return None;
        }
        let links = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
        openat2(directory, name, AT_ONCE, Mode::empty(), links.union(ResolveFlags::BENEATH))
            .ok()
            .map(File::from)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open_in_without_links(_directory: &Dir, _name: &Path) -> Option<File> {
        None
    }

    /// Whether no part of a path is left out or stands for another one.
    #[cfg(target_os = "linux")]
    fn is_plain(path: &Path) -> bool {
        use std::os::unix::ffi::OsStrExt as _;

        let text = path.as_os_str().as_bytes();
        text.last() != Some(&b'/') && !text.windows(2).any(|pair| pair == b"//" || pair == b"/.")
    }

    /// The real path of a file that is open; none when the system does not tell it.
    ///
    /// Behind the name of a file that was removed Linux writes ` (deleted)`: the directory is right all the same.
    #[cfg(target_os = "linux")]
    pub(super) fn path_of(file: &File) -> Option<io::Result<PathBuf>> {
        use std::os::fd::AsRawFd as _;

        let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        // What is in no tree of files has a name without a slash.
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

    /// Whether a file is what stands at a path, of which no part may be a link.
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
        let there = File::from(openat(&above, name, AT_ONCE.union(OFlags::NOFOLLOW), Mode::empty())?);
        let (there, own) = (there.metadata()?, file.metadata()?);
        Ok((there.dev(), there.ino()) == (own.dev(), own.ino()))
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::{Path, PathBuf};

    pub(super) fn open_at_once(path: &Path) -> io::Result<File> {
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

    /// Whether a file is what stands at a path. While a file is open, Windows lets nobody exchange the
    /// directories that it is in.
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

    /// A directory with a file `real/a`, and `link`, which leads to `real`.
    fn fixture() -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().expect("a directory");
        let home = guard.path().canonicalize().expect("its real path");
        fs::create_dir(home.join("real")).expect("made");
        fs::write(home.join("real/a"), "a").expect("written");
        symlink("real", home.join("link")).expect("linked");
        (guard, home)
    }

    #[test]
    fn what_is_open_tells_where_it_is() {
        let (_guard, home) = fixture();
        let real = home.join("real/a");
        for name in ["real/a", "link/a", "real/../link/./a", "link//a"] {
            let handle = Handle::open(&home.join(name)).expect(name);
            assert_eq!(handle.path().expect(name), real, "{name}");
            assert_eq!(confirmed(&handle.file, &home.join(name)).expect(name), real, "{name}");
        }
        assert!(Handle::open(&home.join("link/b")).is_err() && Handle::open(&home.join("b")).is_err());
    }

    #[test]
    fn what_was_exchanged_is_told_by_what_is_open() {
        let (_guard, home) = fixture();
        fs::create_dir(home.join("other")).expect("made");
        fs::write(home.join("other/a"), "b").expect("written");
        let handle = Handle::open(&home.join("link/a")).expect("there");
        fs::remove_file(home.join("link"))
            .and_then(|()| symlink("other", home.join("link")))
            .expect("linked");
        assert!(confirmed(&handle.file, &home.join("link/a")).is_err(), "another file");
        if cfg!(any(target_os = "linux", target_vendor = "apple")) {
            assert_eq!(handle.path().expect("open"), home.join("real/a"));
        }
        assert!(!system::is_at(&handle.file, &home.join("other/a")).expect("there"));
        assert!(system::is_at(&handle.file, &home.join("real/a")).expect("there"));
        assert!(system::is_at(&handle.file, &home.join("link/a")).is_err(), "no part may be a link");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_was_removed_is_where_it_was() {
        let (_guard, home) = fixture();
        let handle = Handle::open(&home.join("link/a")).expect("there");
        fs::remove_file(home.join("real/a")).expect("removed");
        assert!(handle.path().expect("open").starts_with(home.join("real")));
    }
}
