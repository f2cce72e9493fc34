//! Which schema a build uses: what it brings itself, what is embedded, and who else is asked.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::{Builder, Dialect};
use crate::diagnostic::{Diagnostic, Result};
use crate::schema::openapi::{is_crd, read_crd};
use crate::schema::{Gvk, Schema, SchemaChain, TypeGraph};
use crate::yaml::Node;

/// What the manifests of a build say of types.
#[derive(Debug, Default)]
pub(super) struct Census<'n> {
    crds: Vec<&'n Node>,
    /// Kinds of which there are manifests and that can be custom.
    custom: FxHashSet<Gvk>,
}

impl<'n> Census<'n> {
    /// Takes note of one manifest.
    pub fn count(&mut self, node: &'n Node) {
        if is_crd(node) {
            self.crds.push(node);
        }
        let gvk = gvk_of(node);
        // Only kinds with a group of their own can be custom resources.
        if gvk.group.contains('.') {
            self.custom.insert(gvk);
        }
    }

    /// The types of those CRDs that the build has resources of. The others are never merged by,
    /// and reading them all would take longer than the rest of a build that only installs them.
    fn graphs(&self, warnings: &mut Vec<Diagnostic>) -> Vec<Arc<TypeGraph>> {
        let kinds: FxHashSet<_> = self.custom.iter().map(|gvk| (&gvk.group, &gvk.kind)).collect();
        let needed = |crd: &&&Node| {
            let text = |path: &[&str]| {
                crd.get_path(path).and_then(Node::as_str).map(SmolStr::new).unwrap_or_default()
            };
            kinds.contains(&(&text(&["spec", "group"]), &text(&["spec", "names", "kind"])))
        };
        let read = |crd: &&Node| read_crd(crd).and_then(|model| model.compile()).map(Arc::new);
        let mut graphs = Vec::new();
        for crd in self.crds.iter().filter(needed) {
            match read(crd) {
                Ok(graph) => graphs.push(graph),
                // A build that does not merge by it does not depend on it.
                Err(problem) => warnings.push(
                    Diagnostic::warning(
                        problem.code(),
                        format!("this CRD says nothing of how its resources merge: {}", problem.message()),
                    )
                    .at(crd.span().at_start()),
                ),
            }
        }
        graphs
    }
}

/// Group, version and kind of a manifest, empty where it says nothing.
fn gvk_of(node: &Node) -> Gvk {
    let text = |key| node.get(key).and_then(Node::scalar_text).map_or("", SmolStr::as_str);
    Gvk::from_manifest(text("apiVersion"), text("kind"))
}

impl Builder {
    /// The schema of a kustomization. It never depends on where the build runs, unless asked to.
    pub(super) fn types_of_kustomization(
        &self,
        census: &Census<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Arc<Schema>> {
        if self.options.dialect == Dialect::Kustomize {
            return Ok(self.schema.clone());
        }
        self.with_own(census, &census.custom, &self.hermetic, warnings)
    }

    /// The schema of a plain directory: the kinds in `merged` are asked for where need be.
    pub(super) fn types_of_directory(
        &self,
        census: &Census<'_>,
        merged: &FxHashSet<Gvk>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Arc<Schema>> {
        self.with_own(census, merged, &self.chain, warnings)
    }

    fn with_own(
        &self,
        census: &Census<'_>,
        kinds: &FxHashSet<Gvk>,
        chain: &Mutex<SchemaChain>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Arc<Schema>> {
        let own = census.graphs(warnings);
        let knows = |gvk: &Gvk| own.iter().any(|g| g.kind(gvk).is_some()) || self.schema.kind(gvk).is_some();
        let unknown: Vec<&Gvk> = kinds.iter().filter(|gvk| !knows(gvk)).collect();
        if own.is_empty() && unknown.is_empty() {
            return Ok(self.schema.clone());
        }
        let mut chain = chain.lock().unwrap_or_else(PoisonError::into_inner);
        let mut schema = chain.resolve(unknown)?;
        warnings.extend(chain.take_warnings());
        for graph in own.into_iter().rev() {
            schema.push_front("crd", graph);
        }
        Ok(Arc::new(schema))
    }
}
