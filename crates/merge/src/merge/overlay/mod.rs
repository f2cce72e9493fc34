//! Merges a patch by all directives of the schema: list types, map types and patch strategies. Existing entries keep
//! their order, and new ones are appended.

mod secret;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashSet;

use super::association::{Association, ListPolicy, is_atomic, replaced_unknown_list};
use super::directive::{
    Action, DELETE_FROM_PRIMITIVE_LIST, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER, action,
    check_patch_merge_keys, dropped_entries, has_patch_merge_key, is_directive, is_replace, list_directives,
    target_list, without_directives,
};
use super::element_order::OrderKeys;
use super::entry_match::ListKeys;
use super::fields::{self, MergedField};
use super::identity::{Identity, KeyValue};
use super::keyed_list::KeyedList;
use super::merged::Merged;
use super::rules::PatchRules;
use super::trail::Trail;
use crate::schema::{Cursor, PatchStrategy, TypeKind};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Entry, List, Map, Node, Value};

/// Applies a patch to an object of a kind.
///
/// # Errors
/// Malformed directives, entries without their keys, and values of another type than in the schema.
pub(super) fn apply(mut dest: Node, patch: &Node, kind: Cursor<'_>) -> Result<Merged> {
    let root = Trail::root();
    let (into, from) = fields::target_and_patch(&mut dest, patch)?;
    check_patch_merge_keys(patch, &root)?;
    let mut overlay = Overlay { warnings: Vec::new() };
    let strategy = match action(from, &root)? {
        Some(Action::Delete) => return Ok(Merged::from_node(None)),
        Some(Action::Replace) => {
            *into = Map::new();
            PatchStrategy::default()
        }
        Some(Action::Merge) | None => kind.patch_strategy(),
    };
    overlay.merge_map(into, from, kind, strategy, &root)?;
    secret::remove_overridden(into, from);
    Ok(Merged { warnings: overlay.warnings, ..Merged::from_node(Some(dest)) })
}

/// The state of a merge.
struct Overlay {
    warnings: Vec<Diagnostic>,
}

impl Overlay {
    /// Merges the fields of a map. `strategy` is the patch strategy of the field or list that contains the map.
    fn merge_map(
        &mut self,
        dest: &mut Map,
        patch: &Map,
        cursor: Cursor<'_>,
        strategy: PatchStrategy,
        at: &Trail<'_>,
    ) -> Result<()> {
        if patch.contains_key(RETAIN_KEYS) {
            fields::retain_keys(dest, patch, at)?;
        } else if strategy.retain_keys {
            retain_named(dest, patch);
        }
        delete_from_lists(dest, patch, at)?;
        fields::merge(dest, fields::non_directives(patch), |live, entry| {
            let (here, field) = (at.field(&entry.key.text), cursor.field(&entry.key.text));
            let Some(live) = live else {
                return Ok(MergedField::from_option(self.added(&entry.value, field, &here)?));
            };
            check_type(live, &entry.value, field, &here)?;
            self.merge_value(live, &entry.value, field, &here)
        })?;
        apply_element_order(dest, patch, cursor, at)
    }

