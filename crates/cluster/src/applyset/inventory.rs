//! Lists ApplySets and their members.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use smol_str::SmolStr;

use super::events::{ApplySetEvent, SetEventSink};
use super::id::{GROUP_KINDS, GROUP_RESOURCES, ID, IS_PARENT_TYPE, NAMESPACES, TOOLING};
use super::members::{MemberQuery, SetMember, collections, members};
use super::parent::SetParent;
use super::parent_ref::ParentRef;
use super::run::object_key;
use super::scope::{GroupKind, SetScope, split_annotation};
use super::tooling::ApplySetTooling;
use crate::apply::PARALLEL;
use crate::client::Cluster;
use crate::json;
use crate::listing::list_metadata;
use crate::mapping::{CRDS, ResourceMapping, encode_segment};
use crate::plan::Object;
use crate::request::ApiRequest;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Namespaces in which parents are searched. Cluster-scoped parents are always included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceScope {
    /// The namespace of the connection.
    Current,
    /// All namespaces.
    All,
}

/// An ApplySet as described by its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApplySetListing {
    /// The parent.
    pub parent: Object,
    /// The tool that manages the set; empty if the parent does not contain one.
    pub tooling: String,
    /// The kinds of its members. For older parents, these are resources.
    pub kinds: Vec<String>,
    /// The namespaces of its members. The first one is that of the parent.
    pub namespaces: Vec<String>,
}

/// An ApplySet with its members.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApplySetView {
    /// The parent.
    pub parent: Object,
    /// The tool that manages the set.
    pub tooling: String,
    /// The members, sorted by kind, namespace and name. The flag is true for objects that are being deleted.
    pub members: Vec<(Object, bool)>,
    /// Kinds of the parent's annotation that have no members.
    pub unused_kinds: Vec<GroupKind>,
    /// Kinds of the parent's annotation that the server does not serve.
    pub missing_kinds: Vec<GroupKind>,
    /// Namespaces of the parent's annotation that do not exist.
    pub missing_namespaces: Vec<String>,
}

/// Lists the ApplySets of a cluster by the labels of their parents.
///
/// # Errors
/// Secrets, ConfigMaps or custom resources that may be parents cannot be listed. If CRDs cannot be listed, parents of
/// custom kinds are missing in the result, and a warning is reported.
pub fn list_applysets(
    cluster: &Cluster,
    namespaces: NamespaceScope,
    report: SetEventSink<'_>,
) -> Result<Vec<ApplySetListing>> {
    cluster.block_on(async {
        cluster.discover_all().await?;
        let mut kinds: Vec<ResourceMapping> =
            ["Secret", "ConfigMap"].iter().filter_map(|kind| cluster.mapping_of("", kind)).collect();
        match custom_parents(cluster).await {
            Ok(custom) => kinds.extend(custom),
            Err(problem) => {
                let text = format!("custom resources are not searched for parents: {}", problem.message());
                report(ApplySetEvent::Warning(&text));
            }
        }
        let mut found = Vec::new();
        for mapping in kinds {
            let searched = match namespaces {
                // Without a namespace in the path, all namespaces are searched.
                NamespaceScope::All => ResourceMapping { namespaced: false, ..mapping.clone() },
                NamespaceScope::Current => mapping.clone(),
            };
            let items = labelled(cluster, &searched.collection(cluster.namespace()), ID).await?;
            found.extend(items.iter().filter_map(|item| listing(&mapping, item)));
        }
        found.sort_by_cached_key(|one| {
            let parent = &one.parent;
            (parent.namespace.clone(), parent.gvk.kind.clone(), parent.name.clone())
        });
        Ok(found)
    })
}

/// Lists the objects that have the given label. Returns no objects if the server does not serve the kind.
async fn labelled(cluster: &Cluster, path: &str, label: &str) -> Result<Vec<Value>> {
    match list_metadata(cluster, path, label).await? {
        Ok(items) => Ok(items),
        Err(api_error) if api_error.is_not_found() => Ok(Vec::new()),
        Err(api_error) => Err(api_error.diagnostic(&cluster.endpoint)),
    }
}

/// Returns the kinds whose CRDs are labeled as parent types.
async fn custom_parents(cluster: &Cluster) -> Result<Vec<ResourceMapping>> {
    let items = labelled(cluster, CRDS, IS_PARENT_TYPE).await?;
    let known = cluster.known_mappings();
    let names = items.iter().filter_map(|item| item.pointer("/metadata/name")?.as_str()?.split_once('.'));
    let kinds = names.filter_map(|(plural, group)| {
        let one = known.iter().find(|one| one.plural == plural && one.gvk.group == group)?;
        cluster.mapping_of(group, &one.gvk.kind)
    });
    Ok(kinds.collect())
}

/// Returns the parent of the set with an ID if it can be read. Searches the given namespace first, then all namespaces.
#[must_use]
pub fn find_parent_by_id(cluster: &Cluster, id: &str, namespace: &str) -> Option<Object> {
    cluster.block_on(async { Ok(find_parent(cluster, id, namespace).await) }).ok().flatten()
}

