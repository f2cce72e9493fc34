//! The directives of a strategic merge patch: `$patch` and others.
//!
//! Knows their names and syntax. The merge engines implement their effects.

use super::trail::Trail;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Entry, Map, Node, Value, nearest_name};

/// Deletes, replaces or merges the map or list entry that contains the directive.
pub const PATCH: &str = "$patch";
/// Lists the fields that a map keeps.
pub const RETAIN_KEYS: &str = "$retainKeys";
/// With the suffix `/field`: the order of the entries of that list.
pub const SET_ELEMENT_ORDER: &str = "$setElementOrder";
/// With the suffix `/field`: the scalars to delete from that list.
pub const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";
/// Lists the merge keys of the list entry that contains the directive.
pub const PATCH_MERGE_KEY: &str = "$patchMergeKey";

/// The value of `$patch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// `merge`: the default behavior.
    Merge,
    /// `replace`
    Replace,
    /// `delete`
    Delete,
}

/// Returns true if a field with this name is a directive, well-formed or not.
#[must_use]
pub fn is_directive(name: &str) -> bool {
    name.starts_with('$')
        && (matches!(name, PATCH | RETAIN_KEYS | PATCH_MERGE_KEY)
            || name.starts_with(SET_ELEMENT_ORDER)
            || name.starts_with(DELETE_FROM_PRIMITIVE_LIST))
}

/// Returns the list field that a directive applies to.
pub(crate) fn target_list(name: &str) -> Option<&str> {
    let list = [SET_ELEMENT_ORDER, DELETE_FROM_PRIMITIVE_LIST].iter().find_map(|d| name.strip_prefix(*d))?;
    list.strip_prefix('/')
}

/// The values of `$patch`.
const ACTIONS: [&str; 3] = ["merge", "replace", "delete"];

/// Parses the `$patch` directive of a map.
///
/// # Errors
/// The value is not `merge`, `replace` or `delete`.
pub fn action(map: &Map, at: &Trail<'_>) -> Result<Option<Action>> {
    let Some(node) = map.get(PATCH) else { return Ok(None) };
    match node.as_str() {
        Some("merge") => Ok(Some(Action::Merge)),
        Some("replace") => Ok(Some(Action::Replace)),
        Some("delete") => Ok(Some(Action::Delete)),
        _ => {
            // An unrelated value may be a secret, so it is not printed.
            let word =
                node.as_str().filter(|text| *text == "remove" || nearest_name(text, &ACTIONS).is_some());
            let message = match word {
                Some(word) => format!("`{word}` is not a value of `$patch`"),
                None if node.as_str().is_some() => "the value of `$patch` is unknown".into(),
                None => format!("the value of `$patch` must be a string, not {}", node.type_name()),
            };
            Err(at.error(Code::Directive, message).at(node.span()).help("use `delete`, `replace` or `merge`"))
        }
    }
}

/// Returns true if an entry of a patch has `$patch: delete`. Outside of patches, such a field is ordinary data.
pub(crate) fn is_delete(entry: &Node) -> bool {
    entry.get(PATCH).and_then(Node::as_str) == Some("delete")
}

/// Returns true if an entry has `$patch: replace`, which means that the other entries replace the whole list.
pub(crate) fn is_replace(entry: &Node) -> bool {
    entry.get(PATCH).and_then(Node::as_str) == Some("replace")
}

/// Returns a warning for each entry with `$patch: replace` that has other fields. These fields are dropped.
pub(crate) fn dropped_entries(patch: &[Node], at: &Trail<'_>) -> Vec<Diagnostic> {
    let says_more = |entry: &Node| is_replace(entry) && entry.as_map().is_some_and(|map| map.len() > 1);
    let warning = |(i, entry): (usize, &Node)| {
        let message =
            "`$patch: replace` replaces the whole list with the other entries: this entry is dropped";
        Diagnostic::warning(Code::Directive, message)
            .field(at.index(i).path())
            .at(entry.span())
            .help("write `- $patch: replace` as a separate entry before the entries of the new list")
    };
    patch.iter().enumerate().filter(|(_, entry)| says_more(entry)).map(warning).collect()
}

/// Returns the fields with the list directive `name`, each with the list field to which it applies.
///
/// # Errors
/// A directive has no field name.
pub(crate) fn list_directives<'p>(
    patch: &'p Map,
    name: &str,
    at: &Trail<'_>,
) -> Result<Vec<(&'p str, &'p Entry)>> {
    let directives = patch.entries().iter().filter(|entry| entry.key.text.starts_with(name));
    let read = |entry: &'p Entry| match entry.key.text[name.len()..].strip_prefix('/') {
        Some(field) => Ok((field, entry)),
        None => Err(at
            .error(Code::Directive, format!("`{}` does not name a field", entry.key.text))
            .at(entry.key.meta.span)
            .help(format!("write `{name}/field`"))),
    };
    directives.map(read).collect()
}

