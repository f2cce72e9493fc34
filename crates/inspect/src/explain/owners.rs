//! The owners of a live object's fields, as a manifest with comments.

use smol_str::SmolStr;

use super::blame::{BlamedField, ResourceBlame};
use super::live::add_live;
use super::live_field::LiveState;
use super::secret::{HIDDEN, is_secret_pointer};
use super::text::{MarginStyle, annotate, each_leaf};
use smp_merge::schema::Gvk;
use smp_overlay::resource::ResId;
use smp_text::diagnostic::Result;
use smp_text::yaml::{Map, Node, Value};

/// Renders a live object with the field managers of each value as comments. The result is valid YAML. Managed fields are
/// left out, and the values of Secrets are hidden.
///
/// # Errors
/// Fails if a value cannot be printed.
pub fn owners_to_yaml(object: &Node, style: MarginStyle) -> Result<String> {
    let text =
        |path: &[&str]| SmolStr::from(object.get_path(path).and_then(Node::as_str).unwrap_or_default());
    let gvk = Gvk::from_manifest(&text(&["apiVersion"]), &text(&["kind"]));
    let is_secret = gvk.group.is_empty() && gvk.kind == "Secret";
    let id = ResId {
        gvk,
        name: text(&["metadata", "name"]),
        namespace: text(&["metadata", "namespace"]),
        cluster_scoped: text(&["metadata", "namespace"]).is_empty(),
    };
    let mut shown = object.clone();
    if let Some(metadata) = shown.get_mut("metadata").and_then(Node::as_map_mut) {
        metadata.remove("managedFields");
    }
    let mut fields = Vec::new();
    each_leaf(&shown, &mut String::new(), &mut |pointer, _| {
        fields.push(BlamedField { pointer: pointer.into(), writes: Vec::new(), live: None });
    });
    let (removed, live_only) = (Vec::new(), Vec::new());
    let mut resource =
        ResourceBlame { id, node: Some(shown.clone()), fields, removed, live: LiveState::Unknown, live_only };
    add_live(&mut resource, Some(object));
    if is_secret {
        hide(&mut shown);
    }
    let mut out = String::new();
    annotate(&shown, &resource, style, &mut out)?;
    Ok(out)
}

/// Hides the values of a Secret.
fn hide(secret: &mut Node) {
    let hide_below = |pointer: &str, map: &mut Map| {
        for (name, value) in map.iter_mut() {
            if is_secret_pointer(&format!("{pointer}/{name}")) {
                *value = Node::string(HIDDEN);
            }
        }
    };
    for pointer in ["data", "stringData"] {
        if let Some(Value::Map(map)) = secret.get_mut(pointer).map(|node| &mut node.value) {
            hide_below(&format!("/{pointer}"), map);
        }
    }
    let annotations = secret.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    if let Some(annotations) = annotations.and_then(Node::as_map_mut) {
        annotations.remove(smp_merge::patch::LAST_APPLIED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_its_managers() {
        let object: Node = "
apiVersion: v1
kind: Secret
metadata:
  name: web
  managedFields:
  - {manager: ci, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:a': {}}}}
  - {manager: edit, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:b': {}}}}
data: {a: eA==, b: eQ==}
"
        .parse()
        .expect("YAML");
        let text = owners_to_yaml(&object, MarginStyle::default()).expect("printable");
        let want = "\
apiVersion: v1
data:
  a: '***'  # ci
  b: '***'  # edit
kind: Secret
metadata:
  name: web
";
        assert_eq!(text, want);
    }
}
