//! The outline of a text: the ranges of documents, fields and entries with their indicators, anchors and tags.
//!
//! Trees do not contain these ranges, since only edits need them. This module does not depend on the changes.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle, StructureStyle};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::lines::{after_blank_lines, line_end, line_start, next_line};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::Reading;
use crate::yaml::events::{
    CommentEvents, EventError, EventOptions, EventPosition, Receiver, bom_length, read_events,
};
use crate::yaml::meta::{Style, Tag};
use crate::yaml::parse::is_merge_tag;
use crate::yaml::yaml_1_1::key_text;

/// A document of a text.
pub(super) struct DocumentOutline {
    /// The range from its directives or `---`, or from the start of the text, to the next document.
    pub range: Range<usize>,
    /// The range after its `---` and before its `...`, if it has them.
    pub content: Range<usize>,
    /// True if it has a `---`.
    pub has_separator: bool,
    /// True if it is the first document or follows a `...`.
    pub is_independent: bool,
    /// The root value; `None` if the layout of the text is not supported.
    pub root: Option<ValueOutline>,
    /// The ranges of anchored values, by the parser's number of the anchor.
    pub anchors: FxHashMap<usize, Range<usize>>,
    /// The positions of aliases in order, and the numbers of their anchors.
    pub aliases: Vec<(usize, usize)>,
}

impl DocumentOutline {
    /// Returns true if the document ends with `...`.
    pub fn is_ended(&self) -> bool {
        self.content.end < self.range.end
    }
}

/// A value in the text.
pub(super) struct ValueOutline {
    /// The start, including the anchor and tag. An empty value starts after its indicator.
    pub start: usize,
    /// The start without the anchor and tag.
    pub content: usize,
    /// The end. For a block scalar, this is the end of the last line.
    pub end: usize,
    /// The number of its anchor, or 0.
    pub anchor: usize,
    pub has_tag: bool,
    /// True if blank lines below belong to the value, because it ends with a scalar such as `|+`.
    pub takes_blank_lines: bool,
    pub kind: ValueKind,
}

pub(super) enum ValueKind {
    /// Plain or quoted.
    Scalar,
    /// `|` or `>`.
    BlockScalar,
    /// The number of its anchor.
    Alias(usize),
    Map {
        style: StructureStyle,
        fields: Vec<FieldOutline>,
    },
    List {
        style: StructureStyle,
        entries: Vec<EntryOutline>,
    },
}

/// A field of a map.
pub(super) struct FieldOutline {
    /// The position of the name, or of the `?` before it.
    pub start: usize,
    /// The name; `None` if it is an alias.
    pub name: Option<SmolStr>,
    /// True for the merge key `<<`.
    pub is_merge_key: bool,
    /// The position after the `:`, or after the name if there is no `:`.
    pub value_start: usize,
    pub has_colon: bool,
    pub value: ValueOutline,
    /// The position of the comma after the field, in flow style.
    pub comma: Option<usize>,
}

/// An entry of a list.
pub(super) struct EntryOutline {
    /// The position of the dash, or of the entry itself in flow style.
    pub start: usize,
    pub value: ValueOutline,
    /// The position of the comma after the entry, in flow style.
    pub comma: Option<usize>,
}

impl ValueOutline {
    /// Returns true for a block-style map or list.
    pub fn is_block_collection(&self) -> bool {
        use StructureStyle::Block;
        matches!(self.kind, ValueKind::Map { style: Block, .. } | ValueKind::List { style: Block, .. })
    }

    /// Returns the start of the first field or entry of a block-style map or list.
    pub fn first_start(&self) -> Option<usize> {
        use StructureStyle::Block;
        match &self.kind {
            ValueKind::Map { style: Block, fields } => fields.first().map(|field| field.start),
            ValueKind::List { style: Block, entries } => entries.first().map(|entry| entry.start),
            _ => None,
        }
    }

    /// Returns true if the value has no text: it is empty and has neither an anchor nor a tag.
    pub fn is_absent(&self) -> bool {
        self.start == self.end
    }
}

