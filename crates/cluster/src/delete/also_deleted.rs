//! Objects that are not in the manifests but are deleted with a namespace or CRD of the manifests.

use serde_json::Value;

use super::events::AlsoDeleted;
use crate::client::Cluster;
use crate::contents::{ContentsResult, DeletedObjects, content_key, definition_contents, namespace_contents};
use crate::json;
use crate::plan::{ObjectPlan, ObjectTarget};
use crate::request::ApiRequest;
use smp_text::diagnostic::Result;

/// Returns the objects that will also be deleted, to report them beforehand.
pub(super) async fn also_deleted<'p>(
    cluster: &Cluster,
    plan: &ObjectPlan<'_>,
    targets: impl Iterator<Item = &'p ObjectTarget<'p>>,
) -> Vec<AlsoDeleted> {
    let planned = plan.targets.iter().map(|target| &target.object);
    let names = planned.map(|object| content_key(&object.gvk, &object.namespace, &object.name)).collect();
    let deleted = DeletedObjects { names, ..DeletedObjects::default() };
    let mut all = Vec::new();
    for target in targets {
        let (count, description) = match contents(cluster, target, &deleted).await {
            Ok(None) => continue,
            Ok(Some(Ok(contents))) if contents.is_empty() => continue,
            Ok(Some(Ok(contents))) => (Some(contents.len()), contents.summary()),
            Ok(Some(Err(reason))) => (None, reason),
            Err(problem) => (None, problem.message().to_string()),
        };
        all.push(AlsoDeleted { object: target.object.clone(), count, description });
    }
    all
}

/// Returns the contents of a namespace or CRD. Returns `None` for other kinds and for objects that do not exist.
async fn contents(
    cluster: &Cluster,
    target: &ObjectTarget<'_>,
    deleted: &DeletedObjects,
) -> Result<Option<ContentsResult>> {
    let is_namespace = target.object.gvk.is_namespace();
    if !is_namespace && !target.object.gvk.is_crd() {
        return Ok(None);
    }
    let Some(path) = target.served_path() else { return Ok(None) };
    let Some(response) = cluster.find(&ApiRequest::object(path)).await? else { return Ok(None) };
    if is_namespace {
        return namespace_contents(cluster, &target.object.name, deleted).await.map(Some);
    }
    let definition: Value = cluster.parse_response(json::decode, &response)?;
    definition_contents(cluster, &definition, deleted).await.map(Some)
}
