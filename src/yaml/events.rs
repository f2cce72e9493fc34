//! What stands in a text, event by event, as libyaml sees it.
//!
//! The parser is stricter than libyaml (and so than kubectl and kustomize) in one thing and laxer in two.
//! How far the further lines of quoted scalars and flow collections are indented means nothing to libyaml; when
//! the parser complains, such lines are padded and read again. On the other hand libyaml takes no tab where it
//! looks for indentation, and no document behind `...` that does not begin with `---`.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, Span, StructureStyle};
use regex::Regex;

use super::json_stream::further_values;
use crate::diagnostic::{self, Diagnostic};
use crate::source::Reading;

/// The byte order mark that may begin a text.
pub(super) const BOM: &str = "\u{feff}";

/// How deep maps and lists may nest. What walks trees by recursion relies on this bound.
pub(super) const MAX_DEPTH: usize = 250;

/// How many bytes of a scalar or collection are looked at for its end.
const FAR: usize = 1 << 16;

/// How many times its own size a text may cost to pad: in bytes that are added, and in bytes that are looked at in
/// vain. Real ones cost about their size; this bounds what others can ask for.
const MOST_WORK: usize = 8;

/// Where an event stands.
#[derive(Debug, Clone)]
pub(super) struct EventPlace {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Its first line, from 1.
    pub first_line: usize,
    /// Its last line, from 1.
    pub last_line: usize,
}

/// Why the events of a text were not read to their end.
pub(super) enum Unreadable {
    /// The text is not YAML, as seen at the byte `at`.
    Syntax { kind: Option<ErrorKind>, message: String, at: usize },
    /// Whom the events were shown refused one.
    Refused(Diagnostic),
}

impl Unreadable {
    /// What only libyaml refuses.
    fn not_libyaml(message: &str, at: usize) -> Self {
        Self::Syntax { kind: None, message: message.to_string(), at }
    }

    fn is_of_indentation(&self) -> bool {
        use ErrorKind::{InvalidQuotedScalarIndent, TabInBlockIndentation, TabInIndentation};
        matches!(
            self,
            Self::Syntax {
                kind: Some(InvalidQuotedScalarIndent | TabInBlockIndentation | TabInIndentation),
                ..
            }
        )
    }
}

/// What becomes of comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommentEvents {
    Shown,
    PassedOver,
}

/// Shows `step` the events of a text, in order, with a state that `start` makes.
///
/// A byte order mark is passed over. When a text is read again, it begins with a new state. As kubectl reads them,
/// JSON objects that follow each other are documents.
///
/// # Errors
/// The text is not YAML, or `step` fails.
pub(super) fn read_events<S>(
    text: &str,
    comments: CommentEvents,
    reading: Reading,
    start: impl Fn() -> S,
    step: impl Fn(&mut S, Event<'_>, &EventPlace) -> diagnostic::Result<()>,
) -> Result<S, Unreadable> {
    let read = |padded: &Padded<'_>| -> Result<_, Unreadable> {
        let (mut state, mut lines) = (start(), Lines::of(text, padded));
        read_once(padded, comments, &mut lines, |event, place| step(&mut state, event, place))?;
        Ok((state, lines))
    };
    let complaint = match read(&Padded::not(text)) {
        Ok((state, _)) => return Ok(state),
        Err(failure) if failure.is_of_indentation() => failure,
        Err(failure @ Unreadable::Syntax { .. }) if reading == Reading::Kubectl => {
            let Some(separated) = Padded::separated(text) else { return Err(failure) };
            return read(&separated).map(|(state, _)| state);
        }
        Err(failure) => return Err(failure),
    };
    let mut pads = pads(text);
    // What looked like a quoted scalar may be a line of a block scalar, where padding means something.
    for _ in 0..2 {
        match read(&Padded::new(text, &pads)) {
            Ok((state, lines)) if lines.pads.iter().all(|line| line.is_inside) => return Ok(state),
            Ok((_, lines)) => {
                let mut inside = lines.pads.iter().map(|line| line.is_inside);
                pads.retain(|_| inside.next().unwrap_or_default());
            }
            Err(failure @ Unreadable::Refused(_)) => return Err(failure),
            Err(_) => break,
        }
    }
    Err(complaint)
}

