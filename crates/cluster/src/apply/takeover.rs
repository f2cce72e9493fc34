//! Taking fields over as `kubectl apply --server-side` does, of an object that was applied client-side before.

use super::options::{DryRun, FieldValidation};
use super::request::{ApplyRequest, Force};
use crate::client::Cluster;
use crate::conflict::ApplyConflict;
use crate::plan::{KUBECTL, PlannedObject};

/// Whether kubectl would get the fields of a conflict. To its manager the server gives, whoever owns it, what still has
/// the value that the annotation of client-side apply says, such as fields that `kubectl create` set before. A dry run
/// tells: only the server compares as it does. What kubectl itself applies server-side is not taken from it.
pub(crate) async fn kubectl_would_get(
    cluster: &Cluster,
    target: &PlannedObject<'_>,
    body: &[u8],
    conflict: &ApplyConflict,
) -> bool {
    if conflict.fields.iter().any(|field| field.manager == KUBECTL) {
        return false;
    }
    let request = ApplyRequest {
        field_manager: KUBECTL,
        force: Force::No,
        dry_run: DryRun::Server,
        field_validation: FieldValidation::Ignore,
    };
    let Some(ask) = request.ask(target, body.to_vec()) else { return false };
    cluster.ask(&ask).await.is_ok_and(|answer| answer.accepted().is_ok())
}
