//! The lists of a two-way merge, as kyaml merges them.

use smol_str::SmolStr;

use super::{Fate, Merge2, Own, Source, take};
use crate::diagnostic::Result;
use crate::merge::Trail;
use crate::merge::directive::Action;
use crate::merge::kyaml::entries::{Entries, Side};
use crate::merge::kyaml::options::ListOrder;
use crate::merge::kyaml::position::{Pairing, Position};
use crate::merge::kyaml::restyle::key_scalar;
use crate::merge::kyaml::tuples::{self, MAX_KEYS, Tuples, are_distinct};
use crate::merge::kyaml::{directive, infer};
use crate::yaml::{Node, Value};

impl<'s> Merge2<'s> {
    pub(super) fn list(
        &self,
        dest: &mut Node,
        source: Source<'_>,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Fate> {
        super::adopt(dest, &source);
        let Value::List(list) = &mut dest.value else { return Ok(Fate::Keep) };
        let theirs = source.node().and_then(Node::as_list).map(Vec::as_slice);
        let Some(keys) = self.keys(at, std::iter::once(list.as_slice()).chain(theirs), trail)? else {
            return Ok(match source {
                Source::Node(patch) => Fate::Take(take(patch)),
                _ => Fate::Keep,
            });
        };
        match source {
            Source::Absent => self.own_entries(list, Own::Absent, &keys, at, trail)?,
            Source::Same => {
                if directive::take_from_list(list, trail)? == Action::Delete {
                    return Ok(Fate::Clear);
                }
                self.own_entries(list, Own::Same, &keys, at, trail)?;
            }
            Source::Node(patch) => {
                let Value::List(theirs) = &mut patch.value else { return Ok(Fate::Keep) };
                match directive::take_from_list(theirs, trail)? {
                    Action::Delete => return Ok(Fate::Clear),
                    Action::Replace => {
                        self.own_entries(theirs, Own::Same, &keys, at, trail)?;
                        return Ok(Fate::Take(take(patch)));
                    }
                    Action::Merge => self.entries(list, theirs, &keys, at, trail)?,
                }
            }
        }
        Ok(Fate::Keep)
    }

    /// A list that dest does not have. Directives for the list are not looked for (kustomize 5.8).
    pub(super) fn new_list(&self, mut node: Node, at: &Position<'s>, trail: &Trail<'_>) -> Result<Fate> {
        if let Value::List(list) = &mut node.value
            && let Some(keys) = self.keys(at, std::iter::once(list.as_slice()), trail)?
        {
            self.own_entries(list, Own::Same, &keys, at, trail)?;
        }
        Ok(Fate::Take(node))
    }

