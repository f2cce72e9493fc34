//! The parts of created patches.

use smol_str::{SmolStr, format_smolstr};

use crate::merge::directive::{DELETE_FROM_PRIMITIVE_LIST, RETAIN_KEYS, SET_ELEMENT_ORDER};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Entry, Map, Node};

/// The differences that a patch includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::patch) enum PatchPart {
    /// All, including data that kubectl sends without a change: maps with strategy `replace`, and the order of scalars.
    Everything,
    /// All. Equal values are omitted.
    Differences,
    /// Changes and additions.
    Changes,
    /// Removals.
    Deletions,
    /// All except the order of entries.
    Unordered,
}

impl PatchPart {
    pub(super) fn has_changes(self) -> bool {
        self != Self::Deletions
    }

    pub(super) fn has_deletions(self) -> bool {
        self != Self::Changes
    }

    pub(super) fn has_order(self) -> bool {
        self != Self::Unordered
    }

    /// Returns true if the patch omits a value with these two versions.
    pub(super) fn skips<T: PartialEq>(self, original: &T, modified: &T) -> bool {
        self == Self::Differences && original == modified
    }
}

/// Returns the map of an object for which a patch is created.
///
/// # Errors
/// The value is not a map.
pub(super) fn map_of(node: &Node) -> Result<&Map> {
    node.as_map().ok_or_else(|| {
        let message = format!("a patch can only be created for maps, not {}", node.type_name());
        Diagnostic::error(Code::WrongType, message).at(node.span())
    })
}

/// Prepends a field.
pub(super) fn prepend(map: &mut Map, key: &str, value: Node) {
    map.entries_mut().insert(0, Entry { key: key.into(), value });
}

/// Adds `$retainKeys` with all remaining fields.
pub(super) fn add_retain_keys(patch: &mut Map, modified: &Map) {
    let fields = modified.entries().iter().filter(|entry| !entry.value.is_null());
    let mut keys: Vec<&SmolStr> = fields.map(|entry| &entry.key.text).collect();
    if !keys.is_empty() {
        keys.sort_unstable();
        let keys = keys.into_iter().map(|key| Node::string(key.clone())).collect();
        prepend(patch, RETAIN_KEYS, Node::list(keys));
    }
}

/// The patch of a list that merges.
#[derive(Debug, Default)]
pub(super) struct ListPatch {
    /// The entries to merge or delete.
    pub(super) entries: Vec<Node>,
    /// The scalars to remove.
    pub(super) delete: Vec<Node>,
    /// The order of all entries.
    pub(super) order: Vec<Node>,
}

impl ListPatch {
    /// Adds the list's directives and entries to the patch of the surrounding map. They get the list's location for
    /// conflict errors.
    pub(super) fn put_into(self, patch: &mut Map, name: &SmolStr, modified: &Node) {
        let parts = [
            (format_smolstr!("{SET_ELEMENT_ORDER}/{name}"), self.order),
            (name.clone(), self.entries),
            (format_smolstr!("{DELETE_FROM_PRIMITIVE_LIST}/{name}"), self.delete),
        ];
        for (key, list) in parts.into_iter().filter(|(_, list)| !list.is_empty()) {
            patch.push(key, Node::list(list).with_span(modified.span().at_start()));
        }
    }
}
