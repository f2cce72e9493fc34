//! Receivers of events, and the options of parsing a text into events.

use std::ops::Range;

use granit_parser::Event;

use super::last_line::FinalLineBreak;
use crate::diagnostic;
use crate::source::Reading;

/// The position of an event.
#[derive(Debug, Clone)]
pub(in crate::yaml) struct EventPosition {
    /// The byte range in the text.
    pub range: Range<usize>,
    /// The first line, starting at 1.
    pub first_line: usize,
    /// The last line, starting at 1.
    pub last_line: usize,
}

/// Determines whether comments are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::yaml) enum CommentEvents {
    Emitted,
    Skipped,
}

/// Options of parsing a text into events.
#[derive(Debug, Clone, Copy)]
pub(in crate::yaml) struct EventOptions {
    pub comments: CommentEvents,
    pub reading: Reading,
    pub last_break: FinalLineBreak,
}

impl EventOptions {
    /// Returns the options for manifests.
    pub fn manifests(comments: CommentEvents, reading: Reading) -> Self {
        Self { comments, reading, last_break: FinalLineBreak::for_manifests(reading) }
    }
}

/// A receiver of the events of a text.
pub(in crate::yaml) trait Receiver {
    /// Processes an event. An error stops the parsing.
    fn event(&mut self, event: Event<'_>, position: &EventPosition) -> diagnostic::Result<()>;
}
