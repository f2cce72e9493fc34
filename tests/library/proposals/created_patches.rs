//! Created patches include the merge keys of entries.

use smp_merge::merge::{PatchRules, apply};
use smp_merge::patch::json::PatchType;
use smp_merge::patch::{CreateOptions, PatchInputs, create_verified};
use smp_merge::schema::Schema;
use smp_text::yaml::Node;

use super::{BOTH, SCHEMA, check, created, node, read};

/// "the patch will use the the original values of the merge keys to identify the items": created patches do so,
/// and changes that others made in the entry stay.
#[test]
fn created_patches_identify_entries_by_their_original_keys() {
    let table = [
        (
            "recommended: [{foo: a, bar: x}, {foo: b}]",
            "recommended: [{foo: a, bar: x, baz: m}, {foo: b}]",
            "{$patchMergeKey: [foo, bar], foo: a, bar: x, baz: m}",
            "recommended: [{foo: a, bar: x, other: 1}, {foo: b}]",
            "recommended: [{foo: a, bar: x, other: 1, baz: m}, {foo: b}]",
        ),
        (
            "recommended: [{foo: a, bar: x}, {foo: b}]",
            "recommended: [{foo: a}, {foo: b}]",
            "{$patchMergeKey: [foo, bar, baz], foo: a, bar: null}",
            "recommended: [{foo: a, bar: x, other: 1}, {foo: b}]",
            "recommended: [{foo: a, other: 1}, {foo: b}]",
        ),
    ];
    for (original, modified, entry, live, want) in table {
        for rules in BOTH {
            let patch = created(original, modified, rules);
            let entries = patch.get("recommended").and_then(Node::as_list).cloned().expect("entries");
            assert_eq!(entries, [node(entry)], "{rules:?}");
            let graph = read(SCHEMA).expect("readable");
            let kind = graph.named("Thing").expect("defined");
            for (from, to) in [(original, modified), (modified, modified), (live, want)] {
                let got = apply(node(from), &patch, kind, &Schema::empty(), rules).expect("merged").node;
                assert_eq!(got, Some(node(to)), "{rules:?} {from}");
            }
            // Also with three versions.
            let (original, modified, live) = (node(original), node(modified), node(live));
            let sides = PatchInputs { original: &original, modified: &modified, current: Some(&live) };
            let mut options = CreateOptions::default().rules(rules);
            options.three_way =
                options.three_way.overwrite(rules == PatchRules::Apiserver).same_identity(false);
            let patch = create_verified(&sides, PatchType::Strategic, kind, &options).expect("a patch").value;
            let got = apply(live.clone(), &patch, kind, &Schema::empty(), rules).expect("merged").node;
            assert_eq!(got, Some(node(want)), "{rules:?}");
        }
    }
}

#[test]
fn created_patches_replace_entries_with_ambiguous_original_keys() {
    let patch = created(
        "recommended: [{foo: a, bar: x}, {foo: a, bar: y}]",
        "recommended: [{foo: a}, {foo: a, bar: y}]",
        PatchRules::Overlay,
    );
    assert_eq!(
        patch.get("recommended"),
        Some(&node(
            "[{$patchMergeKey: [foo, bar, baz], $patch: delete, foo: a, bar: x}, {$patchMergeKey: [foo, bar, baz], foo: a}]"
        ))
    );
}

/// "There are no patch format changes": patches of lists whose merge key has commas contain nothing new.
#[test]
fn created_patches_of_a_key_with_commas_have_no_directive() {
    for list in ["both", "typed"] {
        for rules in BOTH {
            let patch = created(
                &format!("{list}: [{{foo: a, bar: x}}, {{foo: a, bar: y}}]"),
                &format!("{list}: [{{foo: a, bar: x, other: 1}}]"),
                rules,
            );
            let want = node("[{foo: a, bar: x, other: 1}, {$patch: delete, foo: a, bar: y}]");
            assert_eq!(patch.get(list), Some(&want), "{list} {rules:?}");
        }
    }
}

