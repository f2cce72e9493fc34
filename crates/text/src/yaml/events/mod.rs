//! Parses a text into events like libyaml.
//!
//! `fast` reads nearly all texts. The rest of this module is for the other texts, which are parsed by the crate
//! `granit_parser`, called "the parser" in this module.
//!
//! The parser is stricter than libyaml (and thus than kubectl and kustomize) for some constructs, such as the
//! indentation of continuation lines of quoted scalars and flow collections. When the parser rejects such a construct,
//! the text is rewritten and parsed again (`rewrites`); positions refer to the original text. In other cases libyaml is
//! stricter than the parser. It rejects tabs in indentation, documents after `...` that do not begin with `---`, `...`
//! at the start of a document, and unknown directives. It also knows more line breaks and treats a few tokens
//! differently.

mod error;
mod event;
mod fast;
mod last_line;
mod line_breaks;
mod markers;
mod padding;
mod parser_input;
mod rewrites;
mod tabs;
#[cfg(test)]
mod tests;
mod tokens;

pub(super) use error::{
    EventError, MISPLACED_KEY, SECOND_DOCUMENT, UNCLOSED_BRACKET, UNCLOSED_QUOTE, UNKNOWN_ANCHOR,
};
pub(super) use event::{CommentEvents, EventOptions, EventPosition, Receiver};
#[cfg(feature = "compare-readers")]
pub use fast::compare_readers;
pub(super) use last_line::FinalLineBreak;
pub(super) use padding::{BOM, bom_length};

use granit_parser::{Event, Parser, ScalarStyle, ScanError};

use self::error::Quirk;
use self::last_line::LastLine;
use self::line_breaks::LineBreakText;
use self::markers::DocumentMarkers;
use self::parser_input::ParserInput;
use self::rewrites::{Rewrites, Verdict, Verdicts};
use self::tabs::TabCheck;
use self::tokens::TokenCheck;
use crate::diagnostic;
use crate::source::Reading;
use crate::yaml::json_stream::{is_json_like, starts_with_json};

/// The maximum nesting depth of maps and lists. Recursive functions for trees rely on this limit.
pub(super) const MAX_DEPTH: usize = 250;

/// Passes the events of a text in order to a receiver created by `start`.
///
/// A byte order mark is skipped. If a text is parsed again, a new receiver is created. In kubectl's reading,
/// consecutive JSON objects are separate documents. Fails if the text is not YAML, or if the receiver fails.
pub(super) fn read_events<S: Receiver>(
    text: &str,
    options: EventOptions,
    start: impl Fn() -> S,
) -> Result<S, EventError> {
    if let Some(state) = fast::read_events(text, options, start()) {
        return Ok(state);
    }
    // kubectl does not parse JSON as YAML.
    let is_json = options.reading == Reading::Kubectl && is_json_like(text);
    let Some(broken) = LineBreakText::new(text).filter(|_| !is_json) else {
        return EventReader { text, options }.read(start, S::event);
    };
    let restored = |state: &mut S, event: Event<'_>, position: &EventPosition| {
        let range =
            broken.original_position(position.range.start)..broken.original_position(position.range.end);
        state.event(broken.restore(event), &EventPosition { range, ..position.clone() })
    };
    let reader = EventReader { text: &broken.text, options };
    reader.read(start, restored).map_err(|error| error.map_position(|at| broken.original_position(at)))
}

/// The maximum number of attempts to find out which parts of a text only look like a rewritten construct.
const MAX_ATTEMPTS: usize = 8;

/// A text without line breaks that are unknown to the parser.
#[derive(Clone, Copy)]
struct EventReader<'t> {
    text: &'t str,
    options: EventOptions,
}

