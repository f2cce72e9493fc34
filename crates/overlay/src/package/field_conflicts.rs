//! Builds field conflicts, with the values of `original`, `updated` and `dest`.

use super::conflict::{ConflictKind, ConflictVersion, PackageConflict, excerpt_for};
use super::manifest::Manifest;
use smp_merge::merge::Conflict;
use smp_text::path::{FieldPath, PathElement};
use smp_text::yaml::{Node, Value};

/// Converts the conflicts of a merged manifest. `sides` are the original, the updated version and dest.
pub(super) fn field_conflicts(
    kind: ConflictKind,
    conflicts: &[Conflict],
    sides: [Option<&Manifest<'_>>; 3],
) -> Vec<PackageConflict> {
    let Some(manifest) = sides.into_iter().flatten().next_back().filter(|_| !conflicts.is_empty()) else {
        return Vec::new();
    };
    let names = manifest.key.names();
    let shown = |conflict: &Conflict| {
        let Conflict { original, updated, dest, .. } = conflict;
        let version = |side: usize, node: &Option<Node>, other: &Option<Node>| {
            let (manifest, node) = (sides[side]?, node.as_ref()?);
            let version = ConflictVersion::new(manifest, node, node.span(), &conflict.path);
            Some(version.at_difference_from(node, other.as_ref()))
        };
        PackageConflict {
            resource: Some(manifest.key.to_string()),
            field: Some(conflict.path.clone()),
            original: version(0, original, updated),
            updated: version(1, updated, original),
            dest: version(2, dest, original),
            taken: conflict.winner,
            kind: if conflict.unknown_list { ConflictKind::UnknownList } else { kind },
            excerpt: excerpt_for(Some(names)),
        }
    };
    conflicts.iter().map(shown).collect()
}

/// Returns a merged manifest with the original's values in all conflicting fields.
pub(super) fn with_originals(mut merged: Node, conflicts: &[Conflict]) -> Node {
    for conflict in conflicts {
        set_at(&mut merged, &conflict.path, conflict.original.as_ref());
    }
    merged
}

/// Sets the value at a path, or removes it. Paths without an existing parent are ignored.
fn set_at(node: &mut Node, path: &FieldPath, value: Option<&Node>) {
    let Some((last, parents)) = path.elements().split_last() else { return };
    let parent = parents.iter().try_fold(node, |node, element| {
        let at = element.position(node)?;
        match &mut node.value {
            Value::Map(map) => map.entries_mut().get_mut(at).map(|entry| &mut entry.value),
            Value::List(list) => list.get_mut(at),
            Value::Scalar(_) => None,
        }
    });
    let Some(parent) = parent else { return };
    let at = last.position(parent);
    match (&mut parent.value, at, value) {
        (Value::Map(map), Some(at), Some(value)) => map.entries_mut()[at].value = value.clone(),
        (Value::List(list), Some(at), Some(value)) => list[at] = value.clone(),
        (Value::Map(map), Some(at), None) => drop(map.entries_mut().remove(at)),
        (Value::List(list), Some(at), None) => drop(list.remove(at)),
        (Value::Map(map), None, Some(value)) => {
            if let PathElement::Field(name) = last {
                map.push(name.clone(), value.clone());
            }
        }
        (Value::List(list), None, Some(value)) => list.push(value.clone()),
        (Value::Scalar(_), ..) | (_, None, None) => {}
    }
}
