//! Rewrites of constructs that libyaml accepts and the parser rejects, so that the parser treats them like libyaml.
//!
//! All parts of the text that look like such a construct are rewritten at once. The events then confirm or reject each
//! rewrite, since text inside a scalar may only look like one. A text is accepted when all its rewrites are confirmed,
//! because then there was no unconfirmed text before any of them.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle, StructureStyle};

use super::error::{EventError, Quirk};
use super::padding::{SEARCH_LIMITS, find_padding};

impl Quirk {
    /// Returns the rewrites of all parts that look like this construct, in order.
    fn rewrites(self, text: &str, far: usize) -> Vec<Rewrite> {
        let rewrite = |range: Range<usize>, text: &str| Rewrite { quirk: self, range, text: text.into() };
        match self {
            Self::Indentation => {
                let padded = find_padding(text, far).into_iter();
                padded.map(|pad| rewrite(pad.line..pad.line, &" ".repeat(pad.spaces))).collect()
            }
            Self::Comment => unseparated(text).map(|at| rewrite(at..at, " ")).collect(),
            Self::CommentBelow => comments_below(text).map(|blanks| rewrite(blanks, "")).collect(),
            Self::Dash => lone_dashes(text).map(|at| rewrite(at..at + 1, DASH)).collect(),
            Self::Escape => escapes(text).map(|at| rewrite(at..at + 1, "")).collect(),
            Self::Tag => tags(text).map(|tag| rewrite(tag.clone(), &text[tag].replace(',', "_"))).collect(),
        }
    }
}

/// The text that replaces a lone `-`.
const DASH: &str = "x";

/// Returns the position of each `#` directly after the end of a token, after the header of a block scalar, or after a
/// `---` that separates documents.
fn unseparated(text: &str) -> impl Iterator<Item = usize> {
    memchr::memchr_iter(b'#', text.as_bytes()).filter(|&at| {
        let before = &text[..at];
        before.ends_with(['"', '\'', ']', '}', ',', '[', '{'])
            || before.ends_with("\n---")
            || is_header(before)
    })
}

/// Returns true if a text ends with the header of a block scalar.
fn is_header(text: &str) -> bool {
    let indicators = |byte: &u8| matches!(byte, b'-' | b'+' | b'1'..=b'9');
    let count = text.bytes().rev().take(2).take_while(indicators).count();
    let before = text[..text.len() - count].strip_suffix(['|', '>']);
    before.is_some_and(|before| before.is_empty() || before.ends_with(['\n', ' ', '\t']))
}

/// Returns the spaces before comments that follow the header of a block scalar and are indented less than the blank
/// lines above them.
fn comments_below(text: &str) -> impl Iterator<Item = Range<usize>> {
    memchr::memchr_iter(b'#', text.as_bytes()).filter_map(|at| {
        let above = text[..at].trim_end_matches(' ');
        let blanks = above.len()..at;
        let mut lines = above.strip_suffix('\n').filter(|_| !blanks.is_empty())?.rsplit('\n').peekable();
        let mut deepest = None;
        while let Some(line) = lines.next_if(|line| line.bytes().all(|byte| matches!(byte, b' ' | b'\r'))) {
            deepest = deepest.max(Some(line.trim_end_matches('\r').len()));
        }
        let is_below = Some(blanks.len()) < deepest && has_header(lines.next()?);
        is_below.then_some(blanks)
    })
}

/// Returns true if a line may end with the header of a block scalar, with or without a comment.
fn has_header(line: &str) -> bool {
    let line = line.strip_suffix('\r').unwrap_or(line);
    line.match_indices(['|', '>']).any(|(at, _)| {
        let rest = &line[at + 1..];
        let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        rest.is_empty() || rest.starts_with([' ', '\t', '#'])
    })
}

/// Returns the tags that contain commas, without their `!`. Each tag ends at the next space.
fn tags(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_of_tag = |char: char| char.is_alphanumeric() || "_;/?:@&=+$.!~*'()%<>,-".contains(char);
    let mut end = 0;
    text.match_indices('!').filter_map(move |(at, _)| {
        let is_first = |before: char| before.is_whitespace() || ",:[{-".contains(before);
        if at < end || !text[..at].chars().next_back().is_none_or(is_first) {
            return None;
        }
        let rest = &text[at + 1..];
        let length = rest.find(|char| !is_of_tag(char)).unwrap_or(rest.len());
        end = at + 1 + length;
        let is_tag = rest[..length].contains(',') && rest[length..].starts_with(char::is_whitespace);
        is_tag.then_some(at + 1..end)
    })
}

