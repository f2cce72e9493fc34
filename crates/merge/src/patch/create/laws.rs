//! Properties of created patches for arbitrary objects: applying a patch yields the modified object, applying it twice
//! has the same result, and no directives remain.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::create;
use crate::merge::directive::is_directive;
use crate::merge::testing::{BOTH, json, schema};
use crate::merge::{PatchRules, apply};
use crate::schema::Schema;
use smp_random_cases::fixed_cases;
use smp_text::diagnostic::Result;
use smp_text::yaml::{Map, Node, Value};

/// Returns the patched object, or an empty one if it was deleted.
fn patched(dest: Node, patch: &Node, rules: PatchRules) -> Result<Node> {
    let merged = apply(dest, patch, schema(), &Schema::empty(), rules)?;
    Ok(merged.node.unwrap_or_else(|| Node::map(Map::new())))
}

fn text() -> impl Strategy<Value = Node> {
    select(vec!["a", "b", "c", "1", "null", ""]).prop_map(Node::string)
}

fn number() -> impl Strategy<Value = Node> {
    (0_i64..4).prop_map(Node::int)
}

/// Generates a list of entries with distinct `keys`. With `duplicates`, keys may be equal.
fn list(
    entry: impl Strategy<Value = Node>,
    keys: &'static [&'static str],
    duplicates: bool,
) -> impl Strategy<Value = Node> {
    prop::collection::vec(entry, 0..4).prop_map(move |mut entries| {
        if !duplicates {
            let mut seen = Vec::new();
            entries.retain(|entry| {
                let name: Vec<Node> = match keys {
                    [] => vec![entry.clone()],
                    _ => keys
                        .iter()
                        .map(|key| entry.get(key).cloned().unwrap_or_else(|| Node::string("TCP")))
                        .collect(),
                };
                let new = !seen.contains(&name);
                seen.push(name);
                new
            });
        }
        Node::list(entries)
    })
}

