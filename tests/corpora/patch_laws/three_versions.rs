//! Patches of three versions lead to the expected object, or are rejected.

use std::collections::HashMap;
use std::fmt::Debug;

use kubectl_smp_testing::generate::{Dice, EntryUniqueness, Generator, Options};
use smp_merge::merge::association::{Association, ListPolicy, is_atomic};
use smp_merge::merge::directive::is_directive;
use smp_merge::merge::{
    Exceptions, InferKeys, ListOrder, MergeOptions, Merged, PatchRules, align, merge2, merge3,
};
use smp_merge::patch::{
    ApplyOptions, CreateOptions, PatchInputs, PatchType, ThreeWayOptions, apply as apply_patch,
    create_verified,
};
use smp_merge::schema::Cursor;
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Map, Node, ParseOptions, Value, parse_one, write_documents_in_source_style};

use super::{
    Verdict, check, decoded, json, ok, patched, same, sort_lists, sort_merged_scalars, two, valid_objects,
};

/// A type of patch, and its rules.
type Way = (PatchType, PatchRules);

const SERVERS: Way = (PatchType::Strategic, PatchRules::Apiserver);

const OTHERS: [Way; 3] = [
    (PatchType::Strategic, PatchRules::Overlay),
    (PatchType::Merge, PatchRules::Overlay),
    (PatchType::Json, PatchRules::Overlay),
];

/// The object after a patch of any type.
fn patched_by(
    (patch_type, rules): Way,
    dest: &Node,
    patch: &Node,
    cursor: Cursor<'_>,
) -> Result<Node, String> {
    let options = ApplyOptions::default().rules(rules).kind(cursor);
    let merged = ok("apply", apply_patch(dest.clone(), patch, patch_type, &options))?;
    Ok(merged.node.unwrap_or_else(|| Node::map(Map::new())))
}

/// The expected result of a three-way patch, for all values that are compared.
struct Outcome {
    policy: ListPolicy,
    /// The schema has atomic maps. A patch that names single fields ignores this.
    has_whole_maps: bool,
}

/// The same value in all versions of an object.
#[derive(Clone, Copy)]
struct Versions<'n> {
    original: Option<&'n Node>,
    modified: Option<&'n Node>,
    current: Option<&'n Node>,
    result: Option<&'n Node>,
    /// True if the owner sets null.
    is_null: bool,
}

impl<'n> Versions<'n> {
    fn field(self, name: &str) -> Self {
        let of = |node: Option<&'n Node>| node.and_then(|node| node.get(name)).filter(|node| !node.is_null());
        Self {
            original: of(self.original),
            modified: of(self.modified),
            current: of(self.current),
            result: of(self.result),
            is_null: self.modified.and_then(|node| node.get(name)).is_some_and(Node::is_null),
        }
    }
}

impl Outcome {
    /// Checks that values of the owner are present, that values only the owner had are gone, and that values only
    /// others have stay.
    fn check(&self, versions: Versions<'_>, at: Cursor<'_>, is_union: bool, path: &str) -> Verdict {
        let Versions { original, modified, current, result, is_null } = versions;
        let Some(modified) = modified else {
            let wanted = if original.is_some() { None } else { current };
            // Replacing the member of a union may remove fields that others set. kubectl's patch removes values of
            // others if the owner sets null.
            let may_be_gone = is_union || is_null && self.policy == ListPolicy::Apiserver;
            let is_fine = result == wanted || may_be_gone && result.is_none();
            return if is_fine {
                Ok(())
            } else {
                Err(format!("{path}: {}", result.map_or("gone".into(), json)))
            };
        };
        let Some(result) = result else { return Err(format!("{path}: lost")) };
        match (&modified.value, current.map(|node| &node.value), &result.value) {
            (Value::Map(_), Some(Value::Map(_)), Value::Map(_)) if !self.is_whole(at) => {
                self.fields(versions, at, at.patch_strategy().retain_keys, path)
            }
            (Value::List(wanted), Some(Value::List(live)), Value::List(list)) => {
                let original = original.and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default();
                self.lists([original, wanted, live, list], at, path)
            }
            _ if decoded(result) == decoded(modified) => Ok(()),
            _ => Err(format!("{path}: {} is not {}", json(result), json(modified))),
        }
    }

    fn is_whole(&self, at: Cursor<'_>) -> bool {
        let by_schema =
            if self.policy == ListPolicy::Apiserver { at.patch_strategy().replace } else { is_atomic(at) };
        self.has_whole_maps && by_schema
    }

