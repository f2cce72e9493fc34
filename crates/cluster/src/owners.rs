//! Reads one object, and sends the requests that change who owns its fields.

use http::Method;
use serde_json::Value;

use super::apply::{APPLY, patch_request};
use super::client::Cluster;
use super::errors::ApiError;
use super::json;
use super::plan::{ObjectPlan, ObjectTarget};
use super::request::{ApiRequest, JSON_PATCH};
use crate::mapping::encode_segment;
use smp_merge::managed_fields::OwnershipStep;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Reads the live object of a resource, with its managed fields.
///
/// # Errors
/// The object does not exist or cannot be read.
pub fn read_object(cluster: &Cluster, resource: &Resource) -> Result<Value> {
    cluster.block_on(async {
        let plan = ObjectPlan::resolve(cluster, std::slice::from_ref(resource)).await?;
        let (path, target) = path_of(cluster, &plan)?;
        let response = cluster.send(&ApiRequest::object(path)).await?.into_result();
        let response = response.map_err(|error| rejected(cluster, target, &error))?;
        cluster.parse_response(json::decode, &response)
    })
}

/// Sends the requests one after the other, and stops at the first one that fails. Each request fails if the object has
/// changed since it was read or since the previous request, because it could then remove values of other managers.
///
/// # Errors
/// The server rejects a request, for example because the object has changed in the meantime.
pub fn send_steps(
    cluster: &Cluster,
    resource: &Resource,
    (manager, live): (&str, &Value),
    steps: &[OwnershipStep],
) -> Result<()> {
    cluster.block_on(async {
        let plan = ObjectPlan::resolve(cluster, std::slice::from_ref(resource)).await?;
        let (path, target) = path_of(cluster, &plan)?;
        let mut now = live.clone();
        for (done, step) in steps.iter().enumerate() {
            let request = match step {
                OwnershipStep::Apply { manager, subresource, object } => {
                    apply_request(&path, [manager, subresource], object, &now)
                }
                OwnershipStep::Patch(patch) => patch_request(&path, manager, patch, JSON_PATCH),
            };
            let response = cluster.send(&request).await?.into_result().map_err(|error| {
                rejected(cluster, target, &error)
                    .note(format!("{done} of {} requests were sent", steps.len()))
            })?;
            now = cluster.parse_response(json::decode, &response)?;
        }
        Ok(())
    })
}

/// Returns the request that applies an object or its subresource, if the object has not changed since it was read.
fn apply_request(path: &str, [manager, subresource]: [&str; 2], object: &Value, now: &Value) -> ApiRequest {
    let mut object = object.clone();
    if let (Some(metadata), Some(version)) =
        (object.get_mut("metadata").and_then(Value::as_object_mut), now.pointer("/metadata/resourceVersion"))
    {
        metadata.insert("resourceVersion".into(), version.clone());
    }
    let slash = if subresource.is_empty() { "" } else { "/" };
    let manager = encode_segment(manager);
    let path = format!("{path}{slash}{subresource}?fieldManager={manager}&force=false");
    ApiRequest::change(Method::PATCH, path, APPLY, &object)
}

fn path_of<'p, 'r>(cluster: &Cluster, plan: &'p ObjectPlan<'r>) -> Result<(String, &'p ObjectTarget<'r>)> {
    let missing = || Diagnostic::error(Code::MissingField, "the object has no kind or name");
    let target = plan.targets.first().ok_or_else(missing)?;
    let path = target.served_path().ok_or_else(|| cluster.unknown_kind(&target.object.gvk))?;
    Ok((path, target))
}

fn rejected(cluster: &Cluster, target: &ObjectTarget<'_>, error: &ApiError) -> Diagnostic {
    error.diagnostic(&cluster.endpoint).resource(target.resource.id())
}
