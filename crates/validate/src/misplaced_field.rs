//! Suggestions for fields at the wrong depth.

use rustc_hash::FxHashSet;

use smp_merge::schema::{Cursor, TypeKind};

/// The maximum depth of the search.
const DEEPEST: usize = 4;

/// The maximum number of types to visit on each level.
const MOST_TYPES: usize = 200;

/// Returns the path of the type that declares a field. `around` contains the surrounding types and their paths, the
/// innermost first.
///
/// Searches the surrounding types themselves, then their fields, then the levels below the innermost type.
pub(super) fn find_declaring_path(around: &[(String, Cursor<'_>)], name: &str) -> Option<String> {
    let declares = around.iter().skip(1).find(|(_, cursor)| cursor.has_field(name));
    declares
        .map(|(path, _)| path.clone())
        .or_else(|| around.iter().find_map(|(path, cursor)| path_below(path, *cursor, name, 1)))
        .or_else(|| around.first().and_then(|(path, cursor)| path_below(path, *cursor, name, DEEPEST)))
}

/// Returns the shortest path below a type to one that declares a field. Returns `None` if several paths are equally
/// short, unless exactly one of them uses a required field.
fn path_below(path: &str, cursor: Cursor<'_>, name: &str, deepest: usize) -> Option<String> {
    let (mut level, mut seen) = (vec![(path.to_string(), cursor)], FxHashSet::default());
    for _ in 0..deepest {
        let below: Vec<(String, Cursor<'_>, bool)> =
            level.iter().flat_map(|(path, cursor)| fields_of(path, *cursor)).collect();
        let found: Vec<_> = below.iter().filter(|(_, cursor, _)| cursor.has_field(name)).collect();
        let required: Vec<_> = found.iter().filter(|(_, _, is_required)| *is_required).collect();
        match (found.as_slice(), required.as_slice()) {
            ([], _) => {}
            ([(path, ..)], _) | (_, [(path, ..)]) => return Some(path.clone()),
            _ => return None,
        }
        level = below.into_iter().map(|(path, cursor, _)| (path, cursor)).collect();
        level.retain(|(_, cursor)| cursor.type_name().is_none_or(|of| seen.insert(of)));
        level.truncate(MOST_TYPES);
    }
    None
}

/// Returns the fields of a type, each with its path, type and true if it is required. Omits `status`, which users do
/// not write.
fn fields_of<'s>(path: &str, cursor: Cursor<'s>) -> Vec<(String, Cursor<'s>, bool)> {
    let required: FxHashSet<&str> = cursor.required_fields().collect();
    let is_object = cursor.has_field("spec");
    let fields = cursor.fields().filter(|(name, _)| !(is_object && *name == "status"));
    let fields = fields.map(|(name, of)| {
        let dot = if path.is_empty() { "" } else { "." };
        let is_list = of.type_kind() == TypeKind::Array;
        let (list, below) = if is_list { ("[]", of.element()) } else { ("", of) };
        (format!("{path}{dot}{name}{list}"), below, required.contains(name))
    });
    fields.collect()
}
