//! The semantic comparison of two trees: the places where their data differs.

use crate::merge::align::{self, Aligned};
use crate::merge::association::{Association, ListPolicy};
use crate::schema::Cursor;
use smp_text::path::{FieldPath, PathElement};
use smp_text::yaml::{Entry, Map, Node, Value};

/// One place where two trees differ.
#[derive(Debug, Clone)]
pub struct Change<'n> {
    /// The place. Entries of associative lists are named by their keys.
    pub path: FieldPath,
    /// What was there; none when the value was added.
    pub old: Option<&'n Node>,
    /// What is there; none when the value was removed.
    pub new: Option<&'n Node>,
}

/// All places where two trees differ, in the order of the new tree, removed values last per level.
///
/// ```
/// use strategic_merge_patch::diff::compare;
/// use strategic_merge_patch::schema::Cursor;
/// use smp_text::yaml::Node;
///
/// let old: Node = "{a: 1e3, b: [x]}".parse()?;
/// let new: Node = "{b: [x], a: 1000.0, c: true}".parse()?;
/// let comparison = compare(Some(&old), Some(&new), Cursor::unknown());
/// let [change] = comparison.changes() else { panic!("one place") };
/// assert_eq!((change.path.to_string(), change.old.is_none(), change.new.is_some()), ("c".into(), true, true));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Comparison<'n> {
    changes: Vec<Change<'n>>,
}

impl<'n> Comparison<'n> {
    /// Whether both have the same data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The differences; a value that was added or removed is one, whatever is in it.
    #[must_use]
    pub fn changes(&self) -> &[Change<'n>] {
        &self.changes
    }
}

/// Compares two trees; none stands for a tree that is not there.
///
/// The schema says which lists are associative: their entries are matched by key and may move.
/// Entries of other lists are matched by position, so that a removal in the middle shows as a
/// change of all that follow.
///
/// ```
/// use strategic_merge_patch::diff::compare;
/// use strategic_merge_patch::schema::Cursor;
/// use smp_text::yaml::{Map, Node};
///
/// let old: Map = [("replicas", Node::int(1)), ("paused", Node::from(true))].into_iter().collect();
/// let new: Map = [("paused", Node::from(true)), ("replicas", Node::int(3))].into_iter().collect();
/// let (old, new) = (Node::map(old), Node::map(new));
/// let comparison = compare(Some(&old), Some(&new), Cursor::unknown());
/// let paths: Vec<_> = comparison.changes().iter().map(|c| c.path.to_string()).collect();
/// assert_eq!(paths, ["replicas"]);
/// ```
#[must_use]
pub fn compare<'n>(old: Option<&'n Node>, new: Option<&'n Node>, cursor: Cursor<'_>) -> Comparison<'n> {
    let mut walk = Walk { path: FieldPath::root(), changes: Vec::new() };
    walk.pair(old, new, cursor);
    Comparison { changes: walk.changes }
}

struct Walk<'n> {
    path: FieldPath,
    changes: Vec<Change<'n>>,
}

impl<'n> Walk<'n> {
    fn pair(&mut self, old: Option<&'n Node>, new: Option<&'n Node>, cursor: Cursor<'_>) {
        if let (Some(old), Some(new)) = (old, new) {
            match (&old.value, &new.value) {
                (Value::Map(a), Value::Map(b)) => return self.maps(a, b, cursor),
                (Value::List(a), Value::List(b)) => return self.lists(a, b, cursor),
                _ if old == new => return,
                _ => {}
            }
        }
        if old.is_some() || new.is_some() {
            self.changes.push(Change { path: self.path.clone(), old, new });
        }
    }

    fn at(&mut self, element: PathElement, old: Option<&'n Node>, new: Option<&'n Node>, cursor: Cursor<'_>) {
        self.path.push(element);
        self.pair(old, new, cursor);
        self.path.pop();
    }

