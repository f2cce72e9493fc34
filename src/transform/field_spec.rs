//! Field specs: in which kinds which fields a transformer changes.
//!
//! Knows how lists of specs are merged and which specs are for which kind; knows nothing of what is
//! written into the fields.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer};
use smol_str::SmolStr;

use super::field_path::{Create, Path, Set};
use super::sort;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::resource::Resource;
use crate::schema::Gvk;
use crate::yaml::{Node, Value};

/// A field of some kinds; an empty group, version or kind stands for any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct FieldSpec {
    /// The API group.
    pub group: SmolStr,
    /// The version.
    pub version: SmolStr,
    /// The kind.
    pub kind: SmolStr,
    /// Field names with `/` between them (`\/` is a slash in a name). Lists on the way need no
    /// mention: all their entries are meant. A name with `[]` behind it is never created.
    pub path: SmolStr,
    /// Whether the field is made when it is missing.
    pub create: bool,
}

impl FieldSpec {
    /// A field of all kinds.
    #[must_use]
    pub fn of_all(path: &str, create: bool) -> Self {
        Self { path: path.into(), create, ..Self::default() }
    }

    /// Whether the field is one of this kind.
    #[must_use]
    pub fn selects(&self, gvk: &Gvk) -> bool {
        selects([&self.group, &self.version, &self.kind], gvk)
    }

    /// Whether kustomize takes `self`, which it has, and `incoming` for the same: an incoming spec
    /// that is the wider one is lost.
    fn stands_for(&self, incoming: &Self) -> bool {
        let fits = |wanted: &SmolStr, own: &SmolStr| wanted.is_empty() || wanted == own;
        self.path == incoming.path
            && fits(&incoming.group, &self.group)
            && fits(&incoming.version, &self.version)
            && fits(&incoming.kind, &self.kind)
    }
}

/// Whether group, version and kind are each empty or the same.
pub(super) fn selects([group, version, kind]: [&str; 3], gvk: &Gvk) -> bool {
    (kind.is_empty() || kind == gvk.kind)
        && (group.is_empty() || group == gvk.group)
        && (version.is_empty() || version == gvk.version)
}

/// A list of field specs; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct FieldSpecs(Arc<Specs>);

#[derive(Debug, Default)]
struct Specs {
    list: Vec<FieldSpec>,
    /// Whether it is a list of [`super::defaults`], whose merge with itself need not be computed.
    builtin: bool,
    paths: OnceLock<Paths>,
}

impl From<Vec<FieldSpec>> for FieldSpecs {
    fn from(list: Vec<FieldSpec>) -> Self {
        Self(Arc::new(Specs { list, ..Specs::default() }))
    }
}

impl<'de> Deserialize<'de> for FieldSpecs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Option::<Vec<FieldSpec>>::deserialize(deserializer).map(|list| list.unwrap_or_default().into())
    }
}

impl FieldSpecs {
    /// A list that is known to be sorted and merged.
    pub(super) fn builtin(list: Vec<FieldSpec>) -> Self {
        Self(Arc::new(Specs { list, builtin: true, ..Specs::default() }))
    }

    /// The specs in order.
    #[must_use]
    pub fn as_slice(&self) -> &[FieldSpec] {
        &self.0.list
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.list.is_empty()
    }

    /// These specs and those of `other` that are new.
    ///
    /// # Errors
    /// Two specs of the same field that do not agree on whether it is created.
    pub fn merge(&self, other: &Self) -> Result<Self> {
        if other.is_empty() || (self.0.builtin && Arc::ptr_eq(&self.0, &other.0)) {
            return Ok(self.clone());
        }
        if self.is_empty() && other.0.builtin {
            return Ok(other.clone());
        }
        merge_lists(self.as_slice(), other.as_slice()).map(Self::from)
    }

    /// These specs and one more, unless it is there.
    ///
    /// # Errors
    /// As [`FieldSpecs::merge`].
    pub fn with(&self, spec: FieldSpec) -> Result<Self> {
        self.merge(&vec![spec].into())
    }

    /// In kustomize's order of kinds, in which merged lists are kept.
    #[must_use]
    pub fn sorted(self) -> Self {
        let order = |a: &FieldSpec, b: &FieldSpec| {
            sort::compare_kinds([&a.group, &a.version, &a.kind], [&b.group, &b.version, &b.kind])
        };
        if self.0.builtin || self.0.list.is_sorted_by(|a, b| order(a, b).is_le()) {
            return self;
        }
        let mut list = self.0.list.clone();
        list.sort_by(order);
        list.into()
    }

    /// Calls `set` on each field of the resource that a spec names, in the order of the specs.
    ///
    /// # Errors
    /// A path that leads through a scalar or is malformed, and what `set` returns; with field and resource.
    pub(super) fn visit(&self, resource: &mut Resource, create: Create, set: &mut Set<'_>) -> Result<()> {
        let paths = self.0.paths.get_or_init(|| Paths::new(&self.0.list));
        let of_kind = paths.of_kind(&resource.id().gvk.kind);
        of_kind.iter().try_for_each(|&i| self.visit_one(i, resource, create, set))
    }

