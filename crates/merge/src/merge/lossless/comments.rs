//! Whose comments a merged value has: dest's, unless only the updated version changed them.
//!
//! Comments on the line of a value, that is; a text that is edited keeps all others where they stand.

use smp_text::yaml::{Entry, Key, Map, Meta, Node, Value, is_same};

/// Dest's value where the updated version has the original's data: with new comments where dest has the
/// original's.
pub(super) fn updated(dest: &Node, original: Option<&Node>, updated: Option<&Node>) -> Node {
    let mut merged = dest.clone();
    if let (Some(original), Some(updated)) = (original, updated)
        && !is_same(original, updated)
    {
        take(&mut merged, original, updated);
    }
    merged
}

fn take(dest: &mut Node, original: &Node, updated: &Node) {
    take_line(&mut dest.meta, &original.meta, &updated.meta);
    match (&mut dest.value, &original.value, &updated.value) {
        (Value::Map(dest), Value::Map(original), Value::Map(updated)) => {
            take_in_fields(dest, original, updated);
        }
        (Value::List(dest), Value::List(original), Value::List(updated)) if dest == original => {
            for ((dest, original), updated) in dest.iter_mut().zip(original).zip(updated) {
                take(dest, original, updated);
            }
        }
        _ => {}
    }
}

fn take_in_fields(dest: &mut Map, original: &Map, updated: &Map) {
    let (originals, updates) = (original.index(), updated.index());
    for entry in dest.entries_mut() {
        let original = originals.position(&entry.key.text).map(|i| &original.entries()[i]);
        let updated = updates.position(&entry.key.text).map(|i| &updated.entries()[i]);
        if let (Some(original), Some(updated)) = (original, updated) {
            take_line(&mut entry.key.meta, &original.key.meta, &updated.key.meta);
            take(&mut entry.value, &original.value, &updated.value);
        }
    }
}

/// Gives a value or key the comment of the updated version where that alone changed it.
pub(super) fn take_line(dest: &mut Meta, original: &Meta, updated: &Meta) {
    let new = line(updated);
    if new.is_some() && new != line(original) && line(dest) == line(original) {
        dest.comments.get_or_insert_default().line = new.map(Into::into);
    }
}

/// The updated value in the place of dest's, without a comment that it has not changed.
pub(super) fn replacing(updated: &Node, original: Option<&Node>, dest: Option<&Node>) -> Node {
    let mut merged = updated.clone();
    let is_old = original.is_some_and(|original| line(&original.meta) == line(&updated.meta));
    if is_old
        && dest.is_some()
        && let Some(comments) = &mut merged.meta.comments
    {
        comments.line = None;
    }
    merged
}

/// The key of a field that dest and a source have, with the comment that stands behind the source's key where the value
/// is another one. A scalar's comment stands behind the value.
pub(super) fn of_key(mut key: Key, [dest, source]: [Option<&Entry>; 2]) -> Key {
    if let (Some(dest), Some(source)) = (dest, source)
        && dest.value != source.value
        && let Some(comment) = line(&source.key.meta)
    {
        key.meta.comments.get_or_insert_default().line = Some(comment.into());
    }
    key
}

fn line(meta: &Meta) -> Option<&str> {
    meta.comments.as_ref().and_then(|comments| comments.line.as_deref())
}
