//! Git revisions as trees of files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use crate::cli::disk::{record_access, recorded};
use smp_files::{DiskTree, FileKind, FileTree, GitRepository};
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};

/// The revisions to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum RevisionRange {
    /// A revision and the working tree: `A`.
    WorkingTree(String),
    /// Two revisions: `A..B`.
    Between(String, String),
    /// The common ancestor of two revisions, and the second one: `A...B`.
    FromMergeBase(String, String),
}

impl FromStr for RevisionRange {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let revision = |name: &str| if name.is_empty() { "HEAD".to_string() } else { name.to_string() };
        if text.is_empty() || text.starts_with('-') {
            return Err("use a revision such as main, HEAD~1, main..HEAD or main...HEAD".into());
        }
        Ok(match (text.split_once("..."), text.split_once("..")) {
            (Some((old, new)), _) => Self::FromMergeBase(revision(old), revision(new)),
            (None, Some((old, new))) => Self::Between(revision(old), revision(new)),
            (None, None) => Self::WorkingTree(text.into()),
        })
    }
}

impl RevisionRange {
    fn revisions(&self) -> Vec<&str> {
        match self {
            Self::WorkingTree(one) => vec![one],
            Self::Between(old, new) | Self::FromMergeBase(old, new) => vec![old, new],
        }
    }
}

/// The files of two revisions.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Revisions {
    /// The files of the old revision.
    pub old: Arc<dyn FileTree>,
    /// The files of the new revision, or of the working tree.
    pub new: Arc<dyn FileTree>,
    /// A warning about files that may be missing in the working tree.
    pub warning: Option<Diagnostic>,
    /// The real path of the working tree.
    root: PathBuf,
}

impl Revisions {
    /// Opens the repository of the working directory, or that of the first target, and finds the
    /// revisions in it.
    ///
    /// # Errors
    /// There is no repository, or a revision does not exist.
    pub(in crate::cli) fn open(range: &RevisionRange, targets: &[PathBuf]) -> Result<Self> {
        let repository = repository(range, targets)?;
        let root = repository.root().to_path_buf();
        let tree = |revision: &str| -> Result<Arc<dyn FileTree>> { Ok(Arc::new(repository.tree(revision)?)) };
        Ok(match range {
            RevisionRange::WorkingTree(old) => Self::on_disk(&repository, old)?,
            RevisionRange::Between(old, new) => {
                Self { old: tree(old)?, new: tree(new)?, warning: None, root }
            }
            RevisionRange::FromMergeBase(one, other) => {
                let base = repository.merge_base(one, other)?;
                Self { old: tree(&base)?, new: tree(other)?, warning: None, root }
            }
        })
    }

    /// Opens a revision and the working tree, for a command that reads the working tree.
    ///
    /// # Errors
    /// The errors of [`Revisions::open`], or the range ends with another revision than `HEAD`.
    pub(in crate::cli) fn with_working_tree(range: &RevisionRange, targets: &[PathBuf]) -> Result<Self> {
        let repository = repository(range, targets)?;
        match range {
            RevisionRange::WorkingTree(old) => Self::on_disk(&repository, old),
            RevisionRange::FromMergeBase(one, other) if other == "HEAD" => {
                Self::on_disk(&repository, &repository.merge_base(one, other)?)
            }
            _ => Err(Diagnostic::error(Code::Usage, "`--affected` compares with the working tree")
                .help("use a revision such as `main`, or `main...` for the merge base with HEAD")),
        }
    }

    fn on_disk(repository: &GitRepository, old: &str) -> Result<Self> {
        let message = "the checkout is sparse: files that are not checked out count as deleted";
        let warning = repository
            .is_sparse()
            .then(|| Diagnostic::warning(Code::Io, message).help("compare with a revision instead: A..HEAD"));
        let old = Arc::new(repository.tree(old)?);
        let root = repository.root().to_path_buf();
        Ok(Self { old, new: recorded(Arc::new(repository.working_tree()?)), warning, root })
    }

    /// Returns true if the old revision has git submodules.
    pub(super) fn has_submodules(&self) -> bool {
        self.old.contains(&self.root.join(".gitmodules"))
    }

    /// Returns true for the path of a git submodule of the old revision, or for a path in one.
    pub(super) fn is_in_submodule(&self, path: &Path) -> bool {
        match self.old.locate(Path::new(""), path) {
            Ok(found) => found.kind() == FileKind::Other,
            Err(error) => error.kind() == ErrorKind::Unsupported,
        }
    }

    /// Returns true if a path is in the repository or does not exist on disk.
    pub(super) fn contains(&self, path: &Path) -> bool {
        DiskTree.locate(Path::new(""), path).map_or(true, |found| found.path().starts_with(&self.root))
    }
}

/// Opens the repository of the working directory, or that of the first target on disk. A command
/// that runs again after changes also does so after new commits.
fn repository(range: &RevisionRange, targets: &[PathBuf]) -> Result<GitRepository> {
    let here = DiskTree.working_directory().map_err(|error| read_error("the working directory", &error))?;
    let repository = GitRepository::discover(&here).or_else(|error| {
        let target = targets.iter().find(|target| DiskTree.is_directory(target)).ok_or(error)?;
        GitRepository::discover(target)
    })?;
    for file in range.revisions().into_iter().flat_map(|name| repository.reference_files(name)) {
        record_access(&file);
    }
    Ok(repository)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed_as_in_git() {
        let table = [
            ("main", RevisionRange::WorkingTree("main".into())),
            ("HEAD~2..v1.0", RevisionRange::Between("HEAD~2".into(), "v1.0".into())),
            ("main...", RevisionRange::FromMergeBase("main".into(), "HEAD".into())),
            ("..topic", RevisionRange::Between("HEAD".into(), "topic".into())),
        ];
        for (text, want) in table {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        assert!(RevisionRange::from_str("--upload-pack=x").is_err());
    }
}
