//! The status of an object.

use std::fmt;

/// The readiness of an object, as in kstatus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Readiness {
    /// The live state matches the spec.
    Current,
    /// The controller is still reconciling.
    InProgress,
    /// The object will not become ready without intervention.
    Failed,
    /// The object is being deleted.
    Terminating,
    /// The object does not exist.
    NotFound,
    /// The status is invalid or inconclusive.
    Unknown,
}

impl Readiness {
    /// Returns the name of the variant.
    #[must_use]
    pub fn as_str(self) -> &'static str {
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
        f.write_str(self.as_str())
    }
}

/// The readiness of an object, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectStatus {
    /// The readiness.
    pub readiness: Readiness,
    /// The reason as one word, such as `LessReady`; empty if the object is ready.
    pub reason: String,
    /// A message. May contain any text that a controller wrote.
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

    /// Returns the status of an object that does not exist.
    pub(crate) fn not_found() -> Self {
        Self::new(Readiness::NotFound, "NotFound", "not found")
    }
}

/// The readiness of objects whose controller has not set a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingStatus {
    /// Ready, as in kstatus, since objects of many kinds never have a status.
    #[default]
    Current,
    /// Unknown until the controller sets a status. A condition Ready of an older generation is also ignored.
    Unknown,
}

/// A status, or the reason why the object's fields are invalid.
pub(super) type StatusResult = Result<ObjectStatus, String>;
