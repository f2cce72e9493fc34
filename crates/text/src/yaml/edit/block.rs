//! Edits of block-style maps and lists.

use rustc_hash::FxHashMap;

use super::changes::{CollectionChanges, Element, match_entries};
use super::compare::changed_line_comment;
use super::fragment::{spaces, with_style_of_neighbours};
use super::lines::{
    after_blank_lines, blank_lines_above, column, comments_above, end_of_comments_below, indentation_before,
    line_end, line_start, next_line,
};
use super::outline::{EntryOutline, FieldOutline, ValueKind, ValueOutline};
use super::quoting::format_name;
use super::splice::{Edit, apply_edits};
use super::value::{Editor, PositionKind, ValuePosition, without_comments};
use crate::yaml::node::{Entry, Map, MapIndex, Node};

/// A field or list entry in the text.
struct BlockChunk {
    /// The position of its key or dash.
    start: usize,
    /// The end of its last line. Comments below that are indented deeper are included.
    end: usize,
    /// The end of its last line and of the comments that belong to it. Below a list, comments at the column of its
    /// entries are excluded, because they may be commented-out entries.
    own_end: usize,
    /// True if blank lines below would become part of its value.
    takes_blank_lines: bool,
}

/// The fields or entries of one map or list.
struct BlockChunks {
    list: Vec<BlockChunk>,
    column: usize,
    /// True if the comments above the first chunk belong to the document.
    is_root: bool,
}

/// A map before and after the change.
struct MapChange<'a> {
    before: &'a Map,
    before_index: MapIndex<'a>,
    after: &'a Map,
    after_index: MapIndex<'a>,
    /// The entries with new names, by the start of their key in the old text. The field at this position was renamed.
    new_names: FxHashMap<u32, &'a Entry>,
}

impl<'a> MapChange<'a> {
    fn new(before: &'a Map, after: &'a Map) -> Self {
        let (before_index, after_index) = (before.index(), after.index());
        let is_new = |entry: &&Entry| {
            before_index.position(&entry.key.text).is_none() && !entry.key.meta.span.is_none()
        };
        let new = after.entries().iter().filter(is_new);
        let new_names = new.map(|entry| (entry.key.meta.span.start, entry)).collect();
        Self { before, before_index, after, after_index, new_names }
    }

    /// Returns a field after the change, and true if it has a new name.
    fn changed_field(&self, text: &str, field: &FieldOutline) -> Option<(&'a Entry, bool)> {
        let name = field.name.as_deref()?;
        if let Some(entry) = self.new_field(name) {
            return Some((entry, false));
        }
        let span = self.old_field(name)?.key.meta.span;
        let entry = self.new_names.get(&span.start).filter(|entry| entry.key.meta.span == span)?;
        // A quoted or complex name cannot be replaced in place, so the field is removed and added.
        (field.has_colon && text[field.start..].starts_with(name)).then_some((entry, true))
    }

    fn old_field(&self, name: &str) -> Option<&'a Entry> {
        self.before.entries().get(self.before_index.position(name)?)
    }

    fn new_field(&self, name: &str) -> Option<&'a Entry> {
        self.after.entries().get(self.after_index.position(name)?)
    }
}

/// Returns the indices of the map's own fields, which do not come from `<<`. Returns `None` if a field has no name.
fn own_names(fields: &[FieldOutline]) -> Option<FxHashMap<&str, usize>> {
    let own = fields.iter().enumerate().filter(|(_, f)| !f.is_merge_key);
    own.map(|(i, f)| f.name.as_deref().map(|name| (name, i))).collect()
}

impl<'a> Editor<'a> {
    /// Edits a block map field by field. Returns false if the map must be rewritten.
    pub(super) fn block_map(
        &mut self,
        position: ValuePosition,
        fields: &'a [FieldOutline],
        before: &'a Map,
        after: &'a Map,
    ) -> bool {
        let column = fields.first().map_or(0, |f| column(self.text, f.start));
        let position_of =
            |f: &FieldOutline| ValuePosition { start: f.value_start, column, kind: PositionKind::Field };
        let Some(changes) = self.edit_map_fields(fields, before, after, position_of) else { return false };
        if changes.first_kept().is_none() {
            return false;
        }
        let parts = fields.iter().map(|f| (f.start, &f.value));
        let is_root = position.kind == PositionKind::Root;
        let chunks = BlockChunks { is_root, ..self.chunks(parts, column) };
        let layout = self.layout();
        self.block_changes(&chunks, &changes, |e| {
            let keeps_comments = !e.value.meta.is_aliased;
            let field = if keeps_comments { None } else { Some(without_anchor_comments(e)) };
            let e = field.as_ref().unwrap_or(e);
            layout.field(&e.key, &e.value, column)
        });
        true
    }

