//! The patch of `kubectl apply` (apimachinery 0.36, `CreateThreeWayMergePatch`), created from the last-applied, the
//! desired and the live object.

use super::conflict::check_maps;
use super::create::{CreationRules, PatchPart, ServerPatchOptions, diff};
use super::inputs::{PatchInputs, ThreeWayOptions};
use crate::merge::Trail;
use crate::merge::apiserver::join_patches;
use crate::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::{Map, Node};

/// Creates the patch that turns `current` into `modified`, and removes the fields that `original` has and `modified` no
/// longer has. Additions by other owners in `current` are kept.
///
/// A null original is treated as an empty object: the object was never applied.
///
/// # Errors
/// The errors of [`create`](super::create). The error is [`Code::Conflict`] if the patch would overwrite changes by
/// other owners and the options do not allow that, or if it would change the object's identity.
pub fn create_three_way(
    original: &Node,
    modified: &Node,
    current: &Node,
    kind: Cursor<'_>,
    options: &ThreeWayOptions,
) -> Result<Node> {
    let sides = PatchInputs { original, modified, current: Some(current) };
    create_three_way_by(&sides, kind, *options, CreationRules::Server)
}

/// Creates a three-way patch. `rules` determine which list entries have `$patchMergeKey`.
///
/// # Errors
/// The errors of [`create_three_way`].
pub(super) fn create_three_way_by(
    sides: &PatchInputs<'_>,
    kind: Cursor<'_>,
    options: ThreeWayOptions,
    rules: CreationRules,
) -> Result<Node> {
    let root = Trail::root();
    let nothing = Node::map(Map::new());
    let PatchInputs { original, modified, .. } = *sides;
    let current = sides.input();
    let original = if original.is_null() { &nothing } else { original };
    let changes = diff(current, modified, kind, ServerPatchOptions { part: PatchPart::Changes, rules })?;
    let deletions = diff(original, modified, kind, ServerPatchOptions { part: PatchPart::Deletions, rules })?;
    let patch = join_patches(deletions, &changes, kind, &root)?;
    if options.same_identity {
        check_patch_identity(&patch, &root)?;
    }
    if !options.overwrite {
        check_conflicts(&patch, original, current, kind)?;
    }
    Ok(Node::map(patch))
}

/// Checks that a patch does not overwrite changes by other owners.
///
/// # Errors
/// The first conflict, as in [`create_three_way`].
pub(super) fn check_conflicts(patch: &Map, original: &Node, current: &Node, kind: Cursor<'_>) -> Result<()> {
    let nothing = Node::map(Map::new());
    let original = if original.is_null() { &nothing } else { original };
    let others = ServerPatchOptions { part: PatchPart::Unordered, rules: CreationRules::Server };
    let others = diff(original, current, kind, others)?;
    check_maps(patch, &others, kind, &Trail::root())
}

/// Checks that an object keeps its identity.
///
/// # Errors
/// `apiVersion`, `kind` or `metadata.name` differs.
pub(super) fn check_identity(current: &Node, expected: &Node) -> Result<()> {
    let root = Trail::root();
    let differs = |path: &[&str]| current.get_path(path) != expected.get_path(path);
    for path in [&["apiVersion"] as &[&str], &["kind"], &["metadata", "name"]] {
        if differs(path) {
            let (metadata, name) = (root.field("metadata"), path[path.len() - 1]);
            let at = if path.len() > 1 { &metadata } else { &root };
            let span = expected.get_path(path).map(Node::span).unwrap_or_default();
            return Err(identity_error(span, &at.field(name)));
        }
    }
    Ok(())
}

fn identity_error(span: Span, at: &Trail<'_>) -> Diagnostic {
    at.error(Code::Conflict, "the patch would change the object's identity")
        .at(span)
        .help("delete the object and create a new one")
}

