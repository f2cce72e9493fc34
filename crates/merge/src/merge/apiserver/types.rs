//! The type checks that the API server makes before it merges values (apimachinery 0.36).
//!
//! The API server merges by Go types, so it cannot merge a field that the type does not have.

use crate::merge::identity::KeyValue;
use crate::merge::trail::Trail;
use crate::schema::{Cursor, PatchStrategy, TypeKind};
use smp_text::diagnostic::{Code, PatchRejection, Result};
use smp_text::yaml::{Node, Value};

/// Checks that the kind is known. The API server supports strategic merge patches only for built-in kinds.
///
/// # Errors
/// The kind is unknown.
pub(crate) fn check_known(kind: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    if kind.is_known() {
        return Ok(());
    }
    let message =
        "the API server does not support strategic merge patches for kinds without a built-in schema";
    Err(at
        .error(Code::NoSchema, message)
        .patch_rejection(PatchRejection::UnsupportedType)
        .help("use a JSON merge patch, or the overlay dialect, which needs no schema"))
}

/// Returns the schema of a field that is merged. The API server does not support free-form objects here.
///
/// # Errors
/// The type has no such field.
pub(crate) fn declared_field<'s>(
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

/// Returns the schema of a list that is merged.
///
/// # Errors
/// The errors of [`declared`], or the field is not a list.
pub(crate) fn declared_list<'s>(
    parent: Cursor<'s>,
    name: &str,
    node: &Node,
    at: &Trail<'_>,
) -> Result<Cursor<'s>> {
    let list = declared_field(parent, name, node, at)?;
    if matches!(list.type_kind(), TypeKind::Array | TypeKind::Any) || is_object(list) {
        return Ok(list);
    }
    let message = format!("the schema declares {} here, not a list", list.kind_name());
    Err(at.error(Code::WrongType, message).at(node.span()))
}

/// Returns the schema of the entries of a list. As on the server, a field declared as one object may also hold
/// a list of such objects.
pub(crate) fn element(list: Cursor<'_>) -> Cursor<'_> {
    if is_object(list) { list } else { list.element() }
}

fn is_object(cursor: Cursor<'_>) -> bool {
    cursor.type_kind() == TypeKind::Object && cursor.fields().next().is_some()
}

/// Returns the patch strategy, which must not be both `merge` and `replace`.
///
/// # Errors
/// Both strategies are set.
pub(crate) fn strategy(cursor: Cursor<'_>, at: &Trail<'_>) -> Result<PatchStrategy> {
    let strategy = cursor.patch_strategy();
    if strategy.merge && strategy.replace {
        let message = "the schema's patch strategy is both `merge` and `replace`";
        return Err(at.error(Code::InvalidValue, message));
    }
    Ok(strategy)
}

/// The type that all entries of a list must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Bool,
    Int,
    Float,
    Str,
    Map,
}

/// Returns the common type of all entries, or `None` for empty lists.
///
/// # Errors
/// The entries have several types, or are lists or nulls.
pub(crate) fn entry_kind(lists: [&[Node]; 2], at: &Trail<'_>) -> Result<Option<EntryKind>> {
    let mut kind = None;
    for entry in lists.into_iter().flatten() {
        let wrong = |message: String| at.error(Code::WrongType, message).at(entry.span());
        let this = match (&entry.value, KeyValue::from_node(entry)) {
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
