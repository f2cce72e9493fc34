//! How to build, and what was built.

use std::path::PathBuf;
use std::sync::Arc;

use super::function::FunctionOptions;
use super::helm::HelmOptions;
use super::outline::BuildOutline;
use crate::resource::{Resource, ResourceSet};
use crate::schema_chain::SchemaChain;
use smp_files::{DiskTree, FileTree};
use smp_merge::merge::{Exceptions, PatchRules, Rules};
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::yaml::{self, PrintForm};

/// By whose rules patches and overlays are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildRules {
    /// In kustomizations, which are built as kustomize does: which of its losses are left out.
    pub kustomizations: Exceptions,
    /// In plain directories.
    pub directories: Rules,
}

impl Default for BuildRules {
    /// Overlays' rules for plain directories, and kustomizations without kustomize's losses.
    fn default() -> Self {
        Self { kustomizations: Exceptions::Listed, directories: PatchRules::Overlay.into() }
    }
}

/// The order of the built resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reorder {
    /// By kind, so that what others need comes first.
    Legacy,
    /// As loaded.
    None,
}

/// Which lock file a build goes by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LockUse {
    /// The nearest in the target's directory and those above, if there is one.
    #[default]
    Nearest,
    /// This one.
    File(PathBuf),
    /// None: references are what they are now.
    Ignore,
}

/// Whether each resource keeps what made its values what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Histories {
    /// It does not.
    #[default]
    Dropped,
    /// It does, for `explain::blame` and `explain::build_tree`.
    Kept,
}

/// How to build. By default as `kubectl smp build` does without any flag: from disk, and no program is run but
/// the git of the system, for remote bases.
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
pub struct BuildOptions {
    /// What is read: a disk, or files in memory.
    pub tree: Arc<dyn FileTree>,
    /// Bases of plain directories, in order; none: found beside the target.
    pub bases: Vec<PathBuf>,
    /// The rules of merging.
    pub rules: BuildRules,
    /// Whether files must be in or below the kustomization that names them.
    pub restrict_loads: bool,
    /// The order, unless a kustomization's `sortOptions` say it.
    pub reorder: Option<Reorder>,
    /// Whether nothing may be fetched.
    pub offline: bool,
    /// The directory of all caches; none: that of the user.
    pub cache: Option<PathBuf>,
    /// Which lock file says what remote references are.
    pub lock: LockUse,
    /// Whether the lock file must have all that is fetched.
    pub locked: bool,
    /// Whether and how helm is run.
    pub helm: HelmOptions,
    /// Whether and how functions and plugins are run.
    pub functions: FunctionOptions,
    /// Whether each resource keeps what made its values what they are.
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
            lock: LockUse::default(),
            locked: false,
            helm: HelmOptions::default(),
            functions: FunctionOptions::default(),
            histories: Histories::Dropped,
        }
    }
}

impl BuildOptions {
    /// The same for another tree of files.
    #[must_use]
    pub fn tree(mut self, tree: Arc<dyn FileTree>) -> Self {
        self.tree = tree;
        self
    }

    /// The same with bases for plain directories.
    #[must_use]
    pub fn bases(mut self, bases: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.bases = bases.into_iter().map(Into::into).collect();
        self
    }

    /// The same by other rules of merging.
    #[must_use]
    pub fn rules(mut self, rules: BuildRules) -> Self {
        self.rules = rules;
        self
    }
}

/// How many targets a builder is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// One, which is spared the copies that sharing costs.
    One,
    /// Many: what several of them have in common is read and built once for all.
    Many,
}

impl Targets {
    /// The word for a number of targets.
    #[must_use]
    pub fn count(number: usize) -> Self {
        if number > 1 { Self::Many } else { Self::One }
    }
}

/// What a chain of schema sources is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainUse {
    /// Kustomizations, whose build must not depend on where it runs: the chain is hermetic.
    Kustomizations,
    /// Plain manifests, in directories or alone.
    Manifests,
}

/// Makes a chain of schema sources.
pub type MakeChain = Box<dyn Fn(ChainUse) -> Result<SchemaChain> + Send + Sync>;

/// A built overlay.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Built {
    /// The resources in the order of printing.
    pub resources: ResourceSet,
    /// What was odd and did not stop the build.
    pub warnings: Vec<Diagnostic>,
    /// What the target is made of, if histories are kept.
    pub outline: BuildOutline,
}

impl Built {
    /// The resources as `kubectl smp build` prints them: YAML documents with `---` between them.
    ///
    /// # Errors
    /// A value that YAML cannot say as kustomize says it, such as infinity.
    pub fn to_yaml(&self) -> Result<String> {
        yaml::to_documents(self.resources.iter().map(Resource::node))
    }

    /// Checks that all resources can be printed, so that every command accepts the same targets, whatever it prints.
    pub(super) fn check_printable(&self, form: PrintForm) -> Result<()> {
        self.resources.iter().try_for_each(|resource| resource.check_printable(form))
    }
}
