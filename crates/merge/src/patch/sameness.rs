//! Whether a patched object is the one that was wanted, as far as an API server tells them apart.

use super::owner_nulls::is_nothing;
use crate::merge::Trail;
use crate::merge::align;
use crate::merge::apiserver::types::element;
use crate::merge::association::{Association, ListPolicy};
use crate::merge::directive::is_delete;
use crate::schema::Cursor;
use smp_text::path::FieldPath;
use smp_text::source::Span;
use smp_text::yaml::{Map, Node, Value, to_json};

/// What counts as the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sameness {
    /// The same data.
    Exact,
    /// The same data, where null is none in a field whose type is known, and the order of sets does not count.
    Decoded(ListPolicy),
    /// The same, where the order of entries with keys does not count, either.
    Unordered(ListPolicy),
}

/// The first difference of two objects.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    pub path: FieldPath,
    /// Where the wanted value stands.
    pub span: Span,
    /// Whether it is in a list of which two entries have the same keys.
    pub equal_keys: bool,
}

impl Sameness {
    /// Where an object differs from the wanted one, if it does.
    pub fn difference(self, got: &Node, wanted: &Node, kind: Cursor<'_>) -> Option<Difference> {
        if got == wanted {
            return None;
        }
        self.values([Some(got), Some(wanted)], kind, &Trail::root(), "")
    }

    /// The two values of a field of that name, or of entries of a list, which have none.
    fn values(
        self,
        [got, wanted]: [Option<&Node>; 2],
        cursor: Cursor<'_>,
        at: &Trail<'_>,
        name: &str,
    ) -> Option<Difference> {
        match (got.map(|node| &node.value), wanted.map(|node| &node.value)) {
            (None, None) => None,
            (Some(Value::Map(got)), Some(Value::Map(wanted))) => self.maps([got, wanted], cursor, at, name),
            (Some(Value::List(got)), Some(Value::List(wanted))) => {
                // Who wants something deleted wants it gone.
                let stays = |entry: &&Node| self == Self::Exact || !is_delete(entry);
                let kept: Vec<Node>;
                let wanted = if wanted.iter().all(|entry| stays(&entry)) {
                    wanted.as_slice()
                } else {
                    kept = wanted.iter().filter(stays).cloned().collect();
                    &kept
                };
                let found = self.lists(got, wanted, cursor, at)?;
                let equal_keys = found.equal_keys || self.has_equal_keys(wanted, cursor);
                Some(Difference { equal_keys, ..found })
            }
            _ if got == wanted => None,
            _ => {
                let span = wanted.or(got).map(Node::span).unwrap_or_default();
                Some(Difference { path: at.path(), span, equal_keys: false })
            }
        }
    }

    fn maps(
        self,
        [got, wanted]: [&Map; 2],
        cursor: Cursor<'_>,
        at: &Trail<'_>,
        map_name: &str,
    ) -> Option<Difference> {
        align::fields([wanted, got]).into_iter().find_map(|[wanted, got]| {
            let name = wanted.or(got)?.key.text.as_str();
            let is_there = |node: &&Node| !node.is_null() || !self.is_nothing(cursor, map_name, name);
            let values = [got, wanted].map(|entry| entry.map(|entry| &entry.value).filter(is_there));
            self.values(values, cursor.field(name), &at.field(name), name)
        })
    }

    /// Whether a field of a map is not there when it is null. kubectl's patches never tell.
    fn is_nothing(self, map: Cursor<'_>, map_name: &str, field: &str) -> bool {
        match self {
            Self::Exact => false,
            Self::Decoded(ListPolicy::Apiserver) | Self::Unordered(ListPolicy::Apiserver) => true,
            Self::Decoded(_) | Self::Unordered(_) => is_nothing(map, map_name, field),
        }
    }

    fn association(self, list: Cursor<'_>) -> Association {
        match self {
            Self::Exact => Association::Atomic,
            Self::Decoded(policy) | Self::Unordered(policy) => Association::of_versions(list, policy),
        }
    }

    fn has_equal_keys(self, list: &[Node], cursor: Cursor<'_>) -> bool {
        let association = self.association(cursor);
        matches!(association, Association::Keyed { .. }) && align::entries([list], &association).is_none()
    }

    fn lists(self, got: &[Node], wanted: &[Node], list: Cursor<'_>, at: &Trail<'_>) -> Option<Difference> {
        let association = self.association(list);
        let by_key = matches!(association, Association::Keyed { .. }) && matches!(self, Self::Unordered(_));
        let rows = if by_key { align::entries([wanted, got], &association) } else { None };
        if let Some(rows) = rows {
            return rows.into_iter().find_map(|row| {
                let [in_wanted, in_got] = row.at;
                let here = at.index(in_wanted.or(in_got).unwrap_or_default());
                let entries = [in_got.map(|i| &got[i]), in_wanted.map(|i| &wanted[i])];
                self.values(entries, element(list), &here, "")
            });
        }
        if association == Association::Set {
            let sorted = |list: &[Node]| {
                let mut texts: Vec<String> = list.iter().filter_map(|node| to_json(node).ok()).collect();
                texts.sort_unstable();
                texts.dedup();
                texts
            };
            let span = wanted.first().map(Node::span).unwrap_or_default();
            let differ = sorted(got) != sorted(wanted);
            return differ.then(|| Difference { path: at.path(), span, equal_keys: false });
        }
        (0..got.len().max(wanted.len()))
            .find_map(|i| self.values([got.get(i), wanted.get(i)], element(list), &at.index(i), ""))
    }
}
