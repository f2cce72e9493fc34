//! Removes the dangers that comments and configurations suppress.

use std::path::Path;

use super::changes::ChangeDanger;
use super::report::{Review, TargetOutcome, TargetReview};
use crate::check::{CheckConfig, SuppressionComments};
use smp_text::diagnostic::MessageRenderer;
use smp_text::source::{SourceMap, Span};

/// The suppressions of dangers.
///
/// A change must not be able to suppress its own dangers. Therefore only comments on the lines before the change are
/// used, unless the new side is trusted.
pub struct DangerSuppressions<'s> {
    /// The sources of both sides.
    pub sources: &'s SourceMap,
    /// Renders the paths that configurations select.
    pub renderer: &'s MessageRenderer<'s>,
    /// True if comments on changed lines are also used.
    pub trusts_new: bool,
}

impl DangerSuppressions<'_> {
    /// Removes suppressed dangers. `config` returns the configuration of a target.
    pub fn apply<'c>(&self, review: &mut Review, config: impl Fn(&TargetReview) -> Option<&'c CheckConfig>) {
        let mut comments = SuppressionComments::default();
        for target in &mut review.targets {
            let config = config(target);
            let TargetOutcome::Compared(changes) = &mut target.outcome else { continue };
            for object in &mut changes.objects {
                let before = object.dangers.len();
                object.dangers.retain(|danger| !self.is_suppressed(danger, config, &mut comments));
                review.suppressed += before - object.dangers.len();
            }
        }
    }

    fn is_suppressed(
        &self,
        danger: &ChangeDanger,
        config: Option<&CheckConfig>,
        comments: &mut SuppressionComments,
    ) -> bool {
        let code = danger.finding.code();
        let after = danger.finding.labels().first().map(|label| label.span);
        let lines = [danger.before, after.filter(|_| self.trusts_new)];
        let by_comment = |at: Span| comments.suppresses(code, at, self.sources);
        if lines.into_iter().flatten().any(by_comment) {
            return true;
        }
        let file = after.and_then(|at| self.renderer.location(at)).map(|at| at.file).unwrap_or_default();
        config.is_some_and(|config| config.ignored.iter().any(|entry| entry.covers(code, Path::new(&file))))
    }
}
