//! The contents of namespaces and CRDs, which are deleted with them.
//!
//! If a server does not list all objects, the result is an error message, because unknown contents must not be treated
//! as empty.

use std::time::Duration;

use futures::StreamExt as _;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;
use tokio::time::sleep;

use super::client::Cluster;
use super::errors::ApiError;
use super::json;
use super::listing::list_metadata;
use super::mapping::{CRDS, ResourceMapping, crd_path};
use super::request::{ApiRequest, unordered};
use smp_merge::schema::Gvk;
use smp_text::diagnostic::Result;

/// The identity of an object, whatever its API version is: group, kind, namespace and name.
pub(super) type ContentKey = (SmolStr, SmolStr, SmolStr, SmolStr);

pub(super) fn content_key(gvk: &Gvk, namespace: &str, name: &str) -> ContentKey {
    (gvk.group.clone(), gvk.kind.clone(), namespace.into(), name.into())
}

/// The objects that this run deletes itself, with all their dependents.
#[derive(Debug, Default)]
pub(super) struct DeletedObjects {
    /// The UIDs of the objects.
    pub(super) uids: FxHashSet<String>,
    pub(super) names: FxHashSet<ContentKey>,
}

/// The contents of a namespace or CRD, or the reason why they cannot be listed completely.
pub(super) type ContentsResult = std::result::Result<Contents, String>;

/// The contained objects, sorted by name.
#[derive(Debug)]
pub(super) struct Contents(Vec<ContainedObject>);

/// The maximum number of objects that a message lists.
const MAX_NAMED: usize = 3;

impl Contents {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the first objects, such as `configmap/a, configmap/b, pod/c and 2 more`.
    pub(super) fn summary(&self) -> String {
        let named: Vec<_> = self.0.iter().take(MAX_NAMED).map(|content| content.name.as_str()).collect();
        let more = match self.0.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{more}", named.join(", "))
    }
}

/// Returns the objects in a namespace that this run does not delete itself.
///
/// # Errors
/// The server does not respond, or the response is invalid.
pub(super) async fn namespace_contents(
    cluster: &Cluster,
    name: &str,
    deleted: &DeletedObjects,
) -> Result<ContentsResult> {
    cluster.discover_all().await?;
    if let Some(reason) = cluster.discovery_failure() {
        return Ok(Err(format!("cannot list what it still contains: {reason}")));
    }
    let mut contents = Vec::new();
    match unserved(cluster, name, deleted).await? {
        Ok(found) => contents.extend(found),
        Err(reason) => return Ok(Err(reason)),
    }
    let mut best: FxHashMap<(SmolStr, SmolStr), ResourceMapping> = FxHashMap::default();
    let known = cluster.known_mappings().into_iter();
    for mapping in known.filter(|mapping| mapping.namespaced && mapping.can_be_listed()) {
        let key = (mapping.gvk.group.clone(), mapping.gvk.kind.clone());
        if !best.contains_key(&key)
            && let Some(stable) = cluster.mapping_of(&key.0, &key.1)
        {
            best.insert(key, stable);
        }
    }
    let lists = best.into_values().map(|mapping| async move {
        let listed = list_metadata(cluster, &mapping.collection(name), "").await;
        (mapping, listed)
    });
    let mut lists = unordered(lists, super::apply::PARALLEL);
    while let Some((mapping, listed)) = lists.next().await {
        match listed? {
            Ok(items) => {
                contents
                    .extend(items.iter().filter_map(|item| ContainedObject::from_item(&mapping.gvk, item)));
            }
            // Objects of a resource that does not support list requests are not stored.
            Err(api_error) if api_error.http == 405 => {}
            // The CRD was just deleted together with its objects.
            Err(api_error)
                if api_error.http == 404 && wait_until_gone(cluster, &mapping, &api_error).await => {}
            Err(api_error) => return Ok(Err(cannot_list(&mapping.gvk, &api_error.message))),
        }
    }
    Ok(remaining(contents, deleted))
}

/// Waits until the server no longer serves the kind. Returns true in that case, or if its CRD is being deleted, and
/// false if this takes too long.
///
/// Discovery of a busy server still lists a kind for seconds after its CRD is gone. During that time a list request
/// fails with a 404 that is not a `Status`, which a proxy could also send. Therefore the CRD must be absent as well.
async fn wait_until_gone(cluster: &Cluster, mapping: &ResourceMapping, api_error: &ApiError) -> bool {
    let definition = ApiRequest::object(mapping.crd_path());
    for _ in 0..GONE_ATTEMPTS {
        let is_absent = match cluster.find_json::<Value>(&definition).await {
            Ok(Some(definition)) if has_deletion_time(&definition) => return true,
            Ok(definition) => definition.is_none(),
            Err(_) => false,
        };
        let is_lost = || cluster.is_kind_unserved(&mapping.gvk.group, &mapping.gvk.kind);
        if (is_absent || api_error.is_not_found()) && is_lost().await.unwrap_or_default() {
            return true;
        }
        sleep(RETRY_INTERVAL).await;
    }
    false
}

