//! Resolves names to resources after names and namespaces have changed.
//!
//! This module depends on former names, namespaces, prefixes and suffixes. It does not depend on the fields that
//! contain the names.

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::resource::{ResId, Resource};
use crate::transform::field_spec::{NameBackReference, matches_gvk};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::Node;

/// A resource with references.
pub(super) struct Referrer<'r> {
    /// The resource that contains the reference.
    pub resource: &'r Resource,
    /// The namespaces of service accounts in the subjects of a RoleBinding, as written.
    pub bound: Vec<SmolStr>,
}

/// A reference in a field.
pub(super) struct Reference<'n> {
    /// The name.
    pub name: &'n str,
    /// The namespace next to the name.
    pub namespace: ReferenceNamespace<'n>,
    /// The referenced kind.
    pub target: &'n NameBackReference,
    /// The group and kind of the role, in a `roleRef`.
    pub role: Option<&'n (SmolStr, SmolStr)>,
}

/// The namespace next to a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceNamespace<'n> {
    /// The name is a scalar, which has no namespace next to it.
    NotSupported,
    /// The map with the name has no namespace.
    Absent,
    /// The namespace of the map.
    Given(&'n str),
}

/// The locations of a candidate's manifest, and of the values that references to it repeat.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::transform) struct CandidateLocations {
    manifest: Span,
    /// The location of the name. There is no location for a name with a hash, which is computed.
    pub(super) name: Span,
    pub(super) namespace: Span,
}

impl CandidateLocations {
    pub(in crate::transform) fn of_resource(resource: &Resource) -> Self {
        let location =
            |field| resource.node().get_path(&["metadata", field]).map_or_else(Span::default, Node::span);
        let has_hash = resource.generated.is_some_and(|generated| generated.name_hash);
        let name = if has_hash { Span::default() } else { location("name") };
        Self { manifest: resource.node().span(), name, namespace: location("namespace") }
    }
}

/// All resources, by the names and namespaces that references may use.
pub(in crate::transform) struct Candidates<'r> {
    resources: &'r [Resource],
    locations: Vec<CandidateLocations>,
    /// By former name.
    by_name: FxHashMap<&'r str, Vec<usize>>,
    /// By former name and current effective namespace.
    by_namespace: FxHashMap<(&'r str, &'r str), Vec<usize>>,
    /// Built when the first reference with a namespace is resolved.
    first: OnceLock<FirstNamespaces<'r>>,
}

/// The original effective namespaces of all resources.
#[derive(Default)]
struct FirstNamespaces<'r> {
    /// By former name.
    by_namespace: FxHashMap<(&'r str, &'r str), Vec<usize>>,
    all: FxHashSet<&'r str>,
    /// The original with the current namespace: the effective one, and as written.
    and_now: FxHashSet<(&'r str, &'r str)>,
    and_written: FxHashSet<(&'r str, &'r str)>,
}

/// Adds a position that is greater than or equal to those before it.
fn add(positions: &mut Vec<usize>, i: usize) {
    if positions.last() != Some(&i) {
        positions.push(i);
    }
}

impl<'r> FirstNamespaces<'r> {
    fn new(resources: &'r [Resource]) -> Self {
        let mut all = Self::default();
        for (i, resource) in resources.iter().enumerate() {
            let first = resource.original_id().effective_namespace();
            if first == ResId::NO_NAMESPACE {
                continue;
            }
            all.all.insert(first);
            all.and_now.insert((first, resource.id().effective_namespace()));
            all.and_written.insert((first, &resource.id().namespace));
            for former in resource.previous.iter() {
                add(all.by_namespace.entry((&former.name, first)).or_default(), i);
            }
        }
        all
    }
}

impl<'r> Candidates<'r> {
    pub(in crate::transform) fn new(resources: &'r [Resource], locations: Vec<CandidateLocations>) -> Self {
        let (mut by_name, mut by_namespace): (FxHashMap<_, Vec<usize>>, FxHashMap<_, Vec<usize>>) =
            Default::default();
        for (i, resource) in resources.iter().enumerate() {
            let now = resource.id().effective_namespace();
            let mut last = None;
            for name in resource.previous.iter().map(|id| id.name.as_str()) {
                // A change of the namespace records the same name again.
                if last.replace(name) != Some(name) {
                    add(by_name.entry(name).or_default(), i);
                    add(by_namespace.entry((name, now)).or_default(), i);
                }
            }
        }
        Self { resources, locations, by_name, by_namespace, first: OnceLock::new() }
    }

    /// Returns the locations of a candidate.
    pub(super) fn locations(&self, position: usize) -> CandidateLocations {
        self.locations.get(position).copied().unwrap_or_default()
    }

