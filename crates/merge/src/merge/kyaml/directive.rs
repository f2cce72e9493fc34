//! Extraction of `$patch` from maps and lists of a patch.

use crate::merge::Trail;
use crate::merge::directive::{Action, PATCH, action};
use smp_text::diagnostic::Result;
use smp_text::yaml::{Map, Node};

/// Removes the directive from a map and returns it.
///
/// # Errors
/// The value is unknown. In that case the map is not changed.
pub(super) fn take_from_map(map: &mut Map, trail: &Trail<'_>) -> Result<Action> {
    let Some(action) = action(map, trail)? else { return Ok(Action::Merge) };
    map.remove(PATCH);
    Ok(action)
}

/// Removes the directive from a list and returns it. The directive of a list is an entry that contains only `$patch`.
///
/// Only the first entry with `$patch` is examined. If it has other fields, the directive belongs to that entry. Other
/// entries with the same directive are also removed, and so are nulls and empty maps, which kyaml does not treat as
/// entries (kustomize 5.8).
///
/// # Errors
/// The value is unknown.
pub(super) fn extract_from_list(list: &mut Vec<Node>, trail: &Trail<'_>) -> Result<Action> {
    let first = list.iter().filter_map(Node::as_map).find(|map| map.contains_key(PATCH));
    let Some(entry) = first.filter(|map| map.len() == 1) else { return Ok(Action::Merge) };
    let Some(action) = action(entry, trail)? else { return Ok(Action::Merge) };
    let text = entry.get(PATCH).and_then(Node::scalar_text).cloned();
    list.retain(|entry| {
        let same = entry.get(PATCH).is_some_and(|value| value.scalar_text() == text.as_ref());
        !same && !entry.is_null() && !entry.as_map().is_some_and(Map::is_empty)
    });
    Ok(action)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::kyaml::testing::node;
    use smp_text::diagnostic::Code;

    #[test]
    fn directive_of_a_map_is_extracted() {
        let table = [
            ("{a: 1}", Action::Merge, "{a: 1}"),
            ("{$patch: merge, a: 1}", Action::Merge, "{a: 1}"),
            ("{$patch: \"delete\"}", Action::Delete, "{}"),
            ("{a: 1, $patch: replace}", Action::Replace, "{a: 1}"),
        ];
        for (text, want, rest) in table {
            let mut map = node(text);
            let got = take_from_map(map.as_map_mut().expect("map"), &Trail::root()).expect(text);
            assert_eq!((got, map), (want, node(rest)), "{text}");
        }
    }

    #[test]
    fn unknown_actions_are_rejected() {
        for text in ["{$patch: remove}", "{$patch: null}", "{$patch: {delete: true}}", "{$patch: Delete}"] {
            let mut map = node(text);
            let error = take_from_map(map.as_map_mut().expect("map"), &Trail::root()).expect_err(text);
            assert_eq!(error.code(), Code::Directive, "{text}");
            assert_eq!(map, node(text), "left as it was");
        }
    }

    #[test]
    fn directive_of_a_list_is_a_separate_entry() {
        let table = [
            ("[{name: a}]", Action::Merge, "[{name: a}]"),
            ("[{$patch: replace}, {name: a}, null, {}]", Action::Replace, "[{name: a}]"),
            ("[{name: b}, {$patch: delete}, {name: a, $patch: delete}]", Action::Delete, "[{name: b}]"),
            (
                "[{name: a, $patch: delete}, {$patch: replace}]",
                Action::Merge,
                "[{name: a, $patch: delete}, {$patch: replace}]",
            ),
            ("[a, {$patch: merge}]", Action::Merge, "[a]"),
        ];
        for (text, want, rest) in table {
            let mut list = node(text);
            let got = extract_from_list(list.as_list_mut().expect("list"), &Trail::root()).expect(text);
            assert_eq!((got, list), (want, node(rest)), "{text}");
        }
    }
}
