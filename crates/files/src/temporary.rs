//! Files and directories that are gone when nobody holds them any more: what other programs are given to
//! read and write.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use tempfile::{Builder, NamedTempFile, TempDir};

use super::cleanup;

/// A directory with a name of its own.
#[derive(Debug)]
pub struct TemporaryDirectory(TempDir);

impl TemporaryDirectory {
    /// An empty directory where the system keeps such; its name begins with `prefix`.
    pub fn new(prefix: &str) -> io::Result<Self> {
        cleanup::make(|| Builder::new().prefix(prefix).tempdir(), TempDir::path).map(Self)
    }

    /// An empty directory in another one.
    pub(crate) fn new_in(directory: &Path, prefix: &str) -> io::Result<Self> {
        cleanup::make(|| Builder::new().prefix(prefix).tempdir_in(directory), TempDir::path).map(Self)
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        fs::write(self.path().join(name), content)
    }

    /// Makes an empty directory in it.
    pub(crate) fn create_directory(&self, name: &str) -> io::Result<()> {
        fs::create_dir(self.path().join(name))
    }
}

impl Drop for TemporaryDirectory {
    /// While it goes, the program is not ended.
    fn drop(&mut self) {
        let mut notes = cleanup::notes();
        let _ = fs::remove_dir_all(self.path());
        notes.remove(self.path());
    }
}

/// A file with a name of its own, for programs that are given a path.
#[derive(Debug)]
pub struct TemporaryFile(NamedTempFile);

impl TemporaryFile {
    /// A file with a content; its name begins with `prefix`.
    pub fn with(prefix: &str, content: &[u8]) -> io::Result<Self> {
        let file = cleanup::make(|| Builder::new().prefix(prefix).tempfile(), NamedTempFile::path)?;
        let mut file = Self(file);
        file.0.write_all(content)?;
        Ok(file)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for TemporaryFile {
    /// While it goes, the program is not ended.
    fn drop(&mut self) {
        let mut notes = cleanup::notes();
        let _ = fs::remove_file(self.path());
        notes.remove(self.path());
    }
}

/// A file without a name, for what programs read and write as their standard streams.
#[derive(Debug)]
pub struct UnnamedFile(File);

impl UnnamedFile {
    /// Creates an empty file.
    pub fn new() -> io::Result<Self> {
        tempfile::tempfile().map(Self)
    }

    /// A file with a content, to be read from its start.
    pub fn with(content: &[u8]) -> io::Result<Self> {
        let mut file = tempfile::tempfile()?;
        file.write_all(content)?;
        file.rewind()?;
        Ok(Self(file))
    }

    /// The file as the standard stream of a program.
    pub fn stream(&self) -> io::Result<Stdio> {
        self.0.try_clone().map(Stdio::from)
    }

    /// How many bytes are in it.
    pub fn size(&self) -> io::Result<u64> {
        self.0.metadata().map(|metadata| metadata.len())
    }

    /// All that was written to it.
    pub fn into_content(mut self) -> io::Result<Vec<u8>> {
        self.0.rewind()?;
        let mut content = Vec::new();
        self.0.read_to_end(&mut content)?;
        Ok(content)
    }
}
