//! How a generated resource joins a set: it is new there, or replaces or merges with one that is not.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use super::generated::{Behavior, Generated, base64_lines};
use super::manifest::Resource;
use super::set::ResourceSet;
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Entry, Node};

impl ResourceSet {
    /// Adds a generated resource, or lets it replace or merge with the one of its id.
    ///
    /// # Errors
    /// A `create` that exists, a `merge` or `replace` that does not, several that fit; a `merge` with a Secret whose
    /// `stringData` is malformed.
    pub fn absorb(&mut self, resource: Resource, schema: &Schema) -> Result<()> {
        match resource.generated.unwrap_or_default().behavior {
            Behavior::Unspecified | Behavior::Create => self.absorb_new(resource),
            behavior @ (Behavior::Replace | Behavior::Merge) => {
                let position = self.the_one_to_change(&resource)?;
                let joined = self.update(position, |old| {
                    *old = join(resource, old, behavior)?;
                    old.sync(schema);
                    Ok(())
                });
                joined.unwrap_or(Ok(()))
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
fn join(mut new: Resource, old: &Resource, behavior: Behavior) -> Result<Resource> {
    for field in ["labels", "annotations"] {
        let mut pairs: BTreeMap<_, _> = old.placed_strings(field).collect();
        pairs.extend(new.placed_strings(field));
        new.set_strings(field, pairs.into_iter().collect());
    }
    new.set_name(&old.id().name);
    new.set_namespace(&old.id().namespace);
    new.keep_identity(old.identity());
    if behavior == Behavior::Merge {
        let old_data = if is_secret(&new) { secret_data(old)? } else { entries(old, "data") };
        join_data(&mut new, "data", old_data);
        join_data(&mut new, "binaryData", entries(old, "binaryData"));
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
    Ok(new)
}

fn is_secret(resource: &Resource) -> bool {
    let gvk = &resource.id().gvk;
    gvk.kind == "Secret" && gvk.api_version() == "v1"
}

/// The entries of a map field; none where it is no map.
fn entries(resource: &Resource, field: &str) -> Vec<Entry> {
    let map = resource.node().get(field).and_then(Node::as_map);
    map.map(|map| map.entries().to_vec()).unwrap_or_default()
}

/// The `data` of a Secret that a generated one is merged with. Its `stringData` is part of it, encoded,
/// and wins over `data`, as on the API server (kustomize from 5.8.3 on; before, it was lost).
fn secret_data(old: &Resource) -> Result<Vec<Entry>> {
    let mut data = entries(old, "data");
    let string_data = old.node().get("stringData").filter(|node| !node.is_null());
    let Some(string_data) = string_data else { return Ok(data) };
    for (field, node) in [("stringData", Some(string_data)), ("data", old.node().get("data"))] {
        if let Some(node) = node.filter(|node| !node.is_null() && node.as_map().is_none()) {
            return Err(malformed(old, field, node, "a map"));
        }
    }
    for mut entry in entries(old, "stringData") {
        let Some(text) = text(&entry.value) else {
            let field = format!("stringData.{}", entry.key.text);
            return Err(malformed(old, &field, &entry.value, "a string"));
        };
        entry.value = Node::string(base64_lines(text.as_bytes())).with_span(entry.value.span());
        data.push(entry);
    }
    Ok(data)
}

/// The text of a scalar, empty for null; none for maps and lists.
fn text(value: &Node) -> Option<SmolStr> {
    if value.is_null() { Some(SmolStr::default()) } else { value.scalar_text().cloned() }
}

fn malformed(old: &Resource, field: &str, node: &Node, expected: &str) -> Diagnostic {
    let message = format!("`{field}` of a Secret must be {expected}, not {}", node.type_name());
    Diagnostic::error(Code::WrongType, message)
        .at(node.span())
        .resource(old.id())
        .field(field)
        .help("correct it, so that a generator with `behavior: merge` can add to this Secret")
}

/// Sets a data field to the union of the old entries and the new ones, sorted by key; the new values win. All values become
/// strings.
fn join_data(new: &mut Resource, field: &str, old: Vec<Entry>) {
    let all = old.into_iter().chain(entries(new, field));
    let union: BTreeMap<_, _> = all.map(|entry| (entry.key.text.clone(), entry)).collect();
    let Some(map) = new.node_mut().as_map_mut() else { return };
    map.remove(field);
    if !union.is_empty() {
        let strings = union
            .into_values()
            .map(|e| (e.key, Node::string(text(&e.value).unwrap_or_default()).with_span(e.value.span())));
        map.push(field, Node::map(strings.collect()));
    }
}
