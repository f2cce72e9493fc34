//! Patches of every type for objects of every built-in kind: merged or rejected. Created patches lead to the
//! modified object.
#![no_main]

use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use kubectl_smp_fuzz::{add_directives, add_keys, has_directive, value};
use libfuzzer_sys::fuzz_target;
use smp_merge::merge::{Exceptions, InferKeys, ListOrder, MergeOptions, PatchRules, apply, merge2};
use smp_merge::patch::{
    ThreeWayOptions, apply_json_merge, create, create_json_merge, create_json_patch, create_three_way,
    parse_json_patch,
};
use smp_merge::schema::{Cursor, Gvk, Schema};
use smp_text::yaml::{Map, Node};

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::embedded);
/// The kinds with known types. Only the scope is known of some kinds.
static KINDS: LazyLock<Vec<Gvk>> = LazyLock::new(|| {
    let kinds = SCHEMA.graphs().flat_map(|(_, graph)| graph.kinds().map(|(gvk, _)| gvk));
    kinds.filter(|gvk| SCHEMA.kind(gvk).is_some()).collect()
});

fn object(from: &mut Unstructured<'_>, kind: Cursor<'_>) -> Result<Node> {
    let mut object = value(from, kind, 8)?;
    add_keys(from, &mut object, kind)?;
    // Manifests are maps.
    Ok(if object.as_map().is_some() { object } else { Node::map(Map::new()) })
}

fn run(from: &mut Unstructured<'_>) -> Result<()> {
    let gvk = from.choose(&KINDS)?;
    let kind = SCHEMA.kind(gvk).expect("known");
    let (original, modified) = (object(from, kind)?, object(from, kind)?);
    let (plain, current) = (object(from, kind)?, object(from, kind)?);
    let mut patch = plain.clone();
    add_directives(from, &mut patch)?;

    for rules in [PatchRules::Apiserver, PatchRules::Overlay] {
        let merged = apply(original.clone(), &patch, kind, &SCHEMA, rules);
        let merged = merged.ok().and_then(|merged| merged.node);
        let is_clean = merged.as_ref().is_none_or(|merged| !has_directive(merged));
        assert!(rules == PatchRules::Apiserver || is_clean, "{merged:?}");
    }
    for options in [
        MergeOptions::kustomize(Exceptions::None),
        MergeOptions::kustomize(Exceptions::Documented),
        MergeOptions::kyaml(ListOrder::Append, InferKeys::common()),
    ] {
        let _ = merge2(Some(original.clone()), &patch, &SCHEMA, &options);
    }
    for rules in [PatchRules::Apiserver, PatchRules::Overlay] {
        let _ = create(&original, &modified, kind, rules);
    }
    let _ = create_three_way(&original, &modified, &current, kind, &ThreeWayOptions::default());

    let made =
        parse_json_patch(&create_json_patch(&original, &modified)).expect("a patch that was made is one");
    let mut merged = original.clone();
    made.apply(&mut merged).expect("a patch that was made can be applied");
    assert_eq!(merged, modified, "by JSON patch");
    let _ = parse_json_patch(&patch).map(|patch| patch.apply(&mut merged));

    let mut merged = original.clone();
    apply_json_merge(&mut merged, &create_json_merge(&original, &modified));
    // A JSON merge patch cannot set a field to null.
    assert!(merged == modified || has_null(&modified), "by JSON merge patch: {merged:?} is not {modified:?}");
    Ok(())
}

fn has_null(node: &Node) -> bool {
    node.is_null()
        || node.as_map().is_some_and(|map| map.iter().any(|(_, value)| has_null(value)))
        || node.as_list().is_some_and(|list| list.iter().any(has_null))
}

fuzz_target!(|bytes: &[u8]| {
    let _ = run(&mut Unstructured::new(bytes));
});
