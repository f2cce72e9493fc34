//! Edits of maps and lists that stand on lines of their own.

use rustc_hash::{FxHashMap, FxHashSet};

use super::fragment::spaces;
use super::{Editor, Place, PlaceKind, apply};
use crate::source::Span;
use crate::yaml::node::{Entry, Map, Node};

/// One field or entry of the text.
struct Chunk {
    /// Where its name or dash stands.
    start: usize,
    /// One past its last byte, a comment behind it included.
    end: usize,
}

impl Editor<'_> {
    /// Edits a block map field by field; false when its fields cannot be told apart in the text.
    pub(super) fn block_map(&mut self, node: &Node, before: &Map, after: &Map) -> bool {
        let own: Vec<&Entry> =
            before.entries().iter().filter(|e| inside(e.key.meta.span, node.span())).collect();
        let foreign = before.entries().iter().filter(|e| !inside(e.key.meta.span, node.span()));
        let after_index = after.index();
        // Fields from `<<` have no text here; a change of one needs the map to be written out.
        for entry in foreign {
            let same = after_index
                .position(&entry.key.text)
                .is_some_and(|i| after.entries()[i].value == entry.value);
            if !same {
                return false;
            }
        }
        let kept: Vec<bool> = own.iter().map(|e| after_index.position(&e.key.text).is_some()).collect();
        let positions: Vec<_> = own.iter().filter_map(|e| after_index.position(&e.key.text)).collect();
        if positions.is_empty() || !positions.is_sorted() {
            return false;
        }
        let Some(chunks) = own.iter().map(|e| self.field_chunk(e)).collect::<Option<Vec<_>>>() else {
            return false;
        };
        let column = chunks[0].start - self.line_start(chunks[0].start);
        for (i, entry) in own.iter().enumerate() {
            let Some(from) = self.behind_colon(entry.key.meta.span.end as usize) else { return false };
            if let Some(value) = after.get(&entry.key.text) {
                self.value(Place { from, column, kind: PlaceKind::Field }, &entry.value, value);
            } else {
                self.remove_chunk(&chunks, &kept, i, column);
            }
        }
        let texts: FxHashMap<&str, usize> =
            own.iter().enumerate().map(|(i, e)| (e.key.text.as_str(), i)).collect();
        let known: FxHashSet<&str> = before.iter().map(|(k, _)| k).collect();
        let mut last = None;
        let mut new = Vec::new();
        for entry in after.entries() {
            if let Some(&i) = texts.get(entry.key.text.as_str()) {
                self.insert(&chunks, last, i, &new, column);
                new.clear();
                last = Some(i);
            } else if !known.contains(entry.key.text.as_str()) {
                new.push(self.fragment.field(&entry.key, &entry.value, column));
            }
        }
        self.append(&chunks, last, &new, column);
        true
    }

    fn field_chunk(&self, entry: &Entry) -> Option<Chunk> {
        let start = entry.key.meta.span.start as usize;
        let behind = self.behind_colon(entry.key.meta.span.end as usize)?;
        let end = self.content_end(&entry.value).max(behind);
        Some(Chunk { start, end: self.line_end(end) })
    }

    /// Removes a chunk with the comments above it.
    fn remove_chunk(&mut self, chunks: &[Chunk], kept: &[bool], i: usize, column: usize) {
        let chunk = &chunks[i];
        if self.is_first_on_line(chunk.start) {
            let start = self.with_comments_above(self.line_start(chunk.start), column);
            let end = self.next_line(chunk.end);
            self.replace(start, end, "");
        } else if let Some(next) = (i + 1..chunks.len()).find(|&j| kept[j]) {
            // The first field of a list entry stands behind the dash, and so must its successor.
            if kept[..i].iter().all(|k| !k) && i == 0 {
                let end = chunks[next].start;
                self.replace(chunk.start, end, "");
            }
        }
    }

    /// Inserts new chunks before the chunk `next`: behind the last one that was kept, if any.
    fn insert(&mut self, chunks: &[Chunk], last: Option<usize>, next: usize, new: &[String], column: usize) {
        if last.is_some() {
            self.append(chunks, last, new, column);
        } else if !new.is_empty() {
            let start = chunks[next].start;
            let at = if self.is_first_on_line(start) {
                self.with_comments_above(self.line_start(start), column)
            } else {
                start
            };
            let joined = new.join(&format!("\n{}", spaces(column)));
            let text = if at == start {
                format!("{joined}\n{}", spaces(column))
            } else {
                format!("{}{joined}\n", spaces(column))
            };
            self.replace(at, at, text);
        }
    }

    /// Inserts new chunks behind the last one that was kept.
    fn append(&mut self, chunks: &[Chunk], last: Option<usize>, new: &[String], column: usize) {
        let Some(last) = last.filter(|_| !new.is_empty()) else { return };
        let at = chunks[last].end;
        let text: String = new.iter().map(|t| format!("\n{}{t}", spaces(column))).collect();
        self.replace(at, at, text);
    }

    /// Edits a block list entry by entry; false when the entries cannot be told apart.
    pub(super) fn block_list(&mut self, place: Place, before: &[Node], after: &[Node]) -> bool {
        let Some(chunks) = self.entry_chunks(place, before) else { return false };
        let sources = match_entries(before, after);
        let kept_order: Vec<usize> = sources.iter().flatten().copied().collect();
        if kept_order.is_empty() {
            return false;
        }
        let column = chunks[0].start - self.line_start(chunks[0].start);
        if !kept_order.is_sorted() {
            return self.reorder(&chunks, column, before, after, &sources);
        }
        let mut kept = vec![false; before.len()];
        kept_order.iter().for_each(|&i| kept[i] = true);
        for (i, _) in before.iter().enumerate().filter(|(i, _)| !kept[*i]) {
            self.remove_chunk(&chunks, &kept, i, column);
        }
        let mut last = None;
        let mut new = Vec::new();
        for (node, source) in after.iter().zip(&sources) {
            if let Some(i) = *source {
                self.insert(&chunks, last, i, &new, column);
                new.clear();
                last = Some(i);
                let place = Place { from: chunks[i].start + 1, column, kind: PlaceKind::Entry };
                self.value(place, &before[i], node);
            } else {
                new.push(self.fragment.entry(node, column));
            }
        }
        self.append(&chunks, last, &new, column);
        true
    }

    /// Writes the chunks of a list in another order, each with its own edits.
    fn reorder(
        &mut self,
        chunks: &[Chunk],
        column: usize,
        before: &[Node],
        after: &[Node],
        sources: &[Option<usize>],
    ) -> bool {
        let starts: Vec<usize> = chunks
            .iter()
            .map(|c| {
                if self.is_first_on_line(c.start) {
                    self.with_comments_above(self.line_start(c.start), column)
                } else {
                    c.start
                }
            })
            .collect();
        if !self.is_first_on_line(chunks[0].start) {
            return false;
        }
        let mut texts = Vec::with_capacity(after.len());
        for (node, source) in after.iter().zip(sources) {
            let Some(i) = *source else {
                texts.push(format!("{}{}", spaces(column), self.fragment.entry(node, column)));
                continue;
            };
            let outer = std::mem::take(&mut self.edits);
            self.value(Place { from: chunks[i].start + 1, column, kind: PlaceKind::Entry }, &before[i], node);
            let mut own = std::mem::replace(&mut self.edits, outer);
            for edit in &mut own {
                edit.start -= starts[i];
                edit.end -= starts[i];
            }
            texts.push(apply(&self.text[starts[i]..chunks[i].end], own));
        }
        let (start, end) = (starts[0], chunks[chunks.len() - 1].end);
        self.replace(start, end, texts.join("\n"));
        true
    }

    /// The entries of a block list, from their dashes on.
    fn entry_chunks(&self, place: Place, list: &[Node]) -> Option<Vec<Chunk>> {
        let mut chunks = Vec::with_capacity(list.len());
        let mut from = match place.kind {
            // The span of a list begins at its first entry, behind the dash.
            PlaceKind::Document => self.line_start(list.first()?.span().start as usize),
            _ => place.from,
        };
        for node in list {
            let start = self.find_dash(from)?;
            let end = self.line_end(self.content_end(node).max(start + 1));
            chunks.push(Chunk { start, end });
            from = end;
        }
        Some(chunks)
    }

    /// The next dash that is not part of a comment.
    fn find_dash(&self, from: usize) -> Option<usize> {
        let mut at = from;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(at)? {
                b' ' | b'\n' | b'\r' | b'\t' => at += 1,
                b'#' => at = self.next_line(at),
                // Anchors and tags may stand before the list.
                b'&' | b'!' => at += self.text[at..].find([' ', '\n'])?,
                b'-' => return Some(at),
                _ => return None,
            }
        }
    }
}

