//! Three-way merge: what changed between two versions of an object, onto a third.
//!
//! kyaml's rules: what is null in the updated version or in dest goes; what was added or changed is
//! taken, even where dest changed as well; what was removed is removed; the rest stays as dest has it.
//! Maps never go as a whole, only their fields do, so that an empty map may remain.

use super::change::{key_comments, list_changed, scalar_changed};
use super::entries::{Entries, Side, places};
use super::options::{ConflictPolicy, MergeOptions};
use super::position::{Pairing, Position};
use super::restyle::{quote_old_booleans, restyle};
use super::tuples::Tuples;
use super::{Fate, retain, same_kind};
use crate::diagnostic::Result;
use crate::merge::{Conflict, Exceptions, Merged, Trail};
use crate::schema::Schema;
use crate::yaml::{Entry, Key, List, Map, MapIndex, Meta, Node, Value};

/// Merges the changes from `original` to `updated` into dest, in place as far as it goes.
///
/// What both sides changed is a conflict; the options say which side is taken then. Objects that one side does not have at all are for the caller to keep or
/// drop; here they count as maps without fields.
///
/// ```
/// use kubectl_smp::merge::{InferKeys, ListOrder, MergeOptions, merge3};
/// use kubectl_smp::schema::Schema;
/// use kubectl_smp::source::SourceMap;
/// use kubectl_smp::yaml::{Node, ParseOptions, parse_one, to_json};
///
/// let sources = SourceMap::default();
/// let read = |text: &str| parse_one(&sources, sources.add("example", text), ParseOptions::default());
/// let (original, updated) = (read("{replicas: 1, port: 80}")?, read("{replicas: 2, port: 80}")?);
/// let dest = read("{replicas: 3, port: 8080}")?;
/// let options = MergeOptions::kyaml(ListOrder::Append, InferKeys::name());
/// let merged = merge3(Some(&original), Some(&updated), Some(dest), &Schema::none(), &options)?;
/// assert_eq!(to_json(&merged.node.unwrap_or_else(Node::null))?, r#"{"port":8080,"replicas":2}"#);
/// assert_eq!(merged.conflicts[0].path.to_string(), "replicas");
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// Values of different kinds in the same place, and list entries that cannot be told apart.
pub fn merge3(
    original: Option<&Node>,
    updated: Option<&Node>,
    mut dest: Option<Node>,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<Merged> {
    let mut merge = Merge3 { schema, options, conflicts: Vec::new() };
    let others = Others { original, updated };
    let node = match merge.value(dest.as_mut(), others, Position::unknown(), &Trail::root())? {
        Fate::Keep => dest,
        Fate::Take(node) => Some(node),
        Fate::Clear => None,
    };
    Ok(Merged { node, warnings: Vec::new(), conflicts: merge.conflicts })
}

struct Merge3<'s> {
    schema: &'s Schema,
    options: &'s MergeOptions,
    conflicts: Vec<Conflict>,
}

/// The two sides that say what changed.
#[derive(Debug, Clone, Copy)]
struct Others<'n> {
    original: Option<&'n Node>,
    updated: Option<&'n Node>,
}

impl<'n> Others<'n> {
    fn nodes(self) -> impl Iterator<Item = &'n Node> + Clone {
        self.original.into_iter().chain(self.updated)
    }
}

fn present(node: Option<&Node>) -> Option<&Node> {
    node.filter(|node| !node.is_null())
}

