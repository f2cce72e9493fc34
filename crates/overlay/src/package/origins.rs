//! From which side of a three-way merge each part of the result comes that is not as the original has it.
//!
//! Must not know how the sides are merged: the result tells.

use std::path::PathBuf;

use super::fields::entries_by_usual_keys;
use super::manifest::Manifest;
use smp_merge::merge::Conflict;
use smp_merge::merge::align;
use smp_merge::schema::{Cursor, Schema};
use smp_text::path::{FieldPath, PathElement, below};
use smp_text::source::Span;
use smp_text::yaml::{Entry, Map, Node, Value};

/// Whether a merge says where the parts of its result come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OriginKeeping {
    /// It does not.
    #[default]
    Dropped,
    /// It does, which takes time.
    Kept,
}

/// A part of the result of a merge that is not as the original has it, and about which the sides are not in conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeOrigin {
    /// The file of dest that it is in, was in, or shall be in.
    pub path: PathBuf,
    /// The manifest, as messages call it; none for files that are none.
    pub resource: Option<String>,
    /// The field, and the JSON pointer to it in the result, or in the original when it is removed; none for whole
    /// manifests and for files that are none.
    pub field: Option<(FieldPath, String)>,
    /// Who changed it.
    pub side: OriginSide,
    /// Where the original has it; none when it does not.
    pub original: Option<Span>,
    /// Where the updated version has it.
    pub updated: Option<Span>,
    /// Where dest has it.
    pub dest: Option<Span>,
}

/// Who changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginSide {
    /// The updated version.
    Updated,
    /// Dest.
    Dest,
    /// Both sides alike; or each a part of what is told as one, such as a list whose entries nothing tells apart.
    Both,
}

impl OriginSide {
    /// `updated`, `dest` or `both`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Updated => "updated",
            Self::Dest => "dest",
            Self::Both => "both",
        }
    }

    /// Whose value the result has.
    pub(super) fn of<T: PartialEq>(updated: &T, dest: &T, result: &T) -> Self {
        match (updated == result, dest == result) {
            (true, false) => Self::Updated,
            (false, true) => Self::Dest,
            _ => Self::Both,
        }
    }
}

/// What becomes of one manifest: the sides are the original, the updated version and dest.
pub(super) struct MergedManifest<'m> {
    pub sides: [Option<&'m Manifest<'m>>; 3],
    pub result: Option<&'m Node>,
    pub conflicts: &'m [Conflict],
    /// The file of dest.
    pub path: PathBuf,
}

impl MergedManifest<'_> {
    /// From which side each part comes.
    pub fn origins(self, schema: &Schema) -> Vec<ChangeOrigin> {
        let Some(manifest) = self.sides.into_iter().flatten().next_back() else { return Vec::new() };
        let cursor = schema.kind(&manifest.gvk).unwrap_or_else(Cursor::unknown);
        let [original, updated, dest] = self.sides.map(|side| side.map(|manifest| manifest.node));
        let mut walk = OriginWalk {
            merged: &self,
            resource: manifest.key.to_string(),
            way: FieldPath::root(),
            found: Vec::new(),
        };
        walk.value([self.result, original, updated, dest], cursor, &mut String::new());
        walk.found
    }
}

/// A value as the result, the original, the updated version and dest have it.
type SideVersions<T> = [Option<T>; 4];

struct OriginWalk<'w> {
    merged: &'w MergedManifest<'w>,
    resource: String,
    way: FieldPath,
    found: Vec<ChangeOrigin>,
}

impl OriginWalk<'_> {
    fn value(&mut self, versions: SideVersions<&Node>, cursor: Cursor<'_>, pointer: &mut String) {
        let [result, original, updated, dest] = versions;
        if result == original {
            return;
        }
        // What is new is told as one, unless both sides have a part in it.
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
            self.way.push(PathElement::Field(key.text.clone()));
            below(pointer, &key.text, |pointer| self.value(values, cursor.field(&key.text), pointer));
            self.way.pop();
        }
    }

    /// Tells what changed in a list by its entries. Returns whether it could: whether they are told apart, and not
    /// only their order changed.
    fn lists(&mut self, lists: [&[Node]; 4], cursor: Cursor<'_>, pointer: &mut String) -> bool {
        let Some(rows) = entries_by_usual_keys(lists, cursor) else { return false };
        let before = self.found.len();
        let mut is_changed = false;
        for (element, at) in rows {
            let versions = std::array::from_fn(|version| at[version].map(|i| &lists[version][i]));
            is_changed |= versions[0] != versions[1];
            self.way.push(element);
            let step = at[0].or(at[1]).unwrap_or_default().to_string();
            below(pointer, &step, |pointer| self.value(versions, cursor.element(), pointer));
            self.way.pop();
        }
        is_changed || self.found.len() > before
    }

    fn note(&mut self, [result, original, updated, dest]: SideVersions<&Node>, pointer: &str) {
        let is_whole = self.way.elements().is_empty();
        let place = |node: Option<&Node>| {
            let span = node?.span();
            let span = if is_whole { span.at_start() } else { span };
            (!span.is_none()).then_some(span)
        };
        let origin = ChangeOrigin {
            path: self.merged.path.clone(),
            resource: Some(self.resource.clone()),
            field: (!is_whole).then(|| (self.way.clone(), pointer.to_string())),
            side: OriginSide::of(&updated, &dest, &result),
            original: place(original),
            updated: place(updated),
            dest: place(dest),
        };
        if !self.merged.conflicts.iter().any(|conflict| is_in_conflict(&origin, &self.way, conflict)) {
            self.found.push(origin);
        }
    }
}

/// Whether a conflict is about a value, or about something that it is in.
fn is_in_conflict(origin: &ChangeOrigin, way: &FieldPath, conflict: &Conflict) -> bool {
    let is_within = |place: Option<Span>, around: &Option<Node>| {
        place.zip(around.as_ref().map(Node::span)).is_some_and(|(place, around)| {
            place.source == around.source && around.start <= place.start && place.end <= around.end
        })
    };
    way.elements().starts_with(conflict.path.elements())
        || is_within(origin.updated, &conflict.updated)
        || is_within(origin.dest, &conflict.dest)
}
