//! Live objects as they are.

use futures::TryStreamExt as _;

use super::client::Cluster;
use super::exchange::{Ask, in_order};
use super::plan::{ObjectPlan, PlannedObject};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// The live object of each resource, in their order; none where the server has none, or does not know the kind. At most
/// `parallel` are read at a time.
///
/// # Errors
/// The server cannot be reached, or shows an object not; objects without version or name, or of another namespace than
/// the one asked for.
pub fn live_objects(cluster: &Cluster, resources: &[Resource], parallel: usize) -> Result<Vec<Option<Node>>> {
    cluster.wait(async {
        let plan = ObjectPlan::make(cluster, resources).await?;
        let read = plan.targets.iter().map(|target| live_object(cluster, target));
        in_order(read, parallel).try_collect().await
    })
}

async fn live_object(cluster: &Cluster, target: &PlannedObject<'_>) -> Result<Option<Node>> {
    let Some(path) = target.served_path() else { return Ok(None) };
    let answer =
        cluster.find(&Ask::object(path)).await.map_err(|problem| problem.resource(target.resource.id()))?;
    answer.map(|answer| cluster.read_with(|body| target.read(body), &answer)).transpose()
}