/// Checks that a patch does not change an object's identity.
fn check_patch_identity(patch: &Map, root: &Trail<'_>) -> Result<()> {
    let metadata = root.field("metadata");
    let names = patch.get("metadata").and_then(Node::as_map);
    for (map, at, name) in
        [(Some(patch), root, "apiVersion"), (Some(patch), root, "kind"), (names, &metadata, "name")]
    {
        if let Some(node) = map.and_then(|map| map.get(name)) {
            return Err(identity_error(node.span(), &at.field(name)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{TypeGraph, openapi};
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one, to_json};

    const SCHEMA: &str = r##"
definitions:
  Thing:
    type: object
    properties:
      apiVersion: {type: string}
      kind: {type: string}
      metadata: {$ref: "#/definitions/Thing"}
      name: {type: string}
      value: {type: string}
      labels: {type: object, additionalProperties: {type: string}}
      union: {$ref: "#/definitions/Thing", x-kubernetes-patch-strategy: retainKeys}
      replaced: {$ref: "#/definitions/Thing", x-kubernetes-patch-strategy: replace}
      args: {type: array, items: {type: string}}
      things: {type: array, items: {$ref: "#/definitions/Thing"}}
      finalizers: {type: array, items: {type: string}, x-kubernetes-patch-strategy: merge}
      list:
        type: array
        items: {$ref: "#/definitions/Thing"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: name
      pairs:
        type: array
        items: {$ref: "#/definitions/Thing"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: name
        x-kubernetes-recommended-patch-merge-key: name,kind
"##;

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("t.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn graph() -> TypeGraph {
        openapi::read(&node(SCHEMA)).expect("readable").compile().expect("small")
    }

    fn json(node: &Node) -> String {
        to_json(node).expect("finite")
    }

    /// Returns the patch as JSON, or the error as `code: field: message`.
    fn made(original: &str, modified: &str, current: &str, options: ThreeWayOptions) -> String {
        let graph = graph();
        let cursor = graph.named("Thing").expect("defined");
        match create_three_way(&node(original), &node(modified), &node(current), cursor, &options) {
            Ok(patch) => json(&patch),
            Err(error) => format!("{:?}: {error}", error.code()),
        }
    }

    #[test]
    fn fields_removed_since_the_last_apply_are_removed_and_others_stay() {
        // Original, modified, current, expected patch.
        let table = [
            ("{name: a, value: b}", "{name: c}", "{name: a, value: b, kind: k}", "{name: c, value: null}"),
            ("{}", "{name: a}", "{value: b}", "{name: a}"),
            ("null", "{name: a}", "{value: b}", "{name: a}"),
            ("{value: b}", "{}", "{}", "{value: null}"),
            (
                "{labels: {a: x, b: y}}",
                "{labels: {a: z}}",
                "{labels: {a: x, c: w}}",
                "{labels: {a: z, b: null}}",
            ),
            (
                "{list: [{name: a}, {name: b}]}",
                "{list: [{name: a, value: x}]}",
                "{list: [{name: a}, {name: b}, {name: c}]}",
                "{$setElementOrder/list: [{name: a}], list: [{name: a, value: x}, {$patch: delete, name: b}]}",
            ),
            (
                "{finalizers: [a, b]}",
                "{finalizers: [b, d]}",
                "{finalizers: [a, b, c]}",
                "{$setElementOrder/finalizers: [b, d], finalizers: [d], \
                 $deleteFromPrimitiveList/finalizers: [a]}",
            ),
            (
                "{list: [{name: a, value: x}]}",
                "{list: [{name: a}]}",
                "{list: [{name: a, value: x, kind: k}]}",
                "{$setElementOrder/list: [{name: a}], list: [{name: a, value: null}]}",
            ),
            (
                "{union: {name: a, value: b}}",
                "{union: {name: a, kind: k}}",
                "{union: {name: a, value: b}}",
                "{union: {$retainKeys: [kind, name], kind: k, value: null}}",
            ),
            (
                "{replaced: {name: a}}",
                "{replaced: {name: a}}",
                "{replaced: {name: a}}",
                "{replaced: {name: a}}",
            ),
            (
                "{pairs: [{name: a, kind: x}, {name: a, kind: y}]}",
                "{pairs: [{name: a, kind: x, value: v}]}",
                "{pairs: [{name: a, kind: x}, {name: a, kind: y}]}",
                "{$setElementOrder/pairs: [{name: a, kind: x}], \
                 pairs: [{$patchMergeKey: [name, kind], name: a, kind: x, value: v}, \
                 {$patchMergeKey: [name, kind], $patch: delete, name: a, kind: y}]}",
            ),
        ];
        for (original, modified, current, want) in table {
            let got = made(original, modified, current, ThreeWayOptions::default());
            assert_eq!(got, json(&node(want)), "{original} {modified} {current}");
        }
    }

    #[test]
    fn conflicting_changes_by_others_are_errors_without_overwrite() {
        let keep = ThreeWayOptions::default().overwrite(false);
        let conflict = |field: &str| {
            format!(
                "Conflict: {field}: the cluster and the manifest both changed this field since the last apply"
            )
        };
        let table = [
            ("{value: a}", "{value: b}", "{value: a}", r#"{"value":"b"}"#.to_string()),
            ("{value: a}", "{value: b}", "{value: b}", "{}".into()),
            ("{value: a}", "{value: b}", "{value: c}", conflict("value")),
            ("{value: a}", "{}", "{value: c}", conflict("value")),
            ("{labels: {a: x}}", "{labels: {a: y}}", "{labels: {a: z}}", conflict("labels.a")),
            (
                "{labels: {a: x}}",
                "{labels: {a: y}}",
                "{labels: {a: x, b: z}}",
                r#"{"labels":{"a":"y"}}"#.into(),
            ),
            ("{args: [a]}", "{args: [b]}", "{args: [c]}", conflict("args")),
            ("{args: [a]}", "{args: [c, b]}", "{args: [b, c]}", r#"{"args":["c","b"]}"#.into()),
            ("{args: [a]}", "{args: [b]}", "{args: [c, d]}", conflict("args")),
            (
                "{things: [{name: a}]}",
                "{things: [{name: b}]}",
                "{things: [{name: c}]}",
                conflict("things[0].name"),
            ),
            (
                "{list: [{name: a, value: x}]}",
                "{list: [{name: a, value: y}]}",
                "{list: [{name: a, value: z}]}",
                conflict("list[name=a].value"),
            ),
            (
                "{list: [{name: a, value: x}, {name: b}]}",
                "{list: [{name: a, value: y}, {name: b}]}",
                "{list: [{name: a, value: x}, {name: b, value: z}]}",
                r#"{"$setElementOrder/list":[{"name":"a"},{"name":"b"}],"list":[{"name":"a","value":"y"}]}"#
                    .into(),
            ),
            ("{finalizers: [a]}", "{finalizers: [b]}", "{finalizers: [a, c]}", {
                r#"{"$deleteFromPrimitiveList/finalizers":["a"],"$setElementOrder/finalizers":["b"],"finalizers":["b"]}"#
                    .into()
            }),
            ("{finalizers: [c, b]}", "{finalizers: [b, d]}", "{finalizers: [d, b, e]}", {
                r#"{"$deleteFromPrimitiveList/finalizers":["c"],"$setElementOrder/finalizers":["b","d"]}"#
                    .into()
            }),
            // The manifest deletes the entry, the cluster changes it.
            (
                "{list: [{name: a, value: x}, {name: b}]}",
                "{list: [{name: b}]}",
                "{list: [{name: a, value: y}, {name: b}]}",
                conflict("list[name=a]"),
            ),
        ];
        for (original, modified, current, want) in table {
            assert_eq!(made(original, modified, current, keep), want, "{original} {modified} {current}");
            let overwritten = made(original, modified, current, ThreeWayOptions::default());
            assert!(overwritten.starts_with('{'), "{original} {modified} {current} {overwritten}");
        }
    }

    #[test]
    fn the_identity_of_an_object_cannot_change() {
        let before = "{apiVersion: v1, kind: A, metadata: {name: x, value: 'y'}}";
        let table = [
            (before, "{}"),
            ("{apiVersion: v2, kind: A, metadata: {name: x}}", "Conflict: apiVersion: "),
            ("{apiVersion: v1, kind: B, metadata: {name: x}}", "Conflict: kind: "),
            ("{apiVersion: v1, kind: A, metadata: {name: z}}", "Conflict: metadata.name: "),
            ("{apiVersion: v1, kind: A, metadata: {name: x, value: z}}", r#"{"metadata":{"value":"z"}}"#),
        ];
        for (modified, want) in table {
            let got = made("null", modified, before, ThreeWayOptions::default());
            assert!(got.starts_with(want), "{modified} {got}");
            let free = ThreeWayOptions::default().same_identity(false);
            assert!(made("null", modified, before, free).starts_with('{'), "{modified}");
        }
        let unknown = create_three_way(
            &node("{}"),
            &node("{}"),
            &node("{}"),
            Cursor::unknown(),
            &ThreeWayOptions::default(),
        );
        assert_eq!(unknown.expect_err("no schema").code(), Code::NoSchema);
    }
}
