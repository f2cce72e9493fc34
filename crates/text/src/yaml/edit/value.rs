//! Edits of one value: which parts are kept, and where new text is inserted.

use granit_parser::StructureStyle::{Block, Flow};
use rustc_hash::FxHashMap;

use super::fragment::{Layout, as_before, as_block};
use super::lines::{
    behind_blank_lines, column, comments_above, is_blank, line_end, line_start, next_line,
    with_comments_below,
};
use super::outline::{DocumentOutline, Part, PartKind};
use super::same::{is_same, new_comment};
use super::splice::Edit;
use super::style::DocumentStyle;
use crate::yaml::meta::Style;
use crate::yaml::node::{Map, Node, Value};

/// The position of a value in its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValuePlace {
    /// Start of the text after its `:` or dash.
    pub from: usize,
    /// Column of the field's name or of the dash.
    pub column: usize,
    pub kind: PlaceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceKind {
    /// The root of the document.
    Root,
    /// The value of a block-style field.
    Field,
    /// A block-style list entry.
    Entry,
    /// A value inside brackets.
    Flow,
}

/// Handling of aliases, and of values of `<<`, that may have to be expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aliases {
    /// Aliases are kept if their anchors still provide the right value.
    Kept,
    /// Aliases are replaced by the value of their anchor.
    Expanded,
}

/// Collects the edits of one document.
pub(super) struct Editor<'a> {
    pub text: &'a str,
    pub document: &'a DocumentOutline,
    pub style: &'a DocumentStyle,
    /// Positions of the aliases and values of `<<` that must be expanded, in order.
    expand: &'a [usize],
    aliases: Aliases,
    edits: Vec<Edit>,
    /// The new values of anchors seen so far.
    anchored: FxHashMap<usize, &'a Node>,
    /// Values of `<<` that may provide fields they should not.
    pub suspects: Vec<usize>,
}

