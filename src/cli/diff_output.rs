//! The output formats and exit statuses of comparisons.

use std::process::ExitCode;

use clap::ValueEnum;

use super::{Outcome, report};
use smp_text::source::SourceMap;

/// The output format of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DiffOutput {
    /// Changed fields with the lines of files that changed them; only for two builds
    Text,
    /// Unified diffs, or the output of KUBECTL_EXTERNAL_DIFF
    Unified,
    /// Unified diffs in two columns, as wide as the terminal; only for two builds
    SideBySide,
    /// The old and new value of each changed field
    Fields,
    /// The path of each changed field
    Paths,
    /// One line per object with its change and risks, and shortened values of fields; only with a cluster
    Plan,
    /// A JSON object with all changes
    Json,
    /// Markdown; only for two builds
    Markdown,
    /// JSON array of comments within GitHub's size limit; only for two builds
    Github,
    /// One self-contained HTML page; only for two builds
    Html,
}

/// The exit status if there are differences.
pub(super) const DIFFERENT: u8 = 1;
/// The exit status of errors. `diff` and `kubectl diff` use values above 1 for them.
pub(super) const ERROR: u8 = 2;

/// Reports a failure with the exit status of `diff` for errors.
pub(super) fn with_error_status(outcome: Outcome, sources: &SourceMap) -> Outcome {
    outcome.or_else(|failure| {
        report(&failure, sources);
        Ok(ExitCode::from(ERROR))
    })
}
