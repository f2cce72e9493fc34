//! The three-way merge of the changes between two versions of an object into a third version.
//!
//! By kyaml's rules, a value that is null in the updated version or in dest is removed. A value that the updated
//! version added or changed is used, even if dest changed it as well. With `ConflictPolicy::Dest`, the value of dest is
//! used in this case. A value that the updated version removed is removed. All other values remain as in dest. Maps are
//! never removed as a whole, only their fields, so an empty map may remain.

#[cfg(test)]
mod tests;

use super::change::{key_comments, list_changed, scalar_changed};
use super::entries::{ListMerge, Lookup};
use super::position::{ListRule, Position};
use super::tuples::Tuples;
use super::walk::{Decision, Location, check_same_kind, match_fields, retain};
use crate::merge::options::{ConflictPolicy, MergeOptions};
use crate::merge::{Conflict, ConflictSide, Merged, Trail};
use crate::schema::Schema;
use smp_text::diagnostic::Result;
use smp_text::yaml::{Entry, List, Map, Node, Value};

/// Merges the changes from `original` to `updated` into dest.
///
/// # Errors
/// The values of a field have different types, or list entries have no unique keys.
pub(in crate::merge) fn merge3(
    original: Option<&Node>,
    updated: Option<&Node>,
    mut dest: Option<Node>,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<Merged> {
    let mut merge = Merge3 { schema, options, conflicts: Vec::new() };
    let others = Others { original, updated };
    let decision = merge.value(dest.as_mut(), others, Position::unknown(), &Trail::root())?;
    Ok(Merged { node: decision.into_node(dest), warnings: Vec::new(), conflicts: merge.conflicts })
}

struct Merge3<'s> {
    schema: &'s Schema,
    options: &'s MergeOptions,
    conflicts: Vec<Conflict>,
}

/// The values of the original and the updated version.
#[derive(Debug)]
struct Others<'n, T = Node> {
    original: Option<&'n T>,
    updated: Option<&'n T>,
}

impl<T> Clone for Others<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Others<'_, T> {}

impl<'n, T> Others<'n, T> {
    fn iter(self) -> impl Iterator<Item = &'n T> {
        self.original.into_iter().chain(self.updated)
    }

    fn map<U>(self, part: impl Fn(&'n T) -> &'n U) -> Others<'n, U> {
        Others { original: self.original.map(&part), updated: self.updated.map(&part) }
    }
}

/// The kind of a value that is copied from one input and not merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaf {
    Scalar,
    List,
    /// A list that the schema does not declare.
    UnknownList,
}

fn present(node: Option<&Node>) -> Option<&Node> {
    node.filter(|node| !node.is_null())
}

fn any_null(sides: [Option<&Node>; 2]) -> bool {
    sides.into_iter().flatten().any(Node::is_null)
}

