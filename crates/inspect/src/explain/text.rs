//! Blame for people: the manifests with a comment in the margin of each value, and the whole story of one.

use std::fmt::Write as _;
use std::ops::Range;
use std::ptr;

use rayon::prelude::*;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smol_str::SmolStr;

use super::blame::{Blame, BlamedField, BlamedPlace, BlamedRemoval, BlamedWrite, Blamer, ResourceBlame};
use super::live_field::{LiveField, LiveState};
use smp_text::diagnostic::{Coloring, Result, escaped};
use smp_text::path::below;
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, PrintedLeaf, Value, to_yaml_with_leaves};

/// How margins look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarginStyle {
    /// Whether they have a colour.
    pub coloring: Coloring,
    /// Whether what was removed is told behind each resource.
    pub removals: Removals,
}

/// Whether removed values are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Removals {
    /// They are not.
    #[default]
    Untold,
    /// They are.
    Told,
}

/// What the comments mean.
const LEGEND: &str = "\
# behind each value: where it was written, or what computed it;
# was: the value before, and where that was written
";

/// What they mean of a cluster.
const LIVE_LEGEND: &str = "\
# live: the value in the cluster, where that is another one; managed by: who set it there,
# the latest to change something first
";

/// Lines that are longer do not move the margin of others.
const WIDEST: usize = 72;

/// How much of an older value is told.
const LONGEST: usize = 60;

/// The manifests as they are printed, with comments: valid YAML that says the same.
///
/// # Errors
/// A value that cannot be printed.
pub fn blame_to_yaml(blame: &Blame, style: MarginStyle) -> Result<String> {
    let texts = blame.resources.par_iter().map(|one| told(one.node.as_ref(), one, style));
    let texts = texts.collect::<Result<Vec<String>>>()?;
    let has_live = blame.resources.iter().any(|resource| resource.live != LiveState::Unasked);
    Ok(parts_of(texts, if has_live { LIVE_LEGEND } else { "" }).concat())
}

/// The same text of all that was built, in parts, for which less memory is needed.
///
/// # Errors
/// A value that cannot be printed.
pub fn blamed_yaml(blamer: &Blamer<'_>, style: MarginStyle) -> Result<Vec<String>> {
    let texts = blamer.each(|node, resource| told(node, &resource, style));
    Ok(parts_of(texts.into_iter().collect::<Result<Vec<String>>>()?, ""))
}

/// The parts of a text, of what is told of each resource.
fn parts_of(told: Vec<String>, live_legend: &str) -> Vec<String> {
    let mut parts = vec![format!("{LEGEND}{live_legend}")];
    parts.extend(told);
    if let Some(first) = parts.get_mut(1)
        && first.starts_with(SEPARATOR)
    {
        first.drain(..SEPARATOR.len());
    }
    parts
}

/// What stands before each manifest but the first.
const SEPARATOR: &str = "---\n";

fn told(node: Option<&Node>, resource: &ResourceBlame, style: MarginStyle) -> Result<String> {
    let mut out = String::new();
    if let Some(node) = node {
        out.push_str(SEPARATOR);
        annotated(node, resource, style, &mut out)?;
        if resource.live == LiveState::Absent {
            comment_line(&format!("not live: {}", escaped(&resource.id.to_string())), style, &mut out);
        }
    }
    for field in &resource.unbuilt {
        let (pointer, value, managers) =
            (escaped(&field.pointer), shown(&field.value), listed(&field.managers));
        comment_line(&format!("only live: {pointer} is {value}, managed by {managers}"), style, &mut out);
    }
    if style.removals == Removals::Told {
        if node.is_none() {
            comment_line(&format!("deleted: {}", escaped(&resource.id.to_string())), style, &mut out);
        }
        for removal in &resource.removed {
            comment_line(&removal_line(removal), style, &mut out);
        }
    }
    Ok(out)
}

/// A printed line, and which part of all margins is its own.
struct MarginLine<'t> {
    text: &'t str,
    width: usize,
    margin: Range<usize>,
}

fn annotated(node: &Node, resource: &ResourceBlame, style: MarginStyle, out: &mut String) -> Result<()> {
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
        Coloring::Plain => out.extend(["# ", text]),
        Coloring::Ansi => out.extend(["\u{1b}[2m# ", text, "\u{1b}[0m"]),
    }
}

fn comment_line(text: &str, style: MarginStyle, out: &mut String) {
    comment(text, style, out);
    out.push('\n');
}

