//! Creates JSON patches.

use smp_text::path::with_step;
use smp_text::yaml::{Map, Node, Value};

/// Creates the JSON patch that turns `original` into `modified`: a list of `add`, `remove` and `replace` operations.
///
/// Lists are compared by index. Additional entries are added or removed at the end.
///
/// ```
/// use strategic_merge_patch::patch::{create_json_patch, parse_json_patch};
/// use smp_text::yaml::Node;
/// use serde_json::json;
///
/// let (mut live, wanted) = (Node::from(&json!({"a": [1, 2]})), Node::from(&json!({"a": [1, 3], "b": null})));
/// let patch = create_json_patch(&live, &wanted);
/// parse_json_patch(&patch)?.apply(&mut live)?;
/// assert_eq!(live, wanted);
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[must_use]
pub fn create_json_patch(original: &Node, modified: &Node) -> Node {
    let mut operations = Vec::new();
    compare(original, modified, &mut String::new(), &mut operations);
    Node::list(operations)
}

fn compare(original: &Node, modified: &Node, path: &mut String, out: &mut Vec<Node>) {
    match (&original.value, &modified.value) {
        _ if original == modified => {}
        (Value::Map(from), Value::Map(to)) => maps(from, to, path, out),
        (Value::List(from), Value::List(to)) => lists(from, to, path, out),
        _ => out.push(operation("replace", path, Some(modified))),
    }
}

fn maps(from: &Map, to: &Map, path: &mut String, out: &mut Vec<Node>) {
    let (old, new) = (from.index(), to.index());
    for (key, _) in from.iter().filter(|(key, _)| new.position(key).is_none()) {
        with_step(path, key, |path| out.push(operation("remove", path, None)));
    }
    for (key, value) in to.iter() {
        with_step(path, key, |path| match old.position(key).and_then(|i| from.entries().get(i)) {
            Some(entry) => compare(&entry.value, value, path, out),
            None => out.push(operation("add", path, Some(value))),
        });
    }
}

fn lists(from: &[Node], to: &[Node], path: &mut String, out: &mut Vec<Node>) {
    for (i, (old, new)) in from.iter().zip(to).enumerate() {
        with_step(path, &i.to_string(), |path| compare(old, new, path, out));
    }
    // The loop starts at the end, so that the other indices stay valid.
    for i in (to.len()..from.len()).rev() {
        with_step(path, &i.to_string(), |path| out.push(operation("remove", path, None)));
    }
    for new in to.iter().skip(from.len()) {
        with_step(path, "-", |path| out.push(operation("add", path, Some(new))));
    }
}

fn operation(op: &str, path: &str, value: Option<&Node>) -> Node {
    let mut map = Map::new();
    map.push("op", Node::string(op));
    map.push("path", Node::string(path));
    if let Some(value) = value {
        map.push("value", value.clone());
    }
    Node::map(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::parse_json_patch;
    use serde_json::json;
    use smp_text::yaml::to_json;

    #[test]
    fn a_created_patch_yields_the_modified_object() {
        let table = [
            (json!({"a": 1}), json!({"a": 1}), "[]"),
            (json!({"a": 1}), json!({"a": 2}), r#"[{"op":"replace","path":"/a","value":2}]"#),
            (
                json!({"a/b": 1, "~": 2}),
                json!({}),
                r#"[{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/~0"}]"#,
            ),
            (
                json!({"l": [1, 2, 3]}),
                json!({"l": [1]}),
                r#"[{"op":"remove","path":"/l/2"},{"op":"remove","path":"/l/1"}]"#,
            ),
            (
                json!({"l": [1]}),
                json!({"l": [2, {}]}),
                r#"[{"op":"replace","path":"/l/0","value":2},{"op":"add","path":"/l/-","value":{}}]"#,
            ),
            (json!({"a": {}}), json!({"a": []}), r#"[{"op":"replace","path":"/a","value":[]}]"#),
        ];
        for (original, modified, want) in table {
            let (mut node, wanted) = (Node::from(&original), Node::from(&modified));
            let patch = create_json_patch(&node, &wanted);
            assert_eq!(to_json(&patch).expect("json"), want);
            parse_json_patch(&patch).expect("a patch").apply(&mut node).expect("applies");
            assert_eq!(node, wanted);
        }
    }
}
