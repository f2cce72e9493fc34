//! The inputs of a build, by path and kind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use smp_files::{JOURNAL, ReadSet};
use smp_overlay::overlay::RemoteReference;
use smp_text::diagnostic::{Code, Diagnostic, Result, escaped_json, quoted_path};
use smp_text::source::relative_path;

/// The kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadKind {
    /// The content of a file.
    File,
    /// The entries of a directory.
    Directory,
    /// A symlink that was followed.
    #[serde(rename = "symlink")]
    Link,
    /// A file that another program may have read: a chart for helm, the executable of a function, or the mounts of a
    /// container. It is unknown which of these files the program reads.
    #[serde(rename = "program")]
    Given,
    /// A path that does not exist. A file at this path would change the build.
    #[serde(rename = "missing")]
    Absent,
    /// A commit of a remote repository.
    Repository,
    /// A remote file.
    Url,
}

impl ReadKind {
    /// Returns true if the input exists on this machine.
    #[must_use]
    pub fn is_local(self) -> bool {
        matches!(self, Self::File | Self::Directory | Self::Link | Self::Given)
    }
}

/// An input of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadInput {
    /// The path relative to the working directory, or the URL.
    pub path: String,
    /// The kind of the input.
    pub kind: ReadKind,
    /// The absolute path; `None` for remote inputs.
    pub real: Option<PathBuf>,
    /// The branch, tag or commit in the reference to a repository.
    pub reference: Option<String>,
    /// The commit of a repository, or the SHA-256 of a remote file.
    pub version: Option<String>,
}

/// The inputs of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetReads {
    /// The target as given by the user.
    pub target: String,
    /// The directory of the target; `None` if it is not local.
    pub directory: Option<PathBuf>,
    /// The inputs, sorted by path.
    pub reads: Vec<ReadInput>,
}

/// Collects the inputs of a build from its read set, and from its remote references with their resolved versions. Paths
/// are displayed relative to `here`.
#[must_use]
pub fn collect_reads(
    read: &ReadSet,
    remotes: &BTreeMap<RemoteReference, String>,
    here: &Path,
) -> Vec<ReadInput> {
    let local = |kind| move |path: PathBuf| local(path, kind, here);
    let given = read.program_files.difference(&read.files).cloned().map(local(ReadKind::Given));
    // A journal marks an interrupted change and is not an input.
    let absent = read.absent.iter().filter(|path| !path.ends_with(JOURNAL));
    let files = read.files.iter().cloned().map(local(ReadKind::File));
    let directories = read.directories.iter().cloned().map(local(ReadKind::Directory));
    let links = read.followed_links().into_iter().map(local(ReadKind::Link));
    let mut reads: Vec<ReadInput> = files.chain(given).chain(directories).chain(links).collect();
    reads.extend(absent.cloned().map(local(ReadKind::Absent)));
    reads.extend(remotes.iter().map(|(reference, version)| remote(reference, version)));
    reads.sort_by(|a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
    reads.dedup();
    reads
}

fn local(path: PathBuf, kind: ReadKind, here: &Path) -> ReadInput {
    let shown = relative_path(&path, here).to_string_lossy().into_owned();
    ReadInput { path: shown, kind, real: Some(path), reference: None, version: None }
}

fn remote(reference: &RemoteReference, version: &str) -> ReadInput {
    let (path, kind, reference) = match reference {
        RemoteReference::Repository { url, reference } => {
            (url.clone(), ReadKind::Repository, Some(reference.clone()))
        }
        RemoteReference::File { url } => (url.clone(), ReadKind::Url, None),
    };
    ReadInput { path, kind, real: None, reference, version: Some(version.to_string()) }
}

/// Lists all inputs of all targets, one per line and without duplicates. Missing files are omitted, directories end
/// with a slash, and repositories are printed with the commit that was used. A path with control characters, or one
/// that a CI system could interpret as a command, is quoted as in git's output.
#[must_use]
pub fn reads_to_lines(all: &[TargetReads]) -> String {
    let reads = all.iter().flat_map(|target| &target.reads);
    let present = reads.filter(|read| read.kind != ReadKind::Absent);
    let mut lines: Vec<String> = present.map(line).collect();
    lines.sort();
    lines.dedup();
    lines.into_iter().map(|line| line + "\n").collect()
}

fn line(read: &ReadInput) -> String {
    match (read.kind, &read.version) {
        (ReadKind::Directory, _) => quoted_path(&format!("{}/", read.path)).into_owned(),
        (ReadKind::Repository, Some(commit)) => {
            quoted_path(&format!("{}?ref={commit}", read.path)).into_owned()
        }
        _ => quoted_path(&read.path).into_owned(),
    }
}

#[derive(Serialize)]
struct JsonReads<'r> {
    target: &'r str,
    inputs: Vec<JsonRead<'r>>,
}

#[derive(Serialize)]
struct JsonRead<'r> {
    path: &'r str,
    kind: ReadKind,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<&'r str>,
}

impl<'r> JsonRead<'r> {
    fn new(read: &'r ReadInput) -> Self {
        let ReadInput { path, kind, reference, version, .. } = read;
        let version_of = |expected| version.as_deref().filter(|_| *kind == expected);
        let (commit, sha256) = (version_of(ReadKind::Repository), version_of(ReadKind::Url));
        Self { path, kind: *kind, reference: reference.as_deref(), commit, sha256 }
    }
}

/// Renders a JSON array with an element for each target.
///
/// # Errors
/// A value cannot be represented in JSON. No build creates such a value.
pub fn reads_to_json(all: &[TargetReads]) -> Result<String> {
    let targets: Vec<JsonReads<'_>> = all
        .iter()
        .map(|one| JsonReads { target: &one.target, inputs: one.reads.iter().map(JsonRead::new).collect() })
        .collect();
    serde_json::to_string_pretty(&targets)
        .map(|text| escaped_json(&text) + "\n")
        .map_err(|error| Diagnostic::error(Code::InvalidValue, format!("cannot be written as JSON: {error}")))
}
