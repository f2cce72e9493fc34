//! Values of a chart: converts inline values to a tree and merges them with a values file.

use serde_yaml::{Mapping, Value as Inline};

use smp_merge::merge::{InferKeys, ListOrder, MergeOptions, merge2};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node};

/// The maximum nesting depth of values. The YAML parser allows less.
const MAX_DEPTH: usize = 500;

/// The largest exact integer. kustomize reads inline values through JSON, which turns larger ones into floats.
const EXACT: u64 = 1 << 53;

/// Converts inline values to a tree.
pub(super) fn inline_values_tree(values: &Mapping) -> Result<Node> {
    inline_map(values, 0)
}

fn inline_map(values: &Mapping, depth: usize) -> Result<Node> {
    let mut map = Map::new();
    for (key, value) in values {
        let key = match key {
            Inline::String(key) => key.clone(),
            Inline::Bool(key) => key.to_string(),
            Inline::Number(key) => key.to_string(),
            _ => return Err(Diagnostic::error(Code::WrongType, "keys of values must be strings")),
        };
        map.insert(key.as_str(), inline(value, depth + 1)?);
    }
    Ok(Node::map(map))
}

fn inline(value: &Inline, depth: usize) -> Result<Node> {
    check_depth(depth)?;
    Ok(match value {
        Inline::Null => Node::null(),
        Inline::Bool(value) => Node::from(*value),
        Inline::Number(value) => Node::plain(number(value)),
        Inline::String(text) => Node::string(text.as_str()),
        Inline::Sequence(list) => {
            Node::list(list.iter().map(|v| inline(v, depth + 1)).collect::<Result<_>>()?)
        }
        Inline::Mapping(map) => inline_map(map, depth)?,
        Inline::Tagged(tagged) => inline(&tagged.value, depth + 1)?,
    })
}

#[expect(clippy::cast_precision_loss, reason = "kustomize also loses precision")]
fn number(number: &serde_yaml::Number) -> String {
    match (number.as_i64(), number.as_u64()) {
        (Some(n), _) if n.unsigned_abs() > EXACT => (n as f64).to_string(),
        (None, Some(n)) => (n as f64).to_string(),
        _ => number.to_string(),
    }
}

fn check_depth(depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        let message = format!("values are nested more than {MAX_DEPTH} levels deep");
        return Err(Diagnostic::error(Code::LimitExceeded, message));
    }
    Ok(())
}

/// Merges `from` into `into` by the rules of kyaml's merge2, without inferred merge keys.
///
/// # Errors
/// A map is merged with a list or a scalar, or a `$patch` directive is unknown.
pub(super) fn merge(from: &Node, into: Node, schema: &Schema) -> Result<Node> {
    let options = MergeOptions::kyaml(ListOrder::Append, InferKeys::Off);
    // Values have no schema, so lists are replaced. helm replaces lists as well.
    Ok(merge2(Some(into), from, schema, &options)?.node.unwrap_or_else(|| Node::map(Map::new())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one, to_yaml};

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("values.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).expect(text)
    }

    fn merged(from: &str, into: &str) -> String {
        let result = merge(&node(from), node(into), &Schema::default());
        let result = result.unwrap_or_else(|e| panic!("{from} over {into}: {e}"));
        to_yaml(&result).expect("printable").trim_end().replace('\n', "; ")
    }

    #[test]
    fn maps_are_merged_and_the_rest_is_replaced() {
        // Observed with `kustomize build --enable-helm`, v5.8.3.
        let table = [
            ("a: 1", "b: 2", "a: 1; b: 2"),
            ("a: 1", "a: 2", "a: 1"),
            ("a: {b: 1}", "a: {c: 2}", "a:;   b: 1;   c: 2"),
            ("a: [1]", "a: [2, 3]", "a:; - 1"),
            ("a: []", "a: [2, 3]", "a: []"),
            ("a: {}", "a: {b: 1}", "a:;   b: 1"),
            // null removes the value and is not kept.
            ("a: null", "a: 1; b: 2", "b: 2"),
            ("a: null", "{a: {b: 1}, c: 2}", "c: 2"),
            ("a: ~", "{a: [1], c: 2}", "c: 2"),
            ("{a: null, b: 1}", "{}", "b: 1"),
            ("a: {b: null, c: 1}", "{}", "a:;   c: 1"),
            ("a: {b: null}", "a: null", "a: {}"),
            // An existing null is kept if it is explicit.
            ("b: 1", "a: null", "a: null; b: 1"),
            ("b: 1", "a: ~", "a: null; b: 1"),
            ("b: 1", "a:", "b: 1"),
            ("{a: null, b: 1}", "a: null", "b: 1"),
            ("a: 1", "a: null", "a: 1"),
            ("{}", "a: {b: null, c: }", "a:;   b: null"),
            // Directives.
            ("a: {$patch: delete}", "a: {b: 1}", "{}"),
            ("a: {$patch: replace, c: 1}", "a: {b: 1}", "a:;   c: 1"),
            ("a: {$patch: merge, c: 1}", "a: {b: 1}", "a:;   b: 1;   c: 1"),
        ];
        for (from, into, want) in table {
            let (from, into) = (from.replace("; ", "\n"), into.replace("; ", "\n"));
            assert_eq!(merged(&from, &into), want, "{from} over {into}");
        }
    }

    #[test]
    fn merging_different_types_is_an_error() {
        for (from, into) in [("a: 1", "a: {b: 1}"), ("a: [1]", "a: 1"), ("a: {b: 1}", "a: [1]")] {
            let error = merge(&node(from), node(into), &Schema::default()).expect_err("other kinds");
            assert_eq!(error.code(), Code::WrongType, "{from} over {into}");
        }
        let error = merge(&node("a: {$patch: x}"), node("a: {}"), &Schema::default()).expect_err("unknown");
        assert_eq!(error.code(), Code::Directive);
    }

    #[test]
    fn inline_values_are_typed() {
        let text = "a: 1\nb: 1.5\nc: '1'\nd: true\ne: null\nf: [x, {y: z}]\n\
                    g: 9007199254740993\nh: 12345678901234567890\n";
        let values: Mapping = serde_yaml::from_str(text).expect("valid");
        let tree = inline_values_tree(&values).expect("shallow");
        assert_eq!(
            to_yaml(&tree).expect("printable"),
            "a: 1\nb: 1.5\nc: \"1\"\nd: true\ne: null\nf:\n- x\n- \"y\": z\ng: 9007199254740992\nh: 12345678901234567000\n"
        );
    }
}
