//! The manifests of a package, one by one: where they stand and what makes them the same as others.
//!
//! Must not know how packages are read, nor what becomes of them.

use std::fmt;
use std::path::Path;

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::read::{Package, PackageFile, items};
use smp_merge::schema::{Cursor, Gvk, Schema};
use smp_text::diagnostic::{ObjectName, ResourceName};
use smp_text::source::{SourceMap, is_kustomization};
use smp_text::yaml::Node;

/// Up to so many manifests of one file that have no name are compared each with each.
pub(super) const MOST_COMPARED: usize = 64;

/// Where a manifest stands: in which file, in which document, and in a `List` as which item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ManifestIndex {
    pub file: usize,
    pub document: usize,
    pub item: Option<usize>,
}

/// What makes two manifests the same: the version is no part of it, since it changes over time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct GroupKindName {
    pub group: SmolStr,
    pub kind: SmolStr,
    pub namespace: SmolStr,
    pub name: SmolStr,
}

/// What tells the manifests of a file apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ManifestKey {
    Resource(GroupKindName),
    /// It has no kind or no name: its number among such documents of its file, and what it does say.
    Unnamed {
        number: usize,
        names: GroupKindName,
    },
}

/// One manifest.
#[derive(Debug, Clone)]
pub(super) struct Manifest<'p> {
    pub index: ManifestIndex,
    pub node: &'p Node,
    pub gvk: Gvk,
    pub key: ManifestKey,
    /// The path of its file in the package.
    pub path: &'p Path,
    /// What knows its text.
    pub sources: &'p SourceMap,
}

impl GroupKindName {
    /// What a manifest says of itself; parts that it does not have are empty.
    pub fn of(node: &Node) -> Self {
        let metadata = node.get("metadata");
        let text =
            |key| metadata.and_then(|m| m.get(key)).and_then(Node::scalar_text).cloned().unwrap_or_default();
        let gvk = gvk_of(node);
        Self { group: gvk.group, kind: gvk.kind, namespace: text("namespace"), name: text("name") }
    }

    /// The same for all ways to say it: who names no namespace means `default`.
    pub fn normal(mut self) -> Self {
        if self.namespace == "default" {
            self.namespace = SmolStr::default();
        }
        self
    }
}

impl ManifestKey {
    /// What the manifest says of itself, be it little.
    pub fn names(&self) -> &GroupKindName {
        match self {
            Self::Resource(names) | Self::Unnamed { names, .. } => names,
        }
    }
}

impl Manifest<'_> {
    /// The type of its objects, where it does not say itself what it is.
    pub fn unsaid_kind<'s>(&self, schema: &'s Schema) -> Cursor<'s> {
        let says_none = self.node.get("kind").is_none();
        let kind = if says_none { schema.kind(&self.gvk) } else { None };
        kind.unwrap_or_else(Cursor::unknown)
    }

    /// `apps/v1 Deployment web`, as far as it says so.
    pub fn shown(&self) -> String {
        let (gvk, names) = (gvk_of(self.node), self.key.names());
        let version = gvk.api_version();
        let parts = [version.as_str(), &gvk.kind, &names.name].into_iter().filter(|part| !part.is_empty());
        let shown = parts.collect::<Vec<_>>().join(" ");
        if shown.is_empty() { "a document without a kind".into() } else { shown }
    }

    /// What makes it the same as others, if it has a name.
    pub fn identity(&self) -> Option<GroupKindName> {
        match &self.key {
            ManifestKey::Resource(names) => Some(names.clone().normal()),
            ManifestKey::Unnamed { .. } => None,
        }
    }
}

/// What a kustomization is that does not say it.
const KUSTOMIZATION: [&str; 2] = ["kustomize.config.k8s.io/v1beta1", "Kustomization"];

/// Group, version and kind of a manifest, empty where it says nothing.
pub(super) fn gvk_of(node: &Node) -> Gvk {
    let text = |key| node.get(key).and_then(Node::scalar_text).map_or("", |text| text.as_str());
    Gvk::from_manifest(text("apiVersion"), text("kind"))
}

impl From<&Manifest<'_>> for ResourceName {
    fn from(manifest: &Manifest<'_>) -> Self {
        let GroupKindName { kind, namespace, name, .. } = manifest.key.names();
        let [kind, namespace, name] = [kind, namespace, name].map(ToString::to_string);
        let api_version = gvk_of(manifest.node).api_version().into();
        Self::of_object(manifest.key.to_string(), ObjectName { api_version, kind, namespace, name })
    }
}

