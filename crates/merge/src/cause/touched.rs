//! The values of a resource that a step may have changed.

use smol_str::SmolStr;

/// The values that may have changed since the history of a resource was last updated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// Any value.
    All,
    /// The values at or below these paths. All other values are unchanged and have the same indices in their lists.
    Paths(Vec<Vec<TouchedStep>>),
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TouchedStep {
    /// A field of a map: its name, and the index at which to look for it first.
    Field(SmolStr, usize),
    /// An entry of a list.
    Entry(usize),
}

impl Touched {
    /// Adds the values that another change may have changed.
    pub fn add(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Paths(paths), Self::Paths(more)) => paths.extend(more),
            (Self::All, _) | (_, Self::All) => *self = Self::All,
        }
    }
}
