//! How a generated resource joins a set: it is new there, or replaces or merges with one that is not.

use std::collections::BTreeMap;

use super::generated::{Behavior, Generated};
use super::manifest::Resource;
use super::set::ResourceSet;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::schema::Schema;
use crate::yaml::Node;

impl ResourceSet {
    /// Adds a generated resource, or lets it replace or merge with the one of its id.
    ///
    /// # Errors
    /// A `create` that exists, a `merge` or `replace` that does not, several that fit.
    pub fn absorb(&mut self, resource: Resource, schema: &Schema) -> Result<()> {
        match resource.generated.unwrap_or_default().behavior {
            Behavior::Unspecified | Behavior::Create => self.absorb_new(resource),
            behavior @ (Behavior::Replace | Behavior::Merge) => {
                let position = self.the_one_to_change(&resource)?;
                self.update(position, |old| {
                    *old = join(resource, old, behavior);
                    old.sync(schema);
                });
                Ok(())
            }
        }
    }

    fn absorb_new(&mut self, resource: Resource) -> Result<()> {
        let id = resource.id();
        // Earlier names count as well.
        let existing = self.position(id).or_else(|| self.by_former_id(id).next());
        let Some(existing) = existing else { return self.append(resource) };
        let help = "use `behavior: merge` or `behavior: replace` to change the one that exists";
        Err(self.duplicate(existing, &resource).help(help))
    }

    /// The resource that has the id of a generated one, or else had it.
    fn the_one_to_change(&self, resource: &Resource) -> Result<usize> {
        let (id, at) = (resource.id(), resource.node().span());
        if let Some(now) = self.position(id) {
            return Ok(now);
        }
        let mut before = self.by_former_id(id);
        match (before.next(), before.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => {
                let message = format!("{id} does not exist, so it cannot be merged with or replaced");
                Err(Diagnostic::error(Code::NoMatch, message)
                    .at(at)
                    .help("use `behavior: create`, or generate it in a base"))
            }
            (Some(_), Some(_)) => {
                let message = format!("several resources could be changed by {id}");
                Err(Diagnostic::error(Code::Ambiguous, message).at(at))
            }
        }
    }
}

/// Gives a generated resource the name, namespace and history of the one that it replaces, and
/// the union of labels and annotations; for `merge` also of the data.
fn join(mut new: Resource, old: &Resource, behavior: Behavior) -> Resource {
    for field in ["labels", "annotations"] {
        let mut pairs: BTreeMap<_, _> = old.placed_strings(field).collect();
        pairs.extend(new.placed_strings(field));
        new.set_strings(field, pairs.into_iter().collect());
    }
    new.set_name(&old.id().name);
    new.set_namespace(&old.id().namespace);
    new.keep_identity(old.identity());
    if behavior == Behavior::Merge {
        for field in ["data", "binaryData"] {
            join_data(&mut new, old, field);
        }
        new.origin = old.origin.clone().or(new.origin);
    }
    let hash = new.generated.is_some_and(|g| g.name_hash);
    new.generated = old.generated.map(|g| Generated { name_hash: g.name_hash && hash, ..g });
    new.transformations.clone_from(&old.transformations);
    new.previous.clone_from(&old.previous);
    new.prefixes.clone_from(&old.prefixes);
    new.suffixes.clone_from(&old.suffixes);
    new.referred_by.clone_from(&old.referred_by);
    new.vars.clone_from(&old.vars);
    new.history.clone_from(&old.history);
    new.from_helm = old.from_helm;
    new
}

/// The union of a data field, sorted by key; the new values win. All values become strings.
fn join_data(new: &mut Resource, old: &Resource, field: &str) {
    let entries = |r: &Resource| r.node().get(field).and_then(Node::as_map).cloned().unwrap_or_default();
    let mut union: BTreeMap<_, _> = entries(old).into_iter().map(|e| (e.key.text.clone(), e)).collect();
    union.extend(entries(new).into_iter().map(|e| (e.key.text.clone(), e)));
    let Some(map) = new.node_mut().as_map_mut() else { return };
    map.remove(field);
    if !union.is_empty() {
        let strings = union.into_values().map(|e| {
            let text = if e.value.is_null() { None } else { e.value.scalar_text().cloned() };
            (e.key, Node::string(text.unwrap_or_default()).with_span(e.value.span()))
        });
        map.push(field, Node::map(strings.collect()));
    }
}
