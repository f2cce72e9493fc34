//! Finds the changed fields of a manifest. List entries are identified by merge keys, never by index.

use smp_merge::diff::{Equality, ListPairing, compare_by};
use smp_merge::merge::InferKeys;
use smp_merge::merge::align;
use smp_merge::merge::association::ListPolicy;
use smp_merge::schema::Cursor;
use smp_text::path::{FieldPath, PathElement};
use smp_text::yaml::Node;

/// Differences between two versions.
pub(super) struct ChangedFields {
    pub paths: Vec<FieldPath>,
    /// Number of removed list entries.
    pub removed_entries: usize,
}

/// Compares two versions by the schema, or by common merge keys for lists that it does not describe. A list
/// without merge keys is one field.
pub(super) fn changed_fields(old: &Node, new: &Node, cursor: Cursor<'_>) -> ChangedFields {
    let comparison = compare_by(&ByCommonKeys, [Some(old), Some(new)], cursor);
    let changes = comparison.changes();
    let is_entry = |path: &FieldPath| !matches!(path.elements().last(), None | Some(PathElement::Field(_)));
    let removed_entries = changes.iter().filter(|c| c.new.is_none() && is_entry(&c.path)).count();
    ChangedFields { paths: changes.iter().map(|change| change.path.clone()).collect(), removed_entries }
}

struct ByCommonKeys;

impl Equality for ByCommonKeys {
    fn lists(&self, [old, new]: [&[Node]; 2], list: Cursor<'_>) -> ListPairing {
        if old == new {
            return ListPairing::Whole { same: true };
        }
        let Some(rows) = align_by_common_keys([new, old], list) else {
            return ListPairing::Whole { same: false };
        };
        ListPairing::Entries(rows.into_iter().map(|(step, [new, old])| (step, [old, new])).collect())
    }

    fn order_matters(&self) -> bool {
        true
    }
}

/// Aligns the entries of several lists: the path element of each entry, and its position in each list. `None` if
/// the entries have no merge keys.
pub(super) fn align_by_common_keys<const N: usize>(
    lists: [&[Node]; N],
    list: Cursor<'_>,
) -> Option<Vec<(PathElement, [Option<usize>; N])>> {
    let usual = InferKeys::common();
    let (association, aligned) = align::lists(lists, list, ListPolicy::Typed, usual.keys())?;
    let row = |row: align::AlignedEntry<N>| Some((association.path_element(&row.identity)?, row.positions));
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
    fn list_entries_are_identified_by_keys_only() {
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
