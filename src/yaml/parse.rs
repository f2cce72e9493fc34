//! Text to nodes: parser events become trees, aliases are expanded, `<<` is merged.
//!
//! Accepts what kustomize or kubectl accepts (go-yaml v3, v2) and says where a text goes wrong.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use granit_parser::{Event, Placement, ScalarStyle, StructureStyle};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::events::{CommentEvents, EventPlace, MAX_DEPTH, Unreadable, read_events};
use super::meta::{Comments, Meta, Style, Tag};
use super::node::{Entry, Key, Map, Node, Value};
use super::scalar::{Resolved, resolve};
use super::yaml_1_1::{key_text, resolve_1_1, settle};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::{Reading, SourceId, SourceMap, Span};

/// How many nodes the aliases of one text may add. Real manifests stay below a few thousand.
const MAX_ALIASED: usize = 1_000_000;

/// Two equal keys in one map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateKeys {
    /// Are an error that names both lines.
    #[default]
    Deny,
    /// The last one counts, as in kustomization files. Keys may be numbers there, too.
    LastWins,
    /// The first one counts, as in strategic merge patches.
    FirstWins,
}

/// How to read a text.
#[derive(Debug, Clone, Copy, Default)]
pub struct ParseOptions {
    /// Whether comments are kept on the nodes.
    pub comments: bool,
    /// What to do about equal keys.
    pub duplicate_keys: DuplicateKeys,
    /// Whose reader decides what scalars, keys and `<<` mean.
    pub reading: Reading,
}

impl ParseOptions {
    /// Reads as kubectl does, without comments. Equal keys are errors; kubectl silently takes the last.
    ///
    /// ```
    /// use kubectl_smp::source::SourceMap;
    /// use kubectl_smp::yaml::{ParseOptions, parse_one, to_json};
    ///
    /// let sources = SourceMap::default();
    /// let text = "{day: 2024-01-31, n: yes}";
    /// let read = |options| parse_one(&sources, sources.add("example", text), options);
    /// let by_kustomize = read(ParseOptions::default())?;
    /// assert_eq!(to_json(&by_kustomize)?, r#"{"day":"2024-01-31T00:00:00Z","n":"yes"}"#);
    /// let by_kubectl = read(ParseOptions::kubectl())?;
    /// assert_eq!(to_json(&by_kubectl)?, r#"{"day":"2024-01-31","false":true}"#);
    /// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
    /// ```
    #[must_use]
    pub fn kubectl() -> Self {
        Self { reading: Reading::Kubectl, ..Self::default() }
    }
}

/// Turns bytes into text: UTF-8 or UTF-16 with or without a byte order mark.
///
/// # Errors
/// Bytes that are neither, with the offset of the first that is wrong.
pub fn decode(bytes: Vec<u8>) -> Result<String> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|b| unit([b[0], b[1]])).collect();
        String::from_utf16(&units)
            .map_err(|_| Diagnostic::error(Code::Syntax, "the text is not valid UTF-16"))
    };
    match bytes.as_slice() {
        [0xFF, 0xFE, ..] => utf16(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => utf16(u16::from_be_bytes),
        _ => String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let before = &error.as_bytes()[..at];
            let line = memchr::memchr_iter(b'\n', before).count() + 1;
            let byte = error.as_bytes().get(at).copied().unwrap_or_default();
            Diagnostic::error(
                Code::Syntax,
                format!("the text is not valid UTF-8: byte 0x{byte:02x} on line {line} (offset {at})"),
            )
            .help("save the file as UTF-8")
        }),
    }
}

/// All documents of a text, empty ones as null.
///
/// # Errors
/// Malformed YAML, duplicate or non-string keys, a bound that is passed; each with its place.
pub fn parse_documents(sources: &SourceMap, id: SourceId, options: ParseOptions) -> Result<Vec<Node>> {
    let Some(source) = sources.get(id) else { return Ok(Vec::new()) };
    let text = source.text();
    let start = || TreeBuilder::new(id, text, options);
    let comments = if options.comments { CommentEvents::Shown } else { CommentEvents::PassedOver };
    match read_events(text, comments, options.reading, start, TreeBuilder::event) {
        Ok(builder) => Ok(builder.documents),
        Err(Unreadable::Refused(diagnostic)) => Err(diagnostic),
        Err(Unreadable::Syntax { message, at, .. }) => Err(syntax_error(id, text, &message, at)),
    }
}

