//! The manifests of a package, one by one: where they stand and what makes them the same as others.

use std::fmt;
use std::path::Path;

use smol_str::SmolStr;

use super::read::{Package, gvk_of};
use crate::yaml::{Map, Node};

/// Where a manifest stands: in which file, in which document, and in a `List` as which item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub file: usize,
    pub document: usize,
    pub item: Option<usize>,
}

/// What makes two manifests the same: the version is no part of it, since it changes over time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub group: SmolStr,
    pub kind: SmolStr,
    pub namespace: SmolStr,
    pub name: SmolStr,
}

/// How a manifest is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Resource(Identity),
    /// It has no kind or no name: its number among such documents of its file.
    Other(usize),
}

/// One manifest.
#[derive(Debug, Clone)]
pub(super) struct Unit<'p> {
    pub place: Place,
    pub node: &'p Node,
    pub key: Key,
    /// The path of its file in the package.
    pub path: &'p Path,
}

impl Identity {
    /// What a manifest says of itself; parts that it does not have are empty.
    pub fn of(node: &Node) -> Self {
        let metadata = node.get("metadata");
        let text =
            |key| metadata.and_then(|m| m.get(key)).and_then(Node::scalar_text).cloned().unwrap_or_default();
        let gvk = gvk_of(node);
        Self { group: gvk.group, kind: gvk.kind, namespace: text("namespace"), name: text("name") }
    }
}

impl fmt::Display for Key {
    /// `Deployment.apps web in namespace shop`, for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { group, kind, namespace, name } = match self {
            Self::Resource(identity) => identity,
            Self::Other(number) => return write!(f, "document {}", number + 1),
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
pub(super) fn units(package: &Package) -> Vec<Unit<'_>> {
    let mut units = Vec::new();
    for (file, content) in package.files().iter().enumerate() {
        let mut others = 0;
        let mut add = |node, document, item| {
            let identity = Identity::of(node);
            let key = if identity.kind.is_empty() || identity.name.is_empty() {
                others += 1;
                Key::Other(others - 1)
            } else {
                Key::Resource(identity)
            };
            units.push(Unit { place: Place { file, document, item }, node, key, path: &content.relative });
        };
        for (document, node) in content.documents.iter().enumerate().filter(|(_, node)| !node.is_null()) {
            match items(node) {
                Some(items) => items.iter().enumerate().for_each(|(i, node)| add(node, document, Some(i))),
                None => add(node, document, None),
            }
        }
    }
    units
}

/// The items of a `List`.
pub(super) fn items(node: &Node) -> Option<&Vec<Node>> {
    let is_list = node.get("kind").and_then(Node::as_str) == Some("List");
    let items = node.get("items").filter(|_| is_list)?.as_list()?;
    items.iter().all(|item| item.as_map().is_some_and(|map: &Map| !map.is_empty())).then_some(items)
}
