//! Reads the upstream identity that a manifest records.

use smol_str::SmolStr;

use crate::package::manifest::{GroupKindName, gvk_of};
use smp_text::yaml::{Entry, Meta, Node};

/// kpt's annotation: `group|kind|namespace|name`.
const ANNOTATION: &str = "internal.kpt.dev/upstream-identifier";

/// Prefix of kpt's comment after `metadata:`, followed by `namespace/name`.
const COMMENT: &str = "kpt-merge:";

/// kpt's placeholders for a missing namespace.
const NO_NAMESPACE: [&str; 2] = ["~C", "~N"];

/// Returns the recorded upstream identity of a manifest.
pub(super) fn upstream_identity(node: &Node) -> Option<GroupKindName> {
    by_annotation(node).or_else(|| by_comment(node)).map(GroupKindName::normalized)
}

fn by_annotation(node: &Node) -> Option<GroupKindName> {
    let text = node.get_path(&["metadata", "annotations", ANNOTATION])?.as_str()?;
    let parts: Vec<_> = text.split('|').map(str::trim).collect();
    let [group, kind, namespace, name] = parts.as_slice() else { return None };
    let gvk_kind: SmolStr = (*kind).into();
    Some(GroupKindName {
        group: (*group).into(),
        kind: gvk_kind,
        namespace: namespace_of(namespace),
        name: (*name).into(),
    })
}

fn by_comment(node: &Node) -> Option<GroupKindName> {
    let metadata = node.as_map()?.entry("metadata")?;
    let own = [&metadata.key.meta, &metadata.value.meta];
    let fields = metadata.value.as_map().map_or(&[][..], |map| map.entries());
    let metas =
        own.into_iter().chain(fields.iter().flat_map(|Entry { key, value }| [&key.meta, &value.meta]));
    let (namespace, name) = metas.flat_map(comments).find_map(|comment| {
        let said = comment.trim_start_matches('#').trim().strip_prefix(COMMENT)?;
        said.trim().split_once('/')
    })?;
    let gvk = gvk_of(node);
    Some(GroupKindName {
        group: gvk.group,
        kind: gvk.kind,
        namespace: namespace_of(namespace),
        name: name.trim().into(),
    })
}

fn namespace_of(text: &str) -> SmolStr {
    let text = text.trim();
    if NO_NAMESPACE.contains(&text) { SmolStr::default() } else { text.into() }
}

fn comments(meta: &Meta) -> impl Iterator<Item = &SmolStr> {
    let comments = meta.comments.as_deref().into_iter();
    comments.flat_map(|comments| comments.head.iter().chain(&comments.line).chain(&comments.foot))
}