/// "the update operation will be break into a delete operation and a create operation. The server will apply the
/// deletion and then the create operation." — "When the user changes a field which is a merge key and it is NOT in
/// the $patchMergeKey list, the update operation will be just considered as a regular update as non-mergeKey fields."
#[test]
fn changed_key_deletes_and_creates_the_entry() {
    let live = "two: [{foo: a, bar: x, other: val}]";
    let old = "{$patchMergeKey: [foo, bar], $patch: delete, foo: a, bar: x}";
    let new = "{$patchMergeKey: [foo, bar], foo: a, bar: y}";
    check(
        &BOTH,
        &[
            (live, &format!("two: [{old}, {new}]"), "two: [{foo: a, bar: y}]"),
            // The order of the two entries does not matter.
            (live, &format!("two: [{new}, {old}]"), "two: [{foo: a, bar: y}]"),
            (live, "two: [{$patchMergeKey: [foo], foo: a, bar: y}]", "two: [{foo: a, bar: y, other: val}]"),
        ],
    );
    let patch = created("two: [{foo: a, bar: x}]", "two: [{foo: a, bar: y}]", PatchRules::Overlay);
    assert_eq!(patch, node(&format!("two: [{new}, {old}]")));
}

/// "When calculating the patch, we should always use all of the recommended merge keys. It means we will include all
/// the merge keys in the $patchMergeKey list, even though there may be only part of them present in the patch".
#[test]
fn created_patches_name_all_recommended_keys() {
    for rules in BOTH {
        let patch = created("recommended: [{foo: a}]", "recommended: [{foo: a, other: 1}]", rules);
        let entry =
            patch.get("recommended").and_then(|list| list.as_list()?.first().cloned()).expect("an entry");
        assert_eq!(entry, node("{$patchMergeKey: [foo, bar, baz], foo: a, other: 1}"), "{rules:?}");
        let patch = created("same: [{foo: a}]", "same: [{foo: a, other: 1}]", rules);
        let entry = patch.get("same").and_then(|list| list.as_list()?.first().cloned()).expect("an entry");
        assert_eq!(entry, node("{$patchMergeKey: [foo], foo: a, other: 1}"), "{rules:?}");
    }
}

/// "An old server will drop the field it doesn't recognise. And the new patch is the superset of the old patch and the
/// difference is the directve. Thus, the behavior of the old server will not be affected." — "An old client sending a
/// old patch without `$patchMergeKey` is backward compatible".
#[test]
fn new_patches_are_old_patches_plus_the_directive() {
    let versions = [("{L: [{foo: a, bar: x}, {foo: b}]}", "{L: [{foo: a, bar: x, other: 1}, {foo: c}]}")];
    for (original, modified) in versions {
        let of = |list: &str| {
            created(&original.replace('L', list), &modified.replace('L', list), PatchRules::Apiserver)
        };
        let (old, new) = (of("plain"), of("two"));
        let entries = |patch: &Node, list: &str| {
            let mut entries = patch.get(list).and_then(Node::as_list).cloned().expect("entries");
            let mut named = 0;
            for map in entries.iter_mut().filter_map(Node::as_map_mut) {
                named += usize::from(map.remove("$patchMergeKey").is_some());
            }
            (entries, named)
        };
        let ((old, none), (new, named)) = (entries(&old, "plain"), entries(&new, "two"));
        assert_eq!((none, named), (0, new.len()));
        for (old, new) in old.iter().zip(&new) {
            for (name, value) in old.as_map().expect("a map").iter() {
                assert_eq!(new.get(name), Some(value), "the new entry has all of the old one");
            }
        }
        // Without the directive, it has the same effect on a list that the default key identifies.
        let stripped = Node::map([("plain", Node::list(new))].into_iter().collect());
        let graph = read(SCHEMA).expect("readable");
        let kind = graph.named("Thing").expect("defined");
        let live = node(&original.replace('L', "plain"));
        let got = apply(live, &stripped, kind, &Schema::empty(), PatchRules::Overlay).expect("merged").node;
        assert_eq!(got, Some(node(&modified.replace('L', "plain"))));
    }
}
