//! Compares the events of this reader with those of the parser, for tests and fuzzing.

use std::ops::Range;

use granit_parser::{Event, Placement};

use super::read_events;
use crate::diagnostic;
use crate::source::Reading;
use crate::yaml::events::{
    CommentEvents, EventOptions, EventPosition, EventReader, FinalLineBreak, Receiver,
};

/// An event, its byte range, and its first and last line.
type Recorded = (String, Range<usize>, usize, usize);

/// Compares the events of a text for each program. Returns false if this reader declines the text.
///
/// # Errors
/// The events differ, or the parser rejects the text. The message contains the first difference.
pub fn compare_readers(text: &str) -> Result<bool, String> {
    let kustomize = EventOptions {
        comments: CommentEvents::Emitted,
        reading: Reading::Kustomize,
        last_break: FinalLineBreak::Unchanged,
    };
    let kubectl = EventOptions {
        comments: CommentEvents::Skipped,
        reading: Reading::Kubectl,
        last_break: FinalLineBreak::Added,
    };
    Ok(compare(text, kustomize)? && compare(text, kubectl)?)
}

fn compare(text: &str, options: EventOptions) -> Result<bool, String> {
    let Some(Recording(events)) = read_events(text, options, Recording::default()) else { return Ok(false) };
    let Recording(expected) = EventReader { text, options }
        .read(Recording::default, Recording::event)
        .map_err(|error| format!("the parser rejects the text at {:?}", error.position()))?;
    match (0..events.len().max(expected.len())).find(|i| events.get(*i) != expected.get(*i)) {
        None => Ok(true),
        Some(i) => Err(format!("{:?} instead of {:?}", events.get(i), expected.get(i))),
    }
}

#[derive(Default)]
struct Recording(Vec<Recorded>);

impl Receiver for Recording {
    fn event(&mut self, event: Event<'_>, at: &EventPosition) -> diagnostic::Result<()> {
        let event = match event {
            // Comments that are alone on their line are not distinguished by placement.
            Event::Comment(text, placement) => format!("{text} {}", placement == Placement::Right),
            other => format!("{other:?}"),
        };
        self.0.push((event, at.range.clone(), at.first_line, at.last_line));
        Ok(())
    }
}
