//! Suggestions for IDs that match no resource ("did you mean ...?").
//!
//! `smp_text::yaml::nearest_name` measures the similarity of names.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Bound;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::{ResId, Resource, ResourceSet};
use smp_merge::schema::Schema;
use smp_text::source::Span;
use smp_text::yaml::nearest_name;

/// The number of names of a kind up to which all are compared.
///
/// With more names, only the neighbors of a name are compared: in the list sorted by the names, and in the list sorted
/// by the reversed names. Comparing all pairs would take too long in a base of thousands.
const MAX_COMPARE_ALL: usize = 64;

/// Families of kinds that are easily confused, for example after a workload was changed from one kind to
/// another.
const FAMILIES: [&[&str]; 5] = [
    &["DaemonSet", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"],
    &["CronJob", "Job"],
    &["ConfigMap", "Secret"],
    &["ClusterRole", "Role"],
    &["ClusterRoleBinding", "RoleBinding"],
];

/// Returns the kind of `kinds` that belongs to the same family as `kind`.
fn related_kind<'n>(kind: &str, kinds: &[&'n str]) -> Option<&'n str> {
    let family = FAMILIES.iter().find(|family| family.contains(&kind))?;
    family.iter().find_map(|member| kinds.iter().find(|known| *known == member).copied())
}

/// The number of neighbors to compare on each side.
const NEIGHBOURS: usize = 8;

/// An index of resources to find the one most similar to an ID.
#[derive(Debug, Default)]
pub struct SimilarResources {
    /// Names by kind.
    names: FxHashMap<SmolStr, Names>,
    /// Resources by name, then by kind.
    kinds: FxHashMap<SmolStr, FxHashMap<SmolStr, SimilarResource>>,
}

/// A known resource and its location.
#[derive(Debug, Clone)]
pub struct SimilarResource {
    pub(crate) id: ResId,
    pub(crate) location: Span,
}

/// An index of names to find similar ones.
#[derive(Debug, Default)]
pub struct SimilarNames {
    by_beginning: BTreeSet<SmolStr>,
    /// The names, each reversed.
    by_end: BTreeSet<SmolStr>,
}

fn reversed(name: &str) -> SmolStr {
    name.chars().rev().collect()
}

impl SimilarNames {
    fn add(&mut self, name: &SmolStr) {
        self.by_end.insert(reversed(name));
        self.by_beginning.insert(name.clone());
    }

    /// Returns the most similar name, if one is similar enough.
    pub fn nearest(&self, name: &str) -> Option<SmolStr> {
        let candidates: Vec<SmolStr> = if self.by_beginning.len() <= MAX_COMPARE_ALL {
            self.by_beginning.iter().cloned().collect()
        } else {
            let end = reversed(name);
            let ends = neighbours(&self.by_end, &end).map(|name| reversed(name));
            neighbours(&self.by_beginning, name).cloned().chain(ends).collect()
        };
        let candidates: Vec<&str> = candidates.iter().map(SmolStr::as_str).collect();
        nearest_name(name, &candidates).map(SmolStr::from)
    }
}

impl<'n> FromIterator<&'n SmolStr> for SimilarNames {
    fn from_iter<I: IntoIterator<Item = &'n SmolStr>>(names: I) -> Self {
        let mut similar = Self::default();
        names.into_iter().for_each(|name| similar.add(name));
        similar
    }
}

/// The names of a kind, and the resources that have them.
#[derive(Debug, Default)]
struct Names {
    known: FxHashMap<SmolStr, SimilarResource>,
    similar: SimilarNames,
}

impl Names {
    fn add(&mut self, known: SimilarResource) {
        self.similar.add(&known.id.name);
        self.known.entry(known.id.name.clone()).or_insert(known);
    }

    /// Returns the resource with the most similar name, if one is similar enough.
    fn nearest(&self, name: &str) -> Option<&SimilarResource> {
        self.known.get(&self.similar.nearest(name)?)
    }
}

fn neighbours<'n>(names: &'n BTreeSet<SmolStr>, name: &str) -> impl Iterator<Item = &'n SmolStr> {
    let behind = names.range::<str, _>((Bound::Included(name), Bound::Unbounded)).take(NEIGHBOURS);
    let before = names.range::<str, _>((Bound::Unbounded, Bound::Excluded(name))).rev().take(NEIGHBOURS);
    behind.chain(before)
}

