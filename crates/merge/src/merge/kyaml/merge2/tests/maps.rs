//! Tables of two-way merges of maps and scalars.

use crate::merge::kyaml::testing::{commented, expected, format_data, node, outcome};
use crate::merge::options::MergeOptions;
use crate::merge::{Exceptions, merge2};
use crate::schema::Schema;
use smp_text::yaml::{Key, Meta, Node};

fn merged(dest: &str, patch: &str) -> String {
    let dest = (!dest.is_empty()).then(|| node(dest));
    outcome(merge2(dest, &node(patch), &Schema::kustomize(), &MergeOptions::kustomize(Exceptions::None)))
}

#[test]
fn maps_merge_field_by_field() {
    let table = [
        ("{a: 1}", "{a: 2, b: 3}", "{a: 2, b: 3}"),
        ("{z: 1}", "{c: 1, B: 2, a: 3}", "{z: 1, B: 2, a: 3, c: 1}"),
        ("{a: {x: 1, y: {z: 1}}}", "{a: {y: {w: 2}}}", "{a: {x: 1, y: {z: 1, w: 2}}}"),
        ("{a: {x: 1}}", "{a: {}}", "{a: {x: 1}}"),
        ("{a: [1, 2]}", "{a: [3]}", "{a: [3]}"),
        ("{a: [1, 2]}", "{a: []}", "{a: []}"),
        ("{a: null}", "{a: {b: 1}}", "{a: {b: 1}}"),
        ("{a: null}", "{a: x}", "{a: x}"),
        ("", "{a: {b: null, c: 1}}", "{a: {c: 1}}"),
    ];
    for (dest, patch, want) in table {
        assert_eq!(merged(dest, patch), expected(want), "{patch} onto {dest}");
    }
}

#[test]
fn nulls_remove_fields_and_are_not_output() {
    let table = [
        ("{a: 1, b: 2}", "{a: null}", "{b: 2}"),
        ("{b: 2}", "{a: ~}", "{b: 2}"),
        ("{a: {b: 1}}", "{a: {b: null}}", "{a: {}}"),
        ("{a: [1]}", "{a: null}", "{}"),
        ("{}", "{a: {b: {c: null}, d: null}}", "{a: {b: {}}}"),
        ("{}", "{a: [null, {b: null}]}", "{a: [null, {b: null}]}"),
        // Where the patch has no value, an explicit null stays and an empty value is removed.
        ("a:\nb: null\nc: {d: ~, e: }\n", "{x: 1}", "{b: null, c: {d: null}, x: 1}"),
        ("{a: [{b: }]}", "{x: 1}", "{a: [{b: null}], x: 1}"),
    ];
    for (dest, patch, want) in table {
        assert_eq!(merged(dest, patch), expected(want), "{patch} onto {dest}");
    }
}

#[test]
fn patch_directives_apply_to_maps() {
    let table = [
        ("{a: {x: 1}, b: 1}", "{a: {$patch: delete}}", "{b: 1}"),
        ("{a: {x: 1}}", "{a: {$patch: replace, y: 2, z: null}}", "{a: {y: 2}}"),
        ("{a: {x: 1}}", "{a: {$patch: merge, y: 2}}", "{a: {x: 1, y: 2}}"),
        ("{a: 1}", "{$patch: delete}", "none"),
        ("{a: 1}", "{$patch: replace, b: 2}", "{b: 2}"),
        ("{}", "{a: {$patch: delete, x: 1}}", "{}"),
        ("{}", "{a: {$patch: merge, x: 1}}", "{a: {x: 1}}"),
        ("{}", "{a: {b: {$patch: delete}, c: {$patch: replace, d: 1}}}", "{a: {c: {d: 1}}}"),
        ("{a: {x: 1}}", "{a: {$patch: drop}}", "Directive"),
        ("{}", "{a: {b: {$patch: drop}}}", "Directive"),
        ("{}", "{a: {$patch: drop}}", "{a: {$patch: drop}}"),
        ("{a: {x: 1}}", "{a: {$retainKeys: [x], y: 1}}", "{a: {x: 1, $retainKeys: [x], y: 1}}"),
    ];
    for (dest, patch, want) in table {
        assert_eq!(merged(dest, patch), expected(want), "{patch} onto {dest}");
    }
    let auto = merge2(
        Some(node("{}")),
        &node("{a: {$patch: drop}}"),
        &Schema::empty(),
        &MergeOptions::kustomize(Exceptions::Documented),
    );
    assert_eq!(outcome(auto), "Directive");
}

