//! The common parts of the two-way and the three-way walk: locations, decisions, and the matching of map fields.

use super::position::Position;
use super::restyle::{quote_yaml11_values, restyle};
use crate::merge::Trail;
use smp_text::diagnostic::{Code, Result};
use smp_text::yaml::{Comments, Key, Map, Meta, Node};

/// The current location of a walk: its schema, and its path from the root.
#[derive(Clone, Copy)]
pub(super) struct Location<'h, 's> {
    pub(super) position: &'h Position<'s>,
    pub(super) trail: &'h Trail<'h>,
}

/// The result of the merge for a value.
#[derive(Debug)]
pub(super) enum Decision {
    /// The value is kept; it may have been changed in place.
    Keep,
    /// The value is replaced.
    Replace(Node),
    /// The value is removed. The node itself is not changed, because a list may still contain it.
    Remove,
}

impl Decision {
    /// Returns the resulting object.
    pub(super) fn into_node(self, object: Option<Node>) -> Option<Node> {
        match self {
            Self::Keep => object,
            Self::Replace(node) => Some(node),
            Self::Remove => None,
        }
    }

    /// Applies the decision to the value of a field. Returns true if the field is kept.
    pub(super) fn apply_to(self, value: &mut Node) -> bool {
        match self {
            Self::Keep => quote_yaml11_values(value),
            Self::Replace(mut node) => {
                restyle(&mut node, &value.meta);
                *value = node;
            }
            Self::Remove => return false,
        }
        true
    }

    /// Adds the value of a new field to a map, with these comments.
    pub(super) fn add_to(self, map: &mut Map, key: &Key, comments: Option<Box<Comments>>) {
        if let Self::Replace(mut node) = self {
            quote_yaml11_values(&mut node);
            map.push(Key { text: key.text.clone(), meta: Meta { comments, ..key.meta.clone() } }, node);
        }
    }
}

/// Keeps the fields or entries for which `keep` returns true. Stops at the first error.
pub(super) fn retain<T>(entries: &mut Vec<T>, mut keep: impl FnMut(&mut T) -> Result<bool>) -> Result<()> {
    let mut outcome = Ok(());
    entries.retain_mut(|entry| match outcome.as_ref().map_or(Ok(true), |()| keep(entry)) {
        Ok(stays) => stays,
        Err(error) => {
            outcome = Err(error);
            true
        }
    });
    outcome
}

/// Checks that two values are both maps, both lists or both scalars.
///
/// # Errors
/// The values have different types.
pub(super) fn check_same_kind(old: &Node, new: &Node, trail: &Trail<'_>) -> Result<()> {
    if std::mem::discriminant(&old.value) == std::mem::discriminant(&new.value) {
        return Ok(());
    }
    let message = format!("{} cannot be merged with {}", new.type_name(), old.type_name());
    Err(trail
        .error(Code::WrongType, message)
        .at(new.span())
        .label(old.span(), format!("the existing value is {}", old.type_name()))
        .help("to change its type, set the field to null in an earlier patch"))
}

/// Matches the fields of two maps. Returns the index in the other map of each field of the first map, and the indices
/// of the fields that only the other map has, sorted by name.
pub(super) fn match_fields(map: &Map, other: &Map) -> (Vec<Option<usize>>, Vec<usize>) {
    let (mut partners, mut new) = (vec![None; map.len()], Vec::new());
    let few = other.len() <= 4;
    let index = (!few).then(|| map.index());
    for (i, (key, _)) in other.iter().enumerate() {
        match index.as_ref().map_or_else(|| map.position(key), |index| index.position(key)) {
            Some(at) => partners[at] = Some(i),
            None => new.push(i),
        }
    }
    let name = |i: &usize| &other.entries()[*i].key.text;
    new.sort_unstable_by(|a, b| name(a).cmp(name(b)));
    (partners, new)
}
