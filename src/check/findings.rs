//! What was found in all targets, as data.

use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, MessageRenderer, RenderedPlace, Severity};

/// What was found in all targets.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// The findings, those of the first target first, by file and line.
    pub findings: Vec<Diagnostic>,
    /// How many targets were looked at.
    pub targets: usize,
    /// What they are called.
    pub target_names: Vec<PathBuf>,
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
