//! Which schema a build uses: what it brings itself, what is embedded, and who else is asked.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::Builder;
use super::load::Root;
use super::tree::Tree;
use crate::diagnostic::{Diagnostic, Result};
use crate::merge::Exceptions;
use crate::schema::openapi::{is_crd, read_crd, read_document};
use crate::schema::{Gvk, Model, Schema, SchemaChain, TypeGraph};
use crate::source::SourceId;
use crate::yaml::{DuplicateKeys, Node, ParseOptions, parse_documents};

/// The name of what CRDs among the resources say.
const CRD: &str = "crd";

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

fn read_openapi(root: &Root, source: SourceId) -> Result<Model> {
    let sources = root.reader().sources();
    // kustomize reads it as JSON or YAML with equal keys allowed, as it reads its own files.
    let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    let document = parse_documents(sources, source, options)?.into_iter().next().unwrap_or_else(Node::null);
    read_document(&document)
}

/// The schema that `openapi.path` of a kustomization names. As in kustomize it takes the place of
/// all that is built in, but only `beside` it when resources were loaded before. The CRDs of the
/// build, if they count, stay.
pub(super) fn types_of_openapi(
    root: &Root,
    source: SourceId,
    before: &Schema,
    beside: bool,
) -> Result<Arc<Schema>> {
    let mut model = read_openapi(root, source)?;
    let built_in = Schema::kustomize();
    if beside {
        built_in.graphs().for_each(|(_, graph)| model.complete_from(graph));
    }
    let openapi = Arc::new(model.compile()?);
    let mut schema = if beside { built_in } else { Schema::kustomize_with("openapi", Arc::clone(&openapi)) };
    for (name, graph) in before.graphs().filter(|(name, _)| *name == CRD).rev() {
        schema.push_types(name, graph.clone());
    }
    if beside {
        schema.push_types("openapi", openapi);
    }
    Ok(Arc::new(schema))
}

impl Builder {
    /// The schema of a kustomization. It never depends on where the build runs, unless asked to.
    pub(super) fn types_of_kustomization(
        &self,
        tree: &Tree,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Arc<Schema>> {
        let mut census = Census::default();
        tree.manifests(&mut |node| census.count(node));
        let schema = &self.schema_of_kustomizations;
        if self.options.rules.kustomizations == Exceptions::None {
            return Ok(schema.clone());
        }
        let own = self.with_own(&census, &census.custom, &self.hermetic, warnings)?;
        Ok(own.map_or_else(|| schema.clone(), |own| Arc::new(own.with_scopes_of_kustomize())))
    }

    /// The schema of a plain directory: the kinds in `merged` are asked for where need be.
    pub(super) fn types_of_directory(
        &self,
        census: &Census<'_>,
        merged: &FxHashSet<Gvk>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Arc<Schema>> {
        let own = self.with_own(census, merged, &self.chain, warnings)?;
        Ok(own.map_or_else(|| self.schema.clone(), Arc::new))
    }

    /// The schema of what is built, if the one for all is not enough.
    fn with_own(
        &self,
        census: &Census<'_>,
        kinds: &FxHashSet<Gvk>,
        chain: &Mutex<Option<SchemaChain>>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Schema>> {
        let own = census.graphs(warnings);
        let knows = |gvk: &Gvk| own.iter().any(|g| g.kind(gvk).is_some()) || self.schema.kind(gvk).is_some();
        let unknown: Vec<&Gvk> = kinds.iter().filter(|gvk| !knows(gvk)).collect();
        if own.is_empty() && unknown.is_empty() {
            return Ok(None);
        }
        let mut chain = chain.lock().unwrap_or_else(PoisonError::into_inner);
        let chain = match &mut *chain {
            Some(chain) => chain,
            // Only builds that need it look for a cluster.
            none => none.insert((self.make_chain)(false)?),
        };
        let mut schema = chain.resolve(unknown)?;
        warnings.extend(chain.take_warnings());
        for graph in own.into_iter().rev() {
            schema.push_types(CRD, graph);
        }
        Ok(Some(schema))
    }
}
