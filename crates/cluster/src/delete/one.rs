//! Deleting one object, provided that it still has the UID that was read.

use http::Method;
use serde_json::{Value, json};
use smol_str::SmolStr;

use super::options::DeleteOptions;
use crate::apply::DryRun;
use crate::client::Cluster;
use crate::exchange::{Answer, Ask};
use crate::failure::not_understood;
use crate::json;
use crate::plan::PlannedObject;
use smp_text::diagnostic::{Code, Diagnostic};

/// Result of deleting one object.
#[derive(Debug)]
pub(super) enum Deletion {
    /// The object is gone.
    Gone,
    /// The server accepted the deletion of the object with this UID; finalizers may keep it.
    Taken(SmolStr),
    Absent,
    Failed(Diagnostic),
    /// The server did not respond.
    Unanswered(Diagnostic),
    /// The deletion was not tried.
    Skipped,
}

/// Deletes an object.
pub(super) async fn delete_one(
    cluster: &Cluster,
    target: &PlannedObject<'_>,
    options: &DeleteOptions,
) -> Deletion {
    let Some(path) = target.served_path() else { return unserved(cluster, target) };
    let uid = match sent(cluster, &Ask::metadata(path.as_str())).await {
        Err(deletion) => return deletion,
        Ok(response) => match identity(&response) {
            Some(uid) => uid,
            None => {
                return Deletion::Failed(not_understood(&cluster.endpoint, &path, &"the object has no UID"));
            }
        },
    };
    let mut options_body = json!({
        "propagationPolicy": options.cascade.policy(),
        "preconditions": {"uid": uid.as_str()},
    });
    if options.dry_run == DryRun::Server {
        options_body["dryRun"] = json!(["All"]);
    }
    match sent(cluster, &Ask::delete(path, options_body)).await {
        // Another client, or a request whose response was lost, has deleted it meanwhile.
        Err(Deletion::Absent) => Deletion::Gone,
        Err(deletion) => deletion,
        Ok(_) if options.dry_run == DryRun::Server => Deletion::Gone,
        // A response with the object means that it may still exist; a Status means that it is gone.
        Ok(response) if identity(&response) == Some(uid.clone()) => Deletion::Taken(uid),
        Ok(_) => Deletion::Gone,
    }
}

/// Returns the result for a kind that is not served: absent if discovery is complete, otherwise an error.
fn unserved(cluster: &Cluster, target: &PlannedObject<'_>) -> Deletion {
    let problem = cluster.unknown_kind(&target.object.gvk);
    if problem.code() == Code::NoMatch { Deletion::Absent } else { Deletion::Failed(problem) }
}

/// Returns the UID of the object in a response, if any.
pub(crate) fn identity(response: &Answer) -> Option<SmolStr> {
    let object: Value = json::decode(&response.body).ok()?;
    object.pointer("/metadata/uid").and_then(Value::as_str).filter(|uid| !uid.is_empty()).map(SmolStr::from)
}

async fn sent(cluster: &Cluster, request: &Ask) -> Result<Answer, Deletion> {
    let response = cluster.ask(request).await.map_err(Deletion::Unanswered)?;
    response.accepted().map_err(|api_error| match api_error.http {
        _ if api_error.is_not_found() => Deletion::Absent,
        409 if request.method == Method::DELETE => {
            let problem = api_error.diagnostic(&cluster.endpoint);
            Deletion::Failed(
                problem.help("the object may have been recreated: delete again to delete the new one"),
            )
        }
        _ => Deletion::Failed(api_error.diagnostic(&cluster.endpoint)),
    })
}

/// Returns the error for an object that does not exist.
pub(super) fn absent(target: &PlannedObject<'_>) -> Diagnostic {
    let namespace = &target.object.namespace;
    let location = if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
    Diagnostic::error(Code::NoMatch, format!("{} not found{location}", target.object))
        .help("use --ignore-not-found to treat missing objects as deleted")
}