fn inside(span: Span, outer: Span) -> bool {
    span.source == outer.source && span.start >= outer.start && span.end <= outer.end
}

/// For each entry after the change, which entry before it is the same: the one from the same place,
/// else one of the same value.
fn match_entries(before: &[Node], after: &[Node]) -> Vec<Option<usize>> {
    let key = |n: &Node| (n.span().source, n.span().start);
    let by_place: FxHashMap<_, usize> = before.iter().enumerate().map(|(i, n)| (key(n), i)).collect();
    let mut taken = vec![false; before.len()];
    let mut sources: Vec<Option<usize>> = after
        .iter()
        .map(|n| {
            let found = by_place.get(&key(n)).copied().filter(|&i| !taken[i]);
            if let Some(i) = found {
                taken[i] = true;
            }
            found
        })
        .collect();
    let mut by_text: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (i, node) in before.iter().enumerate().rev().filter(|(i, _)| !taken[*i]) {
        if let Some(text) = node.scalar_text() {
            by_text.entry(text).or_default().push(i);
        }
    }
    for (node, source) in after.iter().zip(&mut sources).filter(|(_, s)| s.is_none()) {
        let candidates = node.scalar_text().and_then(|text| by_text.get_mut(text.as_str()));
        *source = candidates.and_then(Vec::pop).filter(|&i| before[i] == *node);
    }
    sources
}
