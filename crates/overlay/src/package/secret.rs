//! Masks values of Secrets in reports.

use serde_json::Value;

use super::manifest::{GroupKindName, manifests};
use super::read::Package;
use smp_text::path::{FieldPath, PathElement};
use smp_text::source::SourceMap;
use smp_text::yaml::Node;

const HIDDEN: &str = "***";

/// Paths of the values of a Secret. The annotation contains kubectl's copy of them.
const VALUES: [&[&str]; 4] = [
    &["data"],
    &["stringData"],
    &["items"],
    &["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"],
];

/// Returns true for a Secret or a list of Secrets.
pub(super) fn is_secret(names: &GroupKindName) -> bool {
    names.group.is_empty() && matches!(names.kind.as_str(), "Secret" | "SecretList")
}

/// Returns true if the kind cannot hold secret values: not a Secret, a Secret generator, a kustomization or a
/// kubeconfig.
pub(super) fn cannot_hold_secrets(names: &GroupKindName) -> bool {
    let kind = names.kind.as_str();
    let holds_secrets = matches!(kind, "" | "List" | "Kustomization" | "Component" | "Config");
    !holds_secrets && !is_secret(names) && !kind.ends_with("Generator")
}

impl Package {
    /// Returns true if the package has a Secret.
    #[must_use]
    pub fn has_secrets(&self) -> bool {
        manifests(self).iter().any(|manifest| is_secret(manifest.key.names()))
    }
}

/// Masks the scalars of a value whose source must not be shown.
pub(super) fn mask_unshowable(value: &mut Node, sources: &SourceMap) {
    value.for_each_mut(&mut |node| {
        if node.scalar_text().is_some() && !node.is_null() && !sources.may_show(node.span()) {
            *node = Node::string(HIDDEN);
        }
    });
}

/// Masks the secret parts of the value of a field of a Secret.
pub(super) fn mask_secret_value(value: &mut Value, field: &FieldPath) {
    if matches!(field.elements(), [PathElement::Field(name), ..] if name == "items") {
        *value = Value::from(HIDDEN);
        return;
    }
    for path in VALUES {
        let is_on_path = field.elements().iter().zip(path).all(|(element, name)| match element {
            PathElement::Field(field) => field == name,
            _ => false,
        });
        if is_on_path {
            mask_below(value, path.get(field.elements().len()..).unwrap_or_default());
        }
    }
}

/// Masks the value at a path.
fn mask_below(value: &mut Value, path: &[&str]) {
    match (value, path) {
        (Value::Object(fields), [name, rest @ ..]) => {
            if let Some(value) = fields.get_mut(*name) {
                mask_below(value, rest);
            }
        }
        (_, [_, ..]) | (Value::Null, []) => {}
        (Value::Object(fields), []) => fields.values_mut().for_each(|value| mask_below(value, &[])),
        (value, []) => *value = Value::from(HIDDEN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn masked(mut value: Value, path: &[&str]) -> Value {
        let field: FieldPath = path.iter().map(|name| PathElement::Field((*name).into())).collect();
        mask_secret_value(&mut value, &field);
        value
    }

    #[test]
    fn values_are_hidden_at_any_field_depth() {
        assert_eq!(masked(json!("x"), &["data", "password"]), json!("***"));
        assert_eq!(masked(json!({"a": "x", "b": null}), &["stringData"]), json!({"a": "***", "b": null}));
        let whole = json!({"kind": "Secret", "data": {"a": "x"}, "type": "Opaque"});
        assert_eq!(masked(whole, &[]), json!({"kind": "Secret", "data": {"a": "***"}, "type": "Opaque"}));
        let last = "kubectl.kubernetes.io/last-applied-configuration";
        assert_eq!(masked(json!("{}"), &["metadata", "annotations", last]), json!("***"));
        assert_eq!(
            masked(json!({"x": "y", last: "{}"}), &["metadata", "annotations"]),
            json!({"x": "y", last: "***"})
        );
        assert_eq!(masked(json!("Opaque"), &["type"]), json!("Opaque"));
        assert_eq!(masked(json!(["x"]), &["data"]), json!("***"));
    }
}
