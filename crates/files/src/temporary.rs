//! Temporary files and directories, which are removed when they are dropped. They are used to exchange data
//! with other programs.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use tempfile::{Builder, NamedTempFile, TempDir};

use super::cleanup;

/// A temporary directory.
#[derive(Debug)]
pub struct TemporaryDirectory(TempDir);

impl TemporaryDirectory {
    /// Creates an empty directory in the system's temporary directory, with a name that starts with `prefix`.
    pub fn new(prefix: &str) -> io::Result<Self> {
        cleanup::create(|| Builder::new().prefix(prefix).tempdir(), TempDir::path).map(Self)
    }

    /// Creates an empty directory in another directory.
    pub(crate) fn new_in(directory: &Path, prefix: &str) -> io::Result<Self> {
        cleanup::create(|| Builder::new().prefix(prefix).tempdir_in(directory), TempDir::path).map(Self)
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file into the directory.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        fs::write(self.path().join(name), content)
    }

    /// Creates an empty directory in the directory.
    pub(crate) fn create_directory(&self, name: &str) -> io::Result<()> {
        fs::create_dir(self.path().join(name))
    }
}

impl Drop for TemporaryDirectory {
    /// Removes the directory. [`cleanup::remove_all`] waits for it.
    fn drop(&mut self) {
        let mut registered = cleanup::lock_registered();
        let _ = fs::remove_dir_all(self.path());
        registered.remove(self.path());
    }
}

/// A temporary file, for programs that expect a path.
#[derive(Debug)]
pub struct TemporaryFile(NamedTempFile);

impl TemporaryFile {
    /// Creates a file with content, with a name that starts with `prefix`.
    pub fn with_content(prefix: &str, content: &[u8]) -> io::Result<Self> {
        Self::with_suffix(prefix, "", content)
    }

    /// Creates a file with content, with a name that starts with `prefix` and ends with `suffix`.
    pub fn with_suffix(prefix: &str, suffix: &str, content: &[u8]) -> io::Result<Self> {
        let builder = || Builder::new().prefix(prefix).suffix(suffix).tempfile();
        let file = cleanup::create(builder, NamedTempFile::path)?;
        let mut file = Self(file);
        file.0.write_all(content)?;
        Ok(file)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for TemporaryFile {
    /// Removes the file. [`cleanup::remove_all`] waits for it.
    fn drop(&mut self) {
        let mut registered = cleanup::lock_registered();
        let _ = fs::remove_file(self.path());
        registered.remove(self.path());
    }
}

/// A file without a name, used as a standard stream of a program.
#[derive(Debug)]
pub struct UnnamedFile(File);

impl UnnamedFile {
    /// Creates an empty file.
    pub fn new() -> io::Result<Self> {
        tempfile::tempfile().map(Self)
    }

    /// Creates a file with content. The position is at the start of the file.
    pub fn with_content(content: &[u8]) -> io::Result<Self> {
        let mut file = tempfile::tempfile()?;
        file.write_all(content)?;
        file.rewind()?;
        Ok(Self(file))
    }

    /// Returns the file as a standard stream for a program.
    pub fn stream(&self) -> io::Result<Stdio> {
        self.0.try_clone().map(Stdio::from)
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> io::Result<u64> {
        self.0.metadata().map(|metadata| metadata.len())
    }

    /// Returns the whole content of the file.
    pub fn into_content(mut self) -> io::Result<Vec<u8>> {
        self.0.rewind()?;
        let mut content = Vec::new();
        self.0.read_to_end(&mut content)?;
        Ok(content)
    }
}
