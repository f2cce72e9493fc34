//! Objects outside the run that are deleted with its namespaces and CRDs.

use serde_json::Value;

use super::events::TakenAlong;
use crate::client::Cluster;
use crate::contents::{Leaving, WhatIsHeld, content_key, definition_contents, namespace_contents};
use crate::exchange::Ask;
use crate::json;
use crate::plan::{ObjectPlan, PlannedObject};
use smp_text::diagnostic::Result;

/// Returns the objects that will be deleted as well, to report them beforehand.
pub(super) async fn taken_along<'p>(
    cluster: &Cluster,
    plan: &ObjectPlan<'_>,
    targets: impl Iterator<Item = &'p PlannedObject<'p>>,
) -> Vec<TakenAlong> {
    let planned = plan.targets.iter().map(|target| &target.object);
    let names = planned.map(|object| content_key(&object.gvk, &object.namespace, &object.name)).collect();
    let leaving = Leaving { names, ..Leaving::default() };
    let mut all = Vec::new();
    for target in targets {
        let (count, what) = match contents(cluster, target, &leaving).await {
            Ok(None) => continue,
            Ok(Some(Ok(held))) if held.is_empty() => continue,
            Ok(Some(Ok(held))) => (Some(held.len()), held.named()),
            Ok(Some(Err(why))) => (None, why),
            Err(problem) => (None, problem.message().to_string()),
        };
        all.push(TakenAlong { object: target.object.clone(), count, what });
    }
    all
}

/// Returns the contents of a namespace or CRD. Returns none for other kinds and for objects that do not exist.
async fn contents(
    cluster: &Cluster,
    target: &PlannedObject<'_>,
    leaving: &Leaving,
) -> Result<Option<WhatIsHeld>> {
    let is_namespace = target.object.gvk.group.is_empty() && target.object.gvk.kind == "Namespace";
    if !is_namespace && !target.object.gvk.is_crd() {
        return Ok(None);
    }
    let Some(path) = target.served_path() else { return Ok(None) };
    let Some(response) = cluster.find(&Ask::object(path)).await? else { return Ok(None) };
    if is_namespace {
        return namespace_contents(cluster, &target.object.name, leaving).await.map(Some);
    }
    let definition: Value = cluster.read_with(json::decode, &response)?;
    definition_contents(cluster, &definition, leaving).await.map(Some)
}
