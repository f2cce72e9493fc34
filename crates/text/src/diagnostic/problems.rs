//! Problems of the parts of a whole, of which the first does not hide the others.

use super::{Diagnostic, Result};

/// Collects what goes wrong.
#[derive(Debug, Default)]
pub struct Problems(Option<Diagnostic>);

impl Problems {
    /// Adds one.
    pub fn add(&mut self, problem: Diagnostic) {
        self.0 = Some(match self.0.take() {
            Some(first) => first.and(problem),
            None => problem,
        });
    }

    /// The value, if there is one; else what went wrong is kept.
    pub fn value_of<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|problem| self.add(problem)).ok()
    }

    /// Whether nothing went wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// A value, unless something went wrong.
    pub fn or<T>(self, value: T) -> Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