impl SimilarResources {
    /// Indexes resources by their current and former names, since references may use either.
    pub(crate) fn from_resources<'r>(resources: impl IntoIterator<Item = &'r Resource>) -> Self {
        let mut alike = Self::default();
        for resource in resources {
            let at = resource.node().span().at_start();
            resource.ids().rev().filter(|id| !id.name.is_empty()).for_each(|id| alike.add(id, at));
        }
        alike
    }

    fn add(&mut self, id: &ResId, at: Span) {
        let known = SimilarResource { id: id.clone(), location: at };
        self.names.entry(id.gvk.kind.clone()).or_default().add(known.clone());
        let kinds = self.kinds.entry(id.name.clone()).or_default();
        kinds.entry(id.gvk.kind.clone()).or_insert(known);
    }

    /// Returns the kind most similar to `kind`, or `None` if a resource of this kind exists.
    fn nearest_kind(&self, kind: &str) -> Option<&str> {
        let kinds: BTreeSet<&str> = self.names.keys().map(SmolStr::as_str).collect();
        if kinds.contains(kind) {
            return None;
        }
        nearest_name(kind, &kinds.into_iter().collect::<Vec<_>>())
    }

    /// Returns the resource most similar to an ID: with the same name in another namespace or of a similar
    /// kind, or of the same kind with a similar name.
    ///
    /// Two kinds that are both in the schema are not treated as misspellings of each other, unless they belong to one
    /// family. An empty part of the ID matches anything.
    pub(crate) fn nearest(&self, id: &ResId, schema: &Schema) -> Option<&SimilarResource> {
        let (kind, name) = (&id.gvk.kind, &id.name);
        if name.is_empty() {
            return None;
        }
        if let Some(kinds) = self.kinds.get(name) {
            if let Some(elsewhere) = kinds.get(kind) {
                return Some(elsewhere);
            }
            let names: Vec<&str> = kinds.keys().map(SmolStr::as_str).collect();
            let is_unknown = schema.kind(&id.gvk).is_none();
            let may_be_wrong = |near: &&str| {
                is_unknown || kinds.get(*near).is_some_and(|known| schema.kind(&known.id.gvk).is_none())
            };
            let near = nearest_name(kind, &names).filter(may_be_wrong).or_else(|| related_kind(kind, &names));
            if let Some(known) = near.and_then(|kind| kinds.get(kind)) {
                return Some(known);
            }
        }
        self.names.get(kind)?.nearest(name)
    }
}

impl SimilarResources {
    /// Returns a resource of the same kind whose name extends or shortens the ID's name at a hyphen: `web`
    /// for `web-prod`.
    pub(crate) fn longer_or_shorter(&self, id: &ResId) -> Option<&SimilarResource> {
        let (names, name) = (&self.names.get(&id.gvk.kind)?.known, id.name.as_str());
        let parts = |at: usize| [&name[..at], &name[at + 1..]];
        // Try the longest part first.
        let mut shorter: Vec<&str> = name.match_indices('-').flat_map(|(at, _)| parts(at)).collect();
        shorter.sort_unstable_by_key(|part| std::cmp::Reverse(part.len()));
        if let Some(known) = shorter.into_iter().find_map(|part| names.get(part)) {
            return Some(known);
        }
        let is_longer = |known: &str| {
            let rest = known.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
            rest.or_else(|| known.strip_suffix(name)?.strip_suffix('-')).is_some()
        };
        let mut longer = names.keys().filter(|_| names.len() <= MAX_COMPARE_ALL && !name.is_empty());
        names.get(longer.find(|known| is_longer(known))?)
    }
}

impl SimilarResource {
    /// Returns "did you mean ...?", with the part in which the resource differs from an ID.
    pub(crate) fn suggestion(&self, id: &ResId) -> String {
        // For a selector (an ID without a version), only the fields that it sets are compared.
        let selects = id.gvk.version.is_empty();
        // A former ID has the namespace `default` where the manifest has none.
        let same_namespace = self.id.namespace == id.namespace || self.id.same_namespace(id);
        let differs = match (same_namespace, self.id.namespace.as_str()) {
            _ if selects && (id.namespace.is_empty() || self.id.namespace == id.namespace) => String::new(),
            _ if self.id.gvk.group != id.gvk.group => {
                format!(" of apiVersion `{}`", self.id.gvk.api_version())
            }
            (true, _) => String::new(),
            (false, "") => " without a namespace".into(),
            (false, namespace) => format!(" in namespace `{namespace}`"),
        };
        format!("did you mean {} `{}`{differs}?", self.id.gvk.kind, self.id.name)
    }
}

