//! The object that policies validate, and other objects that they may read.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use kube_cel::cel::Value as CelValue;
use kube_cel::cel::objects::{Key, Map as CelMap};

use crate::cel::value_of;
use crate::defaults::filled;
use crate::timed_cel::Variables;
use smp_merge::schema::{Cursor, Gvk, is_built_in_group};
use smp_text::yaml::{Map, Node};

/// An object that policies may read.
#[derive(Debug)]
pub(super) struct ParameterObject {
    pub(super) node: Node,
    /// The CEL value, converted on first use.
    pub(super) value: OnceLock<CelValue>,
}

impl ParameterObject {
    pub(super) fn value(&self) -> CelValue {
        self.value.get_or_init(|| value_of(&self.node, Cursor::unknown())).clone()
    }
}

/// An object to be created, and the known parts of the request.
pub(super) struct CreateRequest<'o> {
    pub(super) object: &'o Node,
    pub(super) gvk: Gvk,
    pub(super) cursor: Cursor<'o>,
    pub(super) plural: &'o str,
    /// The namespace; none for cluster-scoped objects.
    pub(super) namespace: Option<&'o str>,
    pub(super) name: &'o str,
    /// The Namespace object, if it is among the manifests.
    pub(super) namespace_object: Option<&'o ParameterObject>,
    /// The labels of the namespace.
    pub(super) namespace_labels: Option<Map>,
    /// The variables that all policies share. Set when the first policy matches, since the whole object must be
    /// converted.
    pub(super) variables: OnceCell<Variables<'static>>,
}

pub(super) fn text<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    node.get_path(path).and_then(Node::as_str).unwrap_or_default()
}

pub(super) fn list<'n>(node: &'n Node, field: &str) -> &'n [Node] {
    node.get(field).and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn labels(node: &Node) -> Option<&Map> {
    node.get_path(&["metadata", "labels"])?.as_map()
}

impl CreateRequest<'_> {
    /// Returns the variables that all policies share. Without the Namespace among the manifests,
    /// `namespaceObject` is left out, so that an expression that reads it is reported as not checked.
    pub(super) fn variables(&self) -> &Variables<'static> {
        self.variables.get_or_init(|| {
            let mut variables = Variables::with_functions();
            variables.add("object", self.value());
            variables.add("oldObject", CelValue::Null);
            variables.add("request", self.request());
            match (self.namespace, self.namespace_object) {
                (None, _) => variables.add("namespaceObject", CelValue::Null),
                (Some(_), Some(namespace)) => variables.add("namespaceObject", namespace.value()),
                (Some(_), None) => {}
            }
            variables
        })
    }

    /// Returns the variable `object`, with the defaults of its CRD.
    pub(super) fn value(&self) -> CelValue {
        if is_built_in_group(&self.gvk.group) {
            return value_of(self.object, self.cursor);
        }
        value_of(&filled(self.object, self.cursor), self.cursor)
    }

    /// Returns the variable `request`, without the user.
    fn request(&self) -> CelValue {
        let group = self.gvk.group.as_str();
        let version = self.gvk.version.as_str();
        let kind = map_of([
            ("group", string(group)),
            ("version", string(version)),
            ("kind", string(&self.gvk.kind)),
        ]);
        let resource = map_of([
            ("group", string(group)),
            ("version", string(version)),
            ("resource", string(self.plural)),
        ]);
        map_of([
            ("operation", string("CREATE")),
            ("name", string(self.name)),
            ("namespace", string(self.namespace.unwrap_or_default())),
            ("dryRun", CelValue::Bool(false)),
            ("subResource", string("")),
            ("requestKind", kind.clone()),
            ("requestResource", resource.clone()),
            ("kind", kind),
            ("resource", resource),
        ])
    }
}

fn string(text: &str) -> CelValue {
    CelValue::String(Arc::new(text.to_string()))
}

pub(super) fn map_of<'k>(fields: impl IntoIterator<Item = (&'k str, CelValue)>) -> CelValue {
    let key = |name: &str| Key::String(Arc::new(name.to_string()));
    let map: HashMap<Key, CelValue> = fields.into_iter().map(|(name, value)| (key(name), value)).collect();
    CelValue::Map(CelMap { map: Arc::new(map) })
}