fn syntax_error(id: SourceId, text: &str, message: &str, at: usize) -> Diagnostic {
    let diagnostic = Diagnostic::error(Code::Syntax, message).at(Span::new(id, at, at));
    let line_start = text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |i| i + 1);
    let line = text.get(line_start..).and_then(|t| t.lines().next()).unwrap_or_default();
    if line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t') {
        return diagnostic.help("YAML is indented with spaces, not with tabs");
    }
    diagnostic
}

/// The only document of a text; null when it has none.
///
/// # Errors
/// As [`parse_documents`], and when there are several documents that are not empty.
pub fn parse_one(sources: &SourceMap, id: SourceId, options: ParseOptions) -> Result<Node> {
    let mut documents = parse_documents(sources, id, options)?;
    documents.retain(|d| !d.is_null());
    if let Some(second) = documents.get(1) {
        return Err(Diagnostic::error(Code::InvalidValue, "expected one document, found several")
            .at(second.span())
            .help("remove the documents behind the first `---`"));
    }
    Ok(documents.pop().unwrap_or_else(Node::null))
}

/// A map or list whose end has not come yet.
struct Frame {
    node: Node,
    anchor: usize,
    key: Option<Key>,
    /// The values of `<<`, each with the number of fields above it, until the map is complete.
    merges: Vec<(usize, Node)>,
    /// The keys so far, once there are many.
    seen: FxHashSet<SmolStr>,
}

struct Anchored {
    node: Node,
    nodes: usize,
    depth: usize,
}

struct TreeBuilder<'t> {
    source: SourceId,
    text: &'t str,
    options: ParseOptions,
    stack: Vec<Frame>,
    anchors: FxHashMap<usize, Anchored>,
    aliased: usize,
    /// The line on which the last scalar, alias or flow collection ended.
    last_line: usize,
    /// Comments above what comes next.
    above: Vec<SmolStr>,
    documents: Vec<Node>,
    document_complete: bool,
}

impl<'t> TreeBuilder<'t> {
    fn new(source: SourceId, text: &'t str, options: ParseOptions) -> Self {
        Self {
            source,
            text,
            options,
            stack: Vec::new(),
            anchors: FxHashMap::default(),
            aliased: 0,
            last_line: 0,
            above: Vec::new(),
            documents: Vec::new(),
            document_complete: false,
        }
    }

    fn span(&self, place: &EventPlace) -> Span {
        Span::new(self.source, place.range.start, place.range.end)
    }

    fn event(&mut self, event: Event<'_>, place: &EventPlace) -> Result<()> {
        if matches!(event, Event::Scalar(..) | Event::Alias(_) | Event::MappingEnd | Event::SequenceEnd)
            && !place.range.is_empty()
        {
            self.last_line = place.last_line;
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let node = self.scalar(text, style, tag.as_deref(), place)?;
                self.anchor(anchor, &node);
                self.place(node)
            }
            Event::MappingStart(style, anchor, _) => self.open(Value::Map(Map::new()), style, anchor, place),
            Event::SequenceStart(style, anchor, _) => {
                self.open(Value::List(Vec::new()), style, anchor, place)
            }
            Event::MappingEnd | Event::SequenceEnd => self.close(place),
            Event::Alias(id) => {
                let node = self.alias(id, place)?;
                self.place(node)
            }
            Event::Comment(text, placement) => {
                self.comment(&text, placement, place);
                Ok(())
            }
            Event::DocumentStart(..) => {
                self.document_complete = false;
                Ok(())
            }
            Event::DocumentEnd => {
                if !self.document_complete {
                    self.documents.push(Node::null().with_span(self.span(place)));
                }
                self.anchors.clear();
                Ok(())
            }
            Event::StreamEnd => {
                self.foot_comments();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        tag: Option<&granit_parser::Tag>,
        place: &EventPlace,
    ) -> Result<Node> {
        let at = self.span(place);
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::SingleQuoted,
            ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
            ScalarStyle::Literal => Style::Literal,
            ScalarStyle::Folded => Style::Folded,
        };
        // The parser writes `~` where nothing stands; what stands there decides.
        let nothing = style == Style::Plain && at.start == at.end;
        let mut text = if nothing { SmolStr::default() } else { SmolStr::new(text) };
        // A block at the end of a text that has no line break there has none at its end, either.
        let is_block = matches!(style, Style::Literal | Style::Folded);
        if is_block && at.end as usize >= self.text.len() && !self.text.ends_with('\n') {
            text = text.strip_suffix('\n').map_or(text.clone(), SmolStr::from);
        }
        let tag = tag.map_or(Tag::None, tag_of);
        match tag {
            Tag::None | Tag::Str | Tag::Other => {}
            Tag::Binary => text = binary(&text).map_err(|error| error.at(at))?,
            _ => check_tag(&text, tag, self.options.reading).map_err(|error| error.at(at))?,
        }
        let (text, tag) = match self.options.reading {
            Reading::Kustomize => (text, tag),
            Reading::Kubectl => settle(text, style, tag),
        };
        Ok(Node { value: Value::Scalar(text), meta: Meta { span: at, style, tag, ..Meta::default() } })
    }

