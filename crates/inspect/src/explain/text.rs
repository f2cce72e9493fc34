//! Text output of blame: manifests with a comment after each value, and the history of a single value.

use std::fmt::Write as _;
use std::ops::Range;
use std::ptr;

use rayon::prelude::*;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smol_str::SmolStr;

use super::blame::{Blame, BlamedField, BlamedLocation, BlamedRemoval, BlamedWrite, Blamer, ResourceBlame};
use super::live_field::{LiveField, LiveState};
use smp_text::diagnostic::{ColorMode, Result, escaped};
use smp_text::path::with_step;
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, PrintedLeaf, Value, to_yaml_with_leaves};

/// The style of the comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarginStyle {
    /// Colored or plain output.
    pub coloring: ColorMode,
    /// Show or hide removed values after each resource.
    pub removals: Removals,
}

/// Show or hide removed values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Removals {
    /// Hide removed values.
    #[default]
    Hidden,
    /// Show removed values.
    Shown,
}

/// The explanation of the comments.
const LEGEND: &str = "\
# after each value: where it was written, or the step that computed it;
# was: the previous value, and where it was written
";

/// The explanation of the comments about live values.
const LIVE_LEGEND: &str = "\
# live: the value in the cluster, if it differs; managed by: the field managers,
# most recent first
";

/// The maximum width of lines that determine the column of the comments.
const WIDEST: usize = 72;

/// The maximum length of a displayed former value.
const LONGEST: usize = 60;

/// Renders the manifests with comments. The result is valid YAML with the same content.
///
/// # Errors
/// A value cannot be printed.
pub fn blame_to_yaml(blame: &Blame, style: MarginStyle) -> Result<String> {
    let texts = blame.resources.par_iter().map(|one| annotated(one.node.as_ref(), one, style));
    let texts = texts.collect::<Result<Vec<String>>>()?;
    let has_live = blame.resources.iter().any(|resource| resource.live != LiveState::Unknown);
    Ok(parts_of(texts, if has_live { LIVE_LEGEND } else { "" }).concat())
}

/// Renders the same text in parts, one resource at a time, to save memory.
///
/// # Errors
/// A value cannot be printed.
pub fn blame_to_yaml_parts(blamer: &Blamer<'_>, style: MarginStyle) -> Result<Vec<String>> {
    let texts = blamer.each_shown(|node, resource| annotated(node, &resource, style));
    Ok(parts_of(texts.into_iter().collect::<Result<Vec<String>>>()?, ""))
}

/// Joins the texts of resources to the parts of the output.
fn parts_of(texts: Vec<String>, live_legend: &str) -> Vec<String> {
    let mut parts = vec![format!("{LEGEND}{live_legend}")];
    parts.extend(texts);
    if let Some(first) = parts.get_mut(1)
        && first.starts_with(SEPARATOR)
    {
        first.drain(..SEPARATOR.len());
    }
    parts
}

/// The separator before each manifest except the first.
const SEPARATOR: &str = "---\n";

fn annotated(node: Option<&Node>, resource: &ResourceBlame, style: MarginStyle) -> Result<String> {
    let mut out = String::new();
    if let Some(node) = node {
        out.push_str(SEPARATOR);
        annotate(node, resource, style, &mut out)?;
        if resource.live == LiveState::Absent {
            comment_line(&format!("not live: {}", escaped(&resource.id.to_string())), style, &mut out);
        }
    }
    for field in &resource.live_only {
        let (pointer, value, managers) =
            (escaped(&field.pointer), shown(&field.value), listed(&field.managers));
        comment_line(&format!("only live: {pointer} is {value}, managed by {managers}"), style, &mut out);
    }
    if style.removals == Removals::Shown {
        if node.is_none() {
            comment_line(&format!("deleted: {}", escaped(&resource.id.to_string())), style, &mut out);
        }
        for removal in &resource.removed {
            comment_line(&removal_line(removal), style, &mut out);
        }
    }
    Ok(out)
}

/// A printed line and the range of its comment in the text of all comments.
struct MarginLine<'t> {
    text: &'t str,
    width: usize,
    margin: Range<usize>,
}

