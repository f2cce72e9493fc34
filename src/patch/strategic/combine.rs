//! Joins two patches into one that does what both do (apimachinery 0.36, `mergeMap` on the client).
//!
//! The first patch has the deletions, the second one the changes.

use super::adopt::{Into, added};
use super::element_order::{self, Taking};
use super::entries::{Merged, merge_entries, not_a_map};
use super::server::{
    Kind, declared, element, entry_kind, is_list, merge_scalars, remove_all, rules, strategy,
};
use crate::diagnostic::{Code, Result};
use crate::merge::Trail;
use crate::merge::directive::{Action, PATCH, PatchField, RETAIN_KEYS, SET_ELEMENT_ORDER, action};
use crate::schema::Cursor;
use crate::yaml::{Entry, Map, Node, Value};

const TO_PATCH: Taking =
    Taking { merge: combine_lists, add: |node| added(node, Into::Patch), replace: Clone::clone };

/// Joins `second` into `first`.
pub(in crate::patch) fn combine(
    first: &mut Map,
    second: &Map,
    cursor: Cursor<'_>,
    at: &Trail<'_>,
) -> Result<()> {
    match action(second, at)? {
        None => {}
        Some(Action::Replace) => {
            *first = second.clone();
            first.remove(PATCH);
            return Ok(());
        }
        Some(Action::Delete) => {
            *first = Map::new();
            return Ok(());
        }
        Some(Action::Merge) => return Err(at.error(Code::Directive, "`$patch: merge` cannot stand in a map")),
    }
    let shared = |entry: &&Entry| {
        let name = entry.key.text.as_str();
        name == RETAIN_KEYS || name.starts_with(SET_ELEMENT_ORDER)
    };
    for entry in second.entries().iter().filter(shared) {
        match first.get(&entry.key.text) {
            Some(other) if *other != entry.value => {
                let message = format!("the two halves of the patch differ in `{}`", entry.key.text);
                return Err(at.error(Code::Directive, message));
            }
            Some(_) => {}
            None => first.push(entry.key.clone(), entry.value.clone()),
        }
    }
    let done = element_order::apply(first, second, cursor, &TO_PATCH, at)?;
    combine_fields(first, second, cursor, &done, at)
}

fn combine_fields(
    first: &mut Map,
    second: &Map,
    cursor: Cursor<'_>,
    done: &[&str],
    at: &Trail<'_>,
) -> Result<()> {
    let open = |entry: &&Entry| {
        let name = entry.key.text.as_str();
        let plain =
            matches!(PatchField::of(name), PatchField::Plain | PatchField::DeleteFromPrimitiveList(_));
        plain && !done.contains(&name)
    };
    let index = first.index();
    let fields: Vec<(&Entry, Option<usize>)> =
        second.entries().iter().filter(open).map(|entry| (entry, index.position(&entry.key.text))).collect();
    let mut gone = Vec::new();
    for (entry, position) in fields {
        let Some(position) = position else {
            if let Some(value) = added(&entry.value, Into::Patch) {
                first.push(entry.key.clone(), value);
            }
            continue;
        };
        let into = &mut first.entries_mut()[position].value;
        if PatchField::of(&entry.key.text).is_directive() {
            *into = entry.value.clone();
        } else if !combine_values(into, entry, cursor, &at.field(&entry.key.text))? {
            gone.push(position);
        }
    }
    remove_all(first, gone);
    Ok(())
}

/// Joins a field that both patches have; false when that removes it.
fn combine_values(first: &mut Node, second: &Entry, parent: Cursor<'_>, at: &Trail<'_>) -> Result<bool> {
    let name = second.key.text.as_str();
    match (&mut first.value, &second.value.value) {
        (Value::Map(map), Value::Map(patch)) => {
            let cursor = declared(parent, name, &second.value, at)?;
            if strategy(cursor, at)?.replace {
                *first = second.value.clone();
            } else {
                combine(map, patch, cursor, at)?;
            }
        }
        (Value::List(list), Value::List(patch)) => {
            let cursor = declared(parent, name, &second.value, at)?;
            is_list(cursor, &second.value, at)?;
            if strategy(cursor, at)?.merge {
                *list = combine_lists(std::mem::take(list), patch, cursor, at)?.in_order();
            } else {
                *first = second.value.clone();
            }
        }
        _ => match added(&second.value, Into::Patch) {
            Some(value) => *first = value,
            None => return Ok(false),
        },
    }
    Ok(true)
}

fn combine_lists(first: Vec<Node>, second: &[Node], cursor: Cursor<'_>, at: &Trail<'_>) -> Result<Merged> {
    let kind = entry_kind([&first, second], at)?;
    let Some(rules) = rules(cursor) else {
        if kind == Some(Kind::Map) {
            let message = "the schema has no merge key for this list, so maps in it cannot be merged";
            return Err(at.error(Code::MissingMergeKey, message));
        }
        return Ok(merge_scalars(first, second));
    };
    if let Some(entry) = first.iter().chain(second).find(|entry| entry.as_map().is_none()) {
        return Err(not_a_map(entry, at));
    }
    let element = element(cursor);
    merge_entries(first, second, &rules, at, |first, second, at| {
        let Some(mut first) = first else { return Ok(second.clone()) };
        if let (Some(map), Some(patch)) = (first.as_map_mut(), second.as_map()) {
            combine(map, patch, element, at)?;
        }
        Ok(first)
    })
}