    /// Returns the resources in order.
    pub(super) fn resources(&self) -> &'r [Resource] {
        self.resources
    }

    /// Returns the position of the referenced resource, or `None` if nothing matches, which is not an error.
    ///
    /// # Errors
    /// Several resources match, and the reference would be updated differently for them.
    pub(super) fn find(&self, referrer: &Referrer<'_>, reference: &Reference<'_>) -> Result<Option<usize>> {
        if !self.by_name.contains_key(reference.name) {
            return Ok(None);
        }
        let mut found = self.named(referrer, reference);
        found.retain(|&i| {
            self.get(i).is_some_and(|r| is_candidate(r, referrer.resource, reference, &referrer.bound))
        });
        for context in [NameContext::SameOrUnknown, NameContext::Same] {
            if found.len() > 1 {
                found.retain(|&i| self.get(i).is_some_and(|r| context.matches(r, referrer.resource)));
            }
        }
        let written = |&i: &usize| {
            let id = self.get(i).map(Resource::id);
            let namespace = id
                .filter(|_| reference.namespace != ReferenceNamespace::NotSupported)
                .map(|id| &id.namespace);
            (id.map(|id| &id.name), namespace)
        };
        if found.windows(2).all(|pair| written(&pair[0]) == written(&pair[1])) {
            return Ok(found.first().copied());
        }
        Err(self.ambiguous(&found, reference))
    }

    fn get(&self, i: usize) -> Option<&'r Resource> {
        self.resources.get(i)
    }

    /// Returns the resources in order that once had the name and are in a namespace that the referrer may use.
    fn named(&self, referrer: &Referrer<'_>, reference: &Reference<'_>) -> Vec<usize> {
        let name = reference.name;
        let here = referrer.resource.id();
        if let ReferenceNamespace::Given(namespace) = reference.namespace {
            if namespace == ResId::NO_NAMESPACE {
                return Vec::new();
            }
            let first = self.first.get_or_init(|| FirstNamespaces::new(self.resources));
            let at_first = has_first(first, namespace, referrer);
            let table = if at_first { &first.by_namespace } else { &self.by_namespace };
            return table.get(&(name, namespace)).cloned().unwrap_or_default();
        }
        if here.cluster_scoped {
            return self.by_name.get(name).cloned().unwrap_or_default();
        }
        let bound = referrer.bound.iter().map(|n| if n.is_empty() { "default" } else { n.as_str() });
        let mut positions: Vec<usize> = [here.effective_namespace(), ResId::NO_NAMESPACE]
            .into_iter()
            .chain(bound)
            .filter_map(|namespace| self.by_namespace.get(&(name, namespace)))
            .flatten()
            .copied()
            .collect();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    fn ambiguous(&self, found: &[usize], reference: &Reference<'_>) -> Diagnostic {
        let message = format!("ambiguous reference: `{}` matches several resources", reference.name);
        let mut error = Diagnostic::error(Code::Ambiguous, message);
        for &i in found {
            let (Some(resource), Some(location)) = (self.get(i), self.locations.get(i)) else { continue };
            error = error.label(location.manifest.at_start(), format!("matches {}", resource.id()));
            error = error.note(format!("candidate: {}", resource.id()));
        }
        error.help(
            "rename one of the resources, or use the final name of the referenced resource in the reference",
        )
    }
}

/// Returns true if a resource that the referrer can reference was in this namespace originally. Otherwise the
/// namespace is treated as a current one.
fn has_first(first: &FirstNamespaces<'_>, namespace: &str, referrer: &Referrer<'_>) -> bool {
    let here = referrer.resource.id();
    if here.cluster_scoped {
        return first.all.contains(namespace);
    }
    first.and_now.contains(&(namespace, here.effective_namespace()))
        || referrer.bound.iter().any(|bound| first.and_written.contains(&(namespace, bound)))
}

/// Returns true if a resource has the referenced kind and the referrer can reference it.
fn is_candidate(
    resource: &Resource,
    referrer: &Resource,
    reference: &Reference<'_>,
    bound: &[SmolStr],
) -> bool {
    let was = |fits: &dyn Fn(&ResId) -> bool| resource.previous.iter().any(fits);
    let (id, from) = (resource.id(), referrer.id());
    was(&|id| reference.target.refers_to(&id.gvk))
        && reference.role.is_none_or(|(group, kind)| was(&|id| matches_gvk([group, "", kind], &id.gvk)))
        && (from.cluster_scoped
            || id.cluster_scoped
            || id.same_namespace(from)
            // A RoleBinding may reference service accounts of other namespaces.
            || (id.gvk.kind == "ServiceAccount" && bound.contains(&id.namespace)))
}

/// The condition for the prefixes and suffixes of two resources.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameContext {
    /// Equal, unless one of the resources has none.
    SameOrUnknown,
    /// Equal. Having none is only equal to having none.
    Same,
}

impl NameContext {
    fn matches(self, a: &Resource, b: &Resource) -> bool {
        let same = |a: &[SmolStr], b: &[SmolStr]| {
            if a.is_empty() || b.is_empty() {
                return self == Self::SameOrUnknown || a.len() == b.len();
            }
            a.ends_with(b) || b.ends_with(a)
        };
        same(&a.prefixes, &b.prefixes) && same(&a.suffixes, &b.suffixes)
    }
}
