//! The steps of the traversal of an object, and their path elements.

use smol_str::SmolStr;

use smp_merge::schema::{Cursor, ListType};
use smp_text::path::{PathElement, PathValue};
use smp_text::yaml::Node;

/// A step from a value to a child. Creating one allocates nothing.
#[derive(Clone, Copy)]
pub(super) enum WalkStep<'n> {
    /// A field of a map.
    Field { name: &'n str, parent: Cursor<'n> },
    /// An entry of a list.
    Entry { index: usize, entry: &'n Node, keys: Cursor<'n> },
}

impl WalkStep<'_> {
    /// Returns the field name or the index.
    pub(super) fn position(&self) -> PathElement {
        match self {
            Self::Field { name, .. } => PathElement::Field((*name).into()),
            Self::Entry { index, .. } => PathElement::Index(*index),
        }
    }

    /// Returns the field name, or the merge keys of the entry if the list has merge keys.
    pub(super) fn element(&self) -> PathElement {
        let Self::Entry { entry, keys: list, .. } = self else { return self.position() };
        let names: Vec<&str> = match list.patch_merge_key() {
            _ if list.list_type() == Some(ListType::Map) => list.list_map_keys().collect(),
            Some(key) => key.split(',').map(str::trim).collect(),
            None => Vec::new(),
        };
        let value =
            |name: &str| key_value(entry, list.element(), name).filter(|value| *value != PathValue::Null);
        let key = |name: &&str| Some((SmolStr::from(*name), value(name)?));
        match names.iter().map(key).collect::<Option<Vec<_>>>() {
            Some(keys) if !keys.is_empty() => PathElement::Key(keys),
            _ => self.position(),
        }
    }
}

/// Returns the value of a merge key of an entry, or its default. Returns `None` if it is not a scalar.
pub(super) fn key_value(entry: &Node, element: Cursor<'_>, name: &str) -> Option<PathValue> {
    match entry.get(name).filter(|value| !value.is_null()) {
        Some(value) => PathValue::from_node(value),
        None => Some(
            element
                .key_default(name)
                .map_or(PathValue::Null, |text| PathValue::Str(text.trim_matches('"').into())),
        ),
    }
}