    fn fields(&self, versions: Versions<'_>, at: Cursor<'_>, is_union: bool, path: &str) -> Verdict {
        let Versions { original, modified, current, result, .. } = versions;
        let sides = [original, modified, current, result];
        let names = sides.into_iter().flatten().filter_map(Node::as_map).flat_map(Map::iter);
        let mut names: Vec<&str> = names.map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().try_for_each(|name| {
            self.check(versions.field(name), at.field(name), is_union, &format!("{path}.{name}"))
        })
    }

    fn lists(&self, lists: [&[Node]; 4], at: Cursor<'_>, path: &str) -> Verdict {
        let [_, modified, _, result] = lists;
        let association = Association::of_list(at, self.policy);
        let is_whole = matches!(association, Association::Atomic | Association::Unknown);
        let rows = if is_whole { None } else { align::entries(lists, &association) };
        let Some(rows) = rows else {
            let is_set = association == Association::Set;
            let of = |list: &[Node]| {
                let mut texts: Vec<String> = list.iter().map(|node| json(&decoded(node))).collect();
                if is_set {
                    texts.sort_unstable();
                    texts.dedup();
                }
                texts
            };
            // Duplicates may be lost from lists of scalars.
            let is_fine = is_set || of(modified) == of(result);
            return if is_fine { Ok(()) } else { Err(format!("{path}: {:?}", of(result))) };
        };
        for row in rows {
            let [original, modified, current, result] =
                std::array::from_fn(|side| row.positions[side].map(|i| &lists[side][i]));
            let versions = Versions { original, modified, current, result, is_null: false };
            let here = format!("{path}[{:?}]", row.identity);
            let is_map = |node: Option<&Node>| node.is_some_and(|node| node.as_map().is_some());
            if is_map(modified) && is_map(current) && is_map(result) && !self.is_whole(at.element()) {
                self.fields(versions, at.element(), at.patch_strategy().retain_keys, &here)?;
            } else {
                self.check(versions, at.element(), false, &here)?;
            }
        }
        Ok(())
    }
}

/// Sets some fields of the owner's object to null, and empties some maps and lists, like programs that write
/// manifests.
fn hollow(node: &mut Node, at: Cursor<'_>, dice: &mut Dice, policy: ListPolicy) {
    match &mut node.value {
        Value::Map(map) => {
            for (name, value) in map.iter_mut() {
                let is_name = matches!(name, "apiVersion" | "kind" | "metadata");
                // kubectl removes a null value that has no type.
                let may_be_null = policy == ListPolicy::Overlay || at.has_field(name);
                match &mut value.value {
                    Value::Scalar(_) if !is_name && may_be_null && dice.one_in(8) => *value = Node::null(),
                    Value::Map(map) if !is_name && dice.one_in(12) => *map = Map::new(),
                    Value::List(list) if dice.one_in(12) => list.clear(),
                    _ => hollow(value, at.field(name), dice, policy),
                }
            }
        }
        Value::List(list) => {
            let keys = at.patch_merge_key().into_iter().flat_map(|keys| keys.split(','));
            let keys: Vec<&str> = keys.chain(at.list_map_keys()).collect();
            for entry in list {
                let names: Map =
                    keys.iter().filter_map(|key| Some((*key, entry.get(key)?.clone()))).collect();
                hollow(entry, at.element(), dice, policy);
                for (key, value) in entry.as_map_mut().into_iter().flat_map(Map::iter_mut) {
                    if let Some(name) = names.get(key) {
                        *value = name.clone();
                    }
                }
            }
        }
        Value::Scalar(_) => {}
    }
}

