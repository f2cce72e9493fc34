//! Seals: checksums of cached files and directories.
//!
//! A seal is a checksum of the content and its description. It detects damage and accidental changes. It does not
//! protect against a process with write access to the cache, since this process can create a new seal. This module does
//! not depend on the content.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::disk::DiskTree;
use super::handle::Handle;
use super::tree::{FileKind, may_run};
use super::walk::{Hidden, LinkPolicy, TreeWalk, WalkEntry, WalkError, WalkOptions};

/// The description of sealed content, as names and values that the owner of the cache chooses.
pub type Description = BTreeMap<String, String>;

/// A checksum with the description of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seal {
    /// The version of the checksum algorithm.
    version: u32,
    /// The description of the content.
    pub about: Description,
    /// The size of the content in bytes.
    pub size: u64,
    sha256: String,
}

const VERSION: u32 = 1;

impl Seal {
    /// Computes the seal of a file's content.
    pub(super) fn of_bytes(about: Description, content: &[u8]) -> Self {
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        Self::new(about, size, &Sha256::digest(content))
    }

    /// Computes the seal of a directory. It includes the names, kinds, contents and link targets of all entries, and
    /// the executable bits. Symlinks are not followed.
    ///
    /// # Errors
    /// The directory cannot be read, or contains entries other than files, directories and symlinks.
    pub(super) fn of_directory(about: Description, directory: &Path) -> io::Result<Self> {
        let entries = entries(directory)?;
        let (mut all, mut size) = (Sha256::new(), 0);
        for (entry, content) in entries.iter().zip(contents(directory, &entries)?) {
            // The lengths distinguish parts whose concatenation would be equal.
            for part in [entry.path.as_os_str().as_encoded_bytes(), content.kind, &content.sha256] {
                all.update(part.len().to_le_bytes());
                all.update(part);
            }
            size += content.size;
        }
        Ok(Self::new(about, size, &all.finalize()))
    }

    fn new(about: Description, size: u64, content: &[u8]) -> Self {
        let mut sealed = Sha256::new();
        for (name, value) in &about {
            for part in [name, value] {
                sealed.update(part.len().to_le_bytes());
                sealed.update(part);
            }
        }
        sealed.update(content);
        Self { version: VERSION, about, size, sha256: hex(&sealed.finalize()) }
    }

    /// Formats the seal as one line.
    pub(super) fn to_line(&self) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Parses a line that `to_line` returned. Returns `None` for any other line.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok().filter(|seal: &Self| seal.version == VERSION)
    }
}

/// Formats bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns all entries of a directory recursively, sorted by name. A directory comes before its content.
fn entries(directory: &Path) -> io::Result<Vec<WalkEntry>> {
    let options = WalkOptions { links: LinkPolicy::Keep, hidden: Hidden::Keep, max_depth: usize::MAX };
    let walk = TreeWalk::new(&DiskTree, directory, options);
    let failed = |error| match error {
        WalkError::Io { cause, .. } => cause,
        loops @ WalkError::Loop { .. } => io::Error::other(loops),
    };
    walk.map(|walked| walked.map_err(failed)).collect()
}

/// The content of a directory entry.
struct SealedContent {
    kind: &'static [u8],
    sha256: Vec<u8>,
    size: u64,
}

/// The minimum number of entries for an additional thread.
const ENTRIES_PER_THREAD: usize = 128;

/// Computes the contents of entries, in their order. All threads have ended when it returns, because a sandbox that is
/// closed later would not apply to running threads.
fn contents(directory: &Path, entries: &[WalkEntry]) -> io::Result<Vec<SealedContent>> {
    let threads =
        thread::available_parallelism().map_or(1, usize::from).min(entries.len() / ENTRIES_PER_THREAD);
    if threads < 2 {
        return contents_of_chunk(directory, entries);
    }
    let chunks = || entries.chunks(entries.len().div_ceil(threads));
    thread::scope(|scope| {
        let start =
            |part| thread::Builder::new().spawn_scoped(scope, move || contents_of_chunk(directory, part));
        let running: Vec<_> = chunks().map(start).collect();
        let results = running.into_iter().zip(chunks()).map(|(thread, part)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // If no more threads can be started, this thread does the work.
            Err(_) => contents_of_chunk(directory, part),
        });
        let all: io::Result<Vec<Vec<SealedContent>>> = results.collect();
        Ok(all?.into_iter().flatten().collect())
    })
}

/// Computes the contents of a chunk of entries with one buffer.
fn contents_of_chunk(directory: &Path, entries: &[WalkEntry]) -> io::Result<Vec<SealedContent>> {
    let mut buffer = vec![0; 1 << 16];
    entries.iter().map(|entry| content(directory, entry, &mut buffer)).collect()
}

