//! The annotation in which `kubectl apply` stores the last-applied configuration.

use serde_json::Value as Json;

use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node, to_json};

/// The name of the annotation.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns the last-applied configuration of a live object, including the annotation, as kubectl sends it.
///
/// # Errors
/// The object has no such annotation ([`Code::MissingField`]), the annotation belongs to another object
/// ([`Code::Conflict`]), is not JSON, or has a duplicate key.
pub fn last_applied(live: &Node) -> Result<Node> {
    let annotation = live.get_path(&["metadata", "annotations", LAST_APPLIED]);
    let Some(annotation) = annotation.filter(|node| !node.is_null()) else {
        let message = format!("the object has no annotation `{LAST_APPLIED}`");
        return Err(Diagnostic::error(Code::MissingField, message).at(live.span().at_start()).help(
            "the object has no copy of the manifest of its last `kubectl apply`: provide the last applied configuration as a file",
        ));
    };
    let json: Option<Json> = annotation.as_str().and_then(|text| serde_json::from_str(text).ok());
    let mut applied = json.filter(Json::is_object).map(|json| Node::from(&json)).ok_or_else(|| {
        let message = format!("the annotation `{LAST_APPLIED}` is not a JSON object");
        Diagnostic::error(Code::Syntax, message).at(annotation.span())
    })?;
    check_keys(annotation)?;
    check_object(live, &applied, annotation)?;
    if let Some(annotations) = annotations_of(&mut applied) {
        annotations.insert(LAST_APPLIED, annotation.clone());
    }
    Ok(applied)
}

/// Rejects duplicate keys. JSON is YAML, and the YAML parser detects them.
fn check_keys(annotation: &Node) -> Result<()> {
    let read = annotation.as_str().unwrap_or_default().parse::<Node>();
    let Some(error) = read.err().filter(|error| error.code() == Code::DuplicateKey) else { return Ok(()) };
    let message = format!("the annotation `{LAST_APPLIED}` is invalid: {}", error.message());
    Err(Diagnostic::error(Code::DuplicateKey, message)
        .at(annotation.span())
        .help("provide the last applied configuration as a file instead"))
}

/// Checks that the annotation belongs to the object. Its apiVersion may differ.
fn check_object(live: &Node, applied: &Node, annotation: &Node) -> Result<()> {
    for path in [&["kind"] as &[&str], &["metadata", "name"], &["metadata", "namespace"]] {
        let text = |node: &Node| node.get_path(path).and_then(Node::scalar_text).cloned();
        let (Some(is), Some(was)) = (text(live), text(applied)) else { continue };
        if is != was {
            let field = path.join(".");
            let message = format!(
                "the annotation `{LAST_APPLIED}` belongs to another object: its {field} is `{was}`, not `{is}`"
            );
            return Err(Diagnostic::error(Code::Conflict, message)
                .at(annotation.span())
                .help("the annotation was probably copied: provide the last applied configuration as a file instead"));
        }
    }
    Ok(())
}

/// Returns the object with its own configuration in the last-applied annotation, as `kubectl apply` sends it.
///
/// # Errors
/// A value cannot be represented in JSON.
pub fn with_last_applied(modified: &Node) -> Result<Node> {
    let mut modified = modified.clone();
    if let Some(annotations) = annotations_of(&mut modified) {
        annotations.remove(LAST_APPLIED);
    }
    let text = to_json(&modified)? + "\n";
    if let Some(annotations) = annotations_of(&mut modified) {
        annotations.push(LAST_APPLIED, Node::string(text));
    }
    Ok(modified)
}

/// Returns the annotations of an object. Adds an empty map if there are none.
fn annotations_of(object: &mut Node) -> Option<&mut Map> {
    map_in(map_in(object.as_map_mut()?, "metadata")?, "annotations")
}

/// Returns the map in a field. Adds an empty map if the field is missing.
fn map_in<'m>(map: &'m mut Map, name: &str) -> Option<&'m mut Map> {
    if map.get(name).is_some_and(Node::is_null) {
        map.remove(name);
    }
    map.get_or_insert_with(name, || Node::map(Map::new())).as_map_mut()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_annotation_is_written_as_kubectl_does_and_round_trips() {
        let modified =
            Node::from(&json!({"kind": "A", "metadata": {"name": "<a>"}, "b": 1, "apiVersion": "v1"}));
        let annotated = with_last_applied(&modified).expect("JSON");
        let text = annotated.get_path(&["metadata", "annotations", LAST_APPLIED]).and_then(Node::as_str);
        let want = "{\"apiVersion\":\"v1\",\"b\":1,\"kind\":\"A\",\"metadata\":{\"annotations\":{},\"name\":\
                    \"\\u003ca\\u003e\"}}\n";
        assert_eq!(text, Some(want));
        // A previous value of the annotation is ignored.
        assert_eq!(with_last_applied(&annotated), Ok(annotated.clone()));
        assert_eq!(last_applied(&annotated), Ok(annotated.clone()));
    }

    #[test]
    fn objects_without_the_annotation_are_rejected() {
        let live = |annotations: Json| Node::from(&json!({"metadata": {"annotations": annotations}}));
        for (annotations, code) in [
            (json!({}), Code::MissingField),
            (json!(null), Code::MissingField),
            (json!({LAST_APPLIED: null}), Code::MissingField),
            (json!({LAST_APPLIED: "[]"}), Code::Syntax),
            (json!({LAST_APPLIED: "{"}), Code::Syntax),
            (json!({LAST_APPLIED: 1}), Code::Syntax),
        ] {
            assert_eq!(
                last_applied(&live(annotations.clone())).expect_err("wrong").code(),
                code,
                "{annotations}"
            );
        }
    }
}
