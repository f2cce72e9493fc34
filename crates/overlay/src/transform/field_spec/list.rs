//! Lists of field specs and of back references: merging, sorting and lookup by kind.
//!
//! This module does not depend on the values that transformers write.

use std::cmp::Ordering;
use std::slice;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer};
use smol_str::SmolStr;

use super::back_reference::NameBackReference;
use super::merge::{merge_references, merge_specs};
use super::path::SpecPath;
use super::spec::FieldSpec;
use crate::resource::compare_kinds;
use smp_merge::schema::Gvk;
use smp_text::diagnostic::Result;

/// A list of field specs.
pub type FieldSpecs = SpecList<FieldSpec>;

/// A list of back references.
pub type NameReferences = SpecList<NameBackReference>;

/// A list of field specs or back references. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct SpecList<S>(Arc<Specs<S>>);

#[derive(Debug)]
struct Specs<S> {
    /// The entries. Those of a built-in list are created at their first use.
    list: OnceLock<Vec<S>>,
    /// For a built-in list of kustomize, a function that creates its entries in any order. Its merge with itself needs no
    /// computation.
    builtin: Option<fn() -> Vec<S>>,
    fields: OnceLock<FieldIndex>,
}

impl<S> Default for Specs<S> {
    fn default() -> Self {
        Self { list: OnceLock::from(Vec::new()), builtin: None, fields: OnceLock::new() }
    }
}

/// An entry of a [`SpecList`].
pub trait ListedSpec: Clone {
    /// Returns the group, version and kind by which lists are sorted.
    fn sort_key(&self) -> [&str; 3];

    /// Returns the fields of the entry.
    fn fields(&self) -> &[FieldSpec];

    /// Returns the entries of a list and the new ones of another list.
    ///
    /// # Errors
    /// Two specs of one field have different values of `create`.
    fn merge(own: &[Self], incoming: &[Self]) -> Result<Vec<Self>>;
}

impl ListedSpec for FieldSpec {
    fn sort_key(&self) -> [&str; 3] {
        [&self.group, &self.version, &self.kind]
    }

    fn fields(&self) -> &[FieldSpec] {
        slice::from_ref(self)
    }

    fn merge(own: &[Self], incoming: &[Self]) -> Result<Vec<Self>> {
        merge_specs(own, incoming.iter())
    }
}

impl ListedSpec for NameBackReference {
    fn sort_key(&self) -> [&str; 3] {
        self.parts()
    }

    fn fields(&self) -> &[FieldSpec] {
        &self.field_specs
    }

    fn merge(own: &[Self], incoming: &[Self]) -> Result<Vec<Self>> {
        merge_references(own, incoming)
    }
}

impl<S> From<Vec<S>> for SpecList<S> {
    fn from(list: Vec<S>) -> Self {
        Self(Arc::new(Specs { list: OnceLock::from(list), ..Specs::default() }))
    }
}

impl<'de, S: Deserialize<'de>> Deserialize<'de> for SpecList<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Option::<Vec<S>>::deserialize(deserializer).map(|list| list.unwrap_or_default().into())
    }
}

impl<S: ListedSpec> SpecList<S> {
    /// Returns the entries in order.
    #[must_use]
    pub fn as_slice(&self) -> &[S] {
        self.0.list.get_or_init(|| {
            let mut list = self.0.builtin.map(|create| create()).unwrap_or_default();
            list.sort_by(order);
            list
        })
    }

    /// Returns true if the list has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// Creates a built-in list of kustomize from a function that returns its entries. Such a list has no conflicts with
    /// itself.
    pub(in crate::transform) fn builtin(create: fn() -> Vec<S>) -> Self {
        Self(Arc::new(Specs { list: OnceLock::new(), builtin: Some(create), fields: OnceLock::new() }))
    }

    fn is_builtin(&self) -> bool {
        self.0.builtin.is_some()
    }

    /// Returns these entries and the new ones of `other`.
    ///
    /// # Errors
    /// Two specs of one field have different values of `create`.
    pub fn merge(&self, other: &Self) -> Result<Self> {
        if (self.is_builtin() && Arc::ptr_eq(&self.0, &other.0)) || (!other.is_builtin() && other.is_empty())
        {
            return Ok(self.clone());
        }
        if other.is_builtin() && !self.is_builtin() && self.is_empty() {
            return Ok(other.clone());
        }
        let merged = S::merge(self.as_slice(), other.as_slice())?;
        let fields = |list: &[S]| list.iter().map(|entry| entry.fields().len()).sum::<usize>();
        // If nothing is new, the index of the list is also kept.
        let is_same = merged.len() == self.as_slice().len() && fields(&merged) == fields(self.as_slice());
        Ok(if is_same { self.clone() } else { merged.into() })
    }

    /// Returns these entries and one more, unless it is in the list.
    ///
    /// # Errors
    /// The errors of [`SpecList::merge`].
    pub fn with(&self, spec: S) -> Result<Self> {
        self.merge(&vec![spec].into())
    }

