//! Literal and folded scalars.

use super::bytes::ends_word;

/// A block scalar.
pub(super) struct BlockScalar {
    pub value: String,
    /// The position of its first text.
    pub start: usize,
    /// The line of `start`, counted from the line of the header.
    pub start_line: usize,
    /// The position after its last line and the indentation of the next line.
    pub end: usize,
    /// The line of `end`, counted from the line of the header.
    pub end_line: usize,
}

/// The line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Clip,
    Strip,
    Keep,
}

/// The header of a block scalar.
pub(super) struct Header {
    is_folded: bool,
    chomping: Chomping,
    /// The indentation indicator.
    width: Option<usize>,
    /// The end of the indicators.
    pub end: usize,
}

/// Reads the indicators of a block scalar.
pub(super) fn header(bytes: &[u8], start: usize) -> Option<Header> {
    let (mut chomping, mut width, mut end) = (None, None, start + 1);
    while !ends_word(bytes, end) {
        match bytes[end] {
            b'-' if chomping.is_none() => chomping = Some(Chomping::Strip),
            b'+' if chomping.is_none() => chomping = Some(Chomping::Keep),
            digit @ b'1'..=b'9' if width.is_none() => width = Some(usize::from(digit - b'0')),
            _ => return None,
        }
        end += 1;
    }
    let chomping = chomping.unwrap_or(Chomping::Clip);
    Some(Header { is_folded: bytes[start] == b'>', chomping, width, end })
}

/// The lines of a block scalar.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    indent: usize,
    /// The number of spaces before the position, up to the indentation.
    column: usize,
}

impl Header {
    /// Reads the lines of a scalar from the first line after its header. `parent` is the indentation of the enclosing
    /// map or list, or -1. With `adds_break`, a line break is added to a last line without one.
    pub fn scalar(&self, text: &str, from: usize, parent: isize, adds_break: bool) -> Option<BlockScalar> {
        let mut lines = Lines { text, at: from, line: 1, indent: 0, column: 0 };
        let least = usize::try_from(parent + 1).unwrap_or_default();
        let blank = match self.width {
            None => lines.find_indent(least)?,
            Some(width) => {
                lines.indent = least.saturating_sub(usize::from(parent >= 0)) + width;
                lines.skip_blank()
            }
        };
        let (start, start_line) = (lines.at, lines.line);
        if start == text.len() || lines.column < lines.indent && lines.column >= least {
            return None;
        }
        let mut value = String::new();
        self.content(&mut lines, blank, &mut value)?;
        if lines.at == text.len() && !text.ends_with('\n') {
            // White space on the last line may be a line of the scalar.
            let last_line = text.rfind('\n').map_or(text, |end| &text[end + 1..]);
            if last_line.trim_start_matches(' ').is_empty() {
                return None;
            }
            if !adds_break && value.ends_with('\n') {
                value.pop();
            }
        }
        Some(BlockScalar { value, start, start_line, end: lines.at, end_line: lines.line })
    }

    /// Reads the lines into `value`, after `blank` blank lines.
    fn content(&self, lines: &mut Lines<'_>, mut blank: usize, value: &mut String) -> Option<()> {
        let (mut is_first, mut was_indented) = (true, false);
        while lines.at < lines.text.len() && lines.column == lines.indent {
            if lines.indent == 0 {
                return None;
            }
            let line = lines.take();
            let is_indented = line.starts_with(' ');
            let is_joined = self.is_folded && !is_first && !was_indented && !is_indented;
            match (is_joined, blank) {
                (true, 0) => value.push(' '),
                (false, _) if !is_first => value.push('\n'),
                _ => {}
            }
            push_breaks(value, blank);
            value.push_str(line);
            (is_first, was_indented) = (false, is_indented);
            blank = lines.skip_blank();
        }
        if self.chomping != Chomping::Strip && !is_first {
            value.push('\n');
        }
        if self.chomping == Chomping::Keep {
            push_breaks(value, blank);
        }
        Some(())
    }
}

fn push_breaks(value: &mut String, count: usize) {
    value.extend(std::iter::repeat_n('\n', count));
}

impl<'t> Lines<'t> {
    /// Returns the rest of the line with its line break, and advances to the next line.
    fn take(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        self.at = (self.at + length + 1).min(self.text.len());
        self.line += 1;
        &rest[..length]
    }

    /// Skips blank lines, and the indentation of the next line. Returns the number of blank lines.
    fn skip_blank(&mut self) -> usize {
        let bytes = self.text.as_bytes();
        let mut count = 0;
        loop {
            let spaces = bytes[self.at..].iter().take(self.indent).take_while(|byte| **byte == b' ').count();
            (self.at, self.column) = (self.at + spaces, spaces);
            if bytes.get(self.at) != Some(&b'\n') {
                return count;
            }
            (self.at, self.line, count) = (self.at + 1, self.line + 1, count + 1);
        }
    }

    /// Skips blank lines, and sets the indentation to that of the first line with text, but at least to `least`.
    /// Returns the number of blank lines. Declines the text if a blank line is longer than the indentation.
    fn find_indent(&mut self, least: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let (mut count, mut longest) = (0, 0);
        loop {
            let spaces = bytes[self.at..].iter().take_while(|byte| **byte == b' ').count();
            (self.at, self.column) = (self.at + spaces, spaces);
            if bytes.get(self.at)? != &b'\n' {
                self.indent = least.max(spaces);
                return (longest <= spaces).then_some(count);
            }
            longest = longest.max(spaces);
            (self.at, self.line, count) = (self.at + 1, self.line + 1, count + 1);
        }
    }
}
