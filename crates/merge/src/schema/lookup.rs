//! Schema lookup: an ordered list of graphs. The first graph that contains a kind is used.

use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;
use serde_json::Value;
use smol_str::SmolStr;

use super::openapi::{is_crd, read_crd};
use super::{Cursor, Gvk, Scope, TypeGraph};
use super::{compile, embedded};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Node;

/// The name of the embedded Kubernetes table.
pub const EMBEDDED: &str = "embedded";

/// The name of the types from CRDs.
const CRD: &str = "crd";

/// An ordered list of named type graphs.
///
/// Cloning is cheap. A schema is not modified while a merge reads it.
///
/// ```
/// use strategic_merge_patch::schema::{Gvk, Schema};
///
/// let schema = Schema::embedded();
/// let service = schema.kind(&Gvk::from_manifest("v1", "Service")).expect("built in");
/// let ports = service.field("spec").field("ports");
/// assert_eq!(ports.list_map_keys().collect::<Vec<_>>(), ["port", "protocol"]);
/// assert_eq!(ports.element().key_default("protocol"), Some("\"TCP\""));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Schema {
    graphs: Vec<NamedGraph>,
    /// A graph that takes precedence for scopes and is not used for types.
    scopes: Option<Arc<TypeGraph>>,
    known_scopes: KnownScopes,
}

/// A cache of the scopes in these graphs. A build looks up the scope of each resource several times.
type KnownScopes = Arc<RwLock<FxHashMap<Gvk, Option<Scope>>>>;

#[derive(Debug, Clone)]
struct NamedGraph {
    name: SmolStr,
    graph: Arc<TypeGraph>,
    /// True if the graph is also used for scopes.
    scopes: bool,
    /// A note that is added to merges that use types of the graph.
    note: Option<Diagnostic>,
}

impl NamedGraph {
    fn new(name: impl Into<SmolStr>, graph: Arc<TypeGraph>) -> Self {
        Self { name: name.into(), graph, scopes: true, note: None }
    }
}

impl Schema {
    /// Returns a schema without any kinds.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Returns the embedded types: Kubernetes 1.37 and the kinds that were removed since 1.21.
    #[must_use]
    pub fn embedded() -> Self {
        Self { graphs: vec![NamedGraph::new(EMBEDDED, embedded::kubernetes())], ..Self::default() }
    }

    /// Returns the types that `kustomize build` 5.8 embeds: those of Kubernetes 1.21.2, and some kinds of kustomize.
    #[must_use]
    pub fn kustomize() -> Self {
        Self { graphs: vec![NamedGraph::new("kustomize", embedded::kustomize())], ..Self::default() }
    }

    /// Returns a schema with `graph` instead of the types that kustomize embeds, as for a kustomization with its own
    /// `openapi` document. The scopes are still those of kustomize.
    #[must_use]
    pub fn kustomize_with(name: impl Into<SmolStr>, graph: Arc<TypeGraph>) -> Self {
        let graphs = vec![NamedGraph::new(name, graph)];
        Self { graphs, scopes: Some(embedded::kustomize()), ..Self::default() }
    }

    /// Returns this schema with the kinds of CustomResourceDefinitions added. They take precedence over all others.
    ///
    /// ```
    /// use strategic_merge_patch::schema::{Gvk, Schema};
    /// use serde_json::json;
    ///
    /// let crd = json!({
    ///     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    ///     "spec": {"group": "example.com", "names": {"kind": "Gadget", "plural": "gadgets"}, "scope": "Cluster",
    ///         "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {
    ///             "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
    ///                 "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
    ///         }}}}]},
    /// });
    /// let schema = Schema::embedded().with_crds(&[crd])?;
    /// let gadget = schema.kind(&Gvk::from_manifest("example.com/v1", "Gadget")).expect("defined");
    /// assert_eq!(gadget.field("parts").list_map_keys().collect::<Vec<_>>(), ["id"]);
    /// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
    /// ```
    ///
    /// # Errors
    /// An object is not a CustomResourceDefinition or has a malformed schema.
    pub fn with_crds(mut self, definitions: &[Value]) -> Result<Self> {
        let model = |value: &Value| {
            let node = Node::from(value);
            if is_crd(&node) {
                return read_crd(&node);
            }
            let what = Gvk::from_object(value)
                .map_or_else(|| "an object without a kind".into(), |gvk| gvk.to_string());
            Err(Diagnostic::error(Code::InvalidValue, format!("{what} is not a CustomResourceDefinition")))
        };
        let models = definitions.iter().map(model).collect::<Result<Vec<_>>>()?;
        if !models.is_empty() {
            self.push_front(CRD, Arc::new(compile::merge(models).compile()?));
        }
        Ok(self)
    }

