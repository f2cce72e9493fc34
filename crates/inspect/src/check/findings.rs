//! The findings of all targets, as data.

use std::path::PathBuf;

use rustc_hash::FxHashSet;

use smp_text::diagnostic::{Diagnostic, MessageRenderer, RenderedLocation, Severity};

/// The findings of all targets.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// The findings, ordered by target, file and line.
    pub findings: Vec<Diagnostic>,
    /// The number of checked targets.
    pub targets: usize,
    /// The paths of the checked targets.
    pub target_names: Vec<PathBuf>,
    /// The targets that do not build. Their findings are not written to baselines.
    pub failed: FxHashSet<PathBuf>,
    /// The number of findings that comments and `.smp.yaml` suppress.
    pub suppressed: usize,
    /// The number of findings that the baseline lists.
    pub in_baseline: usize,
    /// True if the baseline consists of the findings in an old revision.
    pub is_revision: bool,
}

impl CheckReport {
    /// Returns true if a finding is an error or a warning.
    #[must_use]
    pub fn has_problems(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity() != Severity::Note)
    }

    /// Removes the findings for which `is_taken` returns true from the report, and returns them.
    #[must_use]
    pub fn take(&mut self, is_taken: impl Fn(&Diagnostic) -> bool) -> Vec<Diagnostic> {
        let (taken, kept) = std::mem::take(&mut self.findings).into_iter().partition(is_taken);
        self.findings = kept;
        taken
    }

    /// Returns true if a finding is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity() == Severity::Error)
    }
}

/// Returns the main location of a finding.
pub(super) fn main_location(
    finding: &Diagnostic,
    renderer: &MessageRenderer<'_>,
) -> Option<RenderedLocation> {
    renderer.locations(finding).into_iter().next()
}
