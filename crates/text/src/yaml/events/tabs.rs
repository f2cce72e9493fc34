//! Checks for tabs in indentation, except on lines whose indentation has no meaning.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span, StructureStyle};

/// The lines with tabs in their leading white space.
pub(super) struct TabCheck<'t> {
    text: &'t str,
    /// The lines with a tab after their first spaces and entry indicators.
    tabs: Vec<Line>,
    /// The columns of the open block collections; `None` for flow collections.
    open: Vec<Option<usize>>,
    /// The start of the outermost open flow collection.
    flow: usize,
}

struct Line {
    start: usize,
    /// The number of leading spaces.
    spaces: usize,
    /// The position of its tab.
    tab: usize,
    /// True if the line is inside a value that may have any indentation.
    is_inside: bool,
}

impl<'t> TabCheck<'t> {
    /// Collects the lines of a text with tabs. Tabs before the byte `from` are ignored.
    pub fn new(text: &'t str, from: usize) -> Self {
        let bytes = text.as_bytes();
        let mut tabs: Vec<Line> = Vec::new();
        for tab in memchr::memchr_iter(b'\t', &bytes[from..]).map(|tab| from + tab) {
            let before = bytes[..tab].iter().rev().take_while(|byte| b" -?:".contains(byte)).count();
            let start = tab - before;
            if start == 0 || bytes[start - 1] == b'\n' {
                let spaces = bytes[start..].iter().take_while(|byte| **byte == b' ').count();
                tabs.push(Line { start, spaces, tab, is_inside: false });
            }
        }
        Self { text, tabs, open: Vec::new(), flow: 0 }
    }

    /// Returns the first tab that is used as indentation.
    pub fn find_indenting_tab(&self) -> Option<usize> {
        let mut comment = 0;
        for line in self.tabs.iter().filter(|line| !line.is_inside) {
            // One lookup is sufficient for all lines before the same comment.
            if line.start >= comment {
                match self.next_of_comments(line) {
                    Some(next) => comment = next,
                    None => return Some(line.tab),
                }
            }
        }
        None
    }

    /// Returns the start of the next comment, if there are only blank lines between this line and the comments before
    /// and after it. libyaml's port to Go accepts any indentation of comments that follow a comment.
    fn next_of_comments(&self, line: &Line) -> Option<usize> {
        let before = self.text[..line.start].trim_end().rsplit('\n').next().unwrap_or_default();
        let tail = self.text[line.start..].trim_start();
        let follows = before.trim_start().starts_with('#') || before.contains(" #");
        (follows && tail.starts_with('#')).then(|| self.text.len() - tail.len())
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tabs.is_empty()
    }

    pub fn event(&mut self, event: &Event<'_>, span: &Span, at: &Range<usize>) {
        match event {
            Event::MappingStart(style, ..) | Event::SequenceStart(style, ..) => {
                let is_block = *style == StructureStyle::Block;
                if !is_block && self.open.last().is_none_or(Option::is_some) {
                    self.flow = at.start;
                }
                self.open.push(is_block.then(|| span.start.col()));
            }
            Event::MappingEnd | Event::SequenceEnd => {
                let was_flow = self.open.pop().is_some_and(|column| column.is_none());
                if was_flow && self.open.last().is_none_or(Option::is_some) {
                    self.accept_all(self.flow..at.end);
                }
            }
            Event::Scalar(_, style, ..) => match style {
                ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => self.accept_all(at.clone()),
                ScalarStyle::Plain if at.is_empty() => {}
                // Blank lines after a plain scalar may be part of it.
                ScalarStyle::Plain => {
                    let (end, spaces) = (self.end_of_blank_lines(at.end), self.indent());
                    accept(&mut self.tabs, at.start..end, spaces);
                }
                ScalarStyle::Literal | ScalarStyle::Folded => {
                    let (lines, spaces) = self.block_scalar(at);
                    accept(&mut self.tabs, lines, spaces);
                }
            },
            _ => {}
        }
    }

    /// Returns the minimum column of the content of the open block collection.
    fn indent(&self) -> usize {
        self.open.iter().rev().find_map(|column| *column).map_or(0, |column| column + 1)
    }

    /// Returns the range of a block scalar's lines, starting after its header, and the number of spaces by which they
    /// are indented. The parser reports the position of its first text.
    fn block_scalar(&self, at: &Range<usize>) -> (Range<usize>, usize) {
        let before = self.text[..at.start].trim_end();
        let header = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        let lines = &self.text[before.len()..at.end];
        let lines = &lines[lines.find('\n').map_or(lines.len(), |end| end + 1)..];
        let range = before.len()..at.end;
        let header = header.split(" #").next().unwrap_or_default();
        let width = header.rsplit(['|', '>']).next().and_then(|word| {
            word.trim_start_matches(['-', '+']).chars().next().and_then(|digit| digit.to_digit(10))
        });
        if let Some(width) = width {
            return (range, self.indent().saturating_sub(1) + width as usize);
        }
        let first = lines.lines().find(|line| !line.trim_start_matches(' ').is_empty()).unwrap_or_default();
        let content = first.trim_start_matches(' ');
        // A tab at this position is in the indentation.
        (range, first.len() - content.len() + usize::from(content.starts_with('\t')))
    }

    /// Returns the end of the blank lines after a plain scalar that ends at `at`.
    fn end_of_blank_lines(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        let tail = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let end = self.text.len() - tail.len();
        // The line of the next token is excluded, unless the token is a comment.
        if tail.is_empty() || tail.starts_with('#') {
            end
        } else {
            self.text[at..end].rfind('\n').map_or(at, |line| at + line)
        }
    }

    fn accept_all(&mut self, range: Range<usize>) {
        accept(&mut self.tabs, range, 0);
    }
}

/// Accepts the lines that begin in the range and have at least `spaces` leading spaces.
fn accept(lines: &mut [Line], range: Range<usize>, spaces: usize) {
    let from = lines.partition_point(|line| line.start <= range.start);
    for line in lines[from..].iter_mut().take_while(|line| line.start < range.end) {
        line.is_inside |= line.spaces >= spaces;
    }
}
