//! What comes of a command: an exit status, or why it did not succeed.

use std::io;
use std::process::ExitCode;

use super::render;
use crate::diagnostic::{Diagnostic, Severity};
use crate::files::ReplaceError;
use crate::source::SourceMap;

/// Why a command did not succeed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Problems with places, to be shown on stderr.
    Problems(Vec<Diagnostic>),
    /// Anything else.
    Other(anyhow::Error),
}

impl From<Diagnostic> for Failure {
    fn from(problem: Diagnostic) -> Self {
        Self::Problems(vec![problem])
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<ReplaceError> for Failure {
    fn from(error: ReplaceError) -> Self {
        Self::Other(error.into())
    }
}

pub(super) type Outcome = Result<ExitCode, Failure>;

/// Says on stderr why a command did not succeed.
pub(super) fn report(failure: &Failure, sources: &SourceMap) -> ExitCode {
    match failure {
        Failure::Problems(problems) => render::print(problems, sources),
        // Whoever reads our output has seen enough: `kubectl smp build | head`.
        Failure::Other(error) if is_broken_pipe(error) => return ExitCode::SUCCESS,
        Failure::Other(error) => render::print_plain(Severity::Error, &format!("{error:#}")),
    }
    ExitCode::FAILURE
}

pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}
