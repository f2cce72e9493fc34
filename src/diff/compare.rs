//! The semantic comparison of two trees: the places where their data differs.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::path::{FieldPath, PathElement, PathValue};
use crate::schema::{Cursor, ListType};
use crate::yaml::{Map, Node, Value};

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
/// use kubectl_smp::diff::compare;
/// use kubectl_smp::schema::Cursor;
/// use kubectl_smp::yaml::{Map, Node};
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

    fn at(&mut self, step: PathElement, old: Option<&'n Node>, new: Option<&'n Node>, cursor: Cursor<'_>) {
        self.path.push(step);
        self.pair(old, new, cursor);
        self.path.pop();
    }

    fn maps(&mut self, old: &'n Map, new: &'n Map, cursor: Cursor<'_>) {
        let (in_old, in_new) = (old.index(), new.index());
        for (name, value) in new.iter() {
            let before = in_old.position(name).and_then(|i| old.entries().get(i)).map(|e| &e.value);
            self.at(PathElement::Field(name.into()), before, Some(value), cursor.field(name));
        }
        for (name, value) in old.iter().filter(|(name, _)| in_new.position(name).is_none()) {
            self.at(PathElement::Field(name.into()), Some(value), None, cursor.field(name));
        }
    }

    fn lists(&mut self, old: &'n [Node], new: &'n [Node], cursor: Cursor<'_>) {
        let element = cursor.element();
        let identity = Identity::of(cursor);
        let (Some(before), Some(after)) = (identity.steps(old, element), identity.steps(new, element)) else {
            for i in 0..old.len().max(new.len()) {
                self.at(PathElement::Index(i), old.get(i), new.get(i), element);
            }
            return;
        };
        let by_step: FxHashMap<&PathElement, &Node> = before.iter().zip(old).collect();
        for (step, value) in after.iter().zip(new) {
            self.at(step.clone(), by_step.get(step).copied(), Some(value), element);
        }
        let still: FxHashSet<&PathElement> = after.iter().collect();
        for (step, value) in before.iter().zip(old).filter(|(step, _)| !still.contains(step)) {
            self.at(step.clone(), Some(value), None, element);
        }
    }
}

/// What names the entries of a list.
enum Identity {
    Position,
    Value,
    Keys(Vec<SmolStr>),
}

impl Identity {
    /// As server-side apply has it, else as strategic merge patches do.
    fn of(cursor: Cursor<'_>) -> Self {
        match cursor.list_type() {
            Some(ListType::Map) => Self::Keys(cursor.list_map_keys().map(SmolStr::from).collect()),
            Some(ListType::Set) => Self::Value,
            Some(ListType::Atomic) => Self::Position,
            None if !cursor.patch_strategy().merge => Self::Position,
            None => match cursor.patch_merge_key() {
                Some(keys) => Self::Keys(keys.split(',').map(|k| SmolStr::from(k.trim())).collect()),
                None => Self::Value,
            },
        }
    }

    /// The names of all entries; none when one has no name or two have the same.
    fn steps(&self, list: &[Node], element: Cursor<'_>) -> Option<Vec<PathElement>> {
        let steps: Vec<_> = list.iter().map(|node| self.step(node, element)).collect::<Option<_>>()?;
        let distinct: FxHashSet<&PathElement> = steps.iter().collect();
        (distinct.len() == steps.len()).then_some(steps)
    }

    fn step(&self, node: &Node, element: Cursor<'_>) -> Option<PathElement> {
        match self {
            Self::Position => None,
            Self::Value => PathValue::of(node).map(PathElement::Value),
            Self::Keys(keys) => {
                let value = |key: &SmolStr| match node.get(key) {
                    Some(value) => PathValue::of(value),
                    None => element.key_default(key).and_then(|json| PathValue::of(&default_node(json))),
                };
                let pairs = keys.iter().map(|key| Some((key.clone(), value(key)?)));
                pairs.collect::<Option<Vec<_>>>().filter(|p| !p.is_empty()).map(PathElement::Key)
            }
        }
    }
}

/// A scalar from the JSON text in which schemas keep defaults.
fn default_node(json: &str) -> Node {
    match serde_json::from_str(json) {
        Ok(serde_json::Value::String(text)) => Node::string(text),
        _ => Node::plain(json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Gvk, Schema};
    use crate::source::SourceMap;
    use crate::yaml::{ParseOptions, parse_one};

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
