//! The manifests of a package: their positions and identities.
//!
//! Does not depend on how packages are read or changed.

use std::fmt;
use std::path::Path;

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::read::{Package, PackageFile, items};
use smp_merge::schema::{Cursor, Gvk, Schema};
use smp_text::diagnostic::{ObjectName, ResourceName};
use smp_text::source::{SourceMap, is_kustomization};
use smp_text::yaml::Node;

/// Maximum number of unnamed manifests in a file that are compared with each other.
pub(super) const MAX_COMPARED: usize = 64;

/// Position of a manifest: file, document, and item if the document is a `List`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ManifestIndex {
    pub file: usize,
    pub document: usize,
    pub item: Option<usize>,
}

/// Identity of a manifest. The version is not part of it, because it changes over time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct GroupKindName {
    pub group: SmolStr,
    pub kind: SmolStr,
    pub namespace: SmolStr,
    pub name: SmolStr,
}

/// Key of a manifest within its file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ManifestKey {
    Resource(GroupKindName),
    /// No kind or no name: the index among such documents of the file, and the existing identity fields.
    Unnamed {
        number: usize,
        names: GroupKindName,
    },
}

/// A manifest of a package.
#[derive(Debug, Clone)]
pub(super) struct Manifest<'p> {
    pub index: ManifestIndex,
    pub node: &'p Node,
    pub gvk: Gvk,
    pub key: ManifestKey,
    /// Path of the file, relative to the package.
    pub path: &'p Path,
    /// Sources that hold the text.
    pub sources: &'p SourceMap,
}

impl GroupKindName {
    /// Reads the identity of a manifest. Missing parts are empty.
    pub fn from_manifest(node: &Node) -> Self {
        let metadata = node.get("metadata");
        let text =
            |key| metadata.and_then(|m| m.get(key)).and_then(Node::scalar_text).cloned().unwrap_or_default();
        let gvk = gvk_of(node);
        Self { group: gvk.group, kind: gvk.kind, namespace: text("namespace"), name: text("name") }
    }

    /// Normalizes the identity: no namespace means `default`.
    pub fn normalized(mut self) -> Self {
        if self.namespace == "default" {
            self.namespace = SmolStr::default();
        }
        self
    }
}

impl ManifestKey {
    /// Returns the identity fields, which may be empty.
    pub fn names(&self) -> &GroupKindName {
        match self {
            Self::Resource(names) | Self::Unnamed { names, .. } => names,
        }
    }
}

impl Manifest<'_> {
    /// Returns the schema of a manifest whose kind is implied by its file name.
    pub fn implied_kind<'s>(&self, schema: &'s Schema) -> Cursor<'s> {
        let says_none = self.node.get("kind").is_none();
        let kind = if says_none { schema.kind(&self.gvk) } else { None };
        kind.unwrap_or_else(Cursor::unknown)
    }

    /// Formats the manifest as `apps/v1 Deployment web`, without missing parts.
    pub fn display_name(&self) -> String {
        let (gvk, names) = (gvk_of(self.node), self.key.names());
        let version = gvk.api_version();
        let parts = [version.as_str(), &gvk.kind, &names.name].into_iter().filter(|part| !part.is_empty());
        let shown = parts.collect::<Vec<_>>().join(" ");
        if shown.is_empty() { "a document without a kind".into() } else { shown }
    }

    /// Returns the normalized identity; `None` without a name or kind.
    pub fn identity(&self) -> Option<GroupKindName> {
        match &self.key {
            ManifestKey::Resource(names) => Some(names.clone().normalized()),
            ManifestKey::Unnamed { .. } => None,
        }
    }
}

/// Default apiVersion and kind of a kustomization.
const KUSTOMIZATION: [&str; 2] = ["kustomize.config.k8s.io/v1beta1", "Kustomization"];

/// Returns group, version and kind of a manifest. Missing parts are empty.
pub(super) fn gvk_of(node: &Node) -> Gvk {
    let text = |key| node.get(key).and_then(Node::scalar_text).map_or("", |text| text.as_str());
    Gvk::from_manifest(text("apiVersion"), text("kind"))
}

impl From<&Manifest<'_>> for ResourceName {
    fn from(manifest: &Manifest<'_>) -> Self {
        let GroupKindName { kind, namespace, name, .. } = manifest.key.names();
        let [kind, namespace, name] = [kind, namespace, name].map(ToString::to_string);
        let api_version = gvk_of(manifest.node).api_version().into();
        Self::from_object(manifest.key.to_string(), ObjectName { api_version, kind, namespace, name })
    }
}

impl fmt::Display for ManifestKey {
    /// Formats the key as `Deployment.apps web in namespace shop`, for messages.
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

/// Returns the manifests of a package in order, skipping files for which `is_left_out` returns true.
/// A `List` yields its items.
pub(super) fn manifests_except(
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

/// Returns all manifests of a package.
pub(super) fn manifests(package: &Package) -> Vec<Manifest<'_>> {
    manifests_except(package, |_| false)
}

impl PackageFile {
    /// Returns true if a document of the file has a kind.
    pub(super) fn has_manifests(&self) -> bool {
        let mut documents = self.documents.iter().filter(|node| !node.is_null());
        documents.any(|node| !self.gvk_of(node).kind.is_empty())
    }

    /// Returns group, version and kind of a manifest in the file. They are implied for kustomization files.
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
        GroupKindName { group, kind, ..GroupKindName::from_manifest(node) }
    }

    /// Returns true if the file has too many unnamed documents to compare.
    pub(super) fn has_too_many_unnamed(&self) -> bool {
        let items = |node| items(node).map_or(std::slice::from_ref(node), Vec::as_slice);
        let names = self
            .documents
            .iter()
            .filter(|node| !node.is_null())
            .flat_map(items)
            .map(GroupKindName::from_manifest);
        names.filter(|names| names.name.is_empty() || names.kind.is_empty()).count() > MAX_COMPARED
    }

    /// Returns true if the file has a duplicate resource.
    pub(super) fn has_duplicates(&self) -> bool {
        let items = |node| items(node).map_or(std::slice::from_ref(node), Vec::as_slice);
        let names = self.documents.iter().flat_map(items).map(GroupKindName::from_manifest);
        let mut seen = FxHashSet::default();
        let mut named = names.filter(|names| !names.kind.is_empty() && !names.name.is_empty());
        named.any(|names| !seen.insert(names.normalized()))
    }
}

impl Package {
    /// Returns the manifests, including items of lists.
    pub fn manifests(&self) -> impl Iterator<Item = &Node> {
        manifests(self).into_iter().map(|manifest| manifest.node)
    }

    /// Returns true if every non-empty file has a document with a kind.
    #[must_use]
    pub fn has_only_manifests(&self) -> bool {
        let is_empty = |file: &PackageFile| file.documents.iter().all(Node::is_null);
        self.files().iter().all(|file| file.has_manifests() || is_empty(file))
    }

    /// Returns the kinds of the manifests that have one.
    pub fn kinds(&self) -> impl Iterator<Item = Gvk> {
        self.manifests().map(gvk_of).filter(|gvk| !gvk.kind.is_empty())
    }
}
