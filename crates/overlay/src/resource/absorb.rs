//! Adding generated resources to a set: create, replace or merge.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use super::generated::{Behavior, Generated, base64_lines};
use super::manifest::Resource;
use super::set::ResourceSet;
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Entry, Node};

impl ResourceSet {
    /// Adds a generated resource according to its behavior: creates it, or replaces or merges with the
    /// resource of the same ID.
    ///
    /// # Errors
    /// `create` with an existing ID; `merge` or `replace` with an ID that matches no resource, or several; `merge` with
    /// a Secret whose `stringData` is malformed.
    pub fn absorb(&mut self, resource: Resource, schema: &Schema) -> Result<()> {
        match resource.generated.unwrap_or_default().behavior {
            Behavior::Unspecified | Behavior::Create => self.absorb_new(resource),
            behavior @ (Behavior::Replace | Behavior::Merge) => {
                let position = self.find_target(&resource)?;
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
        // An earlier name of a resource matches, too.
        let existing = self.position(id).or_else(|| self.by_former_id(id).next());
        let Some(existing) = existing else { return self.append(resource) };
        let help = "use `behavior: merge` or `behavior: replace` to change the existing resource";
        Err(self.duplicate_error_with_help(existing, &resource).help(help))
    }

    /// Finds the resource that `merge` or `replace` changes: the one that has the ID now, or else the only
    /// one that once had it.
    fn find_target(&self, resource: &Resource) -> Result<usize> {
        let (id, at) = (resource.id(), resource.node().span());
        if let Some(now) = self.position(id) {
            return Ok(now);
        }
        let mut before = self.by_former_id(id);
        match (before.next(), before.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => {
                let message = format!(
                    "`behavior: merge` and `behavior: replace` need an existing resource: {id} does not exist"
                );
                Err(Diagnostic::error(Code::NoMatch, message)
                    .at(at)
                    .help("use `behavior: create`, or generate the resource in a base"))
            }
            (Some(_), Some(_)) => {
                let message = format!("several resources match the generated {id}");
                Err(Diagnostic::error(Code::Ambiguous, message).at(at))
            }
        }
    }
}

/// Joins a generated resource with the existing one.
///
/// The result has the name, namespace and history of the existing resource, and the union of labels and
/// annotations. For `merge` it also has the union of the data.
fn join(mut new: Resource, old: &Resource, behavior: Behavior) -> Result<Resource> {
    for field in ["labels", "annotations"] {
        let mut pairs: BTreeMap<_, _> = old.located_strings(field).collect();
        pairs.extend(new.located_strings(field));
        new.set_strings(field, pairs.into_iter().collect());
    }
    new.set_name(&old.id().name);
    new.set_namespace(&old.id().namespace);
    new.restore_identity_locations(old.identity());
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

/// Returns the entries of a map field, or an empty list if the field is not a map.
fn entries(resource: &Resource, field: &str) -> Vec<Entry> {
    let map = resource.node().get(field).and_then(Node::as_map);
    map.map(|map| map.entries().to_vec()).unwrap_or_default()
}

/// Returns the `data` of a Secret that a generated Secret is merged with.
///
/// `stringData` is base64-encoded and added, and takes precedence over `data`, as on the API server. kustomize does
/// this since 5.8.3; before, `stringData` was lost.
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

/// Returns the text of a scalar, which is empty for null, or `None` for maps and lists.
fn text(value: &Node) -> Option<SmolStr> {
    if value.is_null() { Some(SmolStr::default()) } else { value.scalar_text().cloned() }
}

fn malformed(old: &Resource, field: &str, node: &Node, expected: &str) -> Diagnostic {
    let message = format!("`{field}` of a Secret must be {expected}, not {}", node.type_name());
    Diagnostic::error(Code::WrongType, message)
        .at(node.span())
        .resource(old.id())
        .field(field)
        .help("fix it, so that a generator with `behavior: merge` can merge with this Secret")
}

/// Sets a data field to the union of the old and new entries, sorted by key. New values take precedence. All values
/// become strings.
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