fn content(directory: &Path, entry: &WalkEntry, buffer: &mut [u8]) -> io::Result<SealedContent> {
    let path = directory.join(&entry.path);
    match entry.kind {
        FileKind::Directory => Ok(SealedContent { kind: b"directory", sha256: Vec::new(), size: 0 }),
        FileKind::Link => {
            let target = PathBuf::into_os_string(fs::read_link(&path)?);
            let sha256 = Sha256::digest(target.as_encoded_bytes()).to_vec();
            Ok(SealedContent { kind: b"link", sha256, size: 0 })
        }
        FileKind::File => file_content(&path, buffer),
        FileKind::Other => Err(not_a_file(&path)),
    }
}

fn not_a_file(path: &Path) -> io::Error {
    io::Error::other(format!("{} is not a regular file", path.display()))
}

/// Computes the content of a file. A pipe or device that has replaced the file is not read.
fn file_content(path: &Path, buffer: &mut [u8]) -> io::Result<SealedContent> {
    let opened = Handle::open(path)?;
    let metadata = opened.metadata()?;
    if !metadata.is_file() {
        return Err(not_a_file(path));
    }
    let kind: &[u8] = if may_run(&metadata) { b"program" } else { b"file" };
    let (mut file, mut sha256, mut size) = (opened.into_file(), Sha256::new(), 0);
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(SealedContent { kind, sha256: sha256.finalize().to_vec(), size }),
            Ok(read) => {
                sha256.update(&buffer[..read]);
                size += u64::try_from(read).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> Description {
        [("commit".to_string(), "a".repeat(40))].into()
    }

    fn write(directory: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        }
    }

    fn seal(directory: &Path) -> Seal {
        Seal::of_directory(about(), directory).expect("readable")
    }

    #[test]
    fn equal_directories_have_equal_seals() {
        let [one, other] = [(), ()].map(|()| tempfile::tempdir().expect("a directory"));
        let many: Vec<(String, String)> = (0..600).map(|i| (format!("d/{i}"), i.to_string())).collect();
        let files: Vec<(&str, &str)> =
            many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        write(one.path(), &files);
        write(other.path(), &files.iter().rev().copied().collect::<Vec<_>>());
        assert_eq!(seal(one.path()), seal(other.path()));
        assert_eq!(seal(one.path()).size, files.iter().map(|(_, text)| text.len() as u64).sum::<u64>());
        let others = [("commit".to_string(), "b".repeat(40))].into();
        assert_ne!(Seal::of_directory(others, one.path()).expect("readable").sha256, seal(one.path()).sha256);
    }

    type Change = fn(&Path) -> io::Result<()>;

    #[cfg(unix)]
    #[test]
    fn any_change_of_a_directory_changes_its_seal() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let changes: [Change; 10] = [
            |home| fs::write(home.join("a"), "2"),
            |home| fs::write(home.join("a"), ""),
            |home| fs::remove_file(home.join("a")),
            |home| fs::write(home.join("b/.new"), ""),
            |home| fs::create_dir(home.join("b/d")),
            |home| fs::rename(home.join("a"), home.join("aa")),
            |home| fs::remove_file(home.join("link")).and_then(|()| symlink("b", home.join("link"))),
            |home| fs::remove_file(home.join("link")).and_then(|()| fs::write(home.join("link"), "a")),
            |home| fs::set_permissions(home.join("a"), fs::Permissions::from_mode(0o755)),
            |home| {
                fs::rename(home.join("a"), home.join("../outside"))?;
                symlink("../outside", home.join("a"))
            },
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let home = tempfile::tempdir().expect("a directory");
            let tree = home.path().join("tree");
            write(&tree, &[("a", "1"), ("b/c", "3")]);
            symlink("a", tree.join("link")).expect("linked");
            let before = seal(&tree);
            assert_eq!(before, seal(&tree));
            change(&tree).expect("changed");
            assert_ne!(before.sha256, seal(&tree).sha256, "change {i}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn socket_is_rejected() {
        let home = tempfile::tempdir().expect("a directory");
        let _socket = std::os::unix::net::UnixListener::bind(home.path().join("s")).expect("a socket");
        assert!(Seal::of_directory(about(), home.path()).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pipe_that_replaced_a_file_is_not_opened_blocking() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};

        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("a");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        assert!(file_content(&path, &mut [0; 16]).is_err());
    }

    #[test]
    fn seal_line_round_trips() {
        let seal = Seal::of_bytes(about(), b"text");
        let line = seal.to_line().expect("text");
        assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
        assert_eq!(Seal::parse(&line), Some(seal));
        let later = String::from_utf8(line).expect("text").replace("\"version\":1", "\"version\":2");
        assert_eq!(Seal::parse(later.as_bytes()), None);
        assert_eq!(Seal::parse(b"{}\n"), None);
    }
}
