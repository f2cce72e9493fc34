//! Finds fields by the paths that users type.

use rustc_hash::FxHashMap;

use super::blame::{BlamedField, BlamedRemoval, ResourceBlame};
use smp_text::path::{is_within, push_step, unescape};
use smp_text::yaml::{nearest_name, nearest_path};

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathPart {
    /// A field name or list index.
    Name(String),
    /// The entries with field values, such as `[name=web]` or `[port=80,protocol=TCP]`. The entry itself has the
    /// value of an empty field.
    Having(Vec<(String, String)>),
}

/// Returns the fields at or below a path: `spec.replicas`, `spec.ports[0].port`, `containers[name=web].image`, or a
/// JSON pointer with a leading slash. A backslash escapes a dot in a field name.
#[must_use]
pub fn fields_at<'b>(resource: &'b ResourceBlame, path: &str) -> Vec<&'b BlamedField> {
    WrittenPath::new(resource, path).select(&resource.fields, |field| &field.pointer)
}

/// Returns the values that were removed at or below a path.
#[must_use]
pub fn removals_at<'b>(resource: &'b ResourceBlame, path: &str) -> Vec<&'b BlamedRemoval> {
    WrittenPath::new(resource, path).select(&resource.removed, |removal| &removal.pointer)
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
        PathPart::Having(keys) => {
            let keys: Vec<String> = keys.iter().map(|(field, value)| format!("{field}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
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

/// The comparison of a key that an entry lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingKeys {
    /// The entry does not match.
    Differ,
    /// The entry may match, since the key may have its default.
    Match,
}

/// A parsed path for one resource.
enum WrittenPath {
    Pointer(String),
    Parts {
        parts: Vec<PathPart>,
        /// The pointers to the values that the path compares, each with its values.
        known: FxHashMap<String, Vec<String>>,
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
            parts.iter().any(|part| match part {
                PathPart::Having(keys) => keys.iter().any(|(field, _)| field.is_empty() || field == last),
                PathPart::Name(_) => false,
            })
        };
        let present =
            resource.fields.iter().filter_map(|field| Some((&field.pointer, field.writes.first()?)));
        let removed = resource.removed.iter().map(|removal| (&removal.pointer, &removal.last));
        let mut known: FxHashMap<String, Vec<String>> = FxHashMap::default();
        for (pointer, write) in present.chain(removed).filter(|(pointer, _)| is_compared(pointer)) {
            let value = write.value.scalar_text().map(ToString::to_string);
            known.entry(pointer.clone()).or_default().extend(value);
        }
        Self::Parts { known, parts }
    }

    /// Returns the items at or below the path. If no list entry has all keys, entries may lack some of them.
    fn select<'i, T>(&self, items: &'i [T], pointer: impl Fn(&T) -> &str) -> Vec<&'i T> {
        let find = |missing| -> Vec<&'i T> {
            items.iter().filter(|item| self.leads_to(pointer(item), missing)).collect()
        };
        let found = find(MissingKeys::Differ);
        if found.is_empty() { find(MissingKeys::Match) } else { found }
    }

    /// Returns true if a value is at or below the path.
    fn leads_to(&self, pointer: &str, missing: MissingKeys) -> bool {
        match self {
            Self::Pointer(path) => is_within(path, pointer),
            Self::Parts { parts, known } => {
                let steps: Vec<&str> = pointer.split('/').skip(1).collect();
                leads(parts, &steps, 0, (known, missing))
            }
        }
    }
}

/// The values that a path compares, by their pointers.
type KnownKeys<'k> = (&'k FxHashMap<String, Vec<String>>, MissingKeys);

/// Returns true if the parts match the remaining steps of a pointer. A field name may contain dots itself.
fn leads(parts: &[PathPart], steps: &[&str], taken: usize, known: KnownKeys<'_>) -> bool {
    let Some(first) = parts.first() else { return true };
    let Some(step) = steps.get(taken) else { return false };
    let go_on = |used: usize| leads(&parts[used..], steps, taken + 1, known);
    if let PathPart::Having(keys) = first {
        return has_keys(keys, &format!("/{}", steps[..=taken].join("/")), known) && go_on(1);
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

/// Returns true if a list entry has these values in its keys, or has one of them and may lack the others.
fn has_keys(keys: &[(String, String)], entry: &str, (known, missing): KnownKeys<'_>) -> bool {
    let matches = keys.iter().map(|(field, value)| {
        let mut pointer = entry.to_string();
        if !field.is_empty() {
            push_step(&mut pointer, field);
        }
        known.get(&pointer).map(|values| values.contains(value))
    });
    let matches: Vec<Option<bool>> = matches.collect();
    let may_lack = missing == MissingKeys::Match && matches.contains(&Some(true));
    matches.iter().all(|matched| matched.unwrap_or(may_lack))
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
                parts.push(bracketed(&mut rest));
            }
            c => name.push(c),
        }
    }
    end(&mut name, &mut parts);
    parts
}

/// Parses a step in brackets behind the opening one: `0`, `"a.b"`, `port=80,protocol=TCP` or `=x`.
fn bracketed(rest: &mut impl Iterator<Item = char>) -> PathPart {
    let (mut keys, mut field, mut text, mut quote) = (Vec::new(), None, String::new(), None);
    while let Some(c) = rest.next() {
        match (c, quote) {
            (']', None) => break,
            ('\\', Some(_)) => text.extend(rest.next()),
            (_, Some(end)) if c == end => quote = None,
            ('"' | '\'', None) if text.is_empty() => quote = Some(c),
            ('=', None) if field.is_none() => field = Some(std::mem::take(&mut text)),
            (',', None) => keys.extend(field.take().map(|field| (field, std::mem::take(&mut text)))),
            _ => text.push(c),
        }
    }
    keys.extend(field.map(|field| (field, std::mem::take(&mut text))));
    if keys.is_empty() { PathPart::Name(text) } else { PathPart::Having(keys) }
}
