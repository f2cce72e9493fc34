//! JSON merge patches (RFC 7386): maps merge, null removes a field, and any other value replaces the old one.

use std::convert::Infallible;

use crate::merge::align;
use crate::merge::fields::{self, MergedField, replace_value};
use smp_text::yaml::{Map, Node, Value};

/// Applies a JSON merge patch.
///
/// Existing fields keep their order, and new ones are appended.
pub fn apply_json_merge(dest: &mut Node, patch: &Node) {
    let Value::Map(changes) = &patch.value else {
        replace_value(dest, patch.clone());
        return;
    };
    if dest.as_map().is_none() {
        replace_value(dest, Node { value: Value::Map(Map::new()), meta: patch.meta.clone() });
    }
    let Value::Map(map) = &mut dest.value else { return };
    let Ok(()) = fields::merge(map, changes.entries().iter(), |live, entry| -> Result<_, Infallible> {
        Ok(match live {
            _ if entry.value.is_null() => MergedField::Removed,
            Some(live) => {
                apply_json_merge(live, &entry.value);
                MergedField::InPlace
            }
            None => {
                let mut new = Node::null();
                apply_json_merge(&mut new, &entry.value);
                MergedField::Value(new)
            }
        })
    });
}

/// Creates the JSON merge patch that turns `original` into `modified`.
///
/// A field that is null in `modified` is removed, because a merge patch can set null only within lists.
#[must_use]
pub fn create_json_merge(original: &Node, modified: &Node) -> Node {
    let (Value::Map(before), Value::Map(after)) = (&original.value, &modified.value) else {
        return modified.clone();
    };
    let mut patch = Map::new();
    for row in align::fields([after, before]) {
        match row {
            [Some(new), Some(old)] if old.value == new.value => {}
            [Some(new), Some(old)] => {
                patch.push(new.key.text.clone(), create_json_merge(&old.value, &new.value));
            }
            [Some(new), None] => patch.push(new.key.text.clone(), new.value.clone()),
            [None, Some(old)] => patch.push(old.key.text.clone(), Node::null()),
            [None, None] => {}
        }
    }
    Node::map(patch)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use smp_random_cases::fixed_cases;
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one, to_json};

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("t.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn json(node: &Node) -> String {
        to_json(node).expect("finite")
    }

    #[test]
    fn patches_are_applied() {
        let table = [
            ("{a: b}", "{a: c}", "{a: c}"),
            ("{a: b}", "{b: c}", "{a: b, b: c}"),
            ("{a: b}", "{a: null}", "{}"),
            ("{a: b, b: c}", "{a: null, x: null}", "{b: c}"),
            ("{a: [b]}", "{a: c}", "{a: c}"),
            ("{a: c}", "{a: [b]}", "{a: [b]}"),
            ("{a: {b: c}}", "{a: {b: d, c: null}}", "{a: {b: d}}"),
            ("{a: [{b: c}]}", "{a: [1, null]}", "{a: [1, null]}"),
            ("[a, b]", "[c]", "[c]"),
            ("{a: b}", "[c]", "[c]"),
            ("{a: b}", "null", "null"),
            ("{e: null}", "{a: 1}", "{e: null, a: 1}"),
            ("[1]", "{a: b, c: null}", "{a: b}"),
            ("{}", "{a: {b: {c: null}}}", "{a: {b: {}}}"),
            ("{a: x}", "{a: {b: {c: null}}}", "{a: {b: {}}}"),
        ];
        for (dest, patch, want) in table {
            let mut got = node(dest);
            apply_json_merge(&mut got, &node(patch));
            assert_eq!(json(&got), json(&node(want)), "{dest} {patch}");
        }
    }

    #[test]
    fn patches_are_created() {
        let table = [
            ("{a: 1, b: {c: 1, d: 2}}", "{a: 1, b: {c: 2}}", "{b: {c: 2, d: null}}"),
            ("{a: [1, 2]}", "{a: [2]}", "{a: [2]}"),
            ("{a: 1}", "{a: '1'}", "{a: '1'}"),
            ("{a: {b: 1}}", "{a: 1}", "{a: 1}"),
            ("{a: 1}", "{a: 1}", "{}"),
            ("{a: 1}", "[1]", "[1]"),
            ("{a: 0x1}", "{a: 1}", "{}"),
        ];
        for (original, modified, want) in table {
            assert_eq!(json(&create_json_merge(&node(original), &node(modified))), json(&node(want)));
        }
    }

    fn value() -> impl Strategy<Value = Node> {
        let leaf = prop_oneof![(0_i64..4).prop_map(Node::int), "[a-c]{0,2}".prop_map(Node::string)];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Node::list),
                prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|map| {
                    Node::map(map.into_iter().map(|(k, v)| (smol_str::SmolStr::from(k), v)).collect())
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(fixed_cases())]

        #[test]
        fn a_created_patch_yields_the_modified_object(a in value(), b in value()) {
            let patch = create_json_merge(&a, &b);
            let mut got = a;
            for _ in 0..2 {
                apply_json_merge(&mut got, &patch);
                prop_assert!(got == b, "{} {}", json(&got), json(&b));
            }
        }
    }
}
