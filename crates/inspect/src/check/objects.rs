//! The current and former names of the objects of a build, with lookup by exact or similar name.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::external::ExternalObjects;
use super::names::is_typo;
use smp_overlay::resource::{ResId, Resource, SimilarNames};

/// A kind and a namespace.
type KindInNamespace = (SmolStr, SmolStr);

/// The objects of a kind in a namespace, by name. The value is `None` for an object that a controller creates.
type ObjectsByName<'n> = BTreeMap<SmolStr, Option<&'n Resource>>;

/// The result of looking up a name.
pub(super) enum FoundObject<'n> {
    /// An object of the build.
    Built(&'n Resource),
    /// An object that a controller creates.
    ControllerOutput,
    /// No object.
    Absent,
}

/// Objects by kind and namespace.
#[derive(Default)]
pub(super) struct Objects<'n> {
    by_kind: FxHashMap<KindInNamespace, ObjectsByName<'n>>,
    /// Indexes for similar names, built on first use.
    similar: RefCell<FxHashMap<KindInNamespace, SimilarNames>>,
    namespaces: FxHashMap<(SmolStr, SmolStr), Vec<SmolStr>>,
    /// All namespaces that the build contains or that contain objects of the build.
    known_namespaces: FxHashSet<SmolStr>,
    /// The objects that controllers create or write to, including those that are also in the build.
    made: FxHashSet<(SmolStr, SmolStr, SmolStr)>,
    former: FormerNames,
}

/// The names of objects before prefixes, suffixes, hashes and namespaces were added. A misspelled reference is not
/// updated together with the name of the object, so it is similar to the former name.
#[derive(Default)]
struct FormerNames {
    /// Former names by current namespace.
    by_namespace: FxHashMap<KindInNamespace, KnownNames>,
    /// Former names by former namespace, for references that contain a namespace.
    by_former_namespace: FxHashMap<KindInNamespace, KnownNames>,
    /// Former namespaces by kind and former name.
    namespaces: FxHashMap<(SmolStr, SmolStr), Vec<SmolStr>>,
}

/// A set of names, with an index for similar ones.
#[derive(Default)]
struct KnownNames {
    exact: FxHashSet<SmolStr>,
    /// Built on first use.
    similar: RefCell<Option<SimilarNames>>,
}

impl KnownNames {
    /// Returns the name that differs from `name` by a typo, or `None` if `name` itself is known.
    fn find_typo(&self, name: &str) -> Option<SmolStr> {
        if self.exact.contains(name) {
            return None;
        }
        let mut similar = self.similar.borrow_mut();
        let similar = similar.get_or_insert_with(|| self.exact.iter().collect());
        similar.nearest(name).filter(|near| is_typo(name, near))
    }
}

impl FormerNames {
    /// Records the former names and namespaces of an object, if they changed.
    fn add(&mut self, resource: &Resource) {
        let (id, kind) = (resource.id(), &resource.id().gvk.kind);
        for former in resource.previous.iter() {
            let (is_renamed, is_moved) = (former.name != id.name, !former.same_namespace(id));
            let note = |names: &mut FxHashMap<KindInNamespace, KnownNames>, namespace: &str| {
                let key = (kind.clone(), namespace.into());
                names.entry(key).or_default().exact.insert(former.name.clone());
            };
            if is_renamed {
                note(&mut self.by_namespace, namespace_of(id));
            }
            if is_renamed || is_moved {
                note(&mut self.by_former_namespace, namespace_of(former));
                let namespaces = self.namespaces.entry((kind.clone(), former.name.clone())).or_default();
                namespaces.push(namespace_of(former).into());
            }
        }
    }
}

impl<'n> Objects<'n> {
    /// Collects the objects of a build, and those that controllers create from them.
    pub fn new(resources: impl Iterator<Item = &'n Resource>, outside: &ExternalObjects) -> Self {
        let mut objects = Self::default();
        for resource in resources {
            let (id, namespace) = (resource.id(), namespace_of(resource.id()));
            objects.add(&id.gvk.kind, namespace, &id.name, Some(resource));
            objects.known_namespaces.insert(namespace.into());
            if id.gvk.kind == "Namespace" {
                objects.known_namespaces.insert(id.name.clone());
            }
            for (kind, name) in super::controllers::created_by_controllers(resource, outside) {
                objects.add(kind.as_str(), namespace, &name, None);
                objects.made.insert((kind, namespace.into(), name));
            }
            objects.former.add(resource);
        }
        objects
    }

