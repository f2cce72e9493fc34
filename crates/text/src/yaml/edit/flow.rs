//! Edits of maps and lists in flow style.

use super::changes::{CollectionChanges, Element, match_entries};
use super::flow_writer::FlowWriter;
use super::lines::{comments_above, indentation_before, is_blank, line_end, line_start, next_line};
use super::outline::{EntryOutline, FieldOutline, ValueOutline};
use super::splice::apply_edits;
use super::value::{Editor, PositionKind, ValuePosition};
use crate::yaml::meta::Style;
use crate::yaml::node::{Map, Node};

/// A field or entry of a map or list in flow style.
struct FlowChunk {
    start: usize,
    end: usize,
    comma: Option<usize>,
}

/// The fields or entries of one map or list.
struct FlowChunks {
    list: Vec<FlowChunk>,
    /// True if each chunk has lines of its own.
    has_own_lines: bool,
}

impl FlowChunk {
    /// Returns the end of the chunk, including its comma.
    fn end_with_comma(&self) -> usize {
        self.comma.map_or(self.end, |comma| comma + 1)
    }
}

/// The comments of a list in flow style.
struct FlowComments<'t> {
    /// The comments after the opening bracket and after each entry.
    trailing: Vec<Option<&'t str>>,
    /// The comments on the lines above each entry and above the closing bracket.
    leading: Vec<Vec<&'t str>>,
}

impl<'t> FlowComments<'t> {
    /// Collects the comments of a list. Returns `None` if there are none.
    fn collect(text: &'t str, part: &ValueOutline, chunks: &[FlowChunk]) -> Option<Self> {
        let (mut trailing, mut above) = (Vec::new(), Vec::new());
        let starts = chunks.iter().map(|chunk| chunk.start).chain([part.end - 1]);
        let mut from = part.content + 1;
        for (i, start) in starts.enumerate() {
            let mut lines =
                text.get(from..start)?.split('\n').map(|line| line.trim_matches([' ', '\t', '\r', ',']));
            trailing.push(lines.next().filter(|line| line.starts_with('#')));
            above.push(lines.filter(|line| line.starts_with('#')).collect());
            from = chunks.get(i).map_or(start, |chunk| chunk.end);
        }
        let any =
            trailing.iter().any(Option::is_some) || above.iter().any(|lines: &Vec<_>| !lines.is_empty());
        any.then_some(Self { trailing, leading: above })
    }
}

impl<'a> Editor<'a> {
    /// Edits a map in braces. Returns false if the map must be rewritten.
    pub(super) fn edit_flow_map(
        &mut self,
        part: &ValueOutline,
        fields: &'a [FieldOutline],
        before: &'a Map,
        after: &'a Map,
    ) -> bool {
        let chunk = |f: &FieldOutline| FlowChunk { start: f.start, end: f.value.end, comma: f.comma };
        let chunks = self.flow_chunks(fields.iter().map(chunk));
        // A single pair in a list may have no braces.
        if !self.text[part.content..].starts_with('{') {
            return false;
        }
        let position =
            |f: &FieldOutline| ValuePosition { start: f.value_start, column: 0, kind: PositionKind::Flow };
        let Some(changes) = self.edit_map_fields(fields, before, after, position) else { return false };
        let quoted = before.entries().iter().all(|e| e.key.meta.style == Style::DoubleQuoted);
        let style = self.style_of(&chunks, FlowWriter { is_quoted: quoted, ..self.default_style() });
        let lead = self.lead(&chunks);
        self.flow_changes(&chunks, &style, &changes, |e| style.field(&e.key, &e.value, lead))
    }

