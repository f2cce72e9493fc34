//! The resources that the cluster serves: the built-in ones that kube-apiserver 1.36 serves by default, and those of
//! CRDs.

use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustc_hash::FxHashMap;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use smol_str::{SmolStr, format_smolstr};
use smp_merge::schema::{Gvk, short_names, version_priority};

use crate::status::Named;

/// The resources of kube-apiserver 1.36: API version, plural, kind, scope, verbs, subresources, traits (`+`),
/// categories (`@`), and the storage version if it is another one (`~`). Verbs and subresources are from its OpenAPI
/// documents.
const BUILT_IN: &str = include_str!("resources.txt");

/// The verbs of custom resources, as letters of the table.
const CUSTOM_VERBS: &str = "cdDglpuw";
const SUBRESOURCE_VERBS: &str = "gpu";

/// A trait of some resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trait {
    /// An update of an object that does not exist creates it.
    Upsert,
    /// An update requires a resource version.
    Versioned,
    /// The response to a deletion is the deleted object.
    Returned,
}

/// A resource in one version.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    pub(crate) gvk: Gvk,
    pub(crate) plural: SmolStr,
    pub(crate) singular: SmolStr,
    pub(crate) list_kind: SmolStr,
    pub(crate) short_names: Vec<SmolStr>,
    pub(crate) categories: Vec<SmolStr>,
    pub(crate) is_namespaced: bool,
    pub(crate) is_custom: bool,
    verbs: SmolStr,
    pub(crate) subresources: Vec<Subresource>,
    traits: Vec<Trait>,
    /// The storage version, such as `apps/v1`. Empty for kinds that are not stored.
    stored: SmolStr,
    /// The warning about a deprecated version of a CRD.
    pub(crate) deprecation: Option<SmolStr>,
    /// The version of a CRD, with its columns and paths.
    pub(crate) definition: Arc<Value>,
}

/// A subresource, such as `status`.
#[derive(Debug, Clone)]
pub(crate) struct Subresource {
    pub(crate) name: SmolStr,
    verbs: SmolStr,
    /// The kind of the bodies.
    pub(crate) gvk: Gvk,
}

impl Subresource {
    pub(crate) fn has_verb(&self, verb: Verb) -> bool {
        self.verbs.contains(verb.letter())
    }

    pub(crate) fn verbs(&self) -> Vec<&'static str> {
        named_verbs(&self.verbs)
    }
}

/// A verb of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// Creates an object.
    Create,
    /// Deletes an object.
    Delete,
    /// Deletes all selected objects of a collection.
    DeleteCollection,
    /// Returns an object.
    Get,
    /// Returns the selected objects of a collection.
    List,
    /// Patches an object, or applies it.
    Patch,
    /// Replaces an object.
    Update,
    /// Reports changes.
    Watch,
}

impl Verb {
    /// Returns the verb as in RBAC rules.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }

    fn letter(self) -> char {
        match self {
            Self::Create => 'c',
            Self::Delete => 'd',
            Self::DeleteCollection => 'D',
            Self::Get => 'g',
            Self::List => 'l',
            Self::Patch => 'p',
            Self::Update => 'u',
            Self::Watch => 'w',
        }
    }
}

const VERBS: [Verb; 8] = [
    Verb::Create,
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Update,
    Verb::Watch,
];

fn named_verbs(letters: &str) -> Vec<&'static str> {
    VERBS.iter().filter(|verb| letters.contains(verb.letter())).map(|verb| verb.name()).collect()
}

impl Resource {
    pub(crate) fn is(&self, wanted: Trait) -> bool {
        self.traits.contains(&wanted)
    }

    pub(crate) fn has_verb(&self, verb: Verb) -> bool {
        self.verbs.contains(verb.letter())
    }

