//! Collects problems, so that the first one does not hide the others.

use super::{Diagnostic, Result};

/// Collects problems into one diagnostic.
#[derive(Debug, Default)]
pub struct Problems(Option<Diagnostic>);

impl Problems {
    /// Adds a problem.
    pub fn add(&mut self, problem: Diagnostic) {
        self.0 = Some(match self.0.take() {
            Some(first) => first.with_attached(problem),
            None => problem,
        });
    }

    /// Returns the value of a result, or adds its error.
    pub fn ok_or_add<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|problem| self.add(problem)).ok()
    }

    /// Returns true if no problem was added.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns `value`, or the problems if there are any.
    pub fn into_result<T>(self, value: T) -> Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
