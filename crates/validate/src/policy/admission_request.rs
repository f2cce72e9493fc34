//! The request that policies review.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value as CelValue;
use kube_cel::cel::objects::{Key, Map as CelMap};

use super::objects::{PolicyObject, PolicyObjects};
use crate::cel::{CelOutcome, Expression, value_of};
use crate::defaults::filled;
use crate::timed_cel::Variables;
use smp_merge::schema::{Cursor, Gvk, is_built_in_group};
use smp_text::yaml::{Map, Node};

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The creation of an object, or of an object of a subresource, such as an eviction.
    Create,
    /// An update.
    Update,
    /// A deletion.
    Delete,
}

impl Operation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// One version of a resource, with the kind of the objects in the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestResource {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural, such as `pods`.
    pub plural: String,
    /// The kind of the object. Its group may differ from that of the resource, as for `Scale`.
    pub kind: Gvk,
}

/// The versions of a resource by which rules with `matchPolicy: Equivalent` may select it.
#[derive(Debug, Clone)]
pub enum Equivalents {
    /// All versions of the group, since the served versions are unknown.
    AnyVersion,
    /// These versions, and that of the request.
    Known(Vec<RequestResource>),
}

/// A request as the API server passes it to admission plugins.
#[derive(Debug)]
pub struct AdmissionRequest<'o> {
    /// The operation.
    pub operation: Operation,
    /// The resource.
    pub resource: RequestResource,
    /// Its other versions.
    pub equivalents: Equivalents,
    /// The subresource; empty for the object itself.
    pub subresource: &'o str,
    /// The name of the object; empty if the request deletes a collection.
    pub name: &'o str,
    /// The namespace; `None` for cluster-scoped objects. On a server, the namespace of a Namespace is its own name.
    pub namespace: Option<&'o str>,
    /// The object; `None` for a deletion.
    pub object: Option<&'o Node>,
    /// The object before the request; `None` for a creation.
    pub old_object: Option<&'o Node>,
    /// True for a dry run, which stores nothing.
    pub is_dry: bool,
    /// The user and the options of the request. If they are unknown, expressions that read them cannot be evaluated.
    pub user_and_options: Option<[&'o Node; 2]>,
    /// The type of a manifest, which lacks the fields that the API server sets; `None` for an object from a server.
    pub manifest: Option<Cursor<'o>>,
}

impl AdmissionRequest<'_> {
    pub(super) fn is_namespace(&self) -> bool {
        self.resource.plural == "namespaces" && self.resource.group.is_empty()
    }

    /// Evaluates an expression. For a request to a server, errors are those that the API server reports.
    pub(super) fn value(
        &self,
        expression: &Expression,
        variables: &Variables<'_>,
    ) -> Result<CelValue, CelOutcome> {
        if self.manifest.is_some() {
            expression.value(variables)
        } else {
            expression.value_as_server(variables)
        }
    }

    /// Returns the version of the resource with which a rule selected it.
    fn resource_at(&self, position: usize) -> &RequestResource {
        match &self.equivalents {
            Equivalents::Known(others) if position > 0 => others.get(position - 1).unwrap_or(&self.resource),
            _ => &self.resource,
        }
    }

    fn versions(&self) -> usize {
        match &self.equivalents {
            Equivalents::AnyVersion => 1,
            Equivalents::Known(others) => others.len() + 1,
        }
    }

    /// Converts an object to a CEL variable in the version of `kind`. A manifest of a custom resource gets the defaults
    /// of its CRD.
    fn value_of(&self, object: Option<&Node>, kind: &Gvk) -> CelValue {
        let Some(object) = object else { return CelValue::Null };
        match self.manifest {
            Some(cursor) if is_built_in_group(&kind.group) => value_of(object, cursor),
            Some(cursor) => value_of(&filled(object, cursor), cursor),
            None if *kind == self.resource.kind => value_of(object, Cursor::unknown()),
            None => {
                let mut object = object.clone();
                if let Some(fields) = object.as_map_mut() {
                    fields.insert("apiVersion", Node::string(kind.api_version()));
                }
                value_of(&object, Cursor::unknown())
            }
        }
    }

    /// Returns the variable `request`.
    fn value_of_request(&self, matched: &RequestResource) -> CelValue {
        let kind = |gvk: &Gvk| {
            map_of([
                ("group", string(&gvk.group)),
                ("version", string(&gvk.version)),
                ("kind", string(&gvk.kind)),
            ])
        };
        let resource = |one: &RequestResource| {
            map_of([
                ("group", string(&one.group)),
                ("version", string(&one.version)),
                ("resource", string(&one.plural)),
            ])
        };
        let mut fields = vec![
            ("operation", string(self.operation.name())),
            ("dryRun", CelValue::Bool(self.is_dry)),
            ("kind", kind(&matched.kind)),
            ("resource", resource(matched)),
            ("requestKind", kind(&self.resource.kind)),
            ("requestResource", resource(&self.resource)),
        ];
        let texts = [
            ("name", self.name),
            ("namespace", self.namespace.unwrap_or_default()),
            ("subResource", self.subresource),
            ("requestSubResource", self.subresource),
        ];
        // The API server omits empty fields. They are kept for a manifest, since the API server may set them later.
        let is_there = |(_, text): &(&str, &str)| !text.is_empty() || self.manifest.is_some();
        fields.extend(texts.into_iter().filter(is_there).map(|(name, text)| (name, string(text))));
        if let Some([user, options]) = self.user_and_options {
            fields.push(("userInfo", value_of(user, Cursor::unknown())));
            fields.push(("options", value_of(options, Cursor::unknown())));
        }
        map_of(fields)
    }
}

/// A request, with the objects and variables that all policies use. They are looked up and converted once.
pub(super) struct Reviewed<'o> {
    pub(super) request: &'o AdmissionRequest<'o>,
    /// The Namespace, if it is known.
    pub(super) namespace_object: Option<Arc<PolicyObject>>,
    /// The labels of the namespace.
    pub(super) namespace_labels: Option<Map>,
    /// The variables that all policies share, one set for each version that rules can select. Set when the first policy
    /// matches, since the whole object must be converted.
    variables: Vec<OnceCell<Variables<'static>>>,
}

impl<'o> Reviewed<'o> {
    pub(super) fn new(request: &'o AdmissionRequest<'o>, objects: &dyn PolicyObjects) -> Self {
        let namespace_object = request.namespace.and_then(|name| objects.namespace(name));
        let variables = (0..request.versions()).map(|_| OnceCell::new()).collect();
        let mut reviewed = Self { request, namespace_object, namespace_labels: None, variables };
        reviewed.namespace_labels = reviewed.labels_of_namespace();
        reviewed
    }

    /// Returns the variable `namespaceObject`. If the Namespace is unknown, the variable is not defined, so that an
    /// expression that reads it is reported as not checked.
    pub(super) fn namespace_value(&self) -> Option<CelValue> {
        if self.request.namespace.is_none() || self.request.is_namespace() {
            return Some(CelValue::Null);
        }
        self.namespace_object.as_ref().map(|object| object.value())
    }

    /// Returns the variables that all policies share.
    pub(super) fn variables(&self, version: usize) -> Option<&Variables<'static>> {
        let request = self.request;
        let cell = self.variables.get(version)?;
        Some(cell.get_or_init(|| {
            let matched = request.resource_at(version);
            let mut variables = Variables::with_functions();
            variables.add("object", request.value_of(request.object, &matched.kind));
            variables.add("oldObject", request.value_of(request.old_object, &matched.kind));
            variables.add("request", request.value_of_request(matched));
            variables
        }))
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