/// Returns the position of each lone `-` before the end of an entry in a flow collection.
fn lone_dashes(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'-', bytes).filter(|&at| {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        before.is_none_or(|byte| b" \t\r\n,[{:".contains(&byte))
            && bytes.get(at + 1).is_some_and(|byte| b",]}".contains(byte))
    })
}

/// Returns the position of the backslash of each `\'`.
fn escapes(text: &str) -> impl Iterator<Item = usize> {
    let backslashes = |end: usize| text[..end].bytes().rev().take_while(|byte| *byte == b'\\').count();
    memchr::memmem::find_iter(text.as_bytes(), br"\'").filter(move |&at| backslashes(at) % 2 == 0)
}

/// A replacement of a part of the text for the parser.
pub(super) struct Rewrite {
    pub quirk: Quirk,
    pub range: Range<usize>,
    pub text: String,
}

/// The rewrites of a text, in order.
#[derive(Default)]
pub(super) struct Rewrites {
    list: Vec<Rewrite>,
    quirks: Vec<Quirk>,
    /// True if lines of values of any length are padded.
    is_far: bool,
}

impl Rewrites {
    pub fn list(&self) -> &[Rewrite] {
        &self.list
    }

    /// Updates the rewrites after an attempt to parse the text with them. Returns false if they have not changed.
    pub fn update(&mut self, failure: Option<&EventError>, verdicts: &[Verdict], text: &str) -> bool {
        match failure {
            None => self.remove_rejected(verdicts, usize::MAX),
            Some(EventError::Rejected(_)) => self.remove_rejected(verdicts, 0),
            Some(EventError::Syntax { quirk, at, .. }) => {
                let new = quirk.filter(|quirk| !self.quirks.contains(quirk));
                let is_less = self.remove_rejected(verdicts, if new.is_some() { 0 } else { *at });
                let is_more = new.is_some_and(|quirk| self.add(quirk, text));
                is_less || is_more || self.add_far(text)
            }
        }
    }

    fn add(&mut self, quirk: Quirk, text: &str) -> bool {
        self.quirks.push(quirk);
        self.extend(quirk.rewrites(text, SEARCH_LIMITS[0]))
    }

    /// Also adds padding to the lines of long values. Returns false if there are none or if this was already done.
    fn add_far(&mut self, text: &str) -> bool {
        if self.is_far || !self.quirks.contains(&Quirk::Indentation) {
            return false;
        }
        self.is_far = true;
        self.list.retain(|rewrite| rewrite.quirk != Quirk::Indentation);
        self.extend(Quirk::Indentation.rewrites(text, SEARCH_LIMITS[1]))
    }

    fn extend(&mut self, more: Vec<Rewrite>) -> bool {
        let has_more = !more.is_empty();
        self.list.extend(more);
        self.list.sort_by_key(|rewrite| (rewrite.range.start, rewrite.range.end));
        has_more
    }

    /// Removes the rejected rewrites. If there are none, removes the rewrites without a verdict that start before or at
    /// `read`. Returns false if nothing is removed.
    fn remove_rejected(&mut self, verdicts: &[Verdict], read: usize) -> bool {
        let (before, is_any) = (self.list.len(), verdicts.contains(&Verdict::Rejected));
        let mut verdicts = verdicts.iter();
        self.list.retain(|rewrite| match verdicts.next() {
            Some(verdict) => *verdict == Verdict::Confirmed,
            None => is_any || rewrite.range.start > read,
        });
        self.list.len() < before
    }
}

/// The result of comparing a rewrite with the events. It shows if the rewritten text is the construct that it looks
/// like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Confirmed,
    Rejected,
}

/// Collects verdicts on the rewrites of a text from its events.
pub(super) struct Verdicts<'r> {
    rewrites: &'r [Rewrite],
    /// The verdicts on the first rewrites, in order.
    pub list: Vec<Verdict>,
    /// True for each open collection that is in flow style.
    open: Vec<bool>,
    /// The end of the last event, and true if it was a plain scalar.
    last: (usize, bool),
    /// True if the last event was a block scalar without content.
    after_empty_block: bool,
}