    fn open(&mut self, value: Value, style: StructureStyle, anchor: usize, place: &EventPlace) -> Result<()> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(too_deep().at(self.span(place)));
        }
        let style = if style == StructureStyle::Flow { Style::Flow } else { Style::Block };
        let mut meta = Meta { span: self.span(place), style, ..Meta::default() };
        // A comment above a list entry that is a map or a list belongs to the entry.
        if self.stack.last().is_some_and(|f| matches!(f.node.value, Value::List(_))) {
            meta.comments = self.head_comments();
        }
        let node = Node { value, meta };
        self.stack.push(Frame { node, anchor, key: None, merges: Vec::new(), seen: FxHashSet::default() });
        Ok(())
    }

    fn close(&mut self, place: &EventPlace) -> Result<()> {
        let Some(mut frame) = self.stack.pop() else { return Ok(()) };
        frame.node.meta.span.end = if frame.node.meta.style == Style::Flow {
            self.span(place).end
        } else {
            match &frame.node.value {
                Value::Map(map) => {
                    map.entries().last().map(|e| e.value.meta.span.end.max(e.key.meta.span.end))
                }
                Value::List(list) => list.last().map(|n| n.meta.span.end),
                Value::Scalar(_) => None,
            }
            .unwrap_or(frame.node.meta.span.end)
            .max(frame.node.meta.span.start)
        };
        if let Value::Map(map) = &mut frame.node.value {
            let own = map.len();
            for (above, merge) in frame.merges {
                let winning = match self.options.reading {
                    Reading::Kustomize => 0..own,
                    Reading::Kubectl => above..own,
                };
                merge_in(map, merge, winning)?;
            }
        }
        self.anchor(frame.anchor, &frame.node);
        self.place(frame.node)
    }

    /// Puts a complete node where it belongs: into the open map or list, or among the documents.
    fn place(&mut self, mut node: Node) -> Result<()> {
        let Some(frame) = self.stack.last_mut() else {
            self.document_complete = true;
            self.documents.push(node);
            return Ok(());
        };
        match &mut frame.node.value {
            Value::List(list) => {
                // Maps and lists got theirs when they began; what is above now belongs to what follows.
                let begins = matches!(node.value, Value::Scalar(_)) || node.meta.aliased;
                if begins && !self.above.is_empty() && node.meta.comments.is_none() {
                    node.meta.comments = head(&mut self.above);
                }
                list.push(node);
                Ok(())
            }
            Value::Map(map) => match frame.key.take() {
                None => {
                    let mut key = key_of(node, self.options)?;
                    key.meta.comments = head(&mut self.above);
                    frame.key = Some(key);
                    Ok(())
                }
                Some(key) if is_merge(&key) => {
                    if self.options.reading == Reading::Kustomize && !frame.merges.is_empty() {
                        return Err(Diagnostic::error(
                            Code::DuplicateKey,
                            "the merge key `<<` stands here twice",
                        )
                        .at(key.meta.span));
                    }
                    frame.merges.push((map.len(), node));
                    Ok(())
                }
                Some(key) => add_field(map, &mut frame.seen, key, node, self.options.duplicate_keys),
            },
            Value::Scalar(_) => Ok(()),
        }
    }

    fn anchor(&mut self, anchor: usize, node: &Node) {
        if anchor != 0 {
            let (nodes, depth) = measure(node);
            self.anchors.insert(anchor, Anchored { node: node.clone(), nodes, depth });
        }
    }

    fn alias(&mut self, id: usize, place: &EventPlace) -> Result<Node> {
        let at = self.span(place);
        let Some(anchored) = self.anchors.get(&id) else {
            return Err(
                Diagnostic::error(Code::Syntax, "an alias stands inside the value that it names").at(at)
            );
        };
        self.aliased += anchored.nodes;
        if self.aliased > MAX_ALIASED {
            let message = format!("the aliases of this text expand to more than {MAX_ALIASED} values");
            return Err(Diagnostic::error(Code::LimitExceeded, message)
                .at(at)
                .help("write the repeated values out, or use fewer levels of aliases"));
        }
        if self.stack.len() + anchored.depth > MAX_DEPTH {
            return Err(too_deep().at(at));
        }
        let mut node = anchored.node.clone();
        node.meta.aliased = true;
        node.meta.span = at;
        node.meta.comments = None;
        Ok(node)
    }

    fn head_comments(&mut self) -> Option<Box<Comments>> {
        head(&mut self.above)
    }

    fn comment(&mut self, text: &str, placement: Placement, place: &EventPlace) {
        let text = smol_str::format_smolstr!("#{text}");
        if placement == Placement::Right && self.line_comment(&text, place.first_line) {
            return;
        }
        self.above.push(text);
    }

    /// Gives a comment to what stands before it on its line.
    fn line_comment(&mut self, text: &SmolStr, line: usize) -> bool {
        if self.last_line != line {
            return false;
        }
        let meta = match self.stack.last_mut() {
            None => self.documents.last_mut().map(|d| &mut d.meta),
            Some(Frame { key: Some(key), .. }) => Some(&mut key.meta),
            Some(frame) => match &mut frame.node.value {
                Value::Map(map) => map.entries_mut().last_mut().map(|e| &mut e.value.meta),
                Value::List(list) => list.last_mut().map(|n| &mut n.meta),
                Value::Scalar(_) => None,
            },
        };
        let Some(meta) = meta else { return false };
        meta.comments.get_or_insert_default().line = Some(text.clone());
        true
    }

    fn foot_comments(&mut self) {
        if let Some(document) = self.documents.last_mut().filter(|_| !self.above.is_empty()) {
            document.meta.comments.get_or_insert_default().foot = std::mem::take(&mut self.above);
        }
    }
}

