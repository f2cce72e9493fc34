//! `patches`: adds entries, and removes equal ones.

use super::draft::{Applied, Draft};
use super::fields::{get, list, new_string, remove_if_empty, text, update_list};
use smp_text::yaml::{Map, Node};

/// An entry of `patches`. Fields with an empty text are not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchEntry {
    /// The patch file.
    pub path: String,
    /// The inline patch.
    pub patch: String,
    /// The API group of the target.
    pub group: String,
    /// The API version of the target.
    pub version: String,
    /// The kind of the target.
    pub kind: String,
    /// The name of the target.
    pub name: String,
    /// The namespace of the target.
    pub namespace: String,
    /// The annotation selector of the target.
    pub annotation_selector: String,
    /// The label selector of the target.
    pub label_selector: String,
}

impl PatchEntry {
    /// Returns the fields of the target, in the order in which they are written.
    fn target(&self) -> [(&'static str, &str); 7] {
        [
            ("group", &self.group),
            ("version", &self.version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("namespace", &self.namespace),
            ("annotationSelector", &self.annotation_selector),
            ("labelSelector", &self.label_selector),
        ]
    }

    fn has_target(&self) -> bool {
        self.target().iter().any(|(_, text)| !text.is_empty())
    }

    /// Returns true if an entry has exactly these fields.
    fn equals(&self, entry: &Node) -> bool {
        let none = Map::new();
        let entry = entry.as_map().unwrap_or(&none);
        let is_target = match get(entry, "target").and_then(Node::as_map) {
            None => !self.has_target(),
            Some(target) => {
                self.has_target() && self.target().iter().all(|(name, own)| text(target, name) == *own)
            }
        };
        is_target
            && text(entry, "path") == self.path
            && text(entry, "patch") == self.patch
            && get(entry, "options").is_none()
    }

    fn node(&self) -> Node {
        let mut fields = Map::new();
        for (name, text) in [("path", &self.path), ("patch", &self.patch)] {
            if !text.is_empty() {
                fields.push(name, new_string(text));
            }
        }
        if self.has_target() {
            let set = self.target().into_iter().filter(|(_, text)| !text.is_empty());
            fields.push("target", Node::map(set.map(|(name, text)| (name, new_string(text))).collect()));
        }
        Node::map(fields)
    }
}

/// Adds an entry, unless there is an equal one.
pub(super) fn add(draft: &mut Draft<'_>, patch: &PatchEntry) -> Applied {
    if list(&draft.fields, "patches").iter().any(|entry| patch.equals(entry)) {
        draft.note("the patch is already in `patches`");
        return Applied::Nothing;
    }
    update_list(&mut draft.fields, "patches", |patches| patches.push(patch.node()));
    Applied::Changed
}

/// Removes all entries that are equal.
pub(super) fn remove(draft: &mut Draft<'_>, patch: &PatchEntry) -> Applied {
    if !list(&draft.fields, "patches").iter().any(|entry| patch.equals(entry)) {
        draft.note("no entry of `patches` has exactly the given fields");
        return Applied::Nothing;
    }
    update_list(&mut draft.fields, "patches", |patches| patches.retain(|entry| !patch.equals(entry)));
    remove_if_empty(&mut draft.fields, "patches");
    Applied::Changed
}
