//! Whether two strategic merge patches set the same field to different values (apimachinery 0.36,
//! `MergingMapsHaveConflicts`).
//!
//! There the check sorts lists of scalars within the patch that it checks; here the patch stays as it is.

use rustc_hash::FxHashMap;

use super::strategic::{Kind, declared, element, entry_kind, strategy};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::Trail;
use crate::merge::align::{Identity, KeyValue};
use crate::merge::association::patch_merge_keys;
use crate::merge::directive::{PATCH, RETAIN_KEYS};
use crate::schema::{Cursor, PatchStrategy};
use crate::yaml::{Map, Node, Value};

/// The first conflict between two patches.
///
/// # Errors
/// Lists that cannot be compared: of mixed types, without entries, or without a merge key.
pub(super) fn maps_conflict(
    ours: &Map,
    theirs: &Map,
    cursor: Cursor<'_>,
    at: &Trail<'_>,
) -> Result<Option<Diagnostic>> {
    let index = theirs.index();
    for entry in ours.entries() {
        let name = entry.key.text.as_str();
        let Some(position) = index.position(name).filter(|_| name != PATCH && name != RETAIN_KEYS) else {
            continue;
        };
        let other = &theirs.entries()[position].value;
        let here = at.field(name);
        let field = match entry.value.value {
            Value::Scalar(_) => Cursor::unknown(),
            _ => declared(cursor, name, &entry.value, &here)?,
        };
        let conflict = values_conflict(&entry.value, other, field, strategy(field, &here)?, &here)?;
        if conflict.is_some() {
            return Ok(conflict);
        }
    }
    Ok(None)
}

fn conflict(ours: &Node, theirs: &Node, at: &Trail<'_>) -> Diagnostic {
    at.error(Code::Conflict, "this was changed on both sides since it was applied last")
        .label(ours.span(), "changed here")
        .label(theirs.span(), "and in the cluster")
        .help("overwrite the other change, or take it over into the manifest")
}

fn values_conflict(
    ours: &Node,
    theirs: &Node,
    cursor: Cursor<'_>,
    strategy: PatchStrategy,
    at: &Trail<'_>,
) -> Result<Option<Diagnostic>> {
    match (&ours.value, &theirs.value) {
        (Value::Map(a), Value::Map(b)) => {
            // One deletes or replaces the whole, the other one does something else.
            if a.get(PATCH) != b.get(PATCH) {
                return Ok(Some(conflict(ours, theirs, at)));
            }
            if strategy.replace {
                return Ok(None);
            }
            maps_conflict(a, b, cursor, at)
        }
        (Value::List(a), Value::List(b)) => {
            if lists_conflict(a, b, cursor, strategy, at)? {
                return Ok(Some(conflict(ours, theirs, at)));
            }
            Ok(None)
        }
        (Value::Scalar(_), Value::Scalar(_)) if KeyValue::of(ours) == KeyValue::of(theirs) => Ok(None),
        _ => Ok(Some(conflict(ours, theirs, at))),
    }
}

fn lists_conflict(
    ours: &[Node],
    theirs: &[Node],
    cursor: Cursor<'_>,
    strategy: PatchStrategy,
    at: &Trail<'_>,
) -> Result<bool> {
    let kind = entry_kind([ours, theirs], at)?;
    let Some(kind) = kind else {
        return Err(at.error(Code::Conflict, "this list was emptied on both sides since it was applied last"));
    };
    if strategy.merge {
        return if kind == Kind::Map { entries_conflict(ours, theirs, cursor, at) } else { Ok(false) };
    }
    if ours.len() != theirs.len() {
        return Ok(true);
    }
    if kind != Kind::Map {
        return Ok(scalars(ours) != scalars(theirs));
    }
    for (position, (a, b)) in ours.iter().zip(theirs).enumerate() {
        let here = at.index(position);
        if values_conflict(a, b, element(cursor), PatchStrategy::default(), &here)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Without order and doubles.
fn scalars(list: &[Node]) -> Vec<KeyValue> {
    let mut values: Vec<KeyValue> = list.iter().filter_map(KeyValue::of).collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn entries_conflict(ours: &[Node], theirs: &[Node], cursor: Cursor<'_>, at: &Trail<'_>) -> Result<bool> {
    let keys = patch_merge_keys(cursor);
    let identify = |(position, entry): (usize, &Node)| {
        let values = entry.as_map().and_then(|map| {
            keys.iter().map(|key| KeyValue::of_field(map, key)).collect::<Option<Vec<KeyValue>>>()
        });
        let complete = |values: &Vec<KeyValue>| !values.contains(&KeyValue::Absent) && !values.is_empty();
        values.filter(complete).map(Identity::of_values).ok_or_else(|| {
            let message = format!("this entry lacks its merge key `{}`", keys.join("`, `"));
            at.index(position).error(Code::MissingMergeKey, message).at(entry.span())
        })
    };
    let identified =
        |list: &[Node]| -> Result<Vec<Identity>> { list.iter().enumerate().map(identify).collect() };
    // Of several with one identity the last counts.
    let last = |list| -> Result<FxHashMap<Identity, usize>> {
        Ok(identified(list)?.into_iter().enumerate().map(|(position, name)| (name, position)).collect())
    };
    let (our_entries, their_entries) = (last(ours)?, last(theirs)?);
    for (name, &position) in &our_entries {
        let Some(&other) = their_entries.get(name) else { continue };
        let (a, b) = (&ours[position], &theirs[other]);
        let here = at.entry(a, &keys, position);
        if values_conflict(a, b, element(cursor), PatchStrategy::default(), &here)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