    /// As [`FieldSpecs::visit`], for the spec at one position only.
    pub(super) fn visit_one(
        &self,
        i: usize,
        resource: &mut Resource,
        create: Create,
        set: &mut Set<'_>,
    ) -> Result<()> {
        let paths = self.0.paths.get_or_init(|| Paths::new(&self.0.list));
        let (Some(spec), Some(path)) = (self.0.list.get(i), paths.all.get(i)) else { return Ok(()) };
        if !spec.selects(&resource.id().gvk) {
            return Ok(());
        }
        let create = if spec.create { create } else { Create::Never };
        let mut changes_shared = false;
        let mut watched = |field: &mut Node| {
            changes_shared |= has_shared(field);
            set(field)
        };
        let mut visit = |resource: &mut Resource| path.visit(resource.node_mut(), create, &mut watched);
        let of_annotations = create == Create::Never && spec.path == "metadata/annotations";
        let done = if of_annotations { resource.with_annotations(visit) } else { visit(resource) };
        done.map_err(|d| d.field(&spec.path).resource(resource.id()))?;
        if changes_shared {
            resource.spread_shared();
        }
        Ok(())
    }

    /// Whether the specs may lead to several fields of one resource.
    pub(super) fn has_several(&self, gvk: &Gvk) -> bool {
        let paths = self.0.paths.get_or_init(|| Paths::new(&self.0.list));
        let specs = paths.of_kind(&gvk.kind).iter().filter_map(|&i| self.0.list.get(i));
        let mut paths = specs.filter(|spec| spec.selects(gvk)).map(|spec| &spec.path);
        // Nothing in `metadata` is a list that would have the field several times.
        paths.next().is_some_and(|first| !first.starts_with("metadata/") || paths.next().is_some())
    }
}

/// Whether a field, or an entry of it, is one with others.
fn has_shared(field: &Node) -> bool {
    let is_shared = |node: &Node| node.meta.shared != 0;
    match &field.value {
        Value::Scalar(_) => is_shared(field),
        Value::Map(map) => map.iter().any(|(_, value)| is_shared(value)),
        Value::List(list) => list.iter().any(is_shared),
    }
}

/// kustomize's merge of lists: what is there already is skipped, by the first that stands for it.
pub(super) fn merge_lists(own: &[FieldSpec], incoming: &[FieldSpec]) -> Result<Vec<FieldSpec>> {
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

/// The paths of a list of specs, taken apart, and which of them are for which kind.
#[derive(Debug)]
struct Paths {
    all: Vec<Path>,
    by_kind: FxHashMap<SmolStr, Vec<usize>>,
    of_any_kind: Vec<usize>,
}

impl Paths {
    fn new(specs: &[FieldSpec]) -> Self {
        let (by_kind, of_any_kind) = index_by_kind(specs.iter().map(|s| &s.kind));
        Self { all: specs.iter().map(|s| Path::new(&s.path)).collect(), by_kind, of_any_kind }
    }

    fn of_kind(&self, kind: &str) -> &[usize] {
        self.by_kind.get(kind).unwrap_or(&self.of_any_kind)
    }
}

/// The positions of each kind, those of any kind among them, in order; and those of any kind alone.
pub(super) fn index_by_kind<'k>(
    kinds: impl Iterator<Item = &'k SmolStr>,
) -> (FxHashMap<SmolStr, Vec<usize>>, Vec<usize>) {
    let mut by_kind: FxHashMap<SmolStr, Vec<usize>> = FxHashMap::default();
    let mut of_any_kind = Vec::new();
    for (i, kind) in kinds.enumerate() {
        if kind.is_empty() {
            for list in by_kind.values_mut() {
                list.push(i);
            }
            of_any_kind.push(i);
        } else {
            by_kind.entry(kind.clone()).or_insert_with(|| of_any_kind.clone()).push(i);
        }
    }
    (by_kind, of_any_kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: &str, path: &str, create: bool) -> FieldSpec {
        FieldSpec { kind: kind.into(), ..FieldSpec::of_all(path, create) }
    }

    #[test]
    fn lists_are_merged() {
        let own = FieldSpecs::from(vec![spec("A", "p", true), spec("", "q", false)]);
        let more = |spec: FieldSpec| own.with(spec).map(|s| s.as_slice().len()).map_err(|d| d.code());
        assert_eq!(more(spec("A", "p", true)), Ok(2));
        assert_eq!(more(spec("B", "p", true)), Ok(3));
        assert_eq!(more(spec("A", "r", true)), Ok(3));
        // The wider one is lost; the narrower one is kept beside the wider.
        assert_eq!(more(spec("", "p", true)), Ok(2));
        assert_eq!(more(spec("A", "q", false)), Ok(3));
        assert_eq!(more(spec("", "p", false)), Err(Code::InvalidValue));
    }

    #[test]
    fn kinds_are_sorted_and_found() {
        let kinds = ["Zoo", "", "Deployment", "MutatingWebhookConfiguration", "Namespace", "Zoo"];
        let specs = FieldSpecs::from(kinds.iter().map(|k| spec(k, "p", false)).collect::<Vec<_>>());
        let sorted: Vec<_> = specs.clone().sorted().as_slice().iter().map(|s| s.kind.clone()).collect();
        // No kind is `~K`, which sorts behind letters.
        assert_eq!(sorted, ["Namespace", "Deployment", "Zoo", "Zoo", "", "MutatingWebhookConfiguration"]);
        let paths = Paths::new(specs.as_slice());
        assert_eq!(paths.of_kind("Zoo"), [0, 1, 5]);
        assert_eq!(paths.of_kind("Deployment"), [1, 2]);
        assert_eq!(paths.of_kind("Other"), [1]);
    }

    #[test]
    fn selectors() {
        let gvk = Gvk::from_manifest("apps/v1", "Deployment");
        let table = [
            (["", "", ""], true),
            (["apps", "", "Deployment"], true),
            (["", "v1", ""], true),
            (["", "v2", ""], false),
            (["extensions", "", "Deployment"], false),
            (["", "", "Pod"], false),
        ];
        for (selector, want) in table {
            assert_eq!(selects(selector, &gvk), want, "{selector:?}");
        }
    }
}
