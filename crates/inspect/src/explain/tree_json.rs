//! JSON output of the structure of a target.
//!
//! Nodes are written iteratively, since a deep tree would overflow the stack.

use serde::Serialize;

use super::tree::{BuildTree, TreeNode};
use smp_overlay::overlay::OutlinePartKind;
use smp_text::diagnostic::{Code, Diagnostic, Result, escaped_json};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonNode<'t> {
    kind: &'static str,
    name: &'t str,
    #[serde(skip_serializing_if = "str::is_empty")]
    value: &'t str,
    #[serde(skip_serializing_if = "str::is_empty")]
    by: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'t str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    objects: Option<Vec<JsonTreeObject<'t>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonTreeObject<'t> {
    api_version: String,
    kind: &'t str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'t str,
    name: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_by: Option<&'t str>,
}

/// Renders a JSON object for the target with its parts under `children`, one node per line.
///
/// # Errors
/// A value cannot be represented in JSON. No build creates such a value.
pub fn tree_to_json(tree: &BuildTree) -> Result<String> {
    let (mut out, mut open) = (String::new(), 0);
    for (i, node) in tree.nodes.iter().enumerate() {
        while open > node.part.depth {
            out.push_str("]}");
            open -= 1;
        }
        if i > 0 && !out.ends_with('[') {
            out.push(',');
        }
        if i > 0 {
            out.push('\n');
        }
        let text = serde_json::to_string(&json_node(tree, node)).map_err(|error| {
            Diagnostic::error(Code::InvalidValue, format!("cannot be written as JSON: {error}"))
        })?;
        let has_parts = tree.nodes.get(i + 1).is_some_and(|next| next.part.depth > node.part.depth);
        if has_parts {
            out.push_str(text.strip_suffix('}').unwrap_or(&text));
            out.push_str(",\"children\":[");
            open = node.part.depth + 1;
        } else {
            out.push_str(&text);
        }
    }
    (0..open).for_each(|_| out.push_str("]}"));
    Ok(escaped_json(&out) + "\n")
}

fn json_node<'t>(tree: &'t BuildTree, node: &'t TreeNode) -> JsonNode<'t> {
    let part = &node.part;
    let writes = !matches!(
        part.kind,
        OutlinePartKind::Validator
            | OutlinePartKind::Configuration
            | OutlinePartKind::Crd
            | OutlinePartKind::OpenApi
            | OutlinePartKind::Var
    );
    let object = |&i: &usize| {
        let object = &tree.objects[i];
        JsonTreeObject {
            api_version: object.id.gvk.api_version().to_string(),
            kind: &object.id.gvk.kind,
            namespace: &object.id.namespace,
            name: &object.id.name,
            deleted_by: object.deleted_by.as_deref(),
        }
    };
    let is_listed =
        |i: &&usize| part.kind != OutlinePartKind::Target || tree.objects[**i].deleted_by.is_none();
    let location = node.location.as_ref();
    let is_changer = matches!(
        part.kind,
        OutlinePartKind::Patch | OutlinePartKind::Transformer | OutlinePartKind::Function
    );
    JsonNode {
        kind: part.kind.as_str(),
        name: &part.name,
        value: &part.value,
        by: &part.entry,
        file: location.map(|location| location.file.as_str()),
        line: location.map(|location| location.line),
        column: location.map(|location| location.column),
        commit: part.commit.as_deref(),
        repeated: part.is_repeated,
        objects: writes.then(|| node.objects.iter().filter(is_listed).map(object).collect()),
        changed: (node.changed > 0 || is_changer).then_some(node.changed),
    }
}
