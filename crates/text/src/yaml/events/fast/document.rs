//! Documents, lines between values, and comments.

use std::borrow::Cow;

use granit_parser::{Event, Placement};

use super::block::{BlockReader, Comment, Expected, Frame};
use super::bytes::{count_spaces, ends_word};
use crate::yaml::events::{EventPosition, Receiver};

/// The next token on a line of its own.
enum Line {
    /// A token in this column.
    Token(isize),
    /// `---`
    Separator,
    /// The end of the text.
    End,
}

impl<R: Receiver> BlockReader<'_, R> {
    /// Reads the whole text. Returns `None` to decline it.
    pub fn read(mut self) -> Option<R> {
        self.emit(Event::StreamStart, self.mark(), self.mark())?;
        loop {
            match self.next_line()? {
                Line::Token(column) => self.token(column)?,
                Line::Separator => {
                    self.end_document()?;
                    self.separator()?;
                }
                Line::End => {
                    self.end_document()?;
                    self.emit(Event::StreamEnd, self.mark(), self.mark())?;
                    return Some(self.receiver);
                }
            }
        }
    }

    /// Skips blank lines and comments.
    fn next_line(&mut self) -> Option<Line> {
        loop {
            let start = self.at;
            self.at += count_spaces(self.bytes, start);
            match self.byte() {
                None => {
                    // The parser's input always ends with a line break.
                    self.line += usize::from(self.at > start || self.bytes.is_empty());
                    return Some(Line::End);
                }
                Some(b'\n') => self.break_line(),
                Some(b'#') => {
                    self.comment(false)?;
                    self.break_line();
                }
                Some(b'%' | b'.' | b'-') if self.at == start => return self.marker(),
                Some(_) => return Some(Line::Token(isize::try_from(self.at - start).ok()?)),
            }
        }
    }

    pub(super) fn break_line(&mut self) {
        self.at = (self.at + 1).min(self.bytes.len());
        self.line += 1;
    }

    fn marker(&mut self) -> Option<Line> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(b"---") {
            return ends_word(self.bytes, self.at + 3).then_some(Line::Separator);
        }
        (rest.starts_with(b"-")).then_some(Line::Token(0))
    }

    /// Emits the comment at this position, or holds it back until the value before it is known.
    pub(super) fn comment(&mut self, is_right: bool) -> Option<()> {
        let start = self.at;
        self.at =
            memchr::memchr(b'\n', &self.bytes[start..]).map_or(self.bytes.len(), |length| start + length);
        if !self.has_comments {
            return Some(());
        }
        let comment = Comment { start, end: self.at, line: self.line, is_right };
        if matches!(self.expected, Expected::Value(_) | Expected::Entry(_)) {
            self.held.push(comment);
            return Some(());
        }
        self.emit_comment(&comment)
    }

    pub(super) fn emit_comment(&mut self, comment: &Comment) -> Option<()> {
        let &Comment { start, end, line, is_right } = comment;
        let placement = if is_right { Placement::Right } else { Placement::Above };
        let text = Cow::Borrowed(&self.text[start + 1..end]);
        let position = EventPosition { range: start..end, first_line: line, last_line: line };
        self.receiver.event(Event::Comment(text, placement), &position).ok()
    }

    /// Emits the comments that were held back.
    pub(super) fn emit_held(&mut self) -> Option<()> {
        if self.held.is_empty() {
            return Some(());
        }
        std::mem::take(&mut self.held).iter().try_for_each(|comment| self.emit_comment(comment))
    }

    /// Reads the rest of a line: spaces and a comment.
    pub(super) fn end_line(&mut self) -> Option<()> {
        self.skip_spaces();
        match self.byte() {
            None | Some(b'\n') => {}
            Some(b'#') if self.bytes[self.at - 1] == b' ' => self.comment(true)?,
            Some(_) => return None,
        }
        self.break_line();
        Some(())
    }

    /// Reads a `---`.
    fn separator(&mut self) -> Option<()> {
        let start = self.mark();
        self.at += 3;
        let end = self.mark();
        self.emit(Event::DocumentStart(true, None), start, end)?;
        self.expected = Expected::Root(end);
        self.end_line()
    }

    /// Closes all open values at the end of a document.
    fn end_document(&mut self) -> Option<()> {
        match self.expected {
            Expected::FirstRoot => return Some(()),
            Expected::Root(at) => self.empty(at)?,
            Expected::Value(_) | Expected::Entry(_) => self.end_empty()?,
            Expected::Nothing => {}
        }
        while let Some(frame) = self.frames.pop() {
            self.close(frame)?;
        }
        self.emit(Event::DocumentEnd, self.last, self.last)
    }

    pub(super) fn close(&mut self, frame: Frame) -> Option<()> {
        let event = if frame.is_map { Event::MappingEnd } else { Event::SequenceEnd };
        self.emit(event, self.mark(), self.mark())
    }

    /// Emits an empty value and the comments after it.
    pub(super) fn end_empty(&mut self) -> Option<()> {
        let expected = std::mem::replace(&mut self.expected, Expected::Nothing);
        if let Expected::Value(at) | Expected::Entry(at) = expected {
            self.empty(at)?;
        }
        self.emit_held()
    }
}
