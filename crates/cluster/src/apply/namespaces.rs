//! Creates missing namespaces before the objects in them are sent.

use futures::TryStreamExt as _;
use rustc_hash::FxHashSet;
use serde_json::json;
use smol_str::SmolStr;
use tokio::time::Instant;

use super::events::{AppliedObject, ApplyChange};
use super::options::{DryRun, ServerSideApplyOptions};
use super::previous_object::PreviousObject;
use super::report::ApplyError;
use super::request::{APPLY, patch_request};
use crate::client::Cluster;
use crate::errors::ApiError;
use crate::json;
use crate::mapping::encode_segment;
use crate::plan::{Object, ObjectPlan, with_nothing_sent_note};
use crate::request::{ApiRequest, in_order};
use smp_merge::schema::Gvk;
use smp_text::diagnostic::Result;

/// Returns the namespaces of the objects, except those that have a manifest, sorted.
pub(crate) fn namespaces_without_manifest(plan: &ObjectPlan<'_>) -> Vec<SmolStr> {
    let names: FxHashSet<&SmolStr> = plan.targets.iter().map(|target| &target.object.namespace).collect();
    let names = names.into_iter().filter(|name| !name.is_empty() && !plan.namespaces.contains(*name));
    let mut names: Vec<SmolStr> = names.cloned().collect();
    names.sort_unstable();
    names
}

/// Creates those of the namespaces that do not exist, if the options allow that, and returns them. A namespace that
/// cannot be read because of missing permissions is skipped. If it does not exist, the server rejects the objects in
/// it.
///
/// # Errors
/// The server does not respond, or a namespace cannot be created.
pub(crate) async fn create_missing_namespaces(
    cluster: &Cluster,
    names: &[SmolStr],
    options: &ServerSideApplyOptions,
) -> Result<Vec<AppliedObject>> {
    if !options.create_namespaces {
        return Ok(Vec::new());
    }
    let created = names.iter().map(|name| create_missing(cluster, name, options));
    let created: Vec<_> =
        in_order(created, options.parallel).try_collect().await.map_err(with_nothing_sent_note)?;
    Ok(created.into_iter().flatten().collect())
}

async fn create_missing(
    cluster: &Cluster,
    name: &SmolStr,
    options: &ServerSideApplyOptions,
) -> Result<Option<AppliedObject>> {
    let start = Instant::now();
    let path = format!("/api/v1/namespaces/{}", encode_segment(name));
    let before = PreviousObject::read(cluster, &path, DryRun::None).await;
    if !matches!(before.map_err(|error| error.into_problem(cluster))?, PreviousObject::Absent) {
        return Ok(None);
    }
    // If another client creates the namespace in the meantime, server-side apply does not change it.
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name.as_str()}});
    let request = patch_request(&path, &options.field_manager, &body, APPLY);
    let dry_run = if options.dry_run == DryRun::Server { "&dryRun=All" } else { "" };
    let request = ApiRequest { path: format!("{}{dry_run}", request.path), ..request };
    let rejected = |error: ApiError| {
        let problem = ApplyError::Rejected(error).into_problem(cluster);
        problem.note(format!("namespace {name} does not exist, and --create-namespace could not create it"))
    };
    let response = cluster.send(&request).await?.into_result().map_err(rejected)?;
    let live = cluster.parse_response(json::parse_object, &response)?;
    let object = Object {
        gvk: Gvk::from_manifest("v1", "Namespace"),
        namespace: SmolStr::default(),
        name: name.clone(),
    };
    Ok(Some(AppliedObject { object, change: ApplyChange::Created, live, duration: start.elapsed() }))
}
