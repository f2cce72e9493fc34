//! Properties of all objects: created patches lead to the modified object, directives never reach a result, and
//! every value of a result comes from an input. Properties of lossless merges are in `merge_laws.rs`.
//!
//! 5,000 cases for each property, or `SMP_TEST_LAWS`, the same in each run; `SMP_TEST_LAWS_SEED` is the first
//! seed of other cases. Properties of directives that no built-in kind has yet are tested in unit tests.

#![allow(clippy::print_stderr, reason = "tests say which seeds they used")]

mod three_versions;

use std::sync::atomic::{AtomicUsize, Ordering};

use kubectl_smp_testing::generate::{Dice, EntryUniqueness, Generator, Options};
use kubectl_smp_testing::seeds;
use rayon::prelude::*;
use smp_merge::merge::association::{Association, ListPolicy};
use smp_merge::merge::{PatchRules, apply};
use smp_merge::patch::{ThreeWayOptions, create, create_three_way};
use smp_merge::schema::{Cursor, Schema};
use smp_text::yaml::{Map, Node, Value, to_json};

/// Ok, or a description of the violation.
type Verdict = Result<(), String>;

/// Checks a property for many seeds.
fn check(options: Options, law: impl Fn(&mut Generator<'_>, &Schema) -> Verdict + Sync) {
    let schema = Schema::embedded();
    let broken = seeds::seeds("SMP_TEST_LAWS", 5_000).into_par_iter().find_map_any(|seed| {
        let mut generator = Generator::new(Dice::new(seed), &schema, options);
        law(&mut generator, &schema).err().map(|error| format!("seed {seed}: {error}"))
    });
    if let Some(broken) = broken {
        panic!("{broken}");
    }
}

fn valid_objects(distinct: EntryUniqueness) -> Options {
    Options { distinct, wrong_values: false }
}

/// Returns the value, or the error with its context.
fn ok<T>(what: &str, result: smp_text::diagnostic::Result<T>) -> Result<T, String> {
    result.map_err(|error| format!("{what}: {error}"))
}

fn same(what: &str, got: &Node, want: &Node, inputs: &[&Node]) -> Verdict {
    if got == want {
        return Ok(());
    }
    let inputs: Vec<_> = inputs.iter().map(|node| json(node)).collect();
    Err(format!(
        "\
{what}
  got  {}
  want {}
  from {}",
        json(got),
        json(want),
        inputs.join("\n  and  ")
    ))
}

fn json(node: &Node) -> String {
    to_json(node).expect("finite")
}

fn patched(dest: &Node, patch: &Node, cursor: Cursor<'_>, rules: PatchRules) -> Result<Node, String> {
    let merged = apply(dest.clone(), patch, cursor, &Schema::empty(), rules);
    let merged = ok(&format!("apply {}", json(patch)), merged)?;
    Ok(merged.node.unwrap_or_else(|| Node::map(Map::new())))
}

/// kubectl's patches miss a change that only reorders a list of scalars.
fn sort_merged_scalars(node: &mut Node, at: Cursor<'_>) {
    match &mut node.value {
        Value::Map(map) => {
            map.iter_mut().for_each(|(name, value)| sort_merged_scalars(value, at.field(name)));
        }
        Value::List(list) if at.patch_strategy().merge && at.patch_merge_key().is_none() => {
            list.sort_by_key(json);
        }
        Value::List(list) => list.iter_mut().for_each(|entry| sort_merged_scalars(entry, at.element())),
        Value::Scalar(_) => {}
    }
}

/// The object as a server stores it: a patch may leave nulls in a new entry, which decode to absent fields.
fn decoded(node: &Node) -> Node {
    let mut node = node.clone();
    drop_nulls(&mut node);
    node
}

fn drop_nulls(node: &mut Node) {
    match &mut node.value {
        Value::Map(map) => {
            map.entries_mut().retain(|entry| !entry.value.is_null());
            map.iter_mut().for_each(|(_, value)| drop_nulls(value));
        }
        Value::List(list) => list.iter_mut().for_each(drop_nulls),
        Value::Scalar(_) => {}
    }
}

/// Two versions of an object, or two objects.
fn two(generator: &mut Generator<'_>) -> (Node, Node) {
    let first = generator.object();
    let second = if generator.dice.one_in(4) { generator.object() } else { generator.changed(&first) };
    (first, second)
}

/// Checks that the patch from one object to the other leads to it, when applied once and twice.
fn check_patch_leads_to(a: &Node, b: &Node, cursor: Cursor<'_>, rules: PatchRules) -> Verdict {
    let patch = ok("create", create(a, b, cursor, rules))?;
    let once = patched(a, &patch, cursor, rules)?;
    same("once", &once, b, &[a, &patch])?;
    let twice = patched(&once, &patch, cursor, rules)?;
    same("twice", &twice, b, &[a, &patch])?;
    // kubectl's patch for no change may set an order that the entries already have.
    let nothing = ok("create nothing", create(b, b, cursor, rules))?;
    same("nothing", &patched(b, &nothing, cursor, rules)?, b, &[&nothing])
}

#[test]
fn strategic_patches_lead_to_the_modified_object() {
    check(valid_objects(EntryUniqueness::MergeKey), |generator, _| {
        let (mut a, mut b) = two(generator);
        let cursor = generator.root;
        sort_merged_scalars(&mut a, cursor);
        sort_merged_scalars(&mut b, cursor);
        check_patch_leads_to(&a, &b, cursor, PatchRules::Apiserver)
    });
}

#[test]
fn overlay_patches_lead_to_the_modified_object() {
    check(valid_objects(EntryUniqueness::AllKeys), |generator, _| {
        let (a, b) = two(generator);
        check_patch_leads_to(&a, &b, generator.root, PatchRules::Overlay)?;
        // An object used as a patch sets its own fields and changes nothing more when applied again.
        let once = patched(&a, &b, generator.root, PatchRules::Overlay)?;
        let twice = patched(&once, &b, generator.root, PatchRules::Overlay)?;
        same("an object twice", &twice, &once, &[&a, &b])
    });
}

#[test]
fn three_way_patches_make_only_the_changes_of_the_owner() {
    check(valid_objects(EntryUniqueness::MergeKey), |generator, _| {
        let original = generator.object();
        let (mut modified, mut current) = (generator.changed(&original), generator.changed(&original));
        let mut original = original;
        let cursor = generator.root;
        for side in [&mut original, &mut modified, &mut current] {
            sort_merged_scalars(side, cursor);
        }
        let options = ThreeWayOptions::default().same_identity(false);
        let create = |original, modified, current| {
            ok("create", create_three_way(original, modified, current, cursor, &options))
        };
        let nothing = create(&modified, &modified, &modified)?;
        let merged = patched(&modified, &nothing, cursor, PatchRules::Apiserver)?;
        same("nothing changed", &merged, &modified, &[&modified, &nothing])?;
        let patch = create(&original, &modified, &original)?;
        let merged = patched(&original, &patch, cursor, PatchRules::Apiserver)?;
        same("nobody else changed it", &merged, &modified, &[&original, &patch])?;
        let patch = create(&original, &modified, &current)?;
        let merged = decoded(&patched(&current, &patch, cursor, PatchRules::Apiserver)?);
        let again = create(&modified, &modified, &merged)?;
        let twice = patched(&merged, &again, cursor, PatchRules::Apiserver)?;
        same("applied again", &decoded(&twice), &merged, &[&original, &modified, &current, &patch, &again])
    });
}

fn is_hollow(node: &Node) -> bool {
    match &node.value {
        Value::Map(map) => map.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Scalar(_) => false,
    }
}

/// Keeps only the values that a patch sets: removes order directives, deletions, and maps and lists that become
/// empty. Returns true if something was removed.
fn only_set(node: &mut Node, at: Cursor<'_>) -> bool {
    match &mut node.value {
        Value::Map(map) => {
            let before = map.len();
            // A union: replacing its member removes fields that others set.
            if at.patch_strategy().retain_keys {
                map.entries_mut().clear();
                return true;
            }
            map.entries_mut().retain(|entry| !entry.key.text.starts_with('$') && !entry.value.is_null());
            let mut gone = map.len() < before;
            map.entries_mut().retain_mut(|entry| {
                let less = only_set(&mut entry.value, at.field(&entry.key.text));
                gone |= less;
                !(less && is_hollow(&entry.value))
            });
            gone
        }
        Value::List(list) => {
            let is_keyed =
                matches!(Association::of_list(at, ListPolicy::Apiserver), Association::Keyed { .. });
            let is_keyed = is_keyed && !at.patch_strategy().retain_keys;
            if !is_keyed && list.iter().any(|entry| entry.as_map().is_some()) {
                list.clear();
                return true;
            }
            let before = list.len();
            list.retain(|entry| entry.get("$patch").is_none());
            let gone = list.len() < before;
            list.iter_mut().fold(gone, |gone, entry| only_set(entry, at.element()) || gone)
        }
        Value::Scalar(_) => false,
    }
}

#[test]
fn patches_without_overwrite_keep_changes_of_others() {
    let made = AtomicUsize::new(0);
    check(valid_objects(EntryUniqueness::MergeKey), |generator, _| {
        let original = generator.object();
        let (modified, current) = (generator.changed(&original), generator.changed(&original));
        let cursor = generator.root;
        let options = ThreeWayOptions::default().same_identity(false).overwrite(false);
        let Ok(patch) = create_three_way(&original, &modified, &current, cursor, &options) else {
            return Ok(());
        };
        made.fetch_add(1, Ordering::Relaxed);
        let result = patched(&current, &patch, cursor, PatchRules::Apiserver)?;
        let mut others = ok("create", create(&original, &current, cursor, PatchRules::Apiserver))?;
        // The owner's manifest may still have fields that others removed, and restores them, like kubectl's patch.
        // Of mutually exclusive fields, those of the owner stay if the owner changed any. apimachinery does not
        // compare atomic lists of maps field by field, and reports no conflict for fields that only one side has.
        only_set(&mut others, cursor);
        let again = patched(&result, &others, cursor, PatchRules::Apiserver)?;
        let mut sides = [&again, &result].map(decoded);
        for side in &mut sides {
            sort_merged_scalars(side, cursor);
            sort_lists(side);
        }
        let [again, result] = sides;
        same("undone", &result, &again, &[&original, &modified, &current, &patch, &others])
    });
    assert!(made.into_inner() > 100, "not all are in conflict");
}

fn sort_lists(node: &mut Node) {
    match &mut node.value {
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| sort_lists(value)),
        Value::List(list) => {
            list.iter_mut().for_each(sort_lists);
            list.sort_by_key(json);
        }
        Value::Scalar(_) => {}
    }
}
