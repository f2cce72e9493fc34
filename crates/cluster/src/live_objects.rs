//! Reads live objects.

use futures::TryStreamExt as _;
use serde_json::Value;

use super::client::Cluster;
use super::json;
use super::listing::{ListOptions, ListedObject, ListedObjects};
use super::plan::{ObjectPlan, ObjectTarget};
use super::request::{ApiRequest, in_order};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Reads the live object of each resource, in order. The result is `None` for an object that does not exist or whose
/// kind is unknown. At most `parallel` objects are read at a time.
///
/// # Errors
/// The server cannot be reached or denies access, or a resource has no API version or name, or is in another namespace
/// than the explicit one.
pub fn live_objects(cluster: &Cluster, resources: &[Resource], parallel: usize) -> Result<Vec<Option<Node>>> {
    cluster.block_on(async {
        let plan = ObjectPlan::resolve(cluster, resources).await?;
        live_nodes(cluster, &plan, parallel).await
    })
}

/// Reads the live object of each target, with list requests for collections that contain many of them.
pub(super) async fn live_nodes(
    cluster: &Cluster,
    plan: &ObjectPlan<'_>,
    parallel: usize,
) -> Result<Vec<Option<Node>>> {
    let targets: Vec<&ObjectTarget<'_>> = plan.targets.iter().collect();
    let keep = |target: &ObjectTarget<'_>, item: Value| target.listed_item(item);
    let listed = &ListedObjects::list(cluster, &targets, ListOptions::WHOLE, keep).await.unwrap_or_default();
    let read = plan.targets.iter().map(|target| async move {
        match listed.get(target) {
            Some(ListedObject::Present(item)) => Ok(Some(Node::from(item))),
            Some(ListedObject::Absent) => Ok(None),
            None => live_object(cluster, target).await,
        }
    });
    in_order(read, parallel).try_collect().await
}

async fn live_object(cluster: &Cluster, target: &ObjectTarget<'_>) -> Result<Option<Node>> {
    let Some(path) = target.served_path() else { return Ok(None) };
    let response = cluster
        .find(&ApiRequest::object(path))
        .await
        .map_err(|problem| problem.resource(target.resource.id()))?;
    response.map(|response| cluster.parse_response(|body| target.parse_response(body), &response)).transpose()
}

/// Returns the UID of a cluster, which is that of its namespace kube-system. Returns `None` if the server rejects the
/// request, for example because of missing permissions.
///
/// # Errors
/// The server does not respond.
pub fn cluster_uid(cluster: &Cluster) -> Result<Option<String>> {
    cluster.block_on(async {
        let response = cluster.send(&ApiRequest::metadata("/api/v1/namespaces/kube-system")).await?;
        let Ok(response) = response.into_result() else { return Ok(None) };
        let object: Value = cluster.parse_response(json::decode, &response)?;
        Ok(object.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_string))
    })
}