impl<'r> Verdicts<'r> {
    pub fn new(rewrites: &'r [Rewrite]) -> Self {
        Self { rewrites, list: Vec::new(), open: Vec::new(), last: (0, false), after_empty_block: false }
    }

    /// Processes an event. A scalar that was completely rewritten gets its original text back.
    #[inline]
    pub fn event(&mut self, event: &mut Event<'_>, at: &Range<usize>) {
        if self.rewrites.is_empty() {
            return;
        }
        let is_empty_block = matches!(event, Event::Scalar(text, ScalarStyle::Literal | ScalarStyle::Folded, ..)
            if text.trim().is_empty());
        self.between(event, at, is_empty_block);
        self.after_empty_block = is_empty_block;
        if self.within(event, at) == Some(Quirk::Dash)
            && let Event::Scalar(text, ..) = event
        {
            *text = "-".into();
        }
        match event {
            Event::MappingStart(style, ..) | Event::SequenceStart(style, ..) => {
                self.open.push(*style == StructureStyle::Flow);
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.open.pop();
            }
            _ => {}
        }
        let is_plain = matches!(event, Event::Scalar(_, ScalarStyle::Plain, ..)) && !at.is_empty();
        if at.end > self.last.0 || is_plain {
            self.last = (at.end.max(self.last.0), is_plain);
        }
    }

    /// Returns the next rewrite without a verdict, if it starts before `end`.
    fn next_before(&self, end: usize) -> Option<&'r Rewrite> {
        self.rewrites.get(self.list.len()).filter(|rewrite| rewrite.range.start < end)
    }

    fn give(&mut self, is_confirmed: bool) {
        self.list.push(if is_confirmed { Verdict::Confirmed } else { Verdict::Rejected });
    }

    fn is_flow(&self) -> bool {
        self.open.last().is_some_and(|is_flow| *is_flow)
    }

    /// Returns true if a rewrite starts at the end of a plain scalar. Without the rewrite, the scalar would have
    /// continued.
    fn follows_plain(&self, rewrite: &Rewrite) -> bool {
        self.last == (rewrite.range.start, true)
    }

    /// Gives verdicts on the rewrites between the last event and this one.
    fn between(&mut self, event: &Event<'_>, at: &Range<usize>, is_empty_block: bool) {
        let is_tagged = match event {
            Event::Scalar(.., tag) | Event::MappingStart(.., tag) | Event::SequenceStart(.., tag) => {
                tag.is_some()
            }
            _ => false,
        };
        // A block scalar without content may start at its header.
        let end = if is_empty_block { at.end + 1 } else { at.start };
        while let Some(rewrite) = self.next_before(end) {
            self.give(match rewrite.quirk {
                Quirk::Indentation => self.is_flow(),
                Quirk::Comment => !self.follows_plain(rewrite),
                Quirk::CommentBelow => {
                    self.after_empty_block || is_empty_block && rewrite.range.start >= at.start
                }
                Quirk::Tag => is_tagged,
                Quirk::Dash | Quirk::Escape => false,
            });
        }
    }

    /// Gives verdicts on the rewrites inside this event. Returns the quirk of the last confirmed one.
    fn within(&mut self, event: &Event<'_>, at: &Range<usize>) -> Option<Quirk> {
        let style = match event {
            Event::Scalar(_, style, ..) => Some(*style),
            Event::Comment(..) => None,
            _ => return None,
        };
        let (is_flow, mut confirmed) = (self.is_flow(), None);
        let is_quoted = matches!(style, Some(ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted));
        while let Some(rewrite) = self.next_before(at.end) {
            let is_first = rewrite.range.start == at.start;
            let is_confirmed = match rewrite.quirk {
                Quirk::Indentation => is_flow || is_quoted && !is_first,
                Quirk::Comment => style.is_none() && is_first && !self.follows_plain(rewrite),
                Quirk::Dash => is_flow && style == Some(ScalarStyle::Plain) && rewrite.range == *at,
                Quirk::Escape => style == Some(ScalarStyle::DoubleQuoted),
                Quirk::CommentBelow | Quirk::Tag => false,
            };
            confirmed = confirmed.filter(|_| !is_confirmed).or(is_confirmed.then_some(rewrite.quirk));
            self.give(is_confirmed);
        }
        confirmed
    }
}
