//! What stands in a text, event by event, as libyaml sees it.
//!
//! The parser is stricter than libyaml (and so than kubectl and kustomize) in some constructs, such as how far the
//! further lines of quoted scalars and flow collections are indented. When the parser rejects one of them, the text is
//! rewritten and read again (`rewrites`), with positions in the text as it is. On the other hand libyaml takes no tab
//! where it looks for indentation, no document behind `...` that does not begin with `---`, no `...` where a document
//! should stand, and no directive that it does not know. It knows more line breaks, too, and reads a few tokens otherwise.

mod breaks;
mod last_line;
mod lines;
mod markers;
mod padding;
mod rewrites;
mod shown;
#[cfg(test)]
mod tests;
mod tokens;
mod unreadable;

pub(super) use last_line::LastBreak;
pub(super) use padding::{BOM, mark_of};
pub(super) use unreadable::Unreadable;

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, ScanError};

use self::breaks::BrokenText;
use self::last_line::LastLine;
use self::lines::Lines;
use self::markers::Markers;
use self::rewrites::{Rewrites, Verdict, Verdicts};
use self::shown::Shown;
use self::tokens::Tokens;
use self::unreadable::Quirk;
use crate::diagnostic;
use crate::source::Reading;
use crate::yaml::json_stream::{begins_with_json, is_json_like};

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

/// What becomes of comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommentEvents {
    Shown,
    PassedOver,
}

/// How the events of a text are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventOptions {
    pub comments: CommentEvents,
    pub reading: Reading,
    pub last_break: LastBreak,
}

impl EventOptions {
    /// For texts that are manifests.
    pub fn manifests(comments: CommentEvents, reading: Reading) -> Self {
        Self { comments, reading, last_break: LastBreak::of_manifests(reading) }
    }
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
    options: EventOptions,
    start: impl Fn() -> S,
    step: impl Fn(&mut S, Event<'_>, &EventPlace) -> diagnostic::Result<()>,
) -> Result<S, Unreadable> {
    // JSON is no YAML to kubectl.
    let is_json = options.reading == Reading::Kubectl && is_json_like(text);
    let Some(broken) = BrokenText::of(text).filter(|_| !is_json) else {
        return Reader { text, options }.read(start, step);
    };
    let restored = |state: &mut S, event: Event<'_>, place: &EventPlace| {
        let range = broken.original(place.range.start)..broken.original(place.range.end);
        step(state, broken.restored(event), &EventPlace { range, ..place.clone() })
    };
    let reader = Reader { text: &broken.text, options };
    reader.read(start, restored).map_err(|error| error.at(|at| broken.original(at)))
}

/// How many times a text is read at most, to find out which of its parts only look like what is rewritten.
const MOST_READINGS: usize = 8;

/// A text whose line breaks the parser knows.
#[derive(Clone, Copy)]
struct Reader<'t> {
    text: &'t str,
    options: EventOptions,
}

