//! Fields of a resource by the paths that people write.

use super::blame::{BlamedField, ResourceBlame};
use crate::path::below;
use crate::yaml::{Node, Value, nearest};

/// A part of a path.
#[derive(Debug, PartialEq, Eq)]
enum PathPart {
    /// The name of a field, or the position of an entry.
    Name(String),
    /// The entries that have a field with that value: `[name=web]`.
    Having(String, String),
}

/// The fields at a path and below: `spec.replicas`, `spec.ports[0].port`, `containers[name=web].image`, a backslash
/// before a dot that is none; or a JSON pointer, which begins with a slash.
#[must_use]
pub fn fields_at<'b>(resource: &'b ResourceBlame, path: &str) -> Vec<&'b BlamedField> {
    let pointers = if path.starts_with('/') {
        vec![path.to_string()]
    } else {
        let mut found = Vec::new();
        if let Some(node) = &resource.node {
            find(node, &parts(path), &mut String::new(), &mut found);
        }
        found
    };
    let is_at = |field: &&BlamedField| {
        pointers.iter().any(|pointer| {
            let rest = field.pointer.strip_prefix(pointer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    resource.fields.iter().filter(is_at).collect()
}

/// The path of a field that is much like one that is not there.
#[must_use]
pub fn nearest_field<'b>(resource: &'b ResourceBlame, path: &str) -> Option<&'b str> {
    let wanted =
        if path.starts_with('/') { path.to_string() } else { format!("/{}", path.replace('.', "/")) };
    let pointers: Vec<&str> = resource.fields.iter().map(|field| field.pointer.as_str()).collect();
    nearest(&wanted, &pointers)
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

fn find(node: &Node, parts: &[PathPart], pointer: &mut String, found: &mut Vec<String>) {
    let Some((part, rest)) = parts.split_first() else {
        found.push(pointer.clone());
        return;
    };
    let mut into = |name: &str, node: &Node, pointer: &mut String| {
        below(pointer, name, |pointer| find(node, rest, pointer, found));
    };
    match (part, &node.value) {
        (PathPart::Name(name), Value::Map(map)) => {
            if let Some(value) = map.get(name) {
                into(name, value, pointer);
            }
        }
        (PathPart::Name(name), Value::List(list)) => {
            if let Some(entry) = name.parse().ok().and_then(|i: usize| list.get(i)) {
                into(name, entry, pointer);
            }
        }
        (PathPart::Having(field, value), Value::List(list)) => {
            for (i, entry) in list.iter().enumerate() {
                if entry.get(field).and_then(Node::scalar_text).is_some_and(|text| text == value) {
                    into(&i.to_string(), entry, pointer);
                }
            }
        }
        _ => {}
    }
}
