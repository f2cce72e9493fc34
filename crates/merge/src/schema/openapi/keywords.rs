//! Typed access to the keywords of a schema object, with errors for wrong types.

use crate::schema::Gvk;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{List, Map, Node, Resolved};

pub(super) fn wrong_type(node: &Node, keyword: &str, expected: &str) -> Diagnostic {
    let message = format!("{keyword} must be {expected}, not {}", node.type_name());
    Diagnostic::error(Code::WrongType, message).at(node.span()).field(keyword)
}

/// Returns a field of a map. Null is treated as absent.
pub(super) fn present<'n>(map: &'n Map, keyword: &str) -> Option<&'n Node> {
    map.get(keyword).filter(|node| !node.is_null())
}

pub(super) fn map_at<'n>(map: &'n Map, keyword: &str) -> Result<Option<&'n Map>> {
    let Some(node) = present(map, keyword) else { return Ok(None) };
    node.as_map().map(Some).ok_or_else(|| wrong_type(node, keyword, "a map"))
}

pub(super) fn list_at<'n>(map: &'n Map, keyword: &str) -> Result<Option<&'n List>> {
    let Some(node) = present(map, keyword) else { return Ok(None) };
    node.as_list().map(Some).ok_or_else(|| wrong_type(node, keyword, "a list"))
}

pub(super) fn str_at<'n>(map: &'n Map, keyword: &str) -> Result<Option<&'n str>> {
    let Some(node) = present(map, keyword) else { return Ok(None) };
    node.as_str().map(Some).ok_or_else(|| wrong_type(node, keyword, "a string"))
}

pub(super) fn is_true(map: &Map, keyword: &str) -> bool {
    matches!(map.get(keyword).and_then(Node::resolve), Some(Resolved::Bool(true)))
}

/// Returns a list of strings.
pub(super) fn strings_at<'n>(map: &'n Map, keyword: &str) -> Result<Vec<&'n str>> {
    let entries = list_at(map, keyword)?.map(Vec::as_slice).unwrap_or_default();
    let text = |node: &'n Node| node.as_str().ok_or_else(|| wrong_type(node, keyword, "a list of strings"));
    entries.iter().map(text).collect()
}

/// Returns the kinds in `x-kubernetes-group-version-kind`, which is a list, or a single kind in an operation.
pub(super) fn gvks(node: &Node) -> impl Iterator<Item = Gvk> {
    let entries = node.as_list().map_or(std::slice::from_ref(node), List::as_slice);
    entries.iter().filter_map(|entry| {
        let text = |key| entry.get(key).and_then(Node::as_str);
        let group = text("group").unwrap_or_default().into();
        Some(Gvk { group, version: text("version")?.into(), kind: text("kind")?.into() })
    })
}
