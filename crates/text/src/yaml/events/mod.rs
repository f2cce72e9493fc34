//! Parses a text into events as libyaml would.
//!
//! The parser is stricter than libyaml (and so than kubectl and kustomize) for some constructs, such as the
//! indentation of continued lines of quoted scalars and flow collections. When the parser rejects one of them,
//! the text is rewritten and parsed again (`rewrites`); positions refer to the original text. libyaml is
//! stricter than the parser in other cases. It rejects tabs in indentation, documents after `...` that do not
//! begin with `---`, `...` at the start of a document, and unknown directives. It also has more line breaks and
//! treats a few tokens differently.

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

/// Maximum nesting depth of maps and lists. Code that walks trees by recursion relies on this limit.
pub(super) const MAX_DEPTH: usize = 250;

/// The position of an event.
#[derive(Debug, Clone)]
pub(super) struct EventPlace {
    /// Byte range in the text.
    pub range: Range<usize>,
    /// First line, counted from 1.
    pub first_line: usize,
    /// Last line, counted from 1.
    pub last_line: usize,
}

/// Handling of comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommentEvents {
    Shown,
    PassedOver,
}

/// Options of parsing a text into events.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventOptions {
    pub comments: CommentEvents,
    pub reading: Reading,
    pub last_break: LastBreak,
}

impl EventOptions {
    /// Returns the options for manifests.
    pub fn manifests(comments: CommentEvents, reading: Reading) -> Self {
        Self { comments, reading, last_break: LastBreak::of_manifests(reading) }
    }
}

/// Passes the events of a text in order to `step`, with a state created by `start`.
///
/// A byte order mark is skipped. When a text is parsed again, a new state is created. In kubectl's reading,
/// JSON objects that follow each other are documents.
/// The text is not YAML, or `step` fails.
pub(super) fn read_events<S>(
    text: &str,
    options: EventOptions,
    start: impl Fn() -> S,
    step: impl Fn(&mut S, Event<'_>, &EventPlace) -> diagnostic::Result<()>,
) -> Result<S, Unreadable> {
    // kubectl does not parse JSON as YAML.
    let is_json = options.reading == Reading::Kubectl && is_json_like(text);
    let Some(broken) = BrokenText::of(text).filter(|_| !is_json) else {
        return Reader { text, options }.read(start, step);
    };
    let restored = |state: &mut S, event: Event<'_>, position: &EventPlace| {
        let range = broken.original(position.range.start)..broken.original(position.range.end);
        step(state, broken.restored(event), &EventPlace { range, ..position.clone() })
    };
    let reader = Reader { text: &broken.text, options };
    reader.read(start, restored).map_err(|error| error.at(|at| broken.original(at)))
}

/// The maximum number of attempts to find out which parts of a text only resemble a rewritten construct.
const MAX_ATTEMPTS: usize = 8;

/// A text without line breaks that the parser does not know.
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
            let (mut state, mut verdicts) = (start(), Verdicts::new(rewrites.list()));
            let read =
                self.read_once(shown, &mut verdicts, |event, position| step(&mut state, event, position));
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

    /// Parses a text with rewrites of the constructs that the parser rejects, until every rewrite is confirmed
    /// to be such a construct.
    fn read_rewritten<S>(
        self,
        failure: Unreadable,
        once: impl Fn(&Shown<'_>, &Rewrites) -> (Result<S, Unreadable>, Vec<Verdict>),
    ) -> Result<S, Unreadable> {
        let (mut rewrites, mut furthest) = (Rewrites::default(), failure);
        let mut is_changed = rewrites.learn(Some(&furthest), &[], self.text);
        for _ in 0..MAX_ATTEMPTS {
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
            let (mut event, span) = event.map_err(|error| syntax_error(&error, shown))?;
            let bytes = span.byte_range().unwrap_or_default();
            let position = EventPlace {
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
                lines.event(&event, &span, &position.range);
            }
            verdicts.event(&mut event, &position.range);
            if let Some(last_line) = &last_line {
                last_line.correct(&mut event, &span, &position.range);
            }
            check_tag_end(self.text, &event, position.range.start)?;
            step(event, &position).map_err(Unreadable::Refused)?;
        }
        match lines.wrong_tab() {
            None => Ok(()),
            Some(at) => Err(Unreadable::not_libyaml(
                "found a tab in the indentation, where YAML allows only spaces",
                at,
            )),
        }
    }

    /// Returns the byte from which on tabs must not indent. kubectl first tries to parse text that may be JSON
    /// as JSON, and its YAML parser gets the rest of the line without its leading white space.
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

/// Rejects a tag that is directly followed by a comma, which libyaml includes in the tag.
fn check_tag_end(text: &str, event: &Event<'_>, at: usize) -> Result<(), Unreadable> {
    match event {
        Event::Scalar(_, ScalarStyle::Plain, _, Some(_))
            if text[at..].starts_with(',') && !text[..at].ends_with([' ', '\t', '\n', '\r']) =>
        {
            let message = "missing space after a tag: the comma would be part of the tag".to_string();
            Err(Unreadable::Syntax { quirk: Some(Quirk::Tag), message, at })
        }
        _ => Ok(()),
    }
}

fn syntax_error(error: &ScanError, shown: &Shown<'_>) -> Unreadable {
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
