//! Builds trees from events: nodes with their locations and comments, anchors and aliases.

use std::borrow::Cow;

use granit_parser::{Event, Placement, ScalarStyle, StructureStyle};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::fields::{DuplicateKey, MergeTarget, OpenMap, Positions, is_merge, parse_key};
use super::options::ParseOptions;
use super::tags::{check_tag, decode_binary, is_merge_tag, is_non_specific, resolve_tag};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::{Reading, SourceId, Span};
use crate::yaml::events::{EventPosition, MAX_DEPTH, Receiver};
use crate::yaml::meta::{Meta, Style, Tag};
use crate::yaml::node::{Entry, Key, Map, Node, Value};
use crate::yaml::tree_size::TreeSize;
use crate::yaml::yaml_1_1::to_core_schema;

/// The memory that the anchors and aliases of any text may use, in bytes. Real manifests use less than a tenth of it.
const MAX_COPIED: usize = 4 << 20;

/// The additional memory for each byte of the text. A short field uses about thirty times the size of its text.
const MAX_COPIED_FOR_BYTE: usize = 64;

/// A map or list that is not complete. Its fields or entries are the last ones of the builder.
struct Frame {
    is_map: bool,
    meta: Meta,
    /// The index of its first field or entry.
    first: usize,
    anchor: usize,
    key: Option<Key>,
    /// A bit for each of its keys.
    keys: u64,
    /// The values of `<<`, each with the number of fields above it, until the map is complete.
    merges: Vec<(usize, Node)>,
    /// The indices of the keys, once there are many of them.
    seen: Option<Box<Positions>>,
}

struct Anchored {
    node: Node,
    bytes: usize,
    depth: usize,
}

/// Builds the trees of documents from events.
pub(super) struct TreeBuilder<'t> {
    source: SourceId,
    text: &'t str,
    options: ParseOptions,
    stack: Vec<Frame>,
    /// The fields of all incomplete maps. They are stored together, so that each complete map has exactly the memory
    /// that it needs.
    fields: Vec<Entry>,
    /// The entries of all incomplete lists.
    entries: Vec<Node>,
    anchors: FxHashMap<usize, Anchored>,
    /// The memory that anchors and aliases have used, in bytes.
    copied: usize,
    /// The line on which the last scalar, alias or flow collection ended.
    last_line: usize,
    /// The comments above the next node.
    pending_comments: Vec<SmolStr>,
    pub documents: Vec<Node>,
    /// The keys that are repeated in a map, if this is not an error.
    pub duplicate_keys: Vec<DuplicateKey>,
    document_complete: bool,
}

impl Receiver for TreeBuilder<'_> {
    #[allow(clippy::inline_always, reason = "the fast reader knows the kind of event at each call")]
    #[inline(always)]
    fn event(&mut self, event: Event<'_>, position: &EventPosition) -> Result<()> {
        match event {
            Event::Scalar(text, style, 0, None) => self.add_untagged(&text, style, position),
            Event::MappingStart(style, anchor, _) => self.open(true, style, anchor, position),
            Event::SequenceStart(style, anchor, _) => self.open(false, style, anchor, position),
            Event::MappingEnd | Event::SequenceEnd => self.close(position),
            other => self.rare_event(other, position),
        }
    }
}

impl<'t> TreeBuilder<'t> {
    pub fn new(source: SourceId, text: &'t str, options: ParseOptions) -> Self {
        Self {
            source,
            text,
            options,
            stack: Vec::new(),
            fields: Vec::new(),
            entries: Vec::new(),
            anchors: FxHashMap::default(),
            copied: 0,
            last_line: 0,
            pending_comments: Vec::new(),
            documents: Vec::new(),
            duplicate_keys: Vec::new(),
            document_complete: false,
        }
    }

    fn span(&self, position: &EventPosition) -> Span {
        Span::new(self.source, position.range.start, position.range.end)
    }