fn has_deletion_time(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// Returns the objects of a CRD that this run does not delete itself. `definition` is the whole CRD.
///
/// # Errors
/// The server does not respond, or the response is invalid.
pub(super) async fn definition_contents(
    cluster: &Cluster,
    definition: &Value,
    deleted: &DeletedObjects,
) -> Result<ContentsResult> {
    // Without a namespace in the path, all namespaces are listed.
    Ok(listed_by(cluster, definition, "").await?.and_then(|contents| remaining(contents, deleted)))
}

/// The objects of a list, or the reason why they cannot be listed.
type ListResult = std::result::Result<Vec<ContainedObject>, String>;

/// Returns the custom resources in a namespace whose CRDs discovery does not list, because they are not served (yet).
/// The server still stores such objects, and deletes them with the namespace.
async fn unserved(cluster: &Cluster, namespace: &str, deleted: &DeletedObjects) -> Result<ListResult> {
    let definitions = match list_metadata(cluster, CRDS, "").await? {
        Ok(definitions) => definitions,
        // A server without CRD support has no custom resources.
        Err(api_error) if api_error.is_not_found() => return Ok(Ok(Vec::new())),
        Err(api_error) => return Ok(Err(cannot_list_of("CRDs that are not served", &api_error.message))),
    };
    let known = cluster.known_mappings();
    let served: FxHashSet<(&str, &str)> =
        known.iter().map(|one| (one.plural.as_str(), one.gvk.group.as_str())).collect();
    let mut contents = Vec::new();
    for metadata in definitions.iter().filter_map(|definition| definition.get("metadata")) {
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default();
        let is_served = text("name").split_once('.').is_some_and(|parts| served.contains(&parts));
        if is_served || deleted.uids.contains(text("uid")) {
            continue;
        }
        match unserved_by(cluster, text("name"), namespace).await? {
            Ok(found) => contents.extend(found),
            Err(why) => return Ok(Err(why)),
        }
    }
    Ok(Ok(contents))
}

/// The number of attempts to list a kind whose CRD is served. Discovery may list it later.
const ATTEMPTS: usize = 10;
/// The number of times that discovery is read again after a list request of a known kind was not found.
const GONE_ATTEMPTS: usize = 75;
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Returns the objects in a namespace of a CRD whose kind discovery does not list.
async fn unserved_by(cluster: &Cluster, name: &str, namespace: &str) -> Result<ListResult> {
    let request = ApiRequest::object(crd_path(name));
    let mut listing = Ok(Vec::new());
    for _ in 0..ATTEMPTS {
        let response = match cluster.send(&request).await?.into_result() {
            Ok(response) => response,
            Err(api_error) if api_error.is_not_found() => return Ok(Ok(Vec::new())),
            Err(api_error) => return Ok(Err(cannot_list_of(name, &api_error.message))),
        };
        let definition: Value = cluster.parse_response(json::decode, &response)?;
        // The objects of a CRD that is being deleted are deleted with the CRD.
        if has_deletion_time(&definition)
            || definition["spec"]["scope"] != "Namespaced"
            || !was_established(&definition)
        {
            return Ok(Ok(Vec::new()));
        }
        listing = listed_by(cluster, &definition, namespace).await?;
        if listing.is_ok() || served_version(&definition).is_none() {
            break;
        }
        sleep(RETRY_INTERVAL).await;
    }
    Ok(listing)
}

/// Returns true if objects of a CRD may exist. Once the condition is set, it stays true.
fn was_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|one| one["type"] == "Established" && one["status"] == "True")
}

/// Returns the objects of a CRD in a namespace, or in all namespaces if it is empty.
async fn listed_by(cluster: &Cluster, definition: &Value, namespace: &str) -> Result<ListResult> {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, kind, plural) = (text("/spec/group"), text("/spec/names/kind"), text("/spec/names/plural"));
    let version = served_version(definition);
    let gvk = Gvk { group: group.into(), version: version.unwrap_or_default().into(), kind: kind.into() };
    if version.is_none() {
        return Ok(Err(cannot_list(&gvk, "no version of the CRD is served")));
    }
    let mapping = ResourceMapping::new(gvk, plural, !namespace.is_empty());
    Ok(match list_metadata(cluster, &mapping.collection(namespace), "").await? {
        Ok(items) => {
            Ok(items.iter().filter_map(|item| ContainedObject::from_item(&mapping.gvk, item)).collect())
        }
        Err(api_error) => Err(cannot_list(&mapping.gvk, &api_error.message)),
    })
}

fn served_version(definition: &Value) -> Option<&str> {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions.into_iter().flatten().find(|version| version["served"] == true);
    served?["name"].as_str()
}

fn cannot_list_of(what: &str, why: &str) -> String {
    format!("cannot determine whether it still contains objects of {what}: {why}")
}

fn cannot_list(gvk: &Gvk, why: &str) -> String {
    let group = if gvk.group.is_empty() { String::new() } else { format!(".{}", gvk.group) };
    format!("cannot determine whether it still contains a {}{group}: {why}", gvk.kind)
}

