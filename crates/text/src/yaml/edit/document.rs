//! Edits one document, verifies the result, and rewrites the document as a fallback.

use std::borrow::Cow;
use std::ops::Deref;

use super::compare::is_unchanged;
use super::fragment::{Layout, as_block};
use super::lines::{line_start, next_content};
use super::outline::{DocumentOutline, ValueKind};
use super::splice::{Edit, apply_edits};
use super::style::DocumentStyle;
use super::value::{Aliases, Editor};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::{Reading, SourceMap};
use crate::yaml::node::{Map, Node, Value};
use crate::yaml::parse::{ParseOptions, parse_documents};

/// The text of a document, from its directives or `---` to the next document.
pub(super) struct EditedDocument<'t>(Cow<'t, str>);

impl Deref for EditedDocument<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'t> EditedDocument<'t> {
    /// Returns true if the document has its original text.
    pub fn is_unchanged(&self) -> bool {
        matches!(self.0, Cow::Borrowed(_))
    }

    /// Edits a document of `text`. `layout` is used if the layout cannot be detected in the document.
    pub fn new(
        text: &'t str,
        document: &DocumentOutline,
        before: &Node,
        after: &Node,
        layout: Layout,
    ) -> Result<Self> {
        let own = &text[document.range.clone()];
        if is_unchanged(before, after) {
            return Ok(Self(own.into()));
        }
        let style = DocumentStyle::detect(text, document, layout);
        let (mut aliases, mut expand) = (Aliases::Kept, Vec::new());
        while let Some(root) = &document.root {
            let mut editor = Editor::new(text, document, &style, (aliases, &expand));
            if !editor.edit_root(root, before, after) {
                break;
            }
            let (edits, merges_to_check) = editor.finish();
            let more = aliases_to_expand(text, document, &edits, merges_to_check);
            let mut edited = apply_edits(own, document.range.start, edits);
            if reads_as(&edited, layout.reading, after) {
                return Ok(Self(edited.into()));
            }
            if !edited.ends_with('\n') {
                // A new block scalar may need a line break that is missing at the end of the file.
                edited.push_str(style.line_break);
                if reads_as(&edited, layout.reading, after) {
                    return Ok(Self(edited.into()));
                }
            }
            // Aliases whose anchors changed or disappeared are expanded: first only these, then all aliases.
            if expand.is_empty() && !more.is_empty() {
                expand = more;
            } else if !expand.is_empty() && aliases == Aliases::Kept {
                aliases = Aliases::Expanded;
            } else {
                break;
            }
        }
        let whole = write_whole(text, document, before, after, &style);
        if reads_as(&whole, layout.reading, after) {
            return Ok(Self(whole.into()));
        }
        Err(write_error(before, after, layout))
    }
}

/// Returns the positions to expand, in order: aliases whose anchors are in edited ranges, and the values of `<<` in
/// `merges_to_check`.
fn aliases_to_expand(
    text: &str,
    document: &DocumentOutline,
    edits: &[Edit],
    merges_to_check: Vec<usize>,
) -> Vec<usize> {
    let mut ranges: Vec<_> = edits.iter().map(|e| (e.start, e.end)).collect();
    ranges.sort_unstable();
    let touched = |id: &usize| {
        document.anchors.get(id).is_some_and(|anchored| {
            let first = ranges.partition_point(|&(_, end)| end < anchored.start);
            // Text that is appended to a value is below it.
            let end = next_content(text, anchored.end);
            ranges.get(first).is_some_and(|&(start, _)| start <= end)
        })
    };
    let aliases = document.aliases.iter().filter(|(_, id)| touched(id)).map(|(at, _)| *at);
    let mut expand: Vec<_> = aliases.chain(merges_to_check).collect();
    expand.sort_unstable();
    expand
}

