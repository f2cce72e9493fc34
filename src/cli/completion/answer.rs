//! The response to a completion request: completions, and a directive to the shell.

/// A completion directive of cobra. Its value is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    /// The shell completes files if there are no completions.
    Files = 0,
    /// The shell adds no space, and completes no files.
    NoSpace = 2 | 4,
    /// The shell completes no files.
    Nothing = 4,
    /// The shell completes directories.
    Directories = 16,
}

/// A possible completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub text: String,
    pub description: String,
}

/// The response to a completion request.
#[derive(Debug)]
pub(super) struct Completions {
    pub candidates: Vec<Candidate>,
    pub directive: Directive,
}

impl Completions {
    /// Creates the response for a closed list of values.
    pub(super) fn closed(candidates: Vec<Candidate>) -> Self {
        Self { candidates, directive: Directive::Nothing }
    }

    /// Creates the response that leaves the completion to the shell.
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
