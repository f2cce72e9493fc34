//! Options of a build, and its result.

use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;

use super::function::FunctionOptions;
use super::helm::HelmOptions;
use super::outline::BuildOutline;
use crate::resource::{CHUNK_SIZE, Resource, ResourceSet, is_worth_threads};
use crate::schema_chain::SchemaChain;
use smp_files::{DiskTree, FileTree};
use smp_merge::merge::{Exceptions, PatchRules, Rules};
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::yaml::{self, PrintFormat};

/// The merge rules for patches and overlays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildRules {
    /// The exceptions from kustomize's merge rules in kustomizations. They avoid cases in which kustomize loses data;
    /// see [`Exceptions`].
    pub kustomizations: Exceptions,
    /// The rules in plain directories.
    pub directories: Rules,
}

impl Default for BuildRules {
    /// Uses the overlay rules for plain directories, and for kustomizations the exceptions that avoid lost data.
    fn default() -> Self {
        Self { kustomizations: Exceptions::Documented, directories: PatchRules::Overlay.into() }
    }
}

/// The order of the resources in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reorder {
    /// By kind, so that resources that others depend on come first.
    Legacy,
    /// The order in which resources were loaded.
    None,
}

/// The lock file used by a build.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LockSource {
    /// The nearest one in the target's directory or its parents, if there is one.
    #[default]
    Nearest,
    /// The given file.
    File(PathBuf),
    /// No lock file: references resolve to their current commit or content.
    Ignore,
}

/// Selects whether each resource keeps the history of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Histories {
    /// Histories are not recorded.
    #[default]
    Disabled,
    /// Histories are recorded, as `explain::blame` and `explain::build_tree` need them.
    Enabled,
}

/// The options of a build. The defaults are those of `kubectl smp build` without flags: read from disk, and run
/// no program except the system's git, for remote bases.
///
/// ```
/// use std::sync::Arc;
///
/// use smp_files::MemoryTree;
/// use smp_overlay::overlay::BuildOptions;
///
/// let mut options = BuildOptions::default().tree(Arc::new(MemoryTree::default()));
/// options.offline = true;
/// ```
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "flags that do not depend on each other")]
pub struct BuildOptions {
    /// The tree to read files from: on disk or in memory.
    pub tree: Arc<dyn FileTree>,
    /// The bases of plain directories, in order. If empty, the base is found next to the target.
    pub bases: Vec<PathBuf>,
    /// The merge rules.
    pub rules: BuildRules,
    /// Requires files to be in or below the directory of the kustomization that refers to them.
    pub restrict_loads: bool,
    /// The order of resources, unless `sortOptions` of the kustomization sets it.
    pub reorder: Option<Reorder>,
    /// Forbids fetching anything.
    pub offline: bool,
    /// The root directory of all caches. Default: the user's cache directory.
    pub cache: Option<PathBuf>,
    /// The lock file that pins remote references.
    pub lock: LockSource,
    /// Requires the lock file to pin everything that is fetched.
    pub locked: bool,
    /// Options for running helm.
    pub helm: HelmOptions,
    /// Options for running functions and plugins.
    pub functions: FunctionOptions,
    /// Adds the label `app.kubernetes.io/managed-by` like `buildMetadata: [managedByLabel]` of the target.
    pub managed_by_label: bool,
    /// Selects whether each resource keeps the history of its values.
    pub histories: Histories,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            tree: Arc::new(DiskTree),
            bases: Vec::new(),
            rules: BuildRules::default(),
            restrict_loads: true,
            reorder: None,
            offline: false,
            cache: None,
            lock: LockSource::default(),
            locked: false,
            helm: HelmOptions::default(),
            functions: FunctionOptions::default(),
            managed_by_label: false,
            histories: Histories::Disabled,
        }
    }
}

impl BuildOptions {
    /// Sets the tree to read files from.
    #[must_use]
    pub fn tree(mut self, tree: Arc<dyn FileTree>) -> Self {
        self.tree = tree;
        self
    }

    /// Sets the bases of plain directories.
    #[must_use]
    pub fn bases(mut self, bases: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.bases = bases.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the merge rules.
    #[must_use]
    pub fn rules(mut self, rules: BuildRules) -> Self {
        self.rules = rules;
        self
    }
}

/// The number of targets that a builder is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// One target. Avoids the copies that sharing requires.
    One,
    /// Many targets. Directories that several of them use are read and built once.
    Many,
}

impl Targets {
    /// Returns the variant for a number of targets.
    #[must_use]
    pub fn from_count(number: usize) -> Self {
        if number > 1 { Self::Many } else { Self::One }
    }
}

/// The purpose of a chain of schema sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainPurpose {
    /// Kustomizations. Their build must not depend on where it runs, so the chain is hermetic.
    Kustomizations,
    /// Plain manifests, in directories or single files.
    Manifests,
}

/// Makes a chain of schema sources.
pub type MakeChain = Box<dyn Fn(ChainPurpose) -> Result<SchemaChain> + Send + Sync>;

/// The result of a build.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Built {
    /// The resources in output order.
    pub resources: ResourceSet,
    /// Problems that did not stop the build.
    pub warnings: Vec<Diagnostic>,
    /// The structure of the target, if histories are kept.
    pub outline: BuildOutline,
}

impl Built {
    /// Returns the resources as `kubectl smp build` prints them: YAML documents separated by `---`.
    ///
    /// # Errors
    /// A value cannot be written in YAML as kustomize writes it, such as infinity.
    pub fn to_yaml(&self) -> Result<String> {
        yaml::to_documents(self.resources.iter().map(Resource::node))
    }

    /// Checks that all resources can be printed, so that every command accepts the same targets regardless of its
    /// output.
    pub(super) fn check_printable(&self, format: PrintFormat) -> Result<()> {
        let check = |resources: &[Resource]| {
            resources.iter().try_for_each(|resource| resource.check_printable(format))
        };
        let resources = self.resources.as_slice();
        if !is_worth_threads(resources.len()) {
            return check(resources);
        }
        let checked: Vec<Result<()>> = resources.par_chunks(CHUNK_SIZE).map(check).collect();
        checked.into_iter().collect()
    }
}