/// Objects with some of the given fields.
fn object(fields: Vec<(&'static str, BoxedStrategy<Node>)>, always: usize) -> BoxedStrategy<Node> {
    let names: Vec<usize> = (always..fields.len()).collect();
    let most = names.len().min(4);
    subsequence(names, 0..=most)
        .prop_flat_map(move |chosen| {
            let chosen: Vec<_> = (0..always).chain(chosen).map(|i| fields[i].clone()).collect();
            let (names, values): (Vec<_>, Vec<_>) = chosen.into_iter().unzip();
            values.prop_map(move |values| Node::map(names.iter().copied().zip(values).collect::<Map>()))
        })
        .boxed()
}

fn thing(depth: u32, duplicates: bool) -> BoxedStrategy<Node> {
    let mut fields: Vec<(&'static str, BoxedStrategy<Node>)> = vec![
        ("name", text().boxed()),
        ("value", text().boxed()),
        ("number", number().boxed()),
        (
            "labels",
            prop::collection::btree_map("[a-c]", text(), 0..3)
                .prop_map(|map| {
                    Node::map(map.into_iter().map(|(k, v)| (smol_str::SmolStr::from(k), v)).collect())
                })
                .boxed(),
        ),
        ("set", list(text(), &[], duplicates).boxed()),
        ("strings", list(text(), &[], duplicates).boxed()),
        ("numbers", list(number(), &[], true).boxed()),
    ];
    let port = object(
        vec![
            ("port", number().boxed()),
            ("protocol", select(vec!["TCP", "UDP"]).prop_map(Node::string).boxed()),
            ("name", text().boxed()),
        ],
        1,
    );
    fields.push((
        "ports",
        list(port, if duplicates { &["port", "protocol"] } else { &["port"] }, duplicates).boxed(),
    ));
    let pair = || {
        object(
            vec![
                ("foo", text().boxed()),
                ("bar", text().boxed()),
                ("baz", text().boxed()),
                ("other", number().boxed()),
            ],
            1,
        )
    };
    fields.push(("custom", ports().boxed()));
    fields.push(("recommended", list(pair(), &["foo", "bar", "baz"], duplicates).boxed()));
    let full = object(vec![("foo", text().boxed()), ("bar", text().boxed()), ("other", number().boxed())], 2);
    fields.push(("both", list(full, &["foo", "bar"], duplicates).boxed()));
    if depth > 0 {
        for name in ["child", "replaced", "atomicMap", "union", "free"] {
            fields.push((name, thing(depth - 1, duplicates)));
        }
        for name in ["list", "atomic", "byName", "first", "volumes"] {
            fields.push((name, list(thing(depth - 1, duplicates), &["name"], duplicates).boxed()));
        }
    }
    object(fields, 1)
}

/// Generates a list of ports with distinct keys; the protocol has a default.
fn ports() -> impl Strategy<Value = Node> {
    let port = object(
        vec![
            ("port", number().boxed()),
            ("protocol", select(vec!["TCP", "UDP"]).prop_map(Node::string).boxed()),
            ("name", text().boxed()),
        ],
        1,
    );
    list(port, &["port", "protocol"], false)
}

fn has_directive(node: &Node) -> bool {
    match &node.value {
        Value::Map(map) => map.iter().any(|(key, value)| is_directive(key) || has_directive(value)),
        Value::List(list) => list.iter().any(has_directive),
        Value::Scalar(_) => false,
    }
}

/// Adds random directives to an object, like those of a patch written by a user.
fn direct(node: &mut Node, choices: &mut impl Iterator<Item = u8>) {
    let mut next = || choices.next().unwrap_or(0);
    match &mut node.value {
        Value::Map(map) => {
            match next() {
                1 => drop(map.insert("$patch", Node::string("delete"))),
                2 => drop(map.insert("$patch", Node::string("replace"))),
                3 => drop(map.insert("$patch", Node::string("merge"))),
                4 => drop(
                    map.insert("$patchMergeKey", Node::list(vec![Node::string("foo"), Node::string("bar")])),
                ),
                5 => drop(map.insert("$setElementOrder/byName", Node::list(Vec::new()))),
                6 => drop(map.insert("$retainKeys", Node::list(vec![Node::string("name")]))),
                7 => drop(map.insert("$deleteFromPrimitiveList/set", Node::list(vec![Node::string("a")]))),
                _ => {}
            }
            for (_, value) in map.iter_mut() {
                direct(value, choices);
            }
        }
        Value::List(list) => list.iter_mut().for_each(|entry| direct(entry, choices)),
        Value::Scalar(_) => {
            if next() == 8 {
                *node = Node::null();
            }
        }
    }
}

/// Sorts all lists of strings. kubectl's patches miss a change that only reorders a list of scalars.
fn sort_strings(node: &mut Node) {
    match &mut node.value {
        Value::Map(map) => {
            for (name, value) in map.iter_mut() {
                match value.as_list_mut().filter(|_| name == "strings") {
                    Some(list) => list.sort_by_key(json),
                    None => sort_strings(value),
                }
            }
        }
        Value::List(list) => list.iter_mut().for_each(sort_strings),
        Value::Scalar(_) => {}
    }
}

fn check_round_trip(a: &Node, b: &Node, rules: PatchRules) -> std::result::Result<(), TestCaseError> {
    let fail = |error| TestCaseError::fail(format!("{error:?}"));
    let patch = create(a, b, schema(), rules).map_err(fail)?;
    let mut got = a.clone();
    for time in ["once", "twice"] {
        got = patched(got, &patch, rules).map_err(fail)?;
        prop_assert!(
            got == *b,
            "{}\n  from {}\n  to   {}\n  got  {}\n  by   {}",
            time,
            json(a),
            json(b),
            json(&got),
            json(&patch)
        );
    }
    prop_assert!(!has_directive(&got));
    if a == b && rules == PatchRules::Overlay {
        prop_assert_eq!(patch, Node::map(Map::new()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(fixed_cases())]

    #[test]
    fn a_created_overlay_patch_yields_the_modified_object(a in thing(2, false), b in thing(2, false)) {
        check_round_trip(&a, &b, PatchRules::Overlay)?;
    }

    #[test]
    fn a_created_overlay_patch_works_with_duplicate_keys(a in thing(2, true), b in thing(2, true)) {
        check_round_trip(&a, &b, PatchRules::Overlay)?;
        check_round_trip(&a, &a, PatchRules::Overlay)?;
    }

    #[test]
    fn entries_of_others_stay(
        (field, before, after) in (select(vec!["ports", "custom"]), ports(), ports()),
        (others, ahead) in (1_i64..3, any::<bool>()),
    ) {
        let others: Vec<Node> = (10..10 + others)
            .map(|port| Node::map([("port", Node::int(port)), ("name", Node::string("theirs"))].into_iter().collect()))
            .collect();
        let of = |entries: &[Node]| Node::map([(field, Node::list(entries.to_vec()))].into_iter().collect());
        let entries = |node: &Node| node.as_list().cloned().unwrap_or_default();
        let (before, after) = (entries(&before), entries(&after));
        let live = if ahead { [others.clone(), before.clone()] } else { [before.clone(), others.clone()] };
        let fail = |error| TestCaseError::fail(format!("{error:?}"));
        let patch = create(&of(&before), &of(&after), schema(), PatchRules::Overlay).map_err(fail)?;
        let got = patched(of(&live.concat()), &patch, PatchRules::Overlay).map_err(fail)?;
        let got = got.get(field).map(entries).unwrap_or_default();
        let (theirs, ours): (Vec<_>, Vec<_>) = got.into_iter().partition(|entry| others.contains(entry));
        prop_assert_eq!(theirs, others, "{}", json(&patch));
        prop_assert_eq!(ours, after, "{}", json(&patch));
    }

    #[test]
    fn a_created_server_patch_yields_the_modified_object(mut a in thing(2, false), mut b in thing(2, false)) {
        sort_strings(&mut a);
        sort_strings(&mut b);
        check_round_trip(&a, &b, PatchRules::Apiserver)?;
    }

    #[test]
    fn no_directives_remain(a in thing(2, true), b in thing(2, true), choices in prop::collection::vec(0_u8..40, 64)) {
        let mut patch = b;
        direct(&mut patch, &mut choices.into_iter());
        for rules in BOTH {
            if let Ok(dest) = patched(a.clone(), &patch, rules) {
                prop_assert!(!has_directive(&dest), "{:?} {}", rules, json(&dest));
            }
        }
    }

    #[test]
    fn a_patch_without_directives_is_idempotent(a in thing(2, false), b in thing(2, false)) {
        if let Ok(once) = patched(a, &b, PatchRules::Overlay) {
            let twice = patched(once.clone(), &b, PatchRules::Overlay);
            let twice = twice.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
            prop_assert!(twice == once, "{}\n{}", json(&once), json(&twice));
        }
    }
}
