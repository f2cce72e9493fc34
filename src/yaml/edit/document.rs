//! The edit of one document, its check, and the way out: writing it whole.

use std::borrow::Cow;
use std::ops::Deref;

use super::brackets::Brackets;
use super::fragment::Layout;
use super::lines::{column, lead, line_end, next_content};
use super::outline::{Document, Kind, Part};
use super::same::is_same;
use super::value::Editor;
use super::{Edit, apply};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::{Reading, SourceMap};
use crate::yaml::events::BOM;
use crate::yaml::node::{Node, Style, Value};
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
    /// Edits the document `document` of `text`. The layout is for documents that show none.
    pub fn new(
        text: &'t str,
        document: &Document,
        before: &Node,
        after: &Node,
        layout: Layout,
    ) -> Result<Self> {
        let own = &text[document.range.clone()];
        if is_same(before, after) {
            return Ok(Self(own.into()));
        }
        let style = DocumentStyle::of(text, document, layout);
        let mut expand = Vec::new();
        while let Some(root) = &document.root {
            let mut editor = Editor::new(text, document, &style, &expand);
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
            // Values are written out where their anchors changed or vanished, in one more try.
            if !expand.is_empty() || more.is_empty() {
                break;
            }
            expand = more;
        }
        let whole = write_whole(text, document, before, after, &style);
        if reads_as(&whole, layout.reading, after) {
            return Ok(Self(whole.into()));
        }
        Err(Diagnostic::error(Code::InvalidValue, "the changed document cannot be written as YAML")
            .at(before.span().at_start()))
    }
}

/// What all edits of a document have in common.
pub(super) struct DocumentStyle {
    pub layout: Layout,
    /// How brackets are written when the document is JSON.
    pub json: Option<Brackets>,
    pub line_break: &'static str,
}

impl DocumentStyle {
    fn of(text: &str, document: &Document, layout: Layout) -> Self {
        let json = document.root.as_ref().and_then(|root| json(text, document, root));
        Self {
            layout: self::layout(text, document, layout.reading).unwrap_or(layout),
            json: json.map(|(step, tight)| Brackets {
                json: true,
                quoted: true,
                tight,
                step,
                ..Brackets::new(layout.reading)
            }),
            line_break: line_break(text),
        }
    }

    /// How new text between brackets is written; strings in quotes if those around it are.
    pub fn brackets(&self, quoted: bool) -> Brackets {
        self.json.clone().unwrap_or(Brackets { quoted, ..Brackets::new(self.layout.reading) })
    }
}

/// The line break of a text.
pub(super) fn line_break(text: &str) -> &'static str {
    let end = line_end(text, 0);
    if text[end..].starts_with('\r') { "\r\n" } else { "\n" }
}

/// The step of indentation of a document that is JSON, and whether nothing stands behind its `:` and `,`.
fn json(text: &str, document: &Document, root: &Part) -> Option<(Option<String>, bool)> {
    let first = match &root.kind {
        Kind::Map { flow: true, fields } => fields.first()?.start,
        Kind::List { flow: true, items } => items.first()?.start,
        // Nobody can tell of an empty map whether it is JSON.
        _ => return None,
    };
    let content = text[document.content.clone()].trim_start_matches(BOM);
    serde_json::from_str::<serde::de::IgnoredAny>(content).ok()?;
    let tight = is_tight(text, root).unwrap_or(false);
    let step = lead(text, first).filter(|_| text[root.start..first].contains('\n'));
    Some((step.map(str::to_string), tight))
}

/// Whether no space follows the first `:` or `,` of JSON; none when it has neither.
fn is_tight(text: &str, part: &Part) -> Option<bool> {
    let tight = |at: usize| !text[at..].starts_with([' ', '\n', '\r', '\t']);
    match &part.kind {
        Kind::Map { fields, .. } => fields.first().map(|f| tight(f.from)),
        Kind::List { items, .. } => {
            let first = items.first()?;
            is_tight(text, &first.value).or_else(|| first.comma.map(|comma| tight(comma + 1)))
        }
        _ => None,
    }
}

/// The layout of the first nested map and the first list of a document; none when it has neither.
pub(super) fn layout(text: &str, document: &Document, reading: Reading) -> Option<Layout> {
    let mut found = (None, None);
    find_layout(text, document.root.as_ref()?, None, &mut found);
    if found == (None, None) {
        return None;
    }
    let default = Layout::new(reading);
    let (indent, dash) = (found.0.unwrap_or(default.indent), found.1.unwrap_or(default.dash));
    Some(Layout { indent, dash, reading })
}

fn find_layout(text: &str, part: &Part, parent: Option<usize>, found: &mut (Option<usize>, Option<usize>)) {
    if found.0.is_some() && found.1.is_some() {
        return;
    }
    match &part.kind {
        Kind::Map { flow: false, fields } => {
            let own = fields.first().map_or(0, |f| column(text, f.start));
            if let Some(step) = parent.and_then(|p| own.checked_sub(p)).filter(|&s| s > 0) {
                found.0.get_or_insert(step);
            }
            for field in fields {
                find_layout(text, &field.value, Some(own), found);
            }
        }
        Kind::List { flow: false, items } => {
            let own = items.first().map_or(0, |i| column(text, i.start));
            if let Some(step) = parent.and_then(|p| own.checked_sub(p)) {
                found.1.get_or_insert(step);
            }
            for item in items {
                find_layout(text, &item.value, None, found);
            }
        }
        _ => {}
    }
}

/// The aliases whose anchors stand in edited places, and those that are suspect anyway, in order.
fn aliases_to_expand(text: &str, document: &Document, edits: &[Edit], suspects: Vec<usize>) -> Vec<usize> {
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
    document: &Document,
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

/// A map or list that was empty, and therefore stood in brackets, needs them no more.
pub(super) fn as_block(before: &Node, after: &Node) -> Node {
    let mut after = after.clone();
    let was_empty = match &before.value {
        Value::Map(map) => map.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Scalar(_) => false,
    };
    if was_empty && after.meta.style == Style::Flow && after.span() == before.span() {
        after.meta.style = Style::Block;
    }
    after
}

/// Whether a text is one document with the wanted tree.
fn reads_as(text: &str, reading: Reading, wanted: &Node) -> bool {
    let sources = SourceMap::default();
    let id = sources.add("", text);
    let read = parse_documents(&sources, id, ParseOptions { reading, ..ParseOptions::default() });
    read.is_ok_and(|documents| matches!(documents.as_slice(), [one] if one == wanted))
}