/// A contained object.
#[derive(Debug, Clone)]
pub(super) struct ContainedObject {
    /// The name, such as `configmap/a`.
    name: String,
    key: ContentKey,
    uid: String,
    owners: Vec<String>,
    /// True if the object can be ignored: it is terminating without finalizers, or exists in every namespace.
    is_ignored: bool,
}

impl ContainedObject {
    fn from_item(gvk: &Gvk, item: &Value) -> Option<Self> {
        let metadata = item.get("metadata")?;
        let text = |field: &str| metadata.get(field).and_then(Value::as_str);
        // Objects without a UID, such as metrics, are not stored.
        let (name, uid) = (text("name")?, text("uid")?);
        let owners = metadata.get("ownerReferences").and_then(Value::as_array).into_iter().flatten();
        Some(Self {
            name: gvk.object_name(name),
            key: content_key(gvk, text("namespace").unwrap_or_default(), name),
            uid: uid.into(),
            owners: owners.filter_map(|owner| Some(owner.get("uid")?.as_str()?.to_string())).collect(),
            is_ignored: is_terminating(metadata) || is_in_every_namespace(gvk, name, metadata),
        })
    }
}

/// Returns true if the object is terminating without finalizers. An object with finalizers may keep its namespace from
/// being deleted.
fn is_terminating(metadata: &Value) -> bool {
    let finalizers = metadata.get("finalizers").and_then(Value::as_array);
    let is_deleted = metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null());
    is_deleted && finalizers.is_none_or(Vec::is_empty)
}

/// Returns true if controllers create the object in every namespace, or together with other objects.
fn is_in_every_namespace(gvk: &Gvk, name: &str, metadata: &Value) -> bool {
    let has = |field: &str, key: &str| metadata.get(field).and_then(|map| map.get(key));
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("" | "events.k8s.io", "Event") => true,
        ("", "ServiceAccount") => name == "default",
        ("", "ConfigMap") => name == "kube-root-ca.crt",
        ("", "Secret") => has("annotations", "kubernetes.io/service-account.name")
            .is_some_and(|account| account == "default"),
        ("", "Endpoints") => has("labels", "endpoints.kubernetes.io/managed-by").is_some(),
        _ => false,
    }
}

/// Returns the objects that remain after the `deleted` objects and all their dependents are gone.
fn remaining(mut contents: Vec<ContainedObject>, deleted: &DeletedObjects) -> ContentsResult {
    let mut gone = deleted.uids.clone();
    // An object may be served by several API groups, and be in `deleted` with only one of them.
    let named = contents.iter().filter(|content| deleted.names.contains(&content.key));
    gone.extend(named.map(|content| content.uid.clone()));
    contents.sort_by(|a, b| a.name.cmp(&b.name));
    let mut seen = FxHashSet::default();
    contents.retain(|content| seen.insert(content.uid.clone()));
    loop {
        let (going, staying): (Vec<_>, Vec<_>) = contents.into_iter().partition(|content| {
            content.is_ignored
                || gone.contains(&content.uid)
                || (!content.owners.is_empty() && content.owners.iter().all(|owner| gone.contains(owner)))
        });
        contents = staying;
        if going.is_empty() {
            return Ok(Contents(contents));
        }
        gone.extend(going.into_iter().map(|content| content.uid));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(kind: &str, metadata: &Value) -> ContainedObject {
        ContainedObject::from_item(&Gvk::from_manifest("v1", kind), &json!({"metadata": metadata}))
            .expect("an object")
    }

    #[test]
    fn objects_that_are_deleted_anyway_are_ignored() {
        let owned = |uid: &str, owner: &str| {
            content("Pod", &json!({"name": uid, "uid": uid, "ownerReferences": [{"uid": owner}]}))
        };
        let contents = vec![
            owned("pod", "set"),
            owned("set", "deployment"),
            owned("other", "else"),
            content("Event", &json!({"name": "e", "uid": "e"})),
            content("ServiceAccount", &json!({"name": "default", "uid": "sa"})),
            content("ConfigMap", &json!({"name": "kube-root-ca.crt", "uid": "ca"})),
            content("ConfigMap", &json!({"name": "mine", "uid": "mine"})),
            content("ConfigMap", &json!({"name": "mine", "uid": "mine"})),
            content("Secret", &json!({"name": "s", "uid": "s", "deletionTimestamp": "now"})),
            content(
                "Secret",
                &json!({"name": "held", "uid": "held", "deletionTimestamp": "now", "finalizers": ["a/b"]}),
            ),
        ];
        let left = |deleted: &DeletedObjects| match remaining(contents.clone(), deleted) {
            Ok(left) => (left.len(), left.summary()),
            Err(why) => panic!("{why}"),
        };
        let uids = FxHashSet::from_iter(["deployment".to_string()]);
        let mut deleted = DeletedObjects { uids, ..DeletedObjects::default() };
        assert_eq!(left(&deleted), (3, "configmap/mine, pod/other, secret/held".into()));
        deleted.names.insert(content_key(&Gvk::from_manifest("v1", "ConfigMap"), "", "mine"));
        assert_eq!(left(&deleted), (2, "pod/other, secret/held".into()));
        assert_eq!(left(&DeletedObjects::default()).1, "configmap/mine, pod/other, pod/pod and 2 more");
    }
}
