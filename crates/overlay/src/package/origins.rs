//! Attributes each part of a three-way merge result that differs from the original to the updated version, to dest, or
//! to both.
//!
//! Does not depend on the merge: only the result is compared.

use std::path::PathBuf;

use super::fields::align_by_common_keys;
use super::manifest::Manifest;
use smp_merge::merge::Conflict;
use smp_merge::merge::align;
use smp_merge::schema::{Cursor, Schema};
use smp_text::path::{FieldPath, PathElement, with_step};
use smp_text::source::Span;
use smp_text::yaml::{Entry, Map, Node, Value};

/// Controls whether a merge records the origins of its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OriginRecording {
    /// Origins are not recorded.
    #[default]
    Disabled,
    /// Origins are recorded, which takes time.
    Enabled,
}

/// A part of a merge result that differs from the original and is not in conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeOrigin {
    /// Path of the file in dest; the new file if the manifest was added or moved.
    pub path: PathBuf,
    /// Display name of the manifest; `None` for files that hold no manifests.
    pub resource: Option<String>,
    /// Field path, and JSON pointer in the result, or in the original if the field is removed. `None` for whole
    /// manifests and other files.
    pub field: Option<(FieldPath, String)>,
    /// Side that changed it.
    pub side: OriginSide,
    /// Location in the original, if present.
    pub original: Option<Span>,
    /// Location in the updated version, if present.
    pub updated: Option<Span>,
    /// Location in dest, if present.
    pub dest: Option<Span>,
}

/// The version that made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginSide {
    /// The updated version.
    Updated,
    /// The dest version.
    Dest,
    /// Both versions made the same change, or each changed a part of a value that is reported as a whole, such as a
    /// list without merge keys.
    Both,
}

impl OriginSide {
    /// Returns `updated`, `dest` or `both`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Updated => "updated",
            Self::Dest => "dest",
            Self::Both => "both",
        }
    }

    /// Returns the version that the value of the result comes from.
    pub(super) fn from_result<T: PartialEq>(updated: &T, dest: &T, result: &T) -> Self {
        match (updated == result, dest == result) {
            (true, false) => Self::Updated,
            (false, true) => Self::Dest,
            _ => Self::Both,
        }
    }
}

/// A merged manifest. `sides` are the original, the updated version and dest.
pub(super) struct MergedManifest<'m> {
    pub sides: [Option<&'m Manifest<'m>>; 3],
    pub result: Option<&'m Node>,
    pub conflicts: &'m [Conflict],
    /// Path of the file in dest.
    pub path: PathBuf,
}

impl MergedManifest<'_> {
    /// Returns the origin of each changed part.
    pub fn origins(self, schema: &Schema) -> Vec<ChangeOrigin> {
        let Some(manifest) = self.sides.into_iter().flatten().next_back() else { return Vec::new() };
        let cursor = schema.kind(&manifest.gvk).unwrap_or_else(Cursor::unknown);
        let [original, updated, dest] = self.sides.map(|side| side.map(|manifest| manifest.node));
        let mut walk = OriginWalk {
            merged: &self,
            resource: manifest.key.to_string(),
            field_path: FieldPath::root(),
            found: Vec::new(),
        };
        walk.value([self.result, original, updated, dest], cursor, &mut String::new());
        walk.found
    }
}

/// A value in the result, the original, the updated version and dest.
type SideVersions<T> = [Option<T>; 4];

struct OriginWalk<'w> {
    merged: &'w MergedManifest<'w>,
    resource: String,
    field_path: FieldPath,
    found: Vec<ChangeOrigin>,
}

impl OriginWalk<'_> {
    fn value(&mut self, versions: SideVersions<&Node>, cursor: Cursor<'_>, pointer: &mut String) {
        let [result, original, updated, dest] = versions;
        if result == original {
            return;
        }
        // A new value is reported as a whole unless both versions contributed to it.
        let is_of_one = original.is_none() && (result == updated || result == dest);
        match result.map(|node| &node.value) {
            Some(Value::Map(_)) if !is_of_one => {
                let maps = versions.map(|node| node.map(Node::as_map));
                if maps[1].is_none_or(|map| map.is_some()) && maps.iter().flatten().flatten().count() > 1 {
                    return self.maps(maps.map(Option::flatten), cursor, pointer);
                }
            }
            Some(Value::List(_)) if !is_of_one => {
                let lists = versions.map(|node| node.map(Node::as_list));
                if lists[1].is_none_or(|list| list.is_some()) && lists.iter().flatten().flatten().count() > 1
                {
                    let lists = lists.map(|list| list.flatten().map_or(&[][..], Vec::as_slice));
                    if self.lists(lists, cursor, pointer) {
                        return;
                    }
                }
            }
            _ => {}
        }
        self.note(versions, pointer);
    }

    fn maps(&mut self, maps: SideVersions<&Map>, cursor: Cursor<'_>, pointer: &mut String) {
        let none = Map::default();
        for row in align::fields(maps.map(|map| map.unwrap_or(&none))) {
            let Some(Entry { key, .. }) = row.into_iter().flatten().next() else { continue };
            let values = row.map(|entry| entry.map(|entry| &entry.value));
            self.field_path.push(PathElement::Field(key.text.clone()));
            with_step(pointer, &key.text, |pointer| self.value(values, cursor.field(&key.text), pointer));
            self.field_path.pop();
        }
    }

    /// Records the changes of a list by its entries. Returns false if the entries have no keys or only their
    /// order changed.
    fn lists(&mut self, lists: [&[Node]; 4], cursor: Cursor<'_>, pointer: &mut String) -> bool {
        let Some(rows) = align_by_common_keys(lists, cursor) else { return false };
        let before = self.found.len();
        let mut is_changed = false;
        for (element, at) in rows {
            let versions = std::array::from_fn(|version| at[version].map(|i| &lists[version][i]));
            is_changed |= versions[0] != versions[1];
            self.field_path.push(element);
            let step = at[0].or(at[1]).unwrap_or_default().to_string();
            with_step(pointer, &step, |pointer| self.value(versions, cursor.element(), pointer));
            self.field_path.pop();
        }
        is_changed || self.found.len() > before
    }

    fn note(&mut self, [result, original, updated, dest]: SideVersions<&Node>, pointer: &str) {
        let is_whole = self.field_path.elements().is_empty();
        let location = |node: Option<&Node>| {
            let span = node?.span();
            let span = if is_whole { span.at_start() } else { span };
            (!span.is_none()).then_some(span)
        };
        let origin = ChangeOrigin {
            path: self.merged.path.clone(),
            resource: Some(self.resource.clone()),
            field: (!is_whole).then(|| (self.field_path.clone(), pointer.to_string())),
            side: OriginSide::from_result(&updated, &dest, &result),
            original: location(original),
            updated: location(updated),
            dest: location(dest),
        };
        if !self.merged.conflicts.iter().any(|conflict| is_in_conflict(&origin, &self.field_path, conflict)) {
            self.found.push(origin);
        }
    }
}

/// Returns true if a conflict affects the value or a value that contains it.
fn is_in_conflict(origin: &ChangeOrigin, field_path: &FieldPath, conflict: &Conflict) -> bool {
    let is_within = |span: Option<Span>, around: &Option<Node>| {
        span.zip(around.as_ref().map(Node::span)).is_some_and(|(span, around)| {
            span.source == around.source && around.start <= span.start && span.end <= around.end
        })
    };
    field_path.elements().starts_with(conflict.path.elements())
        || is_within(origin.updated, &conflict.updated)
        || is_within(origin.dest, &conflict.dest)
}