    fn maps(&mut self, old: &'n Map, new: &'n Map, cursor: Cursor<'_>) {
        for [new, old] in align::fields([new, old]) {
            let Some(Entry { key, .. }) = new.or(old) else { continue };
            let (old, new) = (old.map(|e| &e.value), new.map(|e| &e.value));
            self.at(PathElement::Field(key.text.clone()), old, new, cursor.field(&key.text));
        }
    }

    fn lists(&mut self, old: &'n [Node], new: &'n [Node], cursor: Cursor<'_>) {
        let association = Association::of(cursor, ListPolicy::Typed);
        let by_name = align::entries([new, old], &association).and_then(|rows| {
            let named = |row: Aligned<2>| Some((association.element(&row.name)?, row.at));
            rows.into_iter().map(named).collect::<Option<Vec<_>>>()
        });
        let rows = by_name.unwrap_or_else(|| {
            let at = |i, len| Some(i).filter(|i| *i < len);
            let row = |i| (PathElement::Index(i), [at(i, new.len()), at(i, old.len())]);
            (0..old.len().max(new.len())).map(row).collect()
        });
        for (element, [at_new, at_old]) in rows {
            let (old, new) = (at_old.map(|i| &old[i]), at_new.map(|i| &new[i]));
            self.at(element, old, new, cursor.element());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Gvk, Schema};
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one};

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("test.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).expect("the test's YAML")
    }

    fn paths(old: &str, new: &str, cursor: Cursor<'_>) -> Vec<String> {
        let (old, new) = (node(old), node(new));
        let sign = |c: &Change<'_>| match (c.old, c.new) {
            (None, _) => '+',
            (_, None) => '-',
            _ => '~',
        };
        compare(Some(&old), Some(&new), cursor)
            .changes()
            .iter()
            .map(|c| format!("{}{}", sign(c), c.path))
            .collect()
    }

    #[test]
    fn the_way_of_writing_does_not_count() {
        let old = "{a: 1000, b: 'x', c: [1, 2]}";
        let new = "c:\n- 0x1\n- 2\nb: x # note\na: 1e3\n";
        assert!(paths(old, new, Cursor::unknown()).is_empty());
    }

    #[test]
    fn types_count() {
        assert_eq!(paths("a: 1", "a: '1'", Cursor::unknown()), ["~a"]);
        assert_eq!(paths("a: null", "{}", Cursor::unknown()), ["-a"], "null is not absent");
        assert_eq!(paths("a: {b: 1}", "a: [1]", Cursor::unknown()), ["~a"]);
    }

    #[test]
    fn lists_without_a_schema_are_matched_by_position() {
        assert_eq!(paths("a: [1, 2, 3]", "a: [2, 3]", Cursor::unknown()), ["~a[0]", "~a[1]", "-a[2]"]);
    }

    #[test]
    fn associative_lists_are_matched_by_key() {
        let schema = Schema::embedded();
        let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("a Pod");
        let old = "spec: {containers: [{name: a, image: x}, {name: b, ports: [{containerPort: 80}]}]}";
        let new = "spec: {containers: [{name: b, ports: [{containerPort: 80, protocol: TCP}]}, {name: a, image: y}]}";
        let want = [
            "+spec.containers[name=b].ports[containerPort=80,protocol=TCP].protocol",
            "~spec.containers[name=a].image",
        ];
        assert_eq!(paths(old, new, pod), want);
    }

    #[test]
    fn entries_without_distinct_keys_are_matched_by_position() {
        let schema = Schema::embedded();
        let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("a Pod");
        let twice = "spec: {containers: [{name: a}, {name: a, image: x}]}";
        assert_eq!(paths(twice, "spec: {containers: [{name: a}]}", pod), ["-spec.containers[1]"]);
    }

    #[test]
    fn a_tree_may_be_missing() {
        let tree = node("a: 1");
        assert_eq!(compare(None, Some(&tree), Cursor::unknown()).changes().len(), 1);
        assert!(compare(None, None, Cursor::unknown()).is_empty());
    }
}
