//! Which resource a name means, after names and namespaces have changed.
//!
//! Knows former names, namespaces, prefixes and suffixes; knows nothing of the fields that names stand in.

use std::cell::OnceCell;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::resource::{ResId, Resource};
use crate::transform::field_spec::{NameBackReference, selects};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::Node;

/// What refers to others.
pub(super) struct Referrer<'r> {
    /// The resource that has the reference.
    pub resource: &'r Resource,
    /// Namespaces of service accounts that a RoleBinding names, as written there.
    pub bound: Vec<SmolStr>,
}

/// A reference as it stands in a field.
pub(super) struct Reference<'n> {
    /// The name.
    pub name: &'n str,
    /// The namespace beside it.
    pub namespace: NamespaceBeside<'n>,
    /// The kind that is meant.
    pub target: &'n NameBackReference,
    /// Group and kind of the role that is meant, in a `roleRef`.
    pub role: Option<&'n (SmolStr, SmolStr)>,
}

/// The namespace that stands beside a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NamespaceBeside<'n> {
    /// There cannot be one: the name is a scalar.
    Impossible,
    /// The map with the name has none.
    Absent,
    /// This one.
    Given(&'n str),
}

/// Where a manifest stands that may be referred to, and what references to it repeat.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::transform) struct CandidatePlaces {
    manifest: Span,
    /// None of a name with a hash, which was computed.
    pub(super) name: Span,
    pub(super) namespace: Span,
}

impl CandidatePlaces {
    pub(in crate::transform) fn of(resource: &Resource) -> Self {
        let place =
            |field| resource.node().get_path(&["metadata", field]).map_or_else(Span::default, Node::span);
        let has_hash = resource.generated.is_some_and(|generated| generated.name_hash);
        let name = if has_hash { Span::default() } else { place("name") };
        Self { manifest: resource.node().span(), name, namespace: place("namespace") }
    }
}

/// All resources, by what they may be referred to with.
pub(in crate::transform) struct Candidates<'r> {
    resources: &'r [Resource],
    places: Vec<CandidatePlaces>,
    /// By former names.
    by_name: FxHashMap<&'r str, Vec<usize>>,
    /// By former names and the effective namespace now.
    by_namespace: FxHashMap<(&'r str, &'r str), Vec<usize>>,
    /// Made when the first reference has a namespace.
    first: OnceCell<FirstNamespaces<'r>>,
}

/// Where resources were at first, by effective namespace.
#[derive(Default)]
struct FirstNamespaces<'r> {
    /// With former names.
    by_namespace: FxHashMap<(&'r str, &'r str), Vec<usize>>,
    all: FxHashSet<&'r str>,
    /// With where they are now: in effect, and as written.
    and_now: FxHashSet<(&'r str, &'r str)>,
    and_written: FxHashSet<(&'r str, &'r str)>,
}

/// Adds a position that is not less than those before it.
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
    pub(in crate::transform) fn new(resources: &'r [Resource], places: Vec<CandidatePlaces>) -> Self {
        let (mut by_name, mut by_namespace): (FxHashMap<_, Vec<usize>>, FxHashMap<_, Vec<usize>>) =
            Default::default();
        for (i, resource) in resources.iter().enumerate() {
            let now = resource.id().effective_namespace();
            let mut before = None;
            for name in resource.previous.iter().map(|id| id.name.as_str()) {
                // A change of namespace leaves the name as it was.
                if before.replace(name) != Some(name) {
                    add(by_name.entry(name).or_default(), i);
                    add(by_namespace.entry((name, now)).or_default(), i);
                }
            }
        }
        Self { resources, places, by_name, by_namespace, first: OnceCell::new() }
    }

    /// Where the names of a resource stand.
    pub(super) fn places(&self, position: usize) -> CandidatePlaces {
        self.places.get(position).copied().unwrap_or_default()
    }

    /// The resources in order, to look into.
    pub(super) fn resources(&self) -> &'r [Resource] {
        self.resources
    }

    /// The position of the resource that is meant; none when nothing fits, which is no error.
    ///
    /// # Errors
    /// Several fit and differ in what would be written.
    pub(super) fn find(&self, referrer: &Referrer<'_>, reference: &Reference<'_>) -> Result<Option<usize>> {
        if !self.by_name.contains_key(reference.name) {
            return Ok(None);
        }
        let mut found = self.named(referrer, reference);
        found.retain(|&i| {
            self.get(i).is_some_and(|r| is_meant(r, referrer.resource, reference, &referrer.bound))
        });
        for context in [NameContext::AsFarAsKnown, NameContext::Same] {
            if found.len() > 1 {
                found.retain(|&i| self.get(i).is_some_and(|r| context.is_of(r, referrer.resource)));
            }
        }
        let written = |&i: &usize| {
            let id = self.get(i).map(Resource::id);
            let namespace =
                id.filter(|_| reference.namespace != NamespaceBeside::Impossible).map(|id| &id.namespace);
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

    /// The resources that once had the name and are where the referrer may look, in order.
    fn named(&self, referrer: &Referrer<'_>, reference: &Reference<'_>) -> Vec<usize> {
        let name = reference.name;
        let here = referrer.resource.id();
        if let NamespaceBeside::Given(namespace) = reference.namespace {
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
        let message = format!("`{}` may mean several resources", reference.name);
        let mut error = Diagnostic::error(Code::Ambiguous, message);
        for &i in found {
            let (Some(resource), Some(place)) = (self.get(i), self.places.get(i)) else { continue };
            error = error.label(place.manifest.at_start(), format!("perhaps {}", resource.id()));
            error = error.note(format!("it may mean {}", resource.id()));
        }
        error
            .help("give the resources different names, or refer to one by the name that it has in the output")
    }
}

/// Whether anything that the referrer can see was in this namespace at first; only when nothing was,
/// the namespace is taken for one of now.
fn has_first(first: &FirstNamespaces<'_>, namespace: &str, referrer: &Referrer<'_>) -> bool {
    let here = referrer.resource.id();
    if here.cluster_scoped {
        return first.all.contains(namespace);
    }
    first.and_now.contains(&(namespace, here.effective_namespace()))
        || referrer.bound.iter().any(|bound| first.and_written.contains(&(namespace, bound)))
}

/// Whether a resource is of the kind that is meant and in a place that the referrer can see.
fn is_meant(resource: &Resource, referrer: &Resource, reference: &Reference<'_>, bound: &[SmolStr]) -> bool {
    let was = |fits: &dyn Fn(&ResId) -> bool| resource.previous.iter().any(fits);
    let (id, from) = (resource.id(), referrer.id());
    was(&|id| reference.target.refers_to(&id.gvk))
        && reference.role.is_none_or(|(group, kind)| was(&|id| selects([group, "", kind], &id.gvk)))
        && (from.cluster_scoped
            || id.cluster_scoped
            || id.same_namespace(from)
            // A RoleBinding may name service accounts of other namespaces.
            || (id.gvk.kind == "ServiceAccount" && bound.contains(&id.namespace)))
}

/// What the prefixes and suffixes of two resources must have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameContext {
    /// They are the same as far as both have any.
    AsFarAsKnown,
    /// They are the same, and none is only the same as none.
    Same,
}

impl NameContext {
    fn is_of(self, a: &Resource, b: &Resource) -> bool {
        let same = |a: &[SmolStr], b: &[SmolStr]| {
            if a.is_empty() || b.is_empty() {
                return self == Self::AsFarAsKnown || a.len() == b.len();
            }
            a.ends_with(b) || b.ends_with(a)
        };
        same(&a.prefixes, &b.prefixes) && same(&a.suffixes, &b.suffixes)
    }
}
