//! Whether two strategic merge patches set the same field to different values (apimachinery 0.36,
//! `MergingMapsHaveConflicts`).
//!
//! There the check sorts lists of scalars within the patch that it checks; here the patch stays as it is.

use rustc_hash::FxHashMap;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::apiserver::types::{EntryKind, declared, element, entry_kind, strategy};
use crate::merge::association::{Association, ListPolicy};
use crate::merge::directive::{PATCH, RETAIN_KEYS};
use crate::merge::entry_match::lacks;
use crate::merge::identity::{Identity, KeyValue};
use crate::merge::{Trail, align};
use crate::schema::{Cursor, PatchStrategy};
use crate::yaml::{Entry, Map, Node, Value};

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
    for row in align::fields([ours, theirs]) {
        let [Some(Entry { key, value }), Some(other)] = row else { continue };
        let name = key.text.as_str();
        if name == PATCH || name == RETAIN_KEYS {
            continue;
        }
        let here = at.field(name);
        let field = match value.value {
            Value::Scalar(_) => Cursor::unknown(),
            _ => declared(cursor, name, value, &here)?,
        };
        let conflict = values_conflict(value, &other.value, field, strategy(field, &here)?, &here)?;
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
            let kind = entry_kind([a.as_slice(), b.as_slice()], at)?;
            let kind = kind.ok_or_else(|| {
                at.error(Code::Conflict, "this list was emptied on both sides since it was applied last")
            })?;
            match (strategy.merge, kind) {
                (true, EntryKind::Map) => entries_conflict(a, b, cursor, at),
                (true, _) => Ok(None),
                _ if a.len() != b.len() => Ok(Some(conflict(ours, theirs, at))),
                (false, EntryKind::Map) => positions_conflict(a, b, cursor, at),
                (false, _) if scalars(a) == scalars(b) => Ok(None),
                (false, _) => Ok(Some(conflict(ours, theirs, at))),
            }
        }
        (Value::Scalar(_), Value::Scalar(_)) if KeyValue::of(ours) == KeyValue::of(theirs) => Ok(None),
        _ => Ok(Some(conflict(ours, theirs, at))),
    }
}

fn positions_conflict(
    ours: &[Node],
    theirs: &[Node],
    cursor: Cursor<'_>,
    at: &Trail<'_>,
) -> Result<Option<Diagnostic>> {
    for (position, (a, b)) in ours.iter().zip(theirs).enumerate() {
        let here = at.index(position);
        let conflict = values_conflict(a, b, element(cursor), PatchStrategy::default(), &here)?;
        if conflict.is_some() {
            return Ok(conflict);
        }
    }
    Ok(None)
}

/// Without order and doubles.
fn scalars(list: &[Node]) -> Vec<KeyValue> {
    let mut values: Vec<KeyValue> = list.iter().filter_map(KeyValue::of).collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn entries_conflict(
    ours: &[Node],
    theirs: &[Node],
    cursor: Cursor<'_>,
    at: &Trail<'_>,
) -> Result<Option<Diagnostic>> {
    let Association::Keyed { keys, .. } = Association::of(cursor, ListPolicy::Apiserver) else {
        let message = "the schema has no merge key for this list, so maps in it cannot be compared";
        return Err(at.error(Code::MissingMergeKey, message));
    };
    let identify = |(position, entry): (usize, &Node)| {
        keys.identify(entry).ok_or_else(|| lacks(&keys.missing(entry), entry, &at.index(position)))
    };
    let identified = |list: &[Node]| list.iter().enumerate().map(identify).collect::<Result<Vec<Identity>>>();
    // Of several with one identity the last counts.
    let last = |names: &[Identity]| -> FxHashMap<Identity, usize> {
        names.iter().enumerate().map(|(position, name)| (name.clone(), position)).collect()
    };
    let our_names = identified(ours)?;
    let (our_last, their_last) = (last(&our_names), last(&identified(theirs)?));
    for (position, (name, entry)) in our_names.iter().zip(ours).enumerate() {
        let Some(&other) = their_last.get(name).filter(|_| our_last.get(name) == Some(&position)) else {
            continue;
        };
        let here = at.entry(entry, keys.names(), position);
        let none = PatchStrategy::default();
        let conflict = values_conflict(entry, &theirs[other], element(cursor), none, &here)?;
        if conflict.is_some() {
            return Ok(conflict);
        }
    }
    Ok(None)
}
