//! Properties of applies by several managers, tested with random Deployments.

use proptest::prelude::*;
use serde_json::{Value, json};
use smp_random_cases::fixed_cases;

use super::field_set::FieldSet;
use super::handover::tests::after;
use super::managers::ManagedFields;
use super::options::Options;
use super::owned::owned_fields;
use super::path_element::{Path, PathElement};
use super::types::Type;
use super::{apply, conflicts, drop_manager, extract, give, take, update};
use crate::schema::{Gvk, Schema};

const MANAGERS: [&str; 3] = ["a", "b", "c"];

fn web() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}})
}

fn container() -> impl Strategy<Value = Value> {
    let protocol = prop_oneof![Just(None), Just(Some("UDP"))];
    let ports = proptest::collection::btree_map(80..83, protocol, 0..3);
    (prop_oneof![Just("v1"), Just("v2")], ports, proptest::option::of(any::<bool>())).prop_map(
        |(image, ports, tty)| {
            let mut container = json!({"image": image});
            if let Some(tty) = tty {
                container["tty"] = json!(tty);
            }
            if !ports.is_empty() {
                container["ports"] = ports
                    .into_iter()
                    .map(|(port, protocol)| match protocol {
                        Some(protocol) => json!({"containerPort": port, "protocol": protocol}),
                        None => json!({"containerPort": port}),
                    })
                    .collect();
            }
            container
        },
    )
}

fn deployment() -> impl Strategy<Value = Value> {
    let labels = proptest::option::of(proptest::collection::btree_map("[x-z]", "[0-1]", 1..3));
    let containers = proptest::collection::btree_map("[p-r]", container(), 0..3);
    (proptest::option::of(1..3), labels, containers).prop_map(|(replicas, labels, containers)| {
        // The object has no empty maps. Servers turn a map that loses all fields into null, so an empty map in the next
        // apply would replace it.
        let mut object = web();
        if let Some(replicas) = replicas {
            object["spec"]["replicas"] = json!(replicas);
        }
        if !containers.is_empty() {
            let named = containers.into_iter().map(|(name, mut container)| {
                container["name"] = name.into();
                container
            });
            object["spec"]["template"] = json!({"spec": {"containers": named.collect::<Vec<_>>()}});
        }
        if let Some(labels) = labels {
            object["metadata"]["labels"] = json!(labels);
        }
        object
    })
}

/// Generates a sequence of applies of random Deployments. Each apply is forced.
fn applies() -> impl Strategy<Value = Vec<(usize, Value)>> {
    proptest::collection::vec((0..MANAGERS.len(), deployment()), 1..6)
}

fn all_applied(applies: &[(usize, Value)], options: &Options<'_>) -> Value {
    let mut live = None;
    for (manager, object) in applies {
        let applied = apply(live.as_ref(), object, MANAGERS[*manager], options).expect("valid");
        live = Some(applied.into_object().expect("forced"));
    }
    live.expect("at least one")
}

/// Returns the leaves of an object without those that no manager owns.
fn leaves(object: &Value, schema: &Schema) -> FieldSet {
    let cursor = schema.kind(&Gvk::from_manifest("apps/v1", "Deployment")).expect("built in");
    let stripped = ["apiVersion", "kind"].map(|name| Path::fields([name]));
    let stripped: FieldSet = stripped.into_iter().chain([Path::fields(["metadata", "name"])]).collect();
    let entries: FieldSet = [Path::fields(["metadata", "managedFields"])].into_iter().collect();
    owned_fields(object, Type::known(cursor, false))
        .leaves()
        .difference(&stripped)
        .recursive_difference(&entries)
}

fn without_entries(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"].as_object_mut().map(|metadata| metadata.remove("managedFields"));
    object
}

/// Returns the fields that the manager with this name owns.
fn owned_by(object: &Value, name: &str) -> FieldSet {
    let managed = ManagedFields::from_object(object).expect("valid");
    let own = managed.iter().filter(|(manager, _)| manager.name == name);
    own.fold(FieldSet::new(), |all, (_, fields)| all.union(fields))
}

/// Returns the leaves of a set at or below a path.
fn leaves_below(set: &FieldSet, path: &Path) -> FieldSet {
    set.paths().into_iter().filter(|one| one.0.starts_with(&path.0)).collect::<FieldSet>().leaves()
}

/// Applies the Deployments, and then updates the object.
fn all_applied_and_updated(applies: &[(usize, Value)], options: &Options<'_>) -> Value {
    let live = all_applied(applies, options);
    let mut new = live.clone();
    new["spec"]["replicas"] = json!(7);
    new["spec"]["template"]["spec"]["containers"] = json!([{"name": "u", "image": "u", "tty": true}]);
    update(Some(&live), &new, "u", options).expect("valid")
}

