//! The answer to a request: completions, and a directive to the shell.

/// A completion directive of cobra, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    /// It completes files if there is no completion.
    Files = 0,
    /// It adds no space, and completes no files.
    NoSpace = 2 | 4,
    /// It completes no files.
    Nothing = 4,
    /// It completes directories.
    Directories = 16,
}

/// A possible end of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub text: String,
    pub description: String,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) struct Completions {
    pub candidates: Vec<Candidate>,
    pub directive: Directive,
}

impl Completions {
    /// Creates the answer for a closed list of values.
    pub(super) fn closed(candidates: Vec<Candidate>) -> Self {
        Self { candidates, directive: Directive::Nothing }
    }

    /// Leaves the completion to the shell.
    pub(super) fn by_shell(directive: Directive) -> Self {
        Self { candidates: Vec::new(), directive }
    }
}

impl Candidate {
    pub(super) fn new(text: impl Into<String>, description: impl Into<String>) -> Self {
        Self { text: text.into(), description: description.into() }
    }

    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self::new(text, "")
    }
}