fn head(above: &mut Vec<SmolStr>) -> Option<Box<Comments>> {
    if above.is_empty() {
        return None;
    }
    Some(Box::new(Comments { head: std::mem::take(above), ..Comments::default() }))
}

fn too_deep() -> Diagnostic {
    let message = format!("maps and lists are nested more than {MAX_DEPTH} levels deep");
    Diagnostic::error(Code::LimitExceeded, message)
}

fn tag_of(tag: &granit_parser::Tag) -> Tag {
    if tag.handle().is_empty() && tag.suffix() == "!" || tag.handle() == "!" && tag.suffix().is_empty() {
        return Tag::Str;
    }
    match tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() {
        Some("str") => Tag::Str,
        Some("int") => Tag::Int,
        Some("float") => Tag::Float,
        Some("bool") => Tag::Bool,
        Some("null") => Tag::Null,
        Some("binary") => Tag::Binary,
        Some("timestamp") => Tag::Timestamp,
        _ => Tag::Other,
    }
}

/// A tag that the text does not fit is an error in go-yaml, and so in kustomize and kubectl.
fn check_tag(text: &str, tag: Tag, reading: Reading) -> Result<()> {
    let resolved = match (reading, tag) {
        (Reading::Kubectl, Tag::Bool) => resolve_1_1(text, Style::Plain, tag),
        _ => resolve(text, Style::Plain, tag),
    };
    let (fits, name) = match (tag, resolved) {
        (Tag::Int, r) => (matches!(r, Resolved::Int(_) | Resolved::UInt(_)), "!!int"),
        (Tag::Float, r) => (matches!(r, Resolved::Float(_)), "!!float"),
        (Tag::Bool, r) => (matches!(r, Resolved::Bool(_)), "!!bool"),
        (Tag::Null, r) => (matches!(r, Resolved::Null), "!!null"),
        (Tag::Timestamp, r) => (matches!(r, Resolved::Timestamp(_)), "!!timestamp"),
        _ => (true, ""),
    };
    if fits {
        return Ok(());
    }
    Err(Diagnostic::error(Code::WrongType, format!("`{text}` cannot be read as {name}")))
}