    /// Edits a list in brackets. Returns false if the list must be rewritten.
    pub(super) fn edit_flow_list(
        &mut self,
        part: &ValueOutline,
        entries: &'a [EntryOutline],
        before: &'a [Node],
        after: &'a [Node],
    ) -> bool {
        let chunk = |i: &EntryOutline| FlowChunk { start: i.start, end: i.value.end, comma: i.comma };
        let chunks = self.flow_chunks(entries.iter().map(chunk));
        if entries.len() != before.len() {
            return false;
        }
        let sources = match_entries(before, after);
        let is_on_one_line = !self.text[part.start..part.end].contains('\n');
        if is_on_one_line && has_moved_comments(before, after, &sources) {
            return false;
        }
        let quoted = is_quoted(before);
        let style = self.style_of(&chunks, FlowWriter { is_quoted: quoted, ..self.default_style() });
        let lead = self.lead(&chunks);
        let position =
            |i: usize| ValuePosition { start: entries[i].start, column: 0, kind: PositionKind::Flow };
        if !sources.iter().flatten().is_sorted() {
            let pieces = after.iter().zip(&sources).map(|(node, source)| match *source {
                Some(i) => {
                    let own = self
                        .collect_edits(|e| e.edit_value(position(i), &entries[i].value, &before[i], node));
                    let FlowChunk { start, end, .. } = chunks.list[i];
                    apply_edits(&self.text[start..end], start, own)
                }
                None => style.write(node, lead),
            });
            let pieces: Vec<_> = pieces.collect();
            if let Some(comments) = FlowComments::collect(self.text, part, &chunks.list) {
                let rows = sources.iter().copied().zip(pieces).collect::<Vec<_>>();
                self.rewrite(part, &chunks, &comments, &rows);
                return true;
            }
            return self.replace_entries(&chunks, &style, &pieces);
        }
        for (node, i) in after.iter().zip(&sources).filter_map(|(node, source)| source.map(|i| (node, i))) {
            self.edit_value(position(i), &entries[i].value, &before[i], node);
        }
        let elements = after.iter().zip(&sources).map(|(n, s)| s.map_or(Element::New(n), Element::Kept));
        let changes = CollectionChanges::new(vec![false; before.len()], elements);
        self.flow_changes(&chunks, &style, &changes, |n| style.write(n, lead))
    }

    /// Replaces the existing entries by other ones, in place.
    fn replace_entries(&mut self, chunks: &FlowChunks, style: &FlowWriter, pieces: &[String]) -> bool {
        for (chunk, piece) in chunks.list.iter().zip(pieces) {
            self.replace(chunk.start, chunk.end, piece.as_str());
        }
        let count = chunks.list.len();
        let slot = |(i, piece)| if i < count { Element::Kept(i) } else { Element::New(piece) };
        let changes = CollectionChanges::new(vec![false; count], pieces.iter().enumerate().map(slot));
        self.flow_changes(chunks, style, &changes, String::clone)
    }

    fn flow_chunks(&self, chunks: impl Iterator<Item = FlowChunk>) -> FlowChunks {
        let has_own_line = |c: &FlowChunk| {
            let trailing =
                self.text[c.end_with_comma()..line_end(self.text, c.end_with_comma())].trim_start();
            indentation_before(self.text, c.start).is_some()
                && (is_blank(trailing) || trailing.starts_with('#'))
        };
        let list: Vec<_> = chunks.collect();
        let has_own_lines = !list.is_empty() && list.iter().all(has_own_line);
        FlowChunks { list, has_own_lines }
    }

