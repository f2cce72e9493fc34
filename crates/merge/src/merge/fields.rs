//! The loop over the fields of a map into which a patch is merged.
//!
//! Inserts and removes fields. The merge engines determine how two values merge.

use rustc_hash::FxHashSet;

use super::directive::{RETAIN_KEYS, is_directive};
use super::trail::Trail;
use smp_text::diagnostic::{Code, Diagnostic, PatchRejection, Result};
use smp_text::yaml::{Entry, Map, Node, Value};

/// The result of merging one field.
#[derive(Debug)]
pub(crate) enum MergedField {
    /// The value was changed in place, or the field is still absent.
    InPlace,
    /// A new value.
    Value(Node),
    /// The field is removed.
    Removed,
}

impl MergedField {
    /// Converts a merged value; `None` stands for a removed field.
    pub(crate) fn from_option(value: Option<Node>) -> Self {
        value.map_or(Self::Removed, Self::Value)
    }
}

/// Merges fields of a patch into those of a map. Existing fields keep their order, and new ones are appended.
///
/// # Errors
/// The errors of `merge`.
pub(crate) fn merge<'p, E>(
    dest: &mut Map,
    patch: impl Iterator<Item = &'p Entry>,
    mut merge: impl FnMut(Option<&mut Node>, &'p Entry) -> std::result::Result<MergedField, E>,
) -> std::result::Result<(), E> {
    let index = dest.index();
    let fields: Vec<_> = patch.map(|entry| (entry, index.position(&entry.key.text))).collect();
    let mut gone = Vec::new();
    for (entry, position) in fields {
        let live = position.map(|position| &mut dest.entries_mut()[position].value);
        match (merge(live, entry)?, position) {
            (MergedField::InPlace, _) | (MergedField::Removed, None) => {}
            (MergedField::Removed, Some(position)) => gone.push(position),
            (MergedField::Value(value), Some(position)) => {
                replace_value(&mut dest.entries_mut()[position].value, value);
            }
            (MergedField::Value(value), None) => dest.push(entry.key.clone(), value),
        }
    }
    if !gone.is_empty() {
        gone.sort_unstable();
        let (mut gone, mut at) = (gone.into_iter().peekable(), 0..);
        dest.entries_mut().retain(|_| gone.next_if_eq(&at.next().unwrap_or_default()).is_none());
    }
    Ok(())
}

/// Sets a value. Keeps the old comments if the new value has none.
pub(crate) fn replace_value(dest: &mut Node, mut value: Node) {
    if value.meta.comments.is_none() {
        value.meta.comments = dest.meta.comments.take();
    }
    *dest = value;
}

/// Returns the fields of a patch that are not directives.
pub(crate) fn non_directives(patch: &Map) -> impl Iterator<Item = &Entry> {
    patch.entries().iter().filter(|entry| !is_directive(&entry.key.text))
}

/// Returns the maps of the target and of the patch.
///
/// # Errors
/// A value is not a map.
pub(crate) fn target_and_patch<'n>(dest: &'n mut Node, patch: &'n Node) -> Result<(&'n mut Map, &'n Map)> {
    let wrong = |node: &Node, what: &str| {
        let message = format!("{what} must be a map and is {}", node.type_name());
        Diagnostic::error(Code::WrongType, message).at(node.span()).patch_rejection(PatchRejection::Malformed)
    };
    let patch = patch.as_map().ok_or_else(|| wrong(patch, "a strategic merge patch"))?;
    match dest.value {
        Value::Map(ref mut map) => Ok((map, patch)),
        _ => Err(wrong(dest, "the target of a strategic merge patch")),
    }
}

/// Applies `$retainKeys`: removes fields that it does not list. The patch must not set other fields.
///
/// # Errors
/// The directive is malformed, or does not list a field that the patch sets.
pub(crate) fn retain_keys(dest: &mut Map, patch: &Map, at: &Trail<'_>) -> Result<()> {
    let Some(directive) = patch.get(RETAIN_KEYS) else { return Ok(()) };
    let wrong = |message: String, node: &Node| {
        at.error(Code::Directive, message).at(node.span()).patch_rejection(PatchRejection::Malformed)
    };
    let list = directive.as_list();
    let list = list.ok_or_else(|| wrong("`$retainKeys` must be a list of field names".into(), directive))?;
    if let Some(entry) = list.iter().find(|entry| entry.scalar_text().is_none()) {
        return Err(wrong(format!("`$retainKeys` cannot name {}", entry.type_name()), entry));
    }
    let kept: FxHashSet<&str> = list.iter().filter_map(Node::as_str).collect();
    let set = |entry: &&Entry| !entry.value.is_null() && !kept.contains(entry.key.text.as_str());
    if let Some(entry) = non_directives(patch).find(set) {
        let message = format!("the patch sets `{}`, which is missing from its `$retainKeys`", entry.key.text);
        return Err(wrong(message, directive).label(entry.key.meta.span, "set here"));
    }
    dest.entries_mut().retain(|entry| kept.contains(entry.key.text.as_str()));
    Ok(())
}