fn read_once(
    padded: &Padded<'_>,
    comments: CommentEvents,
    lines: &mut Lines<'_>,
    mut step: impl FnMut(Event<'_>, &EventPlace) -> diagnostic::Result<()>,
) -> Result<(), Unreadable> {
    let mut documents = 0;
    for event in Parser::new_from_str_with_options(padded.body(), options(comments)) {
        let (mut event, span) = event.map_err(|error| Unreadable::Syntax {
            kind: Some(error.kind().clone()),
            message: error.info().clone(),
            at: padded.original(error.marker().byte_offset().unwrap_or_default()),
        })?;
        let bytes = span.byte_range().unwrap_or_default();
        let place = EventPlace {
            range: padded.original(bytes.start)..padded.original(bytes.end),
            first_line: span.start.line(),
            last_line: span.end.line(),
        };
        if let Event::DocumentStart(explicit, _) = &mut event {
            if documents > 0 && !*explicit {
                let message = "a document begins without `---` behind the end of another";
                return Err(Unreadable::not_libyaml(message, place.range.start));
            }
            *explicit &= !padded.is_separated;
            documents += 1;
        }
        if !lines.is_empty() {
            lines.event(&event, &span, &place.range);
        }
        step(event, &place).map_err(Unreadable::Refused)?;
    }
    match lines.wrong_tab() {
        None => Ok(()),
        Some(at) => Err(Unreadable::not_libyaml("a tab stands where YAML looks for indentation", at)),
    }
}

fn options(comments: CommentEvents) -> granit_parser::Options {
    granit_parser::options! {
        emit_comments: comments == CommentEvents::Shown,
        max_buffered_comment_events: usize::MAX,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    }
}

/// A text in which spaces are put at the start of some lines, or `---` between documents.
struct Padded<'t> {
    text: Cow<'t, str>,
    /// The bytes of the byte order mark, of which the parser does not know.
    mark: usize,
    /// Where the padding begins in the padded text, how many bytes it has, and how many stand before it.
    pads: Vec<(usize, usize, usize)>,
    lines: &'t [Pad],
    /// Whether the padding separates documents.
    is_separated: bool,
}

/// What separates documents that have nothing between them.
const SEPARATOR: &str = "\n---\n";

/// So many spaces at the start of a line.
struct Pad {
    line: usize,
    spaces: usize,
}

impl<'t> Padded<'t> {
    fn not(text: &'t str) -> Self {
        let text = Cow::Borrowed(text);
        Self { mark: mark_of(&text), text, pads: Vec::new(), lines: &[], is_separated: false }
    }

    /// JSON objects that follow each other; none when the text is anything else.
    fn separated(text: &'t str) -> Option<Self> {
        let mark = mark_of(text);
        let (mut padded, mut pads, mut done) = (String::with_capacity(text.len()), Vec::new(), 0);
        for start in further_values(&text[mark..])? {
            let start = mark + start;
            padded.push_str(&text[done..start]);
            pads.push((padded.len(), SEPARATOR.len(), padded.len() - start));
            padded.push_str(SEPARATOR);
            done = start;
        }
        padded.push_str(&text[done..]);
        Some(Self { text: Cow::Owned(padded), mark, pads, lines: &[], is_separated: true })
    }

