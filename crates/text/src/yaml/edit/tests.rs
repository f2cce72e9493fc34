//! Table tests of edits, and properties that hold for all texts and changes.

#![allow(clippy::format_push_string, clippy::format_collect)] // Clearer for generated texts.

mod laws;
mod tables;

use super::edit_text;
use crate::source::{Reading, SourceMap};
use crate::yaml::{Map, Node, ParseOptions, parse_documents};

fn read(text: &str) -> Vec<Node> {
    read_as(Reading::Kustomize, text)
}

fn read_as(reading: Reading, text: &str) -> Vec<Node> {
    let sources = SourceMap::default();
    let id = sources.add("t.yaml", text);
    let options = ParseOptions { keep_comments: true, reading, ..ParseOptions::default() };
    parse_documents(&sources, id, options).unwrap_or_else(|e| panic!("{e}:\n{text}"))
}

/// Parses a value like a value from another file.
fn value(text: &str) -> Node {
    let sources = SourceMap::default();
    sources.add("t.yaml", "");
    let id = sources.add("other.yaml", text);
    let options = ParseOptions { keep_comments: true, ..ParseOptions::default() };
    parse_documents(&sources, id, options).expect("a value").pop().unwrap_or_else(|| Node::plain(""))
}

/// Returns the node at a path of field names and indices, separated by slashes. `.` is the root.
fn at<'n>(node: &'n mut Node, path: &str) -> &'n mut Node {
    path.split('/').filter(|s| !s.is_empty() && *s != ".").fold(node, |node, step| {
        match step.parse::<usize>() {
            Ok(i) => &mut node.as_list_mut().expect("a list")[i],
            Err(_) => node.get_mut(step).unwrap_or_else(|| panic!("no {step}")),
        }
    })
}

/// Applies a change: `path = value`, `path < i = value` (insert into a list), `path + field: value` (append to
/// a map or list), `- path` (remove), `path > i` (move to the front of its list).
fn make(root: &mut Node, change: &str) {
    let parent = |path: &str| {
        let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
        (parent.to_string(), last.to_string())
    };
    if let Some(path) = change.strip_prefix("- ") {
        let (path, last) = parent(path);
        let parent = at(root, &path);
        if let Some(list) = parent.as_list_mut() {
            list.remove(last.parse().expect("a position"));
        } else {
            parent.as_map_mut().expect("a map").remove(&last).expect("a field");
        }
    } else if let Some((path, i)) = change.split_once(" > ") {
        let (path, last) = parent(path);
        let entries = at(root, &path).as_list_mut().expect("a list");
        let node = entries.remove(last.parse().expect("a position"));
        entries.insert(i.parse().expect("a position"), node);
    } else if let Some((path, text)) = change.split_once(" + ") {
        let parent = at(root, path);
        let new = value(text);
        if let Some(list) = parent.as_list_mut() {
            list.push(new);
        } else {
            let entries = new.as_map().expect("fields").entries().to_vec();
            parent.as_map_mut().expect("a map").entries_mut().extend(entries);
        }
    } else if let Some((location, text)) = change.split_once(" < ") {
        let (i, text) = text.split_once(" = ").expect("a value");
        let i = i.parse().expect("a position");
        let parent = at(root, location);
        if let Some(list) = parent.as_list_mut() {
            list.insert(i, value(text));
        } else {
            let entry = value(text).as_map().expect("a field").entries()[0].clone();
            parent.as_map_mut().expect("a map").entries_mut().insert(i, entry);
        }
    } else {
        let (path, text) = change.split_once(" =").expect("a change");
        *at(root, path) = value(text.strip_prefix(' ').unwrap_or(text));
    }
}

/// Returns the text after changes of its first document, which are separated by `;;`.
fn changed(text: &str, changes: &str) -> String {
    changed_as(Reading::Kustomize, text, changes)
}

fn changed_as(reading: Reading, text: &str, changes: &str) -> String {
    let before = read_as(reading, text);
    let mut after: Vec<_> = before.iter().cloned().map(Some).collect();
    let root = after[0].as_mut().expect("a document");
    changes.split(";;").for_each(|change| make(root, change));
    let edited = edit_text(text, reading, &before, &after).expect("editable");
    let after: Vec<_> = after.into_iter().flatten().collect();
    assert_eq!(read_as(reading, &edited), after, "{edited}");
    edited
}

/// Checks triples of text, changes and expected result.
fn check(table: &[(&str, &str, &str)]) {
    let mut wrong = String::new();
    for (text, changes, want) in table {
        let edited = changed(text, changes);
        if edited != *want {
            wrong.push_str(&format!("\n=== {changes}\n{text}\n--- is\n{edited}\n--- not\n{want}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn map(fields: &[(&str, Node)]) -> Node {
    Node::map(fields.iter().map(|(k, v)| (*k, v.clone())).collect::<Map>())
}