    /// Returns the verbs in the order of discovery.
    pub(crate) fn verbs(&self) -> Vec<&'static str> {
        let mut verbs = named_verbs(&self.verbs);
        if self.is_custom {
            verbs.sort_by_key(|verb| match *verb {
                "create" => "q",
                other => other,
            });
        }
        verbs
    }

    /// Returns the hash of the storage version.
    pub(crate) fn storage_hash(&self) -> Option<String> {
        let digest = Sha256::digest(format!("{}/{}", self.stored, self.gvk.kind));
        (!self.stored.is_empty()).then(|| BASE64_STANDARD.encode(&digest[..8]))
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|sub| sub.name == name)
    }

    pub(crate) fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Returns the plural and the group, which identify a collection in all versions: `deployments.apps`.
    pub(crate) fn collection(&self) -> SmolStr {
        collection(&self.plural, &self.gvk.group)
    }

    /// Returns the plural with a name, for messages.
    pub(crate) fn named<'a>(&'a self, name: &'a str) -> Named<'a> {
        Named { group: &self.gvk.group, what: &self.plural, name }
    }
}

/// Returns the name of a collection in all versions.
pub(crate) fn collection(plural: &str, group: &str) -> SmolStr {
    // The events of both groups are the same objects.
    if group.is_empty() || group == "events.k8s.io" {
        plural.into()
    } else {
        format_smolstr!("{plural}.{group}")
    }
}

/// The resources by API version and plural.
#[derive(Debug, Clone)]
pub(crate) struct Resources {
    by_path: FxHashMap<(SmolStr, SmolStr), Arc<Resource>>,
    /// One version of each collection.
    by_collection: FxHashMap<SmolStr, Arc<Resource>>,
    /// All resources, in the order of discovery.
    all: Vec<Arc<Resource>>,
}

impl Resources {
    /// Returns the built-in resources.
    pub(crate) fn built_in() -> Self {
        static RESOURCES: LazyLock<Resources> =
            LazyLock::new(|| Resources::new(BUILT_IN.lines().filter_map(built_in).map(Arc::new).collect()));
        RESOURCES.clone()
    }

    fn new(all: Vec<Arc<Resource>>) -> Self {
        let path = |one: &Arc<Resource>| (one.gvk.api_version(), one.plural.clone());
        let stored = all.iter().rev().filter(|one| one.has_verb(Verb::Get));
        Self {
            by_path: all.iter().map(|one| (path(one), Arc::clone(one))).collect(),
            by_collection: stored.map(|one| (one.collection(), Arc::clone(one))).collect(),
            all,
        }
    }

    /// Returns these resources and those of CRDs.
    pub(crate) fn with_definitions<'d>(&self, definitions: impl Iterator<Item = &'d Value>) -> Self {
        let custom = definitions.flat_map(custom).map(Arc::new);
        Self::new(self.all.iter().filter(|one| !one.is_custom).cloned().chain(custom).collect())
    }

    pub(crate) fn find(&self, api_version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.by_path.get(&(api_version.into(), plural.into()))
    }

    /// Returns one version of a collection such as `deployments.apps`.
    pub(crate) fn stored(&self, collection: &str) -> Option<&Arc<Resource>> {
        self.by_collection.get(collection)
    }

    pub(crate) fn of_kind(&self, gvk: &Gvk) -> Option<&Arc<Resource>> {
        self.all.iter().find(|one| one.gvk == *gvk && one.has_verb(Verb::Create))
    }

    pub(crate) fn all(&self) -> &[Arc<Resource>] {
        &self.all
    }
}