    fn new(text: &'t str, lines: &'t [Pad]) -> Self {
        let (mut padded, mut pads, mut done) = (String::with_capacity(text.len()), Vec::new(), 0);
        for Pad { line, spaces } in lines {
            padded.push_str(&text[done..*line]);
            pads.push((padded.len(), *spaces, padded.len() - line));
            padded.extend(std::iter::repeat_n(' ', *spaces));
            done = *line;
        }
        padded.push_str(&text[done..]);
        Self { text: Cow::Owned(padded), mark: mark_of(text), pads, lines, is_separated: false }
    }

    /// What the parser sees.
    fn body(&self) -> &str {
        &self.text[self.mark..]
    }

    /// The place in the original text of a place in the body.
    fn original(&self, at: usize) -> usize {
        let at = at + self.mark;
        match self.pads.partition_point(|(start, ..)| *start < at).checked_sub(1).map(|i| self.pads[i]) {
            None => at,
            Some((start, spaces, before)) => at.max(start + spaces) - spaces - before,
        }
    }
}

/// How many bytes of byte order mark a text begins with.
pub(super) fn mark_of(text: &str) -> usize {
    if text.starts_with(BOM) { BOM.len() } else { 0 }
}

/// What stands on a line in front of its key or value, and, behind the key, the anchor and the tag, the first
/// character of a value that may go on over many lines.
static OPENING: LazyLock<Regex> = LazyLock::new(|| {
    let key = r##"(?:[^\s'"#\[{][^#\r\n]*?|'[^'\r\n]*'|"[^"\r\n]*"):[ \t]+"##;
    Regex::new(&format!(r#"^([ ]*(?:[-?:] +)*)(?:{key})?(?:[&!]\S*[ \t]+)*(['"\[{{])"#)).expect("valid")
});

/// Pads for all lines that seem to be further lines of quoted scalars and flow collections.
fn pads(text: &str) -> Vec<Pad> {
    let (mut pads, mut at) = (Vec::new(), 0);
    let mut work = text.len().saturating_mul(MOST_WORK);
    while let Some(length) = text[at..].find('\n') {
        let found = OPENING.captures(&text[at..at + length]);
        let found = found.and_then(|found| Some((found.get(1)?.len(), at + found.get(2)?.start())));
        at += length + 1;
        let Some((indicators, opening)) = found else { continue };
        let Some(end) = closing(text, opening) else {
            work = work.saturating_sub(FAR.min(text.len() - opening));
            if work == 0 {
                return pads;
            }
            continue;
        };
        // With spaces before them, `---` and `...` would no longer end the document.
        while at <= end && !text[at..].starts_with("---") && !text[at..].starts_with("...") {
            let next = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
            // Deeper than the map or list that the value stands in.
            let spaces = indicators + 2;
            if !text[at..next].trim_matches([' ', '\r', '\n']).is_empty() {
                let Some(left) = work.checked_sub(spaces) else { return pads };
                work = left;
                pads.push(Pad { line: at, spaces });
            }
            at = next;
        }
    }
    pads
}

/// Where the quotes or brackets close that open at `at`, if that is not far away.
fn closing(text: &str, at: usize) -> Option<usize> {
    let (mut depth, mut blank) = (0_usize, true);
    let mut bytes = (at..).zip(text.as_bytes()[at..].iter().copied()).take(FAR).peekable();
    while let Some((i, byte)) = bytes.next() {
        match byte {
            b'\'' | b'"' => {
                while let Some((end, inner)) = bytes.next() {
                    let doubled = byte == b'\'' && bytes.peek().is_some_and(|(_, next)| *next == b'\'');
                    if inner == b'\\' && byte == b'"' || inner == byte && doubled {
                        bytes.next();
                    } else if inner == byte {
                        if depth == 0 {
                            return Some(end);
                        }
                        break;
                    }
                }
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i);
                }
            }
            b'#' if blank => while bytes.next_if(|(_, inner)| *inner != b'\n').is_some() {},
            _ => {}
        }
        blank = byte.is_ascii_whitespace();
    }
    None
}

