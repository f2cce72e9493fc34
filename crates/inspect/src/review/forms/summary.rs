//! The counts of a review.

use std::collections::BTreeMap;

use super::text::values_of;
use crate::review::{Action, Review, image_changes};
use smp_text::diagnostic::{MessageRenderer, counted};

/// Returns the counts of a review as lines: targets, objects of each kind, images and dangers.
#[must_use]
pub fn summary_lines(review: &Review, renderer: &MessageRenderer<'_>) -> Vec<String> {
    let mut lines = vec![super::summary(review)];
    for failed in review.targets.iter().filter(|target| target.failure().is_some()) {
        lines.push(format!("! {} {}", failed.target.display(), failed.failure().unwrap_or_default()));
    }
    for (action, kinds) in counts(review) {
        let kinds: Vec<_> = kinds.iter().map(|(kind, count)| counted(*count, kind)).collect();
        lines.push(format!("{} {} {}", action.sign(), action.as_str(), kinds.join(", ")));
    }
    let reordered = review.targets.iter().filter(|target| target.is_reordered()).count();
    if reordered > 0 {
        lines.push(format!("~ order of the objects in {}", counted(reordered, "target")));
    }
    for change in image_changes(review, renderer) {
        let at = change.at.as_ref().map(|(file, line)| format!(" at {file}:{line}")).unwrap_or_default();
        let text = values_of(change.old.as_deref(), change.new.as_deref());
        lines.push(format!("~ image {text} in {}{at}", counted(change.count, "container")));
    }
    let mut dangers: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, object) in review.objects() {
        for danger in &object.dangers {
            *dangers.entry(danger.finding.code().name()).or_default() += 1;
        }
    }
    lines.extend(dangers.iter().map(|(code, count)| format!("! {code}: {}", counted(*count, "change"))));
    lines
}

/// Returns the number of objects of each kind, by change.
pub(super) fn counts(review: &Review) -> BTreeMap<Action, BTreeMap<String, usize>> {
    let mut counts: BTreeMap<Action, BTreeMap<String, usize>> = BTreeMap::new();
    for (_, object) in review.objects() {
        *counts.entry(object.action).or_default().entry(object.id.gvk.kind.to_string()).or_default() += 1;
    }
    counts
}
