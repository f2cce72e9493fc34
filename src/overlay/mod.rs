//! Overlays: kustomizations and plain directories become sets of resources.
//!
//! Owns the kustomization file format, all file reading, the order of steps and the loop over
//! them. Each step is the work of one function of `transform`.

mod build;
mod directory;
mod function;
mod helm;
mod kustomization;
mod load;
mod origin;
mod plan;
mod plugin;
mod process;
mod remote;
mod repo_spec;
mod tree;
mod types;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use function::Functions;
use helm::Helm;
use remote::Remotes;

use crate::diagnostic::{Diagnostic, Result};
use crate::merge::{Exceptions, Rules};
use crate::resource::ResourceSet;
use crate::schema::{Schema, SchemaChain};
use crate::source::SourceMap;

pub use function::FunctionOptions;
pub use helm::HelmOptions;
pub use kustomization::Kustomization;
pub use load::{KUSTOMIZATION_FILES, Reader, Root};
pub use plan::{Step, plan};

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
        Self { kustomizations: Exceptions::Listed, directories: Rules::Overlay }
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

/// How to build.
#[derive(Debug, Clone)]
pub struct BuildOptions {
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
    /// Whether and how helm is run.
    pub helm: HelmOptions,
    /// Whether and how functions and plugins are run.
    pub functions: FunctionOptions,
}

/// A built overlay.
#[derive(Debug, Clone, Default)]
pub struct Built {
    /// The resources in the order of printing.
    pub resources: ResourceSet,
    /// What was odd and did not stop the build.
    pub warnings: Vec<Diagnostic>,
}

/// Makes the chain of schema sources: a hermetic one for kustomizations.
pub type MakeChain = Box<dyn Fn(bool) -> Result<SchemaChain> + Send + Sync>;

/// Builds targets.
pub struct Builder {
    reader: Reader,
    options: BuildOptions,
    /// What is known without asking anyone: the schema of nearly all builds.
    schema: Arc<Schema>,
    /// The same, with the scopes that kustomize knows.
    schema_of_kustomizations: Arc<Schema>,
    make_chain: MakeChain,
    /// Who is asked for the kinds that kustomizations merge.
    hermetic: Mutex<Option<SchemaChain>>,
    /// Who is asked for the kinds that plain directories merge.
    chain: Mutex<Option<SchemaChain>>,
    /// What several targets have in common; none when there is only one.
    shared: Option<build::Shared>,
    helm: Helm,
    functions: Functions,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Builder {
    /// A builder whose texts go to `sources`. With `many`, what several targets have in common is
    /// read and built once for all; that costs a copy, which a single target is spared.
    ///
    /// # Errors
    /// The working directory cannot be read; a chosen schema cannot be.
    pub fn new(sources: SourceMap, options: BuildOptions, make_chain: MakeChain, many: bool) -> Result<Self> {
        let cache = remote::default_cache_dir().unwrap_or_else(std::env::temp_dir);
        let reader = Reader::new(sources, options.restrict_loads, Remotes::new(cache, options.offline))?;
        let mut hermetic = make_chain(true)?;
        let of_directories = match options.rules.directories {
            Rules::Kustomize { exceptions } => exceptions,
            _ => Exceptions::Listed,
        };
        let mut schema_for = |exceptions| match exceptions {
            Exceptions::None => Ok(Schema::kustomize()),
            Exceptions::Listed => hermetic.resolve([]),
        };
        let schema = schema_for(of_directories)?;
        let schema_of_kustomizations = match options.rules.kustomizations {
            exceptions if exceptions == of_directories => schema.clone(),
            exceptions => schema_for(exceptions)?,
        };
        Ok(Self {
            reader,
            helm: Helm::new(options.helm.clone()),
            functions: Functions::new(options.functions.clone()),
            options,
            schema_of_kustomizations: Arc::new(schema_of_kustomizations.with_scopes_of_kustomize()),
            schema: Arc::new(schema),
            make_chain,
            hermetic: Mutex::new(Some(hermetic)),
            chain: Mutex::new(None),
            shared: many.then(build::Shared::default),
        })
    }

    /// Builds one directory: a kustomization if it has one, else a plain overlay of its base.
    ///
    /// # Errors
    /// Anything that keeps the whole target from being built.
    pub fn build(&self, target: &Path) -> Result<Built> {
        let built = self.build_one(target);
        // One list of all that is missing says more than the first of them.
        built.map_err(|problem| self.reader.remotes().missing().unwrap_or(problem))
    }

    fn build_one(&self, target: &Path) -> Result<Built> {
        let root = self.reader.open(target)?;
        if root.kustomization_file()?.is_some() { self.kustomization(&root) } else { self.directory(&root) }
    }
}
