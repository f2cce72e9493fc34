//! The guards of a replacement. An object that is deleted and recreated must not lose objects or data that the user did
//! not agree to lose.

use super::options::DryRun;
use super::report::ApplyError;
use crate::cascade::Cascade;
use crate::client::Cluster;
use crate::contents::DeletedObjects;
use crate::dependents::{Dependents, adopts_pods, has_pods};
use crate::plan::Object;
use crate::protection::{ProtectedKind, reason_not_to_delete};
use smp_text::diagnostic::{Code, Diagnostic, counted, plural};

/// An object that is to be deleted and recreated.
pub(crate) struct Replacement<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) object: &'a Object,
    pub(crate) path: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) cascade: Cascade,
    pub(crate) dry_run: DryRun,
    /// Kinds whose objects are replaced even if they contain other objects or data.
    pub(crate) deletable_kinds: &'a [ProtectedKind],
    pub(crate) dependents: &'a Dependents<'a>,
}

impl Replacement<'_> {
    /// Checks the guards. Returns a note about the objects that are deleted with the object, if there are any.
    ///
    /// # Errors
    /// The object contains other objects or data that the user did not agree to lose, or its contents are unknown.
    pub(crate) async fn check(&self) -> std::result::Result<Option<String>, ApplyError> {
        let Some(kind) = ProtectedKind::from_gvk(&self.object.gvk) else {
            return Ok(self.dependents_note().await);
        };
        if self.cascade == Cascade::Orphan {
            let message = format!("--cascade=orphan does not keep what a {} contains", kind.name());
            let help = "omit --cascade=orphan, or the kind in --replace-immutable";
            return Err(ApplyError::Problem(Diagnostic::error(Code::Usage, message).help(help)));
        }
        let gone = DeletedObjects::default();
        let reason = reason_not_to_delete(self.cluster, (self.object, self.path), kind, &gone).await;
        match reason.map_err(ApplyError::NoResponse)? {
            None => Ok(None),
            Some(reason) if self.deletable_kinds.contains(&kind) => {
                let is_lost = if self.dry_run == DryRun::None { "is" } else { "would be" };
                Ok(Some(format!("{} {is_lost} replaced although {reason}", self.object)))
            }
            Some(reason) => Err(ApplyError::Problem(self.refusal(kind, &reason))),
        }
    }

    fn refusal(&self, kind: ProtectedKind, reason: &str) -> Diagnostic {
        let message = format!("{} is not replaced: {reason}", self.object);
        Diagnostic::error(Code::Conflict, message).note("replacing an object deletes what it contains").help(
            format!(
                "keep the live values of the immutable fields; if everything may be deleted, use \
                 --replace-nonempty={}",
                kind.name()
            ),
        )
    }

    /// Returns a note with the number of Pods that are deleted with the object.
    async fn dependents_note(&self) -> Option<String> {
        if self.cascade == Cascade::Orphan || !has_pods(&self.object.gvk) {
            return None;
        }
        let object = self.object;
        let are = |count| if self.dry_run == DryRun::None { plural(count, "is", "are") } else { "would be" };
        let keep = if adopts_pods(&object.gvk) { "; --cascade=orphan keeps its Pods" } else { "" };
        match self.dependents.count_pods(object, self.uid).await {
            Ok(0) => None,
            Ok(pods) => {
                Some(format!("{} of {object} {} deleted with it{keep}", counted(pods, "Pod"), are(pods)))
            }
            Err(reason) => Some(format!("all Pods of {object} {} deleted with it{keep} ({reason})", are(2))),
        }
    }
}