impl<'s> Merge3<'s> {
    fn value(
        &mut self,
        dest: Option<&mut Node>,
        others: Others<'_>,
        at: Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Fate> {
        let at = at.refine(&[dest.as_deref(), others.original, others.updated], self.schema);
        let mut kinds = dest.as_deref().into_iter().chain(others.nodes()).filter(|node| !node.is_null());
        let Some(first) = kinds.next() else { return Ok(Fate::Clear) };
        for other in kinds {
            same_kind(first, other, trail)?;
        }
        match first.value {
            Value::Map(_) => self.map(dest, others, &at, trail),
            Value::List(_) => self.list(dest, others, &at, trail),
            Value::Scalar(_) => Ok(self.leaf(dest.as_deref(), others, trail, scalar_changed)),
        }
    }

    /// A value that is taken whole. `changed` says whether the updated version differs from the
    /// original where both have it.
    fn leaf(
        &mut self,
        dest: Option<&Node>,
        Others { original, updated }: Others<'_>,
        trail: &Trail<'_>,
        changed: fn(&Node, &Node, Option<&Node>) -> bool,
    ) -> Fate {
        if self.conflict(dest, Others { original, updated }, trail) && self.dest_wins() {
            return present(dest).map_or(Fate::Clear, |_| Fate::Keep);
        }
        if [updated, dest].into_iter().flatten().any(Node::is_null) {
            return Fate::Clear;
        }
        let take = match (present(original), updated) {
            (None, None) => false,
            (Some(original), Some(updated)) => changed(original, updated, dest),
            _ => true,
        };
        match (take, updated, dest) {
            (true, Some(updated), _) => Fate::Take(updated.clone()),
            (false, _, Some(_)) => Fate::Keep,
            _ => Fate::Clear,
        }
    }

    fn dest_wins(&self) -> bool {
        self.options.conflicts == ConflictPolicy::Dest
    }

    /// Notes it when both sides changed a value, and not alike.
    fn conflict(&mut self, dest: Option<&Node>, others: Others<'_>, trail: &Trail<'_>) -> bool {
        let (original, updated, dest) = (present(others.original), present(others.updated), present(dest));
        if original == updated || original == dest || updated == dest {
            return false;
        }
        self.conflicts.push(Conflict {
            path: trail.path(),
            original: original.map(Node::span),
            updated: updated.map(Node::span),
            dest: dest.map(Node::span),
            unknown_list: false,
        });
        true
    }

    fn map(
        &mut self,
        dest: Option<&mut Node>,
        others: Others<'_>,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Fate> {
        if [others.updated, dest.as_deref()].into_iter().flatten().any(Node::is_null) {
            let conflict = self.conflict(dest.as_deref(), others, trail);
            let stays = conflict && self.dest_wins() && present(dest.as_deref()).is_some();
            return Ok(if stays { Fate::Keep } else { Fate::Clear });
        }
        if let Some(Value::Map(map)) = dest.map(|node| &mut node.value) {
            self.fields(map, others, at, trail)?;
            return Ok(Fate::Keep);
        }
        if others.updated.is_none() {
            return Ok(Fate::Clear);
        }
        let mut map = Map::new();
        self.fields(&mut map, others, at, trail)?;
        Ok(Fate::Take(Node::map(map)))
    }

    /// Those of dest in their order, then the new ones, sorted.
    fn fields(
        &mut self,
        dest: &mut Map,
        others: Others<'_>,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        let fields = Fields::new(others);
        let mut new = fields.not_in(dest);
        retain(dest.entries_mut(), |entry| self.field(entry, &fields, at, trail))?;
        new.sort_unstable_by(|a, b| a.key.text.cmp(&b.key.text));
        for Entry { key, value } in new {
            let original = fields.original(&key.text);
            let others = Others { original: original.map(|e| &e.value), updated: Some(value) };
            let sides = original.into_iter().map(|e| (&e.key, &e.value)).chain([(key, value)]);
            let at = at.field_of(&key.text, sides, self.schema);
            if let Fate::Take(mut node) = self.value(None, others, at, &trail.field(&key.text))? {
                quote_old_booleans(&mut node);
                let comments = key_comments(None, original.map(|e| &e.key), Some(key));
                let comments = comments.and_then(|key| key.meta.comments.clone());
                dest.push(Key { text: key.text.clone(), meta: Meta { comments, ..key.meta.clone() } }, node);
            }
        }
        Ok(())
    }

    /// One field that dest has. Returns whether it stays.
    fn field(
        &mut self,
        Entry { key, value }: &mut Entry,
        fields: &Fields<'_>,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<bool> {
        let (original, updated) = (fields.original(&key.text), fields.updated(&key.text));
        let others = Others { original: original.map(|e| &e.value), updated: updated.map(|e| &e.value) };
        let their_sides = original.into_iter().chain(updated).map(|e| (&e.key, &e.value));
        let sides = std::iter::once((&*key, &*value)).chain(their_sides);
        let at = at.field_of(&key.text, sides, self.schema);
        match self.value(Some(value), others, at, &trail.field(&key.text))? {
            Fate::Keep => quote_old_booleans(value),
            Fate::Take(mut node) => {
                restyle(&mut node, &value.meta);
                *value = node;
            }
            Fate::Clear => return Ok(false),
        }
        if let Some(from) = key_comments(Some(key), original.map(|e| &e.key), updated.map(|e| &e.key)) {
            let comments = from.meta.comments.clone();
            key.meta.comments = comments;
        }
        Ok(true)
    }

    fn list(
        &mut self,
        dest: Option<&mut Node>,
        others: Others<'_>,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Fate> {
        let lists = dest.as_deref().into_iter().chain(others.nodes()).filter_map(Node::as_list);
        let lists: Vec<&[Node]> = lists.map(Vec::as_slice).collect();
        let keys = self.options.infer_keys.keys();
        let pairing = match self.options.exceptions {
            Exceptions::None => at.pairing_of(&lists, keys),
            Exceptions::Listed => at.strict_pairing(&lists, None, keys, self.schema),
        };
        if pairing == Pairing::Replace {
            let known = self.conflicts.len();
            let fate = self.leaf(dest.as_deref(), others, trail, list_changed);
            for conflict in &mut self.conflicts[known..] {
                conflict.unknown_list = !at.is_known();
            }
            return Ok(fate);
        }
        if present(others.updated).is_none() && present(others.original).is_some() {
            let conflict = self.conflict(dest.as_deref(), others, trail);
            let stays = conflict && self.dest_wins() && present(dest.as_deref()).is_some();
            return Ok(if stays { Fate::Keep } else { Fate::Clear });
        }
        if let Some(Value::List(list)) = dest.map(|node| &mut node.value) {
            self.entries(list, others, pairing, at, trail)?;
            return Ok(Fate::Keep);
        }
        let mut list = List::new();
        self.entries(&mut list, others, pairing, at, trail)?;
        Ok(Fate::Take(Node::list(list)))
    }

    fn entries(
        &mut self,
        dest: &mut List,
        Others { original, updated }: Others<'_>,
        pairing: Pairing,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        let (original, updated) = (entries_of(original), entries_of(updated));
        let sides = [dest.as_slice(), original, updated];
        let keys = pairing.keys(&sides, self.options.infer_keys.keys(), trail)?;
        let mut tuples = Tuples::collect(sides.into_iter(), &keys);
        if tuples.is_empty() {
            return Ok(());
        }
        tuples.fill_gaps();
        let keys = tuples.drop_unused_keys(&keys);
        let element = at.element(self.schema);
        let (mut of_original, mut of_updated) = (Side::new(original, &keys), Side::new(updated, &keys));
        let mut entries = Entries::new(std::mem::take(dest), &keys);
        for tuple in tuples.iter() {
            let others = Others {
                original: of_original.find(tuple).and_then(|i| original.get(i)),
                updated: of_updated.find(tuple).and_then(|i| updated.get(i)),
            };
            let found = entries.find(tuple);
            let (node, keys) = entries.at(found);
            let places = places(keys, tuple, &[node.as_deref(), others.updated, others.original]);
            let fate = self.value(node, others, element.clone(), &trail.texts(keys, tuple))?;
            entries.settle(tuple, found, fate, &places, trail)?;
        }
        *dest = entries.finish_in_place(self.options.list_order, trail)?;
        Ok(())
    }
}

fn entries_of(node: Option<&Node>) -> &[Node] {
    node.and_then(Node::as_list).map_or(&[], Vec::as_slice)
}

/// The fields of the two sides.
struct Fields<'n> {
    original: Option<(&'n Map, MapIndex<'n>)>,
    updated: Option<(&'n Map, MapIndex<'n>)>,
}

impl<'n> Fields<'n> {
    fn new(others: Others<'n>) -> Self {
        let indexed = |node: Option<&'n Node>| node.and_then(Node::as_map).map(|map| (map, map.index()));
        Self { original: indexed(others.original), updated: indexed(others.updated) }
    }

    fn original(&self, name: &str) -> Option<&'n Entry> {
        let (map, index) = self.original.as_ref()?;
        map.entries().get(index.position(name)?)
    }

    fn updated(&self, name: &str) -> Option<&'n Entry> {
        let (map, index) = self.updated.as_ref()?;
        map.entries().get(index.position(name)?)
    }

    /// The fields of the updated version that a map does not have.
    fn not_in(&self, map: &Map) -> Vec<&'n Entry> {
        let index = map.index();
        let updated = self.updated.iter().flat_map(|(map, _)| map.entries());
        updated.filter(|entry| index.position(&entry.key.text).is_none()).collect()
    }
}

#[cfg(test)]
mod tests;