    /// Merges a field that both the object and the patch have.
    fn merge_value(
        &mut self,
        live: &mut Node,
        patch: &Node,
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<MergedField> {
        match (&mut live.value, &patch.value) {
            (_, Value::Scalar(_)) if patch.is_null() => Ok(MergedField::Removed),
            (_, Value::Scalar(_)) => Ok(MergedField::Value(patch.clone())),
            (Value::Map(map), Value::Map(changes)) => match action(changes, at)? {
                Some(Action::Delete) => Ok(MergedField::Removed),
                Some(Action::Merge) | None if !is_atomic(cursor) => {
                    self.merge_map(map, changes, cursor, cursor.patch_strategy(), at)?;
                    Ok(MergedField::InPlace)
                }
                _ => Ok(MergedField::Value(self.created(patch, cursor, at)?)),
            },
            (Value::List(list), Value::List(_)) => {
                *list = self.merge_list(std::mem::take(list), patch, cursor, at)?;
                Ok(MergedField::InPlace)
            }
            _ => Ok(MergedField::from_option(self.added(patch, cursor, at)?)),
        }
    }

    /// Returns the value of a new field, or `None` if the patch only removes values.
    fn added(&mut self, patch: &Node, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<Option<Node>> {
        if patch.is_null()
            || patch.as_map().map(|map| action(map, at)).transpose()?.flatten() == Some(Action::Delete)
        {
            return Ok(None);
        }
        let value = self.created(patch, cursor, at)?;
        let emptied = match (&patch.value, &value.value) {
            (Value::Map(from), Value::Map(to)) => to.is_empty() && !from.is_empty(),
            (Value::List(from), Value::List(to)) => to.is_empty() && !from.is_empty(),
            _ => false,
        };
        Ok((!emptied).then_some(value))
    }

    /// Returns the value that the patch creates if the object has none.
    fn created(&mut self, patch: &Node, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<Node> {
        let value = match &patch.value {
            Value::Scalar(_) => return Ok(patch.clone()),
            Value::Map(map) => {
                let mut out = Map::new();
                self.merge_map(&mut out, map, cursor, PatchStrategy::default(), at)?;
                Value::Map(out)
            }
            Value::List(_) => Value::List(self.merge_list(List::new(), patch, cursor, at)?),
        };
        Ok(Node { value, meta: patch.meta.clone() })
    }

    fn merge_list(&mut self, live: List, patch: &Node, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<List> {
        let entries = patch.as_list().map(Vec::as_slice).unwrap_or_default();
        if entries.iter().any(is_replace) {
            self.warnings.extend(dropped_entries(entries, at));
            check_new(entries, cursor, at)?;
            return self.replacement(entries.iter().filter(|entry| action_of(entry).is_none()), cursor, at);
        }
        let association = Association::of_list(cursor, ListPolicy::Overlay);
        let is_keyed =
            matches!(association, Association::Keyed { .. }) || entries.iter().any(has_patch_merge_key);
        if !is_keyed {
            return self.merge_values(live, patch, &association, cursor, at);
        }
        let element = cursor.element();
        let keys = ListKeys::new(association, cursor, element, PatchRules::Overlay);
        let mut list = KeyedList::new(live, entries, &keys, at)?;
        list.merge(entries, at, |live, entry, at| {
            let Some(mut live) = live.filter(|_| !is_atomic(element)) else {
                return self.created(entry, element, at);
            };
            if let (Some(map), Some(changes)) = (live.as_map_mut(), entry.as_map()) {
                self.merge_map(map, changes, element, cursor.patch_strategy(), at)?;
            }
            Ok(live)
        })?;
        Ok(list.into_entries())
    }

    /// Merges a list without keys. For a set, the result is the union of both lists. Otherwise it is the list of the
    /// patch.
    fn merge_values(
        &mut self,
        live: List,
        patch: &Node,
        association: &Association,
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<List> {
        let entries = patch.as_list().map(Vec::as_slice).unwrap_or_default();
        if let Some((position, entry)) = entries.iter().enumerate().find(|(_, e)| action_of(e).is_some()) {
            let message =
                "`$patch` is not allowed in an entry of this list, because the list has no merge key";
            let help = "name the merge keys with `$patchMergeKey`, provide a schema, or write the whole list after \
                        an entry `$patch: replace`";
            return Err(at.index(position).error(Code::Directive, message).at(entry.span()).help(help));
        }
        if *association == Association::Set {
            return union(live, entries);
        }
        let replaced = self.replacement(entries.iter(), cursor, at)?;
        if *association == Association::Unknown {
            self.warnings.extend(replaced_unknown_list(&live, &replaced, patch.span(), at));
        }
        Ok(replaced)
    }

    fn replacement<'p>(
        &mut self,
        entries: impl Iterator<Item = &'p Node>,
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<List> {
        let element = cursor.element();
        entries.enumerate().map(|(i, entry)| self.created(entry, element, &at.index(i))).collect()
    }
}

/// Checks that the entries of a new list have their required keys.
///
/// # Errors
/// An entry lacks a key.
fn check_new(entries: &[Node], cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    let association = Association::of_list(cursor, ListPolicy::Overlay);
    if !matches!(association, Association::Keyed { .. }) {
        return Ok(());
    }
    let keys = ListKeys::new(association, cursor, cursor.element(), PatchRules::Overlay);
    let is_new = |(_, entry): &(usize, &Node)| action_of(entry).is_none();
    let check = |(i, entry): (usize, &Node)| keys.entry_match(entry, &at.index(i)).map(drop);
    entries.iter().enumerate().filter(is_new).try_for_each(check)
}

/// Returns the union of two lists without duplicates. Duplicates of the live list are also removed.
fn union(live: List, patch: &[Node]) -> Result<List> {
    let mut seen = FxHashSet::default();
    let mut union = List::with_capacity(live.len() + patch.len());
    for entry in live {
        if seen.insert(Identity::from_value(&entry)?) {
            union.push(entry);
        }
    }
    for entry in patch {
        if seen.insert(Identity::from_value(entry)?) {
            union.push(without_directives(entry));
        }
    }
    Ok(union)
}

fn action_of(entry: &Node) -> Option<&str> {
    entry.get(PATCH).map(|action| action.as_str().unwrap_or_default())
}

/// Checks that the patch does not replace a map or list of the schema by a value of another type.
fn check_type(live: &Node, patch: &Node, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    let fits = |node: &Node| match cursor.type_kind() {
        TypeKind::Object => node.as_map().is_some(),
        TypeKind::Array => node.as_list().is_some(),
        _ => false,
    };
    if !fits(live) || fits(patch) || patch.is_null() || cursor.preserves_unknown_fields() {
        return Ok(());
    }
    let message =
        format!("the field is {} in the base and {} in the patch", live.type_name(), patch.type_name());
    Err(at.error(Code::WrongType, message).at(patch.span()).label(live.span(), "the value in the base").help(
        format!(
            "the schema declares {}; to change the type, set the field to null first",
            cursor.kind_name()
        ),
    ))
}

/// Applies `retainKeys` as kubectl does: removes fields that the patch does not have.
fn retain_named(dest: &mut Map, patch: &Map) {
    let set = patch.entries().iter().filter(|entry| !entry.value.is_null()).map(|entry| &entry.key.text);
    let named =
        set.filter_map(|name| if is_directive(name) { target_list(name) } else { Some(name.as_str()) });
    let named: FxHashSet<&str> = named.collect();
    if !named.is_empty() {
        dest.entries_mut().retain(|entry| named.contains(entry.key.text.as_str()));
    }
}

/// Applies `$deleteFromPrimitiveList/field`.
fn delete_from_lists(dest: &mut Map, patch: &Map, at: &Trail<'_>) -> Result<()> {
    for (field, entry) in list_directives(patch, DELETE_FROM_PRIMITIVE_LIST, at)? {
        let list = directive_list(entry, &at.field(field))?;
        if let Some(live) = dest.get_mut(field).and_then(Node::as_list_mut) {
            let gone: FxHashSet<KeyValue> = list.iter().filter_map(KeyValue::from_node).collect();
            live.retain(|entry| !KeyValue::from_node(entry).is_some_and(|value| gone.contains(&value)));
        }
    }
    Ok(())
}

/// Applies `$setElementOrder/field`.
fn apply_element_order(dest: &mut Map, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    for (field, entry) in list_directives(patch, SET_ELEMENT_ORDER, at)? {
        let here = at.field(field);
        let order = directive_list(entry, &here)?;
        if let Some(live) = dest.get_mut(field).and_then(Node::as_list_mut) {
            let positions: Vec<Option<usize>> = (0..live.len()).map(Some).collect();
            let keys = OrderKeys::for_overlay(cursor.field(field), order, &here)?;
            *live = keys.reorder(std::mem::take(live), &positions, order, &here)?;
        }
    }
    Ok(())
}

fn directive_list<'p>(entry: &'p Entry, at: &Trail<'_>) -> Result<&'p [Node]> {
    entry.value.as_list().map(Vec::as_slice).ok_or_else(|| {
        let message = format!("`{}` must be a list and is {}", entry.key.text, entry.value.type_name());
        at.error(Code::Directive, message).at(entry.value.span())
    })
}
