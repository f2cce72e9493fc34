//! Edits of maps and lists in brackets.

use super::apply;
use super::brackets::Brackets;
use super::changes::{Changes, Element, pair};
use super::lines::{comments_above, is_blank, lead, line_end, line_start, next_line};
use super::outline::{Field, Item, Part};
use super::value::{Editor, Place, PlaceKind};
use crate::yaml::node::{Map, Node, Style};

/// One field or entry between brackets.
struct Chunk {
    start: usize,
    end: usize,
    comma: Option<usize>,
}

impl Chunk {
    /// The end with the comma.
    fn behind(&self) -> usize {
        self.comma.map_or(self.end, |comma| comma + 1)
    }
}

impl<'a> Editor<'a> {
    /// Edits a map between braces; false when it has to be written anew.
    pub(super) fn flow_map(
        &mut self,
        part: &Part,
        fields: &'a [Field],
        before: &'a Map,
        after: &'a Map,
    ) -> bool {
        let chunks: Vec<_> =
            fields.iter().map(|f| Chunk { start: f.start, end: f.value.end, comma: f.comma }).collect();
        // A single pair may stand in a list without braces.
        if !self.text[part.content..].starts_with('{') {
            return false;
        }
        let place = |f: &Field| Place { from: f.from, column: 0, kind: PlaceKind::Flow };
        let Some(changes) = self.map_changes(fields, before, after, place) else { return false };
        let quoted = before.entries().iter().all(|e| e.key.meta.style == Style::DoubleQuoted);
        let (brackets, lined) = self.brackets(&chunks, quoted);
        let lead = if lined { self.indentation(chunks[0].start) } else { "" };
        self.flow_changes(&chunks, lined, &brackets, &changes, |e| brackets.field(&e.key, &e.value, lead))
    }

    /// Edits a list between brackets; false when it has to be written anew.
    pub(super) fn flow_list(&mut self, items: &'a [Item], before: &'a [Node], after: &'a [Node]) -> bool {
        let chunks: Vec<_> =
            items.iter().map(|i| Chunk { start: i.start, end: i.value.end, comma: i.comma }).collect();
        if items.len() != before.len() {
            return false;
        }
        let sources = pair(before, after);
        let quoted = before.iter().all(|n| n.as_str().is_none() || n.meta.style == Style::DoubleQuoted)
            && before.iter().any(|n| n.as_str().is_some());
        let (brackets, lined) = self.brackets(&chunks, quoted);
        let lead = if lined { self.indentation(chunks[0].start) } else { "" };
        let place = |i: usize| Place { from: items[i].start, column: 0, kind: PlaceKind::Flow };
        if !sources.iter().flatten().is_sorted() {
            let pieces = after.iter().zip(sources).map(|(node, source)| match source {
                Some(i) => {
                    let own = self.apart(|e| e.value(place(i), &items[i].value, &before[i], node));
                    apply(&self.text[chunks[i].start..chunks[i].end], chunks[i].start, own)
                }
                None => brackets.write(node, lead),
            });
            let pieces: Vec<_> = pieces.collect();
            return self.refill(&chunks, lined, &brackets, &pieces);
        }
        for (node, i) in after.iter().zip(&sources).filter_map(|(node, source)| source.map(|i| (node, i))) {
            self.value(place(i), &items[i].value, &before[i], node);
        }
        let elements = after.iter().zip(&sources).map(|(n, s)| s.map_or(Element::New(n), Element::Kept));
        let changes = Changes::new(vec![false; before.len()], elements);
        self.flow_changes(&chunks, lined, &brackets, &changes, |n| brackets.write(n, lead))
    }

    /// Puts other entries into the places of those that stand there.
    fn refill(&mut self, chunks: &[Chunk], lined: bool, brackets: &Brackets, pieces: &[String]) -> bool {
        for (chunk, piece) in chunks.iter().zip(pieces) {
            self.replace(chunk.start, chunk.end, piece.as_str());
        }
        let slot = |(i, piece)| if i < chunks.len() { Element::Kept(i) } else { Element::New(piece) };
        let changes = Changes::new(vec![false; chunks.len()], pieces.iter().enumerate().map(slot));
        self.flow_changes(chunks, lined, brackets, &changes, String::clone)
    }