fn is_key(path: &Path) -> bool {
    let keys = ["name", "containerPort", "protocol"].map(PathElement::from);
    path.0.last().is_some_and(|last| keys.contains(last))
}

proptest! {
    #![proptest_config(fixed_cases())]

    #[test]
    fn applying_again_changes_nothing(applies in applies()) {
        let schema = Schema::embedded();
        let options = Options::new(&schema).time("2026-01-01T00:00:00Z").force(true);
        let live = all_applied(&applies, &options);
        let (manager, object) = applies.last().expect("at least one");
        let later = options.time("2026-01-02T00:00:00Z");
        let again = apply(Some(&live), object, MANAGERS[*manager], &later).expect("valid").into_object();
        prop_assert_eq!(again.expect("forced"), live);
    }

    #[test]
    fn applying_what_was_extracted_changes_nothing(applies in applies()) {
        let schema = Schema::embedded();
        let options = Options::new(&schema).time("2026-01-01T00:00:00Z").force(true);
        let live = all_applied(&applies, &options);
        for manager in MANAGERS {
            if let Some(extracted) = extract(&live, manager, &options).expect("valid") {
                prop_assert!(conflicts(Some(&live), &extracted, manager, &options).expect("valid").is_empty());
                let again = apply(Some(&live), &extracted, manager, &options).expect("valid").into_object();
                prop_assert_eq!(again.expect("forced"), live.clone());
            }
        }
    }

    #[test]
    fn each_field_has_an_owner(applies in applies()) {
        let schema = Schema::embedded();
        let options = Options::new(&schema).force(true);
        let live = all_applied(&applies, &options);
        let managed = ManagedFields::from_object(&live).expect("valid");
        let owned = managed.iter().fold(FieldSet::new(), |all, (_, fields)| all.union(fields));
        prop_assert_eq!(leaves(&live, &schema).difference(&owned).to_string(), "");
    }

    #[test]
    fn a_manager_that_applies_nothing_takes_exactly_its_own_fields(applies in applies(), dropped in 0..MANAGERS.len()) {
        let schema = Schema::embedded();
        let options = Options::new(&schema).force(true);
        let live = all_applied(&applies, &options);
        let dropped = MANAGERS[dropped];
        let managed = ManagedFields::from_object(&live).expect("valid");
        let union = |of_dropped: bool| {
            let sets = managed.iter().filter(|(manager, _)| (manager.name == dropped) == of_dropped);
            sets.fold(FieldSet::new(), |all, (_, fields)| all.union(fields))
        };
        let alone = union(true).leaves().difference(&union(false));
        let after = apply(Some(&live), &web(), dropped, &options).expect("valid").into_object().expect("forced");
        let [before, after] = [&live, &after].map(|object| leaves(object, &schema));
        prop_assert_eq!(before.difference(&after).difference(&alone).to_string(), "", "removed but shared");
        prop_assert_eq!(before.intersection(&alone).intersection(&after).to_string(), "", "kept without an owner");
        prop_assert_eq!(after.difference(&before).to_string(), "", "added");
    }

    #[test]
    fn changes_of_owners_keep_all_values(
        applies in applies(), from in 0..4_usize, to in 0..MANAGERS.len(), path in 0..40_usize,
    ) {
        let schema = Schema::embedded();
        let options = Options::new(&schema).force(true);
        let unforced = options.clone().force(false);
        let live = all_applied_and_updated(&applies, &options);
        let [from, to] = [["a", "b", "c", "u"][from], MANAGERS[to]];
        let owned = owned_by(&live, from);
        let paths = owned.union(&owned.parents()).paths();
        let Some(path) = paths.get(path % paths.len().max(1)) else { return Ok(()) };

        let taken = after(&live, &[take(&live, path, to, &options).expect("valid")], &unforced);
        prop_assert_eq!(without_entries(&taken), without_entries(&live));
        let dropped = after(&live, &[drop_manager(&live, from).expect("owns")], &unforced);
        prop_assert_eq!(without_entries(&dropped), without_entries(&live));
        if from != to {
            let given = after(&live, &give(&live, path, [from, to], &options).expect("owned"), &unforced);
            prop_assert_eq!(without_entries(&given), without_entries(&live));
            let kept = leaves_below(&owned_by(&given, from), path);
            prop_assert!(kept.paths().iter().all(is_key), "{}", kept);
            let wanted = leaves_below(&owned, path);
            prop_assert!(wanted.is_subset(&owned_by(&given, to)), "{} of {}", wanted, owned_by(&given, to));
        }
    }
}