pub(super) fn annotate(
    node: &Node,
    resource: &ResourceBlame,
    style: MarginStyle,
    out: &mut String,
) -> Result<()> {
    let (text, leaves) = to_yaml_with_leaves(node)?;
    let fields = fields_by_leaf(node, &resource.fields);
    let (mut margins, mut lines) = (String::new(), Vec::with_capacity(leaves.len()));
    let (mut leaves, mut end) = (leaves.iter().peekable(), 0);
    for line in text.split_inclusive('\n') {
        let start = margins.len();
        end += line.len();
        while let Some(leaf) = leaves.next_if(|leaf| end_of_header(leaf, &text) < end) {
            if let Some(field) = fields.get(&ptr::from_ref(leaf.node)) {
                let separator = if margins.len() == start { "" } else { "; " };
                push_margin(field, separator, &mut margins);
            }
        }
        let line = line.trim_end_matches('\n');
        lines.push(MarginLine { text: line, width: line.chars().count(), margin: start..margins.len() });
    }
    let with_margin = lines.iter().filter(|line| !line.margin.is_empty());
    let column =
        with_margin.map(|line| line.width).filter(|width| *width <= WIDEST).max().unwrap_or_default();
    out.reserve(text.len() + margins.len() + lines.len() * column / 2);
    for line in lines {
        out.push_str(line.text);
        if !line.margin.is_empty() {
            let gap = column.saturating_sub(line.width) + 2;
            out.extend(std::iter::repeat_n(' ', gap));
            comment(&margins[line.margin], style, out);
        }
        out.push('\n');
    }
    Ok(())
}

fn comment(text: &str, style: MarginStyle, out: &mut String) {
    match style.coloring {
        ColorMode::Plain => out.extend(["# ", text]),
        ColorMode::Ansi => out.extend(["\u{1b}[2m# ", text, "\u{1b}[0m"]),
    }
}

fn comment_line(text: &str, style: MarginStyle, out: &mut String) {
    comment(text, style, out);
    out.push('\n');
}

/// Returns the byte offset of the line that gets the comment: the line with the end of the value, or with the header of
/// a block scalar.
fn end_of_header(leaf: &PrintedLeaf<'_>, text: &str) -> usize {
    let Range { start, end } = leaf.text;
    if text.as_bytes().get(start) == Some(&b'|') { start } else { end - 1 }
}

/// Maps leaves to their fields. Both are in the order of the manifest. Some fields may be missing.
fn fields_by_leaf<'b>(node: &Node, fields: &'b [BlamedField]) -> FxHashMap<*const Node, &'b BlamedField> {
    let mut by_leaf = FxHashMap::with_capacity_and_hasher(fields.len(), FxBuildHasher);
    let mut fields = fields.iter().peekable();
    each_leaf(node, &mut String::new(), &mut |pointer, leaf| {
        if let Some(field) = fields.next_if(|field| field.pointer == pointer) {
            by_leaf.insert(ptr::from_ref(leaf), field);
        }
    });
    by_leaf
}

pub(super) fn each_leaf(node: &Node, pointer: &mut String, visit: &mut impl FnMut(&str, &Node)) {
    match &node.value {
        Value::Map(map) if !map.is_empty() => {
            for (name, value) in map.iter() {
                with_step(pointer, name, |pointer| each_leaf(value, pointer, visit));
            }
        }
        Value::List(list) if !list.is_empty() => {
            for (i, entry) in list.iter().enumerate() {
                with_step(pointer, &i.to_string(), |pointer| each_leaf(entry, pointer, visit));
            }
        }
        _ => visit(pointer, node),
    }
}

/// Appends the comment for a field.
fn push_margin(field: &BlamedField, separator: &str, out: &mut String) {
    let Some((present, older)) = field.writes.split_first() else {
        if let Some(live) = field.live.as_ref().filter(|live| !live.managers.is_empty()) {
            out.extend([separator, &listed(&live.managers)]);
        }
        return;
    };
    out.push_str(separator);
    push_origin(present, out);
    if let Some(before) = older.first() {
        out.extend(["  was ", &shown(&before.value), " "]);
        push_origin(before, out);
    }
    if let Some(live) = field.live.as_ref().filter(|live| live.differs || !live.managers.is_empty()) {
        out.push_str("  ");
        out.push_str(&live_words(live));
    }
}