    /// How new entries are written among these, and whether each has lines of its own.
    fn brackets(&self, chunks: &[Chunk], quoted: bool) -> (Brackets, bool) {
        let alone = |c: &Chunk| {
            let behind = self.text[c.behind()..line_end(self.text, c.behind())].trim_start();
            lead(self.text, c.start).is_some() && (is_blank(behind) || behind.starts_with('#'))
        };
        let lined = !chunks.is_empty() && chunks.iter().all(alone);
        let mut brackets = self.style.brackets(quoted);
        if !lined {
            brackets.step = None;
        }
        (brackets, lined)
    }

    /// Writes a value between brackets anew.
    pub(super) fn put_in_flow(&mut self, place: Place, part: &Part, after: &Node) {
        let quoted = self.text[part.content..].starts_with('"');
        let mut brackets = self.style.brackets(quoted);
        let lead = if brackets.step.is_some() { self.indentation(part.start) } else { "" };
        // A line with more than this value is no place for several lines.
        if brackets.step.is_some() && lead.is_empty() {
            brackets.step = None;
        }
        let text = brackets.write(after, lead);
        if !part.is_nothing() {
            return self.replace(part.start, part.end, text);
        }
        let colon = self.text[..place.from].ends_with(':');
        self.replace(part.end, part.end, format!("{} {text}", if colon { "" } else { ":" }));
    }

    /// Removes and inserts entries; false when none of them is kept.
    fn flow_changes<T>(
        &mut self,
        chunks: &[Chunk],
        lined: bool,
        brackets: &Brackets,
        changes: &Changes<T>,
        write: impl Fn(&T) -> String,
    ) -> bool {
        let (Some(first), Some(last)) = (changes.first_kept(), changes.last_kept()) else { return false };
        if lined {
            self.lined_changes(chunks, last, changes, write);
            return true;
        }
        for new in &changes.front {
            let at = chunks[first].start;
            self.replace(at, at, format!("{}{}", write(new), brackets.separator()));
        }
        for (i, new) in &changes.behind {
            for new in new {
                let text = format!("{}{}", brackets.separator(), write(new));
                self.replace(chunks[*i].end, chunks[*i].end, text);
            }
        }
        for i in (0..last).filter(|i| !changes.kept[*i]) {
            self.replace(chunks[i].start, chunks[i + 1].start, "");
        }
        if last + 1 < chunks.len() {
            self.replace(chunks[last].end, chunks[chunks.len() - 1].end, "");
        }
        true
    }

    /// Removes and inserts entries that have lines of their own.
    fn lined_changes<T>(
        &mut self,
        chunks: &[Chunk],
        last: usize,
        changes: &Changes<T>,
        write: impl Fn(&T) -> String,
    ) {
        let lead = self.indentation(chunks[0].start);
        if let Some(first) = changes.first_kept() {
            let at = self.begin_in_flow(chunks, first);
            for new in &changes.front {
                self.replace(at, at, format!("{lead}{},\n", write(new)));
            }
        }
        for i in (0..chunks.len()).filter(|i| !changes.kept[*i]) {
            let start = self.begin_in_flow(chunks, i);
            self.replace(start, next_line(self.text, chunks[i].behind()), "");
        }
        let trailing_comma = chunks.last().is_some_and(|c| c.comma.is_some());
        let mut comma = (chunks[last].comma, trailing_comma);
        for (i, new) in &changes.behind {
            let at = next_line(self.text, chunks[*i].behind());
            if chunks[*i].comma.is_none() {
                self.replace(chunks[*i].end, chunks[*i].end, ",");
            }
            for (n, node) in new.iter().enumerate() {
                let ends = *i == last && n + 1 == new.len() && !trailing_comma;
                self.replace(at, at, format!("{lead}{}{}\n", write(node), if ends { "" } else { "," }));
            }
            if *i == last {
                comma.0 = None;
            }
        }
        if let (Some(comma), false) = comma {
            self.replace(comma, comma + 1, "");
        }
    }

    /// Where the line of an entry begins with the comments above it.
    fn begin_in_flow(&self, chunks: &[Chunk], i: usize) -> usize {
        let floor = i.checked_sub(1).map_or(0, |before| next_line(self.text, chunks[before].behind()));
        comments_above(self.text, line_start(self.text, chunks[i].start), floor)
    }
}
