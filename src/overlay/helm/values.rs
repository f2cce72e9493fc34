//! The values that a chart gets: inline values and values files put together.
//!
//! As `merge2.Merge` of kyaml without a schema, which kustomize (v5.8.1) uses here: maps are merged,
//! lists and scalars are replaced, null removes. Values that are manifests (a map with `apiVersion`
//! and `kind` inside of them) have no merge keys here either.

use serde_yaml::{Mapping, Value as Inline};

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::yaml::{Map, Node, Value};

/// How many levels values may have; the reader of YAML allows fewer.
const MAX_DEPTH: usize = 500;

/// Integers beyond this become floats in kustomize, which reads inline values through JSON.
const EXACT: u64 = 1 << 53;

/// Inline values as a tree.
pub(super) fn tree(values: &Mapping) -> Result<Node> {
    inline_map(values, 0)
}

fn inline_map(values: &Mapping, depth: usize) -> Result<Node> {
    let mut map = Map::new();
    for (key, value) in values {
        let key = match key {
            Inline::String(key) => key.clone(),
            Inline::Bool(key) => key.to_string(),
            Inline::Number(key) => key.to_string(),
            _ => return Err(Diagnostic::error(Code::WrongType, "a name of a value must be a string")),
        };
        map.insert(key.as_str(), inline(value, depth + 1)?);
    }
    Ok(Node::map(map))
}

fn inline(value: &Inline, depth: usize) -> Result<Node> {
    check(depth)?;
    Ok(match value {
        Inline::Null => Node::null(),
        Inline::Bool(value) => Node::bool(*value),
        Inline::Number(value) => Node::plain(number(value)),
        Inline::String(text) => Node::string(text.as_str()),
        Inline::Sequence(list) => {
            Node::list(list.iter().map(|v| inline(v, depth + 1)).collect::<Result<_>>()?)
        }
        Inline::Mapping(map) => inline_map(map, depth)?,
        Inline::Tagged(tagged) => inline(&tagged.value, depth + 1)?,
    })
}

#[expect(clippy::cast_precision_loss, reason = "kustomize loses it, too")]
fn number(number: &serde_yaml::Number) -> String {
    match (number.as_i64(), number.as_u64()) {
        (Some(n), _) if n.unsigned_abs() > EXACT => (n as f64).to_string(),
        (None, Some(n)) => (n as f64).to_string(),
        _ => number.to_string(),
    }
}

fn check(depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        let message = format!("values nest deeper than {MAX_DEPTH} levels");
        return Err(Diagnostic::error(Code::LimitExceeded, message));
    }
    Ok(())
}

/// Merges `from` over `into`; none when nothing is left.
///
/// # Errors
/// A map meets a list or a scalar, or a `$patch` that nobody knows.
pub(super) fn merge(from: &Node, into: Node) -> Result<Option<Node>> {
    walk(Some(into), Some(from), 0)
}

/// What an absent or null value says.
fn given(node: Option<&Node>) -> Option<&Node> {
    node.filter(|node| !node.is_null())
}

fn walk(into: Option<Node>, from: Option<&Node>, depth: usize) -> Result<Option<Node>> {
    check(depth)?;
    let Some(kind) = given(into.as_ref()).or(given(from)) else {
        // A null that is written out stays, unless it is written on both sides.
        return Ok(into.filter(|n| from.is_none() && n.scalar_text().is_some_and(|t| !t.is_empty())));
    };
    let same = |node: &Node| std::mem::discriminant(&node.value) == std::mem::discriminant(&kind.value);
    if let Some(other) = given(from).filter(|node| !same(node)) {
        let message = format!("values cannot be merged: {} meets {}", kind.type_name(), other.type_name());
        return Err(Diagnostic::error(Code::WrongType, message)
            .at(kind.span())
            .label(other.span(), "this one"));
    }
    if matches!(kind.value, Value::Map(_)) {
        return walk_map(into, from, depth);
    }
    match from {
        Some(from) => Ok(given(Some(from)).cloned()),
        None => Ok(into),
    }
}

fn walk_map(into: Option<Node>, from: Option<&Node>, depth: usize) -> Result<Option<Node>> {
    if from.is_some_and(Node::is_null) {
        return Ok(None);
    }
    let directive = from.and_then(|node| node.get("$patch")).map(|node| (node, node.scalar_text()));
    let into = match directive.map(|(node, text)| (node, text.map_or("", |t| t.as_str()))) {
        Some((_, "delete")) => return Ok(None),
        Some((_, "replace")) => None,
        None | Some((_, "merge")) => into.filter(|node| !node.is_null()),
        Some((node, text)) => {
            return Err(Diagnostic::error(Code::Directive, format!("`$patch: {text}` is unknown"))
                .at(node.span())
                .help("possible here: merge, replace, delete"));
        }
    };
    let from = from.and_then(Node::as_map);
    // What is only on one side is merged with itself there, which removes its nulls.
    let mut result = match (into, from) {
        (Some(node), _) => node,
        (None, Some(from)) => {
            let mut node = Node::map(from.clone());
            node.as_map_mut().map(|map| map.remove("$patch"));
            node
        }
        (None, None) => return Ok(None),
    };
    let added = from.map(|from| fields_to_add(result.as_map(), from)).unwrap_or_default();
    if let Some(map) = result.as_map_mut() {
        let from_index = from.map(Map::index);
        for mut entry in std::mem::take(map.entries_mut()) {
            let other = from_index
                .as_ref()
                .zip(from)
                .and_then(|(index, map)| index.position(&entry.key.text).map(|i| &map.entries()[i].value));
            if let Some(value) = walk(Some(entry.value), other, depth + 1)? {
                entry.value = value;
                map.entries_mut().push(entry);
            }
        }
        for entry in added {
            if let Some(value) = walk(None, Some(&entry.value), depth + 1)? {
                map.push(entry.key.clone(), value);
            }
        }
    }
    Ok(Some(result))
}

