//! Lines whose indentation must not mean anything: whether they lie where it means nothing.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span, StructureStyle};

/// The lines of a text whose indentation must not mean anything.
pub(super) struct Lines<'t> {
    text: &'t str,
    /// Those that have a tab behind their first spaces and indicators of entries.
    tabs: Vec<Line>,
    /// The columns of the open block collections, and none for the flow collections.
    open: Vec<Option<usize>>,
    /// Where the outermost open flow collection begins.
    flow: usize,
}

struct Line {
    start: usize,
    /// How many spaces it begins with.
    spaces: usize,
    /// Where its tab stands.
    tab: usize,
    /// Whether it lies inside of what may be indented in any way.
    is_inside: bool,
}

impl<'t> Lines<'t> {
    /// The lines of a text, in which tabs before the byte `from` mean nothing.
    pub fn of(text: &'t str, from: usize) -> Self {
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

    /// A tab where indentation is looked for.
    pub fn wrong_tab(&self) -> Option<usize> {
        let mut comment = 0;
        for line in self.tabs.iter().filter(|line| !line.is_inside) {
            // One look says it for all lines in front of the same comment.
            if line.start >= comment {
                match self.next_of_comments(line) {
                    Some(next) => comment = next,
                    None => return Some(line.tab),
                }
            }
        }
        None
    }

    /// Where the comment stands that this line and blank ones separate from another. libyaml, as Go has it, reads
    /// comments that follow a comment regardless of what indents them.
    fn next_of_comments(&self, line: &Line) -> Option<usize> {
        let before = self.text[..line.start].trim_end().rsplit('\n').next().unwrap_or_default();
        let behind = self.text[line.start..].trim_start();
        let follows = before.trim_start().starts_with('#') || before.contains(" #");
        (follows && behind.starts_with('#')).then(|| self.text.len() - behind.len())
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
                // Blank lines below a plain scalar may be part of it.
                ScalarStyle::Plain => {
                    let (end, spaces) = (self.behind_blank_lines(at.end), self.indent());
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

    /// The least column of what belongs to the open block collection.
    fn indent(&self) -> usize {
        self.open.iter().rev().find_map(|column| *column).map_or(0, |column| column + 1)
    }

    /// The lines of a block scalar, from the end of its header on, and how many spaces they begin with. The
    /// parser says where its first text stands.
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
        // A tab there stands where the indentation is looked for.
        (range, first.len() - content.len() + usize::from(content.starts_with('\t')))
    }

    fn behind_blank_lines(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        let behind = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let end = self.text.len() - behind.len();
        // Not the line of what follows, unless that is a comment.
        if behind.is_empty() || behind.starts_with('#') {
            end + 1
        } else {
            self.text[at..end].rfind('\n').map_or(at, |line| at + line)
        }
    }

    fn accept_all(&mut self, range: Range<usize>) {
        accept(&mut self.tabs, range, 0);
    }
}

/// Takes the lines that begin in the range and have enough spaces for lines inside.
fn accept(lines: &mut [Line], range: Range<usize>, spaces: usize) {
    let from = lines.partition_point(|line| line.start <= range.start);
    for line in lines[from..].iter_mut().take_while(|line| line.start < range.end) {
        line.is_inside |= line.spaces >= spaces;
    }
}
