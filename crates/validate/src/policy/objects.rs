//! The objects that policies read besides the object of the request: Namespaces and parameters.

use std::sync::{Arc, OnceLock};

use kube_cel::cel::Value as CelValue;
use rustc_hash::FxHashMap;

use crate::cel::value_of;
use crate::labels::selects;
use smp_merge::schema::Cursor;
use smp_text::yaml::{Map, Node};

pub(super) fn text<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    node.get_path(path).and_then(Node::as_str).unwrap_or_default()
}

pub(super) fn list<'n>(node: &'n Node, field: &str) -> &'n [Node] {
    node.get(field).and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn labels(node: &Node) -> Option<&Map> {
    node.get_path(&["metadata", "labels"])?.as_map()
}

/// An object that policies may read.
#[derive(Debug)]
pub struct PolicyObject {
    pub(super) node: Node,
    /// The CEL value, converted on first use.
    value: OnceLock<CelValue>,
}

impl PolicyObject {
    /// Creates an object.
    #[must_use]
    pub fn new(node: Node) -> Self {
        Self { node, value: OnceLock::new() }
    }

    pub(super) fn value(&self) -> CelValue {
        self.value.get_or_init(|| value_of(&self.node, Cursor::unknown())).clone()
    }
}

/// A reference to the parameters of a binding: its `paramRef` and the `paramKind` of the policy.
#[derive(Debug, Clone, Copy)]
pub struct WantedParameters<'p> {
    /// The API version of the kind.
    pub api_version: &'p str,
    /// The kind.
    pub kind: &'p str,
    /// The name; empty if a label selector selects the parameters.
    pub name: &'p str,
    /// The namespace of the reference; empty if it is the namespace of the request.
    pub namespace: &'p str,
    /// The namespace of the request; `None` for cluster-scoped objects.
    pub request_namespace: Option<&'p str>,
    selector: Option<&'p Node>,
}

impl<'p> WantedParameters<'p> {
    pub(super) fn new(kind: &'p Node, param_ref: &'p Node, request_namespace: Option<&'p str>) -> Self {
        Self {
            api_version: text(kind, &["apiVersion"]),
            kind: text(kind, &["kind"]),
            name: text(param_ref, &["name"]),
            namespace: text(param_ref, &["namespace"]),
            request_namespace,
            selector: param_ref.get("selector"),
        }
    }

    /// Returns true if the selector of the reference matches the labels of an object.
    #[must_use]
    pub fn selects(&self, object: &Node) -> bool {
        self.selector.is_none_or(|selector| selects(selector, labels(object)))
    }
}

/// The objects in the cluster, as far as they are known.
pub trait PolicyObjects {
    /// Returns a Namespace, if it is known.
    fn namespace(&self, name: &str) -> Option<Arc<PolicyObject>>;

    /// Checks that the kind of the parameters exists.
    ///
    /// # Errors
    /// The kind is not served.
    fn check_kind(&self, api_version: &str, kind: &str) -> Result<(), String>;

    /// Returns the parameters of a binding.
    ///
    /// # Errors
    /// The reference has a namespace for a cluster-scoped kind, or a namespaced kind has no namespace.
    fn parameters(&self, wanted: &WantedParameters<'_>) -> Result<Vec<Arc<PolicyObject>>, String>;
}

/// The manifests of a build. Objects that are only in the cluster are unknown.
#[derive(Debug, Default)]
pub(super) struct ManifestObjects {
    namespaces: FxHashMap<String, Arc<PolicyObject>>,
    /// All objects by `apiVersion` and `kind`.
    kinds: FxHashMap<[String; 2], ObjectsOfKind>,
}

#[derive(Debug, Default)]
struct ObjectsOfKind {
    all: Vec<Arc<PolicyObject>>,
    by_name: FxHashMap<String, Vec<Arc<PolicyObject>>>,
}

impl ManifestObjects {
    pub(super) fn new(manifests: &[Node]) -> Self {
        let mut found = Self::default();
        for node in manifests {
            let kind = [["apiVersion"], ["kind"]].map(|path| text(node, &path).to_string());
            let name = text(node, &["metadata", "name"]);
            let object = Arc::new(PolicyObject::new(node.clone()));
            if kind == ["v1", "Namespace"] {
                found.namespaces.entry(name.to_string()).or_insert_with(|| Arc::clone(&object));
            }
            let of_kind = found.kinds.entry(kind).or_default();
            of_kind.all.push(Arc::clone(&object));
            of_kind.by_name.entry(name.to_string()).or_default().push(object);
        }
        found
    }
}

impl PolicyObjects for ManifestObjects {
    fn namespace(&self, name: &str) -> Option<Arc<PolicyObject>> {
        self.namespaces.get(name).cloned()
    }

    fn check_kind(&self, _api_version: &str, _kind: &str) -> Result<(), String> {
        Ok(())
    }

    fn parameters(&self, wanted: &WantedParameters<'_>) -> Result<Vec<Arc<PolicyObject>>, String> {
        let namespace = match wanted.namespace {
            "" => wanted.request_namespace.unwrap_or_default(),
            name => name,
        };
        let is_meant = |object: &&Arc<PolicyObject>| {
            let own = text(&object.node, &["metadata", "namespace"]);
            (own.is_empty() || own == namespace) && wanted.selects(&object.node)
        };
        let of_kind = self.kinds.get(&[wanted.api_version.to_string(), wanted.kind.to_string()]);
        let named = match wanted.name {
            "" => of_kind.map(|of_kind| &of_kind.all),
            name => of_kind.and_then(|of_kind| of_kind.by_name.get(name)),
        };
        Ok(named.into_iter().flatten().filter(is_meant).cloned().collect())
    }
}