impl fmt::Display for ManifestKey {
    /// `Deployment.apps web in namespace shop`, for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GroupKindName { group, kind, namespace, name } = match self {
            Self::Resource(names) => names,
            Self::Unnamed { number: 0, names } if !names.kind.is_empty() => return f.write_str(&names.kind),
            Self::Unnamed { number, .. } => return write!(f, "document {}", number + 1),
        };
        f.write_str(kind)?;
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        write!(f, " {name}")?;
        if !namespace.is_empty() {
            write!(f, " in namespace {namespace}")?;
        }
        Ok(())
    }
}

/// The manifests of a package in the order in which they stand; those of a `List` are its items. Files that
/// `is_left_out` says so of have none.
pub(super) fn manifests_but(
    package: &Package,
    is_left_out: impl Fn(&PackageFile) -> bool,
) -> Vec<Manifest<'_>> {
    let mut manifests = Vec::new();
    for (file, content) in package.files().iter().enumerate().filter(|(_, file)| !is_left_out(file)) {
        let mut unnamed = 0;
        let mut add = |node, document, item| {
            let names = content.names_of(node);
            let key = if names.kind.is_empty() || names.name.is_empty() {
                unnamed += 1;
                ManifestKey::Unnamed { number: unnamed - 1, names }
            } else {
                ManifestKey::Resource(names)
            };
            let index = ManifestIndex { file, document, item };
            let (gvk, path, sources) = (content.gvk_of(node), &content.relative, package.sources());
            manifests.push(Manifest { index, node, gvk, key, path, sources });
        };
        for (document, node) in content.documents.iter().enumerate().filter(|(_, node)| !node.is_null()) {
            match items(node) {
                Some(items) => items.iter().enumerate().for_each(|(i, node)| add(node, document, Some(i))),
                None => add(node, document, None),
            }
        }
    }
    manifests
}

/// All manifests of a package.
pub(super) fn manifests(package: &Package) -> Vec<Manifest<'_>> {
    manifests_but(package, |_| false)
}

impl PackageFile {
    /// Whether a document in it has a kind.
    pub(super) fn has_manifests(&self) -> bool {
        let mut documents = self.documents.iter().filter(|node| !node.is_null());
        documents.any(|node| !self.gvk_of(node).kind.is_empty())
    }

    /// Group, version and kind of a manifest in it. Kustomizations need not say theirs.
    pub(super) fn gvk_of(&self, node: &Node) -> Gvk {
        let gvk = gvk_of(node);
        if gvk.kind.is_empty() && is_kustomization(&self.relative) {
            let [api_version, kind] = KUSTOMIZATION;
            return Gvk::from_manifest(api_version, kind);
        }
        gvk
    }

    fn names_of(&self, node: &Node) -> GroupKindName {
        let Gvk { group, kind, .. } = self.gvk_of(node);
        GroupKindName { group, kind, ..GroupKindName::of(node) }
    }

    /// Whether more documents without a name are in it than can be told apart.
    pub(super) fn has_too_many_alike(&self) -> bool {
        let items = |node| items(node).map_or(std::slice::from_ref(node), Vec::as_slice);
        let names =
            self.documents.iter().filter(|node| !node.is_null()).flat_map(items).map(GroupKindName::of);
        names.filter(|names| names.name.is_empty() || names.kind.is_empty()).count() > MOST_COMPARED
    }

    /// Whether a resource stands in it twice.
    pub(super) fn has_doubles(&self) -> bool {
        let items = |node| items(node).map_or(std::slice::from_ref(node), Vec::as_slice);
        let names = self.documents.iter().flat_map(items).map(GroupKindName::of);
        let mut seen = FxHashSet::default();
        let mut named = names.filter(|names| !names.kind.is_empty() && !names.name.is_empty());
        named.any(|names| !seen.insert(names.normal()))
    }
}

impl Package {
    /// The manifests, those in lists too.
    pub fn manifests(&self) -> impl Iterator<Item = &Node> {
        manifests(self).into_iter().map(|manifest| manifest.node)
    }

    /// Whether each of its files that holds anything holds a document with a kind.
    #[must_use]
    pub fn is_of_manifests(&self) -> bool {
        let is_empty = |file: &PackageFile| file.documents.iter().all(Node::is_null);
        self.files().iter().all(|file| file.has_manifests() || is_empty(file))
    }

    /// The kinds of the manifests that have one.
    pub fn kinds(&self) -> impl Iterator<Item = Gvk> {
        self.manifests().map(gvk_of).filter(|gvk| !gvk.kind.is_empty())
    }
}
