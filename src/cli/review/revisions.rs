//! Revisions of git as trees of files.

use std::str::FromStr;
use std::sync::Arc;

use smp_files::{DiskTree, FileTree, GitRepository};
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};

/// The revisions to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum RevisionRange {
    /// A revision with the working tree: `A`.
    WorkingTree(String),
    /// Two revisions: `A..B`.
    Between(String, String),
    /// The common ancestor of two revisions with the second one: `A...B`.
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

/// The files of two revisions.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Revisions {
    /// The files of the old revision.
    pub old: Arc<dyn FileTree>,
    /// The files of the new revision, or of the working tree.
    pub new: Arc<dyn FileTree>,
    /// A warning about files that the working tree may lack.
    pub warning: Option<Diagnostic>,
}

impl Revisions {
    /// Opens the repository of the working directory, and finds the revisions in it.
    ///
    /// # Errors
    /// There is no repository, or a revision does not exist.
    pub(in crate::cli) fn open(range: &RevisionRange) -> Result<Self> {
        let here =
            DiskTree.working_directory().map_err(|error| read_error("the working directory", &error))?;
        let repository = GitRepository::discover(&here)?;
        let tree = |revision: &str| -> Result<Arc<dyn FileTree>> { Ok(Arc::new(repository.tree(revision)?)) };
        Ok(match range {
            RevisionRange::WorkingTree(old) => {
                let message = "the checkout is sparse: files that it leaves out count as deleted";
                let warning = repository.is_sparse().then(|| {
                    Diagnostic::warning(Code::Io, message).help("compare with a revision instead: A..HEAD")
                });
                Self { old: tree(old)?, new: Arc::new(DiskTree), warning }
            }
            RevisionRange::Between(old, new) => Self { old: tree(old)?, new: tree(new)?, warning: None },
            RevisionRange::FromMergeBase(one, other) => {
                let base = repository.merge_base(one, other)?;
                Self { old: tree(&base)?, new: tree(other)?, warning: None }
            }
        })
    }
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
