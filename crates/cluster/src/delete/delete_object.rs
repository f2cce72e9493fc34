//! Deletes one object if it still has the UID that was read.

use http::Method;
use serde_json::{Value, json};
use smol_str::SmolStr;

use super::options::DeleteOptions;
use crate::apply::DryRun;
use crate::client::Cluster;
use crate::errors::invalid_response;
use crate::json;
use crate::plan::ObjectTarget;
use crate::request::{ApiRequest, ApiResponse};
use smp_text::diagnostic::{Code, Diagnostic};

/// Result of deleting one object.
#[derive(Debug)]
pub(super) enum DeleteOutcome {
    /// The object is gone.
    Deleted,
    /// The server accepted the deletion of the object with this UID. Finalizers may keep the object.
    Accepted(SmolStr),
    Absent,
    Failed(Diagnostic),
    /// The server did not respond.
    NoResponse(Diagnostic),
    /// The deletion was not attempted.
    Skipped,
}

/// Deletes an object.
pub(super) async fn delete_object(
    cluster: &Cluster,
    target: &ObjectTarget<'_>,
    options: &DeleteOptions,
) -> DeleteOutcome {
    let Some(path) = target.served_path() else { return unserved(cluster, target) };
    let uid = match sent(cluster, &ApiRequest::metadata(path.as_str())).await {
        Err(deletion) => return deletion,
        Ok(response) => match uid_of(&response) {
            Some(uid) => uid,
            None => {
                return DeleteOutcome::Failed(invalid_response(
                    &cluster.endpoint,
                    &path,
                    &"the object has no UID",
                ));
            }
        },
    };
    let mut options_body = json!({
        "propagationPolicy": options.cascade.propagation_policy(),
        "preconditions": {"uid": uid.as_str()},
    });
    if options.dry_run == DryRun::Server {
        options_body["dryRun"] = json!(["All"]);
    }
    match sent(cluster, &ApiRequest::delete(path, options_body)).await {
        // Another client, or a request whose response was lost, has already deleted the object.
        Err(DeleteOutcome::Absent) => DeleteOutcome::Deleted,
        Err(deletion) => deletion,
        Ok(_) if options.dry_run == DryRun::Server => DeleteOutcome::Deleted,
        // A response with the object means that it may still exist. A Status means that it is gone.
        Ok(response) if uid_of(&response) == Some(uid.clone()) => DeleteOutcome::Accepted(uid),
        Ok(_) => DeleteOutcome::Deleted,
    }
}

/// Returns the result for a kind that is not served: the object is absent if discovery is complete, otherwise this is
/// an error.
fn unserved(cluster: &Cluster, target: &ObjectTarget<'_>) -> DeleteOutcome {
    let problem = cluster.unknown_kind(&target.object.gvk);
    if problem.code() == Code::NoMatch { DeleteOutcome::Absent } else { DeleteOutcome::Failed(problem) }
}

/// Returns the UID of the object in a response, if any.
pub(crate) fn uid_of(response: &ApiResponse) -> Option<SmolStr> {
    let object: Value = json::decode(&response.body).ok()?;
    object.pointer("/metadata/uid").and_then(Value::as_str).filter(|uid| !uid.is_empty()).map(SmolStr::from)
}

async fn sent(cluster: &Cluster, request: &ApiRequest) -> Result<ApiResponse, DeleteOutcome> {
    let response = cluster.send(request).await.map_err(DeleteOutcome::NoResponse)?;
    response.into_result().map_err(|api_error| match api_error.http {
        _ if api_error.is_not_found() => DeleteOutcome::Absent,
        409 if request.method == Method::DELETE => {
            let problem = api_error.diagnostic(&cluster.endpoint);
            DeleteOutcome::Failed(
                problem.help("the object may have been recreated: delete again to delete the new one"),
            )
        }
        _ => DeleteOutcome::Failed(api_error.diagnostic(&cluster.endpoint)),
    })
}

/// Returns the error for an object that does not exist.
pub(super) fn not_found(target: &ObjectTarget<'_>) -> Diagnostic {
    let namespace = &target.object.namespace;
    let location = if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
    Diagnostic::error(Code::NoMatch, format!("{} not found{location}", target.object))
        .help("use --ignore-not-found to treat missing objects as deleted")
}
