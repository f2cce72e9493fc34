//! Deleting one object: the one that is there, and no other of its name.

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

/// What came of one object.
#[derive(Debug)]
pub(super) enum Deletion {
    /// It is gone.
    Gone,
    /// The server took it; something may hold the object of this identity.
    Taken(SmolStr),
    Absent,
    Failed(Diagnostic),
    /// There was no answer.
    Unanswered(Diagnostic),
    /// It was not tried.
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
        Ok(answer) => match identity(&answer) {
            Some(uid) => uid,
            None => return Deletion::Failed(not_understood(&cluster.endpoint, &path, &"it has no identity")),
        },
    };
    let mut wanted = json!({
        "propagationPolicy": options.cascade.policy(),
        "preconditions": {"uid": uid.as_str()},
    });
    if options.dry_run == DryRun::Server {
        wanted["dryRun"] = json!(["All"]);
    }
    match sent(cluster, &Ask::delete(path, wanted)).await {
        // Somebody else, or a request whose answer was lost, has deleted it meanwhile.
        Err(Deletion::Absent) => Deletion::Gone,
        Err(deletion) => deletion,
        Ok(_) if options.dry_run == DryRun::Server => Deletion::Gone,
        // An object is what is still there, or was; a status says that it is gone.
        Ok(answer) if identity(&answer) == Some(uid.clone()) => Deletion::Taken(uid),
        Ok(_) => Deletion::Gone,
    }
}

/// Of a kind that the server does not serve, there is nothing; of one that it does not tell of, nobody knows.
fn unserved(cluster: &Cluster, target: &PlannedObject<'_>) -> Deletion {
    let problem = cluster.unknown_kind(&target.object.gvk);
    if problem.code() == Code::NoMatch { Deletion::Absent } else { Deletion::Failed(problem) }
}

/// The identity of the object that a server answered with, if it did.
pub(crate) fn identity(answer: &Answer) -> Option<SmolStr> {
    let object: Value = json::decode(&answer.body).ok()?;
    object.pointer("/metadata/uid").and_then(Value::as_str).filter(|uid| !uid.is_empty()).map(SmolStr::from)
}

async fn sent(cluster: &Cluster, ask: &Ask) -> Result<Answer, Deletion> {
    let answer = cluster.ask(ask).await.map_err(Deletion::Unanswered)?;
    answer.accepted().map_err(|refusal| match refusal.http {
        _ if refusal.is_not_found() => Deletion::Absent,
        409 if ask.method == Method::DELETE => {
            let problem = refusal.diagnostic(&cluster.endpoint);
            Deletion::Failed(
                problem.help("it may be another object by now: delete again if that one is meant"),
            )
        }
        _ => Deletion::Failed(refusal.diagnostic(&cluster.endpoint)),
    })
}

/// Of an object that is not there.
pub(super) fn absent(target: &PlannedObject<'_>) -> Diagnostic {
    let namespace = &target.object.namespace;
    let place = if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
    Diagnostic::error(Code::NoMatch, format!("{} is not there{place}", target.object))
        .help("--ignore-not-found takes what is not there for deleted")
}