/// Rewrites a document. The text before its `---` and after its `...` is kept, and so are the comments above the first
/// field.
fn write_whole(
    text: &str,
    document: &DocumentOutline,
    before: &Node,
    after: &Node,
    style: &DocumentStyle,
) -> String {
    let is_map = style.json.is_none() && after.as_map().is_some_and(|map| !map.is_empty());
    let above = comments_above_root(text, document).filter(|_| is_map);
    let body = if let Some(brackets) = &style.json {
        brackets.write(after, "") + "\n"
    } else {
        let mut after = as_block(before, after);
        if let Some(above) = above {
            let lines = above.lines().filter(|line| line.contains('#')).count();
            remove_first_comments(before, &mut after, lines);
        }
        style.layout.document(&after)
    };
    let mut out = text[document.range.start..document.content.start].to_string();
    match above {
        Some(above) if above.ends_with('\n') => out.push_str(above),
        Some(above) => out.extend([above, style.line_break]),
        None if document.has_separator => out.push_str(style.line_break),
        None => {}
    }
    out.push_str(&body.replace('\n', style.line_break));
    out.push_str(&text[document.content.end..document.range.end]);
    out
}

/// Returns the lines above the first field of a block map, if they contain comments. For a document without a value,
/// returns all lines. The comment after `---` is included.
fn comments_above_root<'t>(text: &'t str, document: &DocumentOutline) -> Option<&'t str> {
    let root = document.root.as_ref()?;
    if root.is_absent() {
        return text.get(document.content.clone()).filter(|all| all.contains('#'));
    }
    if !matches!(root.kind, ValueKind::Map { .. }) {
        return None;
    }
    let first = root.first_start().unwrap_or(root.start);
    text.get(document.content.start..line_start(text, first)).filter(|above| above.contains('#'))
}

/// Removes the comments above the first field of `before` from `after`. They have `above` lines.
fn remove_first_comments(before: &Node, after: &mut Node, above: usize) {
    if before.is_null() && before.meta.comments == after.meta.comments {
        after.meta.comments = None;
    }
    if before.is_empty_collection()
        && let Some(comments) = &mut after.meta.comments
    {
        // The parser treats comments above an empty map as comments below it.
        comments.foot.drain(..above.min(comments.foot.len()));
    }
    let Some(first) = before.as_map().and_then(|map| map.entries().first()).map(|entry| &entry.key.meta)
    else {
        return;
    };
    let Some(head) = first.comments.as_ref().map(|comments| &comments.head) else { return };
    for (i, entry) in after.as_map_mut().into_iter().flat_map(Map::entries_mut).enumerate() {
        let is_same = !first.span.is_none() && entry.key.meta.span == first.span;
        if let Some(comments) = &mut entry.key.meta.comments
            && (is_same || i == 0 && comments.head == *head)
        {
            comments.head.clear();
        }
    }
}

fn write_error(before: &Node, after: &Node, layout: Layout) -> Diagnostic {
    let error = Diagnostic::error(Code::InvalidValue, "the changed document cannot be represented in YAML");
    let error = error.at(before.span().at_start());
    find_unwritable(after, layout)
        .iter()
        .fold(error, |error, field| error.field(field.trim_start_matches('.')))
}

/// Returns the path of the first field or entry that changes when it is written alone and parsed again.
fn find_unwritable(node: &Node, layout: Layout) -> Option<String> {
    let is_lost = |single: Map| {
        let single = Node::map(single);
        !reads_as(&layout.document(&single), layout.reading, &single)
    };
    let below = |step: String, node: &Node| find_unwritable(node, layout).map(|rest| step + &rest);
    match &node.value {
        Value::Scalar(_) => is_lost(Map::from_iter([("value", node.clone())])).then(String::new),
        Value::List(list) => list.iter().enumerate().find_map(|(i, node)| below(format!("[{i}]"), node)),
        Value::Map(map) => map.entries().iter().find_map(|entry| {
            let name = entry.key.text.clone();
            let step = if name.contains('.') { format!("[{name:?}]") } else { format!(".{name}") };
            if is_lost(Map::from_iter([(name, Node::null())])) {
                Some(step)
            } else {
                below(step, &entry.value)
            }
        }),
    }
}

/// Returns true if the text is a single document that parses to `expected`.
fn reads_as(text: &str, reading: Reading, expected: &Node) -> bool {
    let sources = SourceMap::default();
    let id = sources.add("", text);
    let read = parse_documents(&sources, id, ParseOptions { reading, ..ParseOptions::default() });
    read.is_ok_and(|documents| matches!(documents.as_slice(), [one] if one == expected))
}
