//! The rule `many-targets`: one line changes many targets. It checks all targets of a review.

use std::collections::BTreeSet;

use super::changes::ChangeDanger;
use super::forms::{FoldedChange, fold};
use super::report::{Review, TargetOutcome};
use crate::check::{Finder, MANY_TARGETS, RULES};
use smp_text::diagnostic::{Diagnostic, MessageRenderer, counted};
use smp_text::path::pointer_to;

/// Adds the dangers of changes that affect many targets and are caused by one line. Each danger is added to the first
/// object that the line changes.
pub fn add_many_targets_dangers(review: &mut Review, renderer: &MessageRenderer<'_>) {
    let Some(rule) = RULES.iter().find(|rule| matches!(rule.finder, Finder::Review)) else { return };
    let targets_of = |change: &FoldedChange| {
        change.changes.iter().map(|[target, ..]| *target).collect::<BTreeSet<_>>().len()
    };
    for change in fold(review, renderer) {
        let (count, Some([t, o, f])) = (targets_of(&change), change.changes.first().copied()) else {
            continue;
        };
        let TargetOutcome::Compared(changes) = &mut review.targets[t].outcome else { continue };
        if count < MANY_TARGETS {
            continue;
        }
        let object = &mut changes.objects[o];
        let field = &object.fields[f];
        let positions = object.new.as_ref().map(|node| field.path.positions(node)).unwrap_or_default();
        let objects = counted(change.objects(), "object");
        let message = format!("the line changes {objects} in {count} targets");
        let finding =
            Diagnostic::warning(rule.code, message).resource(&object.id).field(pointer_to(&positions));
        let finding = field.at[1].or(field.at[0]).into_iter().fold(finding, Diagnostic::at);
        let before = field.at[0];
        object.dangers.push(ChangeDanger { finding: finding.help(rule.code.remedy()), before });
    }
}
