//! Conflicts of fields: what their places hold, and what the original had there.

use rustc_hash::FxHashMap;

use super::conflict::{ConflictKind, ConflictPlace, PackageConflict, excerpt_of};
use super::manifest::Manifest;
use smp_merge::merge::Conflict;
use smp_text::path::{FieldPath, PathElement};
use smp_text::source::Span;
use smp_text::yaml::{Node, Value};

/// The nodes of a manifest by their places. A list stands where its first entry does, when that is its only one.
#[derive(Default)]
struct ByPlace<'n>(FxHashMap<Span, Vec<&'n Node>>);

impl<'n> ByPlace<'n> {
    /// The node at a place that a path leads to.
    fn get(&self, span: Span, path: &FieldPath) -> Option<&'n Node> {
        let nodes = self.0.get(&span)?;
        let is_entry = !matches!(path.elements().last(), None | Some(PathElement::Field(_)));
        nodes.get(usize::from(is_entry)).or_else(|| nodes.first()).copied()
    }
}

fn by_place(node: &Node) -> ByPlace<'_> {
    let mut nodes = ByPlace::default();
    node.nodes().for_each(|node| nodes.0.entry(node.span()).or_default().push(node));
    nodes
}

/// The conflicts of one kind that a merge of a manifest met; the sides are the original, the updated version
/// and dest.
pub(super) fn field_conflicts(
    kind: ConflictKind,
    conflicts: &[Conflict],
    sides: [Option<&Manifest<'_>>; 3],
) -> Vec<PackageConflict> {
    let Some(manifest) = sides.into_iter().flatten().next_back().filter(|_| !conflicts.is_empty()) else {
        return Vec::new();
    };
    let nodes = sides.map(|side| side.map_or_else(ByPlace::default, |manifest| by_place(manifest.node)));
    let names = manifest.key.names();
    let shown = |conflict: &Conflict| {
        let place = |side: usize, span: Option<Span>| {
            let span = span?;
            let side_manifest = sides[side]?;
            let node = nodes[side].get(span, &conflict.path);
            let other = if side == 0 {
                conflict.updated.map(|span| (1, span))
            } else {
                conflict.original.map(|span| (0, span))
            };
            let other = other.and_then(|(side, span)| nodes[side].get(span, &conflict.path));
            Some(node.map_or_else(
                || ConflictPlace { span, difference: span, value: serde_json::Value::Null },
                |node| {
                    ConflictPlace::new(side_manifest, node, node.span(), &conflict.path).unlike(node, other)
                },
            ))
        };
        PackageConflict {
            resource: Some(manifest.key.to_string()),
            field: Some(conflict.path.clone()),
            original: place(0, conflict.original),
            updated: place(1, conflict.updated),
            dest: place(2, conflict.dest),
            taken: conflict.taken,
            kind: if conflict.unknown_list { ConflictKind::UnknownList } else { kind },
            excerpt: excerpt_of(Some(names)),
        }
    };
    conflicts.iter().map(shown).collect()
}

/// A merged manifest with the original's values in the fields of conflicts.
pub(super) fn with_originals(mut merged: Node, conflicts: &[Conflict], original: Option<&Node>) -> Node {
    let nodes = original.map_or_else(ByPlace::default, by_place);
    for conflict in conflicts {
        let value = conflict.original.and_then(|span| nodes.get(span, &conflict.path));
        put(&mut merged, &conflict.path, value);
    }
    merged
}

/// Puts a value in the place of a path, or takes what is there away. A path that leads nowhere is passed over.
fn put(node: &mut Node, path: &FieldPath, value: Option<&Node>) {
    let Some((last, way)) = path.elements().split_last() else { return };
    let parent = way.iter().try_fold(node, |node, element| {
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
