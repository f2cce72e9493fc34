//! What a build read: its inputs, by path and kind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use smp_files::{JOURNAL, ReadSet};
use smp_overlay::overlay::RemoteReference;
use smp_text::diagnostic::{Code, Diagnostic, Result, escaped_json, quoted_path};
use smp_text::source::as_seen_from;

/// What was read at a path, or done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadKind {
    /// The content of a file.
    File,
    /// The names in a directory.
    Directory,
    /// A symbolic link, which was followed.
    Link,
    /// A file that another program was given: a chart for helm, the executable of a function, what a container sees. The
    /// program knows which of them it reads.
    Given,
    /// Nothing is there, and something there would change the build.
    Absent,
    /// A commit of a repository from elsewhere.
    Repository,
    /// A file from elsewhere.
    Url,
}

impl ReadKind {
    /// Whether it is something that exists on this machine.
    #[must_use]
    pub fn is_here(self) -> bool {
        matches!(self, Self::File | Self::Directory | Self::Link | Self::Given)
    }
}

/// One input of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadInput {
    /// The path as seen from the working directory, or the URL.
    pub path: String,
    /// What was read.
    pub kind: ReadKind,
    /// The absolute path; none of what is elsewhere.
    pub real: Option<PathBuf>,
    /// The branch, tag or commit of a repository that is named.
    pub reference: Option<String>,
    /// The commit of a repository, or the SHA-256 of a file from elsewhere.
    pub version: Option<String>,
}

/// All inputs of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetReads {
    /// The target as it was named.
    pub target: String,
    /// The directory that it is, or is in; none of what is no directory here.
    pub directory: Option<PathBuf>,
    /// The inputs, by path.
    pub reads: Vec<ReadInput>,
}

/// The inputs of a build that left `read` behind and used `remotes` of elsewhere, with the versions that they had; paths
/// are seen from `here`.
#[must_use]
pub fn reads_of(read: &ReadSet, remotes: &BTreeMap<RemoteReference, String>, here: &Path) -> Vec<ReadInput> {
    let local = |kind| move |path: PathBuf| local(path, kind, here);
    let given = read.given.difference(&read.files).cloned().map(local(ReadKind::Given));
    // A journal says that a change is not finished; it is no input.
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
    let shown = as_seen_from(&path, here).to_string_lossy().into_owned();
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

/// All inputs of all targets, each once, a line for each: what is not there is left out, directories end with a slash,
/// repositories are told as the reference to the commit that was used. A path with control characters, or that could
/// be a command for a CI system, stands between quotes, as in the output of git.
#[must_use]
pub fn reads_to_lines(all: &[TargetReads]) -> String {
    let reads = all.iter().flat_map(|target| &target.reads);
    let told = reads.filter(|read| read.kind != ReadKind::Absent);
    let mut lines: Vec<String> = told.map(line).collect();
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
    reads: Vec<JsonRead<'r>>,
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
    fn of(read: &'r ReadInput) -> Self {
        let ReadInput { path, kind, reference, version, .. } = read;
        let version_of = |wanted| version.as_deref().filter(|_| *kind == wanted);
        let (commit, sha256) = (version_of(ReadKind::Repository), version_of(ReadKind::Url));
        Self { path, kind: *kind, reference: reference.as_deref(), commit, sha256 }
    }
}

/// A JSON array with an element for each target.
///
/// # Errors
/// None with what a build reads.
pub fn reads_to_json(all: &[TargetReads]) -> Result<String> {
    let targets: Vec<JsonReads<'_>> = all
        .iter()
        .map(|one| JsonReads { target: &one.target, reads: one.reads.iter().map(JsonRead::of).collect() })
        .collect();
    serde_json::to_string_pretty(&targets)
        .map(|text| escaped_json(&text) + "\n")
        .map_err(|error| Diagnostic::error(Code::InvalidValue, format!("this is no JSON: {error}")))
}
