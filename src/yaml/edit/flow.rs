//! Edits of maps and lists in brackets.

use super::fragment::{flow, flow_field};
use super::{Editor, Place, PlaceKind};
use crate::yaml::node::{Map, Node, Style, Value};

impl Editor<'_> {
    /// Edits a map between braces; false when it has to be written anew.
    pub(super) fn flow_map(&mut self, node: &Node, before: &Map, after: &Map) -> bool {
        let index = after.index();
        let positions: Vec<_> = before.iter().map(|(k, _)| index.position(k)).collect();
        let quoted = before.entries().first().is_some_and(|e| e.key.meta.style == Style::DoubleQuoted);
        // Removals move commas, and insertions between fields are rare: both write the map anew.
        let kept = positions.iter().enumerate().all(|(i, p)| *p == Some(i));
        if before.is_empty() || !kept {
            self.replace_flow(node, &Node { value: Value::Map(after.clone()), ..node.clone() }, quoted);
            return true;
        }
        for (entry, value) in before.entries().iter().zip(after.entries()) {
            self.in_flow(&entry.value, &value.value, quoted);
        }
        let new: Vec<_> =
            after.entries()[before.len()..].iter().map(|e| flow_field(&e.key, &e.value, quoted)).collect();
        let ends: Vec<_> = before
            .entries()
            .iter()
            .map(|e| (e.key.meta.span.start as usize, self.content_end(&e.value)))
            .collect();
        self.append_flow(&ends, &new);
        true
    }

    /// Edits a list between brackets; false when it has to be written anew.
    pub(super) fn flow_list(&mut self, node: &Node, before: &[Node], after: &[Node]) -> bool {
        let quoted = before.iter().all(|n| n.as_str().is_none() || n.meta.style == Style::DoubleQuoted)
            && !before.is_empty();
        if before.is_empty() || after.len() < before.len() {
            self.replace_flow(node, &Node { value: Value::List(after.to_vec()), ..node.clone() }, quoted);
            return true;
        }
        for (before, after) in before.iter().zip(after) {
            self.in_flow(before, after, quoted);
        }
        let new: Vec<_> = after[before.len()..].iter().map(|n| flow(n, quoted)).collect();
        let ends: Vec<_> = before.iter().map(|n| (n.span().start as usize, self.content_end(n))).collect();
        self.append_flow(&ends, &new);
        true
    }

    fn in_flow(&mut self, before: &Node, after: &Node, quoted: bool) {
        if before == after {
            return;
        }
        if before.meta.aliased || before.span().start == before.span().end {
            return self.replace_flow(before, after, quoted);
        }
        match (&before.value, &after.value) {
            (Value::Map(_), Value::Map(_)) | (Value::List(_), Value::List(_)) => {
                let place = Place { from: before.span().start as usize, column: 0, kind: PlaceKind::Field };
                self.value(place, before, after);
            }
            _ => self.replace_flow(before, after, quoted),
        }
    }

    fn replace_flow(&mut self, before: &Node, after: &Node, quoted: bool) {
        let (start, end) =
            (before.span().start as usize, self.content_end(before).max(before.span().start as usize));
        self.replace(start, end, flow(after, quoted));
    }

    /// Adds behind the last of several parts, with what stands between the two before it.
    fn append_flow(&mut self, parts: &[(usize, usize)], new: &[String]) {
        let Some(&(_, end)) = parts.last().filter(|_| !new.is_empty()) else { return };
        let separator = match parts {
            [.., (_, end), (start, _)] if end <= start => self.text[*end..*start].to_string(),
            [(start, _)] => {
                let line = self.line_start(*start);
                let lead = &self.text[line..*start];
                if lead.trim().is_empty() { format!(",\n{lead}") } else { ", ".into() }
            }
            _ => ", ".into(),
        };
        let text: String = new.iter().map(|t| format!("{separator}{t}")).collect();
        self.replace(end, end, text);
    }
}