/// Creates the outline of a text.
///
/// # Errors
/// The text is not YAML.
pub(super) fn outline(text: &str, reading: Reading) -> Result<Vec<DocumentOutline>> {
    let start = || Outline::new(text, reading);
    let outline = read_events(text, EventOptions::manifests(CommentEvents::Skipped, reading), start);
    let mut documents = outline
        .map_err(|failure| match failure {
            EventError::Rejected(diagnostic) => diagnostic,
            EventError::Syntax { message, .. } => Diagnostic::error(Code::Syntax, message),
        })?
        .documents;
    if let Some(last) = documents.last_mut() {
        // Comments after the last `...` belong to the last document.
        last.range.end = text.len();
    }
    Ok(documents)
}

/// The complete documents, and the events of the current one.
struct Outline<'t> {
    text: &'t str,
    reading: Reading,
    documents: Vec<DocumentOutline>,
    events: Vec<OutlineEvent>,
    content: usize,
    has_separator: bool,
}

impl<'t> Outline<'t> {
    fn new(text: &'t str, reading: Reading) -> Self {
        let (documents, events) = (Vec::new(), Vec::new());
        Self { text, reading, documents, events, content: bom_length(text), has_separator: false }
    }

    /// Adds the document of the events so far, which ends at `end`.
    fn complete(&mut self, content: Range<usize>, end: usize) {
        let last = self.documents.last();
        let (start, begins_anew) = last.map_or((0, true), |last| (last.range.end, last.is_ended()));
        let mut builder = OutlineBuilder {
            text: &self.text[..content.end],
            reading: self.reading,
            events: std::mem::take(&mut self.events).into_iter().peekable(),
            anchors: FxHashMap::default(),
            aliases: Vec::new(),
        };
        let root = builder.part(content.start);
        let OutlineBuilder { anchors, aliases, .. } = builder;
        let (range, has_separator) = (start..end, self.has_separator);
        self.documents.push(DocumentOutline {
            range,
            content,
            has_separator,
            is_independent: begins_anew,
            root,
            anchors,
            aliases,
        });
    }
}

impl Receiver for Outline<'_> {
    fn event(&mut self, event: Event<'_>, position: &EventPosition) -> Result<()> {
        let at = position.range.clone();
        match event {
            Event::DocumentStart(explicit, _) => {
                self.has_separator = explicit;
                let previous = self.documents.last_mut();
                let start = match &previous {
                    None => 0,
                    Some(last) if last.is_ended() => last.range.end,
                    Some(_) => at.start,
                };
                self.content = if explicit { at.end } else { start.max(bom_length(self.text)) };
                if let Some(last) = previous.filter(|last| !last.is_ended()) {
                    last.range.end = start;
                    last.content.end = start;
                }
            }
            Event::DocumentEnd => {
                let ended = !at.is_empty();
                let end = if ended { next_line(self.text, at.end) } else { self.text.len() };
                self.complete(self.content..if ended { at.start } else { end }, end);
            }
            other => self.events.extend(OutlineEvent::new(other, at)),
        }
        Ok(())
    }
}

/// Returns the end of a value if it begins at the expected position.
fn end_at(content: usize, at: &Range<usize>) -> Option<usize> {
    (content == at.start).then_some(at.end)
}

/// The parts of a parser event that are needed for the outline.
struct OutlineEvent {
    at: Range<usize>,
    anchor: usize,
    has_tag: bool,
    /// True for the merge key `<<`.
    is_merge_key: bool,
    kind: EventKind,
}

enum EventKind {
    Scalar(SmolStr, ScalarStyle),
    Alias(usize),
    Map(StructureStyle),
    List(StructureStyle),
    End,
}

