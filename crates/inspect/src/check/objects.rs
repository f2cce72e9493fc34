//! What the objects of a build are called and were called, and which of them a name means or nearly means.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::names::is_slip;
use super::outside::Outside;
use smp_overlay::resource::{ResId, Resource, SimilarNames};

/// A kind and a namespace.
type KindPlace = (SmolStr, SmolStr);

/// The objects of a kind in a namespace, by name; none for what a controller makes.
type ObjectsByName<'n> = BTreeMap<SmolStr, Option<&'n Resource>>;

/// What is called by a name.
pub(super) enum FoundObject<'n> {
    /// An object of the build.
    Built(&'n Resource),
    /// One that a controller makes.
    Made,
    /// Nothing.
    Absent,
}

/// Objects by kind and namespace.
#[derive(Default)]
pub(super) struct Objects<'n> {
    by_kind: FxHashMap<KindPlace, ObjectsByName<'n>>,
    /// Their names by what they are like, made when somebody asks.
    similar: RefCell<FxHashMap<KindPlace, SimilarNames>>,
    namespaces: FxHashMap<(SmolStr, SmolStr), Vec<SmolStr>>,
    /// All namespaces that they are in or are.
    known_namespaces: FxHashSet<SmolStr>,
    /// What controllers make, whether the build has it, too, or not.
    made: FxHashSet<(SmolStr, SmolStr, SmolStr)>,
    former: FormerNames,
}

/// What objects were called before prefixes, suffixes, hashes and namespaces changed that: a name that nearly means one
/// of them got none of these.
#[derive(Default)]
struct FormerNames {
    /// Former names by where the objects are now.
    renamed: FxHashMap<KindPlace, KnownNames>,
    /// Former names by where the objects were then, which counts for names with a namespace beside them.
    moved: FxHashMap<KindPlace, KnownNames>,
    /// Former namespaces, by kind and what was there.
    namespaces: FxHashMap<(SmolStr, SmolStr), Vec<SmolStr>>,
}

/// Names that are there, and those that are like them.
#[derive(Default)]
struct KnownNames {
    exact: FxHashSet<SmolStr>,
    /// Made when somebody asks.
    similar: RefCell<Option<SimilarNames>>,
}

impl KnownNames {
    /// The name that differs from this one by a slip; none for a name that is known itself.
    fn slip(&self, name: &str) -> Option<SmolStr> {
        if self.exact.contains(name) {
            return None;
        }
        let mut similar = self.similar.borrow_mut();
        let similar = similar.get_or_insert_with(|| self.exact.iter().collect());
        similar.nearest(name).filter(|near| is_slip(name, near))
    }
}

impl FormerNames {
    /// Takes note of what an object was called, unless it still is.
    fn add(&mut self, resource: &Resource) {
        let (id, kind) = (resource.id(), &resource.id().gvk.kind);
        for former in resource.previous.iter() {
            let (is_renamed, is_moved) = (former.name != id.name, !former.same_namespace(id));
            let note = |names: &mut FxHashMap<KindPlace, KnownNames>, namespace: &str| {
                let place = (kind.clone(), namespace.into());
                names.entry(place).or_default().exact.insert(former.name.clone());
            };
            if is_renamed {
                note(&mut self.renamed, namespace_of(id));
            }
            if is_renamed || is_moved {
                note(&mut self.moved, namespace_of(former));
                let namespaces = self.namespaces.entry((kind.clone(), former.name.clone())).or_default();
                namespaces.push(namespace_of(former).into());
            }
        }
    }
}

impl<'n> Objects<'n> {
    /// Those of a build, with those that controllers make of them.
    pub fn of(resources: impl Iterator<Item = &'n Resource>, outside: &Outside) -> Self {
        let mut objects = Self::default();
        for resource in resources {
            let (id, namespace) = (resource.id(), namespace_of(resource.id()));
            objects.add(&id.gvk.kind, namespace, &id.name, Some(resource));
            objects.known_namespaces.insert(namespace.into());
            if id.gvk.kind == "Namespace" {
                objects.known_namespaces.insert(id.name.clone());
            }
            for (kind, name) in super::controllers::made_of(resource, outside) {
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

    /// What is called so. What says no namespace may be in any.
    pub fn find(&self, kind: &str, namespace: &str, name: &str) -> FoundObject<'n> {
        let mut namespaces = self.namespaces_of(kind, name).iter();
        let found = namespaces.find(|own| namespace.is_empty() || own.is_empty() || *own == namespace);
        let named = found.and_then(|own| self.by_kind.get(&(kind.into(), own.clone()))?.get(name));
        match named {
            Some(Some(resource)) => FoundObject::Built(resource),
            Some(None) => FoundObject::Made,
            None => FoundObject::Absent,
        }
    }

    /// Whether a controller writes into an object, so that nobody knows all that is in it.
    pub fn is_made(&self, id: &ResId) -> bool {
        let key = (id.gvk.kind.clone(), namespace_of(id).into(), id.name.clone());
        self.made.contains(&key)
    }

    /// The objects of a kind in a namespace.
    pub fn of_kind(&self, kind: &str, namespace: &str) -> impl Iterator<Item = &SmolStr> {
        self.by_kind.get(&(kind.into(), namespace.into())).into_iter().flat_map(|names| names.keys())
    }

    /// The name of an object that differs from this one by a slip, or by a word at the end such as the hash of what was
    /// generated.
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
        let near = similar.nearest(name).filter(|near| is_slip(name, near));
        near.or_else(|| behind.filter(has_word).cloned())
    }

    /// The former name of an object of a namespace that differs from this one by a slip.
    pub fn similar_former(&self, kind: &str, namespace: &str, name: &str) -> Option<SmolStr> {
        self.former.renamed.get(&(kind.into(), namespace.into()))?.slip(name)
    }

    /// The same of an object that was in a namespace when it was called so.
    pub fn similar_moved(&self, kind: &str, namespace: &str, name: &str) -> Option<SmolStr> {
        self.former.moved.get(&(kind.into(), namespace.into()))?.slip(name)
    }

    /// The namespaces in which there is an object of a kind that is called so.
    pub fn namespaces_of(&self, kind: &str, name: &str) -> &[SmolStr] {
        self.namespaces.get(&(kind.into(), name.into())).map(Vec::as_slice).unwrap_or_default()
    }

    /// The namespaces in which there was one when it was called so.
    pub fn former_namespaces_of(&self, kind: &str, name: &str) -> &[SmolStr] {
        self.former.namespaces.get(&(kind.into(), name.into())).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the build has anything in a namespace, or makes it.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.known_namespaces.contains(namespace)
    }
}

/// The namespace that an object says it is in; empty when it says nothing, as many bases do.
pub(super) fn namespace_of(id: &ResId) -> &str {
    if id.cluster_scoped { "" } else { &id.namespace }
}
