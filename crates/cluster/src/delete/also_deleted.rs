//! Objects outside the run that are deleted with its namespaces and CRDs.

use serde_json::Value;

use super::events::AlsoDeleted;
use crate::client::Cluster;
use crate::contents::{ContentsResult, DeletedObjects, content_key, definition_contents, namespace_contents};
use crate::json;
use crate::plan::{ObjectPlan, ObjectTarget};
use crate::request::ApiRequest;
use smp_text::diagnostic::Result;

/// Returns the objects that will be deleted as well, to report them beforehand.
pub(super) async fn also_deleted<'p>(
    cluster: &Cluster,
    plan: &ObjectPlan<'_>,
    targets: impl Iterator<Item = &'p ObjectTarget<'p>>,
) -> Vec<AlsoDeleted> {
    let planned = plan.targets.iter().map(|target| &target.object);
    let names = planned.map(|object| content_key(&object.gvk, &object.namespace, &object.name)).collect();
    let leaving = DeletedObjects { names, ..DeletedObjects::default() };
    let mut all = Vec::new();
    for target in targets {
        let (count, what) = match contents(cluster, target, &leaving).await {
            Ok(None) => continue,
            Ok(Some(Ok(held))) if held.is_empty() => continue,
            Ok(Some(Ok(held))) => (Some(held.len()), held.summary()),
            Ok(Some(Err(why))) => (None, why),
            Err(problem) => (None, problem.message().to_string()),
        };
        all.push(AlsoDeleted { object: target.object.clone(), count, description: what });
    }
    all
}

/// Returns the contents of a namespace or CRD. Returns none for other kinds and for objects that do not exist.
async fn contents(
    cluster: &Cluster,
    target: &ObjectTarget<'_>,
    leaving: &DeletedObjects,
) -> Result<Option<ContentsResult>> {
    let is_namespace = target.object.gvk.is_namespace();
    if !is_namespace && !target.object.gvk.is_crd() {
        return Ok(None);
    }
    let Some(path) = target.served_path() else { return Ok(None) };
    let Some(response) = cluster.find(&ApiRequest::object(path)).await? else { return Ok(None) };
    if is_namespace {
        return namespace_contents(cluster, &target.object.name, leaving).await.map(Some);
    }
    let definition: Value = cluster.parse_response(json::decode, &response)?;
    definition_contents(cluster, &definition, leaving).await.map(Some)
}
