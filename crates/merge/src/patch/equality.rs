//! Compares a patched object with the expected one, with the differences that an API server distinguishes.

use super::null_fields::null_counts_as_absent;
use crate::diff::{Change, Equality, ListPairing, compare_by};
use crate::merge::align;
use crate::merge::apiserver::types::element;
use crate::merge::association::{Association, ListPolicy};
use crate::merge::directive::is_delete;
use crate::schema::Cursor;
use smp_text::path::{FieldPath, PathElement};
use smp_text::source::Span;
use smp_text::yaml::{Node, to_json};

/// The rules for equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchedEquality {
    /// The same data.
    Exact,
    /// The same data, except that a null field with a known type equals an absent one, and the order of sets is
    /// ignored.
    Decoded(ListPolicy),
    /// Like `Decoded`, but the order of entries with merge keys is also ignored.
    Unordered(ListPolicy),
}

/// The first difference of two objects.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    pub path: FieldPath,
    /// The location of the expected value.
    pub span: Span,
    /// True if the value is in a list with two entries that have the same keys.
    pub equal_keys: bool,
}

impl PatchedEquality {
    /// Returns the first difference between an object and the expected one.
    pub fn difference(self, got: &Node, expected: &Node, kind: Cursor<'_>) -> Option<Difference> {
        if got == expected {
            return None;
        }
        let comparison = compare_by(&self, [Some(got), Some(expected)], kind);
        let Change { path, old, new } = comparison.changes().first()?;
        let location = match (old.and_then(Node::as_list), new.and_then(Node::as_list)) {
            (Some(_), Some(list)) => list.first(),
            _ => new.or(*old),
        };
        let equal_keys = self.has_equal_keys(expected, path, kind);
        Some(Difference {
            path: path.clone(),
            span: location.map(Node::span).unwrap_or_default(),
            equal_keys,
        })
    }

    /// Returns true if a list on the path has two entries with the same keys.
    fn has_equal_keys(self, object: &Node, path: &FieldPath, mut cursor: Cursor<'_>) -> bool {
        let mut node = Some(object);
        path.elements().iter().any(|step| {
            let Some(here) = node else { return false };
            let (below, is_ambiguous) = match (step, here.as_list()) {
                (PathElement::Field(name), _) => (cursor.field(name), false),
                (_, list) => {
                    let association = self.association(cursor);
                    let is_keyed = matches!(association, Association::Keyed { .. });
                    let kept: Vec<Node> = self.kept(list.map_or(&[], Vec::as_slice)).cloned().collect();
                    (element(cursor), is_keyed && align::entries([&kept], &association).is_none())
                }
            };
            (node, cursor) = (step.find(here), below);
            is_ambiguous
        })
    }

    fn association(self, list: Cursor<'_>) -> Association {
        match self {
            Self::Exact => Association::Atomic,
            Self::Decoded(policy) | Self::Unordered(policy) => Association::of_versions(list, policy),
        }
    }

    /// Returns the expected entries. An entry with `$patch: delete` is expected to be absent, so it is omitted.
    fn kept(self, expected: &[Node]) -> impl Iterator<Item = &Node> {
        expected.iter().filter(move |entry| self == Self::Exact || !is_delete(entry))
    }
}

impl Equality for PatchedEquality {
    fn lists(&self, [got, expected]: [&[Node]; 2], list: Cursor<'_>) -> ListPairing {
        let association = self.association(list);
        let kept: Vec<usize> =
            (0..expected.len()).filter(|i| *self == Self::Exact || !is_delete(&expected[*i])).collect();
        if matches!(association, Association::Keyed { .. }) && matches!(self, Self::Unordered(_)) {
            let entries: Vec<Node> = self.kept(expected).cloned().collect();
            if let Some(rows) = align::entries([&entries, got], &association) {
                let row = |row: align::AlignedEntry<2>| {
                    let [in_expected, in_got] = row.positions;
                    let in_expected = in_expected.map(|i| kept[i]);
                    let here = PathElement::Index(in_expected.or(in_got).unwrap_or_default());
                    (here, [in_got, in_expected])
                };
                return ListPairing::Entries(rows.into_iter().map(row).collect());
            }
        }
        if association == Association::Set {
            return ListPairing::Whole { same: sorted(got.iter()) == sorted(self.kept(expected)) };
        }
        let row = |i: usize| {
            let in_expected = kept.get(i).copied();
            (PathElement::Index(in_expected.unwrap_or(i)), [Some(i).filter(|i| *i < got.len()), in_expected])
        };
        ListPairing::Entries((0..got.len().max(kept.len())).map(row).collect())
    }

    /// Returns true if null in a field equals an absent field. Under the API server's policy this is the case for all
    /// fields.
    fn null_is_absent(&self, map: Cursor<'_>, name: &str, field: &str) -> bool {
        match self {
            Self::Exact => false,
            Self::Decoded(ListPolicy::Apiserver) | Self::Unordered(ListPolicy::Apiserver) => true,
            Self::Decoded(_) | Self::Unordered(_) => null_counts_as_absent(map, name, field),
        }
    }
}

/// Returns the entries of a set as sorted texts without duplicates.
fn sorted<'n>(entries: impl Iterator<Item = &'n Node>) -> Vec<String> {
    let mut texts: Vec<String> = entries.filter_map(|node| to_json(node).ok()).collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}
