//! The provenance of values: the steps of a build, and the source locations of the values that they wrote.
//!
//! On request, a build keeps a [`History`] for each resource. After each step the resource is compared with its
//! history, so every write is recorded, whatever caused it. Each value has a [`Span`](smp_text::source::Span), which is
//! copied with the value. A step declares the locations of the text that it writes. This module depends on trees and
//! locations, but not on kustomizations.

mod entry_matching;
mod history;
mod patch_location;
#[cfg(test)]
mod tests;
mod touched;
mod value_history;
mod writer;

pub use history::History;
pub use patch_location::{OperationPart, location_in_patch};
pub use touched::{Touched, TouchedStep};
pub use value_history::changes;
pub use value_history::{RemovedValue, ValueHistory, Write};
pub use writer::{Cause, LocationKeeping, Writer, WriterEntry};