impl EventReader<'_> {
    fn read<S>(
        self,
        start: impl Fn() -> S,
        step: impl Fn(&mut S, Event<'_>, &EventPosition) -> diagnostic::Result<()>,
    ) -> Result<S, EventError> {
        let once = |shown: &ParserInput<'_>, rewrites: &Rewrites| {
            let (mut state, mut verdicts) = (start(), Verdicts::new(rewrites.list()));
            let read =
                self.read_once(shown, &mut verdicts, |event, position| step(&mut state, event, position));
            (read.map(|()| state), verdicts.list)
        };
        let failure = match once(&ParserInput::unchanged(self.text), &Rewrites::default()).0 {
            Err(failure @ EventError::Syntax { .. }) => failure,
            read => return read,
        };
        let is_kubectl = self.options.reading == Reading::Kubectl;
        match is_kubectl.then(|| ParserInput::separated(self.text)).flatten() {
            Some(separated) => once(&separated, &Rewrites::default()).0,
            None => self.read_rewritten(failure, once),
        }
    }

    /// Parses a text, and rewrites the constructs that the parser rejects, until every rewrite is confirmed to be such
    /// a construct.
    fn read_rewritten<S>(
        self,
        failure: EventError,
        once: impl Fn(&ParserInput<'_>, &Rewrites) -> (Result<S, EventError>, Vec<Verdict>),
    ) -> Result<S, EventError> {
        let (mut rewrites, mut furthest) = (Rewrites::default(), failure);
        let mut is_changed = rewrites.update(Some(&furthest), &[], self.text);
        for _ in 0..MAX_ATTEMPTS {
            if !is_changed {
                break;
            }
            let (read, verdicts) = once(&ParserInput::rewritten(self.text, rewrites.list()), &rewrites);
            is_changed = rewrites.update(read.as_ref().err(), &verdicts, self.text);
            match read {
                Err(failure @ EventError::Syntax { .. }) if failure.position() > furthest.position() => {
                    furthest = failure;
                }
                Err(EventError::Syntax { .. }) => {}
                read if !is_changed => return read,
                _ => {}
            }
        }
        Err(furthest)
    }

    fn read_once(
        self,
        shown: &ParserInput<'_>,
        verdicts: &mut Verdicts<'_>,
        mut step: impl FnMut(Event<'_>, &EventPosition) -> diagnostic::Result<()>,
    ) -> Result<(), EventError> {
        let mut lines = TabCheck::new(self.text, self.indented_from(shown));
        let last_line = LastLine::new(self.text, self.options.last_break);
        let (mut markers, mut tokens) = (DocumentMarkers::new(shown.body()), TokenCheck::new(shown));
        for event in Parser::new_from_str_with_options(shown.body(), options(self.options.comments)) {
            let (mut event, span) = event.map_err(|error| syntax_error(&error, shown))?;
            let bytes = span.byte_range().unwrap_or_default();
            let position = EventPosition {
                range: shown.original_position(bytes.start)..shown.original_position(bytes.end),
                first_line: span.start.line(),
                last_line: span.end.line(),
            };
            if let Some((message, at)) =
                markers.event(&event, &bytes).or_else(|| tokens.event(&event, &bytes))
            {
                return Err(EventError::rejected_by_libyaml(message, shown.original_position(at)));
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
                last_line.remove_added_break(&mut event, &span, &position.range);
            }
            check_tag_end(self.text, &event, position.range.start)?;
            step(event, &position).map_err(EventError::Rejected)?;
        }
        match lines.find_indenting_tab() {
            None => Ok(()),
            Some(at) => Err(EventError::rejected_by_libyaml(
                "found a tab in the indentation, where YAML allows only spaces",
                at,
            )),
        }
    }

    /// Returns the byte from which tabs in indentation are rejected. kubectl first tries to parse a text that may be
    /// JSON as JSON, and its YAML parser gets the rest of the line without its leading white space.
    fn indented_from(self, shown: &ParserInput<'_>) -> usize {
        let lead = self.text.len() - self.text.trim_start().len();
        let blanks = &self.text[..lead];
        if shown.is_separated {
            self.text.len()
        } else if self.options.reading == Reading::Kustomize
            || !blanks.contains('\t')
            || !is_json_like(self.text)
        {
            0
        } else if starts_with_json(self.text) {
            lead
        } else {
            blanks.find('\n').map_or(lead, |end| end + 1)
        }
    }
}

/// Rejects a tag that is directly followed by a comma, which libyaml includes in the tag.
fn check_tag_end(text: &str, event: &Event<'_>, at: usize) -> Result<(), EventError> {
    match event {
        Event::Scalar(_, ScalarStyle::Plain, _, Some(_))
            if text[at..].starts_with(',') && !text[..at].ends_with([' ', '\t', '\n', '\r']) =>
        {
            let message = "missing space after a tag: the comma would be part of the tag".to_string();
            Err(EventError::Syntax { quirk: Some(Quirk::Tag), message, at })
        }
        _ => Ok(()),
    }
}

fn syntax_error(error: &ScanError, shown: &ParserInput<'_>) -> EventError {
    let at = shown.original_position(error.marker().byte_offset().unwrap_or_default());
    EventError::Syntax { quirk: Quirk::from_error(error.kind()), message: error::message_of(error), at }
}

fn options(comments: CommentEvents) -> granit_parser::Options {
    granit_parser::options! {
        emit_comments: comments == CommentEvents::Emitted,
        emit_anchor_events: true,
        max_buffered_comment_events: usize::MAX,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    }
}
