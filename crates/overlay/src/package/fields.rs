//! Which fields of a manifest changed. Entries of lists are named by keys, never by where they stand.

use smp_merge::merge::InferKeys;
use smp_merge::merge::align;
use smp_merge::merge::association::ListPolicy;
use smp_merge::schema::Cursor;
use smp_text::path::{FieldPath, PathElement};
use smp_text::yaml::{Entry, Map, Node, Value};

/// The fields that differ, by the schema and, where it says nothing of a list, by the usual keys. A list whose
/// entries nothing tells apart is one field.
pub(super) fn changed_fields(old: &Node, new: &Node, cursor: Cursor<'_>) -> ChangedFields {
    let mut walk =
        FieldWalk { path: FieldPath::root(), found: ChangedFields { paths: Vec::new(), removed_entries: 0 } };
    walk.pair(Some(old), Some(new), cursor);
    walk.found
}

/// The fields in which two versions differ.
pub(super) struct ChangedFields {
    pub paths: Vec<FieldPath>,
    /// How many entries of lists the new version no longer has.
    pub removed_entries: usize,
}

struct FieldWalk {
    path: FieldPath,
    found: ChangedFields,
}

/// An entry as both versions have it, the old one first.
type FieldRow<'n> = (PathElement, [Option<&'n Node>; 2]);

impl FieldWalk {
    fn pair(&mut self, old: Option<&Node>, new: Option<&Node>, cursor: Cursor<'_>) {
        match (old.map(|node| &node.value), new.map(|node| &node.value)) {
            (Some(Value::Map(old)), Some(Value::Map(new))) => self.maps(old, new, cursor),
            (Some(Value::List(old)), Some(Value::List(new))) => self.lists(old, new, cursor),
            _ if old == new => {}
            _ => self.found.paths.push(self.path.clone()),
        }
    }

    fn maps(&mut self, old: &Map, new: &Map, cursor: Cursor<'_>) {
        for [new, old] in align::fields([new, old]) {
            let Some(Entry { key, .. }) = new.or(old) else { continue };
            self.path.push(PathElement::Field(key.text.clone()));
            self.pair(old.map(|e| &e.value), new.map(|e| &e.value), cursor.field(&key.text));
            self.path.pop();
        }
    }

    fn lists(&mut self, old: &[Node], new: &[Node], cursor: Cursor<'_>) {
        if old == new {
            return;
        }
        let before = self.found.paths.len();
        for (element, [old, new]) in rows(old, new, cursor).unwrap_or_default() {
            self.path.push(element);
            self.found.removed_entries += usize::from(new.is_none());
            self.pair(old, new, cursor.element());
            self.path.pop();
        }
        // Only their order changed, or nothing tells them apart.
        if self.found.paths.len() == before {
            self.found.paths.push(self.path.clone());
        }
    }
}

fn rows<'n>(old: &'n [Node], new: &'n [Node], cursor: Cursor<'_>) -> Option<Vec<FieldRow<'n>>> {
    let usual = InferKeys::usual();
    let (association, aligned) = align::lists([new, old], cursor, ListPolicy::Typed, usual.keys())?;
    let row = |row: align::Aligned<2>| {
        let [at_new, at_old] = row.at;
        Some((association.element(&row.name)?, [at_old.map(|i| &old[i]), at_new.map(|i| &new[i])]))
    };
    aligned.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_merge::schema::{Gvk, Schema};
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one};

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("test.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).expect("the test's YAML")
    }

    fn changed(old: &str, new: &str, cursor: Cursor<'_>) -> Vec<String> {
        changed_fields(&node(old), &node(new), cursor).paths.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn entries_are_named_by_keys_or_not_at_all() {
        let schema = Schema::embedded();
        let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("a Pod");
        let old = "spec: {containers: [{name: a, args: [x, y]}, {name: b, image: i}]}";
        let new = "spec: {containers: [{name: b, image: j}, {name: a, args: [x, z, y]}]}";
        assert_eq!(changed(old, new, pod), ["spec.containers[name=b].image", "spec.containers[name=a].args"]);
        let (old, new) = ("l: [{name: a, v: 1}, {name: b}]", "l: [{name: c}, {name: a, v: 2}]");
        assert_eq!(changed(old, new, Cursor::unknown()), ["l[name=c]", "l[name=a].v", "l[name=b]"]);
        assert_eq!(changed("l: [{x: 1}, {x: 2}]", "l: [{x: 1}]", Cursor::unknown()), ["l"]);
        assert_eq!(changed("l: [{name: a}, {name: a}]", "l: [{name: a}]", Cursor::unknown()), ["l"]);
        assert_eq!(
            changed("l: [{name: a}, {name: b}]", "l: [{name: b}, {name: a}]", Cursor::unknown()),
            ["l"]
        );
        assert!(changed("l: [1, 0x2]", "l: [1, 2]", Cursor::unknown()).is_empty());
    }
}
