//! What made values what they are: the steps of a build, and the places where what they wrote stands.
//!
//! A build that is asked for it keeps a [`History`] beside each resource. After each step the resource is compared
//! with what is known of it, so that nothing can be written unseen, whatever wrote it. The place of a value is
//! its own [`Span`](smp_text::source::Span), which goes with it from text to text; what writes a value says where what
//! it writes stands. Knows trees and places; knows nothing of kustomizations.

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
