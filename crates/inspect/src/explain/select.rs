//! Finds fields by the paths that users type.

use rustc_hash::FxHashSet;

use super::blame::{BlamedField, BlamedRemoval, ResourceBlame};
use smp_text::path::{is_within, push_step, unescape};
use smp_text::yaml::{nearest_name, nearest_path};

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathPart {
    /// A field name or list index.
    Name(String),
    /// The entries with a field value: `[name=web]`.
    Having(String, String),
}

/// Returns the fields at or below a path: `spec.replicas`, `spec.ports[0].port`, `containers[name=web].image`, or a
/// JSON pointer with a leading slash. A backslash escapes a dot in a field name.
#[must_use]
pub fn fields_at<'b>(resource: &'b ResourceBlame, path: &str) -> Vec<&'b BlamedField> {
    let path = WrittenPath::new(resource, path);
    resource.fields.iter().filter(|field| path.leads_to(&field.pointer)).collect()
}

/// Returns the values that were removed at or below a path.
#[must_use]
pub fn removals_at<'b>(resource: &'b ResourceBlame, path: &str) -> Vec<&'b BlamedRemoval> {
    let path = WrittenPath::new(resource, path);
    resource.removed.iter().filter(|removal| path.leads_to(&removal.pointer)).collect()
}

/// Returns the path of an existing field that is similar to an unknown one.
#[must_use]
pub fn nearest_field(resource: &ResourceBlame, path: &str) -> Option<String> {
    let pointers: Vec<&str> = resource.fields.iter().map(|field| field.pointer.as_str()).collect();
    if path.starts_with('/') {
        return nearest_name(path, &pointers).map(ToString::to_string);
    }
    let written: Vec<String> = parts(path).iter().map(written).collect();
    let meant = resource.node.as_ref().and_then(|node| nearest_path(node, &written));
    let meant = meant
        .map(|parts| joined(&parts))
        .filter(|meant| meant != path && !fields_at(resource, meant).is_empty());
    let pointer = || format!("/{}", path.replace('.', "/"));
    meant.or_else(|| nearest_name(&pointer(), &pointers).map(ToString::to_string))
}

/// Returns a part in path notation.
fn written(part: &PathPart) -> String {
    match part {
        PathPart::Name(name) => name.clone(),
        PathPart::Having(field, value) => format!("[{field}={value}]"),
    }
}

/// Joins parts to a path: `containers[name=web].image`.
fn joined(parts: &[String]) -> String {
    let mut path = String::new();
    for part in parts {
        if !path.is_empty() && !part.starts_with('[') {
            path.push('.');
        }
        path.push_str(&part.replace('.', "\\."));
    }
    path
}

/// A parsed path for one resource.
enum WrittenPath {
    Pointer(String),
    Parts {
        parts: Vec<PathPart>,
        /// The pointers to the values that the path compares, each with its value.
        known: FxHashSet<(String, String)>,
    },
}

impl WrittenPath {
    fn new(resource: &ResourceBlame, path: &str) -> Self {
        if path.starts_with('/') {
            return Self::Pointer(path.to_string());
        }
        let parts = parts(path);
        let is_compared = |pointer: &str| {
            let last = pointer.rsplit('/').next().unwrap_or_default();
            parts.iter().any(|part| matches!(part, PathPart::Having(field, _) if field == last))
        };
        let present =
            resource.fields.iter().filter_map(|field| Some((&field.pointer, field.writes.first()?)));
        let removed = resource.removed.iter().map(|removal| (&removal.pointer, &removal.last));
        let known = present.chain(removed).filter(|(pointer, _)| is_compared(pointer));
        let known = known
            .filter_map(|(pointer, write)| Some((pointer.clone(), write.value.scalar_text()?.to_string())));
        Self::Parts { known: known.collect(), parts }
    }

    /// Returns true if a value is at or below the path.
    fn leads_to(&self, pointer: &str) -> bool {
        match self {
            Self::Pointer(path) => is_within(path, pointer),
            Self::Parts { parts, known } => {
                let steps: Vec<&str> = pointer.split('/').skip(1).collect();
                leads(parts, &steps, 0, known)
            }
        }
    }
}

/// Returns true if the parts match the remaining steps of a pointer. Field names may contain dots.
fn leads(parts: &[PathPart], steps: &[&str], taken: usize, known: &FxHashSet<(String, String)>) -> bool {
    let Some(first) = parts.first() else { return true };
    let Some(step) = steps.get(taken) else { return false };
    let go_on = |used: usize| leads(&parts[used..], steps, taken + 1, known);
    if let PathPart::Having(field, value) = first {
        let mut pointer = format!("/{}", steps[..=taken].join("/"));
        push_step(&mut pointer, field);
        return known.contains(&(pointer, value.clone())) && go_on(1);
    }
    let step = unescape(step);
    let mut name = String::new();
    parts.iter().enumerate().any(|(i, part)| {
        let PathPart::Name(more) = part else { return false };
        if i > 0 {
            name.push('.');
        }
        name.push_str(more);
        name == step && go_on(i + 1)
    })
}

fn parts(path: &str) -> Vec<PathPart> {
    let (mut parts, mut name) = (Vec::new(), String::new());
    let mut rest = path.chars().peekable();
    let end = |name: &mut String, parts: &mut Vec<PathPart>| {
        if !name.is_empty() {
            parts.push(PathPart::Name(std::mem::take(name)));
        }
    };
    while let Some(c) = rest.next() {
        match c {
            '\\' if rest.peek() == Some(&'.') => name.extend(rest.next()),
            '.' => end(&mut name, &mut parts),
            '[' => {
                end(&mut name, &mut parts);
                let inner: String = rest.by_ref().take_while(|c| *c != ']').collect();
                let inner = inner.trim_matches(['"', '\'']);
                parts.push(match inner.split_once('=') {
                    Some((field, value)) => PathPart::Having(field.into(), value.into()),
                    None => PathPart::Name(inner.into()),
                });
            }
            c => name.push(c),
        }
    }
    end(&mut name, &mut parts);
    parts
}
