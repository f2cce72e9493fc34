//! How much of the resources of a set was copied from other fields of them.

use smp_text::diagnostic::{Code, Diagnostic, Result};

/// How many bytes copies may add to the resources of a build: a few that copy their own surroundings would fill any
/// memory. Real builds stay below a hundredth of it.
const MAX_COPIED: usize = 64 << 20;

/// What no longer text than this takes is not counted.
const SHORT: usize = 1 << 10;

/// How many bytes were copied: by replacements, variables and JSON patches, and of what goes into many resources.
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

    /// Takes note of what may go into each of several resources, by its bytes. What is as short as names are is no
    /// burden beside the resources themselves.
    ///
    /// # Errors
    /// As [`Copied::add`].
    pub fn add_to_each(&mut self, bytes: usize, resources: usize) -> Result<()> {
        if bytes <= SHORT { Ok(()) } else { self.add(bytes.saturating_mul(resources)) }
    }

    /// Takes note of what another set was given.
    pub(super) fn merge(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}