fn binary(text: &str) -> Result<SmolStr> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(compact)
        .map_err(|_| Diagnostic::error(Code::InvalidValue, "the value of `!!binary` is not base64"))?;
    Ok(String::from_utf8_lossy(&bytes).into())
}

fn is_merge(key: &Key) -> bool {
    key.text == "<<" && key.meta.style == Style::Plain && key.meta.tag == Tag::None
}

fn key_of(mut node: Node, options: ParseOptions) -> Result<Key> {
    let Value::Scalar(mut text) = node.value else {
        return Err(Diagnostic::error(
            Code::WrongType,
            format!("a key must be a string, not {}", node.type_name()),
        )
        .at(node.meta.span));
    };
    let resolved = resolve(&text, node.meta.style, node.meta.tag);
    if matches!(resolved, Resolved::Str(_)) {
        return Ok(Key { text, meta: node.meta });
    }
    match (options.reading, key_text(&text, node.meta.style, node.meta.tag)) {
        (Reading::Kubectl, Some(name)) => (text, node.meta.tag) = (name, Tag::Str),
        (Reading::Kustomize, _) if options.duplicate_keys == DuplicateKeys::LastWins => {}
        _ => {
            let message = format!("the key `{text}` is {}, and keys must be strings", resolved.type_name());
            let help = format!("quote it: \"{text}\"");
            return Err(Diagnostic::error(Code::WrongType, message).at(node.meta.span).help(help));
        }
    }
    Ok(Key { text, meta: node.meta })
}

/// From this many fields on, keys are looked up in a table.
const MANY: usize = 16;

fn add_field(
    map: &mut Map,
    seen: &mut FxHashSet<SmolStr>,
    key: Key,
    value: Node,
    duplicates: DuplicateKeys,
) -> Result<()> {
    let twice = if map.len() < MANY {
        map.contains_key(&key.text)
    } else {
        if seen.is_empty() {
            seen.extend(map.iter().map(|(k, _)| SmolStr::new(k)));
        }
        !seen.insert(key.text.clone())
    };
    if !twice {
        map.push(key, value);
        return Ok(());
    }
    match duplicates {
        DuplicateKeys::LastWins => map.insert(key, value),
        DuplicateKeys::FirstWins => None,
        DuplicateKeys::Deny => return Err(twice_here(map, &key)),
    };
    Ok(())
}

fn twice_here(map: &Map, key: &Key) -> Diagnostic {
    let first = map.entry(&key.text).map_or(Span::default(), |e| e.key.meta.span);
    Diagnostic::error(Code::DuplicateKey, format!("the key `{}` stands here twice", key.text))
        .label(key.meta.span, "again here")
        .label(first, "first here")
        .help("remove one of the two")
}

/// Merges the value of `<<` (a map, or a list of maps of which the first wins) into a map, below its fields of
/// the winning positions.
fn merge_in(map: &mut Map, merge: Node, winning: Range<usize>) -> Result<()> {
    let span = merge.meta.span;
    let wrong = || {
        Diagnostic::error(Code::WrongType, "the value of `<<` must be a map or a list of maps")
            .at(span)
            .help("point the alias at a map")
    };
    let maps = match merge.value {
        Value::Map(one) => vec![one],
        Value::List(list) => list
            .into_iter()
            .map(|n| if let Value::Map(m) = n.value { Ok(m) } else { Err(wrong()) })
            .collect::<Result<_>>()?,
        Value::Scalar(_) => return Err(wrong()),
    };
    // The last map of a list is set first, so that the earlier ones override it in its place.
    for from in maps.into_iter().rev() {
        for Entry { key, mut value } in from {
            value.meta.aliased = true;
            match map.position(&key.text) {
                Some(i) if winning.contains(&i) => {}
                Some(i) => map.entries_mut()[i].value = value,
                None => map.push(key, value),
            }
        }
    }
    Ok(())
}

/// The number of nodes and the depth of a tree.
fn measure(node: &Node) -> (usize, usize) {
    let children: &mut dyn Iterator<Item = &Node> = match &node.value {
        Value::Scalar(_) => return (1, 0),
        Value::Map(map) => &mut map.iter().map(|(_, v)| v),
        Value::List(list) => &mut list.iter(),
    };
    let (nodes, depth) = children.map(measure).fold((0, 0), |(n, d), (cn, cd)| (n + cn, d.max(cd)));
    (nodes + 1, depth + 1)
}