    fn add(&mut self, kind: &str, namespace: &str, name: &str, resource: Option<&'n Resource>) {
        let names = self.by_kind.entry((kind.into(), namespace.into())).or_default();
        if resource.is_some() || !names.contains_key(name) {
            names.insert(name.into(), resource);
        }
        self.namespaces.entry((kind.into(), name.into())).or_default().push(namespace.into());
    }

    /// Looks up an object. An empty namespace on either side matches any namespace.
    pub fn find(&self, kind: &str, namespace: &str, name: &str) -> FoundObject<'n> {
        let mut namespaces = self.namespaces_of(kind, name).iter();
        let found = namespaces.find(|own| namespace.is_empty() || own.is_empty() || *own == namespace);
        let named = found.and_then(|own| self.by_kind.get(&(kind.into(), own.clone()))?.get(name));
        match named {
            Some(Some(resource)) => FoundObject::Built(resource),
            Some(None) => FoundObject::ControllerOutput,
            None => FoundObject::Absent,
        }
    }

    /// Returns true if a controller writes to an object. In that case, its content is not fully known.
    pub fn is_controller_output(&self, id: &ResId) -> bool {
        let key = (id.gvk.kind.clone(), namespace_of(id).into(), id.name.clone());
        self.made.contains(&key)
    }

    /// Returns the names of the objects of a kind in a namespace.
    pub fn names_of_kind(&self, kind: &str, namespace: &str) -> impl Iterator<Item = &SmolStr> {
        self.by_kind.get(&(kind.into(), namespace.into())).into_iter().flat_map(|names| names.keys())
    }

    /// Returns the name of an object that differs from `name` by a typo, or by an additional word at the end, such as
    /// the hash of a generated object.
    pub fn similar(&self, kind: &str, namespace: &str, name: &str) -> Option<SmolStr> {
        let key = (SmolStr::from(kind), SmolStr::from(namespace));
        let names = self.by_kind.get(&key)?;
        let longer = format!("{name}-");
        let behind = names.range(SmolStr::from(longer.as_str())..).next().map(|(known, _)| known);
        let has_word = |known: &&SmolStr| {
            name.contains('-') && known.strip_prefix(&longer).is_some_and(|word| !word.contains('-'))
        };
        let mut similar = self.similar.borrow_mut();
        let similar = similar.entry(key).or_insert_with(|| names.keys().collect());
        let near = similar.nearest(name).filter(|near| is_typo(name, near));
        near.or_else(|| behind.filter(has_word).cloned())
    }

    /// Returns the former name that differs from `name` by a typo, of an object that is now in `namespace`.
    pub fn similar_former(&self, kind: &str, namespace: &str, name: &str) -> Option<SmolStr> {
        self.former.by_namespace.get(&(kind.into(), namespace.into()))?.find_typo(name)
    }

    /// Returns the former name that differs from `name` by a typo, of an object that was in `namespace`.
    pub fn similar_moved(&self, kind: &str, namespace: &str, name: &str) -> Option<SmolStr> {
        self.former.by_former_namespace.get(&(kind.into(), namespace.into()))?.find_typo(name)
    }

    /// Returns the namespaces that have an object with this kind and name.
    pub fn namespaces_of(&self, kind: &str, name: &str) -> &[SmolStr] {
        self.namespaces.get(&(kind.into(), name.into())).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the namespaces that had an object with this kind and name before it was renamed or moved.
    pub fn former_namespaces_of(&self, kind: &str, name: &str) -> &[SmolStr] {
        self.former.namespaces.get(&(kind.into(), name.into())).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns true if an object of the build is in the namespace, or is the namespace itself.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.known_namespaces.contains(namespace)
    }
}

/// Returns the namespace in the manifest of an object. It is empty if the manifest has none, as in many bases.
pub(super) fn namespace_of(id: &ResId) -> &str {
    if id.cluster_scoped { "" } else { &id.namespace }
}
