//! Block maps and lists, by the indentation of lines.

use std::borrow::Cow;

use granit_parser::{Event, ScalarStyle, StructureStyle};

use super::block_scalar;
use super::bytes::{Mark, ends_word};
use super::scalar::{self, MAX_KEY, Plain, Stop};
use crate::yaml::events::{CommentEvents, EventOptions, EventPosition, FinalLineBreak, Receiver};

/// The maximum number of open maps and lists. The parser allows more, and reports when its limit is exceeded.
pub(super) const MAX_LEVELS: usize = 200;

/// An open block map or list.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// The column of its keys or dashes.
    indent: isize,
    pub is_map: bool,
}

/// The value that is expected next.
#[derive(Clone, Copy)]
pub(super) enum Expected {
    /// The root of the first document, which has no `---`.
    FirstRoot,
    /// The root of a document. The position is that after its `---`.
    Root(Mark),
    /// The value of a key. The position is that of its colon.
    Value(Mark),
    /// An entry of a list. The position is that after its dash, spaces and comment.
    Entry(Mark),
    /// No value but the next key or dash, or the end of the document.
    Nothing,
}

/// A comment.
pub(super) struct Comment {
    pub start: usize,
    pub end: usize,
    pub line: usize,
    /// True if it follows a token on its line.
    pub is_right: bool,
}

/// A scalar with its position.
pub(super) struct Scalar<'t> {
    pub value: Cow<'t, str>,
    pub style: ScalarStyle,
    pub from: Mark,
    pub to: Mark,
}

/// Reads a text line by line.
pub(super) struct BlockReader<'t, R> {
    pub(super) text: &'t str,
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
    pub(super) line: usize,
    pub(super) receiver: R,
    /// The end of the last event that is not a comment.
    pub(super) last: Mark,
    pub(super) frames: Vec<Frame>,
    pub(super) expected: Expected,
    /// The comments after a key or dash. They are held back until it is known if a value follows.
    pub(super) held: Vec<Comment>,
    pub(super) has_comments: bool,
    adds_break: bool,
}

impl<'t, R: Receiver> BlockReader<'t, R> {
    pub fn new(text: &'t str, options: EventOptions, receiver: R) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            line: 1,
            receiver,
            last: Mark { at: 0, line: 1 },
            frames: Vec::new(),
            expected: Expected::FirstRoot,
            held: Vec::new(),
            has_comments: options.comments == CommentEvents::Emitted,
            adds_break: options.last_break == FinalLineBreak::Added,
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { at: self.at, line: self.line }
    }

    pub(super) fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[allow(
        clippy::inline_always,
        reason = "receivers match the kind of event, which is known to the caller"
    )]
    #[inline(always)]
    pub(super) fn emit(&mut self, event: Event<'t>, from: Mark, to: Mark) -> Option<()> {
        self.last = to;
        let position = EventPosition { range: from.at..to.at, first_line: from.line, last_line: to.line };
        self.receiver.event(event, &position).ok()
    }

    pub(super) fn scalar(&mut self, scalar: Scalar<'t>) -> Option<()> {
        let Scalar { value, style, from, to } = scalar;
        self.emit(Event::Scalar(value, style, 0, None), from, to)
    }

    pub(super) fn empty(&mut self, at: Mark) -> Option<()> {
        self.emit(Event::Scalar(Cow::Borrowed("~"), ScalarStyle::Plain, 0, None), at, at)
    }

    pub(super) fn skip_spaces(&mut self) {
        while self.byte() == Some(b' ') {
            self.at += 1;
        }
    }

    fn indent(&self) -> isize {
        self.frames.last().map_or(-1, |frame| frame.indent)
    }

    fn is_dash(&self) -> bool {
        self.byte() == Some(b'-') && ends_word(self.bytes, self.at + 1)
    }

    /// Reads a line from its first token.
    pub(super) fn token(&mut self, column: isize) -> Option<()> {
        let is_dash = self.is_dash();
        match self.expected {
            Expected::FirstRoot | Expected::Root(_) => return self.node(column),
            Expected::Value(_) | Expected::Entry(_) if column > self.indent() => {
                self.emit_held()?;
                return self.node(column);
            }
            Expected::Value(_) if is_dash && column == self.indent() => {
                self.emit_held()?;
                return self.node(column);
            }
            Expected::Value(_) | Expected::Entry(_) => self.end_empty()?,
            Expected::Nothing => {}
        }
        while let Some(&frame) = self.frames.last() {
            if frame.indent < column {
                return None;
            }
            if frame.indent == column && (frame.is_map || is_dash) {
                return if frame.is_map { self.key_line() } else { self.entry_line(column, false) };
            }
            self.frames.pop();
            self.close(frame)?;
        }
        None
    }