/// Reads a line of the table.
fn built_in(line: &str) -> Option<Resource> {
    let mut words = line.split(' ');
    let (api_version, plural, kind, scope, verbs) =
        (words.next()?, words.next()?, words.next()?, words.next()?, words.next()?);
    let gvk = Gvk::from_manifest(api_version, kind);
    let (mut subresources, mut traits, mut categories) = (Vec::new(), Vec::new(), Vec::new());
    let is_stored = verbs.contains(Verb::Delete.letter());
    let mut stored =
        if is_stored { format_smolstr!("{}/{}", gvk.group, gvk.version) } else { SmolStr::default() };
    for word in words {
        match word {
            "+upsert" => traits.push(Trait::Upsert),
            "+versioned" => traits.push(Trait::Versioned),
            "+returned" => traits.push(Trait::Returned),
            word if word.starts_with('~') => stored = word[1..].into(),
            word if word.starts_with('@') => categories.push(word[1..].into()),
            word => subresources.push(built_in_subresource(word, &gvk)?),
        }
    }
    Some(Resource {
        plural: plural.into(),
        singular: kind.to_lowercase().into(),
        list_kind: format_smolstr!("{kind}List"),
        short_names: short_names(&gvk).map(SmolStr::from).collect(),
        categories,
        is_namespaced: scope == "namespaced",
        is_custom: false,
        verbs: verbs.into(),
        subresources,
        traits,
        stored,
        deprecation: None,
        definition: Arc::default(),
        gvk,
    })
}

/// Reads `scale=gpu:autoscaling/v1/Scale`.
fn built_in_subresource(word: &str, gvk: &Gvk) -> Option<Subresource> {
    let (name, rest) = word.split_once('=')?;
    let (verbs, kind) = rest.split_once(':').unwrap_or((rest, ""));
    let own = match kind.rsplit_once('/') {
        Some((api_version, kind)) => Gvk::from_manifest(api_version, kind),
        None if kind.is_empty() => gvk.clone(),
        None => Gvk { kind: kind.into(), ..gvk.clone() },
    };
    Some(Subresource { name: name.into(), verbs: verbs.into(), gvk: own })
}

/// Returns the resources that a CRD defines, one for each served version.
fn custom(definition: &Value) -> Vec<Resource> {
    let spec = &definition["spec"];
    let names = &spec["names"];
    let text = |value: &Value| SmolStr::from(value.as_str().unwrap_or_default());
    let list = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let versions = spec["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"] == true);
    let stored = served
        .clone()
        .find(|version| version["storage"] == true)
        .map(|version| format_smolstr!("{}/{}", text(&spec["group"]), text(&version["name"])));
    let resource = |version: &Value| {
        let gvk =
            Gvk { group: text(&spec["group"]), version: text(&version["name"]), kind: text(&names["kind"]) };
        let or = |value: &Value, default: String| {
            Some(text(value)).filter(|text| !text.is_empty()).unwrap_or_else(|| default.into())
        };
        Resource {
            plural: text(&names["plural"]),
            singular: or(&names["singular"], gvk.kind.to_lowercase()),
            list_kind: or(&names["listKind"], format!("{}List", gvk.kind)),
            short_names: list(&names["shortNames"]),
            categories: list(&names["categories"]),
            is_namespaced: spec["scope"] == "Namespaced",
            is_custom: true,
            verbs: CUSTOM_VERBS.into(),
            subresources: custom_subresources(version, &gvk),
            traits: vec![Trait::Versioned],
            stored: stored.clone().unwrap_or_default(),
            deprecation: deprecation(spec, version),
            definition: Arc::new(version.clone()),
            gvk,
        }
    };
    served.map(resource).collect()
}

fn custom_subresources(version: &Value, gvk: &Gvk) -> Vec<Subresource> {
    let scale = Gvk::from_manifest("autoscaling/v1", "Scale");
    let all = [("status", gvk), ("scale", &scale)];
    let served = all.into_iter().filter(|(name, _)| version["subresources"].get(name).is_some());
    let sub = |(name, gvk): (&str, &Gvk)| Subresource {
        name: name.into(),
        verbs: SUBRESOURCE_VERBS.into(),
        gvk: gvk.clone(),
    };
    served.map(sub).collect()
}