    /// Sorts the list in kustomize's order of kinds, which is the order of merged lists.
    #[must_use]
    pub fn sorted(self) -> Self {
        if self.is_builtin() || self.as_slice().is_sorted_by(|a, b| order(a, b).is_le()) {
            return self;
        }
        let mut list = self.as_slice().to_vec();
        list.sort_by(order);
        list.into()
    }

    /// Returns the positions, in order, of the fields that may apply to a kind.
    pub(super) fn positions(&self, kind: &str) -> impl Iterator<Item = usize> {
        let fields = self.index();
        let own = fields.by_kind.get(kind).map_or(&[][..], Vec::as_slice);
        merge_ascending(own, &fields.of_any_kind)
    }

    /// Returns the field at a position among all fields of the list.
    pub(super) fn field(&self, position: usize) -> Option<SpecField<'_, S>> {
        let (entry, spec, path) = self.index().all.get(position)?;
        let entry = self.as_slice().get(*entry)?;
        let spec = entry.fields().get(*spec)?;
        Some(SpecField { entry, spec, path: path.get_or_init(|| SpecPath::new(&spec.path)) })
    }

    fn index(&self) -> &FieldIndex {
        self.0.fields.get_or_init(|| FieldIndex::new(self.as_slice()))
    }

    /// Returns the fields that apply to a group, version and kind, in order.
    pub(in crate::transform) fn fields_for<'c>(
        &'c self,
        gvk: &'c Gvk,
    ) -> impl Iterator<Item = SpecField<'c, S>> {
        let fields = self.positions(&gvk.kind).filter_map(|i| self.field(i));
        fields.filter(|field| field.spec.selects(gvk))
    }
}

/// Compares entries in kustomize's order of kinds.
fn order<S: ListedSpec>(a: &S, b: &S) -> Ordering {
    compare_kinds(a.sort_key(), b.sort_key())
}

/// A field of an entry of a list.
#[derive(Debug)]
pub(in crate::transform) struct SpecField<'c, S> {
    /// The entry.
    pub entry: &'c S,
    /// The field.
    pub spec: &'c FieldSpec,
    /// The parsed path of the field.
    pub path: &'c SpecPath,
}

/// An index of all fields of a list, in order and by kind. Each field has the position of its entry, its position in
/// the entry, and its path, which is parsed at its first use.
#[derive(Debug)]
struct FieldIndex {
    all: Vec<(usize, usize, OnceLock<SpecPath>)>,
    by_kind: FxHashMap<SmolStr, Vec<usize>>,
    of_any_kind: Vec<usize>,
}

impl FieldIndex {
    fn new(list: &[impl ListedSpec]) -> Self {
        let specs = || list.iter().flat_map(ListedSpec::fields);
        let (by_kind, of_any_kind) = index_by_kind(specs().map(|s| &s.kind));
        let mut all = Vec::with_capacity(specs().count());
        for (i, entry) in list.iter().enumerate() {
            all.extend((0..entry.fields().len()).map(|j| (i, j, OnceLock::new())));
        }
        Self { all, by_kind, of_any_kind }
    }
}

/// Merges two ascending lists.
fn merge_ascending<'p>(mut own: &'p [usize], mut other: &'p [usize]) -> impl Iterator<Item = usize> + 'p {
    std::iter::from_fn(move || {
        let next = match (own.first(), other.first()) {
            (Some(a), Some(b)) if b < a => &mut other,
            (Some(_), _) => &mut own,
            (None, _) => &mut other,
        };
        let (first, rest) = next.split_first()?;
        *next = rest;
        Some(*first)
    })
}

/// Returns the positions of each kind, and those that apply to any kind, each in order.
fn index_by_kind<'k>(
    kinds: impl Iterator<Item = &'k SmolStr>,
) -> (FxHashMap<SmolStr, Vec<usize>>, Vec<usize>) {
    let mut by_kind: FxHashMap<SmolStr, Vec<usize>> = FxHashMap::default();
    let mut of_any_kind = Vec::new();
    for (i, kind) in kinds.enumerate() {
        if kind.is_empty() {
            of_any_kind.push(i);
        } else {
            by_kind.entry(kind.clone()).or_default().push(i);
        }
    }
    (by_kind, of_any_kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_sorted_and_found_by_kind() {
        let kinds = ["Zoo", "", "Deployment", "MutatingWebhookConfiguration", "Namespace", "Zoo"];
        let specs = FieldSpecs::from(
            kinds.map(|kind| FieldSpec { kind: kind.into(), ..FieldSpec::for_all_kinds("p") }).to_vec(),
        );
        let sorted: Vec<_> = specs.clone().sorted().as_slice().iter().map(|s| s.kind.clone()).collect();
        // An empty kind is `~K`, which sorts after letters.
        assert_eq!(sorted, ["Namespace", "Deployment", "Zoo", "Zoo", "", "MutatingWebhookConfiguration"]);
        let positions = |kind| specs.positions(kind).collect::<Vec<_>>();
        assert_eq!(positions("Zoo"), [0, 1, 5]);
        assert_eq!(positions("Deployment"), [1, 2]);
        assert_eq!(positions("Other"), [1]);
    }
}
