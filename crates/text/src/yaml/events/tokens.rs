//! Tokens that libyaml treats differently from YAML 1.2: anchor names, escapes, and text in brackets.
//!
//! The parser follows YAML 1.2. If libyaml, which kubectl and kustomize use, gives the same text another meaning or
//! rejects it, this is an error. JSON texts may use JSON syntax that YAML 1.1 does not have.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle, StructureStyle};

use super::parser_input::ParserInput;

/// An error message and its position.
type TokenError = Option<(&'static str, usize)>;

/// The tokens that were already read.
pub(super) struct TokenCheck<'t> {
    body: &'t str,
    /// The end of the last node or bracket inside brackets.
    at: usize,
    /// The open collections inside brackets.
    open: Vec<FlowCollection>,
    has_escaped_slashes: bool,
    /// True if the text is JSON. Computed when it is needed.
    is_json: Option<bool>,
}

/// A collection inside brackets.
enum FlowCollection {
    List,
    /// A map, with the key of the entry whose value has not begun yet.
    Map(Option<FlowKey>),
}

/// The key of an entry inside brackets.
struct FlowKey {
    start: usize,
    /// True if the key follows `?`, so that it may span several lines.
    is_explicit: bool,
}

impl<'t> TokenCheck<'t> {
    pub fn new(shown: &'t ParserInput<'_>) -> Self {
        let body = shown.body();
        Self {
            body,
            at: 0,
            open: Vec::new(),
            has_escaped_slashes: memchr::memmem::find(body.as_bytes(), br"\/").is_some(),
            is_json: shown.is_separated.then_some(true),
        }
    }

    /// Processes an event at its byte range in the body. Returns an error if libyaml rejects the text or parses it
    /// differently.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>, at: &Range<usize>) -> TokenError {
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

    /// Returns a part of the text, or an empty text if the range is invalid.
    fn text(&self, range: Range<usize>) -> &'t str {
        self.body.get(range).unwrap_or_default()
    }

    /// Checks the name of an anchor or alias. libyaml ends the name before the first character that is not a letter, a
    /// digit, `-` or `_`. This character begins the value.
    fn anchor(&self, name: &str, at: &Range<usize>) -> TokenError {
        const MESSAGE: &str = "an anchor name may only contain letters, digits, `-` and `_`";

        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_cut = matches!(self.body.as_bytes().get(at.end), Some(b'[' | b'{'));
        (is_cut || !name.bytes().all(is_name)).then_some((MESSAGE, at.start))
    }

    /// Checks for `\/`, the only escape of JSON that YAML 1.1 does not have.
    fn escapes(&mut self, at: &Range<usize>) -> TokenError {
        const MESSAGE: &str = "YAML 1.1 does not have the escape `\\/`: use `/`";

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

    /// Checks the start of a node and updates the open collections.
    fn node(&mut self, event: &Event<'_>, at: &Range<usize>) -> TokenError {
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

    /// Checks a plain scalar inside brackets. In brackets, `?` always begins a key, and `:` at the start of a value
    /// separates it from a key. A `:` at the end of a plain scalar is part of it, unless a space follows.
    fn plain(&self, event: &Event<'_>, at: &Range<usize>) -> TokenError {
        const QUESTION: &str = "`?` begins a key inside brackets: put quotes around the string";
        const COLON: &str = "a string inside brackets cannot begin with `:`: put quotes around it";
        const KEY: &str = "kubectl and kustomize parse this `:` as part of the string before it: put quotes around the string, or a space after \
             the `:`";

        if !matches!(event, Event::Scalar(_, ScalarStyle::Plain, ..)) || at.is_empty() {
            return None;
        }
        let (text, tail) = (self.text(at.clone()), self.text(at.end..self.body.len()));
        if let Some(question) = text.find('?') {
            return Some((QUESTION, at.start + question));
        }
        if text.starts_with(':') {
            return Some((COLON, at.start));
        }
        matches!(tail.as_bytes(), [b':', b',' | b']' | b'}', ..]).then_some((KEY, at.end))
    }

    /// Records a key that begins at `start`, or checks the `:` before a value that begins at `start`. The `:` must be
    /// on the same line as its key, unless the key follows `?`.
    fn key(&mut self, start: usize) -> TokenError {
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

    fn unless_json(&mut self, message: &'static str, at: usize) -> TokenError {
        let body = self.body;
        let is_json =
            *self.is_json.get_or_insert_with(|| serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok());
        (!is_json).then_some((message, at))
    }
}

/// Returns the position of an indicator in the white space, indicators and comments between two nodes.
fn indicator(body: &str, range: Range<usize>, expected: u8) -> Option<usize> {
    let mut is_comment = false;
    let mut before = b' ';
    for (at, byte) in range.clone().zip(body.get(range).unwrap_or_default().bytes()) {
        is_comment = if is_comment { byte != b'\n' } else { byte == b'#' && before.is_ascii_whitespace() };
        if byte == expected && !is_comment {
            return Some(at);
        }
        before = byte;
    }
    None
}
