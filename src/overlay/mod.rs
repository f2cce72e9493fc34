//! Overlays: kustomizations and plain directories become sets of resources.
//!
//! Owns the kustomization file format, all file reading, the order of steps and the loop over
//! them. Each step is the work of one function of `transform`.

mod build;
mod directory;
mod kustomization;
mod load;
mod plan;
mod schema;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Result};
use crate::resource::ResourceSet;
use crate::schema::Schema;

pub use kustomization::Kustomization;
pub use load::{KUSTOMIZATION_FILES, Reader, Root};
pub use plan::{Step, plan};

/// By which rules patches and overlays are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// `Overlay` for plain directories; for kustomizations as `Kustomize`, without its data losses.
    #[default]
    Auto,
    /// List map keys with their defaults, sets, atomic lists and maps, all from the schema.
    Overlay,
    /// As the API server applies a strategic merge patch.
    Apiserver,
    /// As kustomize, bug for bug.
    Kustomize,
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
    pub dialect: Dialect,
    /// Whether files must be in or below the kustomization that names them.
    pub restrict_loads: bool,
    /// The order, unless a kustomization's `sortOptions` say it.
    pub reorder: Option<Reorder>,
}

/// A built overlay.
#[derive(Debug, Clone, Default)]
pub struct Built {
    /// The resources in the order of printing.
    pub resources: ResourceSet,
    /// What was odd and did not stop the build.
    pub warnings: Vec<Diagnostic>,
}

/// Builds targets; what several of them share is read and built once.
#[derive(Debug)]
pub struct Builder {
    reader: Reader,
    options: BuildOptions,
    /// The schema of builds that bring no types of their own.
    schema: Arc<Schema>,
    chain: schema::Types,
    bases: build::SharedBases,
}

impl Builder {
    /// Builds one directory: a kustomization if it has one, else a plain overlay of its base.
    ///
    /// # Errors
    /// Anything that keeps the whole target from being built.
    pub fn build(&self, target: &Path) -> Result<Built> {
        let root = self.reader.open(target)?;
        if root.kustomization_file()?.is_some() { self.kustomization(&root) } else { self.directory(&root) }
    }
}
