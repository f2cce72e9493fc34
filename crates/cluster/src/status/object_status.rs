//! How far an object is, as data.

use std::fmt;

/// How far an object is, in the words of kstatus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Readiness {
    /// It is what its spec asks for.
    Current,
    /// It is on its way there.
    InProgress,
    /// It will not get there by itself.
    Failed,
    /// It is being deleted.
    Terminating,
    /// It is not there.
    NotFound,
    /// What it says cannot be read, or says nothing.
    Unknown,
}

impl Readiness {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Current => "Current",
            Self::InProgress => "InProgress",
            Self::Failed => "Failed",
            Self::Terminating => "Terminating",
            Self::NotFound => "NotFound",
            Self::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How far an object is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectStatus {
    /// How far it is.
    pub readiness: Readiness,
    /// One word for why, such as `LessReady`; empty when it is ready.
    pub reason: String,
    /// The same for people. May hold anything that a controller wrote.
    pub message: String,
}

impl ObjectStatus {
    pub(crate) fn new(readiness: Readiness, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { readiness, reason: reason.into(), message: message.into() }
    }

    pub(super) fn current(message: impl Into<String>) -> Self {
        Self::new(Readiness::Current, "", message)
    }

    pub(super) fn in_progress(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Readiness::InProgress, reason, message)
    }

    pub(super) fn failed(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Readiness::Failed, reason, message)
    }

    /// Of an object that is not there.
    pub(crate) fn not_found() -> Self {
        Self::new(Readiness::NotFound, "NotFound", "it is not there")
    }
}

/// What an object is whose controller has said nothing yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WithoutStatus {
    /// Ready, as kstatus has it: many kinds never have a status.
    #[default]
    Current,
    /// Not known: it waits for its controller. A condition Ready that is of an older generation says nothing, either.
    Unknown,
}

/// A status, or what of the object is of a type that it cannot have.
pub(super) type Ruled = Result<ObjectStatus, String>;
