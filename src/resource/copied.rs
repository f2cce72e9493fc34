//! How much of the resources of a set was copied from other fields of them.

use crate::diagnostic::{Code, Diagnostic, Result};

/// How many bytes copies may add to the resources of a build: a few that copy their own surroundings would fill any
/// memory. Real builds stay below a hundredth of it.
const MAX_COPIED: usize = 64 << 20;

/// How many bytes replacements, variables and JSON patches have copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied(usize);

impl Copied {
    /// Takes note of more.
    ///
    /// # Errors
    /// It is more than a build may copy.
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 <= MAX_COPIED {
            return Ok(());
        }
        let message = format!("copies of values add more than {MAX_COPIED} bytes to the resources");
        Err(Diagnostic::error(Code::LimitExceeded, message)
            .help("copies that contain what was copied before double each time: copy only what is needed"))
    }

    /// Takes note of what another set was given.
    pub(super) fn merge(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}
