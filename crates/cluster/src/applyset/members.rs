//! The members of a set: objects with its label. They are searched in the kinds and namespaces of the set's scope.

use futures::TryStreamExt as _;
use rustc_hash::FxHashSet;
use serde_json::Value;
use smol_str::SmolStr;

use super::id::PART_OF;
use super::scope::{GroupKind, SetScope};
use crate::client::Cluster;
use crate::listing::list_metadata;
use crate::mapping::{CRDS, ResourceMapping};
use crate::plan::Object;
use crate::request::in_order;
use smp_merge::managed_fields::{FieldSet, ManagedFields, Operation, Path};
use smp_merge::patch::LAST_APPLIED;
use smp_text::diagnostic::Result;

const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// An object with the label of a set.
#[derive(Debug, Clone)]
pub(super) struct SetMember {
    pub(super) object: Object,
    pub(super) mapping: ResourceMapping,
    pub(super) uid: String,
    /// The object's whole metadata.
    pub(super) metadata: Value,
}

impl SetMember {
    pub(super) fn path(&self) -> String {
        self.mapping.path(&self.object.namespace, &self.object.name)
    }

    pub(super) fn group_kind(&self) -> GroupKind {
        GroupKind::from_gvk(&self.object.gvk)
    }

    /// Returns the name of the CRD of the object's kind, if it is a custom resource.
    pub(super) fn crd_name(&self) -> String {
        format!("{}.{}", self.mapping.plural, self.mapping.gvk.group)
    }

    /// Returns the UID of the controller that owns the object.
    pub(super) fn controller(&self) -> Option<&str> {
        let owners = self.metadata.get("ownerReferences")?.as_array()?;
        let controller = owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
        controller.get("uid")?.as_str()
    }

    /// Returns true if the object was applied as a member. Otherwise a controller may have copied its label.
    pub(super) fn was_applied(&self) -> bool {
        let entries = self.metadata.get("managedFields").unwrap_or(&Value::Null);
        let Ok(managed) = ManagedFields::from_value(entries) else { return false };
        let owns = |fields: &FieldSet, map: &str, name: &str| {
            fields.contains(&Path::fields(["metadata", map, name]))
        };
        managed.iter().any(|(manager, fields)| {
            let is_apply = manager.operation == Operation::Apply;
            (is_apply && owns(fields, "labels", PART_OF)) || owns(fields, "annotations", LAST_APPLIED)
        })
    }

    /// Returns the ID of the object's set.
    pub(super) fn set_id(&self) -> &str {
        label(&self.metadata).unwrap_or_default()
    }

    /// Returns true if the object has a deletion timestamp.
    pub(super) fn is_being_deleted(&self) -> bool {
        self.metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null())
    }

    /// Returns the object's kind and namespace.
    pub(super) fn scope(&self) -> SetScope {
        let namespace = Some(self.object.namespace.clone()).filter(|namespace| !namespace.is_empty());
        SetScope { kinds: [self.group_kind()].into(), namespaces: namespace.into_iter().collect() }
    }

    fn from_item(mapping: &ResourceMapping, mut item: Value) -> Option<Self> {
        let metadata = item.get_mut("metadata")?.take();
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).map(SmolStr::from);
        let object = Object {
            gvk: mapping.gvk.clone(),
            namespace: text("namespace").unwrap_or_default(),
            name: text("name")?,
        };
        let uid = text("uid")?.to_string();
        Some(Self { object, mapping: mapping.clone(), uid, metadata })
    }
}

/// Returns the ID of the set in an object's metadata.
pub(super) fn label(metadata: &Value) -> Option<&str> {
    metadata.get("labels")?.get(PART_OF)?.as_str()
}

/// A label query for members.
#[derive(Debug, Clone, Copy)]
pub(super) enum MemberQuery<'q> {
    /// The members of one set.
    OfSet(&'q str),
    /// The members of any set.
    Any,
}

impl MemberQuery<'_> {
    fn selector(self) -> String {
        match self {
            Self::OfSet(id) => format!("{PART_OF}={id}"),
            Self::Any => PART_OF.into(),
        }
    }
}

/// The objects of a kind in a namespace. The namespace is empty for cluster-scoped kinds.
pub(super) type SetCollection = (ResourceMapping, SmolStr);

/// Returns the collections of a scope for the kinds that are served.
pub(super) fn collections(mappings: &[ResourceMapping], namespaces: &SetScope) -> Vec<SetCollection> {
    let mut all = Vec::new();
    for mapping in mappings {
        if mapping.namespaced {
            all.extend(namespaces.namespaces.iter().map(|namespace| (mapping.clone(), namespace.clone())));
        } else {
            all.push((mapping.clone(), SmolStr::default()));
        }
    }
    all
}

/// Lists members. Each member is returned once, even if several API groups serve it.
///
/// # Errors
/// A collection cannot be listed. Its members are unknown and must not be treated as absent.
pub(super) async fn members(
    cluster: &Cluster,
    collections: &[SetCollection],
    query: MemberQuery<'_>,
    parallel: usize,
) -> Result<Vec<SetMember>> {
    let selector = query.selector();
    let lists = collections.iter().map(|(mapping, namespace)| {
        let (path, selector) = (mapping.collection(namespace), &selector);
        async move {
            match list_metadata(cluster, &path, selector).await? {
                Ok(items) => {
                    Ok(items.into_iter().filter_map(|item| SetMember::from_item(mapping, item)).collect())
                }
                // The kind is no longer served, because it was removed together with its objects or because a part of
                // the server is down.
                Err(refusal)
                    if refusal.http == 404
                        && cluster.is_kind_unserved(&mapping.gvk.group, &mapping.gvk.kind).await? =>
                {
                    Ok(Vec::new())
                }
                Err(refusal) => Err(refusal
                    .diagnostic(&cluster.endpoint)
                    .note("ApplySet members are found by listing their kinds")),
            }
        }
    });
    let found: Vec<Vec<SetMember>> = in_order(lists, parallel).try_collect().await?;
    let mut seen = FxHashSet::default();
    Ok(found.into_iter().flatten().filter(|member| seen.insert(member.uid.clone())).collect())
}

/// Returns the unserved kinds whose API group no CRD or APIService defines any more. Their objects were removed with
/// the CRD and cannot return.
pub(super) async fn removed_kinds(cluster: &Cluster, unserved: &[GroupKind]) -> Vec<GroupKind> {
    if unserved.is_empty() {
        return Vec::new();
    }
    let mut names: Vec<String> = Vec::new();
    for path in [CRDS, API_SERVICES] {
        // A CRD or APIService that cannot be read may define any group.
        let Ok(Ok(items)) = list_metadata(cluster, path, "").await else { return Vec::new() };
        let name = |item: &Value| item.pointer("/metadata/name")?.as_str().map(String::from);
        names.extend(items.iter().filter_map(name));
    }
    // The names are `plural.group` and `version.group`.
    let groups: FxHashSet<&str> = names.iter().filter_map(|name| Some(name.split_once('.')?.1)).collect();
    unserved.iter().filter(|kind| !groups.contains(kind.group.as_str())).cloned().collect()
}
