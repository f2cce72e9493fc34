//! The limit on the number of objects that a run prunes, so that a wrong target does not delete a whole set.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::events::{ApplySetSource, PruneLimit};
use super::members::SetMember;
use super::scope::GroupKind;
use crate::plan::Object;
use smp_text::diagnostic::{Code, Diagnostic, counted};

/// The number of objects that may be pruned even if they are more than half of the set.
const FEW: usize = 3;

/// The maximum number of objects that the error lists.
const MAX_LISTED: usize = 50;

/// The members of a set that a run would prune.
pub(super) struct PruneCandidates<'m> {
    pub(super) pruned: Vec<SetMember>,
    /// The number of all members, including those that are not pruned.
    pub(super) members: usize,
    /// The kinds of the run's objects.
    pub(super) applied_kinds: &'m BTreeSet<GroupKind>,
}

impl PruneCandidates<'_> {
    /// Returns an error if the limit is exceeded. `other_source` is the target from which the set was last applied, if
    /// it is not `source`.
    pub(super) fn limit_error(
        &self,
        limit: PruneLimit,
        source: Option<&ApplySetSource>,
        other_source: Option<&ApplySetSource>,
    ) -> Option<Diagnostic> {
        let count = self.pruned.len();
        let reason = match limit {
            _ if count == 0 => None,
            PruneLimit::Objects(limit) => (count > limit).then(|| format!(": more than {limit}")),
            PruneLimit::Percent(limit) => {
                (count * 100 > limit * self.members).then(|| format!(": more than {limit} %"))
            }
            PruneLimit::Cautious => match (other_source, source) {
                (Some(other), Some(own)) => {
                    Some(format!(". The set was last applied from {other}, not {own}"))
                }
                _ if count > FEW && count * 2 > self.members => Some(": more than half".into()),
                _ => self.whole_kind_reason(),
            },
        };
        reason.map(|reason| self.error(&reason))
    }

    /// Returns a message if two or more objects of a kind would be pruned and the run applies no object of that kind.
    fn whole_kind_reason(&self) -> Option<String> {
        let mut counts: FxHashMap<GroupKind, usize> = FxHashMap::default();
        for member in &self.pruned {
            *counts.entry(member.group_kind()).or_default() += 1;
        }
        let mut whole: Vec<_> = counts
            .into_iter()
            .filter(|(kind, count)| *count > 1 && !self.applied_kinds.contains(kind))
            .map(|(kind, _)| kind.to_string())
            .collect();
        whole.sort_unstable();
        Some(format!(": all objects of the kind {}", whole.first()?))
    }

    /// Creates the error. `reason` completes its message.
    fn error(&self, reason: &str) -> Diagnostic {
        let count = self.pruned.len();
        let message = format!(
            "{count} of the {} in the ApplySet would be pruned{reason}",
            counted(self.members, "object")
        );
        let names = self.pruned.iter().map(|member| &member.object).take(MAX_LISTED).map(name);
        let problem = names.fold(Diagnostic::error(Code::ApplySet, message), Diagnostic::note);
        let more = count.saturating_sub(MAX_LISTED);
        let problem = if more > 0 { problem.note(format!("and {more} more")) } else { problem };
        problem.help(format!(
            "check the target and the ApplySet; if the objects may be deleted, use --prune-limit={count}"
        ))
    }
}

fn name(object: &Object) -> String {
    match object.namespace.as_str() {
        "" => object.to_string(),
        namespace => format!("{object} in {namespace}"),
    }
}
