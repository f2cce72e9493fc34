//! The outcome of a command: an exit status or a failure.

use std::io;
use std::process::ExitCode;

use super::{render, signals};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::SourceMap;

/// The reason why a command failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Problems to print on stderr.
    Problems(Vec<Diagnostic>),
    /// An invalid combination of arguments.
    Usage(String),
    /// An invalid argument or configuration with a source location.
    UsageAt(Diagnostic),
    /// Standard output could not be written.
    Stdout(io::Error),
    /// Any other error.
    Other(anyhow::Error),
}

impl Failure {
    /// Returns the first problem, for a failure that affects all targets of a command.
    pub(super) fn into_diagnostic(self) -> Diagnostic {
        match self {
            Self::Problems(mut problems) if !problems.is_empty() => problems.remove(0),
            Self::UsageAt(problem) => problem,
            Self::Usage(message) => Diagnostic::error(Code::Usage, message),
            Self::Problems(_) => Diagnostic::error(Code::Usage, "the flags are invalid"),
            Self::Stdout(error) => Diagnostic::error(Code::Io, error.to_string()),
            Self::Other(error) => Diagnostic::error(Code::Usage, error.to_string()),
        }
    }
}

#[cfg(feature = "cluster")]
impl Failure {
    /// Creates the failure for a problem with a cluster. If an argument is invalid, it is a usage
    /// error.
    pub(super) fn from_server(problem: Diagnostic) -> Self {
        if problem.code() == Code::Usage { Self::UsageAt(problem) } else { problem.into() }
    }
}

impl From<Diagnostic> for Failure {
    fn from(problem: Diagnostic) -> Self {
        Self::Problems(vec![problem])
    }
}

impl From<Vec<Diagnostic>> for Failure {
    fn from(problems: Vec<Diagnostic>) -> Self {
        Self::Problems(problems)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

/// Converts errors of standard output. All other I/O errors are a [`Diagnostic`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Stdout(error)
    }
}

/// The exit status of an invalid command line, as in clap.
const USAGE: u8 = 2;

pub(super) type Outcome = Result<ExitCode, Failure>;

/// Prints a failure on stderr and returns the exit status.
pub(super) fn report(failure: &Failure, sources: &SourceMap) -> ExitCode {
    match failure {
        Failure::Problems(problems) => render::print(problems, sources),
        Failure::Usage(message) => {
            render::print(&[Diagnostic::error(Code::Usage, message)], sources);
            return ExitCode::from(USAGE);
        }
        Failure::UsageAt(problem) => {
            render::print(std::slice::from_ref(problem), sources);
            return ExitCode::from(USAGE);
        }
        // The reader closed the pipe, as in `kubectl smp build | head`.
        Failure::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe => signals::exit_by_broken_pipe(),
        Failure::Stdout(error) => {
            let message = format!("cannot write to standard output: {error}");
            render::print(&[Diagnostic::error(Code::Io, message)], sources);
        }
        Failure::Other(error) => {
            render::print(&[Diagnostic::error(Code::SystemResource, format!("{error:#}"))], sources);
        }
    }
    ExitCode::FAILURE
}