/// The byte in whose line a comment may stand: that of the break behind a value, or, for texts in lines of their own,
/// of what announces them.
fn end_of_header(leaf: &PrintedLeaf<'_>, text: &str) -> usize {
    let Range { start, end } = leaf.text;
    if text.as_bytes().get(start) == Some(&b'|') { start } else { end - 1 }
}

/// The fields by the leaves that they are about. They stand in the order of the manifest; some may be left out.
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

fn each_leaf(node: &Node, pointer: &mut String, tell: &mut impl FnMut(&str, &Node)) {
    match &node.value {
        Value::Map(map) if !map.is_empty() => {
            for (name, value) in map.iter() {
                below(pointer, name, |pointer| each_leaf(value, pointer, tell));
            }
        }
        Value::List(list) if !list.is_empty() => {
            for (i, entry) in list.iter().enumerate() {
                below(pointer, &i.to_string(), |pointer| each_leaf(entry, pointer, tell));
            }
        }
        _ => tell(pointer, node),
    }
}

/// Appends what is told of a value in the margin.
fn push_margin(field: &BlamedField, separator: &str, out: &mut String) {
    let Some((present, older)) = field.writes.split_first() else { return };
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

/// What a cluster has of a value: what it is there, if that is something else, and who manages it.
fn live_words(live: &LiveField) -> String {
    let managers = || match live.managers.as_slice() {
        [] => "managed by nobody".to_string(),
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

/// Where a value was written; of what was computed, what did.
fn push_origin(write: &BlamedWrite, out: &mut String) {
    match &write.at {
        Some(at) => push_place(at, out),
        None => out.push_str(&escaped(&write.by)),
    }
}

fn origin(write: &BlamedWrite) -> String {
    let mut out = String::new();
    push_origin(write, &mut out);
    out
}

fn push_place(place: &BlamedPlace, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{}:{}:{}", place.file, place.line, place.column);
}

fn place(place: &BlamedPlace) -> String {
    let mut out = String::new();
    push_place(place, &mut out);
    out
}

/// A value on one line.
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
    let by = by(&removal.by, removal.asked_at.as_ref());
    let (pointer, value) = (escaped(&removal.pointer), shown(&removal.last.value));
    format!("removed by {by}: {pointer} was {value} {}", origin(&removal.last))
}

fn by(name: &str, asked_at: Option<&BlamedPlace>) -> String {
    match asked_at {
        Some(at) => format!("{} {}", escaped(name), place(at)),
        None => escaped(name).into_owned(),
    }
}

/// The whole story of one value, the present one first, each with the line that it stands in.
#[must_use]
pub fn blame_of_field(field: &BlamedField, sources: &SourceMap) -> String {
    let mut out = format!("{}\n", escaped(&field.pointer));
    for (i, write) in field.writes.iter().enumerate() {
        told_write(if i == 0 { "is" } else { "was" }, write, sources, &mut out);
    }
    if let Some(live) = &field.live {
        let _ = writeln!(out, "  {}", live_words(live));
    }
    out
}

/// The story of a value that is no more.
#[must_use]
pub fn blame_of_removal(removal: &BlamedRemoval, sources: &SourceMap) -> String {
    let mut out = format!("{}\n", escaped(&removal.pointer));
    let _ = writeln!(out, "  removed by {}", by(&removal.by, removal.asked_at.as_ref()));
    told_write("was", &removal.last, sources, &mut out);
    out
}

/// One value: what it is or was, where it stands, and what wrote it.
fn told_write(word: &str, write: &BlamedWrite, sources: &SourceMap, out: &mut String) {
    let _ = writeln!(out, "  {word} {}", shown(&write.value));
    match &write.at {
        Some(at) => {
            let _ = writeln!(out, "     at {}", place(at));
            if let Some(line) = line_at(at, sources) {
                let _ = writeln!(out, "        {} | {}", at.line, escaped(&line));
            }
        }
        None => out.push_str("     computed\n"),
    }
    let _ = writeln!(out, "     by {}", by(&write.by, write.asked_at.as_ref()));
}

/// The line of a place, if it may be shown.
fn line_at(at: &BlamedPlace, sources: &SourceMap) -> Option<String> {
    let span = sources.outermost(at.span);
    let source = sources.get(span.source)?;
    source.may_show(at.line).then(|| source.line(at.line).to_string())
}