/// Checks versions that the owner and others changed, and the result of a patch: changes of the owner are made,
/// additions of others stay, and a second application changes nothing.
fn three_way_round_trip(generator: &mut Generator<'_>, way: Way, policy: ListPolicy) -> Verdict {
    let mut original = generator.object();
    let (mut modified, current) = (generator.changed(&original), generator.changed(&original));
    let cursor = generator.root;
    if generator.dice.one_in(2) {
        for side in [&mut original, &mut modified] {
            hollow(side, cursor, &mut generator.dice, policy);
        }
    }
    let options = CreateOptions::default().rules(way.1);
    let options = options.three_way(ThreeWayOptions::default().same_identity(false));
    let create = |original: &Node, modified: &Node, current: &Node| {
        let sides = PatchInputs { original, modified, current: Some(current) };
        let created = ok(&format!("{way:?}"), create_verified(&sides, way.0, cursor, &options))?;
        patched_by(way, current, &created.value, cursor)
    };
    let outcome = Outcome { policy, has_whole_maps: way.0 == PatchType::Strategic };
    let inputs = || {
        format!(
            r"
  {}
  {}
  {}",
            json(&original),
            json(&modified),
            json(&current)
        )
    };
    let trip = || {
        let result = create(&original, &modified, &current)?;
        let [a, b, c, d] = [&original, &modified, &current, &result].map(Some);
        let versions = Versions { original: a, modified: b, current: c, result: d, is_null: false };
        outcome.check(versions, cursor, false, "")?;
        let again = create(&modified, &modified, &result)?;
        let [again, before] = [&again, &result].map(|node| {
            let mut node = decoded(node);
            // If kubectl's patch cannot express a change, the patch between the two objects includes it.
            if policy == ListPolicy::Apiserver {
                sort_merged_scalars(&mut node, cursor);
            }
            node
        });
        same("applied again", &again, &before, &[])?;
        let alone = create(&original, &modified, &original)?;
        let result = Some(&alone);
        let versions = Versions { original: a, modified: b, current: a, result, is_null: false };
        outcome.check(versions, cursor, false, "alone ")
    };
    trip().map_err(|error| format!("{way:?}: {error}{}", inputs()))
}

#[test]
fn three_way_strategic_patches_lead_to_the_modified_object() {
    check(valid_objects(EntryUniqueness::MergeKey), |generator, _| {
        three_way_round_trip(generator, SERVERS, ListPolicy::Apiserver)
    });
}

#[test]
fn three_way_patches_of_all_other_types_lead_to_the_modified_object() {
    check(valid_objects(EntryUniqueness::AllKeys), |generator, _| {
        OTHERS.into_iter().try_for_each(|way| three_way_round_trip(generator, way, ListPolicy::Overlay))
    });
}

#[test]
fn created_patches_lead_to_the_object_or_are_rejected() {
    // Entries without unique keys.
    check(Options { distinct: EntryUniqueness::Any, wrong_values: false }, |generator, _| {
        let (a, b) = two(generator);
        let cursor = generator.root;
        let sides = PatchInputs { original: &a, modified: &b, current: None };
        for way in [SERVERS].into_iter().chain(OTHERS) {
            let rules = way.1;
            let options = CreateOptions::default().rules(rules);
            let options = options.three_way(ThreeWayOptions::default().same_identity(false));
            let created = match create_verified(&sides, way.0, cursor, &options) {
                Ok(created) => created,
                Err(_) if way == SERVERS => continue,
                Err(error) => return Err(format!("{way:?}: {error}")),
            };
            let mut sides = [patched_by(way, &a, &created.value, cursor)?, b.clone()];
            if rules == PatchRules::Apiserver {
                for side in &mut sides {
                    sort_merged_scalars(side, cursor);
                    drop_doubles(side, cursor);
                }
            }
            let [got, want] = sides.map(|side| decoded(&side));
            same(&format!("{way:?}"), &got, &want, &[&a, &created.value])?;
        }
        Ok(())
    });
}

#[test]
fn three_way_patches_lead_to_the_object_or_are_rejected() {
    // Entries without unique keys.
    check(Options { distinct: EntryUniqueness::Any, wrong_values: false }, |generator, _| {
        let original = generator.object();
        let (modified, current) = (generator.changed(&original), generator.changed(&original));
        let cursor = generator.root;
        for way in [SERVERS].into_iter().chain(OTHERS) {
            let options = CreateOptions::default().rules(way.1);
            let options = options.three_way(ThreeWayOptions::default().same_identity(false));
            let make = |original, modified, current| {
                let sides = PatchInputs { original, modified, current: Some(current) };
                create_verified(&sides, way.0, cursor, &options)
            };
            let Ok(created) = make(&original, &modified, &current) else { continue };
            let result = patched_by(way, &current, &created.value, cursor)?;
            let again = ok("again", make(&modified, &modified, &result))?;
            let again = patched_by(way, &result, &again.value, cursor)?;
            let mut sides = [&again, &result].map(decoded);
            for side in &mut sides {
                sort_merged_scalars(side, cursor);
                drop_doubles(side, cursor);
                if way == SERVERS {
                    // kubectl's patches do not define the position of entries of others.
                    sort_lists(side);
                }
            }
            let [again, result] = sides;
            same(&format!("{way:?} again"), &again, &result, &[&original, &modified, &current])?;
        }
        Ok(())
    });
}