impl OutlineEvent {
    fn new(event: Event<'_>, at: Range<usize>) -> Option<Self> {
        let is_merge_key = match &event {
            Event::Scalar(text, style, _, tag) => match tag {
                Some(tag) => text == "<<" && is_merge_tag(tag),
                None => text == "<<" && *style == ScalarStyle::Plain,
            },
            _ => false,
        };
        let (kind, anchor, has_tag) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (EventKind::Scalar(text.into(), style), anchor, tag.is_some())
            }
            Event::Alias(id) => (EventKind::Alias(id), 0, false),
            Event::MappingStart(style, anchor, tag) => (EventKind::Map(style), anchor, tag.is_some()),
            Event::SequenceStart(style, anchor, tag) => (EventKind::List(style), anchor, tag.is_some()),
            Event::MappingEnd | Event::SequenceEnd => (EventKind::End, 0, false),
            _ => return None,
        };
        Some(Self { at, anchor, has_tag, is_merge_key, kind })
    }

    /// Returns true for an empty scalar without quotes.
    fn is_empty(&self) -> bool {
        matches!(self.kind, EventKind::Scalar(_, ScalarStyle::Plain)) && self.at.is_empty()
    }
}

/// A value without its anchor and tag, as in [`ValueOutline`].
struct Body {
    kind: ValueKind,
    end: usize,
    takes_blank_lines: bool,
}

impl Body {
    /// Creates a value without blank lines below that belong to it.
    fn inline(kind: ValueKind, end: usize) -> Self {
        Self { kind, end, takes_blank_lines: false }
    }
}

/// Aligns events with the text. The parser limits the recursion depth.
struct OutlineBuilder<'t> {
    text: &'t str,
    reading: Reading,
    events: std::iter::Peekable<std::vec::IntoIter<OutlineEvent>>,
    anchors: FxHashMap<usize, Range<usize>>,
    aliases: Vec<(usize, usize)>,
}

