//! Semantic comparison of two trees.

use crate::merge::align::{self, AlignedEntry};
use crate::merge::apiserver::types::element as element_type;
use crate::merge::association::{Association, ListPolicy};
use crate::schema::Cursor;
use smp_text::path::{FieldPath, PathElement};
use smp_text::yaml::{Entry, Map, Node, Value};

/// A value that differs between two trees.
#[derive(Debug, Clone)]
pub struct Change<'n> {
    /// The field path. Entries of associative lists are identified by their merge keys.
    pub path: FieldPath,
    /// The old value; `None` if the value was added.
    pub old: Option<&'n Node>,
    /// The new value; `None` if the value was removed.
    pub new: Option<&'n Node>,
}

/// All differences between two trees, in the order of the new tree. Removed values come last at each level.
///
/// ```
/// use strategic_merge_patch::diff::compare;
/// use strategic_merge_patch::schema::Cursor;
/// use smp_text::yaml::Node;
///
/// let old: Node = "{a: 1e3, b: [x]}".parse()?;
/// let new: Node = "{b: [x], a: 1000.0, c: true}".parse()?;
/// let comparison = compare(Some(&old), Some(&new), Cursor::unknown());
/// let [change] = comparison.changes() else { panic!("one change") };
/// assert_eq!((change.path.to_string(), change.old.is_none(), change.new.is_some()), ("c".into(), true, true));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Comparison<'n> {
    changes: Vec<Change<'n>>,
}

impl<'n> Comparison<'n> {
    /// Returns true if both trees have the same data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the differences. An added or removed map or list is one difference.
    #[must_use]
    pub fn changes(&self) -> &[Change<'n>] {
        &self.changes
    }
}

/// Compares two trees. `None` stands for a missing tree.
///
/// Entries of lists that are associative in the schema are matched by merge key, so they may move. Entries of other
/// lists are matched by index, so a removal in the middle changes all following entries.
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
    compare_by(&BySchema { order_matters: false }, [old, new], cursor)
}

/// Compares two trees like [`compare`]. A list whose entries only moved is a difference.
#[must_use]
pub fn compare_in_order<'n>(
    old: Option<&'n Node>,
    new: Option<&'n Node>,
    cursor: Cursor<'_>,
) -> Comparison<'n> {
    compare_by(&BySchema { order_matters: true }, [old, new], cursor)
}

/// The rules that determine which values are equal.
pub trait Equality {
    /// Chooses how two lists are compared.
    fn lists(&self, lists: [&[Node]; 2], list: Cursor<'_>) -> ListPairing;

    /// Returns true if a list whose entries only moved is a difference.
    fn order_matters(&self) -> bool {
        false
    }

    /// Returns true if a null field equals an absent one. `map` is the type of the map with the field. `name` is the
    /// name of the field that contains the map; it is empty for list entries.
    fn null_is_absent(&self, _map: Cursor<'_>, _name: &str, _field: &str) -> bool {
        false
    }
}

/// The method by which an old and a new list are compared.
pub enum ListPairing {
    /// Entry by entry. Each pair has its path element, and its index in both lists.
    Entries(Vec<(PathElement, [Option<usize>; 2])>),
    /// As a single value.
    Whole {
        /// True if both lists are equal.
        same: bool,
    },
}

impl ListPairing {
    /// Pairs entries by the merge keys of the association. Returns `None` if the merge keys do not identify all
    /// entries.
    pub(crate) fn by_key([old, new]: [&[Node]; 2], association: &Association) -> Option<Self> {
        let row = |AlignedEntry { identity: name, positions: [new, old] }| {
            Some((association.path_element(&name)?, [old, new]))
        };
        let rows = align::entries([new, old], association)?;
        rows.into_iter().map(row).collect::<Option<_>>().map(Self::Entries)
    }

    /// Pairs the entries of lists with these lengths by index.
    pub(crate) fn by_index(lengths: [usize; 2]) -> Self {
        let at = |i: usize| lengths.map(|length| Some(i).filter(|i| *i < length));
        Self::Entries((0..lengths[0].max(lengths[1])).map(|i| (PathElement::Index(i), at(i))).collect())
    }
}

/// Pairs the entries of lists by merge key if the schema has one, otherwise by index.
struct BySchema {
    order_matters: bool,
}

impl Equality for BySchema {
    fn lists(&self, lists: [&[Node]; 2], list: Cursor<'_>) -> ListPairing {
        if lists[0] == lists[1] {
            return ListPairing::Whole { same: true };
        }
        ListPairing::by_key(lists, &Association::of_list(list, ListPolicy::Typed))
            .unwrap_or_else(|| ListPairing::by_index(lists.map(<[Node]>::len)))
    }

