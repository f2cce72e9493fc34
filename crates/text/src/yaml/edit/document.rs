//! The edit of one document, its check, and the way out: writing it whole.

use std::borrow::Cow;
use std::ops::Deref;

use super::fragment::{Layout, as_block};
use super::lines::next_content;
use super::outline::DocumentOutline;
use super::same::is_same;
use super::splice::{Edit, apply};
use super::style::DocumentStyle;
use super::value::{Aliases, Editor};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::{Reading, SourceMap};
use crate::yaml::node::{Map, Node, Value};
use crate::yaml::parse::{ParseOptions, parse_documents};

/// The text of a document, from its directives or `---` to the next document.
pub(super) struct Edited<'t>(Cow<'t, str>);

impl Deref for Edited<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'t> Edited<'t> {
    /// Returns true if the document has its original text.
    pub fn is_unchanged(&self) -> bool {
        matches!(self.0, Cow::Borrowed(_))
    }

    /// Edits the document `document` of `text`. The layout is for documents that show none.
    pub fn new(
        text: &'t str,
        document: &DocumentOutline,
        before: &Node,
        after: &Node,
        layout: Layout,
    ) -> Result<Self> {
        let own = &text[document.range.clone()];
        if is_same(before, after) {
            return Ok(Self(own.into()));
        }
        let style = DocumentStyle::of(text, document, layout);
        let (mut aliases, mut expand) = (Aliases::Kept, Vec::new());
        while let Some(root) = &document.root {
            let mut editor = Editor::new(text, document, &style, (aliases, &expand));
            if !editor.root(root, before, after) {
                break;
            }
            let (edits, suspects) = editor.finish();
            let more = aliases_to_expand(text, document, &edits, suspects);
            let mut edited = apply(own, document.range.start, edits);
            if reads_as(&edited, layout.reading, after) {
                return Ok(Self(edited.into()));
            }
            if !edited.ends_with('\n') {
                // New text in lines may need the line break that the file does without.
                edited.push_str(style.line_break);
                if reads_as(&edited, layout.reading, after) {
                    return Ok(Self(edited.into()));
                }
            }
            // Values are written out where their anchors changed or vanished: those that must be, and then all.
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
        Err(cannot_be_written(before, after, layout))
    }
}

/// The aliases whose anchors stand in edited places, and those that are suspect anyway, in order.
fn aliases_to_expand(
    text: &str,
    document: &DocumentOutline,
    edits: &[Edit],
    suspects: Vec<usize>,
) -> Vec<usize> {
    let mut ranges: Vec<_> = edits.iter().map(|e| (e.start, e.end)).collect();
    ranges.sort_unstable();
    let touched = |id: &usize| {
        document.anchors.get(id).is_some_and(|anchored| {
            let first = ranges.partition_point(|&(_, end)| end < anchored.start);
            // What is added to a value stands below it.
            let end = next_content(text, anchored.end);
            ranges.get(first).is_some_and(|&(start, _)| start <= end)
        })
    };
    let aliases = document.aliases.iter().filter(|(_, id)| touched(id)).map(|(at, _)| *at);
    let mut expand: Vec<_> = aliases.chain(suspects).collect();
    expand.sort_unstable();
    expand
}

/// A document written anew. What stands before its `---` and behind its `...` is kept.
fn write_whole(
    text: &str,
    document: &DocumentOutline,
    before: &Node,
    after: &Node,
    style: &DocumentStyle,
) -> String {
    let body = match &style.json {
        Some(brackets) => brackets.write(after, "") + "\n",
        None => style.layout.document(&as_block(before, after)),
    };
    let mut out = text[document.range.start..document.content.start].to_string();
    if document.marked {
        out.push_str(style.line_break);
    }
    out.push_str(&body.replace('\n', style.line_break));
    out.push_str(&text[document.content.end..document.range.end]);
    out
}

fn cannot_be_written(before: &Node, after: &Node, layout: Layout) -> Diagnostic {
    let error = Diagnostic::error(Code::InvalidValue, "the changed document cannot be written as YAML");
    let error = error.at(before.span().at_start());
    unwritable(after, layout).iter().fold(error, |error, field| error.field(field.trim_start_matches('.')))
}

/// The first field or entry that is read as something else than it was, once it is written alone: where it stands in
/// the tree, as messages have it.
fn unwritable(node: &Node, layout: Layout) -> Option<String> {
    let is_lost = |alone: Map| {
        let alone = Node::map(alone);
        !reads_as(&layout.document(&alone), layout.reading, &alone)
    };
    let below = |step: String, node: &Node| unwritable(node, layout).map(|rest| step + &rest);
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

/// Whether a text is one document with the wanted tree.
fn reads_as(text: &str, reading: Reading, wanted: &Node) -> bool {
    let sources = SourceMap::default();
    let id = sources.add("", text);
    let read = parse_documents(&sources, id, ParseOptions { reading, ..ParseOptions::default() });
    read.is_ok_and(|documents| matches!(documents.as_slice(), [one] if one == wanted))
}
