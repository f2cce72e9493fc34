//! Applies a patch by everything that the schema says: list types and map types as well as patch
//! strategies. Existing order is kept, new entries go to the end.

use rustc_hash::FxHashSet;

use super::adopt::put;
use super::element_order::OrderKeys;
use super::entries::merge_entries;
use super::search::ListRules;
use super::server::{malformed, remove_all, retain_keys};
use super::{Dialect, Outcome};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::Trail;
use crate::merge::align::{Identity, KeyValue};
use crate::merge::association::{Association, patch_merge_keys, recommended_keys, replaced_unknown};
use crate::merge::directive::{
    Action, DELETE_FROM_PRIMITIVE_LIST, PATCH, PATCH_MERGE_KEY, PatchField, RETAIN_KEYS, SET_ELEMENT_ORDER,
    action, without_directives,
};
use crate::schema::{Cursor, MapType, TypeKind};
use crate::yaml::{Entry, Map, Node, Value};

/// A merge and what it has to say.
pub(super) struct Overlay<'n> {
    pub(super) notes: &'n mut Vec<Diagnostic>,
}

impl Overlay<'_> {
    /// Applies a patch to a whole object.
    pub(super) fn apply(
        &mut self,
        dest: &mut Map,
        patch: &Map,
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<Outcome> {
        let action = action(patch, at)?;
        if matches!(action, Some(Action::Delete | Action::Replace)) {
            *dest = Map::new();
        }
        match action {
            Some(Action::Delete) => return Ok(Outcome::Deleted),
            Some(Action::Replace) => self.merge_map(dest, patch, cursor, false, at)?,
            Some(Action::Merge) | None => {
                self.merge_map(dest, patch, cursor, cursor.patch_strategy().retain_keys, at)?;
            }
        }
        Ok(if action == Some(Action::Replace) { Outcome::Replaced } else { Outcome::Merged })
    }

    /// Merges the fields of a map. `retain` says that fields which the patch does not name go.
    fn merge_map(
        &mut self,
        dest: &mut Map,
        patch: &Map,
        cursor: Cursor<'_>,
        retain: bool,
        at: &Trail<'_>,
    ) -> Result<()> {
        if patch.contains_key(RETAIN_KEYS) {
            retain_keys(dest, patch, at)?;
        } else if retain {
            retain_named(dest, patch);
        }
        delete_from_lists(dest, patch, at)?;
        self.merge_fields(dest, patch, cursor, at)?;
        put_in_order(dest, patch, at)
    }

    fn merge_fields(
        &mut self,
        dest: &mut Map,
        patch: &Map,
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<()> {
        let plain = |entry: &&Entry| PatchField::of(&entry.key.text) == PatchField::Plain;
        let index = dest.index();
        let fields: Vec<(&Entry, Option<usize>)> = patch
            .entries()
            .iter()
            .filter(plain)
            .map(|entry| (entry, index.position(&entry.key.text)))
            .collect();
        let mut gone = Vec::new();
        for (entry, position) in fields {
            let (name, value) = (entry.key.text.as_str(), &entry.value);
            let here = at.field(name);
            let field = cursor.field(name);
            if let Some(position) = position {
                let live = &mut dest.entries_mut()[position].value;
                check_type(live, value, field, &here)?;
                if !self.merge_value(live, value, field, &here)? {
                    gone.push(position);
                }
            } else if let Some(value) = self.add(value, field, &here)? {
                dest.push(entry.key.clone(), value);
            }
        }
        remove_all(dest, gone);
        Ok(())
    }

    /// Merges a field that both sides have; false when that removes it.
    fn merge_value(
        &mut self,
        live: &mut Node,
        patch: &Node,
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<bool> {
        match (&mut live.value, &patch.value) {
            (_, Value::Scalar(_)) if patch.is_null() => return Ok(false),
            (_, Value::Scalar(_)) => put(live, patch.clone()),
            (Value::Map(map), Value::Map(changes)) => match action(changes, at)? {
                Some(Action::Delete) => return Ok(false),
                Some(Action::Merge) | None if !is_atomic(cursor) => {
                    self.merge_map(map, changes, cursor, cursor.patch_strategy().retain_keys, at)?;
                }
                _ => put(live, self.fresh(patch, cursor, at)?),
            },
            (Value::List(list), Value::List(_)) => {
                *list = self.merge_list(std::mem::take(list), patch, cursor, at)?;
            }
            _ => match self.add(patch, cursor, at)? {
                Some(value) => put(live, value),
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    /// The value of a field that is not there; none when the patch only takes away.
    fn add(&mut self, patch: &Node, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<Option<Node>> {
        if patch.is_null()
            || patch.as_map().map(|map| action(map, at)).transpose()?.flatten() == Some(Action::Delete)
        {
            return Ok(None);
        }
        let value = self.fresh(patch, cursor, at)?;
        let emptied = match (&patch.value, &value.value) {
            (Value::Map(from), Value::Map(to)) => to.is_empty() && !from.is_empty(),
            (Value::List(from), Value::List(to)) => to.is_empty() && !from.is_empty(),
            _ => false,
        };
        Ok((!emptied).then_some(value))
    }

    /// What the patch makes of nothing.
    fn fresh(&mut self, patch: &Node, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<Node> {
        let value = match &patch.value {
            Value::Scalar(_) => return Ok(patch.clone()),
            Value::Map(map) => {
                let mut out = Map::new();
                self.merge_map(&mut out, map, cursor, false, at)?;
                Value::Map(out)
            }
            Value::List(_) => Value::List(self.merge_list(Vec::new(), patch, cursor, at)?),
        };
        Ok(Node { value, meta: patch.meta.clone() })
    }

    fn merge_list(
        &mut self,
        live: Vec<Node>,
        patch: &Node,
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<Vec<Node>> {
        let entries = patch.as_list().map(Vec::as_slice).unwrap_or_default();
        if entries.iter().any(|entry| action_of(entry) == Some("replace")) {
            return self.replace_list(entries.iter().filter(|entry| action_of(entry).is_none()), cursor, at);
        }
        let keys = match Association::overlay(cursor) {
            Association::Keyed(keys) => Some(keys),
            _ if entries.iter().any(|entry| entry.get(PATCH_MERGE_KEY).is_some()) => None,
            association => return self.merge_values(live, patch, &association, cursor, at),
        };
        let rules = ListRules {
            dialect: Dialect::Overlay,
            keys,
            default_keys: patch_merge_keys(cursor),
            recommended: recommended_keys(cursor),
        };
        let (element, retain) = (cursor.element(), cursor.patch_strategy().retain_keys);
        let merged = merge_entries(live, entries, &rules, at, |live, entry, at| {
            let Some(mut live) = live.filter(|_| !is_atomic(element)) else {
                return self.fresh(entry, element, at);
            };
            if let (Some(map), Some(changes)) = (live.as_map_mut(), entry.as_map()) {
                self.merge_map(map, changes, element, retain, at)?;
            }
            Ok(live)
        })?;
        Ok(merged.nodes)
    }

    /// A list without keys: the union of a set, or the patch's own list.
    fn merge_values(
        &mut self,
        mut live: Vec<Node>,
        patch: &Node,
        association: &Association<'_>,
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<Vec<Node>> {
        let entries = patch.as_list().map(Vec::as_slice).unwrap_or_default();
        if let Some((position, entry)) = entries.iter().enumerate().find(|(_, e)| action_of(e).is_some()) {
            let message = "the entries of this list have no merge key, so `$patch` cannot stand in one";
            let help = "tell them apart by `$patchMergeKey`, give a schema, or write out the whole list behind \
                        an entry `$patch: replace`";
            return Err(at.index(position).error(Code::Directive, message).at(entry.span()).help(help));
        }
        if matches!(association, Association::Set) {
            let mut seen = live.iter().map(Identity::of_value).collect::<Result<FxHashSet<_>>>()?;
            for entry in entries {
                if seen.insert(Identity::of_value(entry)?) {
                    live.push(without_directives(entry));
                }
            }
            return Ok(live);
        }
        let replaced = self.replace_list(entries.iter(), cursor, at)?;
        if matches!(association, Association::Unknown) {
            self.notes.extend(replaced_unknown(&live, &replaced, patch.span(), at));
        }
        Ok(replaced)
    }

    fn replace_list<'p>(
        &mut self,
        entries: impl Iterator<Item = &'p Node>,
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<Vec<Node>> {
        let element = cursor.element();
        entries.enumerate().map(|(position, entry)| self.fresh(entry, element, &at.index(position))).collect()
    }
}

fn action_of(entry: &Node) -> Option<&str> {
    entry.get(PATCH).map(|action| action.as_str().unwrap_or_default())
}

/// Whether a map is one value.
pub(super) fn is_atomic(cursor: Cursor<'_>) -> bool {
    cursor.map_type() == Some(MapType::Atomic) || cursor.patch_strategy().replace
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
    let named: FxHashSet<&str> = patch
        .entries()
        .iter()
        .filter(|entry| !entry.value.is_null())
        .filter_map(|entry| match PatchField::of(&entry.key.text) {
            PatchField::Plain => Some(entry.key.text.as_str()),
            PatchField::SetElementOrder(field) | PatchField::DeleteFromPrimitiveList(field) => Some(field),
            _ => None,
        })
        .collect();
    if !named.is_empty() {
        dest.entries_mut().retain(|entry| named.contains(entry.key.text.as_str()));
    }
}

/// `$deleteFromPrimitiveList/field`
fn delete_from_lists(dest: &mut Map, patch: &Map, at: &Trail<'_>) -> Result<()> {
    for entry in patch.entries() {
        let field = match PatchField::of(&entry.key.text) {
            PatchField::DeleteFromPrimitiveList(field) => field,
            PatchField::Malformed if entry.key.text.starts_with(DELETE_FROM_PRIMITIVE_LIST) => {
                return Err(malformed(entry, DELETE_FROM_PRIMITIVE_LIST, at));
            }
            _ => continue,
        };
        let list = directive_list(entry, &at.field(field))?;
        if let Some(live) = dest.get_mut(field).and_then(Node::as_list_mut) {
            let gone: FxHashSet<KeyValue> = list.iter().filter_map(KeyValue::of).collect();
            live.retain(|entry| !KeyValue::of(entry).is_some_and(|value| gone.contains(&value)));
        }
    }
    Ok(())
}

/// `$setElementOrder/field`
fn put_in_order(dest: &mut Map, patch: &Map, at: &Trail<'_>) -> Result<()> {
    for entry in patch.entries() {
        let field = match PatchField::of(&entry.key.text) {
            PatchField::SetElementOrder(field) => field,
            PatchField::Malformed => return Err(malformed(entry, SET_ELEMENT_ORDER, at)),
            _ => continue,
        };
        let here = at.field(field);
        let order = directive_list(entry, &here)?;
        if let Some(live) = dest.get_mut(field).and_then(Node::as_list_mut) {
            let mut seen = FxHashSet::default();
            let fields = order.iter().filter_map(Node::as_map).flat_map(Map::iter);
            let mentioned = fields.map(|(name, _)| name).filter(|name| seen.insert(*name)).collect();
            let places: Vec<Option<usize>> = (0..live.len()).map(Some).collect();
            let keys = OrderKeys::with(Vec::new(), mentioned, order);
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
