//! Values of a resource that a step may have changed.

use smol_str::SmolStr;

/// The values that may have changed since the history of a resource was last brought up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// Any of them.
    All,
    /// Those at or below these paths; no other value has moved.
    Paths(Vec<Vec<TouchedStep>>),
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TouchedStep {
    /// A field of a map, and the position at which it most likely is.
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
