//! Ownership transfer as in `kubectl apply --server-side`, for objects that were previously applied client-side.

use super::options::{DryRun, FieldValidation};
use super::request::{ApplyRequest, Force};
use crate::client::Cluster;
use crate::conflict::ApplyConflict;
use crate::plan::{KUBECTL, ObjectTarget};

/// Returns true if kubectl could take the conflicting fields without force.
///
/// The server lets kubectl's manager take fields whose live value equals that in the last-applied annotation, whatever
/// their owner. An example are fields that `kubectl create` set. The comparison cannot be repeated locally, so a dry
/// run decides. Fields that kubectl itself applies server-side are not taken.
pub(crate) async fn kubectl_can_take(
    cluster: &Cluster,
    target: &ObjectTarget<'_>,
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
    let Some(request) = request.build(target, body.to_vec()) else { return false };
    cluster.send(&request).await.is_ok_and(|response| response.into_result().is_ok())
}