    /// Uses kustomize's table of namespaced kinds instead of the embedded one.
    #[must_use]
    pub fn with_kustomize_scopes(mut self) -> Self {
        let graphs = self.graphs_mut();
        graphs.iter_mut().filter(|named| named.name == EMBEDDED).for_each(|named| named.scopes = false);
        self.scopes = Some(embedded::kustomize());
        self
    }

    /// Returns a mutable reference to the graphs.
    fn graphs_mut(&mut self) -> &mut Vec<NamedGraph> {
        self.known_scopes = KnownScopes::default();
        &mut self.graphs
    }

    /// Adds a graph that takes precedence over all others.
    pub fn push_front(&mut self, name: impl Into<SmolStr>, graph: Arc<TypeGraph>) {
        self.graphs_mut().insert(0, NamedGraph::new(name, graph));
    }

    /// Adds a graph that is used if no other graph contains the kind.
    pub fn push_back(&mut self, name: impl Into<SmolStr>, graph: Arc<TypeGraph>) {
        self.graphs_mut().push(NamedGraph::new(name, graph));
    }

    /// Adds a graph that takes precedence for types, but is not used for scopes.
    pub fn push_types(&mut self, name: impl Into<SmolStr>, graph: Arc<TypeGraph>) {
        self.graphs_mut().insert(0, NamedGraph { scopes: false, ..NamedGraph::new(name, graph) });
    }

    /// Adds a graph like [`Schema::push_types`], with a note for every merge that uses its types.
    pub fn push_noted_types(&mut self, name: impl Into<SmolStr>, graph: Arc<TypeGraph>, note: Diagnostic) {
        let noted = NamedGraph { scopes: false, note: Some(note), ..NamedGraph::new(name, graph) };
        self.graphs_mut().insert(0, noted);
    }

    /// Returns the note for merges of a kind, if the source of its type has one.
    pub fn merge_note(&self, gvk: &Gvk) -> Option<&Diagnostic> {
        self.graphs.iter().find(|named| named.graph.kind(gvk).is_some())?.note.as_ref()
    }

    /// Returns the graphs with the names of their sources, in order of precedence.
    #[must_use]
    pub fn graphs(&self) -> impl DoubleEndedIterator<Item = (&str, &Arc<TypeGraph>)> {
        self.graphs.iter().map(|named| (named.name.as_str(), &named.graph))
    }

    /// Returns the type of a kind's objects.
    #[must_use]
    pub fn kind(&self, gvk: &Gvk) -> Option<Cursor<'_>> {
        self.kind_with_source(gvk).map(|(_, cursor)| cursor)
    }

    /// Returns the type of a kind's objects, and the name of its source.
    #[must_use]
    pub fn kind_with_source(&self, gvk: &Gvk) -> Option<(&str, Cursor<'_>)> {
        self.graphs().find_map(|(name, graph)| Some((name, graph.kind(gvk)?)))
    }

    /// Returns the scope of a kind, from the first graph that contains the kind.
    #[must_use]
    pub fn scope(&self, gvk: &Gvk) -> Option<Scope> {
        if let Some(known) = self.known_scopes.read().unwrap_or_else(PoisonError::into_inner).get(gvk) {
            return *known;
        }
        let graphs = self.graphs.iter().filter(|named| named.scopes).map(|named| &named.graph);
        let scope = self.scopes.iter().chain(graphs).find_map(|graph| graph.scope(gvk));
        self.known_scopes.write().unwrap_or_else(PoisonError::into_inner).insert(gvk.clone(), scope);
        scope
    }

    /// Returns the definition with a name such as `io.k8s.api.core.v1.PodSpec`.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Cursor<'_>> {
        self.graphs().find_map(|(_, graph)| graph.named(name))
    }
}
