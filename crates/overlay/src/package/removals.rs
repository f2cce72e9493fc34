//! Where patches remove what must be there.
//!
//! Must not know how patches are applied.

use rustc_hash::FxHashMap;

use super::lost::covers;
use smp_merge::merge::directive::{PATCH, is_directive};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::path::{FieldPath, PathElement, steps_of};
use smp_text::source::Span;
use smp_text::yaml::{List, Map, Node, Value};

/// The paths of an object at which patches remove something, with the places that say so.
pub(super) fn removals<'p>(patches: impl Iterator<Item = &'p Node>, after: &Node) -> FxHashMap<String, Span> {
    let mut walk = RemovalWalk { path: FieldPath::root(), found: FxHashMap::default() };
    for patch in patches {
        if let Value::List(operations) = &patch.value {
            walk.operations(operations, after);
        } else {
            walk.value(patch, after);
        }
    }
    walk.found
}

/// A warning of what is missing, with the place that took it away, if one did.
pub(super) fn at_removal(warning: Diagnostic, removals: &FxHashMap<String, Span>) -> Diagnostic {
    let span = warning.field_path().and_then(|path| removals.get(path));
    let Some(span) = span.filter(|_| warning.code() == Code::MissingField) else { return warning };
    let moved = Diagnostic::warning(warning.code(), warning.message()).at(*span);
    let moved = warning.field_path().into_iter().fold(moved, Diagnostic::field);
    warning.help_text().into_iter().fold(moved, Diagnostic::help)
}

struct RemovalWalk {
    path: FieldPath,
    found: FxHashMap<String, Span>,
}

impl RemovalWalk {
    fn value(&mut self, patch: &Node, after: &Node) {
        match (&patch.value, &after.value) {
            (Value::Map(patch), Value::Map(after)) => self.map(patch, after),
            (Value::List(patch), Value::List(after)) => self.list(patch, after),
            _ => {}
        }
    }

    fn map(&mut self, patch: &Map, after: &Map) {
        for entry in patch.entries().iter().filter(|entry| !is_directive(&entry.key.text)) {
            let (name, value) = (&entry.key.text, &entry.value);
            self.path.push(PathElement::Field(name.clone()));
            if let Some(after) = after.get(name) {
                self.value(value, after);
            } else if value.is_null() || value.get(PATCH).is_some() {
                self.found.insert(self.path.to_string(), entry.key.meta.span);
            }
            self.path.pop();
        }
    }

    /// Each entry of the patch with the one that says what it says, if there is only one.
    fn list(&mut self, patch: &List, after: &List) {
        for entry in patch.iter().filter(|entry| entry.get(PATCH).is_none()) {
            let Some(map) = entry.as_map() else { continue };
            let mut saying = after.iter().enumerate().filter(|(_, after)| covers(after, map));
            if let (Some((i, found)), None) = (saying.next(), saying.next()) {
                self.path.push(PathElement::Index(i));
                self.value(entry, found);
                self.path.pop();
            }
        }
    }

    /// Those of a JSON patch.
    fn operations(&mut self, operations: &List, after: &Node) {
        for operation in operations {
            let path = match operation.get("op").and_then(Node::as_str) {
                Some("remove") => operation.get("path"),
                Some("move") => operation.get("from"),
                _ => None,
            };
            let Some((path, pointer)) = path.and_then(|path| Some((path, path.as_str()?))) else { continue };
            self.found.insert(field_path(pointer, after), path.span());
        }
    }
}

/// The path of a field that a JSON pointer leads to.
fn field_path(pointer: &str, object: &Node) -> String {
    let (mut path, mut here) = (FieldPath::root(), Some(object));
    for name in steps_of(pointer) {
        let position = here.and_then(Node::as_list).and_then(|list| Some((name.parse().ok()?, list)));
        if let Some((i, list)) = position {
            path.push(PathElement::Index(i));
            here = list.get(i);
        } else {
            path.push(PathElement::Field(name.as_ref().into()));
            here = here.and_then(|node| node.get(&name));
        }
    }
    path.to_string()
}