    /// Edits the fields that are kept, and returns the added and removed ones. Returns `None` if the layout of the text
    /// is not supported.
    pub(super) fn edit_map_fields(
        &mut self,
        fields: &'a [FieldOutline],
        before: &'a Map,
        after: &'a Map,
        position: impl Fn(&FieldOutline) -> ValuePosition,
    ) -> Option<CollectionChanges<'a, Entry>> {
        let mut own = own_names(fields)?;
        let sides = MapChange::new(before, after);
        for (i, field) in fields.iter().enumerate().filter(|(_, field)| !field.is_merge_key) {
            if let Some((entry, true)) = sides.changed_field(self.text, field) {
                own.insert(&entry.key.text, i);
            }
        }
        let is_removed = self.edit_fields(fields, &sides, position)?;
        let merges: Vec<_> = fields.iter().filter(|f| f.is_merge_key).collect();
        let is_lost = |name: &str| !own.contains_key(name) && sides.new_field(name).is_none();
        if !merges.is_empty() && (is_removed || before.iter().any(|(name, _)| is_lost(name))) {
            // `<<` may now provide a field that was removed, so that it must be expanded.
            self.merges_to_check.extend(merges.iter().map(|f| f.value.start));
        }
        let provides_all = self.provides_all(&merges, &own, &sides);
        let expanded = !provides_all && merges.iter().any(|f| self.must_be_expanded(&f.value));
        let elements = after.entries().iter().filter_map(|entry| match own.get(entry.key.text.as_str()) {
            Some(&i) => Some(Element::Kept(i)),
            None if provides_all => None,
            None if expanded => Some(Element::New(entry)),
            None => {
                let provided = sides.old_field(&entry.key.text).map(|entry| &entry.value);
                (provided != Some(&entry.value)).then_some(Element::New(entry))
            }
        });
        let kept = fields
            .iter()
            .map(|f| f.is_merge_key && (provides_all || !self.must_be_expanded(&f.value)))
            .collect();
        Some(CollectionChanges::new(kept, elements))
    }

    /// Returns true if `<<` provides exactly the fields that are not the map's own, after any change of the anchored
    /// map.
    fn provides_all(
        &self,
        merges: &[&FieldOutline],
        own: &FxHashMap<&str, usize>,
        sides: &MapChange<'a>,
    ) -> bool {
        let [FieldOutline { value: ValueOutline { kind: ValueKind::Alias(anchor), .. }, .. }] = merges else {
            return false;
        };
        let Some(provided) = self.current_anchor_value(*anchor).and_then(Node::as_map) else { return false };
        let others = |map: &'a Map| map.entries().iter().filter(|e| !own.contains_key(e.key.text.as_str()));
        others(sides.after).count() == others(provided).count()
            && others(provided).all(|e| sides.new_field(&e.key.text).is_some_and(|is| is.value == e.value))
    }

    /// Edits the fields that are kept, and returns true if any field is removed. Returns `None` if the layout of the
    /// text is not supported.
    fn edit_fields(
        &mut self,
        fields: &'a [FieldOutline],
        sides: &MapChange<'a>,
        position: impl Fn(&FieldOutline) -> ValuePosition,
    ) -> Option<bool> {
        let mut is_removed = false;
        for field in fields.iter().filter(|f| !f.is_merge_key) {
            let name = field.name.as_deref()?;
            let was = sides.old_field(name)?;
            let Some((is, is_renamed)) = sides.changed_field(self.text, field) else {
                is_removed = true;
                continue;
            };
            if is_renamed {
                let new_name = format_name(&is.key, self.layout().reading);
                self.replace(field.start, field.start + name.len(), new_name);
            }
            if !field.has_colon && was.value != is.value {
                return None;
            }
            self.edit_value(position(field), &field.value, &was.value, &is.value);
            if let Some(comment) = changed_line_comment(&was.key.meta, &is.key.meta) {
                self.comment_behind_name(field, comment);
            }
        }
        Some(is_removed)
    }

    /// Inserts a comment on the line of a key whose value begins on the next line.
    fn comment_behind_name(&mut self, field: &FieldOutline, comment: &str) {
        let line_end = line_end(self.text, field.value_start);
        if field.value.is_block_collection() && field.value.content > line_end {
            let rest = &self.text[field.value_start..line_end];
            let end = rest.find(" #").map_or(rest.trim_end().len(), |at| at);
            self.set_line_comment(field.value_start + end, comment);
        }
    }

    /// Edits a block list entry by entry. Returns false if the list must be rewritten.
    pub(super) fn block_list(
        &mut self,
        entries: &'a [EntryOutline],
        before: &'a [Node],
        after: &'a [Node],
    ) -> bool {
        if entries.len() != before.len() {
            return false;
        }
        let column = entries.first().map_or(0, |i| column(self.text, i.start));
        let parts = entries.iter().map(|i| (i.start, &i.value));
        let chunks = self.chunks(parts, column);
        let sources = match_entries(before, after);
        let kept: Vec<usize> = sources.iter().flatten().copied().collect();
        if kept.is_empty() {
            return false;
        }
        let position =
            |i: usize| ValuePosition { start: entries[i].start + 1, column, kind: PositionKind::Entry };
        let layout = self.layout();
        let write =
            |node: &Node| layout.entry(&with_style_of_neighbours(before, node, layout.reading), column);
        if !kept.is_sorted() {
            let pieces = after.iter().zip(sources).map(|(node, source)| match source {
                Some(i) => {
                    let own = self
                        .collect_edits(|e| e.edit_value(position(i), &entries[i].value, &before[i], node));
                    self.piece(&chunks, i, own)
                }
                None => format!("{}{}\n", spaces(column), write(node)),
            });
            let pieces = pieces.collect();
            self.reorder(&chunks, pieces);
            return true;
        }
        for (node, i) in after.iter().zip(&sources).filter_map(|(node, source)| source.map(|i| (node, i))) {
            self.edit_value(position(i), &entries[i].value, &before[i], node);
        }
        let elements = after.iter().zip(&sources).map(|(n, s)| s.map_or(Element::New(n), Element::Kept));
        let changes = CollectionChanges::new(vec![false; before.len()], elements);
        self.block_changes(&chunks, &changes, |node| write(node));
        true
    }

    /// Returns the fields or entries of a map or list that is not the root.
    fn chunks<'p>(
        &self,
        parts: impl Iterator<Item = (usize, &'p ValueOutline)>,
        column: usize,
    ) -> BlockChunks {
        let chunk = |(start, value): (usize, &ValueOutline)| {
            let last = line_end(self.text, value.end);
            let end = end_of_comments_below(self.text, last, column, self.content_end());
            let own_end = match value.first_start().filter(|_| matches!(value.kind, ValueKind::List { .. })) {
                Some(first) => end_of_comments_below(self.text, last, self::column(self.text, first), end),
                None => end,
            };
            BlockChunk { start, end, own_end, takes_blank_lines: value.takes_blank_lines }
        };
        BlockChunks { list: parts.map(chunk).collect(), column, is_root: false }
    }

    /// Returns the start of a chunk, including the comments above it. If other text is before the chunk on its line,
    /// returns the start of the chunk itself.
    fn start_with_comments(&self, chunks: &BlockChunks, i: usize) -> usize {
        let start = chunks.list[i].start;
        if indentation_before(self.text, start).is_none() {
            return start;
        }
        let line = line_start(self.text, start);
        match i.checked_sub(1) {
            None if chunks.is_root => line,
            None => comments_above(self.text, line, 0),
            Some(before) => comments_above(self.text, line, next_line(self.text, chunks.list[before].end)),
        }
    }

    /// Removes and inserts chunks. At least one chunk must be kept.
    fn block_changes<T>(
        &mut self,
        chunks: &BlockChunks,
        changes: &CollectionChanges<T>,
        write: impl Fn(&T) -> String,
    ) {
        let Some(first) = changes.first_kept() else { return };
        let indentation = spaces(chunks.column);
        let on_shared_line = indentation_before(self.text, chunks.list[0].start).is_none();
        if on_shared_line {
            let new: Vec<_> = changes.prepended.iter().map(|new| write(new)).collect();
            self.begin_on_shared_line(chunks, first, &new);
        } else {
            let at = self.start_with_comments(chunks, first);
            for new in &changes.prepended {
                self.replace(at, at, format!("{indentation}{}\n", write(new)));
            }
        }
        let from = if on_shared_line { first } else { 0 };
        for i in (from..changes.kept.len()).filter(|i| !changes.kept[*i]) {
            self.remove(chunks, i);
        }
        for (i, new) in &changes.inserted_after {
            let (at, needs_break) = self.insertion_after(chunks.list[*i].end);
            let mut text = String::new();
            for new in new {
                text = format!("{indentation}{}", write(new));
                self.replace(at, at, if needs_break { format!("\n{text}") } else { format!("{text}\n") });
            }
            self.remove_blank_lines(&text, at);
        }
    }

    /// Removes the chunks before `first` and inserts new ones. In a list, the first field of a map is on the line of
    /// the dash, so the first remaining field moves to this line.
    fn begin_on_shared_line(&mut self, chunks: &BlockChunks, first: usize, new: &[String]) {
        let (start, end) = (chunks.list[0].start, chunks.list[first].start);
        let break_line = format!("\n{}", spaces(chunks.column));
        let comments = self.text[self.start_with_comments(chunks, first).max(start)..end].trim();
        if !new.is_empty() {
            let between = if comments.is_empty() { String::new() } else { format!("{comments}{break_line}") };
            self.replace(start, end, format!("{}{break_line}{between}", new.join(&break_line)));
        } else if first > 0 {
            // Comments above the chunk that moves up are placed above the dash.
            let outer = self.indentation(start);
            for line in comments.lines() {
                let at = line_start(self.text, start);
                self.replace(at, at, format!("{outer}{}\n", line.trim()));
            }
            self.replace(start, end, "");
        }
    }

    /// Removes a chunk with the comments above it, and the blank lines that would otherwise be doubled. In the root,
    /// comments that may be commented-out entries of a list are kept.
    fn remove(&mut self, chunks: &BlockChunks, i: usize) {
        let mut start = self.start_with_comments(chunks, i);
        let floor = self.document.content.start;
        let previous_takes_blank_lines = i > 0 && chunks.list[i - 1].takes_blank_lines;
        let BlockChunk { end, own_end, .. } = chunks.list[i];
        let mut end =
            next_line(self.text, if chunks.is_root && !previous_takes_blank_lines { own_end } else { end });
        let above = blank_lines_above(self.text, start, floor);
        if above < start || start <= floor || previous_takes_blank_lines {
            end = after_blank_lines(self.text, end, self.content_end());
        }
        if end >= self.content_end() && !previous_takes_blank_lines && i > 0 {
            start = above;
        }
        self.replace(start, end, "");
    }

    /// Returns the lines of an entry with its edits, and the lines between it and the previous entry.
    fn piece(&self, chunks: &BlockChunks, i: usize, edits: Vec<Edit>) -> String {
        let start = match i.checked_sub(1) {
            None => self.start_with_comments(chunks, 0),
            Some(before) => next_line(self.text, chunks.list[before].end),
        };
        let mut piece =
            apply_edits(&self.text[start..next_line(self.text, chunks.list[i].end)], start, edits);
        if !piece.ends_with('\n') {
            piece.push('\n');
        }
        if i == 0 && indentation_before(self.text, start).is_none() {
            piece.insert_str(0, &spaces(chunks.column));
        }
        piece
    }

    /// Writes the entries of a list in another order.
    fn reorder(&mut self, chunks: &BlockChunks, pieces: Vec<String>) {
        let Some(last) = chunks.list.last() else { return };
        let mut text = String::new();
        for piece in pieces {
            // Blank lines above an entry are dropped at the start of the list, and after another blank line, which may
            // belong to a block scalar.
            let skips_blank_lines = text.is_empty() || ends_with_blank_line(&text);
            text.push_str(
                &piece[if skips_blank_lines { after_blank_lines(&piece, 0, piece.len()) } else { 0 }..],
            );
        }
        let (start, end) = (self.start_with_comments(chunks, 0), next_line(self.text, last.end));
        if ends_with_blank_line(&text) {
            self.remove_blank_lines("\n", end);
        }
        if !self.text[..end].ends_with('\n') {
            text.pop();
        }
        if indentation_before(self.text, start).is_none() {
            // The first entry continues the line on which the old first entry began.
            text.drain(..chunks.column.min(text.len() - text.trim_start_matches(' ').len()));
        }
        self.replace(start, end, text);
    }
}

fn ends_with_blank_line(lines: &str) -> bool {
    lines.trim_end_matches('\n').len() + 1 < lines.len() || lines.ends_with("\n\r\n")
}

/// Returns a field that `<<` provided, without the comments of the anchored map, which must not be repeated.
fn without_anchor_comments(entry: &Entry) -> Entry {
    let mut key = entry.key.clone();
    key.meta.comments = None;
    Entry { key, value: without_comments(entry.value.clone()) }
}