/// The fields of `from` that `into` does not have.
fn fields_to_add<'f>(into: Option<&Map>, from: &'f Map) -> Vec<&'f crate::yaml::Entry> {
    let index = into.map(Map::index);
    let is_new = |key: &str| key != "$patch" && index.as_ref().is_none_or(|i| i.position(key).is_none());
    from.entries().iter().filter(|entry| is_new(&entry.key.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceMap;
    use crate::yaml::{ParseOptions, parse_one, to_yaml};

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("values.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).expect(text)
    }

    fn merged(from: &str, into: &str) -> String {
        let result = merge(&node(from), node(into)).unwrap_or_else(|e| panic!("{from} over {into}: {e}"));
        result.map_or_else(String::new, |n| to_yaml(&n).expect("printable").trim_end().replace('\n', "; "))
    }

    #[test]
    fn maps_are_merged_and_the_rest_is_replaced() {
        // Observed with `kustomize build --enable-helm`, v5.8.1.
        let table = [
            ("a: 1", "b: 2", "a: 1; b: 2"),
            ("a: 1", "a: 2", "a: 1"),
            ("a: {b: 1}", "a: {c: 2}", "a:;   b: 1;   c: 2"),
            ("a: [1]", "a: [2, 3]", "a:; - 1"),
            ("a: []", "a: [2, 3]", "a: []"),
            ("a: {}", "a: {b: 1}", "a:;   b: 1"),
            // null removes, and never arrives.
            ("a: null", "a: 1; b: 2", "b: 2"),
            ("a: null", "{a: {b: 1}, c: 2}", "c: 2"),
            ("a: ~", "{a: [1], c: 2}", "c: 2"),
            ("{a: null, b: 1}", "{}", "b: 1"),
            ("a: {b: null, c: 1}", "{}", "a:;   c: 1"),
            ("a: {b: null}", "a: null", "a: {}"),
            // A null that is there stays if it is written out.
            ("b: 1", "a: null", "a: null; b: 1"),
            ("b: 1", "a: ~", "a: null; b: 1"),
            ("b: 1", "a:", "b: 1"),
            ("{a: null, b: 1}", "a: null", "b: 1"),
            ("a: 1", "a: null", "a: 1"),
            ("{}", "a: {b: null, c: }", "a:;   b: null"),
            // Directives.
            ("a: {$patch: delete}", "a: {b: 1}", ""),
            ("a: {$patch: replace, c: 1}", "a: {b: 1}", "a:;   c: 1"),
            ("a: {$patch: merge, c: 1}", "a: {b: 1}", "a:;   b: 1;   c: 1"),
        ];
        for (from, into, want) in table {
            let (from, into) = (from.replace("; ", "\n"), into.replace("; ", "\n"));
            let want = if want.is_empty() { "{}" } else { want };
            assert_eq!(merged(&from, &into), want, "{from} over {into}");
        }
    }

    #[test]
    fn what_cannot_be_merged_is_an_error() {
        for (from, into) in [("a: 1", "a: {b: 1}"), ("a: [1]", "a: 1"), ("a: {b: 1}", "a: [1]")] {
            let error = merge(&node(from), node(into)).expect_err("other kinds");
            assert_eq!((error.code(), error.labels().len()), (Code::WrongType, 2), "{from} over {into}");
        }
        let error = merge(&node("a: {$patch: x}"), node("a: {}")).expect_err("unknown");
        assert_eq!(error.code(), Code::Directive);
    }

    #[test]
    fn inline_values_are_typed() {
        let text = "a: 1\nb: 1.5\nc: '1'\nd: true\ne: null\nf: [x, {y: z}]\n\
                    g: 9007199254740993\nh: 12345678901234567890\n";
        let values: Mapping = serde_yaml::from_str(text).expect("valid");
        let tree = tree(&values).expect("shallow");
        assert_eq!(
            to_yaml(&tree).expect("printable"),
            "a: 1\nb: 1.5\nc: \"1\"\nd: true\ne: null\nf:\n- x\n- \"y\": z\ng: 9007199254740992\nh: 12345678901234567000\n"
        );
    }
}