/// Describes the live value of a field if it differs, and its managers.
fn live_words(live: &LiveField) -> String {
    let managers = || match live.managers.as_slice() {
        [] => "no field manager".to_string(),
        names => format!("managed by {}", listed(names)),
    };
    match &live.value {
        None => "not live".to_string(),
        Some(value) if live.differs => format!("live {}, {}", shown(value), managers()),
        Some(_) => managers(),
    }
}

fn listed(names: &[SmolStr]) -> String {
    names.iter().map(|name| escaped(name).into_owned()).collect::<Vec<_>>().join(", ")
}

/// Appends the location of a value, or the step that computed it.
fn push_origin(write: &BlamedWrite, out: &mut String) {
    match &write.at {
        Some(at) => push_location(at, out),
        None => out.push_str(&escaped(&write.by)),
    }
}

fn origin(write: &BlamedWrite) -> String {
    let mut out = String::new();
    push_origin(write, &mut out);
    out
}

fn push_location(location: &BlamedLocation, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{}:{}:{}", location.file, location.line, location.column);
}

fn location(location: &BlamedLocation) -> String {
    let mut out = String::new();
    push_location(location, &mut out);
    out
}

/// Renders a value on one line.
fn shown(value: &Node) -> String {
    let text = match &value.value {
        Value::Scalar(text) => text.to_string(),
        Value::Map(_) => "{}".to_string(),
        Value::List(_) => "[]".to_string(),
    };
    let text = text.replace('\n', "\\n");
    let text = escaped(&text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None if text.is_empty() => "\"\"".to_string(),
        None => text.into_owned(),
    }
}

fn removal_line(removal: &BlamedRemoval) -> String {
    let by = by(&removal.by, removal.caused_at.as_ref());
    let (pointer, value) = (escaped(&removal.pointer), shown(&removal.last.value));
    format!("removed by {by}: {pointer} was {value} {}", origin(&removal.last))
}

fn by(name: &str, asked_at: Option<&BlamedLocation>) -> String {
    match asked_at {
        Some(at) => format!("{} {}", escaped(name), location(at)),
        None => escaped(name).into_owned(),
    }
}

/// Renders the history of a value, the latest write first, with the source line of each write.
#[must_use]
pub fn blame_of_field(field: &BlamedField, sources: &SourceMap) -> String {
    let mut out = format!("{}\n", escaped(&field.pointer));
    for (i, write) in field.writes.iter().enumerate() {
        push_write(if i == 0 { "is" } else { "was" }, write, sources, &mut out);
    }
    if let Some(live) = &field.live {
        let _ = writeln!(out, "  {}", live_words(live));
    }
    out
}

/// Renders the history of a removed value.
#[must_use]
pub fn blame_of_removal(removal: &BlamedRemoval, sources: &SourceMap) -> String {
    let mut out = format!("{}\n", escaped(&removal.pointer));
    let _ = writeln!(out, "  removed by {}", by(&removal.by, removal.caused_at.as_ref()));
    push_write("was", &removal.last, sources, &mut out);
    out
}

/// Appends a value, its location and the step that wrote it.
fn push_write(word: &str, write: &BlamedWrite, sources: &SourceMap, out: &mut String) {
    let _ = writeln!(out, "  {word} {}", shown(&write.value));
    match &write.at {
        Some(at) => {
            let _ = writeln!(out, "     at {}", location(at));
            if let Some(line) = line_at(at, sources) {
                let _ = writeln!(out, "        {} | {}", at.line, escaped(&line));
            }
        }
        None => out.push_str("     computed\n"),
    }
    let _ = writeln!(out, "     by {}", by(&write.by, write.caused_at.as_ref()));
}

/// Returns the source line at a location, unless it may contain secrets.
fn line_at(at: &BlamedLocation, sources: &SourceMap) -> Option<String> {
    let span = sources.outermost(at.span);
    let source = sources.get(span.source)?;
    source.may_show(at.line).then(|| source.line(at.line).to_string())
}
