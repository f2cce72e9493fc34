//! The comments of merged values. They are those of dest, unless only the updated version changed them.
//!
//! This applies to line comments only. All other comments remain unchanged when the text is edited.

use smp_text::yaml::{Entry, Key, Map, Meta, Node, Value, is_unchanged};

/// Returns `dest` with the line comments that only `updated` changed.
pub(super) fn with_updated_comments(dest: &Node, original: Option<&Node>, updated: Option<&Node>) -> Node {
    let mut merged = dest.clone();
    if let (Some(original), Some(updated)) = (original, updated)
        && !is_unchanged(original, updated)
    {
        take_comments(&mut merged, original, updated);
    }
    merged
}

fn take_comments(dest: &mut Node, original: &Node, updated: &Node) {
    take_line_comment(&mut dest.meta, &original.meta, &updated.meta);
    match (&mut dest.value, &original.value, &updated.value) {
        (Value::Map(dest), Value::Map(original), Value::Map(updated)) => {
            take_field_comments(dest, original, updated);
        }
        (Value::List(dest), Value::List(original), Value::List(updated)) if dest == original => {
            for ((dest, original), updated) in dest.iter_mut().zip(original).zip(updated) {
                take_comments(dest, original, updated);
            }
        }
        _ => {}
    }
}

fn take_field_comments(dest: &mut Map, original: &Map, updated: &Map) {
    let (originals, updates) = (original.index(), updated.index());
    for entry in dest.entries_mut() {
        let original = originals.position(&entry.key.text).map(|i| &original.entries()[i]);
        let updated = updates.position(&entry.key.text).map(|i| &updated.entries()[i]);
        if let (Some(original), Some(updated)) = (original, updated) {
            take_line_comment(&mut entry.key.meta, &original.key.meta, &updated.key.meta);
            take_comments(&mut entry.value, &original.value, &updated.value);
        }
    }
}

/// Copies the line comment of the updated version if only that version changed it. A comment that it removed is kept.
pub(super) fn take_line_comment(dest: &mut Meta, original: &Meta, updated: &Meta) {
    let new = line(updated);
    if new.is_some() && new != line(original) && line(dest) == line(original) {
        dest.comments.get_or_insert_default().line = new.map(Into::into);
    }
}

/// Returns the updated value, which replaces that of dest. If only dest may have changed the line comment, the result
/// has none, so that the one of dest remains in the text.
pub(super) fn replacing(updated: &Node, original: Option<&Node>, dest: Option<&Node>) -> Node {
    let mut merged = updated.clone();
    let is_same_comment = original.is_some_and(|original| line(&original.meta) == line(&updated.meta));
    if is_same_comment
        && dest.is_some()
        && let Some(comments) = &mut merged.meta.comments
    {
        comments.line = None;
    }
    merged
}

/// Returns the key of a field that both dest and the source have. If the values differ, it has the line comment of the
/// source's key. The comment of a scalar belongs to the value and is not copied.
pub(super) fn key_with_comment(mut key: Key, [dest, source]: [Option<&Entry>; 2]) -> Key {
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