impl<'a> Editor<'a> {
    pub fn new(
        text: &'a str,
        document: &'a DocumentOutline,
        style: &'a DocumentStyle,
        (aliases, expand): (Aliases, &'a [usize]),
    ) -> Self {
        let (edits, suspects) = (Vec::new(), Vec::new());
        Self { text, document, style, expand, aliases, edits, anchored: FxHashMap::default(), suspects }
    }

    pub fn finish(self) -> (Vec<Edit>, Vec<usize>) {
        (self.edits, self.suspects)
    }

    pub fn layout(&self) -> Layout {
        self.style.layout
    }

    /// Returns the end of the document's content.
    pub fn limit(&self) -> usize {
        self.document.content.end
    }

    pub fn replace(&mut self, start: usize, end: usize, text: impl Into<String>) {
        let mut text = text.into();
        if self.style.line_break == "\r\n" && text.contains('\n') {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        self.edits.push(Edit { start, end, text });
    }

    /// Collects edits for a part that is moved, without adding them to the document's edits.
    pub fn apart(&mut self, make: impl FnOnce(&mut Self)) -> Vec<Edit> {
        let outer = std::mem::take(&mut self.edits);
        make(self);
        std::mem::replace(&mut self.edits, outer)
    }

    /// Edits the root. Returns false if the document must be rewritten completely.
    pub fn root(&mut self, part: &'a Part, before: &'a Node, after: &'a Node) -> bool {
        self.in_place(ValuePlace { from: part.start, column: 0, kind: PlaceKind::Root }, part, before, after)
    }

    pub fn value(&mut self, position: ValuePlace, part: &'a Part, before: &'a Node, after: &'a Node) {
        if let PartKind::Alias(anchor) = part.kind {
            let is_provided = self.current_anchor_value(anchor).is_some_and(|now| now == after);
            let keep = is_same(before, after) && !self.is_expanded(part);
            if !is_provided && !keep {
                self.put(position, part, before, without_comments(after.clone()));
            }
            return;
        }
        if is_same(before, after) && !self.is_expanded(part) {
            return;
        }
        if part.anchor != 0 {
            self.anchored.insert(part.anchor, after);
        }
        let stays = before == after && matches!(before.value, Value::Scalar(_));
        if !stays && !self.in_place(position, part, before, after) {
            if !matches!(after.value, Value::Scalar(_)) {
                // A rewritten map or list loses its anchor.
                self.anchored.remove(&part.anchor);
            }
            self.put(position, part, before, after.clone());
        } else if let Some(comment) = new_comment(&before.meta, &after.meta)
            && is_inline(part)
            && position.kind != PlaceKind::Flow
        {
            self.comment(part.end, comment);
        }
    }

    /// Returns the new value of an anchor, if its aliases may be kept.
    pub fn current_anchor_value(&self, anchor: usize) -> Option<&'a Node> {
        self.anchored.get(&anchor).copied().filter(|_| self.aliases == Aliases::Kept)
    }

    /// Inserts a line comment after position `end`, replacing an existing comment.
    pub fn comment(&mut self, end: usize, comment: &str) {
        let line_end = line_end(self.text, end);
        let trailing = &self.text[end..line_end];
        if trailing.trim_start().starts_with('#') {
            self.replace(line_end - trailing.trim_start().len(), line_end, comment);
        } else if is_blank(trailing) {
            self.replace(end, end, format!(" {comment}"));
        }
    }

    /// Edits a map or list that stays a map or list. Returns false if it must be rewritten.
    fn in_place(&mut self, position: ValuePlace, part: &'a Part, before: &'a Node, after: &'a Node) -> bool {
        match (&part.kind, &before.value, &after.value) {
            (PartKind::Map { style: Block, fields }, Value::Map(before), Value::Map(after)) => {
                self.block_map(position, fields, before, after)
            }
            (PartKind::List { style: Block, entries }, Value::List(before), Value::List(after)) => {
                self.block_list(entries, before, after)
            }
            (PartKind::Map { style: Flow, fields }, Value::Map(before), Value::Map(after)) => {
                self.flow_map(part, fields, before, after)
            }
            (PartKind::List { style: Flow, entries }, Value::List(before), Value::List(after)) => {
                self.flow_list(part, entries, before, after)
            }
            _ => false,
        }
    }

    /// Returns true if a part contains an alias that must be expanded.
    pub fn is_expanded(&self, part: &Part) -> bool {
        let first = self.expand.partition_point(|&at| at < part.start);
        self.expand.get(first).is_some_and(|&at| at <= part.end)
    }

    /// Rewrites a value.
    fn put(&mut self, position: ValuePlace, part: &Part, before: &Node, after: Node) {
        let mut after = with_quotes_of(before, part, after);
        if position.kind == PlaceKind::Flow {
            return self.put_in_flow(position, part, &after);
        }
        after = as_before(before, as_block(before, &after), self.layout().reading);
        let end = self.end_of_value(position, part);
        if is_emptied(before, &after) {
            self.keep_comments(position, part, end);
        }
        let mut inner = self.comment_within(position, part).map(|c| format!(" {c}"));
        let is_behind = !is_blank(&self.text[end..line_end(self.text, end)]);
        if inner.is_some() || is_behind {
            if let Some(new) = new_comment(&before.meta, &after.meta) {
                if is_behind { self.comment(end, new) } else { inner = Some(format!(" {new}")) }
            }
            if let Some(comments) = &mut after.meta.comments {
                comments.line = None;
            }
        }
        let text = match position.kind {
            PlaceKind::Entry => self.layout().value_of_entry(&after, position.column),
            _ => self.layout().value_of_field(&after, position.column, None),
        };
        let scalars = matches!((&part.kind, &after.value), (PartKind::Scalar, Value::Scalar(_)));
        if is_inline(part) && !part.is_nothing() && !text.is_empty() && !text.contains('\n') {
            // A new tag is never needed, and an old one may be wrong.
            let keep = scalars && part.anchor != 0 && !part.tagged && part.content < part.end;
            let start = if keep { part.content } else { part.start };
            return self.replace(start, part.end, &text[1..]);
        }
        let (first, rest) = text.split_once('\n').map_or((&*text, None), |(f, r)| (f, Some(r)));
        self.replace(position.from, end, format!("{first}{}", inner.unwrap_or_default()));
        if let Some(rest) = rest {
            // The comment after the old value stays between the two edits.
            let at = line_end(self.text, end);
            // A block scalar would include deeper comments below it.
            let below = match after.value {
                Value::Scalar(_) => with_comments_below(self.text, at, position.column, self.limit()),
                _ => at,
            };
            self.replace(at, below, format!("\n{rest}"));
            self.close(&text, next_line(self.text, below));
        }
    }

    /// Moves the comments of a map or list that becomes empty above it. Comments that belong to its entries,
    /// because they are directly above, beside or deeper below them, are removed.
    fn keep_comments(&mut self, position: ValuePlace, part: &Part, end: usize) {
        let parts: Vec<(usize, usize)> = match &part.kind {
            PartKind::Map { style: Block, fields } => fields.iter().map(|f| (f.start, f.value.end)).collect(),
            PartKind::List { style: Block, entries } => {
                entries.iter().map(|e| (e.start, e.value.end)).collect()
            }
            _ => return,
        };
        let Some(column) = parts.first().map(|(start, _)| column(self.text, *start)) else { return };
        let mut from = next_line(self.text, position.from);
        let mut kept = Vec::new();
        for (start, value_end) in parts {
            let line = line_start(self.text, start);
            if line >= from {
                kept.push((from, comments_above(self.text, line, from)));
            }
            let own = with_comments_below(self.text, line_end(self.text, value_end), column, end);
            from = next_line(self.text, own);
        }
        kept.push((from, end));
        let at = line_start(self.text, position.from);
        let lead = self.indentation(self.text.len().min(at + position.column));
        for (from, to) in kept.into_iter().filter(|(from, to)| from < to) {
            for line in self.text[from..to].lines().map(str::trim).filter(|line| line.starts_with('#')) {
                self.replace(at, at, format!("{lead}{line}\n"));
            }
        }
    }

    /// Removes the blank lines that begin at `line` if they would become part of the new text before them.
    pub fn close(&mut self, text: &str, line: usize) {
        if text.ends_with('\n') {
            self.replace(line, behind_blank_lines(self.text, line, self.limit()), "");
        }
    }

    /// Returns the end of a value in block style. The line comment of a scalar is not included.
    fn end_of_value(&self, position: ValuePlace, part: &Part) -> usize {
        if is_inline(part) {
            return part.end;
        }
        let end = line_end(self.text, part.end);
        if part.is_block_collection() {
            return with_comments_below(self.text, end, position.column, self.limit());
        }
        end
    }

    /// Returns the comment on the indicator's line, if the value continues or begins on the next line.
    fn comment_within(&self, position: ValuePlace, part: &Part) -> Option<&'a str> {
        let line = line_end(self.text, position.from);
        let from = match part.kind {
            PartKind::BlockScalar => part.content,
            _ if part.content > line => position.from,
            _ => return None,
        };
        let text = &self.text[from..line_end(self.text, from)];
        text.find(" #").map(|i| &text[i + 1..])
    }

