//! The manifests of a package, one by one: where they stand and what makes them the same as others.
//!
//! Must not know how packages are read, nor what becomes of them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use smol_str::SmolStr;

use super::read::Package;
use crate::diagnostic::Result;
use crate::schema::openapi::{is_crd, read_crd};
use crate::schema::{Gvk, Schema};
use crate::yaml::{Map, Node};

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
    /// It has no kind or no name: its number among such documents of its file.
    Unnamed(usize),
}

/// One manifest.
#[derive(Debug, Clone)]
pub(super) struct Manifest<'p> {
    pub index: ManifestIndex,
    pub node: &'p Node,
    pub key: ManifestKey,
    /// The path of its file in the package.
    pub path: &'p Path,
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
}

/// Group, version and kind of a manifest, empty where it says nothing.
pub(super) fn gvk_of(node: &Node) -> Gvk {
    let text = |key| node.get(key).and_then(Node::scalar_text).map_or("", |text| text.as_str());
    Gvk::from_manifest(text("apiVersion"), text("kind"))
}

impl fmt::Display for ManifestKey {
    /// `Deployment.apps web in namespace shop`, for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GroupKindName { group, kind, namespace, name } = match self {
            Self::Resource(names) => names,
            Self::Unnamed(number) => return write!(f, "document {}", number + 1),
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

/// The manifests of a package in the order in which they stand; those of a `List` are its items.
pub(super) fn manifests(package: &Package) -> Vec<Manifest<'_>> {
    let mut manifests = Vec::new();
    for (file, content) in package.files().iter().enumerate() {
        let mut unnamed = 0;
        let mut add = |node, document, item| {
            let names = GroupKindName::of(node);
            let key = if names.kind.is_empty() || names.name.is_empty() {
                unnamed += 1;
                ManifestKey::Unnamed(unnamed - 1)
            } else {
                ManifestKey::Resource(names)
            };
            let index = ManifestIndex { file, document, item };
            manifests.push(Manifest { index, node, key, path: &content.relative });
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

/// The items of a `List`.
pub(super) fn items(node: &Node) -> Option<&Vec<Node>> {
    let is_list = node.get("kind").and_then(Node::as_str) == Some("List");
    let items = node.get("items").filter(|_| is_list)?.as_list()?;
    items.iter().all(|item| item.as_map().is_some_and(|map: &Map| !map.is_empty())).then_some(items)
}

impl Package {
    /// The manifests, those in lists too.
    pub fn manifests(&self) -> impl Iterator<Item = &Node> {
        manifests(self).into_iter().map(|manifest| manifest.node)
    }

    /// The kinds of the manifests that have one.
    pub fn kinds(&self) -> impl Iterator<Item = Gvk> {
        self.manifests().map(gvk_of).filter(|gvk| !gvk.kind.is_empty())
    }

    /// Adds the types of the custom resources that its CRDs define to a schema.
    ///
    /// # Errors
    /// A CRD that makes no sense.
    pub fn add_types(&self, schema: &mut Schema) -> Result<()> {
        for crd in self.manifests().filter(|node| is_crd(node)) {
            schema.push_types("crd", Arc::new(read_crd(crd)?.compile()?));
        }
        Ok(())
    }
}
