//! Detects the style of a document: its layout, its line breaks, and if it is JSON.

use granit_parser::StructureStyle;

use super::flow_writer::FlowWriter;
use super::fragment::Layout;
use super::lines::{column, indentation_before, line_end};
use super::outline::{DocumentOutline, ValueKind, ValueOutline};
use crate::source::Reading;
use crate::yaml::events::BOM;

/// The style for all edits of a document.
pub(super) struct DocumentStyle {
    pub layout: Layout,
    /// The style of brackets if the document is JSON.
    pub json: Option<FlowWriter>,
    pub line_break: &'static str,
}

impl DocumentStyle {
    pub fn detect(text: &str, document: &DocumentOutline, layout: Layout) -> Self {
        let reading = layout.reading;
        Self {
            layout: self::detect_layout(text, document, reading).unwrap_or(layout),
            json: document.root.as_ref().and_then(|root| json(text, document, root, reading)),
            line_break: detect_line_break(text),
        }
    }
}

/// Returns the line break of a text.
pub(super) fn detect_line_break(text: &str) -> &'static str {
    let end = line_end(text, 0);
    if text[end..].starts_with('\r') { "\r\n" } else { "\n" }
}

/// Returns the style of brackets if the document is JSON.
fn json(text: &str, document: &DocumentOutline, root: &ValueOutline, reading: Reading) -> Option<FlowWriter> {
    let first = match &root.kind {
        ValueKind::Map { style: StructureStyle::Flow, fields } => fields.first()?.start,
        ValueKind::List { style: StructureStyle::Flow, entries } => entries.first()?.start,
        // An empty map is both JSON and YAML.
        _ => return None,
    };
    let content = text[document.content.clone()].trim_start_matches(BOM);
    serde_json::from_str::<serde::de::IgnoredAny>(content).ok()?;
    let tight = is_tight(text, root).unwrap_or(false);
    let step = indentation_before(text, first).filter(|_| text[root.start..first].contains('\n'));
    Some(FlowWriter {
        is_json: true,
        is_quoted: true,
        is_compact: tight,
        step: step.map(str::to_string),
        reading,
    })
}

/// Returns true if no space follows the first `:` or `,` of JSON, or `None` if there is neither.
fn is_tight(text: &str, part: &ValueOutline) -> Option<bool> {
    let tight = |at: usize| !text[at..].starts_with([' ', '\n', '\r', '\t']);
    match &part.kind {
        ValueKind::Map { fields, .. } => fields.first().map(|f| tight(f.value_start)),
        ValueKind::List { entries, .. } => {
            let first = entries.first()?;
            is_tight(text, &first.value).or_else(|| first.comma.map(|comma| tight(comma + 1)))
        }
        _ => None,
    }
}

/// Returns the layout of the first nested map and the first list of a document, or `None` if there is neither.
pub(super) fn detect_layout(text: &str, document: &DocumentOutline, reading: Reading) -> Option<Layout> {
    let found = steps(text, document.root.as_ref()?, None);
    if found == IndentSteps::default() {
        return None;
    }
    let default = Layout::new(reading);
    let (indent, dash) = (found.indent.unwrap_or(default.indent), found.dash.unwrap_or(default.dash));
    Some(Layout { indent, dash, reading })
}

/// The indentation steps of the first nested map and the first list, if there are any.
#[derive(Default, PartialEq, Eq)]
struct IndentSteps {
    indent: Option<usize>,
    dash: Option<usize>,
}

impl IndentSteps {
    /// Adds the steps of nested values, in order, until both are known.
    fn or_below<'p>(
        self,
        text: &str,
        parts: impl Iterator<Item = &'p ValueOutline>,
        parent: Option<usize>,
    ) -> Self {
        let mut found = self;
        for part in parts {
            if found.indent.is_some() && found.dash.is_some() {
                break;
            }
            let below = steps(text, part, parent);
            found = Self { indent: found.indent.or(below.indent), dash: found.dash.or(below.dash) };
        }
        found
    }
}

/// Returns the steps of a value. `parent` is the column of the field that contains it, if any.
fn steps(text: &str, part: &ValueOutline, parent: Option<usize>) -> IndentSteps {
    match &part.kind {
        ValueKind::Map { style: StructureStyle::Block, fields } => {
            let own = fields.first().map_or(0, |f| column(text, f.start));
            let indent = parent.and_then(|p| own.checked_sub(p)).filter(|&step| step > 0);
            let found = IndentSteps { indent, dash: None };
            found.or_below(text, fields.iter().map(|f| &f.value), Some(own))
        }
        ValueKind::List { style: StructureStyle::Block, entries } => {
            let own = entries.first().map_or(0, |e| column(text, e.start));
            let found = IndentSteps { indent: None, dash: parent.and_then(|p| own.checked_sub(p)) };
            found.or_below(text, entries.iter().map(|e| &e.value), None)
        }
        _ => IndentSteps::default(),
    }
}