    /// Returns the indentation of the line that contains `at`.
    pub fn indentation(&self, at: usize) -> &'a str {
        let line = &self.text[super::lines::line_start(self.text, at)..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Returns the position at which a new line can be inserted after the line of `end`, and whether a line
    /// break is needed before it.
    pub fn behind_line(&self, end: usize) -> (usize, bool) {
        let next = next_line(self.text, end);
        (next, !self.text[..next].ends_with('\n'))
    }
}

/// Returns true if a comment on the last line of the value is separate from the value.
fn is_inline(part: &Part) -> bool {
    !part.is_block_collection() && !matches!(part.kind, PartKind::BlockScalar)
}

/// Returns true if a map or list becomes empty.
fn is_emptied(before: &Node, after: &Node) -> bool {
    match (&before.value, &after.value) {
        (Value::Map(before), Value::Map(after)) => !before.is_empty() && after.is_empty(),
        (Value::List(before), Value::List(after)) => !before.is_empty() && after.is_empty(),
        _ => false,
    }
}

/// Keeps the quotes of a string that changes.
fn with_quotes_of(before: &Node, part: &Part, mut after: Node) -> Node {
    let quoted = matches!(before.meta.style, Style::SingleQuoted | Style::DoubleQuoted);
    if quoted && matches!(part.kind, PartKind::Scalar) && after.as_str().is_some() {
        after.meta.style = before.meta.style;
    }
    after
}

/// Removes the comments of a value that replaces an alias: they belong to the anchored value.
pub(super) fn without_comments(mut node: Node) -> Node {
    node.change_each(&mut |node| {
        node.meta.comments = None;
        let keys = node.as_map_mut().into_iter().flat_map(Map::entries_mut);
        keys.for_each(|entry| entry.key.meta.comments = None);
    });
    node
}