/// The part of an ID that is most likely wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongPart {
    /// Group and version.
    ApiVersion,
    /// The kind.
    Kind,
    /// The name.
    Name,
    /// The namespace.
    Namespace,
}

/// Finds the resource that an unmatched ID probably means. Indexes the resources at the first call.
pub struct Suggestions<'s> {
    schema: &'s Schema,
    index: OnceCell<SimilarResources>,
}

impl<'s> Suggestions<'s> {
    pub(crate) fn new(schema: &'s Schema) -> Self {
        Self { schema, index: OnceCell::new() }
    }

    /// Returns the part in which an unmatched ID differs from the most similar resource, or `Name` if there
    /// is none.
    pub(crate) fn wrong_part(&self, set: &ResourceSet, id: &ResId) -> WrongPart {
        let index = self.index.get_or_init(|| SimilarResources::from_resources(set));
        match index.nearest(id, self.schema) {
            Some(known) if known.id.name != id.name => WrongPart::Name,
            Some(known) if known.id.gvk.kind != id.gvk.kind => WrongPart::Kind,
            Some(known) if known.id.gvk != id.gvk => WrongPart::ApiVersion,
            Some(_) => WrongPart::Namespace,
            None => WrongPart::Name,
        }
    }

    /// Returns the location of the resource that an unmatched ID probably means.
    pub(crate) fn location(&self, set: &ResourceSet, id: &ResId) -> Option<Span> {
        let index = self.index.get_or_init(|| SimilarResources::from_resources(set));
        index.nearest(id, self.schema).map(|known| known.location).filter(|_| !id.name.is_empty())
    }

    /// Returns "did you mean ...?" for an unmatched ID.
    pub(crate) fn suggestion(&self, set: &ResourceSet, id: &ResId) -> Option<String> {
        let index = self.index.get_or_init(|| SimilarResources::from_resources(set));
        if id.name.is_empty() {
            return index.nearest_kind(&id.gvk.kind).map(|kind| format!("did you mean the kind `{kind}`?"));
        }
        index.nearest(id, self.schema).map(|known| known.suggestion(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_documents};

    fn resources(text: &str) -> Vec<Resource> {
        let sources = SourceMap::default();
        let id = sources.add("a.yaml", text);
        let nodes = parse_documents(&sources, id, ParseOptions::default()).expect("YAML");
        nodes.into_iter().map(|node| Resource::new(node, &Schema::embedded()).expect("a resource")).collect()
    }

    fn manifest(kind: &str, name: &str) -> String {
        format!("{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: {name}}}}}\n---\n")
    }

    #[test]
    fn similar_resource_is_suggested_among_few_and_many() {
        for count in [0, 5000] {
            let many: String = (0..count).map(|i| manifest("Deployment", &format!("w{i}-service"))).collect();
            let base = resources(&format!(
                "{many}{}{{apiVersion: v1, kind: Service, metadata: {{name: db, namespace: shop}}}}\n",
                manifest("Deployment", "payment-gateway")
            ));
            let alike = SimilarResources::from_resources(&base);
            let table = [
                (
                    "apps/v1",
                    "Deployment",
                    "payment-gatway",
                    Some("did you mean Deployment `payment-gateway`?"),
                ),
                (
                    "apps/v1",
                    "Deployment",
                    "paiment-gateway",
                    Some("did you mean Deployment `payment-gateway`?"),
                ),
                (
                    "apps/v1",
                    "Deploymnt",
                    "payment-gateway",
                    Some("did you mean Deployment `payment-gateway`?"),
                ),
                ("v1", "Service", "db", Some("did you mean Service `db` in namespace `shop`?")),
                (
                    "apps/v1",
                    "StatefulSet",
                    "payment-gateway",
                    Some("did you mean Deployment `payment-gateway`?"),
                ),
                ("apps/v1", "ControllerRevision", "payment-gateway", None),
                ("apps/v1", "Deployment", "something-else-altogether", None),
            ];
            for (version, kind, name, want) in table {
                let text = format!("{{apiVersion: {version}, kind: {kind}, metadata: {{name: {name}}}}}\n");
                let id = resources(&text).remove(0).id().clone();
                let found = alike.nearest(&id, &Schema::embedded()).map(|known| known.suggestion(&id));
                assert_eq!(found.as_deref(), want, "{kind} {name} of {count}");
            }
        }
    }
}