    /// Returns the indentation of entries on their own lines.
    fn lead(&self, chunks: &FlowChunks) -> &'a str {
        match chunks.list.first() {
            Some(first) if chunks.has_own_lines => self.indentation(first.start),
            _ => "",
        }
    }

    /// Returns the style of flow maps and lists in documents that are not JSON.
    fn default_style(&self) -> FlowWriter {
        FlowWriter::new(self.layout().reading)
    }

    /// Returns the style of new entries among these chunks: the JSON style of the document, or `own`.
    fn style_of(&self, chunks: &FlowChunks, own: FlowWriter) -> FlowWriter {
        let style = self.style.json.clone().unwrap_or(own);
        if chunks.has_own_lines { style } else { FlowWriter { step: None, ..style } }
    }

    /// Rewrites a value inside brackets.
    pub(super) fn rewrite_flow_value(&mut self, position: ValuePosition, part: &ValueOutline, after: &Node) {
        let quoted = self.text[part.content..].starts_with('"');
        let mut style =
            self.style.json.clone().unwrap_or(FlowWriter { is_quoted: quoted, ..self.default_style() });
        let lead = if style.step.is_some() { self.indentation(part.start) } else { "" };
        // A value that shares its line with other text is written on one line.
        if style.step.is_some() && lead.is_empty() {
            style.step = None;
        }
        let text = style.write(after, lead);
        if !part.is_absent() {
            return self.replace(part.start, part.end, text);
        }
        let colon = self.text[..position.start].ends_with(':');
        self.replace(part.end, part.end, format!("{} {text}", if colon { "" } else { ":" }));
    }

    /// Removes and inserts entries. Returns false if no entry is kept.
    fn flow_changes<T>(
        &mut self,
        chunks: &FlowChunks,
        style: &FlowWriter,
        changes: &CollectionChanges<T>,
        write: impl Fn(&T) -> String,
    ) -> bool {
        let (Some(first), Some(last)) = (changes.first_kept(), changes.last_kept()) else { return false };
        let FlowChunks { list: chunks, has_own_lines } = chunks;
        if *has_own_lines {
            self.changes_on_own_lines(chunks, last, changes, write);
            return true;
        }
        for new in &changes.prepended {
            let at = chunks[first].start;
            self.replace(at, at, format!("{}{}", write(new), style.separator()));
        }
        for (i, new) in &changes.inserted_after {
            for new in new {
                let text = format!("{}{}", style.separator(), write(new));
                self.replace(chunks[*i].end, chunks[*i].end, text);
            }
        }
        for i in (0..last).filter(|i| !changes.kept[*i]) {
            let end = self.entry_start(chunks, i + 1);
            // The next entry has comments above it, which stay on their own lines.
            let is_below = end < line_start(self.text, chunks[i + 1].start);
            self.replace(
                chunks[i].start,
                if is_below { line_end(self.text, chunks[i].end_with_comma()) } else { chunks[i + 1].start },
                "",
            );
        }
        if last + 1 < chunks.len() {
            self.remove_after(&chunks[last], &chunks[chunks.len() - 1]);
        }
        true
    }

    /// Removes the text after an entry up to the end of the last entry, except the comment after the entry.
    fn remove_after(&mut self, kept: &FlowChunk, last: &FlowChunk) {
        let line = line_end(self.text, kept.end_with_comma());
        if line >= last.end || !self.text[kept.end_with_comma()..line].trim_start().starts_with('#') {
            return self.replace(kept.end, last.end, "");
        }
        if let Some(comma) = kept.comma {
            self.replace(comma, comma + 1, "");
        }
        let end_of_last = line_end(self.text, last.end_with_comma());
        let trailing = self.text[last.end_with_comma()..end_of_last].trim_start();
        if is_blank(trailing) || trailing.starts_with('#') {
            return self.replace(line, end_of_last, "");
        }
        let first = next_line(self.text, line);
        let content = first + self.text[first..].find(|c| !matches!(c, ' ' | '\t')).unwrap_or_default();
        let lead = self.indentation(content);
        self.replace(line, last.end_with_comma(), format!("{}{lead}", self.style.line_break));
    }

    /// Writes the entries of a list in another order, each with its comments and on its own line.
    fn rewrite(
        &mut self,
        part: &ValueOutline,
        chunks: &FlowChunks,
        comments: &FlowComments<'_>,
        rows: &[(Option<usize>, String)],
    ) {
        let outer = self.indentation(part.start);
        let own = chunks.list.iter().find_map(|chunk| indentation_before(self.text, chunk.start));
        let lead = own.map_or_else(|| format!("{outer}  "), str::to_string);
        let close = part.end - 1;
        let close_lead = super::lines::indentation_before(self.text, close).unwrap_or(outer);
        let ends_with_comma = chunks.list.last().is_some_and(|chunk| chunk.comma.is_some());
        let trailing =
            |comment: Option<&str>| comment.map(|comment| format!(" {comment}")).unwrap_or_default();
        let mut text = format!("{}\n", trailing(comments.trailing[0]));
        for (i, (source, piece)) in rows.iter().enumerate() {
            let (above, comment) = match source {
                Some(i) => (comments.leading[*i].as_slice(), comments.trailing[*i + 1]),
                None => (&[][..], None),
            };
            text.extend(above.iter().flat_map(|line| [&lead, *line, "\n"]));
            let comma = if i + 1 < rows.len() || ends_with_comma { "," } else { "" };
            text.extend([&lead, piece, comma, &trailing(comment), "\n"]);
        }
        let foot = comments.leading.last().map(Vec::as_slice).unwrap_or_default();
        text.extend(foot.iter().flat_map(|line| [&lead, *line, "\n"]));
        self.replace(part.content + 1, close, text + close_lead);
    }

    /// Removes and inserts entries that have their own lines.
    fn changes_on_own_lines<T>(
        &mut self,
        chunks: &[FlowChunk],
        last: usize,
        changes: &CollectionChanges<T>,
        write: impl Fn(&T) -> String,
    ) {
        let lead = self.indentation(chunks[0].start);
        if let Some(first) = changes.first_kept() {
            let at = self.entry_start(chunks, first);
            for new in &changes.prepended {
                self.replace(at, at, format!("{lead}{},\n", write(new)));
            }
        }
        for i in (0..chunks.len()).filter(|i| !changes.kept[*i]) {
            let start = self.entry_start(chunks, i);
            self.replace(start, next_line(self.text, chunks[i].end_with_comma()), "");
        }
        let trailing_comma = chunks.last().is_some_and(|c| c.comma.is_some());
        let mut last_comma = chunks[last].comma;
        for (i, new) in &changes.inserted_after {
            let at = next_line(self.text, chunks[*i].end_with_comma());
            if chunks[*i].comma.is_none() {
                self.replace(chunks[*i].end, chunks[*i].end, ",");
            }
            for (n, node) in new.iter().enumerate() {
                let ends = *i == last && n + 1 == new.len() && !trailing_comma;
                self.replace(at, at, format!("{lead}{}{}\n", write(node), if ends { "" } else { "," }));
            }
            if *i == last {
                last_comma = None;
            }
        }
        if let (Some(comma), false) = (last_comma, trailing_comma) {
            self.replace(comma, comma + 1, "");
        }
    }

    /// Returns the start of an entry's line, including the comments above it.
    fn entry_start(&self, chunks: &[FlowChunk], i: usize) -> usize {
        let floor =
            i.checked_sub(1).map_or(0, |before| next_line(self.text, chunks[before].end_with_comma()));
        comments_above(self.text, line_start(self.text, chunks[i].start), floor)
    }
}

/// Returns true if all strings of a list are in double quotes.
fn is_quoted(entries: &[Node]) -> bool {
    let mut strings = entries.iter().filter(|node| node.as_str().is_some()).peekable();
    strings.peek().is_some() && strings.all(|node| node.meta.style == Style::DoubleQuoted)
}

/// Returns true if a new entry was moved from another field of the text and has comments. A list in brackets on one
/// line cannot contain comments.
fn has_moved_comments(before: &[Node], after: &[Node], sources: &[Option<usize>]) -> bool {
    let source = before.first().map(|node| node.span().source);
    after.iter().zip(sources).filter(|(_, source)| source.is_none()).any(|(node, _)| {
        let has_comments =
            node.meta.comments.as_ref().is_some_and(|all| !all.head.is_empty() || all.line.is_some());
        has_comments && (node.span().is_none() || source == Some(node.span().source))
    })
}
