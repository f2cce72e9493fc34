//! Provenance of values: the steps of a build, and the locations of what they wrote.
//!
//! On request, a build keeps a [`History`] for each resource. After each step the resource is compared with its
//! history, so every write is recorded, whatever caused it. The location of a value is its own
//! [`Span`](smp_text::source::Span), which moves with it from text to text. A step declares the locations of the
//! text that it writes. This module knows trees and locations, but no kustomizations.

mod history;
mod known;
mod list;
mod patch_line;
#[cfg(test)]
mod tests;
mod touched;
mod writer;

pub use history::History;
pub use known::changes;
pub use known::{KnownValue, RemovedValue, Write};
pub use patch_line::{OperationPart, place_in_patch};
pub use touched::{Touched, TouchedStep};
pub use writer::{Cause, PlaceKeeping, Writer, WriterEntry};