#[test]
fn values_of_different_types_cannot_be_merged() {
    for (dest, patch) in
        [("{a: {}}", "{a: 1}"), ("{a: [1]}", "{a: {b: 1}}"), ("{a: x}", "{a: []}"), ("{a: 1}", "[1]")]
    {
        assert_eq!(merged(dest, patch), "WrongType", "{patch} onto {dest}");
    }
    let error = merge2(
        Some(node("{a: {b: [1]}}")),
        &node("{a: {b: x}}"),
        &Schema::empty(),
        &MergeOptions::kustomize(Exceptions::Documented),
    );
    let error = error.expect_err("a list and a string");
    assert_eq!(error.field_path(), Some("a.b"));
    assert_eq!(error.labels().len(), 2, "both spans");
}

#[test]
fn style_of_dest_decides_the_type() {
    let table = [
        ("{a: \"1\"}", "{a: 5}", "{a: \"5\"}"),
        ("{a: 1}", "{a: \"5\"}", "{a: \"5\"}"),
        ("{a: 1}", "{a: 5}", "{a: 5}"),
        ("{a: [1]}", "{a: [\"5\", 6]}", "{a: [\"5\", 6]}"),
        ("{}", "{a: \"5\", b: 6}", "{a: \"5\", b: 6}"),
    ];
    for (dest, patch, want) in table {
        assert_eq!(merged(dest, patch), expected(want), "{patch} onto {dest}");
    }
}

#[test]
fn an_object_within_an_object_has_its_own_type() {
    let dest =
        "{kind: Foo, spec: {raw: {apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: x}]}}}}";
    let patch = "{spec: {raw: {spec: {containers: [{name: a, image: y}, {name: b}]}}}}";
    let want = "{kind: Foo, spec: {raw: {apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: y}, {name: b}]}}}}";
    assert_eq!(merged(dest, patch), expected(want));
}

#[test]
fn comments_and_layout_are_kept() {
    let dest = commented("# head\na: 1 # old\nb: {} # keep\nc: [1]\nd: x\n");
    let patch = commented("a: 2\nb: # mine\n  x: 1\nc:\n- 2\n# new\ne: 3 # with\n");
    let merged = merge2(Some(dest), &patch, &Schema::empty(), &MergeOptions::kustomize(Exceptions::None));
    let merged = merged.expect("merged").node.expect("something");
    assert_eq!(format_data(&merged), "{a: 2, b: {x: 1}, c: [2], d: x, e: 3}");
    let entries = merged.as_map().expect("a map").entries();
    let comments = |meta: &Meta| meta.comments.as_deref().cloned().unwrap_or_default();
    assert_eq!(comments(&entries[0].key.meta).head, ["# head"]);
    assert_eq!(comments(&entries[0].value.meta).line, None, "it was about the old value");
    assert_eq!(comments(&entries[1].value.meta).line.as_deref(), Some("# keep"));
    assert_eq!(entries[1].value.meta.style, smp_text::yaml::Style::Block, "it was empty");
    assert_eq!(entries[2].value.meta.style, smp_text::yaml::Style::Flow);
    assert!(comments(&entries[4].key.meta).head.is_empty(), "kyaml drops those of new keys");
    assert_eq!(comments(&entries[4].value.meta).line.as_deref(), Some("# with"));
}

#[test]
fn large_maps_merge_like_small_ones() {
    let map = |n: usize, step: usize, value: &str| -> Node {
        let fields = (0..n).map(|i| (Key::from(format!("k{:04}", i * step).as_str()), Node::plain(value)));
        Node::map(fields.collect())
    };
    let merged = merge2(
        Some(map(100, 1, "a")),
        &map(40, 5, "b"),
        &Schema::empty(),
        &MergeOptions::kustomize(Exceptions::Documented),
    );
    let merged = merged.expect("merged").node.expect("something");
    let entries = merged.as_map().expect("a map").entries();
    assert_eq!(entries.len(), 120);
    for (i, entry) in entries.iter().enumerate() {
        let (key, value) =
            if i < 100 { (i, if i % 5 == 0 { "b" } else { "a" }) } else { ((i - 80) * 5, "b") };
        assert_eq!(entry.key.text, format!("k{key:04}"));
        assert_eq!(entry.value.as_str(), Some(value), "{key}");
    }
}
