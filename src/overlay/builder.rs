//! Builds targets, whatever they are.

use std::fmt;
use std::path::{Path, PathBuf};

use super::build::{self, BuildContext, Shared};
use super::directory::Directories;
use super::fetch::FetchWalk;
use super::function::Functions;
use super::helm::Helm;
use super::load::Reader;
use super::options::{BuildOptions, Built, MakeChain, Targets};
use super::remote::{self, Remotes};
use super::repo_spec::RepoSpec;
use super::types::Types;
use crate::diagnostic::Result;
use crate::source::SourceMap;

/// Builds targets.
pub struct Builder {
    reader: Reader,
    options: BuildOptions,
    types: Types,
    /// What several targets have in common; none when there is only one.
    shared: Option<Shared>,
    helm: Helm,
    functions: Functions,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Builder {
    /// A builder whose texts go to `sources`.
    ///
    /// # Errors
    /// The working directory cannot be read; a chosen schema cannot be.
    pub fn new(
        sources: SourceMap,
        options: BuildOptions,
        make_chain: MakeChain,
        targets: Targets,
    ) -> Result<Self> {
        let cache = remote::default_cache_dir().unwrap_or_else(std::env::temp_dir);
        let remotes = Remotes::new(cache, options.offline);
        let reader = Reader::new(options.tree.clone(), sources, options.restrict_loads, remotes)?;
        Ok(Self {
            reader,
            types: Types::new(options.rules, make_chain)?,
            helm: Helm::new(options.helm.clone()),
            functions: Functions::new(options.functions.clone()),
            options,
            shared: (targets == Targets::Many).then(Shared::default),
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

    /// Fetches all that a build of the target would fetch, and builds nothing: afterwards the same builder
    /// asks nobody for it again. Returns the real paths of the directories that the build reads files from,
    /// whole repositories where they were fetched.
    ///
    /// Starts no threads. What only comes to be while building, such as a path that a transformer writes into
    /// the configuration of another one, is not seen.
    ///
    /// # Errors
    /// Something cannot be fetched, or a kustomization on the way cannot be read.
    pub fn fetch(&self, target: &Path) -> Result<Vec<PathBuf>> {
        let mut walk = FetchWalk::new(&self.options.bases, self.types.known());
        walk.target(&self.reader, target);
        match walk.take_problem() {
            Some(problem) => Err(self.reader.remotes().missing().unwrap_or(problem)),
            None => Ok(walk.into_directories()),
        }
    }

    /// As [`Builder::fetch`], for many targets. What goes wrong is left for the build to say: nothing behind it
    /// stays unfetched.
    #[must_use]
    pub fn fetch_all(&self, targets: &[PathBuf]) -> Vec<PathBuf> {
        let mut walk = FetchWalk::new(&self.options.bases, self.types.known());
        for target in targets {
            walk.target(&self.reader, target);
        }
        walk.into_directories()
    }

    /// Whether a target, or a base, is a repository that is fetched, and no local directory.
    #[must_use]
    pub fn is_remote(target: &Path) -> bool {
        target.to_str().is_some_and(|text| RepoSpec::parse(text).is_ok())
    }

    /// Whether a target is a plain directory; a problem with it is left for the build to say.
    #[must_use]
    pub fn is_plain(&self, target: &Path) -> bool {
        let kustomization = self.reader.open(target).and_then(|root| root.kustomization_file());
        matches!(kustomization, Ok(None))
    }

    /// Where what is fetched is kept.
    #[must_use]
    pub fn cache(&self) -> &Path {
        self.reader.remotes().cache()
    }

    fn build_one(&self, target: &Path) -> Result<Built> {
        let root = self.reader.open(target)?;
        let context = BuildContext {
            options: &self.options,
            types: &self.types,
            helm: &self.helm,
            functions: &self.functions,
            shared: self.shared.as_ref(),
        };
        if root.kustomization_file()?.is_some() {
            build::kustomization(&root, &context)
        } else {
            Directories { reader: &self.reader, context: &context }.directory(&root)
        }
    }
}