    #[inline(never)]
    fn rare_event(&mut self, event: Event<'_>, position: &EventPosition) -> Result<()> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.end_value(position);
                let node = self.scalar(text, style, tag.as_deref(), position)?;
                if anchor != 0 {
                    self.anchor(anchor, &node)?;
                }
                self.add_node(node)?;
            }
            Event::Alias(id) => {
                self.end_value(position);
                let node = self.alias(id, position)?;
                self.add_node(node)?;
            }
            Event::Comment(text, placement) => self.comment(&text, placement, position),
            Event::DocumentStart(..) => self.document_complete = false,
            Event::DocumentEnd => {
                if !self.document_complete {
                    self.documents.push(Node::null().with_span(self.span(position)));
                } else if self.options.reading == Reading::Kustomize
                    && !self.options.keep_comments
                    && !self.options.is_patch
                {
                    self.comment_behind_block(position.range.start);
                }
                self.anchors.clear();
            }
            Event::StreamEnd => self.foot_comments(),
            _ => {}
        }
        Ok(())
    }

    /// Records the line on which a value ends.
    fn end_value(&mut self, position: &EventPosition) {
        if !position.range.is_empty() {
            self.last_line = position.last_line;
        }
    }

    /// Adds a scalar without anchor and tag.
    #[inline(never)]
    fn add_untagged(&mut self, text: &str, style: ScalarStyle, position: &EventPosition) -> Result<()> {
        self.end_value(position);
        let span = self.span(position);
        let style = style_of_scalar(style);
        let text = if style == Style::Plain && span.start == span.end { "" } else { text };
        let node = Node { value: Value::Scalar(text.into()), meta: Meta { span, style, ..Meta::default() } };
        let node = if self.options.reading == Reading::Kubectl { self.as_kubectl_reads(node) } else { node };
        self.add_node(node)
    }

    /// Replaces the text and tag of a scalar by those that result in kubectl's value.
    fn as_kubectl_reads(&self, mut node: Node) -> Node {
        let Value::Scalar(text) = node.value else { return node };
        let tag = node.meta.tag;
        let read;
        (read, node.meta.tag) = to_core_schema(text.clone(), node.meta.style, tag);
        if self.options.keep_comments && tag == Tag::None && node.meta.tag != tag {
            node.meta.comments.get_or_insert_default().original_spelling = Some(text);
        }
        node.value = Value::Scalar(read);
        node
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        tag: Option<&granit_parser::Tag>,
        position: &EventPosition,
    ) -> Result<Node> {
        let at = self.span(position);
        let style = style_of_scalar(style);
        // The parser reports `~` for an empty value, so the text itself is used.
        let nothing = style == Style::Plain && at.start == at.end;
        let mut text = if nothing { SmolStr::default() } else { SmolStr::new(text) };
        let (style, tag) = match tag {
            // The tag is redundant for `<<`.
            Some(tag) if text == "<<" && is_merge_tag(tag) => (Style::Plain, Tag::None),
            // kustomize ignores the tag `!`.
            Some(tag) if self.options.reading == Reading::Kustomize && is_non_specific(tag) => {
                (style, Tag::None)
            }
            tag => (style, tag.map_or(Tag::None, resolve_tag)),
        };
        match tag {
            Tag::None | Tag::Str | Tag::Other => {}
            Tag::Binary => text = decode_binary(&text).map_err(|error| error.at(at))?,
            _ => check_tag(&text, tag, self.options.reading).map_err(|error| error.at(at))?,
        }
        let node =
            Node { value: Value::Scalar(text), meta: Meta { span: at, style, tag, ..Meta::default() } };
        Ok(if self.options.reading == Reading::Kubectl { self.as_kubectl_reads(node) } else { node })
    }

    #[inline(never)]
    fn open(
        &mut self,
        is_map: bool,
        style: StructureStyle,
        anchor: usize,
        position: &EventPosition,
    ) -> Result<()> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(too_deep().at(self.span(position)));
        }
        let style = if style == StructureStyle::Flow { Style::Flow } else { Style::Block };
        let mut meta = Meta { span: self.span(position), style, ..Meta::default() };
        // A comment above a list entry that is a map or a list belongs to the entry.
        if self.stack.last().is_some_and(|frame| !frame.is_map) {
            add_head(&mut meta, &mut self.pending_comments);
        }
        let first = if is_map { self.fields.len() } else { self.entries.len() };
        self.stack.push(Frame {
            is_map,
            meta,
            first,
            anchor,
            key: None,
            keys: 0,
            merges: Vec::new(),
            seen: None,
        });
        Ok(())
    }

    #[inline(never)]
    fn close(&mut self, position: &EventPosition) -> Result<()> {
        self.end_value(position);
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        let Frame { is_map, mut meta, first, anchor, merges, seen, .. } = frame;
        let (value, end) = if is_map {
            let fields: Vec<Entry> = self.fields.drain(first..).collect();
            let end = fields.last().map(|e| e.value.meta.span.end.max(e.key.meta.span.end));
            (Value::Map(self.merged(Map::from(fields), merges, seen)?), end)
        } else {
            let entries: Vec<Node> = self.entries.drain(first..).collect();
            let end = entries.last().map(|n| n.meta.span.end);
            (Value::List(entries), end)
        };
        meta.span.end = match end {
            _ if meta.style == Style::Flow => self.span(position).end,
            Some(end) => end.max(meta.span.start),
            None => meta.span.end.max(meta.span.start),
        };
        let node = Node { value, meta };
        if anchor != 0 {
            self.anchor(anchor, &node)?;
        }
        self.add_node(node)
    }

    /// Adds the values of `<<` to a complete map.
    fn merged(&self, mut map: Map, merges: Vec<(usize, Node)>, seen: Option<Box<Positions>>) -> Result<Map> {
        if merges.is_empty() {
            return Ok(map);
        }
        let own = map.len();
        let mut merging = MergeTarget::new(&mut map, seen.map_or_else(Positions::default, |seen| *seen));
        for (above, merge) in merges {
            match self.options.reading {
                Reading::Kustomize => merging.add_as_kustomize(merge, 0..own)?,
                Reading::Kubectl => merging.add(merge, above..own)?,
            }
        }
        Ok(map)
    }

    /// Adds a complete node to the open map or list, or to the documents.
    fn add_node(&mut self, mut node: Node) -> Result<()> {
        let Some(frame) = self.stack.last_mut() else {
            self.document_complete = true;
            self.documents.push(node);
            return Ok(());
        };
        if !frame.is_map {
            // Maps and lists got their comments when they began. Pending comments belong to the following node.
            let begins = matches!(node.value, Value::Scalar(_)) || node.meta.is_aliased;
            if begins && node.meta.comments.as_ref().is_none_or(|comments| comments.head.is_empty()) {
                add_head(&mut node.meta, &mut self.pending_comments);
            }
            self.entries.push(node);
            return Ok(());
        }
        match frame.key.take() {
            None => {
                let mut key = parse_key(node, self.options)?;
                add_head(&mut key.meta, &mut self.pending_comments);
                frame.key = Some(key);
                Ok(())
            }
            Some(key) if is_merge(&key) => {
                if self.options.reading == Reading::Kustomize && !frame.merges.is_empty() {
                    return Err(
                        Diagnostic::error(Code::DuplicateKey, "duplicate merge key `<<`").at(key.meta.span)
                    );
                }
                frame.merges.push((self.fields.len() - frame.first, node));
                Ok(())
            }
            Some(key) => {
                let Frame { first, keys, seen, .. } = frame;
                let map = OpenMap { fields: &mut self.fields, first: *first, keys, seen };
                self.duplicate_keys.extend(map.add(key, node, self.options.duplicate_keys)?);
                Ok(())
            }
        }
    }

    /// Stores a copy of a node with an anchor.
    fn anchor(&mut self, anchor: usize, node: &Node) -> Result<()> {
        let TreeSize { bytes, depth } = node.size();
        self.count_copied(bytes, node.span())?;
        self.anchors.insert(anchor, Anchored { node: node.clone(), bytes, depth });
        Ok(())
    }

    /// Adds the memory of a copy and checks the limit.
    fn count_copied(&mut self, bytes: usize, at: Span) -> Result<()> {
        self.copied += bytes;
        let most = MAX_COPIED + self.text.len().saturating_mul(MAX_COPIED_FOR_BYTE);
        if self.copied <= most {
            return Ok(());
        }
        let message = format!("the anchors and aliases of this text take more than {most} bytes");
        Err(Diagnostic::error(Code::LimitExceeded, message)
            .at(at)
            .help("write the repeated values out, or use fewer levels of aliases"))
    }

    fn alias(&mut self, id: usize, position: &EventPosition) -> Result<Node> {
        let at = self.span(position);
        let Some(bytes) = self.anchors.get(&id).map(|anchored| anchored.bytes) else {
            return Err(
                Diagnostic::error(Code::Syntax, "the alias refers to a value that contains it").at(at)
            );
        };
        self.count_copied(bytes, at)?;
        let anchored = &self.anchors[&id];
        if self.stack.len() + anchored.depth > MAX_DEPTH {
            return Err(too_deep().at(at));
        }
        let mut node = anchored.node.clone();
        node.meta.is_aliased = true;
        node.meta.span = at;
        node.meta.comments = None;
        Ok(node)
    }

    fn comment(&mut self, text: &str, placement: Placement, position: &EventPosition) {
        let text = smol_str::format_smolstr!("#{text}");
        if placement == Placement::Right && self.line_comment(&text, position.first_line) {
            return;
        }
        self.pending_comments.push(text);
    }

    /// Attaches a comment to the node before it on the same line.
    fn line_comment(&mut self, text: &SmolStr, line: usize) -> bool {
        if self.last_line != line {
            return false;
        }
        let meta = match self.stack.last_mut() {
            None => self.documents.last_mut().map(|d| &mut d.meta),
            Some(Frame { key: Some(key), .. }) => Some(&mut key.meta),
            Some(frame) if frame.is_map => {
                self.fields[frame.first..].last_mut().map(|entry| &mut entry.value.meta)
            }
            Some(frame) => self.entries[frame.first..].last_mut().map(|node| &mut node.meta),
        };
        let Some(meta) = meta else { return false };
        meta.comments.get_or_insert_default().line = Some(text.clone());
        true
    }

    /// Stores the comment between a block scalar that ends a document and the end of the document, because it changes
    /// how kustomize prints the scalar.
    fn comment_behind_block(&mut self, end: usize) {
        let Some(document) = self.documents.last_mut() else { return };
        document.change_last_leaf(|leaf| {
            let is_block = matches!(leaf.meta.style, Style::Literal | Style::Folded);
            let following = self.text.get(leaf.meta.span.end as usize..end).filter(|_| is_block);
            let next = following.and_then(|following| following.trim_start().lines().next());
            if let Some(comment) = next.filter(|line| line.starts_with('#')) {
                leaf.meta.comments.get_or_insert_default().foot.push(comment.into());
            }
        });
    }

    fn foot_comments(&mut self) {
        if let Some(document) = self.documents.last_mut().filter(|_| !self.pending_comments.is_empty()) {
            document.meta.comments.get_or_insert_default().foot = std::mem::take(&mut self.pending_comments);
        }
    }
}

fn style_of_scalar(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
    }
}

/// Moves the comments above a node or key to its metadata.
fn add_head(meta: &mut Meta, above: &mut Vec<SmolStr>) {
    if !above.is_empty() {
        meta.comments.get_or_insert_default().head = std::mem::take(above);
    }
}

pub(super) fn too_deep() -> Diagnostic {
    let message = format!("maps and lists are nested more than {MAX_DEPTH} levels deep");
    Diagnostic::error(Code::LimitExceeded, message)
        .help("reduce the nesting; look for content that was inserted into itself by mistake")
}
