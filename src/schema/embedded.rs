//! The tables that are part of the program.
//!
//! Each is a compiled graph that is read where it lies in the program's image; CONTRIBUTING.md says
//! from which documents they are made.

use std::sync::{Arc, LazyLock};

use super::TypeGraph;

static KUBERNETES: LazyLock<Arc<TypeGraph>> =
    LazyLock::new(|| open(include_bytes!("embedded/kubernetes.smpschema")));
static KUSTOMIZE: LazyLock<Arc<TypeGraph>> =
    LazyLock::new(|| open(include_bytes!("embedded/kustomize.smpschema")));

/// Kubernetes 1.37, and the kinds that were removed since 1.21.
pub(super) fn kubernetes() -> Arc<TypeGraph> {
    Arc::clone(&KUBERNETES)
}

/// Kubernetes 1.21.2 as kustomize has it.
pub(super) fn kustomize() -> Arc<TypeGraph> {
    Arc::clone(&KUSTOMIZE)
}

/// A table that cannot be opened knows nothing; a test opens both.
fn open(bytes: &'static [u8]) -> Arc<TypeGraph> {
    Arc::new(TypeGraph::from_bytes(bytes).unwrap_or_else(|_| TypeGraph::empty()))
}
