//! The configurations of targets. The configuration of a target is the nearest `.smp.yaml`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use smp_files::FileTree;
use smp_inspect::check::CheckConfig;
use smp_text::diagnostic::Result;
use smp_text::source::{SourceMap, relative_path};

/// The configurations of targets. Each file is read only once. It can be shared between threads.
pub(super) struct Configs<'s> {
    tree: Arc<dyn FileTree>,
    sources: &'s SourceMap,
    known: Mutex<FxHashMap<Option<PathBuf>, Arc<CheckConfig>>>,
}

impl<'s> Configs<'s> {
    /// Creates the configurations in a tree.
    pub(super) fn new(tree: Arc<dyn FileTree>, sources: &'s SourceMap) -> Self {
        Self { tree, sources, known: Mutex::default() }
    }

    /// Returns the configuration of a target.
    ///
    /// # Errors
    /// The file is invalid or cannot be read.
    pub(super) fn of(&self, target: &Path) -> Result<Arc<CheckConfig>> {
        let file = CheckConfig::nearest(&*self.tree, target)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = known.get(&file) {
            return Ok(Arc::clone(config));
        }
        let config = match &file {
            Some(file) => {
                let here = self.tree.working_directory().unwrap_or_default();
                CheckConfig::read(&*self.tree, file, &relative_path(file, &here), self.sources)?
            }
            None => CheckConfig::default(),
        };
        let config = Arc::new(config);
        known.insert(file, Arc::clone(&config));
        Ok(config)
    }
}