    /// Reads a key, and its value if it is on the same line.
    fn key_line(&mut self) -> Option<()> {
        let scalar = if let Some(b'"' | b'\'') = self.byte() {
            self.quoted(self.least())?
        } else {
            let (start, from) = (self.at, self.mark());
            let plain = scalar::plain(self.bytes, start).filter(|plain| plain.stop == Stop::Colon)?;
            self.plain(from, &plain)
        };
        if self.is_colon() { self.key(scalar) } else { None }
    }

    /// Returns the minimum column of the lines that continue a scalar.
    fn least(&self) -> usize {
        usize::try_from(self.indent() + 1).unwrap_or_default().max(1)
    }

    fn is_colon(&self) -> bool {
        self.byte() == Some(b':') && ends_word(self.bytes, self.at + 1)
    }

    /// Reads a quoted scalar and the spaces after it.
    pub(super) fn quoted(&mut self, least: usize) -> Option<Scalar<'t>> {
        let from = self.mark();
        let is_double = self.byte() == Some(b'"');
        let quoted = scalar::quoted(self.text, self.at, least)?;
        (self.at, self.line) = (quoted.end, self.line + quoted.breaks);
        let to = self.mark();
        self.skip_spaces();
        let style = if is_double { ScalarStyle::DoubleQuoted } else { ScalarStyle::SingleQuoted };
        Some(Scalar { value: quoted.value, style, from, to })
    }

    /// Reads a plain scalar on one line.
    pub(super) fn plain(&mut self, from: Mark, plain: &Plain) -> Scalar<'t> {
        self.at = plain.stop_at;
        let value = Cow::Borrowed(&self.text[from.at..plain.end]);
        Scalar { value, style: ScalarStyle::Plain, from, to: Mark { at: plain.end, ..from } }
    }

    /// Reads a plain scalar and the lines that continue it.
    fn plain_lines(&mut self, from: Mark, plain: &Plain) -> Option<Scalar<'t>> {
        let Some(continued) = scalar::continued_plain(self.text, from.at, plain, self.least()) else {
            return (plain.stop == Stop::LineEnd).then(|| self.plain(from, plain));
        };
        if continued.last.stop == Stop::Colon {
            return None;
        }
        let to = Mark { at: continued.last.end, line: from.line + continued.breaks };
        (self.at, self.line) = (continued.last.stop_at, to.line);
        Some(Scalar { value: Cow::Owned(continued.value), style: ScalarStyle::Plain, from, to })
    }

    /// Emits a key, and reads the value after the colon at this position.
    fn key(&mut self, scalar: Scalar<'t>) -> Option<()> {
        if self.at - scalar.from.at > MAX_KEY || scalar.from.line < self.line {
            return None;
        }
        self.scalar(scalar)?;
        let colon = self.mark();
        self.at += 1;
        self.skip_spaces();
        match self.byte() {
            None | Some(b'\n' | b'#') => {
                self.expected = Expected::Value(colon);
                self.end_line()
            }
            Some(_) => self.value(),
        }
    }

    /// Reads a value that cannot begin a block map or list.
    fn value(&mut self) -> Option<()> {
        self.expected = Expected::Nothing;
        match self.byte()? {
            b'"' | b'\'' => {
                let scalar = self.quoted(self.least())?;
                self.scalar(scalar)?;
            }
            b'|' | b'>' => return self.block_scalar(),
            b'[' | b'{' => self.flow()?,
            _ => {
                let plain = scalar::plain(self.bytes, self.at)?;
                let scalar = self.plain_lines(self.mark(), &plain)?;
                self.scalar(scalar)?;
            }
        }
        self.end_line()
    }

    /// Reads a value that may be a block map or list.
    fn node(&mut self, column: isize) -> Option<()> {
        if self.is_dash() {
            return self.list(column);
        }
        let from = self.mark();
        match self.byte()? {
            b'"' | b'\'' => {
                let scalar = self.quoted(self.least())?;
                if self.is_colon() {
                    return self.map(column, scalar);
                }
                self.begin_root(from, scalar.to)?;
                self.scalar(scalar)?;
            }
            b'[' | b'{' => {
                self.begin_root(from, Mark { at: from.at + 1, ..from })?;
                self.flow()?;
            }
            b'|' | b'>' if self.frames.is_empty() => return None,
            b'|' | b'>' => return self.block_scalar(),
            _ => {
                let plain = scalar::plain(self.bytes, from.at)?;
                if plain.stop == Stop::Colon {
                    let scalar = self.plain(from, &plain);
                    return self.map(column, scalar);
                }
                let scalar = self.plain_lines(from, &plain)?;
                self.begin_root(from, scalar.to)?;
                self.scalar(scalar)?;
            }
        }
        self.expected = Expected::Nothing;
        self.end_line()
    }

    /// Begins a document without `---`, if none has begun.
    fn begin_root(&mut self, from: Mark, to: Mark) -> Option<()> {
        match self.expected {
            Expected::FirstRoot => self.emit(Event::DocumentStart(false, None), from, to),
            _ => Some(()),
        }
    }

    /// Reads the first line of a map, after its first key.
    fn map(&mut self, column: isize, key: Scalar<'t>) -> Option<()> {
        self.begin_root(key.from, key.from)?;
        self.open(Frame { indent: column, is_map: true })?;
        self.emit(Event::MappingStart(StructureStyle::Block, 0, None), key.from, key.from)?;
        self.key(key)
    }

    fn open(&mut self, frame: Frame) -> Option<()> {
        self.frames.push(frame);
        (self.frames.len() <= MAX_LEVELS).then_some(())
    }

    /// Reads the first line of a list from its dash.
    fn list(&mut self, column: isize) -> Option<()> {
        let at = self.mark();
        self.begin_root(at, at)?;
        let is_at_key = self.indent() == column;
        self.open(Frame { indent: column, is_map: false })?;
        if !is_at_key {
            self.emit(Event::SequenceStart(StructureStyle::Block, 0, None), at, at)?;
        }
        self.entry_line(column, is_at_key)
    }

    /// Reads a list entry from its dash. A list at the indentation of its key begins after the dash and the comment on
    /// its line, as in the parser.
    fn entry_line(&mut self, column: isize, begins_list: bool) -> Option<()> {
        let dash = self.at;
        self.at += 1;
        self.skip_spaces();
        let has_content = !matches!(self.byte(), None | Some(b'\n' | b'#'));
        let mut entry = self.mark();
        if self.byte() == Some(b'#') {
            if self.bytes[self.at - 1] != b' ' {
                return None;
            }
            self.expected = Expected::Nothing;
            self.comment(true)?;
            entry.at = self.at;
        }
        if begins_list {
            self.emit(Event::SequenceStart(StructureStyle::Block, 0, None), entry, entry)?;
        }
        self.expected = Expected::Entry(entry);
        if has_content {
            return self.node(column + isize::try_from(self.at - dash).ok()?);
        }
        self.end_line()
    }

    /// Reads a block scalar from its header.
    fn block_scalar(&mut self) -> Option<()> {
        let header = block_scalar::header(self.bytes, self.at)?;
        let style = if self.byte() == Some(b'>') { ScalarStyle::Folded } else { ScalarStyle::Literal };
        self.at = header.end;
        self.skip_spaces();
        let (comment, line) = (self.at, self.line);
        let end = memchr::memchr(b'\n', &self.bytes[comment..])? + comment;
        let has_comment = end > comment;
        if has_comment && (self.byte() != Some(b'#') || self.bytes[comment - 1] != b' ') {
            return None;
        }
        let scalar = header.scalar(self.text, end + 1, self.indent(), self.adds_break)?;
        let from = Mark { at: scalar.start, line: line + scalar.start_line };
        let to = Mark { at: scalar.end, line: line + scalar.end_line };
        self.emit(Event::Scalar(Cow::Owned(scalar.value), style, 0, None), from, to)?;
        if has_comment && self.has_comments {
            self.emit_comment(&Comment { start: comment, end, line, is_right: true })?;
        }
        self.expected = Expected::Nothing;
        self.line = to.line;
        self.at = match memchr::memrchr(b'\n', &self.bytes[..to.at]) {
            Some(end) if to.at < self.bytes.len() => end + 1,
            _ => to.at,
        };
        Some(())
    }
}
