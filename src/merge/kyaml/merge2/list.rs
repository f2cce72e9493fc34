//! The lists of a two-way merge, as kyaml merges them.

use smol_str::SmolStr;

use super::{Merge2, Own, Source, take};
use crate::diagnostic::Result;
use crate::merge::Trail;
use crate::merge::directive::Action;
use crate::merge::kyaml::entries::{Entries, Side};
use crate::merge::kyaml::options::ListOrder;
use crate::merge::kyaml::position::{Pairing, Position};
use crate::merge::kyaml::tuples::{self, Tuples, are_distinct};
use crate::merge::kyaml::{Fate, directive};
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
        let pairing = at.pairing_of(std::iter::once(list.as_slice()).chain(theirs), self.infer_keys());
        if pairing == Pairing::Replace {
            return Ok(match source {
                Source::Node(patch) => Fate::Take(take(patch)),
                _ => Fate::Keep,
            });
        }
        match source {
            Source::Absent => self.own_entries(list, Own::Absent, pairing, at, trail)?,
            Source::Same => {
                if directive::take_from_list(list, trail)? == Action::Delete {
                    return Ok(Fate::Clear);
                }
                self.own_entries(list, Own::Same, pairing, at, trail)?;
            }
            Source::Node(patch) => {
                let Value::List(theirs) = &mut patch.value else { return Ok(Fate::Keep) };
                match directive::take_from_list(theirs, trail)? {
                    Action::Delete => return Ok(Fate::Clear),
                    Action::Replace => {
                        self.own_entries(theirs, Own::Same, pairing, at, trail)?;
                        return Ok(Fate::Take(take(patch)));
                    }
                    Action::Merge => self.entries(list, theirs, pairing, at, trail)?,
                }
            }
        }
        Ok(Fate::Keep)
    }

    /// A list that dest does not have. Directives for the list are not looked for (kustomize 5.8).
    pub(super) fn new_list(&self, mut node: Node, at: &Position<'s>, trail: &Trail<'_>) -> Result<Fate> {
        if let Value::List(list) = &mut node.value {
            let pairing = at.pairing_of(std::iter::once(list.as_slice()), self.infer_keys());
            if pairing != Pairing::Replace {
                self.own_entries(list, Own::Same, pairing, at, trail)?;
            }
        }
        Ok(Fate::Take(node))
    }

    fn infer_keys(&self) -> &'s [SmolStr] {
        self.options.infer_keys.keys()
    }

    /// A list that no other list is merged into.
    fn own_entries(
        &self,
        list: &mut Vec<Node>,
        own: Own,
        pairing: Pairing,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        let keys = &pairing.keys(std::iter::once(list.as_slice()), self.infer_keys(), trail)?;
        let element = at.element(self.schema);
        if are_distinct(list, keys) {
            return self.distinct_entries(list, own, &element, trail);
        }
        let mut tuples = Tuples::collect(std::iter::once(list.as_slice()), keys);
        tuples.fill_gaps();
        let keys = tuples.drop_unused_keys(keys);
        let mut entries = Entries::new(std::mem::take(list), &keys);
        for tuple in tuples.iter() {
            self.entry(&mut entries, tuple, own.source(), &element, trail)?;
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
        pairing: Pairing,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        let keys =
            &pairing.keys([list.as_slice(), theirs.as_slice()].into_iter(), self.infer_keys(), trail)?;
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
            let Some(node) = side.find(tuple).and_then(|i| theirs.get_mut(i)) else {
                self.entry(&mut entries, tuple, Source::Absent, &element, trail)?;
                continue;
            };
            if !revisits {
                self.entry(&mut entries, tuple, Source::Node(node), &element, trail)?;
                continue;
            }
            let mut visit = node.clone();
            let known = entries.len();
            let result = self.entry(&mut entries, tuple, Source::Node(&mut visit), &element, trail)?;
            remember_visit(node, result.map(|entry| entries.node(entry)), result >= Some(known), trail);
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

    /// Merges the entries that a tuple means and puts the result, if any, among the others.
    fn entry(
        &self,
        entries: &mut Entries,
        tuple: &[SmolStr],
        source: Source<'_>,
        element: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Option<usize>> {
        let found = entries.find(tuple);
        let (dest, keys) = entries.at(found);
        let source = if dest.is_none() && matches!(source, Source::Same) { Source::Absent } else { source };
        let fate = self.value(dest, source, element.clone(), &trail.texts(keys, tuple))?;
        entries.settle(tuple, found, fate, trail)
    }
}

/// What a visit leaves of an entry of the patch that more than one tuple may mean: its directive is
/// gone, and it shares with the result what went into that (kustomize 5.8, by accident).
fn remember_visit(node: &mut Node, result: Option<&Node>, taken: bool, trail: &Trail<'_>) {
    if let Some(result) = result.filter(|_| taken) {
        *node = result.clone();
        return;
    }
    let Value::Map(map) = &mut node.value else { return };
    // What is wrong with a directive was said during the visit.
    directive::take_from_map(map, trail).ok();
    for (key, value) in map.iter_mut().filter(|(_, value)| !value.is_null()) {
        match result.and_then(|result| result.get(key)) {
            Some(merged) if matches!(merged.value, Value::Scalar(_)) => value.clone_from(merged),
            _ => {}
        }
    }
}
