//! Merges a patch by everything that the schema says: list types and map types as well as patch
//! strategies. Existing order is kept, new entries go to the end.

mod secret;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashSet;

use super::association::{Association, ListPolicy, is_atomic, replaced_unknown};
use super::directive::{
    Action, DELETE_FROM_PRIMITIVE_LIST, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER, about_lists, action,
    check_named_keys, is_directive, is_replace, left_out, list_of, names_keys, without_directives,
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
/// Malformed directives, entries without their keys, values of another type than the schema's.
pub(super) fn apply(mut dest: Node, patch: &Node, kind: Cursor<'_>) -> Result<Merged> {
    let root = Trail::root();
    let (into, from) = fields::maps(&mut dest, patch)?;
    check_named_keys(patch, &root)?;
    let mut overlay = Overlay { warnings: Vec::new() };
    let strategy = match action(from, &root)? {
        Some(Action::Delete) => return Ok(Merged::of(None)),
        Some(Action::Replace) => {
            *into = Map::new();
            PatchStrategy::default()
        }
        Some(Action::Merge) | None => kind.patch_strategy(),
    };
    overlay.merge_map(into, from, kind, strategy, &root)?;
    secret::settle(into, from);
    Ok(Merged { warnings: overlay.warnings, ..Merged::of(Some(dest)) })
}

/// A merge and what it has to say.
struct Overlay {
    warnings: Vec<Diagnostic>,
}

impl Overlay {
    /// Merges the fields of a map, by the patch strategy of the field or list that it stands in.
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
        fields::merge(dest, fields::plain(patch), |live, entry| {
            let (here, field) = (at.field(&entry.key.text), cursor.field(&entry.key.text));
            let Some(live) = live else {
                return Ok(MergedField::of(self.added(&entry.value, field, &here)?));
            };
            check_type(live, &entry.value, field, &here)?;
            self.merge_value(live, &entry.value, field, &here)
        })?;
        put_in_order(dest, patch, cursor, at)
    }

    /// Merges a field that both sides have.
    fn merge_value(
        &mut self,
        live: &mut Node,
        patch: &Node,
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<MergedField> {
        match (&mut live.value, &patch.value) {
            (_, Value::Scalar(_)) if patch.is_null() => Ok(MergedField::Gone),
            (_, Value::Scalar(_)) => Ok(MergedField::Value(patch.clone())),
            (Value::Map(map), Value::Map(changes)) => match action(changes, at)? {
                Some(Action::Delete) => Ok(MergedField::Gone),
                Some(Action::Merge) | None if !is_atomic(cursor) => {
                    self.merge_map(map, changes, cursor, cursor.patch_strategy(), at)?;
                    Ok(MergedField::Done)
                }
                _ => Ok(MergedField::Value(self.made_of(patch, cursor, at)?)),
            },
            (Value::List(list), Value::List(_)) => {
                *list = self.merge_list(std::mem::take(list), patch, cursor, at)?;
                Ok(MergedField::Done)
            }
            _ => Ok(MergedField::of(self.added(patch, cursor, at)?)),
        }
    }

    /// The value of a field that is not there; none when the patch only takes away.
    fn added(&mut self, patch: &Node, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<Option<Node>> {
        if patch.is_null()
            || patch.as_map().map(|map| action(map, at)).transpose()?.flatten() == Some(Action::Delete)
        {
            return Ok(None);
        }
        let value = self.made_of(patch, cursor, at)?;
        let emptied = match (&patch.value, &value.value) {
            (Value::Map(from), Value::Map(to)) => to.is_empty() && !from.is_empty(),
            (Value::List(from), Value::List(to)) => to.is_empty() && !from.is_empty(),
            _ => false,
        };
        Ok((!emptied).then_some(value))
    }

    /// What the patch makes of nothing.
    fn made_of(&mut self, patch: &Node, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<Node> {
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
            self.warnings.extend(left_out(entries, at));
            check_new(entries, cursor, at)?;
            return self.replacement(entries.iter().filter(|entry| action_of(entry).is_none()), cursor, at);
        }
        let association = Association::of(cursor, ListPolicy::Overlay);
        let is_keyed = matches!(association, Association::Keyed { .. }) || entries.iter().any(names_keys);
        if !is_keyed {
            return self.merge_values(live, patch, &association, cursor, at);
        }
        let element = cursor.element();
        let keys = ListKeys::new(association, cursor, element, PatchRules::Overlay);
        let mut list = KeyedList::new(live, entries, &keys, at)?;
        list.merge(entries, at, |live, entry, at| {
            let Some(mut live) = live.filter(|_| !is_atomic(element)) else {
                return self.made_of(entry, element, at);
            };
            if let (Some(map), Some(changes)) = (live.as_map_mut(), entry.as_map()) {
                self.merge_map(map, changes, element, cursor.patch_strategy(), at)?;
            }
            Ok(live)
        })?;
        Ok(list.into_entries())
    }

    /// A list without keys: the union of a set, or the patch's own list.
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
            let message = "the entries of this list have no merge key, so `$patch` cannot stand in one";
            let help = "tell them apart by `$patchMergeKey`, give a schema, or write out the whole list behind \
                        an entry `$patch: replace`";
            return Err(at.index(position).error(Code::Directive, message).at(entry.span()).help(help));
        }
        if *association == Association::Set {
            return union(live, entries);
        }
        let replaced = self.replacement(entries.iter(), cursor, at)?;
        if *association == Association::Unknown {
            self.warnings.extend(replaced_unknown(&live, &replaced, patch.span(), at));
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
        entries.enumerate().map(|(i, entry)| self.made_of(entry, element, &at.index(i))).collect()
    }
}

/// Whether the entries of a new list have the keys that each one needs.
///
/// # Errors
/// One that lacks some.
fn check_new(entries: &[Node], cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    let association = Association::of(cursor, ListPolicy::Overlay);
    if !matches!(association, Association::Keyed { .. }) {
        return Ok(());
    }
    let keys = ListKeys::new(association, cursor, cursor.element(), PatchRules::Overlay);
    let is_new = |(_, entry): &(usize, &Node)| action_of(entry).is_none();
    let check = |(i, entry): (usize, &Node)| keys.entry_match(entry, &at.index(i)).map(drop);
    entries.iter().enumerate().filter(is_new).try_for_each(check)
}

/// The union of two lists, without doubles: those that the live one had go, too.
fn union(live: List, patch: &[Node]) -> Result<List> {
    let mut seen = FxHashSet::default();
    let mut union = List::with_capacity(live.len() + patch.len());
    for entry in live {
        if seen.insert(Identity::of_value(&entry)?) {
            union.push(entry);
        }
    }
    for entry in patch {
        if seen.insert(Identity::of_value(entry)?) {
            union.push(without_directives(entry));
        }
    }
    Ok(union)
}

fn action_of(entry: &Node) -> Option<&str> {
    entry.get(PATCH).map(|action| action.as_str().unwrap_or_default())
}

/// What the schema has as a map or a list, and is one, does not become something else by mistake.
fn check_type(live: &Node, patch: &Node, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    let fits = |node: &Node| match cursor.type_kind() {
        TypeKind::Object => node.as_map().is_some(),
        TypeKind::Array => node.as_list().is_some(),
        _ => false,
    };
    if !fits(live) || fits(patch) || patch.is_null() || cursor.preserves_unknown_fields() {
        return Ok(());
    }
    let message = format!("this is {} in the base, and {} here", live.type_name(), patch.type_name());
    Err(at.error(Code::WrongType, message).at(patch.span()).label(live.span(), "the base").help(format!(
        "the schema has {} here; to replace the field on purpose, remove it with null first",
        cursor.kind_name()
    )))
}

/// `retainKeys` as kubectl does it: the fields of the patch stay, the others go.
fn retain_named(dest: &mut Map, patch: &Map) {
    let set = patch.entries().iter().filter(|entry| !entry.value.is_null()).map(|entry| &entry.key.text);
    let named = set.filter_map(|name| if is_directive(name) { list_of(name) } else { Some(name.as_str()) });
    let named: FxHashSet<&str> = named.collect();
    if !named.is_empty() {
        dest.entries_mut().retain(|entry| named.contains(entry.key.text.as_str()));
    }
}

/// `$deleteFromPrimitiveList/field`
fn delete_from_lists(dest: &mut Map, patch: &Map, at: &Trail<'_>) -> Result<()> {
    for (field, entry) in about_lists(patch, DELETE_FROM_PRIMITIVE_LIST, at)? {
        let list = directive_list(entry, &at.field(field))?;
        if let Some(live) = dest.get_mut(field).and_then(Node::as_list_mut) {
            let gone: FxHashSet<KeyValue> = list.iter().filter_map(KeyValue::of).collect();
            live.retain(|entry| !KeyValue::of(entry).is_some_and(|value| gone.contains(&value)));
        }
    }
    Ok(())
}

/// `$setElementOrder/field`
fn put_in_order(dest: &mut Map, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    for (field, entry) in about_lists(patch, SET_ELEMENT_ORDER, at)? {
        let here = at.field(field);
        let order = directive_list(entry, &here)?;
        if let Some(live) = dest.get_mut(field).and_then(Node::as_list_mut) {
            let places: Vec<Option<usize>> = (0..live.len()).map(Some).collect();
            let keys = OrderKeys::of_overlay(cursor.field(field), order, &here)?;
            *live = keys.reorder(std::mem::take(live), &places, order, &here)?;
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