impl<'s> Merge3<'s> {
    fn value(
        &mut self,
        dest: Option<&mut Node>,
        others: Others<'_>,
        at: Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Decision> {
        let at = at.refine(&[dest.as_deref(), others.original, others.updated], self.schema);
        let here = Location { position: &at, trail };
        let mut kinds = dest.as_deref().into_iter().chain(others.iter()).filter(|node| !node.is_null());
        let Some(first) = kinds.next() else { return Ok(Decision::Remove) };
        for other in kinds {
            check_same_kind(first, other, trail)?;
        }
        match first.value {
            Value::Map(_) => self.map(dest, others, here),
            Value::List(_) => self.list(dest, others, here),
            Value::Scalar(_) => Ok(self.leaf(Leaf::Scalar, dest.as_deref(), others, trail)),
        }
    }

    fn leaf(&mut self, leaf: Leaf, dest: Option<&Node>, others: Others<'_>, trail: &Trail<'_>) -> Decision {
        if let Some(conflict) = self.conflict(dest, others, trail) {
            conflict.unknown_list = leaf == Leaf::UnknownList;
            if self.dest_wins() {
                return present(dest).map_or(Decision::Remove, |_| Decision::Keep);
            }
        }
        let Others { original, updated } = others;
        if any_null([updated, dest]) {
            return Decision::Remove;
        }
        let changed = match (present(original), updated) {
            (None, None) => false,
            (Some(original), Some(updated)) if leaf == Leaf::Scalar => {
                scalar_changed(original, updated, dest)
            }
            (Some(original), Some(updated)) => list_changed(original, updated),
            _ => true,
        };
        match (changed, updated, dest) {
            (true, Some(updated), _) => Decision::Replace(updated.clone()),
            (false, _, Some(_)) => Decision::Keep,
            _ => Decision::Remove,
        }
    }

    fn dest_wins(&self) -> bool {
        self.options.conflicts == ConflictPolicy::Dest
    }

    /// Records a conflict if `updated` and `dest` changed a value differently.
    fn conflict(
        &mut self,
        dest: Option<&Node>,
        others: Others<'_>,
        trail: &Trail<'_>,
    ) -> Option<&mut Conflict> {
        let (original, updated, dest) = (present(others.original), present(others.updated), present(dest));
        if original == updated || original == dest || updated == dest {
            return None;
        }
        let taken = if self.dest_wins() { ConflictSide::Dest } else { ConflictSide::Updated };
        self.conflicts.push(Conflict {
            path: trail.path(),
            original: original.cloned(),
            updated: updated.cloned(),
            dest: dest.cloned(),
            unknown_list: false,
            winner: taken,
        });
        self.conflicts.last_mut()
    }

    /// Returns the decision on a map or list that `updated` or `dest` has removed: it is removed, or remains as in
    /// dest.
    fn removed(&mut self, dest: Option<&Node>, others: Others<'_>, trail: &Trail<'_>) -> Decision {
        let conflict = self.conflict(dest, others, trail).is_some();
        let stays = conflict && self.dest_wins() && present(dest).is_some();
        if stays { Decision::Keep } else { Decision::Remove }
    }

    fn map(
        &mut self,
        dest: Option<&mut Node>,
        others: Others<'_>,
        here: Location<'_, 's>,
    ) -> Result<Decision> {
        if any_null([others.updated, dest.as_deref()]) {
            return Ok(self.removed(dest.as_deref(), others, here.trail));
        }
        if let Some(Value::Map(map)) = dest.map(|node| &mut node.value) {
            self.fields(map, others, here)?;
            return Ok(Decision::Keep);
        }
        if others.updated.is_none() {
            return Ok(Decision::Remove);
        }
        let mut map = Map::new();
        self.fields(&mut map, others, here)?;
        Ok(Decision::Replace(Node::map(map)))
    }

    /// Merges the fields of dest in their order, then adds the new fields, sorted by name.
    fn fields(&mut self, dest: &mut Map, others: Others<'_>, here: Location<'_, 's>) -> Result<()> {
        let none = Map::new();
        let sides = [others.original, others.updated];
        let [original, updated] = sides.map(|side| side.and_then(Node::as_map).unwrap_or(&none));
        let originals = original.index();
        let original = |name: &str| originals.position(name).and_then(|i| original.entries().get(i));
        let (updates, new) = match_fields(dest, updated);
        let mut updates = updates.into_iter();
        retain(dest.entries_mut(), |entry| {
            let updated = updates.next().flatten().and_then(|i| updated.entries().get(i));
            self.field(entry, Others { original: original(&entry.key.text), updated }, here)
        })?;
        for field in new.into_iter().map(|i| &updated.entries()[i]) {
            let original = original(&field.key.text);
            let theirs = Others { original, updated: Some(field) };
            let at = here.position.field_with_comments(
                &field.key.text,
                theirs.iter().map(|e| (&e.key, &e.value)),
                self.schema,
            );
            let trail = here.trail.field(&field.key.text);
            let decision = self.value(None, theirs.map(|entry| &entry.value), at, &trail)?;
            let comments = key_comments(None, original.map(|e| &e.key), Some(&field.key));
            decision.add_to(dest, &field.key, comments.and_then(|key| key.meta.comments.clone()));
        }
        Ok(())
    }

    /// Merges one field of dest. Returns true if the field is kept.
    fn field(
        &mut self,
        Entry { key, value }: &mut Entry,
        theirs: Others<'_, Entry>,
        here: Location<'_, 's>,
    ) -> Result<bool> {
        let sides = std::iter::once((&*key, &*value)).chain(theirs.iter().map(|e| (&e.key, &e.value)));
        let at = here.position.field_with_comments(&key.text, sides, self.schema);
        let trail = here.trail.field(&key.text);
        let stays = self.value(Some(value), theirs.map(|entry| &entry.value), at, &trail)?.apply_to(value);
        let Others { original, updated } = theirs.map(|entry| &entry.key);
        if let Some(from) = key_comments(Some(key), original, updated).filter(|_| stays) {
            let comments = from.meta.comments.clone();
            key.meta.comments = comments;
        }
        Ok(stays)
    }

    fn list(
        &mut self,
        dest: Option<&mut Node>,
        others: Others<'_>,
        here: Location<'_, 's>,
    ) -> Result<Decision> {
        let lists = dest.as_deref().into_iter().chain(others.iter()).filter_map(Node::as_list);
        let lists: Vec<&[Node]> = lists.map(Vec::as_slice).collect();
        let rule = here.position.list_rule(&lists, None, self.options, self.schema);
        if rule.replaces() {
            let leaf = if here.position.is_known() { Leaf::List } else { Leaf::UnknownList };
            return Ok(self.leaf(leaf, dest.as_deref(), others, here.trail));
        }
        if present(others.updated).is_none() && present(others.original).is_some() {
            return Ok(self.removed(dest.as_deref(), others, here.trail));
        }
        if let Some(Value::List(list)) = dest.map(|node| &mut node.value) {
            self.entries(list, others, &rule, here)?;
            return Ok(Decision::Keep);
        }
        let mut list = List::new();
        self.entries(&mut list, others, &rule, here)?;
        Ok(Decision::Replace(Node::list(list)))
    }

    fn entries(
        &mut self,
        dest: &mut List,
        others: Others<'_>,
        rule: &ListRule<'s>,
        here: Location<'_, 's>,
    ) -> Result<()> {
        let sides = [others.original, others.updated];
        let [original, updated] =
            sides.map(|side| side.and_then(Node::as_list).map_or(&[][..], Vec::as_slice));
        rule.check_patch(updated, here.trail)?;
        let sides = [dest.as_slice(), original, updated];
        let keys = rule.keys(&sides, self.options.infer_keys.keys(), here.trail)?;
        let tuples = Tuples::from_lists(sides, keys);
        if tuples.is_empty() {
            return Ok(());
        }
        let element = here.position.element(self.schema);
        let mut originals = Lookup::new(original, tuples.keys());
        let mut updates = Lookup::new(updated, tuples.keys());
        let mut entries = ListMerge::new(std::mem::take(dest), tuples.keys(), here.trail);
        for tuple in tuples.iter() {
            let others = Others {
                original: originals.find(tuple).and_then(|i| original.get(i)),
                updated: updates.find(tuple).and_then(|i| updated.get(i)),
            };
            let (node, visit) = entries.visit(tuple, &[others.updated, others.original]);
            let trail = here.trail.texts(tuples.keys().names(), tuple);
            let decision = self.value(node, others, element.clone(), &trail)?;
            entries.put(&visit, decision)?;
        }
        *dest = entries.finish_in_place(self.options.order())?;
        Ok(())
    }
}