    fn order_matters(&self) -> bool {
        self.order_matters
    }
}

/// Compares an old and a new tree.
pub fn compare_by<'n>(
    same: &dyn Equality,
    [old, new]: [Option<&'n Node>; 2],
    cursor: Cursor<'_>,
) -> Comparison<'n> {
    let mut walk = Comparer { same, path: FieldPath::root(), changes: Vec::new() };
    walk.values(old, new, cursor, "");
    Comparison { changes: walk.changes }
}

struct Comparer<'w, 'n> {
    same: &'w dyn Equality,
    path: FieldPath,
    changes: Vec<Change<'n>>,
}

impl<'n> Comparer<'_, 'n> {
    fn values(&mut self, old: Option<&'n Node>, new: Option<&'n Node>, cursor: Cursor<'_>, name: &str) {
        if let (Some(old), Some(new)) = (old, new) {
            match (&old.value, &new.value) {
                (Value::Map(a), Value::Map(b)) => return self.maps([a, b], cursor, name),
                (Value::List(_), Value::List(_)) => return self.lists([old, new], cursor),
                _ if old == new => return,
                _ => {}
            }
        }
        if old.is_some() || new.is_some() {
            self.changes.push(Change { path: self.path.clone(), old, new });
        }
    }

    fn maps(&mut self, [old, new]: [&'n Map; 2], map: Cursor<'_>, map_name: &str) {
        for row in align::fields([new, old]) {
            let Some(Entry { key, .. }) = row[0].or(row[1]) else { continue };
            let name = key.text.as_str();
            let is_there = |node: &&Node| !node.is_null() || !self.same.null_is_absent(map, map_name, name);
            let [new, old] = row.map(|entry| entry.map(|entry| &entry.value).filter(is_there));
            // Most fields are equal scalars. They need no type lookup.
            if old.zip(new).is_some_and(|(old, new)| old.is_leaf() && old == new) {
                continue;
            }
            self.path.push(PathElement::Field(key.text.clone()));
            self.values(old, new, map.field(name), name);
            self.path.pop();
        }
    }

    fn lists(&mut self, nodes: [&'n Node; 2], list: Cursor<'_>) {
        let [old, new] = nodes.map(|node| node.as_list().map(Vec::as_slice).unwrap_or_default());
        let is_whole_change = match self.same.lists([old, new], list) {
            ListPairing::Whole { same } => !same,
            ListPairing::Entries(rows) => {
                let before = self.changes.len();
                for (element, [at_old, at_new]) in rows {
                    self.path.push(element);
                    self.values(at_old.map(|i| &old[i]), at_new.map(|i| &new[i]), element_type(list), "");
                    self.path.pop();
                }
                self.same.order_matters() && self.changes.len() == before && old != new
            }
        };
        if is_whole_change {
            let [old, new] = nodes.map(Some);
            self.changes.push(Change { path: self.path.clone(), old, new });
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
    fn notation_does_not_count_as_a_difference() {
        let old = "{a: 1000, b: 'x', c: [1, 2]}";
        let new = "c:\n- 0x1\n- 2\nb: x # note\na: 1e3\n";
        assert!(paths(old, new, Cursor::unknown()).is_empty());
    }

    #[test]
    fn a_different_type_is_a_difference() {
        assert_eq!(paths("a: 1", "a: '1'", Cursor::unknown()), ["~a"]);
        assert_eq!(paths("a: null", "{}", Cursor::unknown()), ["-a"], "null is not absent");
        assert_eq!(paths("a: {b: 1}", "a: [1]", Cursor::unknown()), ["~a"]);
    }

    #[test]
    fn lists_without_a_schema_are_matched_by_index() {
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
    fn entries_with_duplicate_keys_are_matched_by_index() {
        let schema = Schema::embedded();
        let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("a Pod");
        let twice = "spec: {containers: [{name: a}, {name: a, image: x}]}";
        assert_eq!(paths(twice, "spec: {containers: [{name: a}]}", pod), ["-spec.containers[1]"]);
    }

    #[test]
    fn moved_entries_are_a_change_if_the_order_matters() {
        let schema = Schema::embedded();
        let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("a Pod");
        let [old, new] = ["[{name: a}, {name: b}]", "[{name: b}, {name: a}]"]
            .map(|list| node(&format!("spec: {{containers: {list}}}")));
        assert!(compare(Some(&old), Some(&new), pod).is_empty());
        let changes = compare_in_order(Some(&old), Some(&new), pod);
        let paths: Vec<_> = changes.changes().iter().map(|change| change.path.to_string()).collect();
        assert_eq!(paths, ["spec.containers"]);
    }

    #[test]
    fn an_absent_tree_is_compared() {
        let tree = node("a: 1");
        assert_eq!(compare(None, Some(&tree), Cursor::unknown()).changes().len(), 1);
        assert!(compare(None, None, Cursor::unknown()).is_empty());
    }
}