impl OutlineBuilder<'_> {
    /// Returns the next value, which begins after `from`. Returns `None` if the layout of the text is not supported.
    fn part(&mut self, from: usize) -> Option<ValueOutline> {
        let event = self.events.next()?;
        let properties = usize::from(event.anchor != 0) + usize::from(event.has_tag);
        let start = if event.is_empty() && properties == 0 { from } else { self.skip(from) };
        let after_properties = self.behind_properties(start, properties)?;
        let content = if event.is_empty() { after_properties } else { self.skip(after_properties) };
        let body = match event.kind {
            EventKind::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded) => {
                let (end, takes_blank_lines) = self.block_scalar(content, event.at.end)?;
                Body { kind: ValueKind::BlockScalar, end, takes_blank_lines }
            }
            EventKind::Scalar(..) if event.is_empty() => Body::inline(ValueKind::Scalar, content),
            EventKind::Scalar(..) => Body::inline(ValueKind::Scalar, end_at(content, &event.at)?),
            EventKind::Alias(id) => {
                self.aliases.push((start, id));
                Body::inline(ValueKind::Alias(id), end_at(content, &event.at)?)
            }
            EventKind::Map(style) => self.map(content, style)?,
            EventKind::List(style) => self.list(content, style)?,
            EventKind::End => return None,
        };
        if event.anchor != 0 {
            self.anchors.insert(event.anchor, start..body.end);
        }
        let OutlineEvent { anchor, has_tag, .. } = event;
        let Body { kind, end, takes_blank_lines } = body;
        Some(ValueOutline { start, content, end, anchor, has_tag, takes_blank_lines, kind })
    }

    fn map(&mut self, content: usize, style: StructureStyle) -> Option<Body> {
        let (mut fields, mut takes_blank_lines) = (Vec::new(), false);
        let has_braces = style == StructureStyle::Flow && self.byte(content) == Some(b'{');
        let mut from = content + usize::from(has_braces);
        loop {
            if let Some(end) = self.end() {
                let end = if has_braces { end } else { from };
                return Some(Body { kind: ValueKind::Map { style, fields }, end, takes_blank_lines });
            }
            let mut field = self.field(from, style)?;
            from = field.value.end;
            takes_blank_lines = field.value.takes_blank_lines;
            field.comma = if has_braces { self.comma(from) } else { None };
            from = field.comma.map_or(from, |comma| comma + 1);
            fields.push(field);
        }
    }

    fn field(&mut self, from: usize, style: StructureStyle) -> Option<FieldOutline> {
        let start = self.skip(from);
        let explicit = self.byte(start) == Some(b'?') && self.ends_word(start + 1);
        let event = self.events.peek()?;
        let plain = matches!(event.kind, EventKind::Scalar(_, ScalarStyle::Plain)) && !event.has_tag;
        let merge = event.is_merge_key;
        let name = match &event.kind {
            EventKind::Scalar(name, _) if plain && self.reading == Reading::Kubectl => {
                key_text(name, Style::Plain, Tag::None)
            }
            EventKind::Scalar(name, _) => Some(name.clone()),
            _ => None,
        };
        let key = self.part(if explicit { start + 1 } else { start })?;
        let at = self.skip(key.end);
        let colon = self.byte(at) == Some(b':') && (style == StructureStyle::Flow || self.ends_word(at + 1));
        let from = if colon { at + 1 } else { key.end };
        if !colon && !self.events.peek()?.is_empty() {
            return None;
        }
        let value = self.part(from)?;
        Some(FieldOutline {
            start,
            name,
            is_merge_key: merge,
            value_start: from,
            has_colon: colon,
            value,
            comma: None,
        })
    }

    fn list(&mut self, content: usize, style: StructureStyle) -> Option<Body> {
        let (mut entries, mut takes_blank_lines) = (Vec::new(), false);
        let flow = style == StructureStyle::Flow;
        let mut from = content + usize::from(flow);
        loop {
            if let Some(end) = self.end() {
                let end = if flow { end } else { from };
                return Some(Body { kind: ValueKind::List { style, entries }, end, takes_blank_lines });
            }
            let start = self.skip(from);
            if !flow && self.byte(start) != Some(b'-') {
                return None;
            }
            let value = self.part(if flow { from } else { start + 1 })?;
            from = value.end;
            takes_blank_lines = value.takes_blank_lines;
            let comma = if flow { self.comma(from) } else { None };
            from = comma.map_or(from, |comma| comma + 1);
            entries.push(EntryOutline { start, value, comma });
        }
    }

    /// Consumes the end of a map or list, if it comes next, and returns its position.
    fn end(&mut self) -> Option<usize> {
        self.events.next_if(|event| matches!(event.kind, EventKind::End)).map(|event| event.at.end)
    }

    fn comma(&self, from: usize) -> Option<usize> {
        let at = self.skip(from);
        (self.byte(at) == Some(b',')).then_some(at)
    }

    /// Returns the end of the last line of a block scalar, and true if the blank lines below belong to it. `header` is
    /// the position of its header, and `end` is the end of its text as reported by the parser.
    fn block_scalar(&self, header: usize, end: usize) -> Option<(usize, bool)> {
        if !matches!(self.byte(header), Some(b'|' | b'>')) {
            return None;
        }
        let header_end = line_end(self.text, header);
        let takes_blank_lines = self.text[header..header_end].split([' ', '\t', '#']).next()?.contains('+');
        let content = self.text.get(..end.max(header_end))?.trim_end_matches([' ', '\t', '\r', '\n']);
        let mut end = line_end(self.text, content.len().max(header_end));
        if takes_blank_lines {
            // The end of the last blank line, if there is one.
            let below = after_blank_lines(self.text, next_line(self.text, end), self.text.len());
            end = line_end(self.text, line_start(self.text, below.saturating_sub(1)).max(end));
        }
        Some((end, takes_blank_lines))
    }

    /// Returns the end of `count` anchors and tags that begin at `start`.
    fn behind_properties(&self, start: usize, count: usize) -> Option<usize> {
        let mut end = start;
        for i in 0..count {
            let at = if i == 0 { start } else { self.skip(end) };
            if !matches!(self.byte(at), Some(b'&' | b'!')) {
                return None;
            }
            let rest = &self.text[at..];
            end = at + rest.find([' ', '\t', '\n', '\r', ',', ']', '}']).unwrap_or(rest.len());
        }
        Some(end)
    }

    /// Returns the position of the next byte that is neither white space nor part of a comment.
    fn skip(&self, mut at: usize) -> usize {
        while let Some(byte) = self.byte(at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => at += 1,
                b'#' => at = next_line(self.text, at),
                _ => break,
            }
        }
        at
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn ends_word(&self, at: usize) -> bool {
        self.byte(at).is_none_or(|b| b.is_ascii_whitespace())
    }
}
