//! Edits of one value: determines which parts are kept and where new text is inserted.

use granit_parser::StructureStyle::{Block, Flow};
use rustc_hash::FxHashMap;

use super::compare::{changed_line_comment, is_unchanged};
use super::fragment::{Layout, as_block, with_flow_style_of};
use super::lines::{
    after_blank_lines, column, comments_above, end_of_comments_below, is_blank, line_end, line_start,
    next_line,
};
use super::outline::{DocumentOutline, ValueKind, ValueOutline};
use super::splice::Edit;
use super::style::DocumentStyle;
use crate::yaml::meta::Style;
use crate::yaml::node::{Map, Node, Value};

/// The position of a value in its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValuePosition {
    /// The start of the text after its `:` or dash.
    pub start: usize,
    /// The column of the field's name or of the dash.
    pub column: usize,
    pub kind: PositionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PositionKind {
    /// The root of the document.
    Root,
    /// The value of a block-style field.
    Field,
    /// A block-style list entry.
    Entry,
    /// A value inside brackets.
    Flow,
}

/// Determines whether aliases and values of `<<` are kept or expanded.
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
    /// The positions of the aliases and values of `<<` that must be expanded, in order.
    expand: &'a [usize],
    aliases: Aliases,
    edits: Vec<Edit>,
    /// The new values of the anchors that were already visited.
    anchor_values: FxHashMap<usize, &'a Node>,
    /// The values of `<<` that may provide fields that were removed.
    pub merges_to_check: Vec<usize>,
}

