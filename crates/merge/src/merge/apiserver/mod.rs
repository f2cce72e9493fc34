//! Merges a patch exactly as the API server does (apimachinery 0.36, `StrategicMergeMapPatch`), into an object or into
//! another patch. kubectl merges the two parts of a three-way patch in the same way (`mergeMap`).
//!
//! The API server's result depends on Go's random map order if a patch removes scalars from a list and merges
//! others into the same list. Here the removal always comes first.

mod ineffective;
mod lists;
mod target;
#[cfg(test)]
mod tests;
pub(crate) mod types;

use rustc_hash::FxHashSet;

use self::ineffective::ineffective;
use self::lists::{list_keys, ranked, replacement, union};
use self::target::MergeTarget;
use self::types::{EntryKind, check_known, declared_field, declared_list, element, entry_kind, strategy};
use super::directive::{
    Action, DELETE_FROM_PRIMITIVE_LIST, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER, action,
    check_patch_merge_keys, has_patch_merge_key, is_directive, is_replace, list_directives,
    map_without_directives,
};
use super::element_order::{OrderKeys, RankedList};
use super::fields::{self, MergedField};
use super::identity::KeyValue;
use super::keyed_list::KeyedList;
use super::merged::Merged;
use super::trail::Trail;
use crate::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic, PatchRejection, Result};
use smp_text::yaml::{Entry, List, Map, Node, Value};

/// Applies a patch to an object of a kind.
///
/// # Errors
/// The kind has no schema, or the API server rejects the patch.
pub(super) fn apply(mut dest: Node, patch: &Node, kind: Cursor<'_>) -> Result<Merged> {
    let root = Trail::root();
    let (into, from) = fields::target_and_patch(&mut dest, patch)?;
    check_known(kind, &root)?;
    check_patch_merge_keys(patch, &root).map_err(|error| error.patch_rejection(PatchRejection::Merge))?;
    let warnings = ineffective(into, from, kind);
    let merged = MergeTarget::Object.merge_map(into, from, kind, &root);
    merged.map_err(|error| error.patch_rejection(PatchRejection::Merge))?;
    let deleted = action(from, &root)? == Some(Action::Delete);
    Ok(Merged { warnings, ..Merged::from_node((!deleted).then_some(dest)) })
}

/// Joins two patches for an object of a kind into one patch with the effect of both patches.
///
/// The first patch contains the deletions, the second one the changes.
///
/// # Errors
/// The patches have conflicting directives, or the API server would reject them.
pub(crate) fn join_patches(mut first: Map, second: &Map, kind: Cursor<'_>, at: &Trail<'_>) -> Result<Map> {
    MergeTarget::Patch.merge_map(&mut first, second, kind, at)?;
    Ok(first)
}

impl MergeTarget {
    fn merge_map(self, dest: &mut Map, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
        match (action(patch, at)?, self) {
            (None, _) => {}
            (Some(Action::Delete), _) => {
                *dest = Map::new();
                return Ok(());
            }
            (Some(Action::Replace), Self::Object) => {
                *dest = map_without_directives(patch);
                return Ok(());
            }
            (Some(Action::Replace), Self::Patch) => {
                *dest = patch.clone();
                dest.remove(PATCH);
                return Ok(());
            }
            (Some(Action::Merge), _) => return Err(merge_in_map(patch, at)),
        }
        match self {
            Self::Object => fields::retain_keys(dest, patch, at)?,
            Self::Patch => take_directives(dest, patch, at)?,
        }
        let ordered = list_directives(patch, SET_ELEMENT_ORDER, at)?;
        for (field, directive) in &ordered {
            self.merge_in_order(dest, (patch.entry(field), field), directive, cursor, &at.field(field))?;
        }
        if self == Self::Object {
            delete_from_lists(dest, patch, cursor, at)?;
        }
        let is_open = |entry: &&Entry| {
            let name = entry.key.text.as_str();
            let is_kept = self == Self::Patch && name.starts_with(DELETE_FROM_PRIMITIVE_LIST);
            (is_kept || !is_directive(name)) && ordered.iter().all(|(field, _)| *field != name)
        };
        fields::merge(dest, patch.entries().iter().filter(is_open), |live, entry| {
            let here = at.field(&entry.key.text);
            match live {
                Some(live) => self.merge_value(live, entry, cursor, &here),
                None => self.new_field(entry, cursor, &here),
            }
        })
    }

    /// Returns the value of a field that the object does not have or that has another type in the object.
    fn new_field(self, entry: &Entry, parent: Cursor<'_>, at: &Trail<'_>) -> Result<MergedField> {
        if self == Self::Object {
            check_new(&entry.value, parent.field(&entry.key.text), at)?;
        }
        Ok(MergedField::from_option(self.new_value(&entry.value)))
    }

