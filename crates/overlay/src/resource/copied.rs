//! The number of bytes that copies added to the resources of a set.

use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The number of bytes that copies may add to the resources of a build.
///
/// A few copies that contain their own surroundings could fill any memory. Real builds need less than a hundredth of
/// this.
const MAX_COPIED: usize = 64 << 20;

/// Values up to this length are not counted.
const SHORT: usize = 1 << 10;

/// The number of bytes copied by replacements, variables and JSON patches, and by values that go into many
/// resources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied(usize);

impl Copied {
    /// Adds bytes.
    ///
    /// # Errors
    /// The total exceeds the limit of a build.
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 <= MAX_COPIED {
            return Ok(());
        }
        let message = format!("copies of values add more than {MAX_COPIED} bytes to the resources");
        Err(Diagnostic::error(Code::LimitExceeded, message).help(
            "each copy that contains earlier copies doubles the size: copy only the value that is needed",
        ))
    }

    /// Adds the bytes of a value that may go into each of several resources. Short values (such as names) are
    /// not counted, since they are small compared with the resources.
    ///
    /// # Errors
    /// The errors of [`Copied::add`].
    pub fn add_to_each(&mut self, bytes: usize, resources: usize) -> Result<()> {
        if bytes <= SHORT { Ok(()) } else { self.add(bytes.saturating_mul(resources)) }
    }

    /// Adds the bytes of another set.
    pub(super) fn merge(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}
