//! What stands in a text, event by event, as libyaml sees it.
//!
//! The parser is stricter than libyaml (and so than kubectl and kustomize) in one thing and laxer in two.
//! How far the further lines of quoted scalars and flow collections are indented means nothing to libyaml; when
//! the parser complains, such lines are padded and read again. On the other hand libyaml takes no tab where it
//! looks for indentation, and no document behind `...` that does not begin with `---`.

mod lines;
mod padding;
#[cfg(test)]
mod tests;

pub(super) use padding::{BOM, mark_of};

use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser};

use self::lines::Lines;
use self::padding::{Padded, pads};
use crate::diagnostic::{self, Diagnostic};
use crate::source::Reading;

/// How deep maps and lists may nest. What walks trees by recursion relies on this bound.
pub(super) const MAX_DEPTH: usize = 250;

/// Where an event stands.
#[derive(Debug, Clone)]
pub(super) struct EventPlace {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Its first line, from 1.
    pub first_line: usize,
    /// Its last line, from 1.
    pub last_line: usize,
}

/// Why the events of a text were not read to their end.
pub(super) enum Unreadable {
    /// The text is not YAML, as seen at the byte `at`.
    Syntax { kind: Option<ErrorKind>, message: String, at: usize },
    /// Whom the events were shown refused one.
    Refused(Diagnostic),
}

impl Unreadable {
    /// What only libyaml refuses.
    fn not_libyaml(message: &str, at: usize) -> Self {
        Self::Syntax { kind: None, message: message.to_string(), at }
    }

    fn is_of_indentation(&self) -> bool {
        use ErrorKind::{InvalidQuotedScalarIndent, TabInBlockIndentation, TabInIndentation};
        matches!(
            self,
            Self::Syntax {
                kind: Some(InvalidQuotedScalarIndent | TabInBlockIndentation | TabInIndentation),
                ..
            }
        )
    }
}

/// What becomes of comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommentEvents {
    Shown,
    PassedOver,
}

/// Shows `step` the events of a text, in order, with a state that `start` makes.
///
/// A byte order mark is passed over. When a text is read again, it begins with a new state. As kubectl reads them,
/// JSON objects that follow each other are documents.
///
/// # Errors
/// The text is not YAML, or `step` fails.
pub(super) fn read_events<S>(
    text: &str,
    comments: CommentEvents,
    reading: Reading,
    start: impl Fn() -> S,
    step: impl Fn(&mut S, Event<'_>, &EventPlace) -> diagnostic::Result<()>,
) -> Result<S, Unreadable> {
    let read = |padded: &Padded<'_>| -> Result<_, Unreadable> {
        let (mut state, mut lines) = (start(), Lines::of(text, padded));
        read_once(padded, comments, &mut lines, |event, place| step(&mut state, event, place))?;
        Ok((state, lines))
    };
    let complaint = match read(&Padded::not(text)) {
        Ok((state, _)) => return Ok(state),
        Err(failure) if failure.is_of_indentation() => failure,
        Err(failure @ Unreadable::Syntax { .. }) if reading == Reading::Kubectl => {
            let Some(separated) = Padded::separated(text) else { return Err(failure) };
            return read(&separated).map(|(state, _)| state);
        }
        Err(failure) => return Err(failure),
    };
    let mut pads = pads(text);
    // What looked like a quoted scalar may be a line of a block scalar, where padding means something.
    for _ in 0..2 {
        match read(&Padded::new(text, &pads)) {
            Ok((state, lines)) if lines.pads.iter().all(|line| line.is_inside) => return Ok(state),
            Ok((_, lines)) => {
                let mut inside = lines.pads.iter().map(|line| line.is_inside);
                pads.retain(|_| inside.next().unwrap_or_default());
            }
            Err(failure @ Unreadable::Refused(_)) => return Err(failure),
            Err(_) => break,
        }
    }
    Err(complaint)
}

fn read_once(
    padded: &Padded<'_>,
    comments: CommentEvents,
    lines: &mut Lines<'_>,
    mut step: impl FnMut(Event<'_>, &EventPlace) -> diagnostic::Result<()>,
) -> Result<(), Unreadable> {
    let mut documents = 0;
    for event in Parser::new_from_str_with_options(padded.body(), options(comments)) {
        let (mut event, span) = event.map_err(|error| Unreadable::Syntax {
            kind: Some(error.kind().clone()),
            message: error.info().clone(),
            at: padded.original(error.marker().byte_offset().unwrap_or_default()),
        })?;
        let bytes = span.byte_range().unwrap_or_default();
        let place = EventPlace {
            range: padded.original(bytes.start)..padded.original(bytes.end),
            first_line: span.start.line(),
            last_line: span.end.line(),
        };
        if let Event::DocumentStart(explicit, _) = &mut event {
            if documents > 0 && !*explicit {
                let message = "a document begins without `---` behind the end of another";
                return Err(Unreadable::not_libyaml(message, place.range.start));
            }
            *explicit &= !padded.is_separated;
            documents += 1;
        }
        if !lines.is_empty() {
            lines.event(&event, &span, &place.range);
        }
        step(event, &place).map_err(Unreadable::Refused)?;
    }
    match lines.wrong_tab() {
        None => Ok(()),
        Some(at) => Err(Unreadable::not_libyaml("a tab stands where YAML looks for indentation", at)),
    }
}

fn options(comments: CommentEvents) -> granit_parser::Options {
    granit_parser::options! {
        emit_comments: comments == CommentEvents::Shown,
        max_buffered_comment_events: usize::MAX,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    }
}
