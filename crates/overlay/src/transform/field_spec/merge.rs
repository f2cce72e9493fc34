//! kustomize's merge of field specs and back references.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::back_reference::NameBackReference;
use super::spec::FieldSpec;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Merges two lists of specs. An incoming spec is skipped if a spec in the list covers it. Only the first such spec is
/// compared.
pub(super) fn merge_specs<'s>(
    own: &'s [FieldSpec],
    incoming: impl ExactSizeIterator<Item = &'s FieldSpec>,
) -> Result<Vec<FieldSpec>> {
    let mut list: Vec<&FieldSpec> = own.iter().collect();
    let mut first = (incoming.len() > LINEAR_SEARCH_MAX).then(CoveringSpecs::default);
    for spec in incoming {
        let covering = match &mut first {
            Some(first) => first.find_covering(spec, &list),
            None => list.iter().position(|own| own.covers(spec)),
        };
        match covering {
            Some(i) if list[i].create != spec.create => return Err(conflict(list[i], spec)),
            Some(_) => {}
            None => list.push(spec),
        }
    }
    Ok(list.into_iter().cloned().collect())
}

/// The number of incoming specs up to which a linear search is used.
const LINEAR_SEARCH_MAX: usize = 8;

/// Path, group, version and kind. The parts that are not compared are empty.
type Selected<'s> = [&'s str; 4];

/// Finds the first spec of a growing list that covers another one.
///
/// Group, version and kind are only compared if they are set in the other spec. Each of the eight combinations has an
/// index.
#[derive(Debug, Default)]
struct CoveringSpecs<'s>([(FxHashMap<Selected<'s>, usize>, usize); 8]);

impl<'s> CoveringSpecs<'s> {
    fn find_covering(&mut self, spec: &'s FieldSpec, list: &[&'s FieldSpec]) -> Option<usize> {
        let named = [&spec.group, &spec.version, &spec.kind].map(|text| !text.is_empty());
        let selected = |spec: &'s FieldSpec| -> Selected<'s> {
            let [group, version, kind] = named;
            let part = |is_named: bool, text: &'s str| if is_named { text } else { "" };
            [&spec.path, part(group, &spec.group), part(version, &spec.version), part(kind, &spec.kind)]
        };
        let choice = named.iter().fold(0, |choice, is_named| choice * 2 + usize::from(*is_named));
        let (index, indexed) = &mut self.0[choice];
        for (i, own) in list.iter().enumerate().skip(*indexed) {
            index.entry(selected(own)).or_insert(i);
        }
        *indexed = list.len();
        index.get(&selected(spec)).copied()
    }
}

/// Merges two lists of back references. References to the same kind become one, with the fields of both.
pub(super) fn merge_references(
    own: &[NameBackReference],
    incoming: &[NameBackReference],
) -> Result<Vec<NameBackReference>> {
    // Collect the further fields of each entry first, so that each entry is merged only once.
    let mut list: Vec<(&NameBackReference, Vec<&FieldSpec>)> =
        own.iter().map(|own| (own, Vec::new())).collect();
    let mut by_kind: FxHashMap<[&str; 3], Vec<usize>> = FxHashMap::default();
    for (i, reference) in own.iter().enumerate() {
        by_kind.entry(reference.parts()).or_default().push(i);
    }
    for incoming in incoming {
        match by_kind.entry(incoming.parts()) {
            Entry::Occupied(same) => same.get().iter().for_each(|i| list[*i].1.extend(&incoming.field_specs)),
            Entry::Vacant(new) => {
                new.insert(vec![list.len()]);
                list.push((incoming, Vec::new()));
            }
        }
    }
    let merged = list.into_iter().map(|(reference, more)| {
        let field_specs = merge_specs(&reference.field_specs, more.into_iter())?;
        let [group, version, kind] =
            [&reference.group, &reference.version, &reference.kind].map(Clone::clone);
        Ok(NameBackReference { group, version, kind, field_specs })
    });
    merged.collect()
}

fn conflict(own: &FieldSpec, incoming: &FieldSpec) -> Diagnostic {
    let kind = |s: &FieldSpec| if s.kind.is_empty() { "all kinds".to_string() } else { s.kind.to_string() };
    let message = format!(
        "conflicting field specs for `{}`: `create` is {} for {} and {} for {}",
        own.path,
        own.create,
        kind(own),
        incoming.create,
        kind(incoming)
    );
    Diagnostic::error(Code::InvalidValue, message)
        .help("set `create` to the same value in both, or remove the spec that the other one covers")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: &str, path: &str, create: bool) -> FieldSpec {
        FieldSpec { kind: kind.into(), create, ..FieldSpec::for_all_kinds(path) }
    }

    #[test]
    fn new_specs_are_added_and_conflicts_rejected() {
        let own = [spec("A", "p", true), spec("", "q", false)];
        let more =
            |spec: FieldSpec| merge_specs(&own, [spec].iter()).map(|all| all.len()).map_err(|d| d.code());
        assert_eq!(more(spec("A", "p", true)), Ok(2));
        assert_eq!(more(spec("B", "p", true)), Ok(3));
        assert_eq!(more(spec("A", "r", true)), Ok(3));
        // An incoming wider spec is dropped; an incoming narrower one is added.
        assert_eq!(more(spec("", "p", true)), Ok(2));
        assert_eq!(more(spec("A", "q", false)), Ok(3));
        assert_eq!(more(spec("", "p", false)), Err(Code::InvalidValue));
    }

    #[test]
    fn merging_many_specs_with_the_index_equals_linear_search() {
        let parts = ["", "a", "b"];
        let mut all = Vec::new();
        for (i, path) in ["p", "q", "p"].into_iter().enumerate() {
            for kind in parts {
                for group in parts {
                    all.push(FieldSpec { group: group.into(), ..spec(kind, path, path == "p") });
                    all.push(FieldSpec { version: parts[i].into(), ..spec(kind, path, path == "p") });
                }
            }
        }
        all.reverse();
        all.rotate_left(17);
        let mut one_by_one = Vec::new();
        for spec in &all {
            one_by_one = merge_specs(&one_by_one, std::slice::from_ref(spec).iter()).expect("agree");
        }
        assert!(one_by_one.len() > LINEAR_SEARCH_MAX && one_by_one.len() < all.len());
        assert_eq!(merge_specs(&[], all.iter()).expect("agree"), one_by_one);
    }

    #[test]
    fn references_to_one_kind_are_merged() {
        let reference = |kind: &str, paths: &[&str]| NameBackReference {
            kind: kind.into(),
            field_specs: paths.iter().map(|path| spec("", path, false)).collect(),
            ..NameBackReference::default()
        };
        let own = [reference("A", &["p"]), reference("B", &["p"])];
        let more = [
            reference("A", &["q"]),
            reference("C", &["p"]),
            reference("C", &["p", "r"]),
            reference("A", &["p"]),
        ];
        let merged = merge_references(&own, &more).expect("agree");
        assert_eq!(
            merged,
            [reference("A", &["p", "q"]), reference("B", &["p"]), reference("C", &["p", "r"])]
        );
    }
}
