//! What comes of a command: an exit status, or why it did not succeed.

use std::io;
use std::process::ExitCode;

use super::{ending, render};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::SourceMap;

/// Why a command did not succeed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Problems with places, to be shown on stderr.
    Problems(Vec<Diagnostic>),
    /// Arguments that do not fit together.
    Usage(String),
    /// What tells the command how to work makes no sense, and has a place.
    WrongUse(Diagnostic),
    /// What was to be printed could not be.
    Stdout(io::Error),
    /// Anything else.
    Other(anyhow::Error),
}

#[cfg(feature = "cluster")]
impl Failure {
    /// What is wrong with words of the command line that a server was asked about, or with the server.
    pub(super) fn of_words(problem: Diagnostic) -> Self {
        if problem.code() == Code::Usage { Self::WrongUse(problem) } else { problem.into() }
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

/// All else that can fail says so with a problem.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Stdout(error)
    }
}

/// The exit status for arguments that make no command, as clap has it.
const USAGE: u8 = 2;

pub(super) type Outcome = Result<ExitCode, Failure>;

/// Says on stderr why a command did not succeed.
pub(super) fn report(failure: &Failure, sources: &SourceMap) -> ExitCode {
    match failure {
        Failure::Problems(problems) => render::print(problems, sources),
        Failure::Usage(message) => {
            render::print(&[Diagnostic::error(Code::Usage, message)], sources);
            return ExitCode::from(USAGE);
        }
        Failure::WrongUse(problem) => {
            render::print(std::slice::from_ref(problem), sources);
            return ExitCode::from(USAGE);
        }
        // Whoever reads our output has seen enough, as in `kubectl smp build | head`, and the shell is told.
        Failure::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe => ending::by_broken_pipe(),
        Failure::Stdout(error) => {
            let message = format!("standard output cannot be written: {error}");
            render::print(&[Diagnostic::error(Code::Io, message)], sources);
        }
        Failure::Other(error) => {
            render::print(&[Diagnostic::error(Code::Failed, format!("{error:#}"))], sources);
        }
    }
    ExitCode::FAILURE
}
