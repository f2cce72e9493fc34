//! Tokens that libyaml reads otherwise than YAML 1.2: names of anchors, escapes, and what is inside brackets.
//!
//! The parser follows YAML 1.2. Where libyaml, with which kubectl and kustomize read, takes the same text for something
//! else or rejects it, it is an error. Texts that are JSON may use what JSON has and YAML 1.1 lacks.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle, StructureStyle};

use super::shown::Shown;

/// What is wrong, and where.
type Rejected = Option<(&'static str, usize)>;

/// What has been seen of the tokens of a text.
pub(super) struct Tokens<'t> {
    body: &'t str,
    /// Where the last node inside brackets ended, or its bracket.
    at: usize,
    /// The open collections inside brackets.
    open: Vec<FlowCollection>,
    has_escaped_slashes: bool,
    /// Whether the text is JSON, once that matters.
    is_json: Option<bool>,
}

/// A collection inside brackets.
enum FlowCollection {
    List,
    /// A map, with the key of the entry whose value has not begun.
    Map(Option<FlowKey>),
}

/// The key of an entry inside brackets.
struct FlowKey {
    start: usize,
    /// Whether it follows `?`, and may have several lines.
    is_explicit: bool,
}

impl<'t> Tokens<'t> {
    pub fn of(shown: &'t Shown<'_>) -> Self {
        let body = shown.body();
        Self {
            body,
            at: 0,
            open: Vec::new(),
            has_escaped_slashes: memchr::memmem::find(body.as_bytes(), br"\/").is_some(),
            is_json: shown.is_separated.then_some(true),
        }
    }

    /// Takes note of an event at its bytes in the body; returns what libyaml rejects or reads otherwise there.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>, at: &Range<usize>) -> Rejected {
        match event {
            Event::Scalar(_, ScalarStyle::DoubleQuoted, ..) if self.has_escaped_slashes => {
                self.escapes(at).or_else(|| self.node(event, at))
            }
            Event::Scalar(..) if self.open.is_empty() => None,
            Event::Anchor(_, name) => self.anchor(name, at),
            Event::Alias(_) => {
                self.anchor(self.text(at.start + 1..at.end), at).or_else(|| self.node(event, at))
            }
            Event::Scalar(..) | Event::MappingStart(..) | Event::SequenceStart(..) => self.node(event, at),
            Event::MappingEnd | Event::SequenceEnd => {
                if self.open.pop().is_some() {
                    self.at = at.end.max(self.at);
                }
                None
            }
            _ => None,
        }
    }

    /// A part of the text; nothing where there is none.
    fn text(&self, range: Range<usize>) -> &'t str {
        self.body.get(range).unwrap_or_default()
    }

    /// The name of an anchor or alias ends before any other character, which begins the value then.
    fn anchor(&self, name: &str, at: &Range<usize>) -> Rejected {
        const MESSAGE: &str = "the name of an anchor can only have letters, digits, `-` and `_`";

        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_cut = matches!(self.body.as_bytes().get(at.end), Some(b'[' | b'{'));
        (is_cut || !name.bytes().all(is_name)).then_some((MESSAGE, at.start))
    }

    /// YAML 1.1 lacks one escape of JSON.
    fn escapes(&mut self, at: &Range<usize>) -> Rejected {
        const MESSAGE: &str = "YAML 1.1 does not have the escape `\\/`: write `/`";

        let mut from = at.start;
        while let Some(found) = memchr::memchr(b'\\', self.text(from..at.end).as_bytes()) {
            let backslash = from + found;
            if self.body.as_bytes().get(backslash + 1) == Some(&b'/') {
                return self.unless_json(MESSAGE, backslash);
            }
            from = (backslash + 2).min(at.end);
        }
        None
    }

    /// A node begins.
    fn node(&mut self, event: &Event<'_>, at: &Range<usize>) -> Rejected {
        let is_inside = !self.open.is_empty();
        let rejected = if is_inside { self.key(at.start).or_else(|| self.plain(event, at)) } else { None };
        let begun = match event {
            Event::MappingStart(style, ..) => Some((FlowCollection::Map(None), *style)),
            Event::SequenceStart(style, ..) => Some((FlowCollection::List, *style)),
            _ => None,
        };
        if let Some((collection, style)) = begun
            && (is_inside || style == StructureStyle::Flow)
        {
            self.open.push(collection);
        }
        self.at = at.end.max(self.at);
        rejected
    }

    /// Inside brackets `?` begins a key wherever it is, and `:` at the start of a value separates it from a key. A `:`
    /// at the end of a plain scalar belongs to it, unless a blank follows.
    fn plain(&self, event: &Event<'_>, at: &Range<usize>) -> Rejected {
        const QUESTION: &str = "inside brackets `?` begins a key: put quotes around the text";
        const COLON: &str = "inside brackets a text cannot begin with `:`: put quotes around it";
        const KEY: &str = "kubectl and kustomize take this `:` for a part of the text before it: put quotes around the text, or a space after \
             the `:`";

        if !matches!(event, Event::Scalar(_, ScalarStyle::Plain, ..)) || at.is_empty() {
            return None;
        }
        let (text, behind) = (self.text(at.clone()), self.text(at.end..self.body.len()));
        if let Some(question) = text.find('?') {
            return Some((QUESTION, at.start + question));
        }
        if text.starts_with(':') {
            return Some((COLON, at.start));
        }
        matches!(behind.as_bytes(), [b':', b',' | b']' | b'}', ..]).then_some((KEY, at.end))
    }

    /// Notes the key that begins at a byte, or looks where the `:` before the value is that begins there. Keys are on
    /// one line with it, unless they follow `?`.
    fn key(&mut self, start: usize) -> Rejected {
        const MESSAGE: &str = "`:` must be on the same line as its key";

        let before = self.at..start.max(self.at);
        let Some(FlowCollection::Map(key)) = self.open.last_mut() else { return None };
        let Some(FlowKey { start, is_explicit }) = key.take() else {
            let is_explicit = indicator(self.body, before, b'?').is_some();
            *key = Some(FlowKey { start, is_explicit });
            return None;
        };
        let colon = indicator(self.body, before, b':')?;
        if is_explicit || !self.text(start..colon).contains('\n') {
            return None;
        }
        self.unless_json(MESSAGE, colon)
    }

    fn unless_json(&mut self, message: &'static str, at: usize) -> Rejected {
        let body = self.body;
        let is_json =
            *self.is_json.get_or_insert_with(|| serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok());
        (!is_json).then_some((message, at))
    }
}

/// Where an indicator is among the white space, indicators and comments between two nodes.
fn indicator(body: &str, range: Range<usize>, wanted: u8) -> Option<usize> {
    let mut is_comment = false;
    let mut before = b' ';
    for (at, byte) in range.clone().zip(body.get(range).unwrap_or_default().bytes()) {
        is_comment = if is_comment { byte != b'\n' } else { byte == b'#' && before.is_ascii_whitespace() };
        if byte == wanted && !is_comment {
            return Some(at);
        }
        before = byte;
    }
    None
}