async fn find_parent(cluster: &Cluster, id: &str, namespace: &str) -> Option<Object> {
    cluster.discover_all().await.ok()?;
    let built_in = ["Secret", "ConfigMap"].into_iter().filter_map(|kind| cluster.mapping_of("", kind));
    let built_in: Vec<ResourceMapping> = built_in.collect();
    let anywhere = |mapping: &ResourceMapping| ResourceMapping { namespaced: false, ..mapping.clone() };
    let near = built_in.iter().filter(|_| !namespace.is_empty()).cloned().map(|own| (own.clone(), own));
    let mut searches: Vec<(ResourceMapping, ResourceMapping)> = near.collect();
    let custom = custom_parents(cluster).await.unwrap_or_default();
    searches.extend(built_in.iter().chain(&custom).map(|own| (own.clone(), anywhere(own))));
    for (mapping, searched) in searches {
        let selector = format!("{ID}={id}");
        let items = labelled(cluster, &searched.collection(namespace), &selector).await.unwrap_or_default();
        if let Some(found) = items.iter().find_map(|item| listing(&mapping, item)) {
            return Some(found.parent);
        }
    }
    None
}

fn listing(mapping: &ResourceMapping, item: &Value) -> Option<ApplySetListing> {
    let metadata = item.get("metadata")?;
    let text = |field: &str| metadata.get(field).and_then(Value::as_str);
    let annotation = |key: &str| metadata.get("annotations")?.get(key)?.as_str();
    let kinds = annotation(GROUP_KINDS).or_else(|| annotation(GROUP_RESOURCES)).unwrap_or_default();
    let namespace = SmolStr::from(text("namespace").unwrap_or_default());
    let own = Some(namespace.to_string()).filter(|own| !own.is_empty());
    let others = split_annotation(annotation(NAMESPACES).unwrap_or_default()).map(str::to_string);
    Some(ApplySetListing {
        tooling: annotation(TOOLING).unwrap_or_default().to_string(),
        kinds: split_annotation(kinds).map(str::to_string).collect(),
        namespaces: own.into_iter().chain(others).collect(),
        parent: Object { gvk: mapping.gvk.clone(), namespace, name: text("name")?.into() },
    })
}

/// Returns the members of a parent's ApplySet, whichever tool manages it.
///
/// # Errors
/// There is no such set, or its members cannot be listed.
pub fn describe_applyset(cluster: &Cluster, parent: &str) -> Result<ApplySetView> {
    cluster.block_on(async {
        let parent_ref = ParentRef::resolve(cluster, parent).await?;
        let (mapping, id, object) = (parent_ref.mapping.clone(), parent_ref.id(), parent_ref.object());
        let parent = SetParent { parent_ref, tooling: ApplySetTooling::default() };
        let missing = || not_an_applyset(&object);
        let response = parent.get(cluster).await?.ok_or_else(missing)?;
        let item: Value = cluster.parse_response(json::decode, &response)?;
        let labelled = item.pointer("/metadata/labels").and_then(|labels| labels.get(ID));
        let listing = listing(&mapping, &item).filter(|_| labelled == Some(&Value::from(id.as_str())));
        contents(cluster, listing.ok_or_else(missing)?, &id).await
    })
}

pub(super) fn not_an_applyset(parent: &Object) -> Diagnostic {
    Diagnostic::error(Code::NoMatch, format!("{parent} does not exist or is not the parent of an ApplySet"))
        .help("list ApplySets with `kubectl smp applyset list --all-namespaces`")
}

async fn contents(cluster: &Cluster, listing: ApplySetListing, id: &str) -> Result<ApplySetView> {
    let (mut served, mut missing_kinds) = (Vec::new(), Vec::new());
    let known = cluster.known_mappings();
    for text in &listing.kinds {
        let named = GroupKind::parse(text);
        let by_plural = known.iter().find(|one| one.plural == named.kind && one.gvk.group == named.group);
        let kind = by_plural.map_or(named.kind.as_str(), |one| one.gvk.kind.as_str());
        match cluster.mapping_of(&named.group, kind) {
            Some(mapping) => served.push(mapping),
            None => missing_kinds.push(named),
        }
    }
    let namespaces = listing.namespaces.iter().map(SmolStr::from).collect();
    let scope = SetScope { namespaces, ..SetScope::default() };
    let found = members(cluster, &collections(&served, &scope), MemberQuery::OfSet(id), PARALLEL).await?;
    let members = found.iter().map(|member| {
        let key = object_key(&member.object);
        (key, (member.object.clone(), member.is_being_deleted()))
    });
    let by_key: BTreeMap<_, _> = members.collect();
    let used: BTreeSet<GroupKind> = found.iter().map(SetMember::group_kind).collect();
    let unused = served.iter().map(|one| GroupKind::from_gvk(&one.gvk)).filter(|kind| !used.contains(kind));
    let missing_namespaces = missing(cluster, &listing.namespaces).await?;
    Ok(ApplySetView {
        parent: listing.parent,
        tooling: listing.tooling,
        members: by_key.into_values().collect(),
        unused_kinds: unused.collect(),
        missing_kinds,
        missing_namespaces,
    })
}

/// Returns the namespaces that do not exist.
async fn missing(cluster: &Cluster, namespaces: &[String]) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for namespace in namespaces {
        let path = format!("/api/v1/namespaces/{}", encode_segment(namespace));
        if cluster.send(&ApiRequest::object(path)).await?.status == 404 {
            missing.push(namespace.clone());
        }
    }
    Ok(missing)
}
