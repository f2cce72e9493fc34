//! What stands in a text, event by event, as libyaml sees it.
//!
//! The parser is stricter than libyaml (and so than kubectl and kustomize) in two things and laxer in four.
//! How far the further lines of quoted scalars and flow collections are indented means nothing to libyaml; when
//! the parser complains, such lines are padded and read again. So are texts with a byte order mark at the start of
//! a later document. On the other hand libyaml takes no tab where it looks for indentation, no document behind
//! `...` that does not begin with `---`, no `...` where a document should stand, and no directive that it does not know.
//! It knows more line breaks, too, and reads a few tokens otherwise.

mod breaks;
mod lines;
mod markers;
mod padding;
#[cfg(test)]
mod tests;
mod tokens;

pub(super) use padding::{BOM, mark_of};

use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser};

use self::breaks::BrokenText;
use self::lines::Lines;
use self::markers::Markers;
use self::padding::{FAR, Padded, pads, without_later_marks};
use self::tokens::Tokens;
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
    /// The same at another place.
    fn at(self, place: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Syntax { kind, message, at } => Self::Syntax { kind, message, at: place(at) },
            refused @ Self::Refused(_) => refused,
        }
    }

    fn is_of_mark(&self) -> bool {
        matches!(self, Self::Syntax { kind: Some(ErrorKind::BomInsideDocument), .. })
    }

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
    // JSON is no YAML to kubectl.
    let is_json = reading == Reading::Kubectl && text.trim_start().starts_with('{');
    let Some(broken) = BrokenText::of(text).filter(|_| !is_json) else {
        return read_lines(text, comments, reading, start, step);
    };
    let restored = |state: &mut S, event: Event<'_>, place: &EventPlace| {
        let range = broken.original(place.range.start)..broken.original(place.range.end);
        step(state, broken.restored(event), &EventPlace { range, ..place.clone() })
    };
    read_lines(&broken.text, comments, reading, start, restored)
        .map_err(|error| error.at(|at| broken.original(at)))
}

/// As [`read_events`], for a text whose line breaks the parser knows.
fn read_lines<S>(
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
        Err(failure) if failure.is_of_mark() => {
            let Some(text) = without_later_marks(text) else { return Err(failure) };
            return read_lines(&text, comments, reading, start, step);
        }
        Err(failure @ Unreadable::Syntax { .. }) if reading == Reading::Kubectl => {
            let Some(separated) = Padded::separated(text) else { return Err(failure) };
            return read(&separated).map(|(state, _)| state);
        }
        Err(failure) => return Err(failure),
    };
    for far in FAR {
        if let Some(padded) = read_padded(text, far, read) {
            return padded;
        }
    }
    Err(complaint)
}

/// Reads a text with the lines padded that seem to need it; none where that does not help.
fn read_padded<'t, S>(
    text: &'t str,
    far: usize,
    read: impl Fn(&Padded<'_>) -> Result<(S, Lines<'t>), Unreadable>,
) -> Option<Result<S, Unreadable>> {
    let mut pads = pads(text, far);
    // What looked like a quoted scalar may be a line of a block scalar, where padding means something.
    for _ in 0..2 {
        match read(&Padded::new(text, &pads)) {
            Ok((state, lines)) if lines.pads.iter().all(|line| line.is_inside) => return Some(Ok(state)),
            Ok((_, lines)) => {
                let mut inside = lines.pads.iter().map(|line| line.is_inside);
                pads.retain(|_| inside.next().unwrap_or_default());
            }
            Err(failure @ Unreadable::Refused(_)) => return Some(Err(failure)),
            Err(_) => break,
        }
    }
    None
}

fn read_once(
    padded: &Padded<'_>,
    comments: CommentEvents,
    lines: &mut Lines<'_>,
    mut step: impl FnMut(Event<'_>, &EventPlace) -> diagnostic::Result<()>,
) -> Result<(), Unreadable> {
    let (mut documents, mut markers, mut tokens) = (0, Markers::of(padded.body()), Tokens::of(padded));
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
        if let Some((message, at)) = markers.event(&event, &bytes).or_else(|| tokens.event(&event, &bytes)) {
            return Err(Unreadable::not_libyaml(message, padded.original(at)));
        }
        if matches!(event, Event::Anchor(..)) {
            continue;
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
        emit_anchor_events: true,
        max_buffered_comment_events: usize::MAX,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    }
}
