//! What was found in all targets, as data.

use std::path::PathBuf;

use rustc_hash::FxHashSet;

use smp_text::diagnostic::{Diagnostic, MessageRenderer, RenderedPlace, Severity};

/// What was found in all targets.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// The findings, those of the first target first, by file and line.
    pub findings: Vec<Diagnostic>,
    /// How many targets were looked at.
    pub targets: usize,
    /// What they are called.
    pub target_names: Vec<PathBuf>,
    /// Those of them that do not build. What is said of these goes into no baseline.
    pub unbuilt: FxHashSet<PathBuf>,
    /// How many findings comments and `.smp.yaml` silence.
    pub silenced: usize,
    /// How many findings the baseline knows.
    pub known: usize,
}

impl CheckReport {
    /// Whether one of the findings is more than a note.
    #[must_use]
    pub fn has_problems(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity() != Severity::Note)
    }

    /// Takes findings out of the report.
    #[must_use]
    pub fn take(&mut self, is_taken: impl Fn(&Diagnostic) -> bool) -> Vec<Diagnostic> {
        let (taken, kept) = std::mem::take(&mut self.findings).into_iter().partition(is_taken);
        self.findings = kept;
        taken
    }

    /// Whether one of the findings is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity() == Severity::Error)
    }
}

/// The main place of a finding.
pub(super) fn main_place(finding: &Diagnostic, renderer: &MessageRenderer<'_>) -> Option<RenderedPlace> {
    renderer.places(finding).into_iter().next()
}
