//! The owners of a live object's fields, as a manifest with comments.

use smol_str::SmolStr;

use super::blame::{BlamedField, ResourceBlame};
use super::live::add_live;
use super::live_field::LiveState;
use super::secret::HIDDEN;
use super::text::{MarginStyle, annotate, each_leaf};
use smp_merge::schema::Gvk;
use smp_overlay::resource::{ResId, is_secret_kind, mask_secret};
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Renders a live object with the field managers of each value as comments. The result is valid YAML. Managed fields
/// are omitted, and the values of Secrets are hidden.
///
/// # Errors
/// A value cannot be printed.
pub fn owners_to_yaml(object: &Node, style: MarginStyle) -> Result<String> {
    let text =
        |path: &[&str]| SmolStr::from(object.get_path(path).and_then(Node::as_str).unwrap_or_default());
    let gvk = Gvk::from_manifest(&text(&["apiVersion"]), &text(&["kind"]));
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
    if is_secret_kind(&resource.id.gvk.kind) {
        mask_secret(Some(&mut shown), None, &|_, _| [HIDDEN, HIDDEN].map(str::to_string));
    }
    let mut out = String::new();
    annotate(&shown, &resource, style, &mut out)?;
    Ok(out)
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

    #[test]
    fn malformed_secrets_are_hidden_and_the_status_has_owners() {
        let render = |text: &str| {
            let object: Node = text.parse().expect("YAML");
            owners_to_yaml(&object, MarginStyle::default()).expect("printable")
        };
        for data in ["hidden", "[hidden]", "{a: {b: hidden}}", "[[hidden], {a: hidden}]"] {
            for field in ["data", "stringData", "Data"] {
                let text = render(&format!(
                    "{{apiVersion: v1, kind: Secret, metadata: {{name: a}}, {field}: {data}}}"
                ));
                assert!(!text.contains("hidden") && text.contains("***"), "{text}");
            }
        }
        let entry = "{manager: kubelet, operation: Update, apiVersion: v1, subresource: status, fieldsType: FieldsV1, fieldsV1: {'f:status': {'f:phase': {}}}}";
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: a, managedFields: [{entry}]}}, status: {{phase: Running}}}}"
        );
        assert!(render(&pod).contains("phase: Running  # kubelet"), "{}", render(&pod));
    }
}
