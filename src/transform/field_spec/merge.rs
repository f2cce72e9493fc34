//! kustomize's merge of field specs and back references.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::back_reference::NameBackReference;
use super::spec::FieldSpec;
use crate::diagnostic::{Code, Diagnostic, Result};

/// The specs of both lists: what is there already is skipped, by the first that stands for it.
pub(super) fn merge_specs(own: &[FieldSpec], incoming: &[FieldSpec]) -> Result<Vec<FieldSpec>> {
    let mut list = own.to_vec();
    let mut by_path: FxHashMap<SmolStr, Vec<usize>> = FxHashMap::default();
    for (i, spec) in list.iter().enumerate() {
        by_path.entry(spec.path.clone()).or_default().push(i);
    }
    for spec in incoming {
        let same_path = by_path.entry(spec.path.clone()).or_default();
        match same_path.iter().find(|&&i| list[i].stands_for(spec)) {
            Some(&i) if list[i].create != spec.create => return Err(conflict(&list[i], spec)),
            Some(_) => {}
            None => {
                same_path.push(list.len());
                list.push(spec.clone());
            }
        }
    }
    Ok(list)
}

/// The back references of both lists; those to one kind become one, with the fields of both.
pub(super) fn merge_references(
    own: &[NameBackReference],
    incoming: &[NameBackReference],
) -> Result<Vec<NameBackReference>> {
    let mut list = own.to_vec();
    for incoming in incoming {
        let mut found = false;
        for own in list.iter_mut().filter(|own| own.parts() == incoming.parts()) {
            own.field_specs = merge_specs(&own.field_specs, &incoming.field_specs)?;
            found = true;
        }
        if !found {
            list.push(incoming.clone());
        }
    }
    Ok(list)
}

fn conflict(own: &FieldSpec, incoming: &FieldSpec) -> Diagnostic {
    let kind = |s: &FieldSpec| if s.kind.is_empty() { "all kinds".to_string() } else { s.kind.to_string() };
    let message = format!(
        "conflicting field specs for `{}`: one for {} says `create: {}`, one for {} says `create: {}`",
        own.path,
        kind(own),
        own.create,
        kind(incoming),
        incoming.create
    );
    Diagnostic::error(Code::InvalidValue, message)
        .help("give both the same `create`, or leave out the one that the other covers")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: &str, path: &str, create: bool) -> FieldSpec {
        FieldSpec { kind: kind.into(), create, ..FieldSpec::of_all(path) }
    }

    #[test]
    fn lists_are_merged() {
        let own = [spec("A", "p", true), spec("", "q", false)];
        let more = |spec: FieldSpec| merge_specs(&own, &[spec]).map(|all| all.len()).map_err(|d| d.code());
        assert_eq!(more(spec("A", "p", true)), Ok(2));
        assert_eq!(more(spec("B", "p", true)), Ok(3));
        assert_eq!(more(spec("A", "r", true)), Ok(3));
        // The wider one is lost; the narrower one is kept beside the wider.
        assert_eq!(more(spec("", "p", true)), Ok(2));
        assert_eq!(more(spec("A", "q", false)), Ok(3));
        assert_eq!(more(spec("", "p", false)), Err(Code::InvalidValue));
    }
}