impl<'a> Editor<'a> {
    pub fn new(
        text: &'a str,
        document: &'a DocumentOutline,
        style: &'a DocumentStyle,
        (aliases, expand): (Aliases, &'a [usize]),
    ) -> Self {
        let (edits, merges_to_check) = (Vec::new(), Vec::new());
        Self {
            text,
            document,
            style,
            expand,
            aliases,
            edits,
            anchor_values: FxHashMap::default(),
            merges_to_check,
        }
    }

    pub fn finish(self) -> (Vec<Edit>, Vec<usize>) {
        (self.edits, self.merges_to_check)
    }

    pub fn layout(&self) -> Layout {
        self.style.layout
    }

    /// Returns the end of the document's content.
    pub fn content_end(&self) -> usize {
        self.document.content.end
    }

    pub fn replace(&mut self, start: usize, end: usize, text: impl Into<String>) {
        let mut text = text.into();
        if self.style.line_break == "\r\n" && text.contains('\n') {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        self.edits.push(Edit { start, end, text });
    }

    /// Collects the edits of a part that is moved. They are not added to the edits of the document.
    pub fn collect_edits(&mut self, make: impl FnOnce(&mut Self)) -> Vec<Edit> {
        let outer = std::mem::take(&mut self.edits);
        make(self);
        std::mem::replace(&mut self.edits, outer)
    }

    /// Edits the root. Returns false if the document must be rewritten completely.
    pub fn edit_root(&mut self, part: &'a ValueOutline, before: &'a Node, after: &'a Node) -> bool {
        self.edit_collection(
            ValuePosition { start: part.start, column: 0, kind: PositionKind::Root },
            part,
            before,
            after,
        )
    }

    pub fn edit_value(
        &mut self,
        position: ValuePosition,
        part: &'a ValueOutline,
        before: &'a Node,
        after: &'a Node,
    ) {
        if let ValueKind::Alias(anchor) = part.kind {
            let is_provided = self.current_anchor_value(anchor).is_some_and(|now| now == after);
            let keep = is_unchanged(before, after) && !self.must_be_expanded(part);
            if !is_provided && !keep {
                self.rewrite_value(position, part, before, without_comments(after.clone()));
            }
            return;
        }
        if is_unchanged(before, after) && !self.must_be_expanded(part) {
            return;
        }
        if part.anchor != 0 {
            self.anchor_values.insert(part.anchor, after);
        }
        let stays = before == after && matches!(before.value, Value::Scalar(_));
        if !stays && !self.edit_collection(position, part, before, after) {
            if !matches!(after.value, Value::Scalar(_)) {
                // A rewritten map or list loses its anchor.
                self.anchor_values.remove(&part.anchor);
            }
            self.rewrite_value(position, part, before, after.clone());
        } else if let Some(comment) = changed_line_comment(&before.meta, &after.meta)
            && is_inline(part)
            && position.kind != PositionKind::Flow
        {
            self.set_line_comment(part.end, comment);
        }
    }

    /// Returns the new value of an anchor, if its aliases may be kept.
    pub fn current_anchor_value(&self, anchor: usize) -> Option<&'a Node> {
        self.anchor_values.get(&anchor).copied().filter(|_| self.aliases == Aliases::Kept)
    }

    /// Inserts a line comment after the position `end`. Replaces an existing comment. Does nothing if other text
    /// follows on the line.
    pub fn set_line_comment(&mut self, end: usize, comment: &str) {
        let line_end = line_end(self.text, end);
        let trailing = &self.text[end..line_end];
        if trailing.trim_start().starts_with('#') {
            self.replace(line_end - trailing.trim_start().len(), line_end, comment);
        } else if is_blank(trailing) {
            self.replace(end, end, format!(" {comment}"));
        }
    }

    /// Edits a map or list that remains a map or list. Returns false if it must be rewritten.
    fn edit_collection(
        &mut self,
        position: ValuePosition,
        part: &'a ValueOutline,
        before: &'a Node,
        after: &'a Node,
    ) -> bool {
        match (&part.kind, &before.value, &after.value) {
            (ValueKind::Map { style: Block, fields }, Value::Map(before), Value::Map(after)) => {
                self.block_map(position, fields, before, after)
            }
            (ValueKind::List { style: Block, entries }, Value::List(before), Value::List(after)) => {
                self.block_list(entries, before, after)
            }
            (ValueKind::Map { style: Flow, fields }, Value::Map(before), Value::Map(after)) => {
                self.edit_flow_map(part, fields, before, after)
            }
            (ValueKind::List { style: Flow, entries }, Value::List(before), Value::List(after)) => {
                self.edit_flow_list(part, entries, before, after)
            }
            _ => false,
        }
    }

    /// Returns true if a part contains an alias that must be expanded.
    pub fn must_be_expanded(&self, part: &ValueOutline) -> bool {
        let first = self.expand.partition_point(|&at| at < part.start);
        self.expand.get(first).is_some_and(|&at| at <= part.end)
    }

    /// Rewrites a value.
    fn rewrite_value(&mut self, position: ValuePosition, part: &ValueOutline, before: &Node, after: Node) {
        let mut after = with_quotes_of(before, part, after);
        if position.kind == PositionKind::Flow {
            return self.rewrite_flow_value(position, part, &after);
        }
        after = with_flow_style_of(before, as_block(before, &after), self.layout().reading);
        // Comments below the last field or entry are kept, unless they would become part of a text.
        let end = self.end_of_value(position, part, is_emptied(before, &after) || after.is_leaf());
        if is_emptied(before, &after) {
            self.keep_comments(position, part, end);
        }
        let mut inner = self.comment_within(position, part).map(|c| format!(" {c}"));
        let is_behind = !is_blank(&self.text[end..line_end(self.text, end)]);
        if inner.is_some() || is_behind {
            if let Some(new) = changed_line_comment(&before.meta, &after.meta) {
                if is_behind { self.set_line_comment(end, new) } else { inner = Some(format!(" {new}")) }
            }
            if let Some(comments) = &mut after.meta.comments {
                comments.line = None;
            }
        }
        let text = match position.kind {
            PositionKind::Entry => self.layout().value_of_entry(&after, position.column),
            _ => self.layout().value_of_field(&after, position.column, None),
        };
        let scalars = matches!((&part.kind, &after.value), (ValueKind::Scalar, Value::Scalar(_)));
        if is_inline(part) && !part.is_absent() && !text.is_empty() && !text.contains('\n') {
            // A new tag is never needed, and an old one may be wrong.
            let keep = scalars && part.anchor != 0 && !part.has_tag && part.content < part.end;
            let start = if keep { part.content } else { part.start };
            return self.replace(start, part.end, &text[1..]);
        }
        let (first, rest) = text.split_once('\n').map_or((&*text, None), |(f, r)| (f, Some(r)));
        self.replace(position.start, end, format!("{first}{}", inner.unwrap_or_default()));
        if let Some(rest) = rest {
            // The comment after the old value remains between the two edits.
            let at = line_end(self.text, end);
            // A block scalar would include comments below it that are indented deeper.
            let below = match after.value {
                Value::Scalar(_) => end_of_comments_below(self.text, at, position.column, self.content_end()),
                _ => at,
            };
            self.replace(at, below, format!("\n{rest}"));
            self.remove_blank_lines(&text, next_line(self.text, below));
        }
    }

    /// Moves the comments of a map or list that becomes empty above it. Comments that belong to its entries, because
    /// they are directly above, beside or deeper below them, are removed.
    fn keep_comments(&mut self, position: ValuePosition, part: &ValueOutline, end: usize) {
        let parts: Vec<(usize, usize)> = match &part.kind {
            ValueKind::Map { style: Block, fields } => {
                fields.iter().map(|f| (f.start, f.value.end)).collect()
            }
            ValueKind::List { style: Block, entries } => {
                entries.iter().map(|e| (e.start, e.value.end)).collect()
            }
            _ => return,
        };
        let Some(column) = parts.first().map(|(start, _)| column(self.text, *start)) else { return };
        let mut from = next_line(self.text, position.start);
        let mut kept = Vec::new();
        for (start, value_end) in parts {
            let line = line_start(self.text, start);
            if line >= from {
                kept.push((from, comments_above(self.text, line, from)));
            }
            let own = end_of_comments_below(self.text, line_end(self.text, value_end), column, end);
            from = next_line(self.text, own);
        }
        kept.push((from, end));
        let at = line_start(self.text, position.start);
        let lead = self.indentation(self.text.len().min(at + position.column));
        for (from, to) in kept.into_iter().filter(|(from, to)| from < to) {
            for line in self.text[from..to].lines().map(str::trim).filter(|line| line.starts_with('#')) {
                self.replace(at, at, format!("{lead}{line}\n"));
            }
        }
    }

    /// Removes the blank lines that begin at `line` if they would become part of the new text before them.
    pub fn remove_blank_lines(&mut self, text: &str, line: usize) {
        if text.ends_with('\n') {
            self.replace(line, after_blank_lines(self.text, line, self.content_end()), "");
        }
    }

    /// Returns the end of a value in block style. With `with_comments`, the comments below a map or list are included.
    /// The line comment of a scalar is not included.
    fn end_of_value(&self, position: ValuePosition, part: &ValueOutline, with_comments: bool) -> usize {
        if is_inline(part) {
            return part.end;
        }
        let end = line_end(self.text, part.end);
        if part.is_block_collection() && with_comments {
            return end_of_comments_below(self.text, end, position.column, self.content_end());
        }
        end
    }

    /// Returns the comment on the indicator's line, if the value continues or begins on the next line.
    fn comment_within(&self, position: ValuePosition, part: &ValueOutline) -> Option<&'a str> {
        let line = line_end(self.text, position.start);
        let from = match part.kind {
            ValueKind::BlockScalar => part.content,
            _ if part.content > line => position.start,
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

    /// Returns the position at which a new line can be inserted after the line of `end`, and true if a line break is
    /// needed before it.
    pub fn insertion_after(&self, end: usize) -> (usize, bool) {
        let next = next_line(self.text, end);
        (next, !self.text[..next].ends_with('\n'))
    }
}

/// Returns true if a comment on the last line of the value is not part of the value.
fn is_inline(part: &ValueOutline) -> bool {
    !part.is_block_collection() && !matches!(part.kind, ValueKind::BlockScalar)
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
fn with_quotes_of(before: &Node, part: &ValueOutline, mut after: Node) -> Node {
    let quoted = matches!(before.meta.style, Style::SingleQuoted | Style::DoubleQuoted);
    if quoted && matches!(part.kind, ValueKind::Scalar) && after.as_str().is_some() {
        after.meta.style = before.meta.style;
    }
    after
}

/// Removes the comments of a value that replaces an alias, since they belong to the anchored value.
pub(super) fn without_comments(mut node: Node) -> Node {
    node.for_each_mut(&mut |node| {
        node.meta.comments = None;
        let keys = node.as_map_mut().into_iter().flat_map(Map::entries_mut);
        keys.for_each(|entry| entry.key.meta.comments = None);
    });
    node
}