/// Returns the value without directives at any depth.
#[must_use]
pub fn without_directives(node: &Node) -> Node {
    let value = match &node.value {
        Value::Map(map) => Value::Map(map_without_directives(map)),
        Value::List(list) => Value::List(list.iter().map(without_directives).collect()),
        scalar @ Value::Scalar(_) => scalar.clone(),
    };
    Node { value, meta: node.meta.clone() }
}

/// Returns the map without directives at any depth.
#[must_use]
pub fn map_without_directives(map: &Map) -> Map {
    let mut out = Map::new();
    for entry in map.entries() {
        if !is_directive(&entry.key.text) {
            out.push(entry.key.clone(), without_directives(&entry.value));
        }
    }
    out
}

/// Returns true if an entry of a patch has `$patchMergeKey`.
#[must_use]
pub fn has_patch_merge_key(entry: &Node) -> bool {
    entry.get(PATCH_MERGE_KEY).is_some()
}

/// Returns the merge keys in the `$patchMergeKey` of an entry. Returns `None` if there is no directive or it is not a
/// list of names.
#[must_use]
pub fn patch_merge_key_names(entry: &Node) -> Option<Vec<&str>> {
    entry.get(PATCH_MERGE_KEY)?.as_list()?.iter().map(Node::as_str).collect()
}

/// Returns the error for a `$patchMergeKey` outside an entry of a list.
pub(crate) fn misplaced_patch_merge_key(directive: &Node, at: &Trail<'_>) -> Diagnostic {
    at.error(Code::Directive, format!("`{PATCH_MERGE_KEY}` has no effect outside an entry of a list"))
        .at(directive.span())
        .help("move it into the entry whose merge keys it names, or remove it")
}

/// Checks that each `$patchMergeKey` below a field of a patch is in an entry of a list.
///
/// # Errors
/// A `$patchMergeKey` is not in an entry of a list.
pub(crate) fn check_patch_merge_keys(patch: &Node, at: &Trail<'_>) -> Result<()> {
    match &patch.value {
        Value::Scalar(_) => Ok(()),
        Value::Map(map) => {
            map.get(PATCH_MERGE_KEY)
                .map_or(Ok(()), |directive| Err(misplaced_patch_merge_key(directive, at)))?;
            map.iter().try_for_each(|(name, value)| check_patch_merge_keys(value, &at.field(name)))
        }
        Value::List(list) => list.iter().enumerate().try_for_each(|(i, entry)| {
            let here = at.index(i);
            match entry.as_map() {
                Some(map) => {
                    map.iter().try_for_each(|(name, value)| check_patch_merge_keys(value, &here.field(name)))
                }
                None => check_patch_merge_keys(entry, &here),
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_directives() {
        // The expected results: true if the field is a directive, and the list to which it applies.
        let table = [
            ("name", false, None),
            ("$ref", false, None),
            ("$patch", true, None),
            ("$patches", false, None),
            ("$retainKeys", true, None),
            ("$patchMergeKey", true, None),
            ("$setElementOrder/a/b", true, Some("a/b")),
            ("$setElementOrder/", true, Some("")),
            ("$setElementOrder", true, None),
            ("$setElementOrders/x", true, None),
            ("$deleteFromPrimitiveList/finalizers", true, Some("finalizers")),
        ];
        for (name, want, list) in table {
            assert_eq!((is_directive(name), target_list(name)), (want, list), "{name}");
        }
        let root = Trail::root();
        for name in ["$setElementOrder", "$setElementOrders/x"] {
            let map: Map = [(name, Node::null())].into_iter().collect();
            let error = list_directives(&map, SET_ELEMENT_ORDER, &root).expect_err(name);
            assert_eq!(error.message(), format!("`{name}` does not name a field"));
            assert!(
                list_directives(&map, DELETE_FROM_PRIMITIVE_LIST, &root).is_ok_and(|found| found.is_empty())
            );
        }
    }

    #[test]
    fn patch_actions_are_parsed_and_others_rejected() {
        let map = |node| [(PATCH, node)].into_iter().collect::<Map>();
        let root = Trail::root();
        assert_eq!(action(&Map::new(), &root), Ok(None));
        assert_eq!(action(&map(Node::string("delete")), &root), Ok(Some(Action::Delete)));
        for (node, message) in [
            (Node::string("remove"), "`remove` is not a value of `$patch`"),
            (Node::null(), "the value of `$patch` must be a string, not null"),
            (Node::list(Vec::new()), "the value of `$patch` must be a string, not a list"),
        ] {
            let error = action(&map(node), &root).expect_err(message);
            assert_eq!((error.code(), error.message()), (Code::Directive, message));
        }
    }

    #[test]
    fn data_remains_without_directives() {
        let inner: Map = [("$patch", Node::string("delete")), ("a", Node::int(1))].into_iter().collect();
        let node = Node::list(vec![Node::map(inner), Node::int(2)]);
        let want = Node::list(vec![Node::map([("a", Node::int(1))].into_iter().collect()), Node::int(2)]);
        assert_eq!(without_directives(&node), want);
    }
}
