//! The base of a target: the part that other directories define, without the target's own changes.

use std::path::PathBuf;

use super::directory::find_bases;
use super::kustomization::Kustomization;
use super::remote::is_remote_file;
use super::repo_spec::RepoSpec;
use super::root::Root;
use smp_files::Located;
use smp_text::diagnostic::Result;

/// The base of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetBase {
    /// None: the target itself defines everything.
    None,
    /// The bases of a kustomization: a text to build in place of its kustomization file.
    Kustomization {
        /// The real path of the kustomization file.
        file: PathBuf,
        /// The kustomization with only the bases.
        text: String,
    },
    /// The bases of a plain directory, in order.
    Directories(Vec<PathBuf>),
}

impl TargetBase {
    /// Finds the base of the target in a directory. `bases` are the given bases of plain directories.
    ///
    /// # Errors
    /// The kustomization, or a given base, cannot be read.
    pub(super) fn find(root: &Root, bases: &[PathBuf]) -> Result<Self> {
        let Some(file) = root.kustomization_file()? else {
            let bases = find_bases(root, bases)?.unwrap_or_default();
            let paths: Vec<_> = bases.iter().map(|base| base.path().to_path_buf()).collect();
            return Ok(if paths.is_empty() { Self::None } else { Self::Directories(paths) });
        };
        let source = root.text_at(&file)?;
        let kustomization = Kustomization::read(root.reader().sources(), source)?.value;
        let is_directory =
            |path: &str| root.directory().locate(path).is_ok_and(|found: Located| found.is_directory());
        let is_base =
            |path: &&str| is_directory(path) || (!is_remote_file(path) && RepoSpec::parse(path).is_ok());
        let entries = kustomization.resources.iter().map(|entry| entry.as_str());
        let bases: Vec<&str> = entries.filter(is_base).collect();
        if bases.is_empty() {
            return Ok(Self::None);
        }
        // JSON is YAML, and needs no further quoting.
        let text = serde_json::json!({ "resources": bases }).to_string();
        Ok(Self::Kustomization { file, text })
    }
}
