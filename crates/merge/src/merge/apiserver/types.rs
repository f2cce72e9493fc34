//! What the API server asks of types before it merges values of them (apimachinery 0.36).
//!
//! It merges by Go's types, so that what a type does not have cannot be merged.

use crate::merge::identity::KeyValue;
use crate::merge::trail::Trail;
use crate::schema::{Cursor, PatchStrategy, TypeKind};
use smp_text::diagnostic::{Code, PatchRefusal, Result};
use smp_text::yaml::{Node, Value};

/// There are strategic merge patches for built-in kinds only.
///
/// # Errors
/// Nothing is known of the kind.
pub(crate) fn known(kind: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    if kind.is_known() {
        return Ok(());
    }
    let message = "the API server takes no strategic merge patch for a kind without a built-in schema";
    Err(at
        .error(Code::NoSchema, message)
        .refused(PatchRefusal::PatchType)
        .help("use a JSON merge patch, or the overlay dialect, which needs no schema"))
}

/// The schema of a field that is merged. The server knows no free-form objects.
///
/// # Errors
/// The type has no such field.
pub(crate) fn declared<'s>(
    parent: Cursor<'s>,
    name: &str,
    node: &Node,
    at: &Trail<'_>,
) -> Result<Cursor<'s>> {
    if !parent.is_known() || parent.has_field(name) || parent.preserves_unknown_fields() {
        return Ok(parent.field(name));
    }
    Err(at
        .error(Code::UnknownField, format!("the schema has no field `{name}` here, so it cannot be merged"))
        .at(node.span())
        .help("check the name, or use a JSON merge patch for free-form fields"))
}

/// The schema of a list that is merged.
///
/// # Errors
/// As [`declared`], and where the type is no list.
pub(crate) fn declared_list<'s>(
    parent: Cursor<'s>,
    name: &str,
    node: &Node,
    at: &Trail<'_>,
) -> Result<Cursor<'s>> {
    let list = declared(parent, name, node, at)?;
    if matches!(list.type_kind(), TypeKind::Array | TypeKind::Any) || is_object(list) {
        return Ok(list);
    }
    let message = format!("the schema has {} here, not a list", list.kind_name());
    Err(at.error(Code::WrongType, message).at(node.span()))
}

/// The schema of the entries of a list. As on the server, a field that is one object can hold a list of
/// such objects as well.
pub(crate) fn element(list: Cursor<'_>) -> Cursor<'_> {
    if is_object(list) { list } else { list.element() }
}

fn is_object(cursor: Cursor<'_>) -> bool {
    cursor.type_kind() == TypeKind::Object && cursor.fields().next().is_some()
}

/// The patch strategy, which can be `merge` or `replace`, not both.
///
/// # Errors
/// It is both.
pub(crate) fn strategy(cursor: Cursor<'_>, at: &Trail<'_>) -> Result<PatchStrategy> {
    let strategy = cursor.patch_strategy();
    if strategy.merge && strategy.replace {
        let message = "the schema's patch strategy is both `merge` and `replace`";
        return Err(at.error(Code::InvalidValue, message));
    }
    Ok(strategy)
}

/// What the entries of a list are; all must be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Bool,
    Int,
    Float,
    Str,
    Map,
}

/// The one kind of all entries; none when there are none.
///
/// # Errors
/// Entries of several kinds, lists and nulls.
pub(crate) fn entry_kind(lists: [&[Node]; 2], at: &Trail<'_>) -> Result<Option<EntryKind>> {
    let mut kind = None;
    for entry in lists.into_iter().flatten() {
        let wrong = |message: String| at.error(Code::WrongType, message).at(entry.span());
        let this = match (&entry.value, KeyValue::of(entry)) {
            (Value::Map(_), _) => EntryKind::Map,
            (Value::List(_), _) => return Err(wrong("lists of lists cannot be merged".into())),
            (_, Some(KeyValue::Bool(_))) => EntryKind::Bool,
            (_, Some(KeyValue::Int(_))) => EntryKind::Int,
            (_, Some(KeyValue::Float(_))) => EntryKind::Float,
            (_, Some(KeyValue::Str(_))) => EntryKind::Str,
            _ => return Err(wrong("null cannot be an entry of a list that is merged".into())),
        };
        if *kind.get_or_insert(this) != this {
            return Err(wrong(format!(
                "the entries of a list that is merged must be of one type, and this is {}",
                entry.type_name()
            )));
        }
    }
    Ok(kind)
}