/// The lines of a text whose indentation must not mean anything.
struct Lines<'t> {
    text: &'t str,
    /// Those that have a tab behind their first spaces and indicators of entries.
    tabs: Vec<Line>,
    /// Those that are padded.
    pads: Vec<Line>,
    /// The columns of the open block collections, and none for the flow collections.
    open: Vec<Option<usize>>,
    /// Where the outermost open flow collection begins.
    flow: usize,
}

#[derive(Default)]
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
    fn of(text: &'t str, padded: &Padded<'_>) -> Self {
        let bytes = text.as_bytes();
        let mut tabs: Vec<Line> = Vec::new();
        for tab in memchr::memchr_iter(b'\t', bytes) {
            let before = bytes[..tab].iter().rev().take_while(|byte| b" -?:".contains(byte)).count();
            let start = tab - before;
            if start == 0 || bytes[start - 1] == b'\n' {
                let spaces = bytes[start..].iter().take_while(|byte| **byte == b' ').count();
                tabs.push(Line { start, spaces, tab, is_inside: false });
            }
        }
        let pads = padded.lines.iter().map(|Pad { line, .. }| Line { start: *line, ..Line::default() });
        Self { text, tabs, pads: pads.collect(), open: Vec::new(), flow: 0 }
    }

    /// A tab where indentation is looked for.
    fn wrong_tab(&self) -> Option<usize> {
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

    fn is_empty(&self) -> bool {
        self.tabs.is_empty() && self.pads.is_empty()
    }

    fn event(&mut self, event: &Event<'_>, span: &Span, at: &Range<usize>) {
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
        accept(&mut self.tabs, range.clone(), 0);
        accept(&mut self.pads, range, 0);
    }
}

/// Takes the lines that begin in the range and have enough spaces for lines inside.
fn accept(lines: &mut [Line], range: Range<usize>, spaces: usize) {
    let from = lines.partition_point(|line| line.start <= range.start);
    for line in lines[from..].iter_mut().take_while(|line| line.start < range.end) {
        line.is_inside |= line.spaces >= spaces;
    }
}

#[cfg(test)]
mod tests {
    use crate::source::SourceMap;
    use crate::yaml::{ParseOptions, parse_documents, to_json};

    /// The documents as JSON, or the message and `line:column`.
    fn read(text: &str) -> String {
        let sources = SourceMap::default();
        match parse_documents(&sources, sources.add("t.yaml", text), ParseOptions::default()) {
            Ok(documents) => documents.iter().map(|node| to_json(node).expect("finite")).collect(),
            Err(error) => {
                let span = error.labels().first().expect("a place").span;
                let (line, column) = sources.get(span.source).expect("there").line_column(span.start);
                format!("{} {line}:{column}", error.message())
            }
        }
    }