    /// Merges a field that both the object and the patch have.
    fn merge_value(
        self,
        live: &mut Node,
        entry: &Entry,
        parent: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<MergedField> {
        let (name, patch) = (entry.key.text.as_str(), &entry.value);
        match (&mut live.value, &patch.value) {
            _ if is_directive(name) => {}
            (Value::Map(map), Value::Map(changes)) => {
                let cursor = declared_field(parent, name, patch, at)?;
                if !strategy(cursor, at)?.replace {
                    // A deleted or replaced map keeps its field, with the content that remains.
                    self.merge_map(map, changes, cursor, at)?;
                    return Ok(MergedField::InPlace);
                }
            }
            (Value::List(list), Value::List(changes)) => {
                let cursor = declared_list(parent, name, patch, at)?;
                if strategy(cursor, at)?.merge {
                    *list = self.merge_list(std::mem::take(list), changes, cursor, at)?.into_ordered();
                    return Ok(MergedField::InPlace);
                }
            }
            _ => return self.new_field(entry, parent, at),
        }
        Ok(MergedField::Value(self.replacement(patch)))
    }

    /// Merges two lists with the patch strategy `merge`.
    fn merge_list(
        self,
        live: List,
        patch: &[Node],
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<RankedList> {
        let kind = entry_kind([&live, patch], at)?;
        let keys = list_keys(cursor);
        match (kind, &keys) {
            (Some(EntryKind::Map), None) => {
                let message = "the schema has no merge key for this list, so maps in it cannot be merged";
                Err(at.error(Code::MissingMergeKey, message))
            }
            (_, None) => Ok(union(live, patch)),
            (None, Some(_)) => Ok(RankedList::default()),
            (Some(EntryKind::Map), Some(keys)) if patch.iter().any(is_replace) => {
                replacement(patch, keys, self, at)
            }
            (Some(EntryKind::Map), Some(keys)) => {
                let mut list = KeyedList::new(live, patch, keys, at)?;
                list.merge(patch, at, |live, patch, at| self.merge_entry(live, patch, element(cursor), at))?;
                ranked(list, keys, at)
            }
            (Some(_), Some(keys)) => Err(patch.iter().chain(&live).next().map_or_else(
                || at.error(Code::WrongType, "the entries of this list must be maps"),
                |entry| keys.not_a_map_error(entry, at),
            )),
        }
    }

    fn merge_entry(
        self,
        live: Option<Node>,
        patch: &Node,
        element: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<Node> {
        let Some(mut live) = live else {
            if self == Self::Object {
                check_new(patch, element, at)?;
            }
            // A new entry is added unchanged, including nulls.
            return Ok(self.replacement(patch));
        };
        if let (Some(map), Some(patch)) = (live.as_map_mut(), patch.as_map()) {
            self.merge_map(map, patch, element, at)?;
        }
        Ok(live)
    }

    /// Merges a list that has a `$setElementOrder` in the patch (`mergePatchIntoOriginal`).
    fn merge_in_order(
        self,
        dest: &mut Map,
        (from, field): (Option<&Entry>, &str),
        directive: &Entry,
        parent: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<()> {
        let order = list_of(&directive.value, at)?;
        let patched = from.map(|entry| list_of(&entry.value, at)).transpose()?;
        let live = dest.get(field).map(|node| list_of(node, at)).transpose()?;
        let cursor = declared_list(parent, field, &directive.value, at)?;
        let strategy = strategy(cursor, at)?;
        let entries = patched.map(Vec::as_slice).unwrap_or_default();
        let keys = OrderKeys::for_apiserver(cursor, order, entries);
        keys.check(entries, order, directive, at)?;
        let kind = entry_kind([live.map(Vec::as_slice).unwrap_or_default(), entries], at)?;
        if kind.is_none() && (live.is_some() || patched.is_some()) {
            let message = format!("`{}` orders a list without entries", directive.key.text);
            return Err(at.error(Code::Directive, message).at(directive.value.span()));
        }
        let live = dest.get_mut(field).and_then(Node::as_list_mut).map(std::mem::take);
        let merged = match (live, patched) {
            (None, None) => return Ok(()),
            (Some(live), None) => keys.ranked(live.clone(), &live, at)?,
            (None, Some(_)) => {
                RankedList::from_patch(entries.iter().filter_map(|e| self.new_entry(e)).collect())
            }
            (Some(live), Some(_)) if strategy.merge => self.merge_list(live, entries, cursor, at)?,
            (Some(live), Some(_)) => {
                keys.ranked(entries.iter().map(|entry| self.replacement(entry)).collect(), &live, at)?
            }
        };
        let (nodes, positions) = merged.into_ordered_with_positions();
        set_list(dest, field, from, keys.reorder(nodes, &positions, order, at)?);
        Ok(())
    }
}

/// Checks a new value. The API server adds new lists unchanged, with two exceptions: entries of a list with several
/// merge keys need all of them (no built-in type has such a list), and `$patchMergeKey` is validated as in existing
/// lists.
fn check_new(node: &Node, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    match &node.value {
        Value::Map(map) if cursor.is_known() => {
            let mut fields = fields::non_directives(map);
            fields.try_for_each(|entry| {
                let name = &entry.key.text;
                check_new(&entry.value, cursor.field(name), &at.field(name))
            })
        }
        Value::List(list) if cursor.is_known() => {
            let has_several = cursor.patch_merge_key().is_some_and(|keys| keys.contains(','));
            let is_checked =
                cursor.patch_strategy().merge && (has_several || list.iter().any(has_patch_merge_key));
            let keys = if is_checked { list_keys(cursor) } else { None };
            list.iter().enumerate().try_for_each(|(position, entry)| {
                let here = at.index(position);
                match &keys {
                    Some(keys) if has_patch_merge_key(entry) => drop(keys.entry_match(entry, &here)?),
                    Some(keys) if has_several && entry.get(PATCH).is_none() => {
                        keys.check_keys(entry, &here)?;
                    }
                    _ => {}
                }
                check_new(entry, element(cursor), &here)
            })
        }
        _ => Ok(()),
    }
}

fn merge_in_map(patch: &Map, at: &Trail<'_>) -> Diagnostic {
    let span = patch.get(PATCH).map(Node::span).unwrap_or_default();
    at.error(Code::Directive, "`$patch: merge` is not allowed in a map")
        .at(span)
        .help("remove the directive: maps are merged by default")
}

/// Copies the directives that both parts of a patch may have. Conflicting values are an error.
fn take_directives(first: &mut Map, second: &Map, at: &Trail<'_>) -> Result<()> {
    let is_shared = |entry: &&Entry| {
        let name = entry.key.text.as_str();
        name == RETAIN_KEYS || name.starts_with(SET_ELEMENT_ORDER)
    };
    for entry in second.entries().iter().filter(is_shared) {
        match first.get(&entry.key.text) {
            Some(other) if *other != entry.value => {
                let message =
                    format!("the two halves of the patch have different values for `{}`", entry.key.text);
                return Err(at.error(Code::Directive, message));
            }
            Some(_) => {}
            None => first.push(entry.key.clone(), entry.value.clone()),
        }
    }
    Ok(())
}

/// Applies `$deleteFromPrimitiveList/field`: removes scalars from a list of any patch strategy.
fn delete_from_lists(dest: &mut Map, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    for (field, entry) in list_directives(patch, DELETE_FROM_PRIMITIVE_LIST, at)? {
        if entry.value.is_null() {
            dest.remove(field);
            continue;
        }
        let Some(live) = dest.get_mut(field).and_then(Node::as_list_mut) else { continue };
        let Some(gone) = entry.value.as_list() else { continue };
        let here = at.field(field);
        let list = declared_field(cursor, field, &entry.value, &here)?;
        strategy(list, &here)?;
        match entry_kind([live.as_slice(), gone.as_slice()], &here)? {
            None => {}
            Some(EntryKind::Map) => {
                *live =
                    MergeTarget::Object.merge_list(std::mem::take(live), gone, list, &here)?.into_ordered();
            }
            Some(_) => {
                let gone: FxHashSet<_> = gone.iter().filter_map(KeyValue::from_node).collect();
                live.retain(|entry| !KeyValue::from_node(entry).is_some_and(|value| gone.contains(&value)));
            }
        }
    }
    Ok(())
}

/// Sets the entries of an existing list, or adds the list if the patch contains it.
fn set_list(dest: &mut Map, field: &str, from: Option<&Entry>, nodes: List) {
    if let Some(list) = dest.get_mut(field).and_then(Node::as_list_mut) {
        *list = nodes;
    } else if let Some(entry) = from {
        dest.insert(entry.key.clone(), Node { meta: entry.value.meta.clone(), ..Node::list(nodes) });
    }
}

fn list_of<'n>(node: &'n Node, at: &Trail<'_>) -> Result<&'n List> {
    node.as_list().ok_or_else(|| {
        let message = format!("a field with `$setElementOrder` must be a list and is {}", node.type_name());
        at.error(Code::WrongType, message).at(node.span())
    })
}