    /// The keys by which lists merge, `""` for lists of scalars; none when they do not.
    fn keys<'n>(
        &self,
        at: &Position<'s>,
        sides: impl Iterator<Item = &'n [Node]> + Clone,
        trail: &Trail<'_>,
    ) -> Result<Option<Vec<SmolStr>>> {
        let pairing = if at.is_known() {
            at.pairing()
        } else {
            let inferred = infer::strict(sides, self.options.infer_keys.keys(), trail)?;
            inferred.map_or(Pairing::Replace, |key| Pairing::Keys(vec![key]))
        };
        Ok(match pairing {
            Pairing::Replace => None,
            Pairing::Scalars => Some(vec![SmolStr::default()]),
            Pairing::Keys(mut keys) => {
                keys.truncate(MAX_KEYS);
                Some(keys)
            }
        })
    }

    /// A list that no other list is merged into.
    fn own_entries(
        &self,
        list: &mut Vec<Node>,
        own: Own,
        keys: &[SmolStr],
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        let element = at.element(self.schema);
        if are_distinct(list, keys) {
            return self.distinct_entries(list, own, &element, trail);
        }
        let mut tuples = Tuples::collect(std::iter::once(list.as_slice()), keys);
        tuples.fill_gaps();
        let keys = tuples.drop_unused_keys(keys);
        let mut entries = Entries::new(std::mem::take(list), &keys);
        for tuple in tuples.iter() {
            self.entry(&mut entries, tuple, &keys, own.source(), &element, trail)?;
        }
        *list = entries.finish(self.options.list_order, trail)?;
        Ok(())
    }

    /// The entries of a list in which nothing is twice and nothing lacks a key.
    fn distinct_entries(
        &self,
        list: &mut Vec<Node>,
        own: Own,
        element: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        let mut stays = Vec::with_capacity(list.len());
        for (i, node) in list.iter_mut().enumerate() {
            let fate = self.value(Some(node), own.source(), element.clone(), &trail.index(i))?;
            stays.push(!matches!(fate, Fate::Clear) && !tuples::is_nothing(node));
        }
        let mut stays = stays.into_iter();
        list.retain(|_| stays.next().unwrap_or(true));
        Ok(())
    }

    /// Merges the patch's list into dest's.
    fn entries(
        &self,
        list: &mut Vec<Node>,
        theirs: &mut Vec<Node>,
        keys: &[SmolStr],
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        let mut tuples = self.tuples(list, theirs, keys);
        if tuples.is_empty() {
            return Ok(());
        }
        let revisits = keys.len() > 1 && tuples.has_gaps();
        tuples.fill_gaps();
        let keys = tuples.drop_unused_keys(keys);
        let element = at.element(self.schema);
        let mut side = Side::new(theirs, &keys);
        let mut entries = Entries::new(std::mem::take(list), &keys);
        for tuple in tuples.iter() {
            let mut visit;
            let source = match side.find(tuple).and_then(|i| theirs.get_mut(i)) {
                None => Source::Absent,
                Some(node) if !revisits => Source::Node(node),
                Some(node) => {
                    visit = for_this_visit(node, trail);
                    Source::Node(&mut visit)
                }
            };
            self.entry(&mut entries, tuple, &keys, source, &element, trail)?;
        }
        *list = entries.finish(self.options.list_order, trail)?;
        Ok(())
    }

    fn tuples(&self, list: &[Node], theirs: &[Node], keys: &[SmolStr]) -> Tuples {
        match self.options.list_order {
            ListOrder::Append => Tuples::collect([list, theirs].into_iter(), keys),
            ListOrder::Prepend => Tuples::collect([theirs, list].into_iter(), keys),
        }
    }

    /// Merges the entries that a tuple means and puts the result among the others.
    fn entry(
        &self,
        entries: &mut Entries,
        tuple: &[SmolStr],
        keys: &[SmolStr],
        source: Source<'_>,
        element: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        let found = entries.find(tuple);
        let own = trail.texts(keys, tuple);
        let dest = found.map(|entry| entries.node_mut(entry));
        let source = if dest.is_none() && matches!(source, Source::Same) { Source::Absent } else { source };
        let fate = self.value(dest, source, element.clone(), &own)?;
        if let Some(entry) = found {
            if matches!(fate, Fate::Keep) {
                complete(entries.node_mut(entry), keys, tuple);
            }
            entries.refresh(entry);
        }
        let result = match fate {
            Fate::Keep => found,
            Fate::Take(mut node) => {
                complete(&mut node, keys, tuple);
                Some(entries.add(node))
            }
            Fate::Clear => None,
        };
        match result.filter(|&entry| !entries.is_nothing(entry)) {
            Some(entry) => entries.put(tuple, entry, trail),
            None => entries.remove(tuple, trail),
        }
    }
}

/// An entry of the patch that more than one tuple may mean. Its directive counts only the first time
/// (kustomize 5.8, by accident).
fn for_this_visit(node: &mut Node, trail: &Trail<'_>) -> Node {
    let copy = node.clone();
    if let Value::Map(map) = &mut node.value {
        // What is wrong with it is said when the copy is merged.
        directive::take_from_map(map, trail).ok();
    }
    copy
}

/// Makes sure that the entry has the keys by which it was found.
pub(in crate::merge::kyaml) fn complete(node: &mut Node, keys: &[SmolStr], tuple: &[SmolStr]) {
    let Value::Map(map) = &mut node.value else { return };
    if map.is_empty() {
        return;
    }
    for (key, text) in keys.iter().zip(tuple).filter(|(_, text)| !text.is_empty()) {
        if !map.contains_key(key) {
            map.push(key.clone(), key_scalar(text));
        }
    }
}