#[cfg(test)]
#[allow(clippy::format_push_string, clippy::format_collect)] // Clearer for made-up texts.
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Node>> {
        read_with(text, ParseOptions::default())
    }

    fn read_with(text: &str, options: ParseOptions) -> Result<Vec<Node>> {
        let sources = SourceMap::default();
        let id = sources.add("t.yaml", text);
        parse_documents(&sources, id, options).map_err(|e| {
            let places: Vec<_> = e.labels().iter().filter_map(|l| sources.describe(l.span)).collect();
            Diagnostic::error(e.code(), format!("{} @ {}", e.message(), places.join(" ")))
        })
    }

    fn one(text: &str) -> Node {
        let mut documents = read(text).expect("valid");
        assert_eq!(documents.len(), 1, "{text}");
        documents.remove(0)
    }

    #[test]
    fn documents_and_empties() {
        assert_eq!(read("").expect("valid").len(), 0);
        assert_eq!(read("# only a comment\n").expect("valid").len(), 0);
        let documents = read("---\na: 1\n---\n# nothing\n---\n- b\n").expect("valid");
        assert_eq!(documents.len(), 3);
        assert!(documents[1].is_null());
        assert_eq!(one("a:\nb: ~\n").get("a").and_then(Node::scalar_text).map(SmolStr::as_str), Some(""));
        assert!(one("\u{feff}a: 1\n").get("a").is_some());
        assert_eq!(one("a: |\n  x").get("a").and_then(Node::as_str), Some("x"));
        assert_eq!(one("a: |\n  x\n").get("a").and_then(Node::as_str), Some("x\n"));
        assert_eq!(one("a: |\r\n  x\r\n  y\r\n").get("a").and_then(Node::as_str), Some("x\ny\n"));
    }

    #[test]
    fn json_is_yaml() {
        let node = one("{\"a\": [1, \"x\\n\u{e9}\", null, true], \"b\": {}}");
        let list = node.get("a").and_then(Node::as_list).expect("a list");
        assert_eq!(list[1].as_str(), Some("x\n\u{e9}"));
        assert!(list[2].is_null());
    }

    #[test]
    fn spans_cover_values() {
        let text = "a:\n- b: cc\n  d: [1, 2]\n";
        let node = one(text);
        let item = &node.get("a").and_then(Node::as_list).expect("list")[0];
        let cut = |n: &Node| &text[n.span().start as usize..n.span().end as usize];
        assert_eq!(cut(item), "b: cc\n  d: [1, 2]");
        assert_eq!(cut(item.get("b").expect("b")), "cc");
        assert_eq!(cut(item.get("d").expect("d")), "[1, 2]");
    }

    #[test]
    fn aliases_and_merge_keys() {
        let node = one("base: &b {x: 1, y: 2}\nother: &o {x: 5, z: 6}\na:\n  <<: [*b, *o]\n  y: 3\nc: *b\n");
        let a = node.get("a").expect("a");
        let fields: Vec<_> = a
            .as_map()
            .expect("map")
            .iter()
            .map(|(k, v)| format!("{k}={}", v.scalar_text().expect("scalar")))
            .collect();
        assert_eq!(fields, ["y=3", "x=1", "z=6"]);
        assert_eq!(node.get("c"), node.get("base"));
        assert_eq!(one("'<<': 1").get("<<").and_then(Node::scalar_text).map(SmolStr::as_str), Some("1"));
    }

    #[test]
    fn errors_have_places() {
        let table = [
            ("a: 1\nb: 2\na: 3\n", Code::DuplicateKey, "@ t.yaml:3:1 t.yaml:1:1"),
            ("1: x\n", Code::WrongType, "the key `1` is an integer"),
            ("? [a]\n: x\n", Code::WrongType, "a key must be a string, not a list"),
            ("a:\n\tb: 1\n", Code::Syntax, "@ t.yaml:2"),
            ("a: [1, 2\nb: 1\n", Code::Syntax, "@ t.yaml:"),
            ("a: *nope\n", Code::Syntax, "@ t.yaml:1"),
            ("a: &x [*x]\n", Code::Syntax, "@ t.yaml:1"),
            ("a: !!int foo\n", Code::WrongType, "`foo` cannot be read as !!int @ t.yaml:1:10"),
            ("a: {<<: 1}\n", Code::WrongType, "`<<` must be a map"),
            ("a: \"b\n", Code::Syntax, "@ t.yaml:"),
        ];
        for (text, code, part) in table {
            let error = read(text).expect_err(text);
            assert_eq!(error.code(), code, "{text:?}: {error}");
            assert!(error.message().contains(part), "{text:?}: {error}");
        }
    }

    #[test]
    fn bounds_hold() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for i in 1..10 {
            let aliases = vec![format!("*a{}", i - 1); 10].join(", ");
            bomb.push_str(&format!("a{i}: &a{i} [{aliases}]\n"));
        }
        assert_eq!(read(&bomb).expect_err("bomb").code(), Code::LimitExceeded);
        assert!(read(&"[".repeat(100_000)).is_err());
        let deep: String = (0..300).map(|i| format!("{}a:\n", " ".repeat(i))).collect();
        assert!(read(&deep).is_err());
        let mut chain = String::from("a0: &a0 [x]\n");
        for i in 1..300 {
            chain.push_str(&format!("a{i}: &a{i} [*a{}]\n", i - 1));
        }
        assert_eq!(read(&chain).expect_err("deep aliases").code(), Code::LimitExceeded);
    }

    #[test]
    fn the_last_of_equal_keys_wins_in_configuration() {
        let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
        let node = read_with("a: 1\na: 2\n3: x\n", options).expect("valid").remove(0);
        assert_eq!(node.get("a"), Some(&Node::int(2)));
        assert!(node.get("3").is_some());
    }

    #[test]
    fn comments_stay_with_their_nodes() {
        let options = ParseOptions { comments: true, ..ParseOptions::default() };
        let text =
            "# top\na: 1 # one\nb: # list\n# first\n- x # ex\n# map\n- y: 1\n# second\n- z: 1\n# end\n";
        let node = read_with(text, options).expect("valid").remove(0);
        let map = node.as_map().expect("map");
        let comments = |m: &Meta| m.comments.clone().unwrap_or_default();
        assert_eq!(comments(&map.entries()[0].key.meta).head, ["# top"]);
        assert_eq!(comments(&map.entries()[0].value.meta).line.as_deref(), Some("# one"));
        assert_eq!(comments(&map.entries()[1].key.meta).line.as_deref(), Some("# list"));
        let list = map.entries()[1].value.as_list().expect("list");
        assert_eq!(comments(&list[0].meta).head, ["# first"]);
        assert_eq!(comments(&list[0].meta).line.as_deref(), Some("# ex"));
        assert_eq!(comments(&list[1].meta).head, ["# map"]);
        assert_eq!(comments(&list[2].meta).head, ["# second"]);
        assert_eq!(comments(&node.meta).foot, ["# end"]);
    }

    #[test]
    fn json_objects_may_follow_each_other_for_kubectl() {
        let text = "{\"a\": 1}\n{\"b\":\n2}{\"c\": [3]}\n";
        assert_eq!(read(text).expect_err("for kustomize").code(), Code::Syntax);
        let documents = read_with(text, ParseOptions::kubectl()).expect("valid");
        let fields: Vec<_> = documents.iter().filter_map(|d| d.as_map()?.iter().next()).collect();
        assert_eq!(fields.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["a", "b", "c"]);
        let cut = |n: &Node| &text[n.span().start as usize..n.span().end as usize];
        assert_eq!(fields.iter().map(|(_, value)| cut(value)).collect::<Vec<_>>(), ["1", "2", "[3]"]);
        let error =
            read_with("{\"a\": 1}\n{\"b\": 1, \"b\": 2}\n", ParseOptions::kubectl()).expect_err("twice");
        assert!(error.message().ends_with("@ t.yaml:2:10 t.yaml:2:2"), "{error}");
    }

    #[test]
    fn bytes_are_decoded() {
        assert_eq!(decode(b"a: 1".to_vec()).expect("utf-8"), "a: 1");
        assert_eq!(decode(vec![0xFF, 0xFE, b'a', 0]).expect("utf-16"), "a");
        let error = decode(b"a\nb\xff".to_vec()).expect_err("not utf-8");
        assert!(error.message().contains("line 2"), "{error}");
    }
}
