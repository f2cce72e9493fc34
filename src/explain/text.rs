//! Blame for people: the manifests with a comment in the margin of each value, and the whole story of one.

use std::fmt::Write as _;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::blame::{Blame, BlamedField, BlamedPlace, BlamedRemoval, BlamedWrite, ResourceBlame};
use super::live_field::{LiveField, LiveState};
use crate::diagnostic::{Coloring, Result, escaped};
use crate::path::below;
use crate::source::{SourceMap, Span};
use crate::yaml::{Node, ParseOptions, Style, Value, parse_one, to_documents};

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
    let texts = blame.resources.par_iter().map(|resource| told(resource, style));
    let texts = texts.collect::<Result<Vec<String>>>()?;
    let mut out = LEGEND.to_string();
    if blame.resources.iter().any(|resource| resource.live != LiveState::Unasked) {
        out.push_str(LIVE_LEGEND);
    }
    for (i, (resource, text)) in blame.resources.iter().zip(texts).enumerate() {
        if i > 0 && resource.node.is_some() {
            out.push_str("---\n");
        }
        out.push_str(&text);
    }
    Ok(out)
}

fn told(resource: &ResourceBlame, style: MarginStyle) -> Result<String> {
    let mut out = String::new();
    if let Some(node) = &resource.node {
        annotated(node, resource, style, &mut out)?;
    }
    live_only(resource, style, &mut out);
    if style.removals == Removals::Told {
        removals(resource, style, &mut out);
    }
    Ok(out)
}

fn annotated(node: &Node, resource: &ResourceBlame, style: MarginStyle, out: &mut String) -> Result<()> {
    let text = to_documents([node])?;
    let sources = SourceMap::default();
    let id = sources.add("", text.as_str());
    let printed = parse_one(&sources, id, ParseOptions::default())?;
    let fields: FxHashMap<&str, &BlamedField> =
        resource.fields.iter().map(|field| (field.pointer.as_str(), field)).collect();
    let mut margins: FxHashMap<usize, String> = FxHashMap::default();
    let Some(source) = sources.get(id) else { return Ok(()) };
    each_leaf(&printed, &mut String::new(), &mut |pointer, leaf| {
        let Some(margin) = fields.get(pointer).and_then(|field| margin_of(field)) else { return };
        let line = source.line_column(end_of_header(leaf)).0;
        let margins = margins.entry(line).or_default();
        if !margins.is_empty() {
            margins.push_str("; ");
        }
        margins.push_str(&margin);
    });
    let lines: Vec<&str> = text.lines().collect();
    let width = |line: &&str| line.chars().count();
    let with_margin = lines.iter().enumerate().filter(|(i, _)| margins.contains_key(&(i + 1)));
    let column =
        with_margin.map(|(_, line)| width(line)).filter(|width| *width <= WIDEST).max().unwrap_or_default();
    for (i, line) in lines.iter().enumerate() {
        out.push_str(line);
        if let Some(margin) = margins.get(&(i + 1)) {
            let gap = column.saturating_sub(width(line)) + 2;
            out.extend(std::iter::repeat_n(' ', gap));
            comment(margin, style, out);
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

/// The byte behind which a comment may stand: that of the last character of a value, or, for texts in lines of their
/// own, of what announces them.
fn end_of_header(leaf: &Node) -> u32 {
    let Span { start, end, .. } = leaf.span();
    if matches!(leaf.meta.style, Style::Literal | Style::Folded) { start } else { end.max(start + 1) - 1 }
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

fn margin_of(field: &BlamedField) -> Option<String> {
    let (present, older) = field.writes.split_first()?;
    let mut margin = origin(present);
    if let Some(before) = older.first() {
        let _ = write!(margin, "  was {} {}", shown(&before.value), origin(before));
    }
    if let Some(live) = field.live.as_ref().filter(|live| live.differs || !live.managers.is_empty()) {
        margin.push_str("  ");
        margin.push_str(&live_words(live));
    }
    Some(margin)
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
fn origin(write: &BlamedWrite) -> String {
    write.at.as_ref().map_or_else(|| escaped(&write.by).into_owned(), place)
}

fn place(place: &BlamedPlace) -> String {
    format!("{}:{}:{}", place.file, place.line, place.column)
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

/// What only the live object has, and that there is none.
fn live_only(resource: &ResourceBlame, style: MarginStyle, out: &mut String) {
    let mut line = |text: &str| {
        comment(text, style, out);
        out.push('\n');
    };
    if resource.live == LiveState::Absent && resource.node.is_some() {
        line(&format!("not live: {}", escaped(&resource.id.to_string())));
    }
    for field in &resource.unbuilt {
        let (pointer, value) = (escaped(&field.pointer), shown(&field.value));
        line(&format!("only live: {pointer} is {value}, managed by {}", listed(&field.managers)));
    }
}

fn removals(resource: &ResourceBlame, style: MarginStyle, out: &mut String) {
    if resource.node.is_none() {
        let id = format!("deleted: {}", escaped(&resource.id.to_string()));
        comment(&id, style, out);
        out.push('\n');
    }
    for removal in &resource.removed {
        comment(&removal_line(removal), style, out);
        out.push('\n');
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
        let word = if i == 0 { "is" } else { "was" };
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
    if let Some(live) = &field.live {
        let _ = writeln!(out, "  {}", live_words(live));
    }
    out
}

/// The line of a place, if it may be shown.
fn line_at(at: &BlamedPlace, sources: &SourceMap) -> Option<String> {
    let span = sources.outermost(at.span);
    let source = sources.get(span.source)?;
    source.may_show(at.line).then(|| source.line(at.line).to_string())
}
