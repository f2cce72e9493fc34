//! Three-way JSON merge patches, as `kubectl apply` makes them for custom resources: what `modified` has
//! otherwise than `current` is set, what it has no more of `original` is removed, and what others added stays.

use super::three_way::{ThreeWayOptions, keeps_identity};
use super::{apply_json_merge, create_json_merge};
use crate::diagnostic::{Code, Result};
use crate::merge::{Trail, align};
use crate::yaml::{Entry, Map, Node, Value};

/// Makes the JSON merge patch that brings `current` to `modified` and removes what `modified` has no more of
/// `original`. Lists are values as a whole; an original that is null counts as empty.
///
/// # Errors
/// [`Code::Conflict`] where the patch would undo what others changed and must not, or would change what the
/// object is.
pub fn create_json_merge_three_way(
    original: &Node,
    modified: &Node,
    current: &Node,
    options: &ThreeWayOptions,
) -> Result<Node> {
    let nothing = Map::new();
    let root = Trail::root();
    let map = |node: &Node| node.as_map().cloned();
    let (Some(to), Some(from)) = (map(modified), map(current)) else {
        return Ok(create_json_merge(current, modified));
    };
    let patch = changes(original.as_map().unwrap_or(&nothing), &to, &from);
    if options.same_identity {
        keeps_identity(&patch, &root)?;
    }
    if !options.overwrite
        && let Value::Map(others) = &create_json_merge(original, current).value
    {
        check(&patch, others, &root)?;
    }
    Ok(Node::map(patch))
}

/// Makes the list of operations that brings `current` to where a three-way merge patch would bring it.
///
/// # Errors
/// As [`create_json_merge_three_way`].
pub fn create_json_patch_three_way(
    original: &Node,
    modified: &Node,
    current: &Node,
    options: &ThreeWayOptions,
) -> Result<Node> {
    let patch = create_json_merge_three_way(original, modified, current, options)?;
    let mut wanted = current.clone();
    apply_json_merge(&mut wanted, &patch);
    Ok(super::create_json_patch(current, &wanted))
}

fn changes(original: &Map, modified: &Map, current: &Map) -> Map {
    let nothing = Map::new();
    let mut patch = Map::new();
    for row in align::fields([modified, current, original]) {
        match row {
            [Some(new), None, _] if !new.value.is_null() => {
                patch.push(new.key.text.clone(), new.value.clone());
            }
            [Some(new), Some(live), before] if new.value != live.value => {
                match (&new.value.value, &live.value.value) {
                    (Value::Map(to), Value::Map(from)) => {
                        let before = before.and_then(|entry| entry.value.as_map()).unwrap_or(&nothing);
                        let inner = changes(before, to, from);
                        if !inner.is_empty() {
                            patch.push(new.key.text.clone(), Node::map(inner));
                        }
                    }
                    _ => patch.push(new.key.text.clone(), new.value.clone()),
                }
            }
            [None, Some(live), Some(_)] => patch.push(live.key.text.clone(), Node::null()),
            _ => {}
        }
    }
    patch
}

/// Checks that two patches do not set one field to different values.
fn check(ours: &Map, theirs: &Map, at: &Trail<'_>) -> Result<()> {
    for row in align::fields([ours, theirs]) {
        let [Some(Entry { key, value }), Some(other)] = row else { continue };
        let here = at.field(&key.text);
        match (&value.value, &other.value.value) {
            (Value::Map(a), Value::Map(b)) => check(a, b, &here)?,
            _ if value == &other.value => {}
            _ => {
                return Err(here
                    .error(Code::Conflict, "this was changed on both sides since it was applied last")
                    .help("overwrite the other change, or take it over into the manifest"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> Node {
        text.parse().unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn json(node: &Node) -> String {
        crate::yaml::to_json(node).expect("finite")
    }

    #[test]
    fn what_others_added_stays() {
        // Original, modified, current, the patch, what comes of it.
        let table = [
            ("{a: 1}", "{}", "{a: 1, status: x}", "{a: null}", "{status: x}"),
            ("null", "{a: 1}", "{status: x}", "{a: 1}", "{status: x, a: 1}"),
            ("{}", "{a: {b: 1}}", "{a: {c: 1}}", "{a: {b: 1}}", "{a: {c: 1, b: 1}}"),
            ("{a: {b: 1, d: 1}}", "{a: {b: 2}}", "{a: {b: 1, c: 1}}", "{a: {b: 2}}", "{a: {b: 2, c: 1}}"),
            ("{a: {b: 1}}", "{a: {}}", "{a: {b: 1, c: 1}}", "{a: {b: null}}", "{a: {c: 1}}"),
            ("{a: {b: 1}}", "{}", "{a: {b: 1, c: 1}}", "{a: null}", "{}"),
            ("{a: {b: 1}}", "{a: {}}", "{}", "{a: {}}", "{a: {}}"),
            ("{a: [1]}", "{a: [1, 2]}", "{a: [1, 3]}", "{a: [1, 2]}", "{a: [1, 2]}"),
            ("{a: 1}", "{a: null}", "{a: 1}", "{a: null}", "{}"),
            ("{a: 1}", "{a: null}", "{}", "{}", "{}"),
            ("{a: 1}", "{a: {b: 1}}", "{a: 1}", "{a: {b: 1}}", "{a: {b: 1}}"),
        ];
        for (original, modified, current, patch, result) in table {
            let [original, modified, mut current] = [original, modified, current].map(node);
            let options = ThreeWayOptions::default();
            let got = create_json_merge_three_way(&original, &modified, &current, &options).expect("made");
            assert_eq!(json(&got), json(&node(patch)), "{original:?} {modified:?} {current:?}");
            let operations =
                create_json_patch_three_way(&original, &modified, &current, &options).expect("made");
            let mut by_operations = current.clone();
            let operations = crate::patch::parse_json_patch(&operations).expect("a list");
            operations.apply(&mut by_operations).expect("applies");
            apply_json_merge(&mut current, &got);
            assert_eq!(json(&current), json(&node(result)));
            assert_eq!(json(&by_operations), json(&node(result)));
        }
    }

    #[test]
    fn conflicts_are_found_unless_they_are_overwritten() {
        let made = |original: &str, modified: &str, current: &str| {
            let options = ThreeWayOptions::default().overwrite(false);
            let made =
                create_json_merge_three_way(&node(original), &node(modified), &node(current), &options);
            made.map(|patch| json(&patch)).map_err(|error| error.to_string())
        };
        let problem = "a.b: this was changed on both sides since it was applied last";
        assert_eq!(made("{a: {b: 1}}", "{a: {b: 2}}", "{a: {b: 3}}"), Err(problem.into()));
        assert_eq!(made("{a: {b: 1}}", "{a: {b: 2}}", "{a: {b: 2}}"), Ok("{}".into()));
        assert_eq!(made("{a: {b: 1}}", "{a: {b: 2}}", "{a: {b: 1, c: 3}}"), Ok(r#"{"a":{"b":2}}"#.into()));
        let renamed = made("{}", "{metadata: {name: b}}", "{metadata: {name: a}}");
        assert_eq!(renamed, Err("metadata.name: the patch would change what names the object".into()));
    }
}
