//! Detects conflicts between two strategic merge patches: the same field set to different values (apimachinery
//! 0.36, `MergingMapsHaveConflicts`).
//!
//! The Go function sorts scalar lists in the patch that it checks. Here the patch is not modified.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::merge::apiserver::types::{EntryKind, declared_field, element, entry_kind, strategy};
use crate::merge::association::{Association, ListPolicy};
use crate::merge::directive::{DELETE_FROM_PRIMITIVE_LIST, PATCH, PATCH_MERGE_KEY, RETAIN_KEYS, is_delete};
use crate::merge::entry_match::unidentified_entry_error;
use crate::merge::identity::{Identity, KeyValue};
use crate::merge::{Trail, align};
use crate::schema::{Cursor, PatchStrategy};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Entry, Map, Node, Value};

/// Checks two patches for conflicts.
///
/// # Errors
/// The patches conflict (the error is the first conflict), or lists cannot be compared, because they have mixed types,
/// no entries, or no merge key.
pub(super) fn check_maps(ours: &Map, theirs: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    for row in align::fields([ours, theirs]) {
        let [Some(Entry { key, value }), Some(other)] = row else { continue };
        let name = key.text.as_str();
        if matches!(name, PATCH | RETAIN_KEYS | PATCH_MERGE_KEY) {
            continue;
        }
        if let Some(list) = primitive_list(name) {
            check_removals([ours, theirs], [value, &other.value], list, at)?;
            continue;
        }
        let here = at.field(name);
        let field = match value.value {
            Value::Scalar(_) => Cursor::unknown(),
            _ => declared_field(cursor, name, value, &here)?,
        };
        check_values(value, &other.value, field, strategy(field, &here)?, &here)?;
    }
    Ok(())
}

/// Returns the list to which a `$deleteFromPrimitiveList` directive applies.
fn primitive_list(directive: &str) -> Option<&str> {
    directive.strip_prefix(DELETE_FROM_PRIMITIVE_LIST)?.strip_prefix('/')
}

/// Checks the `$deleteFromPrimitiveList` directives of both patches for one list. They conflict if one patch removes a
/// scalar that the other one adds. The Go function fails if both patches have such a directive.
fn check_removals(sides: [&Map; 2], removed: [&Node; 2], list: &str, at: &Trail<'_>) -> Result<()> {
    let values = |node: Option<&Node>| scalars(node.and_then(Node::as_list).map_or(&[], Vec::as_slice));
    let [ours, theirs] = sides.map(|side| side.get(list));
    let [our_removed, their_removed] = removed.map(|removed| values(Some(removed)));
    let disputed = [(ours, &their_removed), (theirs, &our_removed)];
    if disputed.iter().all(|(added, removed)| values(*added).is_disjoint(removed)) {
        return Ok(());
    }
    Err(conflict_error(ours.unwrap_or(removed[0]), theirs.or(Some(removed[1])), &at.field(list)))
}

fn check_values(
    ours: &Node,
    theirs: &Node,
    cursor: Cursor<'_>,
    strategy: PatchStrategy,
    at: &Trail<'_>,
) -> Result<()> {
    let agree = match (&ours.value, &theirs.value) {
        // One patch deletes or replaces the map, the other does not.
        (Value::Map(a), Value::Map(b)) if a.get(PATCH) != b.get(PATCH) => false,
        (Value::Map(_), Value::Map(_)) if strategy.replace => true,
        (Value::Map(a), Value::Map(b)) => return check_maps(a, b, cursor, at),
        (Value::List(a), Value::List(b)) => {
            let emptied =
                "this list was emptied both in the manifest and in the cluster since the last apply";
            match entry_kind([a, b], at)?.ok_or_else(|| at.error(Code::Conflict, emptied))? {
                EntryKind::Map if strategy.merge => return check_entries(a, b, cursor, at),
                _ if strategy.merge => true,
                _ if a.len() != b.len() => false,
                EntryKind::Map => {
                    let none = PatchStrategy::default();
                    let check = |(i, (a, b))| check_values(a, b, element(cursor), none, &at.index(i));
                    return a.iter().zip(b).enumerate().try_for_each(check);
                }
                _ => scalars(a) == scalars(b),
            }
        }
        (Value::Scalar(_), Value::Scalar(_)) => KeyValue::from_node(ours) == KeyValue::from_node(theirs),
        _ => false,
    };
    if agree {
        return Ok(());
    }
    Err(conflict_error(ours, Some(theirs), at))
}

/// Returns the error for a field that both the manifest and the cluster changed.
pub(super) fn conflict_error(ours: &Node, theirs: Option<&Node>, at: &Trail<'_>) -> Diagnostic {
    let is_gone = |node: &Node| node.is_null() || is_delete(node);
    let ours_is = if is_gone(ours) { "last applied here, now removed" } else { "value in the manifest" };
    let error = at
        .error(Code::Conflict, "the cluster and the manifest both changed this field since the last apply")
        .label(ours.span(), ours_is);
    let error = match theirs.filter(|theirs| !is_gone(theirs)) {
        Some(theirs) => error.label(theirs.span(), "value in the cluster"),
        None => error.note("the cluster no longer has this value"),
    };
    error.help("overwrite the change, or adopt it in the manifest")
}

/// Returns the scalars as a set: order and duplicates are ignored.
fn scalars(list: &[Node]) -> BTreeSet<KeyValue> {
    list.iter().filter_map(KeyValue::from_node).collect()
}

fn check_entries(ours: &[Node], theirs: &[Node], cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    let Association::Keyed { keys, .. } = Association::of_versions(cursor, ListPolicy::Apiserver) else {
        let message = "the schema has no merge key for this list, so its entries cannot be compared";
        return Err(at.error(Code::MissingMergeKey, message));
    };
    let identify = |(position, entry): (usize, &Node)| {
        keys.identify(entry)
            .ok_or_else(|| unidentified_entry_error(&keys, entry, &at.entry(entry, keys.names(), position)))
    };
    let identities = |list: &[Node]| list.iter().enumerate().map(identify).collect::<Result<Vec<Identity>>>();
    let (our_identities, their_identities) = (identities(ours)?, identities(theirs)?);
    // If several entries have the same key, the last one is compared.
    let last = |identities: &[Identity]| -> FxHashMap<Identity, usize> {
        identities.iter().enumerate().map(|(position, identity)| (identity.clone(), position)).collect()
    };
    let (our_last, their_last) = (last(&our_identities), last(&their_identities));
    for (position, (identity, entry)) in our_identities.iter().zip(ours).enumerate() {
        if let Some(&other) = their_last.get(identity).filter(|_| our_last[identity] == position) {
            let here = at.entry(entry, keys.names(), position);
            check_values(entry, &theirs[other], element(cursor), PatchStrategy::default(), &here)?;
        }
    }
    Ok(())
}