/// Returns the warning about a deprecated version of a CRD: the CRD's own, or one that refers to a newer version.
fn deprecation(spec: &Value, version: &Value) -> Option<SmolStr> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(own) = version["deprecationWarning"].as_str() {
        return Some(own.into());
    }
    let name = |version: &'_ Value| SmolStr::from(version["name"].as_str().unwrap_or_default());
    let shown = |version: &SmolStr| {
        let (group, kind) = (&spec["group"], &spec["names"]["kind"]);
        format!("{}/{version} {}", group.as_str().unwrap_or_default(), kind.as_str().unwrap_or_default())
    };
    let versions = spec["versions"].as_array().into_iter().flatten();
    let others = versions.filter(|one| one["served"] == true && one["deprecated"] != true).map(name);
    let own = name(version);
    let newest = others.max_by_key(|other| version_priority(other));
    let newer = newest.filter(|other| version_priority(other) > version_priority(&own));
    let use_newer = newer.map_or_else(String::new, |newer| format!("; use {}", shown(&newer)));
    Some(format_smolstr!("{} is deprecated{use_newer}", shown(&own)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_resource() {
        let resources = Resources::built_in();
        assert_eq!(resources.all().len(), BUILT_IN.lines().count());
        let deployments = resources.find("apps/v1", "deployments").expect("served");
        assert_eq!(deployments.short_names, ["deploy"]);
        assert_eq!(deployments.categories, ["all"]);
        assert!(deployments.is_namespaced && deployments.has_status());
        assert_eq!(
            deployments.subresource("scale").expect("scalable").gvk,
            Gvk::from_manifest("autoscaling/v1", "Scale")
        );
        let short = |api_version: &str, plural: &str| {
            resources.find(api_version, plural).expect("served").short_names.clone()
        };
        assert_eq!(short("v1", "nodes"), ["no"]);
        assert_eq!(short("v1", "pods"), ["po"]);
        assert_eq!(short("v1", "secrets"), [""; 0]);
        assert_eq!(short("apiextensions.k8s.io/v1", "customresourcedefinitions"), ["crd", "crds"]);
    }

    #[test]
    fn deprecated_versions_name_a_newer_one() {
        let version = |name: &str, deprecated: bool| json!({"name": name, "served": true, "storage": name == "v1", "deprecated": deprecated});
        let mut own = version("v1alpha1", true);
        own["deprecationWarning"] = "use another".into();
        let definition = json!({"spec": {
            "group": "example.com", "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [version("v1", false), version("v1beta1", true), own, version("v3", true)],
        }});
        let resources = Resources::built_in().with_definitions([definition].iter());
        for (version, want) in [
            ("v1", None),
            ("v1beta1", Some("example.com/v1beta1 Gadget is deprecated; use example.com/v1 Gadget")),
            ("v1alpha1", Some("use another")),
            ("v3", Some("example.com/v3 Gadget is deprecated")),
        ] {
            let resource = resources.find(&format!("example.com/{version}"), "gadgets").expect("served");
            assert_eq!(resource.deprecation.as_deref(), want);
            assert!(resource.storage_hash().is_some());
        }
    }

    #[test]
    fn hashes_are_those_of_the_stored_version() {
        let resources = Resources::built_in();
        let hash = |api_version: &str, plural: &str| {
            resources.find(api_version, plural).expect("served").storage_hash()
        };
        assert_eq!(hash("v1", "configmaps").as_deref(), Some("qFsyl6wFWjQ="));
        assert_eq!(hash("autoscaling/v1", "horizontalpodautoscalers").as_deref(), Some("qwQve8ut294="));
        assert_eq!(hash("v1", "bindings"), None);
    }

    #[test]
    fn definitions_add_their_served_versions() {
        let definition = json!({"spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [{"name": "v1", "served": true, "subresources": {"status": {}}}, {"name": "v2", "served": false}],
        }});
        let resources = Resources::built_in().with_definitions([definition].iter());
        assert!(resources.find("example.com/v1", "gadgets").expect("served").has_status());
        assert!(resources.find("example.com/v2", "gadgets").is_none());
    }
}