impl Reader<'_> {
    fn read<S>(
        self,
        start: impl Fn() -> S,
        step: impl Fn(&mut S, Event<'_>, &EventPlace) -> diagnostic::Result<()>,
    ) -> Result<S, Unreadable> {
        let once = |shown: &Shown<'_>, rewrites: &Rewrites| {
            let (mut state, mut verdicts) = (start(), Verdicts::on(rewrites.list()));
            let read = self.read_once(shown, &mut verdicts, |event, place| step(&mut state, event, place));
            (read.map(|()| state), verdicts.given)
        };
        let failure = match once(&Shown::plain(self.text), &Rewrites::default()).0 {
            Err(failure @ Unreadable::Syntax { .. }) => failure,
            read => return read,
        };
        let is_kubectl = self.options.reading == Reading::Kubectl;
        match is_kubectl.then(|| Shown::separated(self.text)).flatten() {
            Some(separated) => once(&separated, &Rewrites::default()).0,
            None => self.read_rewritten(failure, once),
        }
    }

    /// Reads a text with the constructs rewritten that the parser rejects, until nothing is rewritten that only looks
    /// like one of them.
    fn read_rewritten<S>(
        self,
        failure: Unreadable,
        once: impl Fn(&Shown<'_>, &Rewrites) -> (Result<S, Unreadable>, Vec<Verdict>),
    ) -> Result<S, Unreadable> {
        let (mut rewrites, mut furthest) = (Rewrites::default(), failure);
        let mut is_changed = rewrites.learn(Some(&furthest), &[], self.text);
        for _ in 0..MOST_READINGS {
            if !is_changed {
                break;
            }
            let (read, verdicts) = once(&Shown::rewritten(self.text, rewrites.list()), &rewrites);
            is_changed = rewrites.learn(read.as_ref().err(), &verdicts, self.text);
            match read {
                Err(failure @ Unreadable::Syntax { .. }) if failure.position() > furthest.position() => {
                    furthest = failure;
                }
                Err(Unreadable::Syntax { .. }) => {}
                read if !is_changed => return read,
                _ => {}
            }
        }
        Err(furthest)
    }

    fn read_once(
        self,
        shown: &Shown<'_>,
        verdicts: &mut Verdicts<'_>,
        mut step: impl FnMut(Event<'_>, &EventPlace) -> diagnostic::Result<()>,
    ) -> Result<(), Unreadable> {
        let mut lines = Lines::of(self.text, self.indented_from(shown));
        let last_line = LastLine::of(self.text, self.options.last_break);
        let (mut markers, mut tokens) = (Markers::of(shown.body()), Tokens::of(shown));
        for event in Parser::new_from_str_with_options(shown.body(), options(self.options.comments)) {
            let (mut event, span) = event.map_err(|error| not_yaml(&error, shown))?;
            let bytes = span.byte_range().unwrap_or_default();
            let place = EventPlace {
                range: shown.original(bytes.start)..shown.original(bytes.end),
                first_line: span.start.line(),
                last_line: span.end.line(),
            };
            if let Some((message, at)) =
                markers.event(&event, &bytes).or_else(|| tokens.event(&event, &bytes))
            {
                return Err(Unreadable::not_libyaml(message, shown.original(at)));
            }
            if matches!(event, Event::Anchor(..)) {
                continue;
            }
            if let Event::DocumentStart(explicit, _) = &mut event {
                *explicit &= !shown.is_separated;
            }
            if !lines.is_empty() {
                lines.event(&event, &span, &place.range);
            }
            verdicts.event(&mut event, &place.range);
            if let Some(last_line) = &last_line {
                last_line.correct(&mut event, &span, &place.range);
            }
            check_tag_end(self.text, &event, place.range.start)?;
            step(event, &place).map_err(Unreadable::Refused)?;
        }
        match lines.wrong_tab() {
            None => Ok(()),
            Some(at) => Err(Unreadable::not_libyaml("a tab stands where YAML looks for indentation", at)),
        }
    }

    /// The first byte from which on tabs do not indent. kubectl reads what may be JSON as that first, and its reader of
    /// YAML gets the rest of the line, without the blanks at its start.
    fn indented_from(self, shown: &Shown<'_>) -> usize {
        let lead = self.text.len() - self.text.trim_start().len();
        let blanks = &self.text[..lead];
        if shown.is_separated {
            self.text.len()
        } else if self.options.reading == Reading::Kustomize
            || !blanks.contains('\t')
            || !is_json_like(self.text)
        {
            0
        } else if begins_with_json(self.text) {
            lead
        } else {
            blanks.find('\n').map_or(lead, |end| end + 1)
        }
    }
}

/// Looks for a tag that a comma follows at once, which libyaml takes for a part of the tag.
fn check_tag_end(text: &str, event: &Event<'_>, at: usize) -> Result<(), Unreadable> {
    match event {
        Event::Scalar(_, ScalarStyle::Plain, _, Some(_))
            if text[at..].starts_with(',') && !text[..at].ends_with([' ', '\t', '\n', '\r']) =>
        {
            let message = "the comma is a part of the tag: put a space before it".to_string();
            Err(Unreadable::Syntax { quirk: Some(Quirk::Tag), message, at })
        }
        _ => Ok(()),
    }
}

fn not_yaml(error: &ScanError, shown: &Shown<'_>) -> Unreadable {
    let at = shown.original(error.marker().byte_offset().unwrap_or_default());
    Unreadable::Syntax { quirk: Quirk::of(error.kind()), message: error.info().clone(), at }
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