    #[test]
    fn indentation_within_quotes_and_brackets_means_nothing() {
        let table = [
            ("a:\n  b: 'one\n two\n\nthree'\n  c: d\n", r#"{"a":{"b":"one two\nthree","c":"d"}}"#),
            (
                "a:\n  - k: \"one \\\nit''s \\\" two\"\n    c: d\n",
                r#"{"a":[{"c":"d","k":"one it''s \" two"}]}"#,
            ),
            ("- - 'it''s\nme' # why\n  - \"\n\"\n", r#"[["it's me"," "]]"#),
            (
                "a: \"x\n\ty\"\nb: [\n\tc, # d'\n\t{e: 'f\n\tg'},\n\t]\n",
                r#"{"a":"x y","b":["c",{"e":"f g"}]}"#,
            ),
            ("'a key': &x !!str 'b\nc'\n\"d\": *x\n", r#"{"a key":"b c","d":"b c"}"#),
            ("\u{feff}a: 'x\ny'\nb: 'x\ny'\n", r#"{"a":"x y","b":"x y"}"#),
            // What only looks so is not touched.
            (
                "a: |\n  b: 'x\n  y'\n  c: [\n  d\nb: 'x\ny'\n",
                "{\"a\":\"b: 'x\\ny'\\nc: [\\nd\\n\",\"b\":\"x y\"}",
            ),
            ("a: |\n  [ -f\n  ]\nb: don't\nc: 'x\ny'\n", r#"{"a":"[ -f\n]\n","b":"don't","c":"x y"}"#),
        ];
        for (text, want) in table {
            assert_eq!(read(text), want, "{text}");
        }
    }

    #[test]
    fn places_are_those_of_the_text_as_it_is() {
        let text = "a: 'x\ny'\nb: 'x\ny'\nc: d\n";
        let sources = SourceMap::default();
        let id = sources.add("t.yaml", text);
        let documents = parse_documents(&sources, id, ParseOptions::default()).expect("YAML");
        for (name, want) in [("a", "'x\ny'"), ("b", "'x\ny'"), ("c", "d")] {
            let span = documents[0].get(name).expect("there").span();
            assert_eq!(&text[span.start as usize..span.end as usize], want);
        }
        assert_eq!(read("a: 'x\ny'\nb: 'x\n y'\nb: 1\n"), "the key `b` stands here twice 5:1");
        assert!(read("a: 'x\ny\n---\nz'\n").starts_with("invalid indentation"));
        assert_eq!(read("a: 'x\ny'\nb: {\n"), "invalid indentation in multiline quoted scalar 2:1");
    }

    #[test]
    fn padding_is_bounded_by_the_size_of_the_text() {
        let deep = " ".repeat(1000);
        let text = format!("a: |\n{deep}b: 'c\n{}'\n", "d\n".repeat(30_000)).repeat(3);
        let added: usize = super::pads(&text).iter().map(|pad| pad.spaces).sum();
        assert!(added > text.len() && added <= text.len() * super::MOST_WORK, "{added}");
        let open = "- [\n".repeat(100_000);
        assert!(super::pads(&open).is_empty());
    }

    #[test]
    fn tabs_do_not_indent() {
        let wrong = "a tab stands where YAML looks for indentation";
        let table = [
            ("\t\n", Some("1:1")),
            ("a: b\n\t\n", Some("2:1")),
            ("a: b\n  \t\nc: d\n", None),
            ("a: \"b\"\n  \t\nc: d\n", Some("2:3")),
            ("a:\n\t\n  b: c\n", Some("2:1")),
            ("a:\n  -\tb\n", Some("2:4")),
            ("a:\tb\n", None),
            ("a: b # c\n\t# d\n", None),
            ("# c\n\n\t\n\t# d\na: b\n", None),
            ("# c\n\t\n\t\n# d\na: |  # e|9\n  f\n  \tg\n", None),
            ("a: b\n\n\t# d\n", Some("3:1")),
            ("a: |\n  x\n\n  \ty\n   \t\n", None),
            ("a: |\n  x\n\t\nb: y\n", Some("3:1")),
            ("a: |\n  \tx\n", Some("2:3")),
            ("a: |2 # c\n  \tx\n", None),
            ("a: >-\n\n  x\n \t\n", Some("4:2")),
            ("a: b\n  \tc\n", None),
            ("{\n\t\"a\": [\n\t\t1\n\t]\n}\n", None),
        ];
        for (text, place) in table {
            let (got, want) = (read(text), place.map(|place| format!("{wrong} {place}")));
            assert_eq!(got.starts_with(wrong), want.is_some(), "{text:?}: {got}");
            assert_eq!(got, want.unwrap_or(got.clone()), "{text:?}");
        }
    }

    #[test]
    fn a_document_behind_dots_begins_with_dashes() {
        assert_eq!(read("a: b\n...\n---\nc: d\n...\n"), r#"{"a":"b"}{"c":"d"}"#);
        assert_eq!(
            read("a: b\n...\nc: d\n"),
            "a document begins without `---` behind the end of another 3:1"
        );
    }
}