/// The API server treats scalars in lists that merge as a set.
fn drop_doubles(node: &mut Node, at: Cursor<'_>) {
    match &mut node.value {
        Value::Map(map) => map.iter_mut().for_each(|(name, value)| drop_doubles(value, at.field(name))),
        Value::List(list) if at.patch_strategy().merge && at.patch_merge_key().is_none() => list.dedup(),
        Value::List(list) => list.iter_mut().for_each(|entry| drop_doubles(entry, at.element())),
        Value::Scalar(_) => {}
    }
}

/// Parses an object from a text, so that its values have locations.
fn written(sources: &SourceMap, node: &Node) -> Result<Node, String> {
    let text = write_documents_in_source_style(std::slice::from_ref(node));
    ok("read", parse_one(sources, sources.add("side.yaml", text), ParseOptions::default()))
}

/// Calls `visit` with each scalar.
fn leaves<'n>(node: &'n Node, visit: &mut impl FnMut(&'n Node) -> Verdict) -> Verdict {
    match &node.value {
        Value::Map(map) => map.iter().try_for_each(|(_, value)| leaves(value, visit)),
        Value::List(list) => list.iter().try_for_each(|entry| leaves(entry, visit)),
        Value::Scalar(_) => visit(node),
    }
}

fn no_directive(node: &Node) -> Verdict {
    match &node.value {
        Value::Map(map) => map.iter().try_for_each(|(name, value)| {
            if is_directive(name) { Err(format!("`{name}` is left")) } else { no_directive(value) }
        }),
        Value::List(list) => list.iter().try_for_each(no_directive),
        Value::Scalar(_) => Ok(()),
    }
}

/// Checks that every scalar of the result is in one of the inputs.
fn of_inputs(result: &Node, inputs: &[&Node]) -> Verdict {
    let mut places: HashMap<Span, &Node> = HashMap::new();
    for input in inputs {
        leaves(input, &mut |leaf| {
            places.insert(leaf.span(), leaf);
            Ok(())
        })?;
    }
    leaves(result, &mut |leaf| match places.get(&leaf.span()) {
        Some(input) if input.scalar_text() == leaf.scalar_text() => Ok(()),
        input => Err(format!("{} comes from {:?}", json(leaf), input.map(|input| json(input)))),
    })
}

fn shown(error: &str, what: impl Debug, inputs: &[&Node]) -> String {
    let inputs: Vec<_> = inputs.iter().map(|node| json(node)).collect();
    format!("{what:?}: {error}\n  from {}", inputs.join("\n  and  "))
}

#[test]
fn results_have_no_directives_and_only_values_of_the_inputs() {
    check(Options { distinct: EntryUniqueness::Any, wrong_values: true }, |generator, schema| {
        let sources = SourceMap::default();
        let (a, mut b) = two(generator);
        let third = written(&sources, &generator.changed(&a))?;
        let updated = written(&sources, &b)?;
        generator.add_patch_directives(&mut b);
        let (a, b) = (written(&sources, &a)?, written(&sources, &b)?);
        for rules in [PatchRules::Apiserver, PatchRules::Overlay] {
            // Invalid patches are rejected.
            let Ok(result) = patched(&a, &b, generator.root, rules) else { continue };
            no_directive(&result).map_err(|error| shown(&error, rules, &[&a, &b]))?;
            of_inputs(&result, &[&a, &b]).map_err(|error| shown(&error, rules, &[&a, &b]))?;
        }
        for options in [
            MergeOptions::kyaml(ListOrder::Append, InferKeys::common()),
            MergeOptions::kustomize(Exceptions::Documented),
            MergeOptions::lossless(),
        ] {
            if let Ok(Merged { node: Some(result), .. }) = merge2(Some(a.clone()), &b, schema, &options) {
                of_inputs(&result, &[&a, &b]).map_err(|error| shown(&error, &options, &[&a, &b]))?;
            }
            let sides = [&a, &updated, &third];
            let merged = merge3(Some(&a), Some(&updated), Some(third.clone()), schema, &options);
            if let Ok(Merged { node: Some(result), .. }) = merged {
                of_inputs(&result, &sides).map_err(|error| shown(&error, &options, &sides))?;
            }
        }
        Ok(())
    });
}
